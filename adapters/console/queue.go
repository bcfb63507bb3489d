// The queue page: the runs that need a verdict.

package console

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// queueFilter is what the reader of the queue chose. The queue, the run pages opened from it and
// their forms carry it in their query.
type queueFilter struct {
	Search   string // a run id, or the beginning of a reference id
	Words    string // search keys, as store.FormatKeys returns them
	Workflow verification.WorkflowID
	Cause    rules.Cause
	Age      string // a duration of ages
	Overdue  bool   // the due time has passed
	Whose    string // whoseMine, whoseNobody, whoseAssigned or empty for all
	Order    store.RunOrder
	Page     int // from 1

	// Back is the path and query of another list that a run page was opened from, below
	// the path of the console; empty for the queue.
	Back string
}

// backLists are the lists besides the queue that a run page leads back to.
func backLists() []string { return []string{"/runs", "/deliveries"} }

// The values of queueFilter.Whose.
const (
	whoseMine   = "mine"
	whoseNobody = "unclaimed"
	// whoseAssigned selects the runs that are assigned to the person or a team of the person.
	whoseAssigned = "assigned"
)

// ages are the choices of how long a run has waited at least.
func ages() []string { return []string{"1h", "4h", "24h", "72h", "168h"} }

// queueFilterOf reads a filter. It ignores what it does not know: a wrong filter shows
// more, not less.
func queueFilterOf(q url.Values) queueFilter {
	f := queueFilter{Search: strings.TrimSpace(q.Get("search")), Order: store.OldestFirst, Page: pageNumber(q)}
	if id, err := verification.ParseWorkflowID(q.Get("workflow")); err == nil {
		f.Workflow = id
	}
	if words := q.Get(wordsField); searchKeys(words) != nil {
		f.Words = words
	}
	if cause, err := rules.ParseCause(q.Get("cause")); err == nil {
		f.Cause = cause
	}
	if slices.Contains(ages(), q.Get("age")) {
		f.Age = q.Get("age")
	}
	f.Overdue = q.Get("overdue") == "1"
	if whose := q.Get("whose"); slices.Contains([]string{whoseMine, whoseNobody, whoseAssigned}, whose) {
		f.Whose = whose
	}
	if order, err := store.ParseQueueOrder(q.Get("order")); err == nil {
		f.Order = order
	}
	if path, _, _ := strings.Cut(q.Get("back"), "?"); slices.Contains(backLists(), path) {
		f.Back = q.Get("back")
	}
	return f
}

// list returns the path and query of the list that a run page was opened from, below the
// path of the console.
func (f queueFilter) list() string { return cmp.Or(f.Back, "/queue"+f.Query()) }

// Query returns the filter as the query of a URL, with its question mark; empty for the
// whole queue.
func (f queueFilter) Query() string { return f.with(url.Values{}) }

// with returns the filter and q as the query of a URL, as Query does.
func (f queueFilter) with(q url.Values) string {
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	set("search", f.Search)
	set(wordsField, f.Words)
	set("workflow", string(f.Workflow))
	set("cause", string(f.Cause))
	set("age", f.Age)
	if f.Overdue {
		set("overdue", "1")
	}
	set("whose", f.Whose)
	if f.Order != store.OldestFirst {
		set("order", string(f.Order))
	}
	if f.Page > 1 {
		set("page", strconv.Itoa(f.Page))
	}
	set("back", f.Back)
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}

// first returns the filter at its first page.
func (f queueFilter) first() queueFilter {
	f.Page = 1
	return f
}

// Chosen reports whether the filter leaves anything out.
func (f queueFilter) Chosen() bool {
	f.Order, f.Page, f.Back = "", 0, ""
	return f != queueFilter{}
}

// More reports whether the page shows all fields of the filter: another one than the
// search was changed.
func (f queueFilter) More() bool {
	f.Search, f.Words, f.Page, f.Back = "", "", 0, ""
	return f != queueFilter{Order: store.OldestFirst}
}

// query returns the query of the engine.
func (f queueFilter) query(s session, now time.Time) store.RunQuery {
	q := store.RunQuery{
		PageQuery: pageQuery(f.Page), Order: f.Order,
		Workflow: f.Workflow, Cause: f.Cause, Unclaimed: f.Whose == whoseNobody, Keys: searchKeys(f.Words),
	}
	if id, err := verification.ParseRunID(f.Search); err == nil {
		q.Run = id
	} else {
		q.ReferencePrefix = f.Search
	}
	if age, err := time.ParseDuration(f.Age); err == nil {
		q.SinceBefore = now.Add(-age)
	}
	switch f.Whose {
	case whoseMine:
		q.ClaimedBy = s.Identity
	case whoseAssigned:
		q.AssignedTo = rules.AssigneeKeys(s.Reviewer)
	}
	if f.Overdue {
		q.DueBefore = now
	}
	return q
}

// queueTab is a part of the queue that has a name.
type queueTab struct {
	URL, Text string
	Count     int
	Current   bool
	Named     bool // it is a view of the person, and has no count
}

