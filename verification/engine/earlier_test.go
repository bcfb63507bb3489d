// Tests of earlier runs of the same person or company.

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/adapters/provider/offline"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// offlineChecks gives an engine the built-in checks.
func offlineChecks(p *engine.Ports, _ *engine.Options) {
	for name, provider := range offline.Checks() {
		p.Providers[name] = provider
	}
}

// seenBefore asks for who the customer is, then for earlier runs.
func seenBefore(with string) workflow.Definition {
	return workflow.Definition{
		Workflow: "seen_before", Name: "Seen before", Start: "form",
		Nodes: map[verification.NodeID]workflow.Node{
			"form": {Type: workflow.NodeCustomerInput, Next: "before", Fields: workflow.InputFields{
				{Name: "name", Type: workflow.FieldText, Search: true},
				{Name: "born", Type: workflow.FieldDate, Search: true},
				{Name: "document", Type: workflow.FieldText, Search: true},
				{Name: "phone", Type: workflow.FieldPhone, Search: true},
			}},
			"before": {Type: workflow.NodeCheck, Provider: "offline.earlier_runs", With: verification.Data(with), OnFailed: "next", OnUnavailable: "next", Next: "done"},
			"done":   {Type: workflow.NodeEnd, Outcome: "accepted"},
		},
	}
}

// plain asks for the same, and ends.
func plain() workflow.Definition {
	d := seenBefore(`{"by":["reference"]}`)
	d.Workflow = "plain"
	d.Nodes["form"] = with(d, "form", func(n *workflow.Node) { n.Next = "done" }).Nodes["form"]
	delete(d.Nodes, "before")
	return d
}

// applicant is what a run is told.
type applicant struct{ reference, name, born, document, phone string }

func (c applicant) answer() map[string]any {
	all := map[string]any{}
	for name, value := range map[string]string{"name": c.name, "born": c.born, "document": c.document, "phone": c.phone} {
		if value != "" {
			all[name] = value
		}
	}
	return all
}

func (c applicant) run(k *enginetest.Kit, w workflow.Workflow) rules.RunDetail {
	return k.Submit(k.Start(w.ID, engine.StartRequest{ReferenceID: c.reference}).ID, "form_submitted", c.answer())
}

// dataOf returns the data of the check of a run.
func dataOf(d rules.RunDetail) map[string]any {
	for _, c := range d.Checks {
		if c.Key == "before" {
			return c.Data.Map()
		}
	}
	return nil
}

