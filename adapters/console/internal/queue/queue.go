// Package queue has the review queue, and the other lists that lead to runs: all runs, and the
// deliveries of the lifecycle webhook.
package queue

import (
	"context"
	"embed"
	"net/http"
	"time"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

//go:embed page/*.html page/shared/*.html
var files embed.FS

// Pages has the handlers.
type Pages struct {
	shell    *shell.Shell
	desk     *desk.Desk
	now      func() time.Time
	stopping <-chan struct{}
	watcher  *watcher
}

// New adds the pages to a shell. Live updates end when stopping is closed.
func New(sh *shell.Shell, d *desk.Desk, now func() time.Time, stopping <-chan struct{}) (*Pages, error) {
	p := &Pages{shell: sh, desk: d, now: now, stopping: stopping}
	p.watcher = newWatcher(p.lookAtQueue)
	return p, sh.AddPages(files)
}

// queueTab is a part of the queue that has a name.
type queueTab struct {
	URL, Text string
	Count     int
	Current   bool
	Named     bool // it is a view of the person, and has no count
}

// tabs returns the parts of the queue with their sizes. shown is the size of what the filter shows.
func (p *Pages) tabs(ctx context.Context, s shell.Session, f Filter, shown int) (all []queueTab, err error) {
	for _, tab := range []struct {
		key string
		Filter
	}{
		{"all", Filter{}},
		{"mine", Filter{Whose: whoseMine}},
		{"assigned", Filter{Whose: whoseAssigned}},
		{"again", Filter{Cause: rules.CauseRescreened}},
		{"second", Filter{Cause: rules.CauseProposal}},
		{"overdue", Filter{Overdue: true}},
		{"declined", Filter{Cause: rules.CauseConsent}},
	} {
		tab.Order = f.Order
		of := f
		of.Page, of.Back = 0, ""
		t := queueTab{URL: s.Base + "/queue" + tab.Query(), Text: s.Say("queue.tab." + tab.key), Count: shown, Current: tab.Filter == of}
		if !t.Current {
			if t.Count, err = p.queueSize(ctx, s, tab.Filter); err != nil {
				return nil, err
			}
		}
		all = append(all, t)
	}
	return all, nil
}

// queueView is the data of the page queue.
type queueView struct {
	Filter    Filter
	Search    searchView
	Tabs      []queueTab
	Workflows shell.WorkflowChoice
	Causes    []shell.Choice
	Ages      []shell.Choice
	Whose     []shell.Choice
	Orders    []shell.Choice
	Summary   string // how many runs match
	Rows      []queueRow
	Pager     *web.Pager
	Empty     web.Empty
	Events    string               // the URL of the live updates
	View      string               // the name of the view that is shown; empty for none
	Query     string               // of the URL
	Declined  []verification.RunID // the rows that can be closed together
	MaxNotes  int
	Next      string // the URL of the next run for the person; empty if the person only reads
}

// queueRow is one run in the queue.
type queueRow struct {
	ID        verification.RunID
	URL       string
	Reference string
	Subject   string // the name of whom the run is about; may be empty
	Workflow  string
	Before    *Earlier // a rejected run of the person or company, the newest; nil for none
	Unknown   bool     // earlier rejections were not looked up, or not all
	Reasons   []Concern
	More      string // says how many reasons are left out
	Since     shell.Age
	Due       *web.Badge
	DueAt     shell.Instant
	Proposed  *web.Badge // says that a verdict needs a second reviewer; nil for none
	Claim     string     // who has it; empty for nobody
	Mine      bool
	Assigned  *web.Badge // says to whom; nil for nobody
	Back      *web.Badge // says that the customer was asked again; nil for no
}

// Show shows the queue.
func (p *Pages) Show(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	f := FilterOf(r.URL.Query()).placed(0, 0)
	f.Back = ""
	now := p.now()
	found, err := p.shell.Engine.Queue(r.Context(), s.Tenant, f.query(s, now))
	if err != nil {
		return err
	}
	if last, yes := shell.BeyondLastPage(r, s, found); yes {
		return shell.Redirect(w, last)
	}
	tabs, err := p.tabs(r.Context(), s, f, found.Total)
	if err != nil {
		return err
	}
	workflows, err := p.shell.WorkflowChoices(r, s, f.Workflow)
	if err != nil {
		return err
	}
	view := queueView{
		Filter: f, Tabs: tabs, Workflows: workflows, Events: s.Base + "/queue/events", Empty: emptyQueue(s, f),
		Query: f.Query(), MaxNotes: rules.MaxNotes,
	}
	if !f.Chosen() && found.Offset == 0 && f.Order == store.OldestFirst { // the page shows what a watcher looks at
		view.Events += "?since=" + stateOf(found)
	}
	named, shown := p.viewTabs(r, s, f)
	view.Tabs, view.View = append(view.Tabs, named...), shown
	view.Search, err = p.searchView(s, f.Search, f.Words, func(words string) (string, func() (int, error)) {
		of := f.first()
		of.Search, of.Words = "", words
		return s.Base + "/queue" + of.Query(), func() (int, error) { return p.queueSize(r.Context(), s, of) }
	})
	if err != nil {
		return err
	}
	view.choices(s)
	if s.May(verification.RoleReviewer) {
		view.Next = s.Base + "/queue/next" + f.first().Query()
	}
	view.Summary = s.Count("queue.total", found.Total)
	for i, run := range found.Data {
		row := rowOf(s, run, f.placed(found.Offset+i+1, found.Total), now)
		p.before(r.Context(), s, &row, run.Review.Rejections)
		view.Rows = append(view.Rows, row)
		if f.Cause == rules.CauseConsent && s.May(verification.RoleReviewer) && declinedAlone(s, *run.Review) {
			view.Declined = append(view.Declined, run.ID)
		}
	}
	view.Pager = shell.PagerOf(r, s, found)
	return p.shell.Render(w, s, http.StatusOK, "queue", "queue.title", view)
}

// before adds what is known of earlier rejections.
func (p *Pages) before(ctx context.Context, s shell.Session, row *queueRow, f rules.Rejections) {
	found, unknown := p.desk.StillRejected(ctx, s.Tenant, f, 1)
	row.Unknown = unknown
	for _, run := range found {
		before := EarlierOf(s, run)
		row.Before = &before
	}
}

// rowOf returns the row of a run.
func rowOf(s shell.Session, run rules.Summary, f Filter, now time.Time) queueRow {
	v := run.Review
	row := queueRow{
		ID: run.ID, URL: s.Base + "/runs/" + string(run.ID) + f.Query(), Reference: s.Reference(run.ReferenceID, run.RestrictedAt), Workflow: v.WorkflowName,
		Subject: v.Subject,
		Since:   s.Ago(v.Since, now), Claim: v.Claim.Name, Mine: v.Claim.IsOf(s.Person()),
		Assigned: s.AssigneeBadge(v.Assignment), Back: s.BackBadge(*v),
	}
	for _, d := range v.Differing {
		row.Reasons = append(row.Reasons, differingOf(s, d))
	}
	for _, concern := range v.Concerns {
		if len(v.Differing) > 0 && concern.Kind == rules.ConcernFailed && concern.Finding == "" && concern.Score != nil {
			continue // the facts say more than the score of their comparison
		}
		if concern.Kind == rules.ConcernReview && len(v.Concerns) > 1 {
			continue // what a check found says more than the reason of the workflow
		}
		row.Reasons = append(row.Reasons, ConcernOf(s, concern))
	}
	if v.Proposed != rules.DecisionNone {
		key := "queue.proposed." + string(v.Proposed)
		if v.ProposedBy.Is(s.Person()) {
			key = "queue.proposed.own"
		}
		row.Proposed = &web.Badge{Tone: s.DecisionBadge(v.Proposed).Tone, Icon: "person", Text: s.Say(key)}
	}
	if v.MoreConcerns > 0 {
		row.More = s.Count("queue.more", v.MoreConcerns)
	}
	if !v.DueAt.IsZero() {
		badge := s.DueBadge(*v, now)
		row.Due, row.DueAt = &badge, s.At(v.DueAt)
	}
	return row
}

// choices fills in the options of the filters.
func (v *queueView) choices(s shell.Session) {
	add := func(to *[]shell.Choice, chosen string, key string, values ...string) {
		for _, value := range values {
			*to = append(*to, shell.Choice{Value: value, Text: s.Say(key + value), Chosen: value == chosen})
		}
	}
	for _, cause := range rules.Causes() {
		add(&v.Causes, string(v.Filter.Cause), "cause.", string(cause))
	}
	add(&v.Ages, v.Filter.Age, "age.", ages()...)
	add(&v.Whose, v.Filter.Whose, "whose.", "", whoseMine, whoseNobody, whoseAssigned)
	add(&v.Orders, string(v.Filter.Order), "order.", string(store.OldestFirst), string(store.DueFirst))
}

// emptyQueue says why no run is shown.
func emptyQueue(s shell.Session, f Filter) web.Empty {
	if f.Chosen() {
		return web.Empty{Icon: "search", Title: s.Say("queue.none.title"), Text: s.Say("queue.none.text")}
	}
	return web.Empty{Icon: "inbox", Title: s.Say("queue.empty.title"), Text: s.Say("queue.empty.text")}
}
