// Package runpage has the page of a run: everything that is known of it, its documents and printed
// reports, and what a reviewer does there: verdicts, decisions on hits, notes, assignments.
package runpage

import (
	"context"
	"embed"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/verifyd/verifyd/adapters/console/internal/queue"
	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/internal/drawing"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

//go:embed page/*.html page/shared/*.html
var files embed.FS

// Config is what the page needs beside the shell.
type Config struct {
	Desk  *desk.Desk
	Queue *queue.Pages
	Site  string   // the scheme and host of the console
	Teams []string // that runs are assigned and escalated to, beside those of the person
	// Documents has the uploads for the file of a person; with nil no file of a run with uploads is made.
	Documents verification.DocumentStore
	// DrawPage returns the first page of a PDF of a tenant as a JPEG; with nil PDFs are only downloaded.
	DrawPage func(context.Context, verification.TenantID, verification.Document, io.Reader) ([]byte, error)
	// SignReport returns the detached signature of a printed report; with nil there are no signatures.
	SignReport func(pdf []byte) ([]byte, error)
}

// Pages has the handlers.
type Pages struct {
	Config

	shell *shell.Shell
}

// New adds the page to a shell.
func New(sh *shell.Shell, c Config) (*Pages, error) {
	return &Pages{c, sh}, sh.AddPages(files)
}

// runView is the data of the page run.
type runView struct {
	ID        verification.RunID
	Reference string
	Badges    []web.Badge
	Back      string // the URL of the list that the page was opened from, at the run
	BackText  string
	Place     string // in the list that the page was opened from, such as 28 of 56; empty if it is not known
	Facts     []runFact
	Dates     []runFact // see runDates
	Guide     []guideRow
	Error     string // why the run failed or expired; empty if it did not
	Redacted  bool   // its personal data was removed, or is hidden
	Removed   string // says when personal data or the uploads were removed, or since when they are hidden; empty if they are shown to everybody
	Counts    string // of the cards
	Subject   subjectView
	Owners    []ownersView
	Differing *factsView // what the sources of the run say; nil for nothing
	Input     dataTable  // what the run was started with
	Corrected []string   // the corrections of the input that the table does not show
	Result    dataTable  // what the end computed
	Correct   correctForm
	Faces     []partView   // the steps with pictures that are flagged or did not pass
	Changed   *changedView // in the last round; nil for none
	Problems  []partView   // the other steps that are flagged or did not pass
	Given     []partView   // what the customer sent
	Passed    []partView   // all other steps
	Over      bool         // the run needs no verdict: its history is open
	Branches  []branchView
	Graph     *shell.Graph // with the path of the run
	Timeline  []timelineLine
	Related   *relatedView // nil for none
	Past      *pastView    // nil for none
	Hits      *hitsTable   // nil for none
	PDF       string       // the URL of the printed report; empty while the run is live
	Lacking   string       // why the report for the file was not printed; empty for none
	Signed    bool         // the printed report has a signature, at its URL and .jws
	Verdict   verdictPanel
	Desk      deskView
	Personal  personalView

	cards []cardView // of all parts
}

// runFact is a name and a value.
type runFact struct {
	Label, Value string
	Mono         bool
	Plain        bool // the value is enough for those who see it
}

// Show shows a run.
func (p *Pages) Show(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	return p.showRun(w, r, s, http.StatusOK, keptVerdict{})
}

// showRun writes the page of a run, with what a refused post contained.
func (p *Pages) showRun(w http.ResponseWriter, r *http.Request, s shell.Session, status int, kept keptVerdict) error {
	id, err := runOf(r)
	if err != nil {
		return err
	}
	rec, err := p.Desk.RunRecord(r.Context(), s.Tenant, id, s.May(verification.RoleAuditor))
	if err != nil {
		return err
	}
	claim, err := p.claimOf(r.Context(), s, rec)
	if err != nil {
		return err
	}
	f := queue.FilterOf(r.URL.Query())
	s.Path, _, _ = strings.Cut(f.List(), "?") // the navigation shows where the person is
	v := p.runView(s, rec, f)
	if v.Related, err = p.relatedView(r, s, rec); err != nil {
		return err
	}
	v.Lacking = kept.Lacking
	if f.At > 0 {
		v.Place = s.Say("run.place", f.At, f.Of)
	}
	v.Verdict = panelOf(s, rec, v.Timeline, f, claim, kept)
	if err := p.addEarlier(r.Context(), s, rec, &v); err != nil {
		return err
	}
	v.decideHits(s, s.Base+"/runs/"+string(id)+"/hits"+f.Query(), rec.Report.Proposal, kept)
	var until time.Time
	if rec.MayRedact && s.May(verification.RoleAdmin) {
		run := rec.Report.Run
		if until, err = p.shell.Engine.KeptUntil(r.Context(), s.Tenant, rec.Report.Workflow.ID, run.StartedAt, run.CompletedAt); err != nil {
			return err
		}
	}
	v.Desk, v.Personal = p.deskView(s, rec, f, kept.Desk), personalOf(s, rec, until, f, kept.Personal)
	v.Correct = v.correctForm(s, rec, f, kept.Correction)
	v.Verdict.ClaimNow = v.Verdict.Free && p.fromConsole(r) && !r.URL.Query().Has("lang") // a change of the language opens nothing
	return p.shell.RenderTitled(w, s, status, "run", v.Reference, v)
}

// fromConsole reports whether a page was opened from another page of the console. A
// browser sends no Sec-Fetch-Site over http, except to localhost; the referrer then says
// it, which another site cannot set.
func (p *Pages) fromConsole(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin"
	}
	u, err := url.Parse(r.Referer())
	return err == nil && (u.Host == r.Host || u.Scheme+"://"+u.Host == p.Site) && strings.HasPrefix(u.EscapedPath(), p.shell.Base+"/")
}

