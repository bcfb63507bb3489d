// Tests of reads of steps that a path avoids.

package expression_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

const tiers = `{"type":"object","required":["tier","flag"],"properties":{"tier":{"type":"string","enum":["a","b"]},"flag":{"type":"boolean"},` +
	`"score":{"type":"number","maximum":5},"free":{"type":"string"}}}`

// judgedDefinition returns the problems and the warnings of a definition whose input has tiers.
func judgedDefinition(t testing.TB, d workflow.Definition, hash string) (refused, warned []string) {
	t.Helper()
	d.InputSchema = verification.Data(tiers)
	p, err := workflow.Compile(t.Context(), "w", workflow.Version{Definition: d, Hash: hash}, language, nil, scored())
	for _, w := range p.Warnings() {
		warned = append(warned, w.Name+": "+w.Message)
	}
	if invalid, ok := errors.AsType[*verification.Error](err); ok {
		for _, f := range invalid.Fields {
			refused = append(refused, f.Name+": "+f.Message)
		}
	}
	return refused, warned
}

func TestAStepThatAPathAvoidsIsAskedFor(t *testing.T) {
	const (
		loose = `"type":"check","provider":"loose"`
		gate  = `"b":{"type":"branch","rules":[{"when":"WHEN","next":"done"}],"else":"face"},"face":{` + loose + `,"on_failed":"next","next":"done"},`
		what  = "the step face may not have run here: write steps.?face, or test has(steps.face) first"
	)
	end := func(read string) string { return `"done":{"type":"end","data":{"x":"${` + read + `}"}}` }
	at := "nodes.done.data.x: " + what
	for _, row := range []struct{ name, nodes, refused, warned string }{
		{"a tier leads past it", `"pan":{` + loose + `,"next":"b"},` + strings.Replace(gate, "WHEN", "input.tier == 'a'", 1) + end("steps.face.passed"), at, ""},
		{"a flag leads past it", `"pan":{` + loose + `,"next":"b"},` + strings.Replace(gate, "WHEN", "input.flag", 1) + end("steps.face.passed"), at, ""},
		{"a source leads past it", `"pan":{` + loose + `,"on_failed":"done","next":"face"},"face":{` + loose + `,"next":"done"},` + end("steps.face.passed"), at, ""},
		{"a source that is down leads past it", `"pan":{` + loose + `,"on_unavailable":"r","next":"face"},"r":{"type":"review","next":"done"},"face":{` + loose + `,"next":"done"},` + end("steps.face.passed"), at, ""},
		{"an answer of the source leads past it", `"pan":{` + loose + `,"next":"b"},` + strings.Replace(gate, "WHEN", "steps.pan.data.score < 0.5", 1) + end("steps.face.passed"), at, ""},
		{"a rejection leads past it", `"pan":{"type":"review","on_reject":"done","next":"face"},"face":{` + loose + `,"next":"done"},` + end("steps.face.passed"), at, ""},
		{"its own condition", `"pan":{` + loose + `,"next":"face"},"face":{` + loose + `,"when":"input.tier == 'a'","next":"done"},` + end("steps.face.passed"), "nodes.done.data.x: the step face is left out if its when does not hold", ""},
		{"a group that is left out", `"pan":{` + loose + `,"next":"face"},"face":{"type":"checks","when":"input.flag","members":{"m":{"provider":"loose"}},"next":"done"},` + end("steps.face.passed"), "nodes.done.data.x: the step face is left out if its when does not hold", ""},
		{"a group that is avoided", `"pan":{` + loose + `,"on_failed":"done","next":"face"},"face":{"type":"checks","members":{"m":{"provider":"loose"}},"next":"done"},` + end("steps.face.members.?m.?passed.orValue(false)"), at, ""},
		{"elements that are avoided", `"pan":{` + loose + `,"on_failed":"done","next":"face"},"face":{` + loose + `,"for_each":"['a']","next":"done"},` + end("size(steps.face.items)"), at, ""},
		{"a computed condition", `"pan":{` + loose + `,"next":"b"},` + strings.Replace(gate, "WHEN", "input.?free.orValue('').startsWith('x')", 1) + end("steps.face.passed"), "", at},
		{"a number with a bound", `"pan":{` + loose + `,"next":"b"},` + strings.Replace(gate, "WHEN", "input.?score.orValue(0.0) > 7.0", 1) + end("steps.face.passed"), "", at},
		{"its own computed condition", `"pan":{` + loose + `,"next":"face"},"face":{` + loose + `,"when":"input.?free.orValue('').startsWith('x')","next":"done"},` + end("steps.face.passed"), "", "nodes.done.data.x: the step face is left out if its when does not hold"},
		{"a test of the status on the way", `"pan":{` + loose + `,"on_failed":"next","next":"b"},` + strings.Replace(gate, "WHEN", "steps.pan.passed", 1) + end("steps.face.passed"), "", at},
		{"values that exclude each other", `"pan":{` + loose + `,"next":"b"},` + strings.Replace(gate, "WHEN", "input.tier == 'a' && input.tier in ['b']", 1) + end("steps.face.passed"), "nodes.b.rules[0].when: the condition never holds", at},
		{"a branch before it asks, and leads on", `"pan":{` + loose + `,"on_failed":"next","next":"face"},"face":{` + loose + `,"when":"steps.pan.passed","on_failed":"next","next":"b"},"b":{"type":"branch","rules":[{"when":"steps.?face.?passed.orValue(false)","next":"done"}],"else":"done"},` + end("steps.face.passed"), "", "nodes.done.data.x: the step face is left out if its when does not hold"},
		{"another part of the condition decides", `"pan":{` + loose + `,"next":"face"},"face":{` + loose + `,"when":"input.flag","on_failed":"next","next":"b"},"b":{"type":"branch","rules":[{"when":"input.flag && steps.face.passed","next":"done"}],"else":"done"},` + end("input.flag"), "", "nodes.b.rules[0].when: the step face is left out if its when does not hold"},
		{"it asks", `"pan":{` + loose + `,"next":"b"},` + strings.Replace(gate, "WHEN", "input.flag", 1) + end("has(steps.face) && steps.face.passed"), "", ""},
		{"it asks with .?", `"pan":{` + loose + `,"next":"b"},` + strings.Replace(gate, "WHEN", "input.flag", 1) + end("steps.?face.?passed.orValue(false)"), "", ""},
		{"no path avoids it", `"pan":{` + loose + `,"next":"face"},"face":{` + loose + `,"on_failed":"next","next":"done"},` + end("steps.face.passed"), "", ""},
	} {
		d := workflowOf(t, row.nodes)
		one := func(want string, got []string) bool {
			return want == "" && got == nil || want != "" && len(got) == 1 && strings.HasPrefix(got[0], want)
		}
		if refused, warned := judgedDefinition(t, d, ""); !one(row.refused, refused) || !one(row.warned, warned) {
			t.Errorf("%s: refused %q, warned %q, want %q, %q", row.name, refused, warned, row.refused, row.warned)
		}
		if strings.Contains(row.refused, "step face") { // in a version that is stored it is a warning
			if refused, warned := judgedDefinition(t, d, "stored"); refused != nil || !one(row.refused, warned) {
				t.Errorf("%s, stored: refused %q, warned %q, want a warning", row.name, refused, warned)
			}
		}
	}
}

