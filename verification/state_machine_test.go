package verification_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/golden"
)

// TestStateMachineIsDocumented prints docs/state-machine.md from the tables
// that the tests of this package hold the rules to.
func TestStateMachineIsDocumented(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# The state machine of a run

Every row below is a test of the package ` + "`verification`" + `, and this page is printed from those tests: it
cannot say what the rules do not do. Do not edit it. To print it anew, after a rule has changed:

    VERIFYD_UPDATE_GOLDEN=1 go test ./verification -run TestStateMachineIsDocumented

A run has two independent axes. Its **status** says how far it got; its **decision** says where the human
verdict stands. ` + "`completed`, `failed`, `expired` and `cancelled`" + ` are terminal: nothing leads out of them.
` + "`abandoned` and `expired`" + ` are seen at a moment, by comparing it with the moments that the history gives.

`)
	writeTransitions(&b, "Status", statusTransitions())
	writeTransitions(&b, "Decision", decisionTransitions())
	writeSituations(t, &b)
	b.WriteString(`## Every command in every situation

A cell names the events that the command leads to, in their order, or why it is refused:

| word | meaning |
| --- | --- |
| – | accepted, and nothing changes; so it is with all that comes too late or twice |
| not found | there is no such run |
| invalid | a field of the command breaks a rule |
| conflict | the state of the run forbids it |
| not open | no such signal is open on the run |

The check of the runs below is dispatched at most twice, has no fallback, and fails the run when it does not pass.
Their pending answer is asked for under an unchanged handle.

`)
	for _, m := range matrices() {
		writeMatrix(t, &b, m)
	}
	golden.Equal(t, "../docs/state-machine.md", []byte(strings.TrimSuffix(b.String(), "\n")))
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
	b.WriteString("## Where a run can stand\n\nWhat the situations of the tables below read as.\n\n")
	row(b, "situation", "status", "decision", "waits on", "error")
	row(b, "---", "---", "---", "---", "---")
	for _, s := range situations() {
		j := s.come(t)
		if j.run.Seq == 0 {
			row(b, s.name, "", "", "", "")
			continue
		}
		d, action, cause := j.detail(), "", ""
		if d.Action != nil {
			action = code(string(d.Action.Type))
		}
		if d.Error != nil {
			cause = code(string(d.Error.Code))
		}
		decision := "null"
		if d.Decision != "" {
			decision = string(d.Decision)
		}
		row(b, s.name, code(string(d.Status)), code(decision), action, cause)
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
	rows := m.rows(t)
	for _, s := range situations() {
		cells := []string{s.name}
		for _, cell := range rows[s.name] {
			if cell == "nothing" {
				cell = "–"
			}
			cells = append(cells, cell)
		}
		row(b, cells...)
	}
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
