// The palette of the console finds runs by reference, and by the words of a person.

package queue

import (
	"encoding/json"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

const (
	minFind = 3 // characters: fewer find nothing
	maxFind = 6 // runs
)

// foundRun is a run that the palette offers.
type foundRun struct {
	Text string `json:"text"`
	URL  string `json:"url"`
}

// Find answers the palette with the first runs that a text finds, the newest first.
func (p *Pages) Find(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	all := []foundRun{}
	if text := strings.TrimSpace(r.PostForm.Get("text")); utf8.RuneCountInString(text) >= minFind {
		reference, words, err := p.shell.Searched(s, text, func(reference string) (int, error) {
			return p.runCount(r.Context(), s, store.RunQuery{ReferencePrefix: reference})
		})
		if err != nil {
			return err
		}
		found, at, err := p.shell.Engine.RunSummaries(r.Context(), s.Tenant, store.RunQuery{
			PageQuery: store.PageQuery{Limit: maxFind}, ReferencePrefix: reference, Keys: shell.SearchKeys(words),
		})
		if err != nil {
			return err
		}
		for _, run := range found.Data {
			parts := []string{shell.Isolate(run.ReferenceID), s.StatusBadge(run.StatusAt(at)).Text}
			if d := run.DecisionAt(at); d != rules.DecisionNone {
				parts[1] = s.DecisionBadge(d).Text
			}
			if run.Review != nil && run.Review.Subject != "" {
				parts = append([]string{shell.Isolate(run.Review.Subject)}, parts...)
			}
			all = append(all, foundRun{Text: strings.Join(parts, " · "), URL: s.Base + "/runs/" + string(run.ID)})
		}
	}
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(all)
}
