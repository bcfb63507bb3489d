// The run page: everything that is known of one run, and the verdict on it.

package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// runView is the data of the page run.
type runView struct {
	ID        verification.RunID
	Reference string
	Badges    []web.Badge
	Back      string // the URL of the list that the page was opened from, at the run
	BackText  string
	Facts     []runFact
	Dates     []runFact // when it started and ended, and its id
	Guide     []guideRow
	Error     string // why the run failed or expired; empty if it did not
	Counts    string // of the cards
	Subject   subjectView
	Differing *factsView // what the sources of the run say; nil for nothing
	Input     dataTable  // what the run was started with
	Problems  []cardView // the steps that are flagged or did not pass
	Given     []cardView // what the customer sent
	Passed    []cardView // all other steps
	Over      bool       // the run needs no verdict: its history is open
	Branches  []branchView
	Graph     *graphView // with the path of the run
	Timeline  []timelineLine
	Related   *relatedView // nil for none
	PDF       string       // the URL of the printed report; empty while the run is live
	Lacking   string       // why the report for the file was not printed; empty for none
	Signed    bool         // the printed report has a signature, at its URL and .jws
	Verdict   verdictPanel
	Desk      deskView
}

// runFact is a name and a value.
type runFact struct {
	Label, Value string
	Mono         bool
}

// runPage shows a run.
func (c *console) runPage(w http.ResponseWriter, r *http.Request, s session) error {
	return c.showRun(w, r, s, http.StatusOK, keptVerdict{})
}

// showRun writes the page of a run, with what a refused post contained.
func (c *console) showRun(w http.ResponseWriter, r *http.Request, s session, status int, kept keptVerdict) error {
	id, err := runOf(r)
	if err != nil {
		return err
	}
	rec, err := c.desk.RunRecord(r.Context(), s.Tenant, id)
	if err != nil {
		return err
	}
	claim, err := c.claimOf(r.Context(), s, rec)
	if err != nil {
		return err
	}
	f := queueFilterOf(r.URL.Query())
	s.path, _, _ = strings.Cut(f.list(), "?") // the navigation shows where the person is
	v := c.runView(s, rec, f)
	if v.Related, err = c.relatedView(r, s, rec); err != nil {
		return err
	}
	v.Lacking = kept.Lacking
	v.Verdict = c.verdictPanel(s, rec, f, claim, kept)
	v.decideHits(s.Base+"/runs/"+string(id)+"/hits"+f.Query(), kept)
	v.Desk = c.deskView(s, rec, f, kept.Desk)
	v.Verdict.ClaimNow = v.Verdict.Free && c.fromConsole(r) && !r.URL.Query().Has("lang") // a change of the language opens nothing
	return c.renderTitled(w, s, status, "run", v.Reference, v)
}

// fromConsole reports whether a page was opened from another page of the console. A
// browser sends no Sec-Fetch-Site over http, except to localhost; the referrer then says
// it, which another site cannot set.
func (c *console) fromConsole(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin"
	}
	u, err := url.Parse(r.Referer())
	return err == nil && (u.Host == r.Host || u.Scheme+"://"+u.Host == c.site) && strings.HasPrefix(u.EscapedPath(), c.base+"/")
}

// claimOf returns who works on a run that needs a verdict.
func (c *console) claimOf(ctx context.Context, s session, rec desk.RunRecord) (rules.Claim, error) {
	if rec.Review == nil {
		return rules.Claim{}, nil
	}
	found, err := c.engine.Review(ctx, s.Tenant, rec.Report.Run.ID)
	if errors.Is(err, verification.ErrNotFound) { // the verdict was given just now
		err = nil
	}
	return found.Claim, err
}

