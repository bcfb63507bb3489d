package expression_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification/workflow"
)

// TestAValueOfAMemberThatMayBeMissing holds which reads of the members of a group are problems.
func TestAValueOfAMemberThatMayBeMissing(t *testing.T) {
	group := func(more, member string) string {
		return `"pan":{"type":"checks","next":"b"` + more + `,"members":{"one":{"provider":"registry"},"two":{"provider":"registry"` + member + `}}},`
	}
	branch := func(rules ...string) string {
		return `"b":{"type":"branch","rules":[{"when":"` + strings.Join(rules, `","next":"done"},{"when":"`) + `","next":"done"}],"else":"done"}`
	}
	const (
		anyOf   = `,"need":"any"`
		byOne   = `,"order":"one_by_one"`
		notMet  = `,"on_not_met":"next"`
		without = `,"on_unavailable":"next"`
		when    = `,"when":"input.x == true"`
		read    = "steps.pan.members.two.data.score > 0.5"
		passed  = "steps.pan.members.two.passed"
		at      = "nodes.b.rules[0].when 1: the member pan.two "
		called  = at + "may not have been called, and "
		cure    = "steps.pan.members.two may be missing then: write steps.pan.members.?two, or test has(steps.pan.members.two) first"
		cured   = "steps.pan.members.two.data.score may be missing then: write steps.pan.members.?two.?data.?score.orValue(...), or test "
		passes  = passed + " first"
	)
	for _, row := range []struct {
		name, nodes string
		want        []string
	}{
		{"all are needed, and the run fails otherwise", group("", "") + branch(read), nil},
		{"all are needed, one by one", group(byOne, "") + branch(read), nil},
		{"a member that may be left out", group("", when) + branch(read), []string{called + cure}},
		{"a test whether it was called", group("", when) + branch("has(steps.pan.members.two) && steps.pan.members.two.passed && "+read), nil},
		{"optional", group(anyOf+byOne+notMet+without, when) + branch("steps.pan.members.?two.?data.?score.orValue(1.0) > 0.5"), nil},
		{"any is needed, together", group(anyOf, "") + branch(read), []string{at + "may have failed or given no answer here, and " + cured + passes}},
		{"any is needed, and it has passed", group(anyOf, "") + branch(passed+" && "+read), nil},
		{"any is needed, one by one", group(anyOf+byOne, "") + branch(passed), []string{called + cure}},
		{"the first one is always called", group(anyOf+byOne, "") + branch("steps.pan.members.one.passed"), nil},
		{"all are needed, and it goes on without", group(notMet, "") + branch(read), []string{at + "may have failed or given no answer here, and " + cured + passes}},
		{"a test of the group", group(notMet+without, "") + branch("steps.pan.passed && "+read, "!steps.pan.passed || "+read), nil},
		{"a test of the group before", group(notMet, "") + branch("!steps.pan.passed", read), nil},
		{"a test of the group that does not help", group(anyOf+notMet, "") + branch("steps.pan.passed && "+read), []string{
			"nodes.b.rules[0].when 21: the member pan.two may have failed or given no answer here, and " + cured + passes,
		}},
		{"not met leads elsewhere", group(`,"on_not_met":"done"`, "") + branch(read), nil},
		{"what the provider need not give", group("", "") + branch("steps.pan.members.two.data.note == 'x'"), []string{
			at + "may pass without steps.pan.members.two.data.note: write steps.pan.members.?two.?data.?note.orValue(...), or test has(steps.pan.members.two.data.note) first",
		}},
		{"a with that follows", group(anyOf, "") + `"b":{"type":"check","provider":"loose","with":{"a":"${steps.pan.members.one.data.score}"},"next":"done"}`, []string{
			"nodes.b.with.a 3: the member pan.one may have failed or given no answer here, and steps.pan.members.one.data.score may be missing then: " +
				"write steps.pan.members.?one.?data.?score.orValue(...), or test steps.pan.members.one.passed first",
		}},
		{"until", group(`,"until":"member.data.score > 0.5"`, "") + branch("input.x"), []string{
			"nodes.pan.until 1: the answer of a member may have failed here, and member.data.score may be missing then: " +
				"write member.?data.?score.orValue(...), or test member.passed first",
		}},
		{"until of an answer that passed", group(`,"until":"member.passed && member.data.score > 0.5"`, "") + branch("input.x"), nil},
		{"until of what need not be there", group(`,"until":"member.passed && member.data.note == 'x'"`, "") + branch("input.x"), []string{
			"nodes.pan.until 18: the answer of a member may pass without member.data.note: write member.?data.?note.orValue(...), or test has(member.data.note) first",
		}},
	} {
		if diff := cmp.Diff(row.want, problems(t, workflowOf(t, row.nodes))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
}

func TestTheTextsOfAGroupAreRead(t *testing.T) {
	const pan = `"pan":{"type":"check","provider":"registry","on_failed":"next","next":"b"},`
	const message = "the check pan may have failed here, and steps.pan.data.score may be missing then: write steps.pan.?data.?score.orValue(...), or test steps.pan.passed first"
	group := func(more, member string) string {
		return pan + `"b":{"type":"checks","next":"done"` + more + `,"members":{"one":{"provider":"registry"` + member + `}}}`
	}
	for _, row := range []struct{ name, nodes, want string }{
		{"for_each", group(`,"for_each":"[steps.pan.data.score]"`, ""), "nodes.b.for_each 2: " + message},
		{"when", group(`,"when":"steps.pan.data.score > 0.5"`, ""), "nodes.b.when 1: " + message},
		{"when of a member", group("", `,"when":"steps.pan.data.score > 0.5"`), "nodes.b.members.one.when 1: " + message},
		{"with of a member", group("", `,"with":{"a":"${steps.pan.data.score}"}`), "nodes.b.members.one.with.a 3: " + message},
		{"until", group(`,"until":"steps.pan.data.score > 0.5"`, ""), "nodes.b.until 1: " + message},
		{"with of a group that is left out", group(`,"when":"steps.pan.passed"`, `,"with":{"a":"${steps.pan.data.score}"}`), ""},
		{"with of a member that is left out", group("", `,"when":"steps.pan.passed","with":{"a":"${steps.pan.data.score}"}`), ""},
		{"an element", pan + `"b":{"type":"check","provider":"loose","for_each":"input.list","with":{"a":"${item.score} ${steps.pan.data.score}"},"next":"done"}`, "nodes.b.with.a 17: " + message},
	} {
		want := []string{row.want}
		if row.want == "" {
			want = nil
		}
		if diff := cmp.Diff(want, problems(t, workflowOf(t, row.nodes))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
}

func TestEveryProblemOfForEach(t *testing.T) {
	each := func(list, with string) string {
		return `"pan":{"type":"check","provider":"registry","next":"b"},"b":{"type":"check","provider":"loose","for_each":"` + list + `","with":{"a":"` + with + `"},"next":"done"}`
	}
	const list = ", and must be a list: name one, such as steps.company.data.owners"
	for _, row := range []struct{ list, with, want string }{
		{"input.list", "${item.x} ${position}", ""},
		{"input.list.filter(x, x.y > 1)", "${item}", ""},
		{"[steps.pan.data.id]", "${item}", ""},
		{"steps.pan.data.score", "${item}", "nodes.b.for_each 0: is of the type number" + list},
		{"'a'", "${item}", "nodes.b.for_each 0: is of the type string" + list},
		{"steps.pan.data.scor", "${item}", "nodes.b.for_each 15: steps.pan.data.scor: undefined field 'scor'; did you mean score?"},
		{"steps.b.items", "${item}", "nodes.b.for_each 6: the step b cannot have run before this node"},
		{"item.list", "${item}", "nodes.b.for_each 1: undeclared reference to 'item'"},
		{"input.list", "${member.data.x}", "nodes.b.with.a 3: undeclared reference to 'member'"},
		{"[steps.pan.data.note]", "${item}", "nodes.b.for_each 2: the check pan may pass without steps.pan.data.note: write steps.pan.?data.?note.orValue(...), or test has(steps.pan.data.note) first"},
	} {
		want := []string{row.want}
		if row.want == "" {
			want = nil
		}
		if diff := cmp.Diff(want, problems(t, workflowOf(t, each(row.list, row.with)))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.list, diff)
		}
	}
}

func TestABranchTestsWhyThereIsNoAnswer(t *testing.T) {
	const pan = `"pan":{"type":"check","provider":"registry","on_unavailable":"next","next":"b"},`
	for text, want := range map[string][]string{
		"steps.pan.?data.?no_answer.orValue('') == 'no_coverage'": nil,
		"steps.pan.?data.?no_answer.orValue('') == 'coverage'": {
			"nodes.b.rules[0].when 43: steps.pan.data.no_answer is never 'coverage' (supported: 'no_coverage', 'inconclusive', '')",
		},
	} {
		got := problems(t, workflowOf(t, pan+`"b":{"type":"branch","rules":[{"when":"`+text+`","next":"done"}],"else":"done"}`))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestAStepThatMayBeLeftOutIsNoted(t *testing.T) {
	const pan = `"pan":{"type":"check","provider":"registry","when":"input.x == true","next":"b"},`
	const cure = ": the step pan is left out if its when does not hold, and steps.pan may be missing then: write steps.?pan, or test has(steps.pan) first"
	branch := func(when string) string {
		return `"b":{"type":"branch","rules":[{"when":"` + when + `","next":"done"}],"else":"done"}`
	}
	for _, row := range []struct{ name, nodes, want string }{
		{"read at once", pan + branch("steps.pan.data.score > 0.5"), "nodes.b.rules[0].when 1" + cure},
		{"whether it has passed", pan + branch("steps.pan.passed"), "nodes.b.rules[0].when 1" + cure},
		{"a test", pan + branch("has(steps.pan) && steps.pan.data.score > 0.5"), ""},
		{"optional", pan + branch("steps.?pan.?data.?score.orValue(1.0) > 0.5"), ""},
		{"a group", `"pan":{"type":"checks","when":"input.x == true","members":{"one":{"provider":"registry"}},"next":"b"},` + branch("steps.pan.members.one.data.score > 0.5"), "nodes.b.rules[0].when 1" + cure},
		{"it is never left out", strings.Replace(pan, `"when":"input.x == true",`, "", 1) + branch("steps.pan.data.score > 0.5"), ""},
		{"a review", `"pan":{"type":"review","when":"input.x == true","next":"b"},` + branch("steps.pan.data.decision == 'approve'"), "nodes.b.rules[0].when 1" + cure},
	} {
		d := workflowOf(t, row.nodes)
		p, err := workflow.Compile(t.Context(), "w", workflow.Version{Definition: d}, language, nil, scored())
		var got string
		for _, w := range p.Warnings() {
			got += fmt.Sprintf("%s %d: %s", w.Name, w.Character, w.Message)
		}
		if err != nil || got != row.want {
			t.Errorf("%s: %v, %q, want %q", row.name, err, got, row.want)
		}
	}
}
