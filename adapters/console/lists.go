// Lists: the pages of a list, and what its filters have in common.

package console

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// maxPage bounds the number of a page.
const maxPage = 1_000_000

// pageNumber returns the number in a query: page=2 is the second page, and anything else
// the first.
func pageNumber(q url.Values) int {
	n, err := strconv.Atoi(q.Get("page"))
	if err != nil || n < 1 || n > maxPage {
		return 1
	}
	return n
}

// pageQuery selects a page of a list by its number.
func pageQuery(number int) store.PageQuery {
	return store.PageQuery{Limit: store.DefaultLimit, Offset: (number - 1) * store.DefaultLimit}
}

// pageOf selects the page of a list that a request asks for.
func pageOf(r *http.Request) store.PageQuery { return pageQuery(pageNumber(r.URL.Query())) }

// pageURL returns the URL of another page of a list, with the same filters.
func pageURL(r *http.Request, s session, number int) string {
	q := r.URL.Query()
	q.Del("lang") // a cookie keeps it
	q.Del("page")
	if number > 1 {
		q.Set("page", strconv.Itoa(number))
	}
	for name, values := range q {
		if len(values) == 0 || values[0] == "" {
			q.Del(name)
		}
	}
	if len(q) == 0 {
		return s.Base + s.path
	}
	return s.Base + s.path + "?" + q.Encode()
}

// queryOfRunPages returns the query of the run pages that the list of a request links to.
func queryOfRunPages(r *http.Request, s session) string {
	list := strings.TrimPrefix(pageURL(r, s, pageNumber(r.URL.Query())), s.Base)
	return queueFilter{Order: store.OldestFirst, Back: list}.Query()
}

// beyondLastPage reports whether a list has entries, but none on the page that a request asks
// for, and returns the URL of the last page. Entries may have left the list.
func beyondLastPage[T any](r *http.Request, s session, p store.Page[T]) (last string, yes bool) {
	if len(p.Data) > 0 || p.Offset == 0 || p.Total == 0 {
		return "", false
	}
	return pageURL(r, s, (p.Total-1)/p.Limit+1), true
}

// pagerOf returns the links to the other pages of a list; nil if there are none.
func pagerOf[T any](r *http.Request, s session, p store.Page[T]) *web.Pager {
	shown := len(p.Data)
	if shown == 0 || p.Total <= shown {
		return nil
	}
	number := p.Offset/p.Limit + 1
	pager := &web.Pager{
		Label: s.say("pager.label"), Previous: s.say("pager.previous"), Next: s.say("pager.next"),
		Text: s.say("pager.text", s.Number(p.Offset+1), s.Number(p.Offset+shown), s.Number(p.Total)),
	}
	if number > 1 {
		pager.PreviousURL = pageURL(r, s, number-1)
	}
	if p.Offset+shown < p.Total {
		pager.NextURL = pageURL(r, s, number+1)
	}
	return pager
}

// maxWorkflowChoices bounds the workflows that a filter offers.
const maxWorkflowChoices = store.MaxLimit

// workflowChoice is the filter of a list by workflow.
type workflowChoice struct {
	Choices []choice // by name: the newest workflows, and the chosen one
	More    bool     // there are others, which the page of workflows leads to
	names   map[verification.WorkflowID]string
}

// workflowChoices returns the workflows of the tenant to choose from.
func (c *console) workflowChoices(r *http.Request, s session, chosen verification.WorkflowID) (w workflowChoice, err error) {
	found, err := c.engine.Workflows(r.Context(), s.Tenant, store.PageQuery{Limit: maxWorkflowChoices})
	if err != nil {
		return w, err
	}
	w.More, w.names = found.Total > len(found.Data), map[verification.WorkflowID]string{}
	for _, one := range found.Data {
		w.names[one.ID] = one.Name
	}
	if chosen != "" {
		if _, err = c.workflowName(r, s, w, chosen); err != nil {
			return w, err
		}
	}
	for id, name := range w.names {
		w.Choices = append(w.Choices, choice{Value: string(id), Text: name, Chosen: id == chosen})
	}
	slices.SortFunc(w.Choices, func(a, b choice) int {
		return cmp.Or(strings.Compare(a.Text, b.Text), strings.Compare(a.Value, b.Value))
	})
	return w, nil
}

// workflowName returns the name of a workflow, also of one that is not among the newest;
// its id if the tenant has no such workflow.
func (c *console) workflowName(r *http.Request, s session, w workflowChoice, id verification.WorkflowID) (string, error) {
	if _, known := w.names[id]; !known {
		found, err := c.engine.Workflow(r.Context(), s.Tenant, id)
		if err != nil && !errors.Is(err, verification.ErrNotFound) {
			return "", err
		}
		w.names[id] = cmp.Or(found.Name, string(id))
	}
	return w.names[id], nil
}

// choice is an option of a select.
type choice struct {
	Value, Text string
	Chosen      bool
}

// choices returns the options of a select; the first one is for any value.
func choices(any, chosen string, values []string, text func(string) string) []choice {
	all := []choice{{Text: any, Chosen: chosen == ""}}
	for _, v := range values {
		all = append(all, choice{v, text(v), v == chosen})
	}
	return all
}
