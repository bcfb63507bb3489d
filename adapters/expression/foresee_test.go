package expression_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestAnExpressionIsForeseenWithoutAValue(t *testing.T) {
	data := workflow.Absence{Step: "pan"}
	score := workflow.Absence{Step: "pan", Field: "score"}
	passed := workflow.Absence{Step: "pan", Field: "score", Passed: true}
	age := workflow.Absence{Field: "age"}
	const (
		yes = 1 << iota
		no
		missing
		both = yes | no
	)
	for _, row := range []struct {
		text    string
		a       workflow.Absence
		becomes int
	}{
		{`steps.pan.data.score > 1.0`, score, missing},
		{`steps.pan.data["score"] > 1.0`, score, missing},
		{`steps.pan.data.score > 1.0`, data, missing},
		{`steps.pan.data.rank > 1.0`, score, both},
		{`steps.pan.data.?score.orValue(0.0) > 1.0`, score, no},
		{`steps.pan.data.?score.orValue(0.0) > 1.0`, data, missing},
		{`steps.pan.?data.?score.orValue(0.0) > 1.0`, data, no},
		{`steps.pan.?data.?score.orValue(input.age) > 1.0`, data, both},
		{`steps.pan.?data.?score.orValue(1.0) in [0.0, 1.0]`, data, yes},
		{`steps.?pan.data.score.orValue(0.0) > 1.0`, data, no},
		{`steps.pan.?data.?score.orValue(false)`, data, no},
		{`steps.pan.?data.?score.hasValue()`, score, no},
		{`steps.pan.?data.?score.value() > 1.0`, score, missing},
		{`steps.pan.?data.?score.optMap(s, s > 1.0).orValue(true)`, data, yes},
		{`has(steps.pan.data.score) && steps.pan.data.score > 1.0`, score, no},
		{`has(steps.pan.data.score) && steps.pan.data.score > 1.0`, data, missing},
		{`has(steps.pan.data) && has(steps.pan.data.score)`, data, no},
		{`has(steps.pan) && has(steps.pan.passed)`, data, yes},
		{`steps.pan.passed && steps.pan.data.score > 1.0`, data, no},
		{`steps.pan.data.score > 1.0 && steps.pan.passed`, data, no},
		{`!steps.pan.passed || steps.pan.data.score > 1.0`, score, yes},
		{`steps.pan.data.score > 1.0 || !steps.pan.passed`, score, yes},
		{`steps.pan.passed || steps.pan.data.score > 1.0`, score, missing},
		{`steps.pan.passed ? steps.pan.data.score > 1.0 : input.active`, score, both},
		{`steps.pan.data.score > 1.0 ? true : false`, score, missing},
		{`steps.pan.status == 'passed' && steps.pan.data.score > 1.0`, score, no},
		{`steps.pan.status != 'failed' && steps.pan.data.score > 1.0`, score, no},
		{`steps.pan.status in ['failed', 'pending'] || steps.pan.data.score > 1.0`, score, yes},
		{`steps.pan.passed == true && steps.pan.data.score > 1.0`, score, no},
		{`steps.?pan.passed.orValue(true) && steps.pan.data.score > 1.0`, score, no},
		{`input.active && steps.pan.data.score > 1.0`, score, no | missing},
		{`(input.active || steps.pan.passed) && (input.active || steps.pan.data.score > 1.0)`, score, both},
		{`(input.active || steps.pan.passed) && (!input.active || steps.pan.data.score > 1.0)`, score, no | missing},
		{`input.tags.exists(x, steps.pan.data.score > 1.0)`, score, both | missing},
		{`input.tags.exists(x, steps.pan.passed && steps.pan.data.score > 1.0)`, score, both},
		{`[steps.pan.data.score].exists(x, x > 1.0)`, score, missing},
		{`input.age > 1 + steps.pan.data.score`, score, missing},
		{`string(steps.pan.data.score).startsWith('1')`, score, missing},
		{`steps.review.data.decision == 'approve'`, score, both},
		{`steps.pan.data.score > 1.0`, passed, missing},
		{`steps.pan.passed && steps.pan.data.score > 1.0`, passed, missing},
		{`!steps.pan.passed && steps.pan.data.score > 1.0`, passed, no},
		{`steps.pan.status == 'failed' && steps.pan.data.score > 1.0`, passed, no},
		{`steps.pan.status == 'passed'`, passed, yes},
		{`has(steps.pan.data.score) && steps.pan.data.score > 1.0`, passed, no},
		{`steps.pan.?data.?score.orValue(2.0) > 1.0`, passed, yes},
		{`input.age > 1`, age, missing},
		{`has(input.age) && input.age > 1`, age, no},
		{`input.?age.orValue(2.0) > 1.0`, age, yes},
		{`input.active && input.age > 1`, age, no | missing},
		{`steps.pan.data.score > 1.0 && steps.pan.passed`, age, both},
	} {
		c, ok := compiled(t, row.text).(workflow.Foreseen)
		if !ok {
			t.Fatal("a condition is not foreseen")
		}
		p, got := c.Foresee(row.a, nil), 0
		if p.Holds {
			got |= yes
		}
		if p.HoldsNot {
			got |= no
		}
		if len(p.Missing) > 0 {
			got |= missing
		}
		if got != row.becomes {
			t.Errorf("%s without %q: %03b %+v, want %03b", row.text, row.a.Field, got, p.Missing, row.becomes)
		}
	}
}

