// The palette of the console finds runs by reference, and by the words of a person.

package queue

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/verification/facts"
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

// Find answers the palette with the newest runs whose reference begins with a text, and those of a person.
func (p *Pages) Find(w http.ResponseWriter, r *http.Request, s shell.Session) error {
	text := strings.TrimSpace(r.PostForm.Get("text"))
	queries := []store.RunQuery{{ReferencePrefix: text}}
	if keys := p.shell.Engine.SearchKeys(s.Tenant, facts.ParseSearch(text)); len(keys) > 0 {
		queries = append(queries, store.RunQuery{Keys: keys})
	}
	if utf8.RuneCountInString(text) < minFind {
		queries = nil
	}
	all := []foundRun{}
	for _, q := range queries {
		q.PageQuery = store.PageQuery{Limit: maxFind}
		found, at, err := p.shell.Engine.RunSummaries(r.Context(), s.Tenant, q)
		if err != nil {
			return err
		}
		for _, run := range found.Data {
			if one := foundOf(s, run, at); len(all) < maxFind && !slices.Contains(all, one) {
				all = append(all, one)
			}
		}
	}
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(all)
}

// foundOf returns what the palette shows of a run: the person if the run needs a verdict, the reference, and how it stands.
func foundOf(s shell.Session, run rules.Summary, at time.Time) foundRun {
	state := s.StatusBadge(run.StatusAt(at))
	if d := run.DecisionAt(at); d != rules.DecisionNone {
		state = s.DecisionBadge(d)
	}
	text := shell.Isolate(run.ReferenceID) + " · " + state.Text
	if run.Review != nil && run.Review.Subject != "" {
		text = shell.Isolate(run.Review.Subject) + " · " + text
	}
	return foundRun{Text: text, URL: s.Base + "/runs/" + string(run.ID)}
}