// claim claims a run for the person, and returns the claim that the run has then: none
// if it needs no verdict.
func (c *console) claim(ctx context.Context, s session, id verification.RunID, takeOver bool) (rules.Claim, error) {
	claim, err := c.engine.Claim(ctx, s.Tenant, id, engine.ClaimRequest{By: s.Identity, Name: s.Name, TakeOver: takeOver})
	if errors.Is(err, verification.ErrConflict) || errors.Is(err, verification.ErrNotFound) {
		err = nil
	}
	return claim, err
}

// runView returns the page of a record without its verdict.
func (c *console) runView(s session, rec desk.RunRecord, f queueFilter) runView {
	report := rec.Report
	v := runView{
		ID: report.Run.ID, Reference: report.Run.ReferenceID, Back: s.Base + f.list() + "#run-" + string(report.Run.ID), BackText: s.say("run.back." + strings.Trim(s.path, "/")),
		Badges: []web.Badge{s.statusBadge(report.Run.Status)}, Over: rec.Review == nil, Subject: s.subjectView(rec), Differing: s.factsView(rec.Facts), Input: tableOf(rec.Input, rec.InputSchema, nil, s.Message), Facts: s.runFacts(rec), Dates: s.runDates(rec), Guide: s.guide(report),
		Counts: s.say("run.counts", report.Summary.OK, report.Summary.NeedsReview, report.Summary.Failed),
	}
	if b, ok := outcomeBadge(report.Run.Outcome); ok {
		v.Badges = append(v.Badges, b)
	}
	if report.Decision != rules.DecisionNone {
		v.Badges = append(v.Badges, s.decisionBadge(report.Decision))
	}
	if rec.Review != nil && !rec.Review.DueAt.IsZero() {
		v.Badges = append(v.Badges, s.dueBadge(rec.Review.Since, rec.Review.DueAt, rec.At))
	}
	if report.Error != nil {
		v.Error = s.sentences([]rules.Sentence{report.Error.Sentence()})
	}
	if report.Run.Status.Terminal() {
		v.PDF = s.Base + "/runs/" + string(v.ID) + "/report.pdf"
		v.Signed = c.opt.SignReport != nil
	}
	v.Graph = s.runGraph(rec.Definition, rec.History)
	cards := c.cards(s, rec)
	v.sort(cards)
	for _, e := range rec.Timeline {
		v.Timeline = append(v.Timeline, s.timelineLine(rec, e))
		if e.Kind == desk.TimelineBranched || e.Kind == desk.TimelineElse {
			v.Branches = append(v.Branches, branchView{
				At: s.At(e.At), Branch: e.Label, To: e.ToLabel, When: e.When,
				Values: tableOf(e.Values, pathTitles(e.Values), nil, s.Message),
			})
		}
	}
	return v
}