func TestAMissingValueIsNamedWhereItIsRead(t *testing.T) {
	for _, row := range []struct {
		text string
		want workflow.MissingValue
	}{
		{`input.active && steps.pan.data.score > 1.0`, workflow.MissingValue{Character: 17, Value: "steps.pan.data.score", Optional: "steps.pan.?data.?score"}},
		{`'é' == 'é' && steps.pan.data["a b"] == 1`, workflow.MissingValue{Character: 15, Value: `steps.pan.data["a b"]`, Optional: `steps.pan.?data[?"a b"]`, Sure: true}},
		{`steps.pan.data.score.low > 1.0`, workflow.MissingValue{Character: 1, Value: "steps.pan.data.score", Optional: "steps.pan.?data.?score", Sure: true}},
	} {
		c, _ := compiled(t, row.text).(workflow.Foreseen)
		all := slices.DeleteFunc(c.Absences(), func(a workflow.Absence) bool { return a.Step == "" })
		if len(all) != 4 { // of the step, of the data, and of the field, also if the check has passed
			t.Fatalf("%s: Absences = %v, want 4", row.text, all)
		}
		p := c.Foresee(all[2], nil)
		if diff := cmp.Diff([]workflow.MissingValue{row.want}, p.Missing); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.text, diff)
		}
		if _, err := language.Condition(strings.ReplaceAll(row.text, row.want.Value, row.want.Optional+".orValue(1.0)"), declared()); err != nil && !strings.Contains(row.text, "low") {
			t.Errorf("%s as it is advised: %v", row.text, err)
		}
	}
}

