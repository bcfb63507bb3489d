// Search: what a person types finds runs by reference, or by the words of a person.

package queue

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/store"
)

// Search leads to the queue with the filters of a form.
func (p *Pages) Search(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	f := FilterOf(r.PostForm)
	f.Back, f.Page = "", 1
	if text := f.Search; text != "" {
		f.Words = ""
		var err error
		f.Search, f.Words, err = p.shell.Searched(s, text, func(string) (int, error) { return p.queueSize(r.Context(), s, f) })
		if err != nil {
			return err
		}
	}
	return shell.Redirect(w, s.Base+"/queue"+f.Query())
}

// queueSize returns how many runs of the queue match a filter.
func (p *Pages) queueSize(ctx context.Context, s shell.Session, f Filter) (int, error) {
	return p.desk.QueueSize(ctx, s.Tenant, f.query(s, p.now()))
}

// SearchRuns leads to the list of runs with the filters of a form.
func (p *Pages) SearchRuns(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	query := url.Values{}
	for _, name := range []string{"reference", shell.WordsField, "status", "decision", "workflow", "from", "to"} {
		if value := strings.TrimSpace(r.PostForm.Get(name)); value != "" {
			query.Set(name, value)
		}
	}
	if text := query.Get("reference"); text != "" {
		reference, words, err := p.shell.Searched(s, text, func(reference string) (int, error) {
			return p.runCount(r.Context(), s, store.RunQuery{ReferencePrefix: reference})
		})
		if err != nil {
			return err
		}
		query.Del(shell.WordsField)
		query.Del("reference")
		if words != "" {
			query.Set(shell.WordsField, words)
		} else {
			query.Set("reference", reference)
		}
	}
	to := s.Base + "/runs"
	if len(query) > 0 {
		to += "?" + query.Encode()
	}
	return shell.Redirect(w, to)
}

// runCount returns how many runs match a query.
func (p *Pages) runCount(ctx context.Context, s shell.Session, q store.RunQuery) (int, error) {
	q.PageQuery = store.PageQuery{Limit: 1}
	found, _, err := p.shell.Engine.RunSummaries(ctx, s.Tenant, q)
	return found.Total, err
}

// searchView is what the search box of a list shows besides its text.
type searchView struct {
	People bool   // the box also finds people
	Words  string // the keys of the words that the list is filtered by; empty for none
	Clear  string // the URL of the list without them
	// Also says how many runs match the text as the words of a person, and AlsoURL leads to
	// them; empty if the text is no such words, or no run matches.
	Also, AlsoURL string
}

// searchView returns the search box of a list that is filtered by a reference or by words. with
// returns the list with other words in place of both: its URL, and how many runs it has.
func (p *Pages) searchView(
	s shell.Session, reference, words string, with func(words string) (to string, size func() (int, error)),
) (v searchView, err error) {
	v.People, v.Words = p.shell.Engine.Searches(), words
	v.Clear, _ = with("")
	keys := p.shell.Engine.SearchKeys(s.Tenant, facts.ParseSearch(reference))
	if len(keys) == 0 {
		return v, nil
	}
	to, size := with(store.FormatKeys(keys))
	n, err := size()
	if n > 0 {
		v.Also, v.AlsoURL = s.Count("search.also", n), to
	}
	return v, err
}