// sort puts each card in its part of the page. The card of a review has no data: it is left
// out until it has a verdict.
func (v *runView) sort(cards []cardView) {
	for _, card := range cards {
		switch {
		case card.of == workflow.NodeReview && card.status == rules.CardNeedsReview:
		case card.of != workflow.NodeReview && card.status != rules.CardOK:
			v.Problems = append(v.Problems, card)
		case card.of == workflow.NodeCustomerInput:
			v.Given = append(v.Given, card)
		default:
			v.Passed = append(v.Passed, card)
		}
	}
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
func (s session) runFacts(rec desk.RunRecord) (facts []runFact) {
	run, workflow := rec.Report.Run, rec.Report.Workflow
	if rec.Subject.Name != "" {
		facts = append(facts, runFact{Label: s.say("run.reference"), Value: run.ReferenceID})
	}
	facts = append(facts, runFact{Label: s.say("run.workflow"), Value: s.say("run.version", isolate(workflow.Name), workflow.Version)})
	if rec.Review != nil {
		facts = append(facts, runFact{Label: s.say("run.waiting"), Value: s.ago(rec.Review.Since, rec.At).Words})
		if !rec.Review.DueAt.IsZero() {
			facts = append(facts, runFact{Label: s.say("run.due"), Value: s.At(rec.Review.DueAt).Text + " " + s.Zone.String()})
		}
	}
	if a := rec.Action; a != nil && a.Type == rules.ActionCustomerInput {
		facts = append(facts, runFact{Label: s.say("run.waits"), Value: s.say("run.customer")})
	}
	return facts
}

// runDates returns when the run started and ended, and its id.
func (s session) runDates(rec desk.RunRecord) []runFact {
	run := rec.Report.Run
	dates := []runFact{{Label: s.say("run.started"), Value: s.At(run.StartedAt).Text + " " + s.Zone.String()}}
	if !run.CompletedAt.IsZero() {
		dates = append(dates, runFact{Label: s.say("run.ended"), Value: s.At(run.CompletedAt).Text + " " + s.Zone.String()})
	}
	return append(dates, runFact{Label: s.say("run.id"), Value: string(run.ID), Mono: true})
}

// statusBadge has no tone for a run that is completed: its outcome and its decision have one.
func (s session) statusBadge(status rules.Status) web.Badge {
	b := web.Badge{Text: s.say("status." + string(status))}
	switch status {
	case rules.StatusFailed, rules.StatusExpired:
		b.Tone, b.Icon = web.Bad, "cross"
	case rules.StatusInProgress:
		b.Tone, b.Icon = web.Info, "hourglass"
	case rules.StatusCompleted, rules.StatusAbandoned, rules.StatusCancelled:
	}
	return b
}

// outcomeBadge returns the outcome of a run in the words of its workflow. Its tone is the tone
// of the usual words; others have none. ok is false for a run without an outcome.
func outcomeBadge(outcome string) (b web.Badge, ok bool) {
	b.Text = outcome
	switch strings.ToLower(outcome) {
	case "approved", "accepted", "passed", "verified", "clear":
		b.Tone, b.Icon = web.Good, "tick"
	case "refused", "rejected", "failed", "denied", "blocked":
		b.Tone, b.Icon = web.Bad, "cross"
	}
	return b, outcome != ""
}

func (s session) decisionBadge(d rules.Decision) web.Badge {
	switch d {
	case rules.DecisionReview:
		return web.Badge{Tone: web.Warning, Icon: "flag", Text: s.say("decision.review")}
	case rules.DecisionApprove:
		return web.Badge{Tone: web.Good, Icon: "tick", Text: s.say("decision.approve")}
	case rules.DecisionReject:
		return web.Badge{Tone: web.Bad, Icon: "cross", Text: s.say("decision.reject")}
	case rules.DecisionNone:
	}
	return web.Badge{Text: s.say("decision.none")}
}

// verdictsOf returns the verdicts of a timeline, newest first.
func (s session) verdictsOf(rec desk.RunRecord, entries []desk.TimelineEntry) (all []verdictView) {
	proposer := ""
	for _, e := range entries {
		var b web.Badge
		switch e.Kind { //nolint:exhaustive // the others are no verdicts
		case desk.TimelineProposedApproval, desk.TimelineProposedRejection:
			proposer = s.person(e.By)
			continue
		case desk.TimelineApproved:
			b = s.decisionBadge(rules.DecisionApprove)
		case desk.TimelineRejected:
			b = s.decisionBadge(rules.DecisionReject)
		case desk.TimelineSentBack:
			b = web.Badge{Text: s.say("decision.returned")}
		default:
			continue
		}
		v := verdictView{Badge: b, By: s.person(e.By), At: s.ago(e.At, rec.At), Reason: s.reasonOf(rec.Definition, e.Reason), Notes: e.Text}
		if rec.FourEyes && proposer != "" && e.Kind != desk.TimelineSentBack {
			v.Confirms = s.say("verdict.confirms", isolate(proposer))
		}
		if e.Kind == desk.TimelineRejected && v.Reason == "" && v.Notes == "" {
			v.Reason = s.say("verdict.noreason")
		}
		all, proposer = append(all, v), ""
	}
	slices.Reverse(all)
	return all
}