// tabs returns the parts of the queue with their sizes. shown is the size of what the filter shows.
func (c *console) tabs(ctx context.Context, s session, f queueFilter, shown int) (all []queueTab, err error) {
	for _, tab := range []struct {
		key string
		queueFilter
	}{
		{"all", queueFilter{}},
		{"mine", queueFilter{Whose: whoseMine}},
		{"assigned", queueFilter{Whose: whoseAssigned}},
		{"second", queueFilter{Cause: rules.CauseProposal}},
		{"overdue", queueFilter{Overdue: true}},
		{"declined", queueFilter{Cause: rules.CauseConsent}},
	} {
		tab.Order = f.Order
		of := f
		of.Page, of.Back = 0, ""
		t := queueTab{URL: s.Base + "/queue" + tab.Query(), Text: s.say("queue.tab." + tab.key), Count: shown, Current: tab.queueFilter == of}
		if !t.Current {
			if t.Count, err = c.queueSize(ctx, s, tab.queueFilter); err != nil {
				return nil, err
			}
		}
		all = append(all, t)
	}
	return all, nil
}

// queueView is the data of the page queue.
type queueView struct {
	Filter    queueFilter
	Search    searchView
	Tabs      []queueTab
	Workflows workflowChoice
	Causes    []choice
	Ages      []choice
	Whose     []choice
	Orders    []choice
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
	Reasons   []concernView
	More      string // says how many reasons are left out
	Since     age
	Due       *web.Badge
	DueAt     instant
	Proposed  *web.Badge // says that a verdict needs a second reviewer; nil for none
	Claim     string     // who has it; empty for nobody
	Mine      bool
	Assigned  *web.Badge // says to whom; nil for nobody
}

// queuePage shows the queue.
func (c *console) queuePage(w http.ResponseWriter, r *http.Request, s session) error {
	f := queueFilterOf(r.URL.Query())
	f.Back = ""
	now := c.opt.Now()
	found, err := c.engine.Queue(r.Context(), s.Tenant, f.query(s, now))
	if err != nil {
		return err
	}
	if last, yes := beyondLastPage(r, s, found); yes {
		return c.redirect(w, last)
	}
	tabs, err := c.tabs(r.Context(), s, f, found.Total)
	if err != nil {
		return err
	}
	workflows, err := c.workflowChoices(r, s, f.Workflow)
	if err != nil {
		return err
	}
	view := queueView{
		Filter: f, Tabs: tabs, Workflows: workflows, Events: s.Base + "/queue/events", Empty: s.emptyQueue(f),
		Query: f.Query(), MaxNotes: rules.MaxNotes,
	}
	named, shown := c.viewTabs(r, s, f)
	view.Tabs, view.View = append(view.Tabs, named...), shown
	view.Search, err = c.searchView(s, f.Search, f.Words, func(words string) (string, func() (int, error)) {
		of := f.first()
		of.Search, of.Words = "", words
		return s.Base + "/queue" + of.Query(), func() (int, error) { return c.queueSize(r.Context(), s, of) }
	})
	if err != nil {
		return err
	}
	view.choices(s)
	if s.May(verification.RoleReviewer) {
		view.Next = s.Base + "/queue/next" + f.first().Query()
	}
	view.Summary = s.count("queue.total", found.Total)
	for _, run := range found.Data {
		view.Rows = append(view.Rows, c.queueRow(s, run, f, now))
		if f.Cause == rules.CauseConsent && s.May(verification.RoleReviewer) && s.declinedAlone(*run.Review) {
			view.Declined = append(view.Declined, run.ID)
		}
	}
	view.Pager = pagerOf(r, s, found)
	return c.render(w, s, http.StatusOK, "queue", "queue.title", view)
}

// queueRow returns the row of a run.
func (c *console) queueRow(s session, run rules.Summary, f queueFilter, now time.Time) queueRow {
	v := run.Review
	row := queueRow{
		ID: run.ID, URL: s.Base + "/runs/" + string(run.ID) + f.Query(), Reference: run.ReferenceID, Workflow: v.WorkflowName,
		Subject: v.Subject,
		Since:   s.ago(v.Since, now), Claim: v.Claim.Name, Mine: v.Claim.IsOf(s.Person()),
		Assigned: s.assigneeBadge(v.Assignment),
	}
	for _, d := range v.Differing {
		row.Reasons = append(row.Reasons, s.differing(d))
	}
	for _, concern := range v.Concerns {
		if len(v.Differing) > 0 && concern.Kind == rules.ConcernFailed && concern.Finding == "" && concern.Score != nil {
			continue // the facts say more than the score of their comparison
		}
		if concern.Kind == rules.ConcernReview && len(v.Concerns) > 1 {
			continue // what a check found says more than the reason of the workflow
		}
		row.Reasons = append(row.Reasons, s.concernView(concern))
	}
	if v.Proposed != rules.DecisionNone {
		key := "queue.proposed." + string(v.Proposed)
		if v.ProposedBy.Is(s.Person()) {
			key = "queue.proposed.own"
		}
		row.Proposed = &web.Badge{Tone: s.decisionBadge(v.Proposed).Tone, Icon: "person", Text: s.say(key)}
	}
	if v.MoreConcerns > 0 {
		row.More = s.count("queue.more", v.MoreConcerns)
	}
	if !v.DueAt.IsZero() {
		badge := s.dueBadge(v.Since, v.DueAt, now)
		row.Due, row.DueAt = &badge, s.At(v.DueAt)
	}
	return row
}

// choices fills in the options of the filters.
func (v *queueView) choices(s session) {
	add := func(to *[]choice, chosen string, key string, values ...string) {
		for _, value := range values {
			*to = append(*to, choice{Value: value, Text: s.say(key + value), Chosen: value == chosen})
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
func (s session) emptyQueue(f queueFilter) web.Empty {
	if f.Chosen() {
		return web.Empty{Icon: "search", Title: s.say("queue.none.title"), Text: s.say("queue.none.text")}
	}
	return web.Empty{Icon: "inbox", Title: s.say("queue.empty.title"), Text: s.say("queue.empty.text")}
}
