// Tests of retention.

package engine_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
)

const day = 24 * time.Hour

// retained saves a policy for the tenant of the tests.
func retained(t *testing.T, k *enginetest.Kit, r verification.Retention) {
	t.Helper()
	tenant, err := k.Store.Tenant(t.Context(), enginetest.Tenant)
	if err != nil {
		t.Fatal(err)
	}
	changes, err := k.Engine.RetentionChanges(t.Context(), enginetest.Tenant, &engine.NextRetention{Tenant: r})
	if err != nil {
		t.Fatal(err)
	}
	tenant.Retention = r
	if err := k.Store.SaveTenant(t.Context(), tenant); err != nil {
		t.Fatal(err)
	}
	if err := k.Engine.NoteRetention(t.Context(), enginetest.Tenant, changes); err != nil {
		t.Fatal(err)
	}
}

func TestARunIsKeptForTheMinimum(t *testing.T) {
	k := enginetest.New(t)
	d := onboarding()
	d.Retention.KeepDays = 3
	w := k.Apply(d)
	run := k.Start(w.ID, engine.StartRequest{ReferenceID: "person-1"})
	k.Advance(time.Minute)
	if _, err := k.Engine.Cancel(t.Context(), enginetest.Tenant, run.ID); err != nil {
		t.Fatal(err)
	}
	until := k.Run(run.ID).CompletedAt.Add(3 * day)
	redact := func() error {
		_, err := k.Engine.Redact(t.Context(), enginetest.Tenant, run.ID, "", eraser)
		return err
	}
	kept := func(until time.Time) {
		t.Helper()
		err := redact()
		want := "run: must be kept until " + until.Format(time.DateOnly) + " (keep_days); it can be restricted instead"
		if !errors.Is(err, verification.ErrConflict) || err.Error() != want {
			t.Errorf("Redact within the minimum = %v, want %s", err, want)
		}
	}
	kept(until)
	retained(t, k, verification.Retention{KeepDays: 5})
	kept(until.Add(2 * day))
	k.Advance(5*day - time.Second)
	kept(until.Add(2 * day))
	k.Advance(time.Second)
	if err := redact(); err != nil {
		t.Errorf("Redact after the minimum = %v", err)
	}
}

func TestAWorkflowBelowTheTenantsMinimumIsRefused(t *testing.T) {
	k := enginetest.New(t)
	retained(t, k, verification.Retention{KeepDays: 1825})
	d := onboarding()
	d.Retention.RedactAfterDays = 30
	_, err := k.Engine.Apply(t.Context(), enginetest.Tenant, d)
	want := []verification.FieldError{{
		Name: "retention.redact_after_days", Message: "is 30, below the minimum: keep_days is 1825 (of the tenant and the workflow together)",
	}}
	if diff := cmp.Diff(want, flows.FieldsOf(t, err)); diff != "" {
		t.Errorf("Apply (-want +got):\n%s", diff)
	}
	d.Retention.RedactAfterDays = 1825
	w := k.Apply(d)
	if w.Retention != d.Retention || w.Versions != 1 {
		t.Errorf("the workflow has %+v in version %d, want %+v in version 1", w.Retention, w.Versions, d.Retention)
	}
	hash := w.LatestHash
	d.Retention.RedactAfterDays = 2000
	if w = k.Apply(d); w.Retention != d.Retention || w.Versions != 1 || w.LatestHash != hash {
		t.Errorf("another policy makes %+v in version %d, want %+v in version 1", w.Retention, w.Versions, d.Retention)
	}
}

// retain makes passes until there is nothing to do.
func retain(t *testing.T, k *enginetest.Kit) {
	t.Helper()
	for range 100 {
		more, err := k.Engine.Retain(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if k.Settle(); !more {
			return
		}
	}
	t.Fatal("100 passes were not enough")
}

// retainedRun is what a test of retention knows of a run.
type retainedRun struct {
	id               verification.RunID
	changed          time.Time // when something last happened to it
	redacted         bool      // with nothing added since
	held, restricted bool
	gone             bool
	last             rules.Run // as it was seen last
}

// TestRetentionActsLikeAScanOfAllRuns makes passes between random policies, starts, ends, verdicts, holds and
// restrictions. A pass removes only what is due, and what a scan of all runs would remove is removed two days later at
// the latest: nothing is skipped for good.
func TestRetentionActsLikeAScanOfAllRuns(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { retentionOf(t, rand.New(rand.NewPCG(seed, 1))) })
	}
}

