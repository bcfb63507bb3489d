// Tests of commands that wait in the lane of a large run while another host changes the run.

package engine_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// largeAndOver returns a completed run of more than 64 KiB with a text in its input.
func largeAndOver(t *testing.T, k *enginetest.Kit, text string) verification.RunID {
	t.Helper()
	k.Provider.On("pan", enginetest.Pass(map[string]any{"name": text}))
	large, err := verification.NewData(map[string]any{"name": text, "filler": strings.Repeat(text, 6_000)})
	if err != nil {
		t.Fatal(err)
	}
	run := k.Start(k.Apply(onboarding()).ID, engine.StartRequest{ReferenceID: text, Input: large})
	k.Submit(run.ID, "consent_submitted", consent())
	wantStatus(t, k.GiveVerdict(run.ID, rules.DecisionApprove), rules.StatusCompleted)
	return run.ID
}

// TestACommandOfALaneSeesARedaction lets a command hold the lane of a large run, another one wait in it, and another host change
// the run meanwhile. The commands, the store and this host's reading are then as if both commands had come after that change.
func TestACommandOfALaneSeesARedaction(t *testing.T) {
	const canary = "Kanarienvogel"
	asha := verification.Person{Name: "Asha", Identity: "asha"}
	type act func(e *engine.Engine, run verification.RunID) error
	note := func(text string) act {
		return func(e *engine.Engine, run verification.RunID) error {
			return e.AddNote(t.Context(), enginetest.Tenant, run, rules.AddNote{Notes: text, By: "Asha", Identity: "asha"})
		}
	}
	changes := map[string]act{
		"redacted": func(e *engine.Engine, run verification.RunID) error {
			_, err := e.Redact(t.Context(), enginetest.Tenant, run, "", asha)
			return err
		},
		"restricted": func(e *engine.Engine, run verification.RunID) error {
			_, err := e.Restrict(t.Context(), enginetest.Tenant, run, "Asha objects", asha)
			return err
		},
	}
	commands := map[string]act{
		"note": note("second"),
		"verdict": func(e *engine.Engine, run verification.RunID) error {
			_, err := e.GiveVerdict(t.Context(), enginetest.Tenant, run, rules.GiveVerdict{Decision: rules.DecisionReject, By: "Asha", Identity: "asha"}, "")
			return err
		},
		"correction": func(e *engine.Engine, run verification.RunID) error {
			return e.Correct(t.Context(), enginetest.Tenant, run, rules.Correct{Field: "name", Correction: "second", By: "Asha", Identity: "asha"})
		},
		"hold": func(e *engine.Engine, run verification.RunID) error {
			return e.HoldRun(t.Context(), enginetest.Tenant, run, rules.HoldRun{Reason: "Asha is in dispute", By: "Asha", Identity: "asha"})
		},
	}
	for changed, change := range changes {
		for name, second := range commands {
			t.Run(changed+", "+name, func(t *testing.T) {
				outcome := func(waits bool) string {
					k, runs := withRuns(t)
					other := enginetest.New(t, func(p *engine.Ports, o *engine.Options) { p.Store, p.Clock, o.Passive = k.Store, k.Clock, true })
					run := largeAndOver(t, k, canary)
					k.Advance(time.Second)
					first, errs := note("first"), make([]error, 2)
					if waits {
						holds, waited := make(chan struct{}), make(chan struct{})
						var once sync.Once
						onAppend(runs, func(verification.RunID, store.Commit) error {
							once.Do(func() { close(holds); <-waited })
							return nil
						})
						var both sync.WaitGroup
						both.Go(func() { errs[0] = first(k.Engine, run) })
						<-holds
						both.Go(func() { errs[1] = second(k.Engine, run) })
						for engine.InLane(k.Engine, verification.RunRef{Tenant: enginetest.Tenant, Run: run}) < 2 {
							runtime.Gosched()
						}
						if err := change(other.Engine, run); err != nil {
							t.Error(err)
						}
						close(waited)
						both.Wait()
					} else {
						if err := change(other.Engine, run); err != nil {
							t.Fatal(err)
						}
						errs[0], errs[1] = first(other.Engine, run), second(other.Engine, run)
					}
					shown, err := k.Engine.History(t.Context(), enginetest.Tenant, run)
					if err != nil {
						t.Fatal(err)
					}
					all := []any{history(t, k, run), shown.Run, shown.Report}
					for r, err := range k.Store.Records(t.Context(), store.RecordRun) {
						if err != nil {
							t.Fatal(err)
						}
						all = append(all, r)
					}
					raw, err := json.Marshal(all)
					if err != nil {
						t.Fatal(err)
					}
					return fmt.Sprintf("%v\n%s", errs, strings.ReplaceAll(string(raw), "},{", "},\n{"))
				}
				got, want := outcome(true), outcome(false)
				if changed == "redacted" && strings.Contains(got, canary) {
					t.Errorf("the run has what was redacted: %s", got[:min(len(got), 2000)])
				}
				if got != want {
					got, want = strings.ReplaceAll(got, canary, "."), strings.ReplaceAll(want, canary, ".")
					t.Errorf("the commands that waited did something else (-want +got):\n%s", cmp.Diff(want, got))
				}
			})
		}
	}
}
