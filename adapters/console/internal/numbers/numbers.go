// Package numbers has the page of numbers: how many runs there were, where they stopped, and
// how long reviewers and providers took.
package numbers

import (
	"embed"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/internal/chart"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

//go:embed page/*.html
var files embed.FS

// Pages has the handlers.
type Pages struct {
	shell  *shell.Shell
	desk   *desk.Desk
	charts chart.Painter
}

// New adds the page to a shell.
func New(sh *shell.Shell, d *desk.Desk) (*Pages, error) {
	charts, err := chart.NewPainter()
	if err != nil {
		return nil, err
	}
	return &Pages{sh, d, charts}, sh.AddPages(files)
}

// filter is what a person chose on the numbers page.
type filter struct {
	Days     int    // up to today; 0 for From and To
	From, To string // days such as 2026-01-31
	Workflow verification.WorkflowID

	from, to store.Day
}

// ranges are the ranges that the page offers, in days; the first is the default.
func ranges() []int { return []int{30, 7, 90} }

// readFilter reads the query of a URL. ErrInvalid is returned with the fields
// that cannot be read, and the default filter.
func readFilter(q url.Values) (filter, error) {
	f := filter{Days: ranges()[0], From: q.Get("from"), To: q.Get("to")}
	var problems []verification.FieldError
	if id := q.Get("workflow"); id != "" {
		var err error
		if f.Workflow, err = verification.ParseWorkflowID(id); err != nil {
			problems = append(problems, verification.FieldError{Name: "workflow"})
		}
	}
	if n, err := strconv.Atoi(q.Get("days")); err == nil && slices.Contains(ranges(), n) {
		f.Days, f.From, f.To = n, "", ""
	}
	if f.From != "" || f.To != "" {
		problems = append(problems, f.readDays()...)
	}
	if len(problems) > 0 {
		f.Days = ranges()[0]
		return f, &verification.Error{Kind: verification.ErrInvalid, Subject: "numbers", Fields: problems}
	}
	return f, nil
}

// readDays reads From and To.
func (f *filter) readDays() (problems []verification.FieldError) {
	f.Days = 0
	for _, d := range []struct {
		name, text string
		to         *store.Day
	}{{"from", f.From, &f.from}, {"to", f.To, &f.to}} {
		var err error
		if *d.to, err = store.ParseDay(d.text); err != nil {
			problems = append(problems, verification.FieldError{Name: d.name})
		}
	}
	if len(problems) == 0 && (f.to < f.from || f.to-f.from >= desk.MaxNumbersDays) {
		problems = append(problems, verification.FieldError{Name: "to"})
	}
	return problems
}

// query returns the query of a URL that has the same filter with another range, or the
// same range for 0 days.
func (f filter) query(days int) string {
	q := url.Values{}
	switch {
	case days > 0:
		q.Set("days", strconv.Itoa(days))
	case f.Days > 0:
		q.Set("days", strconv.Itoa(f.Days))
	default:
		q.Set("from", f.From)
		q.Set("to", f.To)
	}
	if f.Workflow != "" {
		q.Set("workflow", string(f.Workflow))
	}
	return "?" + q.Encode()
}

// view is the data of the page numbers.
type view struct {
	Filter    filter
	First     string // the first day
	Last      string // the last day
	Zone      string // of the days
	Ranges    []rangeLink
	Workflows shell.WorkflowChoice
	Summary   web.Summary // problems of the filter
	Tiles     []tile
	Groups    []figureGroup
	CSV       string // the query of the links to CSV
}

// rangeLink is a range that the page offers.
type rangeLink struct {
	Days    int
	URL     string
	Current bool
}

// tile is one number on top of the page.
type tile struct {
	Value, Text string
	Note        string // a share; empty for none
	Parts       []tilePart
}

// tilePart is a part of the number of a tile. Its name is the text of a workflow.
type tilePart struct{ Name, Value string }

// Show shows all figures.
func (p *Pages) Show(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	chosen, problem := readFilter(r.URL.Query())
	workflows, err := p.shell.WorkflowChoices(r, s, chosen.Workflow)
	if err != nil {
		return err
	}
	f, err := p.read(r, s, chosen)
	if err != nil {
		return err
	}
	v := view{
		Filter: chosen, First: f.firstDay(), Last: f.lastDay(), Zone: f.numbers.Zone, Workflows: workflows, CSV: chosen.query(0),
	}
	status := http.StatusOK
	if problem != nil {
		status = http.StatusBadRequest
		if v.Summary, err = problemsOf(s, problem); err != nil {
			return err
		}
	}
	for _, days := range slices.Sorted(slices.Values(ranges())) {
		v.Ranges = append(v.Ranges, rangeLink{Days: days, URL: chosen.query(days), Current: chosen.Days == days})
	}
	if v.Groups, v.Tiles = f.groups(), f.tiles(); f.err != nil {
		return f.err
	}
	return p.shell.Render(w, s, status, "numbers", "numbers.title", v)
}

// Table returns the handler that answers with the table of a figure as CSV.
func (p *Pages) Table(name string) func(http.ResponseWriter, *http.Request, shell.Session) error {
	return func(w http.ResponseWriter, r *http.Request, s shell.Session) error {
		chosen, err := readFilter(r.URL.Query())
		if err != nil {
			return err
		}
		f, err := p.read(r, s, chosen)
		if err != nil {
			return err
		}
		made, err := f.figure(name)
		if err != nil {
			return err
		}
		file := fmt.Sprintf("%s-%s-%s.csv", name, f.firstDay(), f.lastDay())
		w.Header().Set("Content-Type", "text/csv; charset=utf-8")
		w.Header().Set("Content-Disposition", `attachment; filename="`+file+`"`)
		return made.Table.writeCSV(w)
	}
}

// read reads the numbers of a filter.
func (p *Pages) read(r *http.Request, s shell.Session, f filter) (*figures, error) {
	n, err := p.desk.Numbers(r.Context(), s.Tenant, desk.NumbersQuery{
		First: f.from, Last: f.to, Days: f.Days, Workflow: f.Workflow, Reviewers: s.Role.Audits(),
	})
	return &figures{Session: s, charts: p.charts, numbers: n, workflow: f.Workflow != ""}, err
}

func (f *figures) firstDay() string { return f.numbers.Days[0].Day.String() }

func (f *figures) lastDay() string { return f.numbers.Days[len(f.numbers.Days)-1].Day.String() }

// problemsOf returns the problems of a filter for the page.
func problemsOf(s shell.Session, problem error) (web.Summary, error) {
	title, err := s.T("numbers.problem")
	all := web.Summary{Title: title}
	var e *verification.Error
	errors.As(problem, &e)
	for _, field := range e.Fields {
		text, failed := s.T("numbers.problem." + field.Name)
		if failed != nil {
			err = failed
		}
		all.Problems = append(all.Problems, web.Problem{Target: field.Name, Text: text})
	}
	return all, err
}

// maxTileParts is the maximum number of outcomes in a tile.
const maxTileParts = 4

// tiles returns the numbers on top of the page.
func (f *figures) tiles() []tile {
	started, approved, rejected := 0, 0, 0
	for _, d := range f.numbers.Days {
		started += d.Started
		approved += d.Approved
		rejected += d.Rejected
	}
	alone, parts := 0, []tilePart(nil)
	for _, o := range f.outcomeCounts() {
		if alone += o.Unaided; o.Unaided > 0 && len(parts) < maxTileParts {
			parts = append(parts, tilePart{f.outcome(o.Outcome), f.Number(o.Unaided)})
		}
	}
	verdict := f.numbers.TimeToVerdict
	median := tile{Value: "–", Text: f.text("numbers.tile.noverdict")}
	if verdict.Count > 0 {
		median = tile{Value: f.took(verdict.P50), Text: f.text("numbers.tile.verdict"), Note: f.text("numbers.tile.verdict.note", f.took(verdict.P95))}
	}
	return []tile{
		f.tile("started", started, 0),
		{
			Value: f.Number(alone), Text: f.text("numbers.tile.unaided"), Parts: parts,
			Note: f.noteOf("unaided", alone, alone+approved+rejected),
		},
		f.tile("approved", approved, approved+rejected),
		f.tile("rejected", rejected, approved+rejected),
		f.tile("hits", f.numbers.RunsWithHits, 0),
		median,
		f.tile("due", f.numbers.DueKept, f.numbers.Due),
		f.tile("rounds", f.numbers.Rounds, 0),
		f.tile("unscreened", f.numbers.Unscreened, 0),
	}
}

// tile returns the tile of a count and, unless the whole is 0, its share of that.
func (f *figures) tile(name string, n, whole int) tile {
	return tile{Value: f.Number(n), Text: f.text("numbers.tile." + name), Note: f.noteOf(name, n, whole)}
}

func (f *figures) noteOf(name string, n, whole int) string {
	if whole == 0 {
		return ""
	}
	return f.text("numbers.tile."+name+".note", f.part(n, whole))
}
