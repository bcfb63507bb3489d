// Search: what a person types finds runs by reference, or by the words of a person.

package console

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// A search is posted, so that no URL has what a person typed about another person: the page
// that it leads to has the keyed hashes of the words instead. A reference stays in the URL.

// wordsField is the name of the search keys in the query of a page.
const wordsField = "words"

// searchKeys returns the search keys in the query of a page; nil for none.
func searchKeys(words string) []store.SearchKey {
	keys, err := store.ParseKeys(words)
	if err != nil {
		return nil
	}
	return keys
}

// searched returns what a list is filtered by after a text was typed: the text as the beginning
// of a reference or as a run id, or the keys of its words. It is a reference if some run of
// the list matches it, which count counts.
func (c *console) searched(
	s session, text string, count func(reference string) (int, error),
) (reference, words string, err error) {
	text = strings.TrimSpace(text)
	keys := c.engine.SearchKeys(s.Tenant, facts.ParseSearch(text))
	if _, err := verification.ParseRunID(text); err == nil || len(keys) == 0 {
		return text, "", nil
	}
	n, err := count(text)
	if err != nil || n > 0 {
		return text, "", err
	}
	return "", store.FormatKeys(keys), nil
}

// searchQueue leads to the queue with the filters of a form.
func (c *console) searchQueue(w http.ResponseWriter, r *http.Request, s session) error {
	f := queueFilterOf(r.PostForm)
	f.Back, f.Page = "", 1
	if text := f.Search; text != "" {
		f.Words = ""
		var err error
		f.Search, f.Words, err = c.searched(s, text, func(string) (int, error) { return c.queueSize(r.Context(), s, f) })
		if err != nil {
			return err
		}
	}
	return c.redirect(w, s.Base+"/queue"+f.Query())
}

// queueSize returns how many runs of the queue match a filter.
func (c *console) queueSize(ctx context.Context, s session, f queueFilter) (int, error) {
	return c.desk.QueueSize(ctx, s.Tenant, f.query(s, c.opt.Now()))
}

// searchRuns leads to the list of runs with the filters of a form.
func (c *console) searchRuns(w http.ResponseWriter, r *http.Request, s session) error {
	query := url.Values{}
	for _, name := range []string{"reference", wordsField, "status", "decision", "workflow", "from", "to"} {
		if value := strings.TrimSpace(r.PostForm.Get(name)); value != "" {
			query.Set(name, value)
		}
	}
	if text := query.Get("reference"); text != "" {
		reference, words, err := c.searched(s, text, func(reference string) (int, error) {
			return c.runCount(r.Context(), s, store.RunQuery{ReferencePrefix: reference})
		})
		if err != nil {
			return err
		}
		query.Del(wordsField)
		query.Del("reference")
		if words != "" {
			query.Set(wordsField, words)
		} else {
			query.Set("reference", reference)
		}
	}
	to := s.Base + "/runs"
	if len(query) > 0 {
		to += "?" + query.Encode()
	}
	return c.redirect(w, to)
}

// runCount returns how many runs match a query.
func (c *console) runCount(ctx context.Context, s session, q store.RunQuery) (int, error) {
	q.PageQuery = store.PageQuery{Limit: 1}
	found, _, err := c.engine.RunSummaries(ctx, s.Tenant, q)
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
func (c *console) searchView(
	s session, reference, words string, with func(words string) (to string, size func() (int, error)),
) (v searchView, err error) {
	v.People, v.Words = c.engine.Searches(), words
	v.Clear, _ = with("")
	keys := c.engine.SearchKeys(s.Tenant, facts.ParseSearch(reference))
	if len(keys) == 0 {
		return v, nil
	}
	to, size := with(store.FormatKeys(keys))
	n, err := size()
	if n > 0 {
		v.Also, v.AlsoURL = s.count("search.also", n), to
	}
	return v, err
}

// relatedView is the part of the run page about runs that may be of the same person.
type relatedView struct {
	Count string
	Rows  []relatedRow
}

type relatedRow struct {
	URL, Reference, Workflow string
	Same                     string // what both runs have in common
	Badge                    web.Badge
	Reason                   string // of a rejection; empty for none
	StartedAt                instant
}

// relatedView returns the runs that may be of the person of a run; nil if there are none.
func (c *console) relatedView(r *http.Request, s session, rec desk.RunRecord) (*relatedView, error) {
	found, err := c.desk.RelatedRuns(r.Context(), s.Tenant, rec)
	switch {
	case errors.Is(err, verification.ErrUnavailable): // such as a reference that millions of runs share
		return &relatedView{Count: s.say("related.unavailable")}, nil
	case err != nil || len(found.Runs) == 0:
		return nil, err
	}
	key := "related.total"
	if found.AtLeast {
		key = "related.atleast"
	}
	v := &relatedView{Count: s.count(key, found.Total)}
	names := workflowChoice{names: map[verification.WorkflowID]string{}}
	for _, run := range found.Runs {
		row := relatedRow{URL: s.Base + "/runs/" + string(run.ID), Reference: run.ReferenceID, StartedAt: s.At(run.StartedAt)}
		if row.Workflow, err = c.workflowName(r, s, names, run.Workflow); err != nil {
			return nil, err
		}
		var same []string
		for _, relation := range run.Same {
			same = append(same, s.say("related."+string(relation)))
		}
		row.Same = strings.Join(same, ", ")
		row.Reason = cmp.Or(run.Rejection.In(s.Lang()).Label, run.Rejection.Code)
		row.Badge = s.statusBadge(run.StatusAt(found.At))
		if d := run.DecisionAt(found.At); d != rules.DecisionNone {
			row.Badge = s.decisionBadge(d)
		} else if b, ok := outcomeBadge(run.Outcome); ok {
			row.Badge = b
		}
		v.Rows = append(v.Rows, row)
	}
	return v, nil
}