// claimOf returns who works on a run that needs a verdict.
func (p *Pages) claimOf(ctx context.Context, s shell.Session, rec desk.RunRecord) (rules.Claim, error) {
	if rec.Review == nil {
		return rules.Claim{}, nil
	}
	found, err := p.shell.Engine.Review(ctx, s.Tenant, rec.Report.Run.ID)
	if errors.Is(err, verification.ErrNotFound) { // the verdict was given just now
		err = nil
	}
	return found.Claim, err
}

// claim claims a run for the person, and returns the claim that the run has then: none
// if it needs no verdict.
func (p *Pages) claim(ctx context.Context, s shell.Session, id verification.RunID, takeOver bool) (rules.Claim, error) {
	claim, err := p.shell.Engine.Claim(ctx, s.Tenant, id, engine.ClaimRequest{By: s.Identity, Name: s.Name, TakeOver: takeOver})
	if errors.Is(err, verification.ErrConflict) || errors.Is(err, verification.ErrNotFound) {
		err = nil
	}
	return claim, err
}

// runView returns the page of a record without its verdict.
func (p *Pages) runView(s shell.Session, rec desk.RunRecord, f queue.Filter) runView {
	report := rec.Report
	v := runView{
		ID: report.Run.ID, Reference: s.Reference(report.Run.ReferenceID, report.Run.RestrictedAt), Back: s.Base + f.List() + "#run-" + string(report.Run.ID), BackText: s.Say("run.back." + strings.Trim(s.Path, "/")),
		Badges: []web.Badge{s.StatusBadge(report.Run.Status)}, Over: rec.Review == nil, Subject: p.subjectOf(s, rec), Differing: factsOf(s, rec), Input: tableOf(rec.Input, rec.InputSchema, nil, s.Message), Facts: runFacts(s, rec), Dates: runDates(s, rec), Guide: guideOf(s, report),
		Counts: s.Say("run.counts", report.Summary.OK, report.Summary.NeedsReview, report.Summary.Failed),
	}
	v.Corrected = v.Input.corrected(s, report.InputCorrections)
	if report.Run.Data != nil {
		v.Result = tableOf(report.Run.Data, nil, nil, s.Message)
	}
	if b, ok := shell.OutcomeBadge(report.Run.Outcome); ok {
		v.Badges = append(v.Badges, b)
	}
	if report.Decision != rules.DecisionNone {
		v.Badges = append(v.Badges, s.DecisionBadge(report.Decision))
	}
	if rec.Review != nil {
		if b := s.BackBadge(*rec.Review); b != nil {
			v.Badges = append(v.Badges, *b)
		}
	}
	if rec.Review != nil && !rec.Review.DueAt.IsZero() {
		v.Badges = append(v.Badges, s.DueBadge(*rec.Review, rec.At))
	}
	if report.Error != nil {
		v.Error = s.Sentences([]rules.Sentence{report.Error.Sentence()})
	}
	v.Redacted, v.Removed = rec.Hidden, removed(s, rec)
	if !report.Run.RestrictedAt.IsZero() {
		v.Badges = append(v.Badges, web.Badge{Tone: web.Warning, Icon: "lock", Text: s.Say("restrict.restricted")})
	}
	if report.Run.Status.Terminal() {
		v.PDF = s.Base + "/runs/" + string(v.ID) + "/report.pdf"
		v.Signed = p.SignReport != nil
	}
	v.Owners = ownersOf(s, rec)
	v.Graph = runGraph(s, rec.Definition, rec.History)
	v.cards = p.cards(s, rec)
	v.Hits = v.hitsTable(s, rec)
	v.sort(partsOf(s, rec, v.cards))
	v.Changed = p.changedOf(s, rec, v.cards)
	v.Timeline, v.Branches = timelineOf(s, rec)
	return v
}

