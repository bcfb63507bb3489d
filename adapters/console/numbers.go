// Numbers: how many runs there were, where they stopped, and how long reviewers and
// providers took.

package console

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// numbersFilter is what a person chose on the numbers page.
type numbersFilter struct {
	Days     int    // up to today; 0 for From and To
	From, To string // days such as 2026-01-31
	Workflow verification.WorkflowID

	from, to store.Day
}

// numbersDays are the ranges that the page offers; the first is the default.
func numbersDays() []int { return []int{30, 7, 90} }

// readNumbersFilter reads the query of a URL. ErrInvalid is returned with the fields
// that cannot be read, and the default filter.
func readNumbersFilter(q url.Values) (numbersFilter, error) {
	f := numbersFilter{Days: numbersDays()[0], From: q.Get("from"), To: q.Get("to")}
	var problems []verification.FieldError
	if id := q.Get("workflow"); id != "" {
		var err error
		if f.Workflow, err = verification.ParseWorkflowID(id); err != nil {
			problems = append(problems, verification.FieldError{Name: "workflow"})
		}
	}
	if n, err := strconv.Atoi(q.Get("days")); err == nil && slices.Contains(numbersDays(), n) {
		f.Days, f.From, f.To = n, "", ""
	}
	if f.From != "" || f.To != "" {
		problems = append(problems, f.readDays()...)
	}
	if len(problems) > 0 {
		f.Days = numbersDays()[0]
		return f, &verification.Error{Kind: verification.ErrInvalid, Subject: "numbers", Fields: problems}
	}
	return f, nil
}

// readDays reads From and To.
func (f *numbersFilter) readDays() (problems []verification.FieldError) {
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
func (f numbersFilter) query(days int) string {
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

// numbersView is the data of the page numbers.
type numbersView struct {
	Filter    numbersFilter
	First     string // the first day
	Last      string // the last day
	Zone      string // of the days
	Ranges    []rangeLink
	Workflows workflowChoice
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

// numbersPage shows all figures.
func (c *console) numbersPage(w http.ResponseWriter, r *http.Request, s session) error {
	filter, problem := readNumbersFilter(r.URL.Query())
	workflows, err := c.workflowChoices(r, s, filter.Workflow)
	if err != nil {
		return err
	}
	f, err := c.numbers(r, s, filter)
	if err != nil {
		return err
	}
	v := numbersView{
		Filter: filter, First: f.firstDay(), Last: f.lastDay(), Zone: f.numbers.Zone, Workflows: workflows, CSV: filter.query(0),
	}
	status := http.StatusOK
	if problem != nil {
		status = http.StatusBadRequest
		if v.Summary, err = numbersProblems(s, problem); err != nil {
			return err
		}
	}
	for _, days := range slices.Sorted(slices.Values(numbersDays())) {
		v.Ranges = append(v.Ranges, rangeLink{Days: days, URL: filter.query(days), Current: filter.Days == days})
	}
	if v.Groups, v.Tiles = f.groups(), f.tiles(); f.err != nil {
		return f.err
	}
	return c.render(w, s, status, "numbers", "numbers.title", v)
}

// numbersTable returns the handler that answers with the table of a figure as CSV.
func (c *console) numbersTable(name string) handler {
	return func(w http.ResponseWriter, r *http.Request, s session) error {
		filter, err := readNumbersFilter(r.URL.Query())
		if err != nil {
			return err
		}
		f, err := c.numbers(r, s, filter)
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

// numbers reads the numbers of a filter.
func (c *console) numbers(r *http.Request, s session, f numbersFilter) (*figures, error) {
	n, err := c.desk.Numbers(r.Context(), s.Tenant, desk.NumbersQuery{
		First: f.from, Last: f.to, Days: f.Days, Workflow: f.Workflow, Reviewers: s.Role.Includes(verification.RoleAdmin),
	})
	return &figures{session: s, charts: c.charts, numbers: n, workflow: f.Workflow != ""}, err
}

func (f *figures) firstDay() string { return f.numbers.Days[0].Day.String() }

func (f *figures) lastDay() string { return f.numbers.Days[len(f.numbers.Days)-1].Day.String() }

// numbersProblems returns the problems of a filter for the page.
func numbersProblems(s session, problem error) (web.Summary, error) {
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
