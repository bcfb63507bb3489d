// Properties of what decisions on hits clear: nobody is cleared by the words of one customer, or
// of one reviewer where two must agree.

package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// spoken is what the test itself knows of a run: whom the tenant's system names, and what reviewers
// have said, in order.
type spoken struct {
	id                verification.RunID
	reference, number string
	fourEyes          bool

	match   rules.HitMatch // of the hit; empty for no decision
	decider string
	said    []string // since that decision: the people who have proposed or given the verdict that holds
	verdict rules.Decision
	offer   []string // who has proposed to approve, since the decision
}

// persona is a customer as the tenant's system names him.
func (r spoken) persona(other spoken) bool {
	return r.reference == other.reference || r.number == other.number
}

// vouchers returns the people who say that the hit of the run is another person: none unless the
// run is approved.
func (r spoken) vouchers() []string {
	if r.match != rules.MatchOther || r.verdict != rules.DecisionApprove || len(r.said) == 0 {
		return nil
	}
	all := append([]string{r.decider}, r.said...)
	slices.Sort(all)
	return slices.Compact(all)
}

// cleared reports whether other runs may clear the hit of a run.
func (r spoken) cleared(all []*spoken) bool {
	enough := false
	for _, other := range all {
		if other.id == r.id || !other.persona(r) {
			continue
		}
		if other.match == rules.MatchSame || other.match == rules.MatchUnsure {
			return false
		}
		need := 1
		if r.fourEyes || other.fourEyes {
			need = 2
		}
		enough = enough || len(other.vouchers()) >= need
	}
	return enough
}

// echoing is a registry that repeats what it is asked.
type echoing struct{}

func (echoing) Check(_ context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
	return verification.CheckResult{Outcome: verification.OutcomePassed, Data: r.With}, nil
}

// clearingDesk is what a random history is made on.
type clearingDesk struct {
	k         *enginetest.Kit
	workflows []workflow.Workflow
	history   int // the customers of each history are others
	runs      []*spoken
}

// begin starts a run of one of two customers, who type the same number.
func (d *clearingDesk) begin(t *rapid.T) {
	who := rapid.IntRange(1, 2).Draw(t, "customer")
	w := rapid.IntRange(0, len(d.workflows)-1).Draw(t, "workflow")
	r := &spoken{reference: fmt.Sprintf("customer-%d-%d", d.history, who), number: fmt.Sprintf("N-%d-%d", d.history, who), fourEyes: strings.HasPrefix(d.workflows[w].Name, "four")}
	run := d.k.Start(d.workflows[w].ID, engine.StartRequest{ReferenceID: r.reference, Input: verification.Data(`{"pan":"` + r.number + `"}`)})
	r.id = run.ID
	cleared := r.cleared(d.runs)
	got := d.k.Submit(run.ID, "form_submitted", map[string]any{"pan": fmt.Sprintf("F-%d", d.history)})
	if flagged := got.Decision == rules.DecisionReview; got.Status != rules.StatusCompleted || flagged == cleared {
		t.Fatalf("run %d of %s is %s, flagged: %t; want cleared: %t", len(d.runs), r.reference, got.Status, flagged, cleared)
	}
	d.runs = append(d.runs, r)
}

func (d *clearingDesk) some(t *rapid.T) *spoken {
	if len(d.runs) == 0 {
		t.Skip("no run")
	}
	return rapid.SampledFrom(d.runs).Draw(t, "run")
}

func reviewer(t *rapid.T) string {
	return rapid.SampledFrom([]string{"asha", "ravi"}).Draw(t, "reviewer")
}

// decide has a reviewer decide the hit of a run, which a run that was cleared does not have.
func (d *clearingDesk) decide(t *rapid.T) {
	r, who := d.some(t), reviewer(t)
	m := rapid.SampledFrom([]rules.HitMatch{rules.MatchOther, rules.MatchOther, rules.MatchSame, rules.MatchUnsure}).Draw(t, "match")
	if r.match == m && r.decider == who {
		return
	}
	if settle(d.k, r.id, "e-1", who, m) == nil {
		if r.match != m { // else the second reviewer says it again
			r.offer = nil
		}
		r.match, r.decider, r.said = m, who, nil
	}
}

// judge has a reviewer give a verdict.
func (d *clearingDesk) judge(t *rapid.T) {
	r, who := d.some(t), reviewer(t)
	v := rapid.SampledFrom([]rules.Decision{rules.DecisionApprove, rules.DecisionApprove, rules.DecisionReject}).Draw(t, "verdict")
	got, err := d.k.Engine.GiveVerdict(context.Background(), enginetest.Tenant, r.id, rules.GiveVerdict{Decision: v, By: who, Identity: who}, "")
	switch {
	case err != nil:
	case got.Result == engine.SignalVerdictProposed:
		r.offer = []string{who}
	case got.Result == engine.SignalProposalReturned:
		r.offer = nil
	default:
		r.verdict, r.said, r.offer = v, append([]string{who}, r.offer...), nil
	}
}

// check compares every run with what the test knows.
func (d *clearingDesk) check(t *rapid.T) {
	d.k.Settle()
	for _, r := range d.runs {
		if now := d.k.Run(r.id).Decision; !now.Verdict() {
			r.verdict = rules.DecisionNone // a hit was found since
		}
	}
	for i, r := range d.runs {
		if d.k.Run(r.id).Decision == rules.DecisionNone && !r.cleared(d.runs) {
			t.Fatalf("run %d of %s completed unflagged, and nobody vouches for it", i, r.reference)
		}
	}
}

func TestNobodyIsClearedByTooFewWords(t *testing.T) {
	o := &obedient{screener: newScreener("v1")}
	o.change("v1", "e-1")
	d := &clearingDesk{k: enginetest.New(t, o.screens, searching, func(p *engine.Ports, _ *engine.Options) { p.Providers["echo"] = echoing{} })}
	for _, number := range []string{"input.pan", "steps.form.data.pan", "steps.registry.data.pan"} {
		for _, fourEyes := range []bool{false, true} {
			def := numbered(number)
			def.Workflow, def.FourEyes, def.Name = fmt.Sprintf("w-%d", len(d.workflows)), fourEyes, "one"
			if fourEyes {
				def.Name = "four eyes"
			}
			if strings.HasPrefix(number, "steps.registry") {
				def.Nodes["registry"] = workflow.Node{
					Type: workflow.NodeCheck, Label: "Registry", Provider: "echo", With: verification.Data(`{"pan":"${steps.form.data.pan}"}`), Next: "a",
				}
				def = with(def, "form", func(n *workflow.Node) { n.Next = "registry" })
			}
			d.workflows = append(d.workflows, d.k.Apply(def))
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		d.history, d.runs = d.history+1, nil
		rt.Repeat(map[string]func(*rapid.T){"begin": d.begin, "decide": d.decide, "judge": d.judge, "": d.check})
	})
}