// Random definitions, each played with all inputs and all answers of sources: what is accepted without a warning reads nothing that is
// missing, and of what is refused some run does.
func TestWhatIsAcceptedNeverReadsAStepThatIsMissing(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		const n = 5
		d := workflow.Definition{Workflow: "w", Name: "W", Start: "n0", InputSchema: verification.Data(tiers), Nodes: map[verification.NodeID]workflow.Node{}}
		id := func(i int) verification.NodeID {
			if i >= n {
				return "done"
			}
			return verification.NodeID(fmt.Sprint("n", i))
		}
		var checks []verification.NodeID
		read := func(label string, i int) string {
			before := slices.DeleteFunc(slices.Clone(checks), func(c verification.NodeID) bool { return c >= id(i) })
			if len(before) == 0 {
				return "input.flag"
			}
			step := string(rapid.SampledFrom(before).Draw(r, label))
			return rapid.SampledFrom([]string{
				"steps." + step + ".passed", "steps.?" + step + ".?passed.orValue(false)", "has(steps." + step + ") && steps." + step + ".passed",
				"input.flag", "input.tier == 'a'", "input.flag && steps." + step + ".passed",
			}).Draw(r, label+" text")
		}
		for i := range n {
			on := func(label string) verification.NodeID { return id(i + 1 + rapid.IntRange(0, 2).Draw(r, label)) }
			if i == 0 || rapid.Bool().Draw(r, "check") {
				c := workflow.Node{Type: workflow.NodeCheck, Provider: "loose", OnFailed: on("failed"), Next: on("next")}
				if i > 0 && rapid.IntRange(0, 2).Draw(r, "when") == 0 {
					c.When = read("condition", i)
				}
				d.Nodes[id(i)] = c
				checks = append(checks, id(i))
				continue
			}
			d.Nodes[id(i)] = workflow.Node{Type: workflow.NodeBranch, Rules: []workflow.Rule{{When: read("rule", i), Next: on("then")}}, Else: on("else")}
		}
		d.Nodes["done"] = workflow.Node{Type: workflow.NodeEnd, Data: verification.Data(`{"x":"${` + read("data", n) + `}"}`)}
		reached := d.BreadthFirst()
		for node := range d.Nodes {
			if !slices.Contains(reached, node) {
				delete(d.Nodes, node)
			}
		}
		_, err := workflow.Compile(t.Context(), "w", workflow.Version{Definition: d}, language, nil, scored())
		p, _ := workflow.Compile(t.Context(), "w", workflow.Version{Definition: d, Hash: "stored"}, language, nil, scored())
		var refused, other bool
		if invalid, ok := errors.AsType[*verification.Error](err); ok {
			for _, f := range invalid.Fields {
				avoided := strings.Contains(f.Message, "may not have run here") || strings.Contains(f.Message, "is left out if its when")
				refused, other = refused || avoided, other || !avoided
			}
		}
		if other {
			return // a condition never holds, or a step cannot have run
		}
		warned := len(p.Warnings()) > 0
		restored, err := workflow.Restore("w", workflow.Version{Definition: d}, language, nil)
		if err != nil {
			return
		}
		missing := false
		for play := range 4 << n { // an input, and the answer of each source
			input := fmt.Sprintf(`{"tier":%q,"flag":%t}`, []string{"a", "b"}[play&1], play&2 != 0)
			_, run, err := rules.Decide(restored, rules.Run{ID: "r"}, rules.Start{ReferenceID: "a", Input: verification.Data(input)}, time.Unix(0, 0))
			for i := 0; err == nil && run.Ended == "" && i < n; i++ {
				outcome := verification.OutcomePassed
				if play>>(2+int(run.Wait().Node[1]-'0'))&1 == 1 {
					outcome = verification.OutcomeFailed
				}
				_, run, err = rules.Decide(restored, run, rules.RecordResult{Node: run.Wait().Node, Dispatch: run.Wait().Dispatch, Outcome: outcome}, time.Unix(1, 0))
			}
			if err != nil {
				r.Fatal(err)
			}
			missing = missing || run.Error != nil && run.Error.Code == rules.CodeInternalError || run.Ended == rules.StatusCompleted && run.Data == nil
		}
		switch {
		case missing && !refused && !warned:
			r.Fatalf("a run reads what is missing, and nothing says so: %s", cmp.Diff(nil, d.Nodes))
		case refused && !missing:
			r.Fatalf("it is refused, and no run reads what is missing: %v\n%s", err, cmp.Diff(nil, d.Nodes))
		}
	})
}
