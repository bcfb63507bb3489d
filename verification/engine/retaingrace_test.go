// Tests of the grace after a change of a policy.

package engine_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// redactAfter is a policy that redacts after days.
func redactAfter(days int) verification.Retention {
	return verification.Retention{RedactAfterDays: days, From: verification.RetentionFromStart}
}

// policed is a kit with a workflow and runs that ended days ago.
type policed struct {
	*enginetest.Kit

	t          *testing.T
	definition workflow.Definition
	runs       map[int]verification.RunID // by age in days
}

// policedRuns starts a run on each day before now, in descending ages, under the policies of the tenant and the workflow.
func policedRuns(t *testing.T, tenant, own verification.Retention, ages ...int) *policed {
	t.Helper()
	k := &policed{Kit: enginetest.New(t), t: t, definition: onboarding(), runs: map[int]verification.RunID{}}
	k.definition.Retention = own
	w := k.Apply(k.definition)
	retained(t, k.Kit, tenant)
	for i, age := range ages {
		if i > 0 {
			k.Advance(time.Duration(ages[i-1]-age) * day)
		}
		run := k.Start(w.ID, engine.StartRequest{ReferenceID: fmt.Sprint("person-", age)})
		if _, err := k.Engine.Cancel(t.Context(), enginetest.Tenant, run.ID); err != nil {
			t.Fatal(err)
		}
		k.runs[age] = run.ID
	}
	k.Advance(time.Duration(ages[len(ages)-1]) * day)
	retain(t, k.Kit)
	return k
}

// own changes the policy of the workflow, as the applying of a file does.
func (k *policed) own(r verification.Retention) {
	k.t.Helper()
	tenant, err := k.Store.Tenant(k.t.Context(), enginetest.Tenant)
	if err != nil {
		k.t.Fatal(err)
	}
	next := engine.NextRetention{Tenant: tenant.Retention, Workflows: map[string]verification.Retention{k.definition.Workflow: r}}
	changes, err := k.Engine.RetentionChanges(k.t.Context(), enginetest.Tenant, &next)
	if err != nil {
		k.t.Fatal(err)
	}
	k.definition.Retention = r
	k.Apply(k.definition)
	if err := k.Engine.NoteRetention(k.t.Context(), enginetest.Tenant, changes); err != nil {
		k.t.Fatal(err)
	}
}

// left returns the ages of the runs that are neither redacted nor deleted after a pass.
func (k *policed) left() (ages []int) {
	k.t.Helper()
	retain(k.t, k.Kit)
	for age, id := range k.runs {
		if _, events := storedRun(k.t, k.Kit, id); len(events) > 0 && !wasRedacted(events) {
			ages = append(ages, age)
		}
	}
	slices.Sort(ages)
	return ages
}

