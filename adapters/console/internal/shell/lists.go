// Lists: the pages of a list, and what its filters have in common.

package shell

import (
	"cmp"
	"errors"
	"maps"
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

// PageNumber returns the number in a query: page=2 is the second page, and anything else
// the first.
func PageNumber(q url.Values) int {
	n, err := strconv.Atoi(q.Get("page"))
	if err != nil || n < 1 || n > maxPage {
		return 1
	}
	return n
}

// PageQuery selects a page of a list by its number.
func PageQuery(number int) store.PageQuery {
	return store.PageQuery{Limit: store.DefaultLimit, Offset: (number - 1) * store.DefaultLimit}
}

// PageOf selects the page of a list that a request asks for.
func PageOf(r *http.Request) store.PageQuery { return PageQuery(PageNumber(r.URL.Query())) }

// PageURL returns the URL of another page of a list, with the same filters.
func PageURL(r *http.Request, s Session, number int) string {
	q := r.URL.Query()
	q.Del("lang") // a cookie keeps it
	q.Del("page")
	if number > 1 {
		q.Set("page", strconv.Itoa(number))
	}
	maps.DeleteFunc(q, func(_ string, values []string) bool { return len(values) == 0 || values[0] == "" })
	if len(q) == 0 {
		return s.Base + s.Path
	}
	return s.Base + s.Path + "?" + q.Encode()
}

// BeyondLastPage reports whether a list has entries, but none on the page that a request asks
// for, and returns the URL of the last page. Entries may have left the list.
func BeyondLastPage[T any](r *http.Request, s Session, p store.Page[T]) (last string, yes bool) {
	if len(p.Data) > 0 || p.Offset == 0 || p.Total == 0 {
		return "", false
	}
	return PageURL(r, s, (p.Total-1)/p.Limit+1), true
}

// PagerOf returns the links to the other pages of a list; nil if there are none.
func PagerOf[T any](r *http.Request, s Session, p store.Page[T]) *web.Pager {
	shown := len(p.Data)
	if shown == 0 || p.Total <= shown {
		return nil
	}
	number := p.Offset/p.Limit + 1
	pager := &web.Pager{
		Label: s.Say("pager.label"), Previous: s.Say("pager.previous"), Next: s.Say("pager.next"),
		Text: s.Say("pager.text", s.Number(p.Offset+1), s.Number(p.Offset+shown), s.Number(p.Total)),
	}
	if number > 1 {
		pager.PreviousURL = PageURL(r, s, number-1)
	}
	if p.Offset+shown < p.Total {
		pager.NextURL = PageURL(r, s, number+1)
	}
	return pager
}

// PagerOfEntries returns the links of a page of the audit trail, whose URL at returns: to the newest entries, if the page begins
// before an entry, and to those before older, if there are any. It is nil for neither.
func PagerOfEntries(s Session, before, older string, at func(before string) string) *web.Pager {
	pager := web.Pager{Label: s.Say("pager.label"), Previous: s.Say("audit.newest"), Next: s.Say("audit.older")}
	if before != "" {
		pager.PreviousURL = at("")
	}
	if older != "" {
		pager.NextURL = at(older)
	} else if before == "" {
		return nil
	}
	return &pager
}

// maxWorkflowChoices bounds the workflows that a filter offers.
const maxWorkflowChoices = store.MaxLimit

// WorkflowChoice is the filter of a list by workflow.
type WorkflowChoice struct {
	Choices []Choice                           // by name: the newest workflows, and the chosen one
	More    bool                               // there are others, which the page of workflows leads to
	Names   map[verification.WorkflowID]string // those that were looked up
}

// WorkflowChoices returns the workflows of the tenant to choose from.
func (sh *Shell) WorkflowChoices(r *http.Request, s Session, chosen verification.WorkflowID) (w WorkflowChoice, err error) {
	found, err := sh.Engine.Workflows(r.Context(), s.Tenant, store.PageQuery{Limit: maxWorkflowChoices})
	if err != nil {
		return w, err
	}
	w.More, w.Names = found.Total > len(found.Data), map[verification.WorkflowID]string{}
	for _, one := range found.Data {
		w.Names[one.ID] = one.Name
	}
	if chosen != "" {
		if _, err = sh.WorkflowName(r, s, w.Names, chosen); err != nil {
			return w, err
		}
	}
	for id, name := range w.Names {
		w.Choices = append(w.Choices, Choice{Value: string(id), Text: name, Chosen: id == chosen})
	}
	slices.SortFunc(w.Choices, func(a, b Choice) int {
		return cmp.Or(strings.Compare(a.Text, b.Text), strings.Compare(a.Value, b.Value))
	})
	return w, nil
}

// WorkflowName returns the name of a workflow, also of one that is not among the newest;
// its id if the tenant has no such workflow. It adds the name to those that are known.
func (sh *Shell) WorkflowName(r *http.Request, s Session, known map[verification.WorkflowID]string, id verification.WorkflowID) (string, error) {
	if _, ok := known[id]; !ok {
		found, err := sh.Engine.Workflow(r.Context(), s.Tenant, id)
		if err != nil && !errors.Is(err, verification.ErrNotFound) {
			return "", err
		}
		known[id] = cmp.Or(found.Name, string(id))
	}
	return known[id], nil
}

// Choice is an option of a select.
type Choice struct {
	Value, Text string
	Chosen      bool
}