func retentionOf(t *testing.T, r *rand.Rand) { //nolint:gocognit // the events of one history
	k := enginetest.New(t)
	d := onboarding()
	d.RunTTLSeconds, d.AbandonTimeoutSeconds = 0, 0
	w := k.Apply(d)
	ctx, person := t.Context(), verification.Person{Name: "Asha", Identity: "asha"}
	var runs []*retainedRun
	var policies []countedPolicy // of which the last one counts
	random := func() (p verification.Retention) {
		days := func() int { return r.IntN(3) * (1 + r.IntN(9)) }
		p = verification.Retention{KeepDays: r.IntN(2) * r.IntN(8), RedactAfterDays: days(), DeleteAfterDays: days()}
		if r.IntN(2) == 0 {
			p.From = verification.RetentionFromStart
		}
		return p
	}
	var last verification.Retention
	for step := range 120 {
		now := k.Clock.Now()
		if r.IntN(3) == 0 || len(runs) == 0 {
			runs = append(runs, &retainedRun{id: k.Start(w.ID, engine.StartRequest{ReferenceID: fmt.Sprint("person-", step)}).ID, changed: now})
		}
		x := runs[r.IntN(len(runs))]
		if !x.gone {
			var err error
			switch r.IntN(7) {
			case 0, 1:
				_, err = k.Engine.Cancel(ctx, enginetest.Tenant, x.id)
			case 2:
				if err = k.Engine.HoldRun(ctx, enginetest.Tenant, x.id, rules.HoldRun{Reason: "a dispute", By: "Asha", Identity: "asha"}); err == nil {
					x.held = true
				}
			case 3:
				if err = k.Engine.EndHold(ctx, enginetest.Tenant, x.id, rules.EndHold{By: "Asha", Identity: "asha"}); err == nil {
					x.held = false
				}
			case 4:
				c := rules.GiveVerdict{Decision: rules.DecisionApprove, Notes: fmt.Sprint("notes of step ", step), By: "Asha", Identity: "asha"}
				if _, err = k.Engine.GiveVerdict(ctx, enginetest.Tenant, x.id, c, ""); err == nil {
					x.redacted = false
				}
			case 5:
				if _, err = k.Engine.Restrict(ctx, enginetest.Tenant, x.id, "contested", person); err == nil {
					x.restricted = true
				}
			case 6:
				if _, err = k.Engine.LiftRestriction(ctx, enginetest.Tenant, x.id, "settled", person); err == nil {
					x.restricted = false
				}
			}
			if err == nil {
				x.changed = now
			}
		}
		if r.IntN(12) == 0 {
			p := random()
			if r.IntN(4) == 0 {
				p = last // an earlier policy comes back
			}
			if n := len(policies); n > 0 {
				last = policies[n-1].policy
			}
			policies = append(policies, countedPolicy{p, now})
			retained(t, k, p)
		}
		k.Advance(time.Duration(r.IntN(40)) * time.Hour)
		if r.IntN(5) > 0 {
			retain(t, k)
		}
		checkRetained(t, k, runs, policies)
	}
	k.Advance(3 * day)
	retain(t, k)
	k.Advance(day)
	retain(t, k)
	k.Advance(day)
	retain(t, k)
	checkRetained(t, k, runs, policies)
	for _, x := range runs {
		if n := len(policies); n > 0 {
			overdueRun(t, k, x, policies[n-1].policy, policies[n-1].since, 2*day)
		}
	}
}

func TestARunIsNotForgottenWhenAPolicyComesBack(t *testing.T) {
	k := enginetest.New(t)
	run := start(k, onboarding())
	if _, err := k.Engine.Cancel(t.Context(), enginetest.Tenant, run.ID); err != nil {
		t.Fatal(err)
	}
	hold := rules.HoldRun{Reason: "a dispute", By: "Asha", Identity: "asha"}
	if err := k.Engine.HoldRun(t.Context(), enginetest.Tenant, run.ID, hold); err != nil {
		t.Fatal(err)
	}
	policy := verification.Retention{RedactAfterDays: 3}
	retained(t, k, policy)
	k.Advance(4 * day)
	retain(t, k) // which passes the run
	retained(t, k, verification.Retention{})
	k.Advance(2 * day)
	retain(t, k) // which ends its work
	if err := k.Engine.EndHold(t.Context(), enginetest.Tenant, run.ID, rules.EndHold{By: "Asha", Identity: "asha"}); err != nil {
		t.Fatal(err)
	}
	retained(t, k, policy)
	retain(t, k)
	if got := k.Run(run.ID); got.RedactedAt.IsZero() {
		t.Error("the run was passed, and is not redacted when the policy comes back")
	}
}