func TestAChangedPolicyCountsADayLater(t *testing.T) {
	none := verification.Retention{}
	type change struct {
		at          time.Duration
		tenant, own *verification.Retention
	}
	toTenant := func(at time.Duration, r verification.Retention) change { return change{at: at, tenant: &r} }
	toOwn := func(at time.Duration, r verification.Retention) change { return change{at: at, own: &r} }
	all := []int{3, 10, 40}
	for _, c := range []struct {
		name        string
		tenant, own verification.Retention
		changes     []change
		left        map[time.Duration][]int // after that time
	}{
		{"the first policy of a tenant", none, none, []change{toTenant(0, redactAfter(5))}, map[time.Duration][]int{0: {3}}},
		{"the first policy of a workflow", none, none, []change{toOwn(0, redactAfter(5))}, map[time.Duration][]int{0: {3}}},
		{
			"a tenant's, which is shorter", redactAfter(60), none,
			[]change{toTenant(0, redactAfter(7))},
			map[time.Duration][]int{0: all, day - time.Second: all, day: {3}},
		},
		{
			"a workflow's before the tenant's", redactAfter(60), none,
			[]change{toOwn(0, redactAfter(7))},
			map[time.Duration][]int{0: all, day - time.Second: all, day: {3}},
		},
		{
			"a tenant's that does not count for the workflow", redactAfter(60), redactAfter(30),
			[]change{toTenant(0, redactAfter(1))},
			map[time.Duration][]int{0: {3, 10}, 2 * day: {3, 10}},
		},
		{
			"a workflow's is taken away, so the tenant's counts", redactAfter(7), redactAfter(60),
			[]change{toOwn(0, none)},
			map[time.Duration][]int{0: all, day - time.Second: all, day: {3}},
		},
		{
			"one that is taken back in time", redactAfter(60), none,
			[]change{toTenant(0, redactAfter(2)), toTenant(23*time.Hour, redactAfter(60))},
			map[time.Duration][]int{0: all, 23 * time.Hour: all, 15 * day: all, 21 * day: {3, 10}},
		},
		{
			"one between two equal ones keeps as long as it counted", redactAfter(7), none,
			[]change{toTenant(0, none), toTenant(time.Hour, redactAfter(7))},
			map[time.Duration][]int{0: {3}, time.Hour: {3}, 4*day + time.Hour: {}},
		},
		{
			"a minimum without removals is a policy",
			verification.Retention{KeepDays: 2},
			none,
			[]change{toTenant(0, verification.Retention{KeepDays: 2, RedactAfterDays: 5, From: verification.RetentionFromStart})},
			map[time.Duration][]int{0: all, day - time.Second: all, day: {3}},
		},
		{
			"redaction becomes deletion", redactAfter(60), none,
			[]change{toTenant(0, verification.Retention{DeleteAfterDays: 7, From: verification.RetentionFromStart})},
			map[time.Duration][]int{0: all, day - time.Second: all, day: {3}},
		},
		{"a longer one counts at once", redactAfter(12), none, []change{toTenant(0, redactAfter(60))}, map[time.Duration][]int{0: {3, 10}, 3 * day: {3, 10}}},
		{
			"changes in the middle of the day before", redactAfter(60), none,
			[]change{toTenant(0, redactAfter(20)), toTenant(12*time.Hour, redactAfter(7))},
			map[time.Duration][]int{0: all, day - time.Second: all, day: {3, 10}, 36*time.Hour - time.Second: {3, 10}, 36 * time.Hour: {3}},
		},
		{
			"the start, where the end counted",
			verification.Retention{RedactAfterDays: 5},
			none,
			[]change{toTenant(0, redactAfter(3))},
			map[time.Duration][]int{0: {3}, day - time.Second: {3}, day: {}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := policedRuns(t, c.tenant, c.own, 40, 10, 3)
			began := k.Clock.Now()
			until := func(at time.Duration) { k.Advance(began.Add(at).Sub(k.Clock.Now())) }
			times := []time.Duration{}
			for at := range c.left {
				times = append(times, at)
			}
			for _, ch := range c.changes {
				times = append(times, ch.at)
			}
			slices.Sort(times)
			for _, at := range slices.Compact(times) {
				until(at)
				for _, ch := range c.changes {
					switch {
					case ch.at != at:
					case ch.tenant != nil:
						retained(t, k.Kit, *ch.tenant)
					default:
						k.own(*ch.own)
					}
				}
				if want, ok := c.left[at]; ok {
					if got := k.left(); !slices.Equal(got, want) {
						t.Errorf("after %s the runs of %v days are left, want %v", at, got, want)
					}
				}
			}
		})
	}
}

// A program that saves policies without a word to the engine is covered from the next pass on.
func TestAPassSeesAChangedPolicyItself(t *testing.T) {
	k := policedRuns(t, redactAfter(60), verification.Retention{}, 10, 3)
	tenant, err := k.Store.Tenant(t.Context(), enginetest.Tenant)
	if err != nil {
		t.Fatal(err)
	}
	tenant.Retention = redactAfter(5)
	if err := k.Store.SaveTenant(t.Context(), tenant); err != nil {
		t.Fatal(err)
	}
	if got := k.left(); len(got) != 2 {
		t.Errorf("the runs of %v days are left, want both", got)
	}
	k.Advance(day)
	if got := k.left(); !slices.Equal(got, []int{3}) {
		t.Errorf("a day later the runs of %v days are left, want that of 3", got)
	}
}