func TestAnEarlierRejectionIsFound(t *testing.T) {
	asha := applicant{"customer-1", "Asha Rao", "1990-04-12", "P 1234567", "98200 12345"}
	for _, tt := range []struct {
		name, with string
		then       applicant
		want       string // what is the same; empty for not found
		doubt      bool
	}{
		{"the same reference", `{"by":["reference"]}`, applicant{reference: "customer-1"}, "reference", false},
		{"another reference", `{"by":["reference"]}`, applicant{reference: "customer-2", document: "P 1234567"}, "", false},
		{"a longer reference", `{"by":["reference"]}`, applicant{reference: "customer-10"}, "", false},
		{"the same number", `{"by":["number"]}`, applicant{reference: "x", document: "p-1234567"}, "number", false},
		{"the number with a word", `{"by":["number"]}`, applicant{reference: "x", document: "Passport P1234567"}, "number", false},
		{"another number", `{"by":["number"]}`, applicant{reference: "x", document: "P1234568"}, "", false},
		{"no number", `{"by":["number"]}`, applicant{reference: "x", name: "Asha Rao"}, "", true},
		{"a phone alone is no number", `{"by":["number"]}`, applicant{reference: "x", phone: "98200 12345"}, "", true},
		{"the phone of another run", `{"by":["number"]}`, applicant{reference: "x", document: "9820012345"}, "", false},
		{"the same person", `{"by":["person"]}`, applicant{reference: "x", name: "RAO, Asha", born: "1990-04-12"}, "person", false},
		{"another birth date", `{"by":["person"]}`, applicant{reference: "x", name: "Asha Rao", born: "1990-04-13"}, "", false},
		{"a name alone", `{"by":["person"]}`, applicant{reference: "x", name: "Asha Rao"}, "", true},
		{"all of it", `{"by":["reference","number","person"]}`, asha, "reference number person", false},
		{"within the days", `{"by":["reference"],"within_days":2}`, asha, "reference", false},
		{"before the days", `{"by":["reference"],"within_days":1}`, asha, "", false},
		{"another outcome", `{"by":["reference"],"found":["outcome:refused"]}`, asha, "", false},
		{"failed only", `{"by":["reference"],"found":["failed"]}`, asha, "", false},
		{"rejected or failed", `{"by":["reference"],"found":["failed","reject"]}`, asha, "reference", false},
	} {
		k := enginetest.New(t, searching, offlineChecks)
		earlier := asha.run(k, k.Apply(plain()))
		k.GiveVerdict(earlier.ID, rules.DecisionReject)
		k.Advance(36 * time.Hour)
		got := tt.then.run(k, k.Apply(seenBefore(tt.with)))
		want := map[string]any{"total": 0.0}
		if tt.want != "" {
			var by []any
			for same := range strings.FieldsSeq(tt.want) {
				by = append(by, same)
			}
			want = map[string]any{"total": 1.0, "runs": []any{map[string]any{
				"run_id": string(earlier.ID), "by": by, "decision": "reject", "ended_at": earlier.CompletedAt.Format(time.RFC3339),
			}}}
		}
		data := verification.DataOf(dataOf(got)).Map()
		if tt.doubt != (data["analysis_ok"] == false) || tt.doubt != (got.Decision == rules.DecisionReview) {
			t.Errorf("%s: %v, decision %q; want a doubt: %t", tt.name, data, got.Decision, tt.doubt)
		}
		delete(data, "analysis_ok")
		delete(data, "not_compared")
		if d := cmp.Diff(fmt.Sprint(want), fmt.Sprint(data)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
		if wantStatus := map[bool]rules.StepStatus{false: rules.StepPassed, true: rules.StepFailed}[tt.want != ""]; got.Checks[0].Status != wantStatus {
			t.Errorf("%s: the check is %s, want %s", tt.name, got.Checks[0].Status, wantStatus)
		}
	}
}

func TestAWorkflowThatNeedsASearchKeyIsRefused(t *testing.T) {
	k := enginetest.New(t, offlineChecks)
	for by, refused := range map[string]bool{`["reference"]`: false, `["number"]`: true, `["person","reference"]`: true} {
		_, err := k.Engine.Apply(t.Context(), enginetest.Tenant, seenBefore(`{"by":`+by+`}`))
		problem, ok := errors.AsType[*verification.Error](err)
		if ok != refused || refused && (!errors.Is(err, verification.ErrInvalid) || problem.Fields[0].Name != "nodes.before.with" ||
			!strings.Contains(problem.Fields[0].Message, "VERIFYD_SEARCH_KEY")) {
			t.Errorf("by %s: %v, want refused: %t", by, err, refused)
		}
	}
	k = enginetest.New(t, offlineChecks, searching)
	d := seenBefore(`{"by":["number"]}`)
	k.Apply(d)
	without, err := engine.New(engine.Ports{
		Store: k.Store, Expressions: expression.New(), Links: enginetest.Links(), Clock: k.Clock, NewID: k.IDs, Providers: offline.Checks(),
	}, engine.Options{Passive: true})
	if err != nil {
		t.Fatal(err)
	}
	applied, err := without.Apply(t.Context(), enginetest.Tenant, d)
	if err != nil || len(applied.Warnings) != 1 || !strings.Contains(applied.Warnings[0].Message, "VERIFYD_SEARCH_KEY") {
		t.Errorf("a stored version: %v, %v; want a warning", err, applied.Warnings)
	}
}

// pastRun is what the test knows of a run.
type pastRun struct {
	id verification.RunID
	applicant
	tenant             verification.TenantID
	rejected, gone     bool
	startedAt, endedAt time.Time
}

// same returns what two customers have in common, by a naive comparison.
func (c applicant) same(other applicant, by []verification.EarlierBy) (all []verification.EarlierBy) {
	plain := func(s string) string { return strings.NewReplacer(" ", "", "-", "").Replace(strings.ToLower(s)) }
	for _, b := range by {
		switch {
		case b == verification.EarlierReference && c.reference == other.reference,
			b == verification.EarlierNumber && c.document != "" && strings.Trim(plain(c.document), "0") != "" && plain(c.document) == plain(other.document),
			b == verification.EarlierPerson && c.name != "" && c.born != "" && c.name == other.name && c.born == other.born:
			all = append(all, b)
		}
	}
	return all
}

func TestEarlierRunsAreThoseOfANaiveScan(t *testing.T) {
	const stranger verification.TenantID = "00000000-0000-7000-8000-0000000000bb"
	rapid.Check(t, func(rt *rapid.T) {
		k := enginetest.New(t, searching, offlineChecks)
		if err := k.Store.SaveTenant(t.Context(), verification.Tenant{ID: stranger, Name: "Stranger"}); err != nil {
			rt.Fatal(err)
		}
		someone := rapid.Custom(func(rt *rapid.T) applicant {
			pick := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(rt, label) }
			return applicant{
				pick("reference", "one", "two", "three"), pick("name", "Asha Rao", "Ravi Nair", ""), pick("born", "1990-04-12", "1980-01-01", ""),
				pick("document", "P1234567", "p-1234567", "0098200123", "98200123", "982001234", "0000000", ""),
				pick("phone", "+91 98200 12345", "982001234", "98200123", ""),
			}
		})
		all := []verification.EarlierBy{verification.EarlierReference, verification.EarlierNumber, verification.EarlierPerson}
		var runs []pastRun
		for range rapid.IntRange(0, 14).Draw(rt, "runs") {
			r := pastRun{applicant: someone.Draw(rt, "customer"), tenant: enginetest.Tenant, startedAt: k.Clock.Now()}
			if rapid.IntRange(0, 4).Draw(rt, "tenant") == 0 {
				r.tenant = stranger
			}
			r.begin(rt, k)
			k.Advance(time.Duration(rapid.IntRange(0, 30).Draw(rt, "hours")) * time.Hour)
			if r.rejected = rapid.Bool().Draw(rt, "rejected"); r.rejected {
				r.judge(rt, k)
			}
			switch rapid.IntRange(0, 7).Draw(rt, "fate") {
			case 0:
				_, err := k.Engine.Redact(t.Context(), r.tenant, r.id, "", verification.Person{Name: "Ops", Identity: "ops"})
				r.gone = err == nil
			case 1:
				_, err := k.Engine.Restrict(t.Context(), r.tenant, r.id, "asked for", verification.Person{Name: "Ops", Identity: "ops"})
				r.gone = err == nil
			}
			runs = append(runs, r)
		}
		by := rapid.SliceOfNDistinct(rapid.SampledFrom(all), 1, 3, rapid.ID).Draw(rt, "by")
		days := rapid.IntRange(0, 6).Draw(rt, "days")
		with := map[string]any{"by": by}
		if days > 0 {
			with["within_days"] = days
		}
		now := someone.Draw(rt, "customer now")
		got := now.run(k, k.Apply(seenBefore(string(verification.DataOf(with)))))
		var want []string
		for _, r := range slices.Backward(runs) {
			same := now.same(r.applicant, by)
			recent := days == 0 || !r.endedAt.Before(k.Clock.Now().Add(-time.Duration(days)*24*time.Hour))
			if r.tenant == enginetest.Tenant && r.rejected && !r.gone && recent && len(same) > 0 {
				slices.Sort(same)
				want = append(want, fmt.Sprint(r.id, same))
			}
		}
		var found []string
		list, _ := dataOf(got)["runs"].([]any)
		for _, one := range list {
			run, _ := one.(map[string]any)
			same, _ := run["by"].([]any)
			slices.SortFunc(same, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
			found = append(found, fmt.Sprint(run["run_id"], same))
		}
		if total := fmt.Sprint(dataOf(got)["total"]); total != fmt.Sprint(len(want)) {
			rt.Fatalf("total = %s, want %d", total, len(want))
		}
		if d := cmp.Diff(want[:min(len(want), 10)], found); d != "" && len(want) > 0 {
			rt.Fatalf("by %v, customer %+v (-want +got):\n%s", by, now, d)
		}
	})
}

// begin runs a workflow without the check for a tenant.
func (r *pastRun) begin(t rapid.TB, k *enginetest.Kit) {
	ctx := context.Background()
	applied, err := k.Engine.Apply(ctx, r.tenant, plain())
	if err != nil {
		t.Fatal(err)
	}
	v, err := k.Engine.Start(ctx, r.tenant, applied.Workflow.ID, engine.StartRequest{ReferenceID: r.reference})
	if err != nil {
		t.Fatal(err)
	}
	k.Settle()
	_, err = k.Engine.Submit(ctx, r.tenant, v.ID, engine.SubmitRequest{Signal: "form_submitted", Payload: verification.DataOf(r.answer())})
	if err != nil {
		t.Fatal(err)
	}
	k.Settle()
	r.id, r.endedAt = v.ID, k.Clock.Now()
}

// judge rejects the run.
func (r *pastRun) judge(t rapid.TB, k *enginetest.Kit) {
	if _, err := k.Engine.GiveVerdict(context.Background(), r.tenant, r.id, rules.GiveVerdict{Decision: rules.DecisionReject}, ""); err != nil {
		t.Fatal(err)
	}
}

func TestARunDoesNotFindItself(t *testing.T) {
	d := seenBefore(`{"by":["reference","number"]}`)
	d.Nodes["form"] = with(d, "form", func(n *workflow.Node) { n.Next = "review" }).Nodes["form"]
	d.Nodes["review"] = workflow.Node{Type: workflow.NodeReview, Label: "Review", Next: "done", OnReject: "before"}
	k := enginetest.New(t, searching, offlineChecks)
	run := applicant{reference: "customer-1", document: "P1234567"}.run(k, k.Apply(d))
	got := k.GiveVerdict(run.ID, rules.DecisionReject)
	if total := dataOf(got)["total"]; got.Status != rules.StatusCompleted || fmt.Sprint(total) != "0" {
		t.Errorf("%s, total %v; want a run that is completed and has found nothing", got.Status, total)
	}
}

func TestASearchThatMeetsItsBoundSaysSo(t *testing.T) {
	k, runs := withRuns(t, searching, offlineChecks)
	w := k.Apply(seenBefore(`{"by":["reference"]}`))
	pages := 0
	runs.ListFunc = func(_ context.Context, _ verification.TenantID, q store.RunQuery) (store.Page[rules.Summary], error) {
		pages++
		return store.Page[rules.Summary]{Data: make([]rules.Summary, q.Limit), Total: 5000}, nil
	}
	if got := dataOf(applicant{reference: "x"}.run(k, w)); fmt.Sprint(got) != "map[analysis_ok:false total:0]" {
		t.Errorf("the data is %v, want it to say that not all was compared", got)
	}
	if pages != 2 { // the check, and the queue, for which the run is flagged then
		t.Errorf("%d pages were read, want one for each search", pages)
	}
}

func TestManyStrangersWithTheSameDigitsAreABound(t *testing.T) {
	k := enginetest.New(t, searching, offlineChecks)
	other := k.Apply(plain())
	for range 51 {
		k.GiveVerdict(applicant{reference: "x", phone: "982001234"}.run(k, other).ID, rules.DecisionReject)
	}
	got := dataOf(applicant{reference: "y", document: "982001234"}.run(k, k.Apply(seenBefore(`{"by":["number"]}`))))
	if fmt.Sprint(got) != "map[analysis_ok:false total:0]" {
		t.Errorf("the data is %v, want it to say that not all was compared", got)
	}
}

func TestAMemberOfAGroupFindsEarlierRuns(t *testing.T) {
	d := seenBefore(`{"by":["reference"]}`)
	d.Workflow = "group"
	d.Nodes["before"] = workflow.Node{
		Type: workflow.NodeChecks, OnNotMet: "done", Next: "done", Members: []workflow.Member{
			{Name: "other", Provider: "script"},
			{Name: "runs", Provider: "offline.earlier_runs", With: verification.Data(`{"by":["reference","number"]}`)},
		},
	}
	k := enginetest.New(t, searching, offlineChecks)
	asha := applicant{reference: "customer-1", document: "P1234567"}
	k.GiveVerdict(asha.run(k, k.Apply(plain())).ID, rules.DecisionReject)
	got := asha.run(k, k.Apply(d))
	for _, c := range got.Checks {
		if found := c.Data.Map(); c.Key == "before.runs" && (c.Status != rules.StepFailed || fmt.Sprint(found["total"]) != "1") {
			t.Errorf("%s has found %v", c.Status, found)
		} else if c.Key == "before.runs" {
			return
		}
	}
	t.Errorf("the checks are %+v", got.Checks)
}
