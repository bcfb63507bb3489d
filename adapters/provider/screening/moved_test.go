// Tests of cleared hits whose entries move in their list, over whole runs.

package screening_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/definition"
	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/provider/screening"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
)

const movedFlow = `
workflow: moved
name: Moved
start: screen
nodes:
  screen:
    type: check
    provider: offline.screening
    with: {list: own, kind: person, name: "${input.name}"}
    rescreen: {list: own, every: change}
    next: done
  done: {type: end}
`

func TestARunStaysApprovedWhileTheEntrySaysTheSame(t *testing.T) {
	const others = "Piotr Exempel\nAsha Beispiel\n"
	const entity = `{"id":"ID","schema":"Person","caption":"Ivan Testov","referents":[REFS],"properties":{"name":["Ivan Testov"ALIAS]}}` + "\n"
	ftm := func(id, refs, alias string) string {
		return strings.NewReplacer("ID", id, "REFS", refs, "ALIAS", alias).Replace(entity)
	}
	for _, c := range []struct {
		name, before, after string
		want                rules.Decision
	}{
		{"a line is inserted above", "name\n" + others + "Ivan Testov\n", "name\nMeera Muster\n" + others + "Ivan Testov\n", rules.DecisionApprove},
		{"a line above is removed", "name\n" + others + "Ivan Testov\n", "name\nAsha Beispiel\nIvan Testov\n", rules.DecisionApprove},
		{"the entry gets an alias", "name,aliases\nIvan Testov,\n", "name,aliases\nIvan Testov,I. Testow\n", rules.DecisionReview},
		{"another entry of the name comes", "id,name\na,Ivan Testov\n", "id,name\na,Ivan Testov\nb,Ivan Testov\n", rules.DecisionReview},
		{"the entity is merged", ftm("NK-1", "", ""), ftm("NK-2", `"NK-1"`, ""), rules.DecisionApprove},
		{"the entity is merged, and gets an alias", ftm("NK-1", "", ""), ftm("NK-2", `"NK-1"`, `,"I. Testow"`), rules.DecisionReview},
		{"another entity takes its place", ftm("NK-1", "", ""), ftm("NK-2", "", ""), rules.DecisionReview},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "own")
			write := func(text string) {
				t.Helper()
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write(c.before)
			lists, err := screening.Open(t.Context(), []screening.Source{{Name: "own", Path: path}}, screening.Options{Log: slog.New(slog.DiscardHandler), Now: time.Now})
			if err != nil {
				t.Fatal(err)
			}
			k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) {
				p.Providers[screening.ProviderName] = screening.NewProvider(lists, time.Now)
			})
			flow, err := definition.ReadWorkflow("moved.yaml", []byte(movedFlow))
			if err != nil {
				t.Fatal(err)
			}
			run := k.Start(k.Apply(flow.Definition).ID, engine.StartRequest{ReferenceID: "r", Input: verification.DataOf(map[string]any{"name": "Ivan Testov"})})
			k.Advance(2 * time.Minute)
			events, err := k.Store.Load(t.Context(), enginetest.Tenant, run.ID, 0)
			if err != nil {
				t.Fatal(err)
			}
			step, _ := rules.Fold(run.ID, events).Step("screen")
			if step.Screening == nil || len(step.Screening.Hits) != 1 {
				t.Fatalf("the screening is %+v, want a hit", step.Screening)
			}
			hit := step.Screening.Hits[0]
			err = k.Engine.DecideHit(t.Context(), enginetest.Tenant, run.ID, rules.DecideHit{
				Node: "screen", List: "own", Entry: hit.ID, Digest: hit.Digest, Match: rules.MatchOther, Reason: "Another year of birth.", By: "Meera", Identity: "meera",
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := k.GiveVerdict(run.ID, rules.DecisionApprove); got.Decision != rules.DecisionApprove {
				t.Fatalf("the decision is %s, want approve", got.Decision)
			}
			write(c.after)
			if _, err := lists.Reload(t.Context()); err != nil {
				t.Fatal(err)
			}
			k.Advance(5 * time.Minute)
			if got := k.Run(run.ID).Decision; got != c.want {
				t.Errorf("after the list has changed the decision is %s, want %s", got, c.want)
			}
		})
	}
}