func TestARedactionThatSomebodyAsksForHasNoGrace(t *testing.T) {
	k := policedRuns(t, verification.Retention{KeepDays: 30, RedactAfterDays: 60}, verification.Retention{}, 10)
	retained(t, k.Kit, verification.Retention{KeepDays: 5, RedactAfterDays: 6})
	if got := k.left(); len(got) != 1 {
		t.Fatal("the run is gone")
	}
	if _, err := k.Engine.Redact(t.Context(), enginetest.Tenant, k.runs[10], "", eraser); err != nil {
		t.Errorf("Redact after the minimum of the new policy = %v", err)
	}
}

func TestThePlanSaysWhenRunsGo(t *testing.T) {
	k := policedRuns(t, redactAfter(60), verification.Retention{}, 61, 59, 40, 10, 3)
	began := k.Clock.Now()
	next := verification.Retention{RedactAfterDays: 7, DeleteAfterDays: 30, From: verification.RetentionFromStart}
	type row struct {
		Outcome string
		Runs    int
		From    time.Time
	}
	rows := func(counts []engine.RetentionCount) (all []row) {
		for _, c := range counts {
			all = append(all, row{c.Outcome, c.Runs, c.From})
		}
		return all
	}
	want := []row{{"deleted", 3, began.Add(day)}, {"redacted", 1, began.Add(day)}} // the run of 61 days is redacted already
	changes, err := k.Engine.RetentionChanges(t.Context(), enginetest.Tenant, &engine.NextRetention{Tenant: next})
	if err != nil || len(changes) != 1 {
		t.Fatalf("RetentionChanges = %+v, %v; want one", changes, err)
	}
	if diff := cmp.Diff(want, rows(changes[0].Counts)); diff != "" || !changes[0].At.Equal(began.Add(day)) || changes[0].Before != redactAfter(60) || changes[0].After != next {
		t.Errorf("RetentionChanges before = %+v (-want +got):\n%s", changes[0], diff)
	}
	retained(t, k.Kit, next)
	pending, err := k.Engine.RetentionChanges(t.Context(), enginetest.Tenant, nil)
	if err != nil || len(pending) != 1 || cmp.Diff(want, rows(pending[0].Counts)) != "" {
		t.Errorf("RetentionChanges after = %+v, %v; want %+v", pending, err, want)
	}
	counts, all, err := k.Engine.RetentionPlan(t.Context(), enginetest.Tenant)
	if diff := cmp.Diff(want, rows(counts)); err != nil || !all || diff != "" {
		t.Errorf("RetentionPlan, %v (-want +got):\n%s", err, diff)
	}
	k.Advance(day)
	if pending, err = k.Engine.RetentionChanges(t.Context(), enginetest.Tenant, nil); err != nil || len(pending) != 0 {
		t.Errorf("RetentionChanges a day later = %+v, %v; want none", pending, err)
	}
	counts, _, err = k.Engine.RetentionPlan(t.Context(), enginetest.Tenant)
	for i := range want {
		want[i].From = time.Time{}
	}
	if diff := cmp.Diff(want, rows(counts)); err != nil || diff != "" {
		t.Errorf("RetentionPlan a day later, %v (-want +got):\n%s", err, diff)
	}
}

func TestManyChangesOfAPolicyAreBounded(t *testing.T) {
	k := policedRuns(t, redactAfter(60), verification.Retention{}, 50, 40, 10)
	for n := range 100 {
		retained(t, k.Kit, redactAfter(1+n%7))
		k.Advance(time.Minute)
	}
	if got := k.left(); len(got) != 3 {
		t.Errorf("the runs of %v days are left after many changes within a day, want all", got)
	}
	w, err := k.Engine.Workflows(t.Context(), enginetest.Tenant, store.PageQuery{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	m, err := store.Tables{RowStore: k.Store}.RetentionMark(t.Context(), enginetest.Tenant, w.Data[0].ID)
	if err != nil || len(m.Counted) > 16 {
		t.Errorf("the mark has %d policies, %v; want 16 at most", len(m.Counted), err)
	}
	k.Advance(day)
	if got := k.left(); len(got) != 0 {
		t.Errorf("the runs of %v days are left a day after the last change, want none", got)
	}
}