// pathTitles makes the names of values their titles: they are paths of expressions.
func pathTitles(d verification.Data) workflow.DataSchema {
	fields := map[string]any{}
	for path := range d.Map() {
		fields[path] = map[string]any{"title": path}
	}
	return workflow.DataSchema{"properties": fields}
}

// runFacts returns what the head of the page says about a run.
func runFacts(s shell.Session, rec desk.RunRecord) (facts []runFact) {
	run, workflow := rec.Report.Run, rec.Report.Workflow
	if rec.Subject.Name != "" {
		facts = append(facts, runFact{Label: s.Say("run.reference"), Value: run.ReferenceID, Plain: true})
	}
	facts = append(facts, runFact{Label: s.Say("run.workflow"), Value: workflow.Name, Plain: true})
	if a := rec.Action; a != nil && a.Type == rules.ActionCustomerInput {
		facts = append(facts, runFact{Label: s.Say("run.waits"), Value: s.Say("run.customer")})
		if !rec.ExpiresAt.IsZero() {
			until := s.At(rec.ExpiresAt).Text + " " + s.Zone.String()
			facts = append(facts, runFact{Label: s.Say("run.left"), Value: s.Say("run.left.until", s.Span(rec.ExpiresAt.Sub(rec.At)), until)})
		}
	}
	return facts
}

// runDates returns the version of the workflow, when the run started, began to wait for a verdict and ended, and its id.
func runDates(s shell.Session, rec desk.RunRecord) []runFact {
	run, workflow := rec.Report.Run, rec.Report.Workflow
	dates := []runFact{
		{Label: s.Say("run.workflow"), Value: s.Say("run.version", shell.Isolate(workflow.Name), workflow.Version)},
		{Label: s.Say("run.started"), Value: s.At(run.StartedAt).Text + " " + s.Zone.String()},
	}
	if !run.CompletedAt.IsZero() {
		dates = append(dates, runFact{Label: s.Say("run.ended"), Value: s.At(run.CompletedAt).Text + " " + s.Zone.String()})
	}
	if rec.Review != nil {
		dates = append(dates, runFact{Label: s.Say("run.waiting"), Value: s.Ago(rec.Review.Since, rec.At).Words})
		if !rec.Review.DueAt.IsZero() {
			dates = append(dates, runFact{Label: s.Say("run.due"), Value: s.At(rec.Review.DueAt).Text + " " + s.Zone.String()})
		}
	}
	return append(dates, runFact{Label: s.Say("run.id"), Value: string(run.ID), Mono: true})
}

// runGraph draws the path of one run through the definition that it executed. A page
// shows it with the template "graph", and needs the style sheet graph.css.
func runGraph(s shell.Session, d workflow.Definition, history []rules.Event) *shell.Graph {
	return s.Graph(d, drawing.Options{Path: rules.Transitions("", history)})
}

// removed says what was removed or is hidden of a run, and since when; empty for nothing.
func removed(s shell.Session, rec desk.RunRecord) string {
	r := rec.Report.Run
	at := func(t time.Time) string { return s.At(t).Text + " " + s.Zone.String() }
	switch {
	case !r.ErasedAt.IsZero():
		return s.Say("run.redacted", at(r.RedactedAt)) + " " + s.Say("run.erased", at(r.ErasedAt))
	case !r.RedactedAt.IsZero():
		return s.Say("run.redacted", at(r.RedactedAt)) + " " + s.Say("run.erasing")
	case rec.Hidden:
		return s.Say("run.restricted", at(r.RestrictedAt))
	case !r.RestrictedAt.IsZero():
		return s.Say("run.restricted.full", at(r.RestrictedAt))
	case !r.DocumentsRemovedAt.IsZero():
		return s.Say("run.documents_removed", at(r.DocumentsRemovedAt))
	}
	return ""
}
