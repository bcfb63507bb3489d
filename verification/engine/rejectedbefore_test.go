// Tests of what the queue keeps of earlier rejections.

package engine_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// formAndReview asks for who the customer is, then for a review.
func formAndReview() workflow.Definition {
	d := plain()
	d.Workflow = "form_and_review"
	d.RejectReasons = []workflow.RejectReason{{Code: "forged", Label: "Forged document"}}
	d.Nodes["form"] = with(d, "form", func(n *workflow.Node) { n.Next = "review" }).Nodes["form"]
	d.Nodes["review"] = workflow.Node{Type: workflow.NodeReview, Label: "Review", Next: "done"}
	return d
}

// queued returns what the queue keeps of earlier rejections.
func queued(t *testing.T, k *enginetest.Kit, id verification.RunID) rules.Rejections {
	t.Helper()
	v, err := k.Engine.Review(t.Context(), enginetest.Tenant, id)
	if err != nil {
		t.Fatal(err)
	}
	return v.Rejections
}

// kindsOf returns the kinds of the events of a run.
func kindsOf(t *testing.T, k *enginetest.Kit, id verification.RunID) (kinds []string) {
	t.Helper()
	events, err := k.Store.Load(t.Context(), enginetest.Tenant, id, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		kinds = append(kinds, e.Kind())
	}
	return kinds
}

func TestARunInTheQueueKnowsEarlierRejections(t *testing.T) {
	k := enginetest.New(t, searching)
	w := k.Apply(formAndReview())
	asha := applicant{"customer-1", "Asha Rao", "1990-04-12", "P1234567", ""}
	first := asha.run(k, w)
	if got := queued(t, k, first.ID); !got.IsZero() {
		t.Errorf("the first run knows %+v", got)
	}
	c := rules.GiveVerdict{Decision: rules.DecisionReject, Reason: "forged"}
	if _, err := k.Engine.GiveVerdict(t.Context(), enginetest.Tenant, first.ID, c, ""); err != nil {
		t.Fatal(err)
	}
	all := []verification.EarlierBy{verification.EarlierReference, verification.EarlierNumber, verification.EarlierPerson}
	for _, tt := range []struct {
		then applicant
		by   []verification.EarlierBy
	}{
		{asha, all},
		{applicant{reference: "x", document: "P1234567"}, all[1:2]},
		{applicant{reference: "x", name: "Rao Asha", born: "1990-04-12"}, all[2:]},
		{applicant{reference: "x", name: "Asha Rao"}, nil},
	} {
		id := tt.then.run(k, w).ID
		want := rules.Rejections{}
		if tt.by != nil {
			want.Runs = []rules.RejectedRun{{Run: first.ID, By: tt.by}}
		}
		if d := cmp.Diff(want, queued(t, k, id)); d != "" {
			t.Errorf("%+v (-want +got):\n%s", tt.then, d)
		}
		last := kindsOf(t, k, id)
		if recorded := last[len(last)-1] == "rejected_before"; recorded != (tt.by != nil) {
			t.Errorf("%+v: the history is %v", tt.then, last)
		}
	}
	second := asha.run(k, w).ID
	shown, err := k.Engine.EarlierRun(t.Context(), enginetest.Tenant, first.ID)
	if err != nil || shown.Reference != "customer-1" ||
		shown.Subject != "Asha Rao" || shown.Rejection.Label != "Forged document" || shown.Decision != rules.DecisionReject {
		t.Errorf("shown is %+v, %v", shown, err)
	}
	if _, err := k.Engine.Redact(t.Context(), enginetest.Tenant, first.ID, "", verification.Person{Name: "Ops", Identity: "ops"}); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Engine.EarlierRun(t.Context(), enginetest.Tenant, first.ID); !errors.Is(err, verification.ErrNotFound) {
		t.Errorf("a redacted run is shown: %v", err)
	}
	k.GiveVerdict(second, rules.DecisionApprove)
	if _, err := k.Engine.Redact(t.Context(), enginetest.Tenant, second, "", verification.Person{Name: "Ops", Identity: "ops"}); err != nil {
		t.Fatal(err)
	}
	events, err := k.Store.Load(t.Context(), enginetest.Tenant, second, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if f, ok := e.Fact.(rules.RejectedBefore); ok && !rules.Rejections(f).IsZero() {
			t.Errorf("the redacted run keeps %+v", f)
		}
	}
}