// countedPolicy is a policy, and since when it counts.
type countedPolicy struct {
	policy verification.Retention
	since  time.Time
}

// dueOfAll returns what all policies ask of a run that counted in the last day. Those before the first real one do not count.
func dueOfAll(run rules.Run, all []countedPolicy, at time.Time) (redact, remove bool) {
	redact, remove = true, true
	real := false
	for i, c := range all {
		if i+1 < len(all) && !all[i+1].since.Add(day).After(at) {
			continue
		}
		if real = real || c.policy != (verification.Retention{}); real {
			redacts, removes := dueOf(run, c.policy, at)
			redact, remove = redact && redacts, remove && removes
		}
	}
	return redact && real, remove && real
}

// dueOf returns what a policy asks of a run at a time, by a scan.
func dueOf(run rules.Run, p verification.Retention, at time.Time) (redact, remove bool) {
	if run.Ended == "" {
		return false, false
	}
	from := run.CompletedAt
	if p.From == verification.RetentionFromStart {
		from = run.StartedAt
	}
	due := func(days int) bool { return days > 0 && !from.AddDate(0, 0, max(days, p.KeepDays)).After(at) }
	return due(p.RedactAfterDays), due(p.DeleteAfterDays)
}

// storedRun reads a run from the store; none if it is gone.
func storedRun(t *testing.T, k *enginetest.Kit, id verification.RunID) (rules.Run, []rules.Event) {
	t.Helper()
	events, err := k.Store.Load(t.Context(), enginetest.Tenant, id, 0)
	if err != nil && !errors.Is(err, verification.ErrNotFound) {
		t.Fatal(err)
	}
	return rules.Fold(id, events), events
}

// checkRetained fails the test if something was removed that was not due.
func checkRetained(
	t *testing.T, k *enginetest.Kit, runs []*retainedRun, p []countedPolicy,
) {
	t.Helper()
	now := k.Clock.Now()
	for _, x := range runs {
		if x.gone {
			continue
		}
		run, events := storedRun(t, k, x.id)
		if run.Seq == 0 {
			x.gone = true
			if _, due := dueOfAll(x.last, p, now); !due || x.held || x.restricted {
				t.Fatalf("run %s was deleted: due %t, held %t, restricted %t, policy %+v", x.id, due, x.held, x.restricted, p)
			}
			continue
		}
		x.last = run
		redacted := wasRedacted(events)
		// A run that is deleted is redacted first.
		if redact, remove := dueOfAll(run, p, now); redacted && !x.redacted && (!redact && !remove || x.held) {
			t.Fatalf("run %s was redacted: due %t, held %t, policies %+v", x.id, redact, x.held, p)
		}
		x.redacted = redacted
	}
	if _, err := k.Engine.RetentionDue(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// wasRedacted reports whether nothing was added since a redaction, but that it is complete.
func wasRedacted(events []rules.Event) bool {
	for _, e := range slices.Backward(events) {
		switch e.Fact.(type) {
		case rules.Erased:
			continue
		case rules.Redacted:
			return true
		}
		break
	}
	return false
}

// overdueRun fails the test if a scan would have removed something of a run for so long that it should be gone.
func overdueRun(t *testing.T, k *enginetest.Kit, x *retainedRun, p verification.Retention, since time.Time, grace time.Duration) {
	t.Helper()
	at := k.Clock.Now().Add(-grace)
	if x.gone || x.held || x.restricted || x.changed.After(at) || since.After(at) {
		return
	}
	run, _ := storedRun(t, k, x.id)
	redact, remove := dueOf(run, p, at)
	if run.Decision() == rules.DecisionReview {
		return
	}
	if remove || redact && !x.redacted {
		t.Errorf("run %s that started at %s and ended at %s is late: redact %t, delete %t, policy %+v since %s, now %s",
			x.id, run.StartedAt, run.CompletedAt, redact, remove, p, since, k.Clock.Now())
	}
}
