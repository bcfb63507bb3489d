package rules_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/rig/golden"
)

// TestStateMachineIsDocumented prints docs/state-machine.md from the tables
// that the tests of this package hold the rules to.
func TestStateMachineIsDocumented(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# The state machine of a run

Every row below is a test of package ` + "`rules`" + `, and the tests print this page, so it always describes what the
rules do. Do not edit it. After a change of the rules, print it again:

    VERIFYD_UPDATE_GOLDEN=1 go test ./verification/rules -run TestStateMachineIsDocumented

A run has two independent axes. Its **status** says how far it got; its **decision** says whether a verdict is needed
or was given. ` + "`completed`, `failed`, `expired` and `cancelled`" + ` are terminal: no transition leaves them.
` + "`abandoned` and `expired`" + ` depend on the time of the read, which is compared with the times in the history.

`)
	writeTransitions(&b, "Status", statusTransitions())
	writeTransitions(&b, "Decision", decisionTransitions())
	b.WriteString(`## Every command in every situation

The tests also print [what each command does in each situation of a run](../verification/rules/testdata/commands.md).
`)
	golden.Equal(t, "../../docs/state-machine.md", []byte(b.String()))
}

// TestEveryCommandInEverySituation prints what each command does in each situation.
func TestEveryCommandInEverySituation(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Every command in every situation of a run\n\nThe tests print this file: do not edit it.\n\n")
	writeSituations(t, &b)
	b.WriteString(`## Commands

A cell lists the events that the command leads to, in order, or why it is refused. A row is for each of its situations,
and the last row of a table for all that it does not name:

| word | meaning |
| --- | --- |
| – | accepted, and nothing changes; the command came too late or twice |
| not found | there is no such run |
| invalid | a field of the command breaks a rule |
| conflict | the state of the run forbids it |
| not open | no such signal is open on the run |

The check of these runs is dispatched at most twice and has no fallback. If it does not pass, the run fails. A
pending result keeps its handle.

In the rows of a group, two members take the place of the check. Both must pass, or one of them where they are called
one by one and where the group is met without one. What is said of the check is said of one member: of the one that
has no answer yet, that waits for a poll or a retry, or that was not needed. In the rows of elements, the check or the
form is there for each of two elements of a list, and what is said is said of the second, or of the form that is open.
In the rows "checked again in a round" and "back from the last round", the check reads the consent, for which the
customer may be asked again once.

`)
	for _, m := range matrices() {
		writeMatrix(t, &b, m)
	}
	golden.Equal(t, "testdata/commands.md", []byte(strings.TrimSuffix(b.String(), "\n")))
}

func writeTransitions(b *strings.Builder, title string, rows []transition) {
	fmt.Fprintf(b, "## %s\n\n", title)
	row(b, "from", "trigger", "condition", "to", "also")
	row(b, "---", "---", "---", "---", "---")
	for _, r := range rows {
		from := code(r.from)
		if r.from == "(none)" {
			from = "(none)"
		}
		row(b, from, r.trigger, r.condition, code(r.to), r.also)
	}
	b.WriteString("\n")
}

func writeSituations(t *testing.T, b *strings.Builder) {
	t.Helper()
	b.WriteString("## Situations of a run\n\nThe status and decision in each situation of the tables below, and the steps that the run waits for.\n\n")
	row(b, "situation", "status", "decision", "waits on", "waits for", "error")
	row(b, "---", "---", "---", "---", "---", "---")
	for _, s := range situations() {
		j := s.reach(t)
		if j.run.Seq == 0 {
			row(b, s.name, "", "", "", "", "")
			continue
		}
		d, action, cause := j.detail(), "", ""
		if d.Action != nil {
			action = code(string(d.Action.Type))
		}
		if d.Error != nil {
			cause = code(string(d.Error.Code))
		}
		var steps []string
		for _, w := range j.run.AsOf(j.now).Waits {
			steps = append(steps, code(string(w.Node))+" ("+string(w.Kind)+")")
		}
		decision := "null"
		if d.Decision != "" {
			decision = string(d.Decision)
		}
		row(b, s.name, code(string(d.Status)), code(decision), action, strings.Join(steps, ", "), cause)
	}
	b.WriteString("\n")
}

func writeMatrix(t *testing.T, b *strings.Builder, m matrix) {
	t.Helper()
	fmt.Fprintf(b, "### %s\n\n", m.title)
	head, line := []string{"situation"}, []string{"---"}
	for _, c := range m.commands {
		head, line = append(head, c.name), append(line, "---")
	}
	row(b, head...)
	row(b, line...)
	same, order := map[string][]string{}, []string{}
	for _, s := range situations() {
		var outcomes []string
		for _, c := range m.commands {
			outcomes = append(outcomes, strings.ReplaceAll(s.outcome(t, c), "nothing", "–"))
		}
		cells := strings.Join(outcomes, " | ")
		if same[cells] == nil {
			order = append(order, cells)
		}
		same[cells] = append(same[cells], s.name)
	}
	most := slices.MaxFunc(order, func(a, b string) int { return cmp.Compare(len(same[a]), len(same[b])) })
	for _, cells := range order {
		if cells != most {
			row(b, strings.Join(same[cells], "; "), cells)
		}
	}
	row(b, "any other", most)
	b.WriteString("\n")
}

func row(b *strings.Builder, cells ...string) {
	b.WriteString("|")
	for _, c := range cells {
		b.WriteString(strings.TrimRight(" "+c, " ") + " |")
	}
	b.WriteString("\n")
}

func code(s string) string { return "`" + s + "`" }
