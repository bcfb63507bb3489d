// Random histories.

package storereads

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// next returns facts that may follow in a history.
func next(t *rapid.T, n int) []rules.Fact {
	if n == 0 {
		return []rules.Fact{rules.Started{
			Workflow: Workflow, WorkflowName: "Onboarding", Version: 1, VersionHash: "first", ReferenceID: "customer-1",
		}}
	}
	return rapid.SampledFrom([][]rules.Fact{
		nil,
		{rules.Dispatched{Node: "pan", Key: "pan", Label: "PAN", Provider: "sandbox", Dispatch: n, Visit: 1, Rescreen: "sanctions"}},
		{rules.ResultRecorded{Node: "pan", Passed: true, Data: verification.DataOf(map[string]any{"name": "<Zoë>", "n": 1.5}), Screening: &rules.Screening{
			List: "sanctions", ListVersion: fmt.Sprint(n % 3), Hits: []verification.Hit{{ID: "1", Name: "Zoe", Score: 0.8}},
		}}},
		{rules.ReviewAsked{Node: "review", Label: "Review", Reason: "The names differ."}},
		{rules.VerdictRecorded{Node: "review", Decision: rules.DecisionApprove, By: "Asha", Identity: "asha@example.com"}},
		{rules.Completed{Node: "done", Outcome: "approved"}},
		{rules.Cancelled{}},
		{rules.Held{Reason: "in dispute", By: "Asha", Identity: "asha@example.com"}},
		{
			rules.Dispatched{Node: "pan", Key: "pan", Label: "PAN", Provider: "sandbox", Dispatch: n, Visit: 1, Rescreen: "sanctions"},
			rules.ResultRecorded{Node: "pan", Passed: true, Screening: &rules.Screening{List: "sanctions", ListVersion: fmt.Sprint(n % 3)}},
			rules.Completed{Node: "done", Outcome: "approved"},
		},
	}).Draw(t, "facts")
}

// decided returns what a run of a random definition comes to, and the run after it. The definition is drawn when the run starts.
func (c *Caller) decided(t *rapid.T, before rules.Run) ([]rules.Event, rules.Run) {
	var events []rules.Event
	after, now := before, c.now
	command := func(next rules.Command) {
		more, run, err := rules.Decide(c.programs[before.ID], after, next, now)
		if err == nil { // else the command is refused, which the rules test
			events, after = append(events, more...), run
		}
	}
	if before.Seq == 0 {
		v := workflow.Version{Number: 1, Hash: "first", Definition: flows.AnyDefinition(t)}
		p, err := workflow.Compile(t.Context(), Workflow, v, flows.NewLanguage(), nil, flows.Providers())
		if err != nil {
			t.Fatal(err)
		}
		c.programs[before.ID] = p
		command(rules.Start{ReferenceID: "customer-1", Input: flows.AnyInput(t)})
	}
	for range rapid.IntRange(1, 20).Draw(t, "commands") {
		if after.Ended != "" && rapid.Bool().Draw(t, "over") {
			break
		}
		if rapid.IntRange(0, 4).Draw(t, "later") == 0 {
			now = now.Add(flows.NextWait(t, after, now))
		}
		command(flows.NextCommand(t, c.programs[before.ID], after))
	}
	c.now = now.Truncate(time.Microsecond)
	return events, after
}

// append appends to a run, sometimes at a length that is not its own.
func (c *Caller) append(t *rapid.T) error {
	id := c.run(t)
	history, err := c.Load(t.Context(), Tenant, id, 0)
	if err != nil && !errors.Is(err, verification.ErrNotFound) {
		return err
	}
	seq := len(history)
	if rapid.IntRange(0, 9).Draw(t, "stale") == 0 {
		seq++
	}
	before := rules.Fold(id, rules.Shown(history))
	if len(history) == 0 {
		delete(c.programs, id)
	}
	var events []rules.Event
	var after rules.Run
	if _, decides := c.programs[id]; decides || len(history) == 0 && rapid.IntRange(0, 3).Draw(t, "decided") > 0 {
		events, after = c.decided(t, before)
	} else {
		for _, f := range next(t, len(history)) {
			events = append(events, rules.Event{At: c.now, Fact: f})
		}
		after = before.EvolveAll(events)
	}
	commit := store.NewCommit(before, after, events, time.UTC)
	commit.Hold = rapid.SampledFrom([]store.Hold{store.NotHeld, store.Kept, store.Leased}).Draw(t, "hold")
	switch rapid.IntRange(0, 3).Draw(t, "work") {
	case 0:
		if len(history) > 0 && len(events) > 0 {
			commit.Work = nil
		}
	case 1:
		commit.Work[store.WorkKey{Kind: store.WorkAdvance}] = c.now.Add(time.Minute)
	case 2:
		commit.Work[store.WorkKey{Kind: store.WorkAnnounce, Seq: len(history)}] = c.now
	}
	if commit.Work != nil && len(history)+len(events) > 0 {
		commit.Keys = rapid.SampledFrom([][]store.SearchKey{nil, {}, {SearchKey(1)}, {SearchKey(1), SearchKey(2)}}).Draw(t, "keys")
	}
	commit.Audit = rapid.SampledFrom([][]store.AuditEntry{nil, {c.entry(t)}}).Draw(t, "audit")
	if err := c.Append(t.Context(), Tenant, id, seq, commit); err != nil {
		return err
	}
	history, err = c.Load(t.Context(), Tenant, id, 0)
	if stored := rules.Fold(id, rules.Shown(history)); err == nil && !reflect.DeepEqual(after, stored) {
		all := cmp.Exporter(func(reflect.Type) bool { return true })
		if diff := cmp.Diff(after, stored, all, cmpopts.EquateEmpty()); diff != "" {
			return fmt.Errorf("the run that was decided, and the one that is folded from what is stored (-decided +stored):\n%s", diff)
		}
	}
	return err
}