func TestAtMostTenEarlierRejectionsAreKept(t *testing.T) {
	k := enginetest.New(t)
	w := k.Apply(chain("a", "review"))
	var newest verification.RunID
	for range 12 {
		newest = k.Start(w.ID, engine.StartRequest{ReferenceID: "x"}).ID
		k.Advance(time.Second)
		k.GiveVerdict(newest, rules.DecisionReject)
	}
	d := chain("a")
	d.Workflow = "flagged"
	d.Nodes["review"] = workflow.Node{Type: workflow.NodeReview, Label: "Review", Next: "done"}
	d.Nodes["a"] = workflow.Node{Type: workflow.NodeCheck, Provider: "script", Next: "review"}
	got := queued(t, k, k.Start(k.Apply(d).ID, engine.StartRequest{ReferenceID: "x"}).ID)
	if len(got.Runs) != 10 || got.Runs[0].Run != newest {
		t.Errorf("kept are %+v, want the newest ten", got)
	}
}

func TestAFlaggedRunKnowsEarlierRejections(t *testing.T) {
	k := enginetest.New(t)
	k.Provider.On("a", enginetest.Pass(map[string]any{"source_ok": false}))
	w := k.Apply(chain("a"))
	first := k.Start(w.ID, engine.StartRequest{ReferenceID: "x"}).ID
	k.GiveVerdict(first, rules.DecisionReject)
	second := k.Start(w.ID, engine.StartRequest{ReferenceID: "x"}).ID
	if got := queued(t, k, second); len(got.Runs) != 1 || got.Runs[0].Run != first {
		t.Errorf("kept is %+v, want the first run", got)
	}
	if d := k.Run(second); d.Decision != rules.DecisionReview || len(d.Flags) != 1 {
		t.Errorf("decision %q, flags %+v; want those without an earlier rejection", d.Decision, d.Flags)
	}
}

func TestARunParksWithoutALookup(t *testing.T) {
	var log bytes.Buffer
	var counted rejections
	k, runs := withRuns(t, searching, func(_ *engine.Ports, o *engine.Options) {
		o.Log, o.Observer = slog.New(slog.NewTextHandler(&log, nil)), &counted
	})
	runs.ListFunc = func(context.Context, verification.TenantID, store.RunQuery) (p store.Page[rules.Summary], err error) {
		return p, verification.Unavailable("list", "the list takes too long")
	}
	run := applicant{"customer-1", "Asha Rao", "1990-04-12", "P1234567", ""}.run(k, k.Apply(formAndReview()))
	events, err := k.Store.Load(t.Context(), enginetest.Tenant, run.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	if f, ok := events[len(events)-1].Fact.(rules.RejectedBefore); run.Decision != rules.DecisionReview || !ok || !f.Unknown {
		t.Errorf("decision %q, last event %+v; want a run that says it was not looked up", run.Decision, events[len(events)-1])
	}
	if counted.unknown != 1 || !strings.Contains(log.String(), "earlier rejections were not looked up") {
		t.Errorf("counted %d, log %q", counted.unknown, log.String())
	}
	for _, word := range []string{"Asha", "P1234567", "customer-1"} {
		if strings.Contains(log.String(), word) {
			t.Errorf("the log has %q", word)
		}
	}
}

// rejections counts runs whose earlier rejections are not known.
type rejections struct {
	engine.Observer

	unknown int
}

func (*rejections) Counted([]store.Measure)                      {}
func (*rejections) ProviderCalled(string, string, time.Duration) {}
func (*rejections) NoticeSent(string)                            {}
func (r *rejections) RejectionsUnknown()                         { r.unknown++ }

func TestOnlyARunForTheQueueIsLookedUp(t *testing.T) {
	k, runs := withRuns(t, searching)
	w, reviewed := k.Apply(plain()), k.Apply(formAndReview())
	asha := applicant{"customer-1", "Asha Rao", "1990-04-12", "P1234567", ""}
	lists := func(f func()) int {
		before := len(runs.ListCalls())
		f()
		return len(runs.ListCalls()) - before
	}
	if n := lists(func() { asha.run(k, w) }); n != 0 {
		t.Errorf("a run that needs no verdict makes %d lists", n)
	}
	appends := len(runs.AppendCalls())
	if n := lists(func() { asha.run(k, reviewed) }); n != 3 {
		t.Errorf("a run that parks makes %d lists, want one for the reference, the number and the person", n)
	}
	if n := len(runs.AppendCalls()) - appends; n != 2 {
		t.Errorf("it makes %d appends, want 2", n)
	}
}
