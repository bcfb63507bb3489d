// What the reader of the queue chose.

package queue

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// Filter is what the reader of the queue chose. The queue, the run pages opened from it and
// their forms carry it in their query.
type Filter struct {
	Search   string // a run id, or the beginning of a reference id
	Words    string // search keys, as store.FormatKeys returns them
	Workflow verification.WorkflowID
	Cause    rules.Cause
	Age      string // a duration of ages
	Overdue  bool   // the due time has passed
	Whose    string // whoseMine, whoseNobody, whoseAssigned or empty for all
	Order    store.RunOrder
	Page     int // from 1

	// At is the place of a run in the list that its page was opened from, and Of the length of the list then; 0 for no place.
	At, Of int

	// Back is the path and query of another list that a run page was opened from, below
	// the path of the console; empty for the queue.
	Back string
}

// backLists are the lists besides the queue that a run page leads back to.
func backLists() []string { return []string{"/runs", "/deliveries"} }

// The values of Filter.Whose.
const (
	whoseMine   = "mine"
	whoseNobody = "unclaimed"
	// whoseAssigned selects the runs that are assigned to the person or a team of the person.
	whoseAssigned = "assigned"
)

// ages are the choices of how long a run has waited at least.
func ages() []string { return []string{"1h", "4h", "24h", "72h", "168h"} }

// FilterOf reads a filter. It ignores what it does not know: a wrong filter shows
// more, not less.
func FilterOf(q url.Values) Filter {
	f := Filter{Search: strings.TrimSpace(q.Get("search")), Order: store.OldestFirst, Page: shell.PageNumber(q)}
	if id, err := verification.ParseWorkflowID(q.Get("workflow")); err == nil {
		f.Workflow = id
	}
	if words := q.Get(shell.WordsField); shell.SearchKeys(words) != nil {
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
	at, _ := strconv.Atoi(q.Get("at"))
	if of, _ := strconv.Atoi(q.Get("of")); 0 < at && at <= of {
		f.At, f.Of = at, of
	}
	if path, _, _ := strings.Cut(q.Get("back"), "?"); slices.Contains(backLists(), path) {
		f.Back = q.Get("back")
	}
	return f
}

// List returns the path and query of the list that a run page was opened from, below the
// path of the console.
func (f Filter) List() string { return cmp.Or(f.Back, "/queue"+f.placed(0, 0).Query()) }

// placed returns the filter for the page of a run at a place of a list; without a place if the list is shorter.
func (f Filter) placed(at, of int) Filter {
	if f.At, f.Of = at, of; at > of {
		f.At, f.Of = 0, 0
	}
	return f
}

// Query returns the filter as the query of a URL, with its question mark; empty for the
// whole queue.
func (f Filter) Query() string { return f.With(url.Values{}) }

// With returns the filter and q as the query of a URL, as Query does.
func (f Filter) With(q url.Values) string {
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	set("search", f.Search)
	set(shell.WordsField, f.Words)
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
	if f.At > 0 {
		set("at", strconv.Itoa(f.At))
		set("of", strconv.Itoa(f.Of))
	}
	set("back", f.Back)
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}

// first returns the filter at its first page.
func (f Filter) first() Filter {
	f.Page = 1
	return f
}

// Chosen reports whether the filter leaves anything out.
func (f Filter) Chosen() bool {
	f.Order, f.Page, f.Back = "", 0, ""
	return f.placed(0, 0) != Filter{}
}

// More reports whether the page shows all fields of the filter: another one than the
// search was changed.
func (f Filter) More() bool {
	f.Search, f.Words, f.Page, f.Back = "", "", 0, ""
	return f.placed(0, 0) != Filter{Order: store.OldestFirst}
}

// query returns the query of the engine.
func (f Filter) query(s shell.Session, now time.Time) store.RunQuery {
	q := store.RunQuery{
		PageQuery: shell.PageQuery(f.Page), Order: f.Order,
		Workflow: f.Workflow, Cause: f.Cause, Unclaimed: f.Whose == whoseNobody, Keys: shell.SearchKeys(f.Words),
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

// queryOfRunPages returns the query of the run pages that the list of a request links to.
func queryOfRunPages(r *http.Request, s shell.Session) string {
	list := strings.TrimPrefix(shell.PageURL(r, s, shell.PageNumber(r.URL.Query())), s.Base)
	return Filter{Order: store.OldestFirst, Back: list}.Query()
}