// choice draws one of some values.
func choice[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// drawnCondition draws a condition about checks, of which one may not have passed.
func drawnCondition(r *rand.Rand, node string, checks []string, depth int) string {
	if depth == 0 || r.IntN(4) == 0 {
		s := "steps." + choice(r, checks...)
		if r.IntN(12) == 0 && len(checks) > 1 {
			return "[1, 7].exists(x, " + s + ".data.f > x)" // it certainly fails, which is not followed
		}
		return choice(r,
			s+".passed", s+".passed", s+".status == 'failed'", s+".passed == false", "has("+s+".data)", "has("+s+".data.f)",
			s+".data.f > 1", s+".data.f > 1", s+".?data.?f.orValue(0) > 1", s+".data.?f.orValue(5) > 1", s+".?data.?f.hasValue()",
			"input."+node+"a", "input."+node+"b",
		)
	}
	x, y := drawnCondition(r, node, checks, depth-1), drawnCondition(r, node, checks, depth-1)
	switch r.IntN(5) {
	case 0:
		return "!(" + x + ")"
	case 1:
		return "(" + x + " ? " + y + " : " + drawnCondition(r, node, checks, depth-1) + ")"
	case 2:
		return "(" + x + " && " + y + ")"
	}
	return "(" + x + " || " + y + ")"
}

// drawnWorkflow draws a workflow in which a node leads to later ones: two checks, two
// branches, a consent and a check that reads; now and then the consent leads back.
func drawnWorkflow(r *rand.Rand, checks []string) workflow.Definition {
	order := []string{"c0", "b0", "ask", "c1", "b1", "use"}
	r.Shuffle(len(order)-1, func(i, k int) { order[i+1], order[k+1] = order[k+1], order[i+1] })
	d := workflow.Definition{Workflow: "drawn", Name: "Drawn", Start: "c0", Nodes: map[verification.NodeID]workflow.Node{"done": {Type: workflow.NodeEnd}}}
	for i, id := range order {
		later := func() verification.NodeID {
			return verification.NodeID(choice(r, append(slices.Clone(order[i+1:]), "done")...))
		}
		n := workflow.Node{Type: workflow.NodeCheck, Provider: "vendor", Next: later()}
		switch id[0] {
		case 'b':
			n = workflow.Node{Type: workflow.NodeBranch, Else: later()}
			for range 1 + r.IntN(2) {
				n.Rules = append(n.Rules, workflow.Rule{When: drawnCondition(r, id, checks, 2), Next: later()})
			}
		case 'a':
			n = workflow.Node{Type: workflow.NodeConsent, Text: "May we?", OnDeclined: "next", Next: later()}
			if r.IntN(3) == 0 {
				n.OnDeclined = verification.NodeID(order[0])
			}
		case 'u':
			text := "steps." + choice(r, checks...) + choice(r, ".data.f", ".?data.?f", ".data.?f")
			n.With = verification.DataOf(map[string]any{"a": []any{"x ${" + text + "}"}})
		default:
			n.OnFailed, n.OnUnavailable = choice(r, later(), "next", "fail"), choice(r, later(), "next", "fail", "fail")
		}
		d.Nodes[verification.NodeID(id)] = n
	}
	return d
}

// explorer runs a workflow with every answer of its checks and its customer.
type explorer struct {
	program workflow.Program
	lacks   bool            // a check may also pass without f
	missing map[string]bool // the nodes at which a run fails because a value is missing
	left    int
}

func (x *explorer) explore(t *testing.T, r rules.Run, depth int) {
	if x.left--; x.left < 0 {
		t.Fatal("a workflow has too many runs")
	}
	w := r.Wait()
	decide := func(c rules.Command) {
		events, after, err := rules.Decide(x.program, r, c, time.Unix(1, 0))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if f, ok := e.Fact.(rules.Failed); ok {
				x.note(f.Node, f.Cause)
			}
		}
		x.explore(t, after, depth+1)
	}
	switch {
	case r.Ended != "" || depth > 6: // a consent that leads back leads to the same again
	case w.Kind == rules.WaitCustomer:
		for _, given := range []string{"success", "declined"} {
			decide(rules.Submit{Signal: w.Signal, Payload: verification.DataOf(map[string]any{"consent_status": given})})
		}
	default:
		if _, err := r.Request(x.program, "t", w); err != nil {
			x.note(w.Node, err.Error())
			return
		}
		answers := []rules.RecordResult{
			{Outcome: verification.OutcomePassed, Data: verification.Data(`{"f":0}`)},
			{Outcome: verification.OutcomePassed, Data: verification.Data(`{"f":5}`)},
			{Outcome: verification.OutcomeFailed},
			{Outcome: verification.OutcomeFailed, Data: verification.Data(`{"g":1}`)},
			{Outcome: verification.OutcomeFailed, Data: verification.Data(`{"f":5}`)},
		}
		if x.lacks {
			answers = append(answers, rules.RecordResult{Outcome: verification.OutcomePassed, Data: verification.Data(`{"g":1}`)})
		}
		for _, a := range answers {
			a.Node, a.Dispatch = w.Node, w.Dispatch
			decide(a)
		}
		decide(rules.RecordFailure{Node: w.Node, Dispatch: w.Dispatch, Permanent: true})
	}
}

func (x *explorer) note(node verification.NodeID, cause string) {
	if strings.HasSuffix(cause, "has no value") {
		x.missing[string(node)] = true
	}
}

// runs starts a run with every input that conditions of the drawn workflow may read.
func (x *explorer) runs(t *testing.T, d workflow.Definition) {
	var read []string
	for _, name := range []string{"b0a", "b0b", "b1a", "b1b"} {
		for _, rule := range d.Nodes[verification.NodeID(name[:2])].Rules {
			if strings.Contains(rule.When, "input."+name) && !slices.Contains(read, name) {
				read = append(read, name)
			}
		}
	}
	for n := range 1 << len(read) {
		input := map[string]any{}
		for i, name := range read {
			input[name] = n>>i&1 == 1
		}
		_, r, err := rules.Decide(x.program, rules.Run{ID: "r"}, rules.Start{ReferenceID: "a", Input: verification.DataOf(input)}, time.Unix(0, 0))
		if err != nil {
			t.Fatal(err)
		}
		x.explore(t, r, 0)
	}
}

// reported returns the nodes with a value that may be missing. The vendor's answer needs f if it
// passed, unless it lacks it.
func reported(t *testing.T, d workflow.Definition, lacks bool) map[string]bool {
	t.Helper()
	required := "f"
	if lacks {
		required = "h"
	}
	_, err := workflow.Compile(t.Context(), "w", workflow.Version{Definition: d}, language, nil, map[string]verification.ProviderDescription{"vendor": {
		Data: verification.Data(`{"type":"object","required":["` + required + `"],"properties":{"f":{"type":"number"},"g":{"type":"number"},"h":{}},"additionalProperties":false}`),
	}})
	nodes := map[string]bool{}
	var invalid *verification.Error
	if errors.As(err, &invalid) {
		for _, f := range invalid.Fields {
			if strings.Contains(f.Message, " may be missing then: ") || strings.Contains(f.Message, "pass without ") {
				nodes[strings.Split(f.Name, ".")[1]] = true
			}
		}
	}
	return nodes
}

func TestWhatMayBeMissingIsWhatRunsLack(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	failing := 0
	for i := 0; i < 150; i++ {
		checks := []string{"c0"}
		if i%4 == 0 {
			checks = append(checks, "c1")
		}
		d := drawnWorkflow(r, checks)
		p, err := workflow.Restore("w", workflow.Version{Definition: d}, language, nil)
		if err != nil { // it reads a check that cannot have run
			i--
			continue
		}
		x := &explorer{program: p, lacks: i%3 == 1, missing: map[string]bool{}, left: 2_000_000}
		x.runs(t, d)
		got := reported(t, d, x.lacks)
		if len(x.missing) > 0 {
			failing++
		}
		for node := range x.missing {
			if !got[node] {
				t.Errorf("seed %d, %d: a run fails at %s, which is not reported: %s", seed, i, node, asJSON(t, d))
			}
		}
		for node := range got {
			// What one check says about another one is not followed from node to node.
			if !x.missing[node] && len(checks) == 1 {
				t.Errorf("seed %d, %d: no run fails at %s, which is reported: %s", seed, i, node, asJSON(t, d))
			}
		}
		if t.Failed() {
			return
		}
	}
	if failing < 10 {
		t.Errorf("seed %d: %d workflows fail, want at least 10", seed, failing)
	}
}
