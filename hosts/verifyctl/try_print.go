// A played case, step by step, on 80 columns.

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// printCase prints one line for a case that is ok. One that fails, or that was asked for, is
// printed step by step.
func (w workflowTry) printCase(s *session, p *played, problems *definitions.Diagnostics) {
	failed := len(p.problems) > 0
	if w.Cases != "" {
		result := "ok"
		if failed {
			result = "failed"
		}
		printWrapped(s.stdout, fmt.Sprintf("%-6s  ", result), p.Name)
	}
	if !failed && w.Cases != "" && len(w.Case) == 0 {
		if p.Expect.Unscreened == nil {
			p.printUnscreened(s)
		}
		return
	}
	var run rules.Run
	for n, e := range p.history {
		if run = run.Evolve(e); n+1 < len(p.history) && answersAtOnce(e, p.history[n+1]) {
			continue
		}
		for i, line := range tell(e).path(p.openWord(run, e)) {
			at := ""
			if d := e.At.Sub(p.Start); i == 0 && d >= time.Millisecond {
				at = "+" + shortDuration(d)
			}
			printWrapped(s.stdout, fmt.Sprintf("%10s  ", at), line)
		}
	}
	if len(p.history) > 0 {
		printWrapped(s.stdout, fmt.Sprintf("%10s  ", "="), p.ending())
	}
	p.printUnscreened(s)
	if p.waiting != "" {
		printWrapped(s.stdout, fmt.Sprintf("%10s  ", ""), "waits for "+p.waiting)
	}
	for i, d := range problems.List {
		if w.Cases == "" {
			d = definitions.Diagnostic{File: w.File, Path: strings.TrimPrefix(p.problems[i].Name, p.field("")+"."), Message: p.problems[i].Message}
		}
		fmt.Fprintln(s.stdout, d)
	}
}

// printUnscreened prints the checks that screen and that the run has not called.
func (p *played) printUnscreened(s *session) {
	for _, id := range p.unscreened {
		printWrapped(s.stdout, fmt.Sprintf("%10s  ", ""), "unscreened: "+string(id))
	}
}

// ending says how the run ended, or how it stands.
func (p *played) ending() string {
	parts := []string{string(p.run.Status)}
	if p.run.Outcome != "" {
		parts = append(parts, "outcome "+p.run.Outcome)
	}
	if p.run.Error != nil {
		parts = append(parts, errorText(p.run.Error))
	}
	if p.run.Decision != "" {
		parts = append(parts, "decision "+string(p.run.Decision))
	}
	if flags := p.flags(); len(flags) > 0 {
		parts = append(parts, "flags "+strings.Join(mapSlice(flags, func(id verification.NodeID) string { return string(id) }), " "))
	}
	return strings.Join(parts, ", ")
}

// path returns what a reader of the path sees of an event; none for an event that
// another one follows from. An answer or a group at which something is open has
// that word instead of its own.
func (t told) path(open string) []string {
	if t.text == "" {
		return nil
	}
	t.text = cmp.Or(open, t.text)
	all := []string{t.line()}
	if t.data != nil {
		all = append(all, "  "+plainJSON(t.data))
	}
	return append(all, valueLines(t.values)...)
}

// openWord returns what is said of a member, an element or a group that counts although something is open at it after an event of the
// run; empty for anything else.
func (p *played) openWord(run rules.Run, e rules.Event) string {
	var node verification.NodeID
	group := false
	switch f := e.Fact.(type) { //nolint:gochecksumtype // something can be open at no other fact
	case rules.ResultRecorded:
		node = f.Node
	case rules.CustomerSubmitted:
		node = f.Node
	case rules.GroupDecided:
		node, group = f.Node, true
	default:
		return ""
	}
	if of, _, _ := node.Parts(); of == node && !group { // it stands alone
		return ""
	}
	for _, g := range run.ReportGroups(p.def) {
		if group && g.NodeID == node && g.Status == rules.GroupFlagged {
			word := "passed"
			if g.Type == workflow.NodeChecks {
				word = "met"
			}
			return word + flaggedFor(g.Hits())
		}
		for _, m := range g.Members {
			if !group && m.NodeID == node && m.Answer == rules.AnswerFlagged {
				return "answered" + flaggedFor(m.Hits)
			}
		}
	}
	return ""
}

// flaggedFor says why an answer is flagged: for so many open hits or, for 0, for another reason.
func flaggedFor(hits int) string {
	switch hits {
	case 0:
		return ", flagged for review"
	case 1:
		return ", 1 hit"
	}
	return fmt.Sprintf(", %d hits", hits)
}

// valueLines returns the values that a condition read, sorted by path.
func valueLines(seen verification.Data) (lines []string) {
	values := map[string]json.RawMessage{}
	_ = json.Unmarshal(seen, &values) // nil has no values
	for _, name := range slices.Sorted(maps.Keys(values)) {
		lines = append(lines, fmt.Sprintf("  %s = %s", name, plainJSON(values[name])))
	}
	return lines
}

// plainJSON returns a JSON text without the escapes of <, > and &.
func plainJSON[T ~[]byte](raw T) string {
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(raw))
}

// answersAtOnce reports whether an event is a wait for a person that the next event ends at the same time.
func answersAtOnce(e, next rules.Event) bool {
	if !next.At.Equal(e.At) {
		return false
	}
	switch e.Fact.(type) { //nolint:gochecksumtype // no other fact is a wait for a person
	case rules.CustomerAwaited:
		_, answered := next.Fact.(rules.CustomerSubmitted)
		return answered
	case rules.ReviewAsked:
		_, given := next.Fact.(rules.VerdictRecorded)
		_, proposed := next.Fact.(rules.VerdictProposed)
		_, again := next.Fact.(rules.AskedAgain)
		return given || proposed || again
	}
	return false
}

// shortDuration writes a duration without its zeros, such as 24h or 1m30s.
func shortDuration(d time.Duration) string {
	if d >= time.Second {
		d = d.Round(time.Second)
	}
	text := d.Round(time.Millisecond).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// lineWidth is how wide the lines of a path are.
const lineWidth = 80

// printWrapped prints a text on as many lines as it needs, behind first and then as much space.
func printWrapped(w io.Writer, first, text string) {
	text = oneLine(text)
	indent := len(text) - len(strings.TrimLeft(text, " "))
	room := lineWidth - len(first) - indent
	text = text[indent:]
	for {
		line := text
		if utf8.RuneCountInString(text) > room {
			runes := []rune(text)
			line = string(runes[:room])
			if i := strings.LastIndexAny(line, " ,"); i > room/2 {
				line = line[:i+1]
			}
		}
		fmt.Fprintf(w, "%s%s%s\n", first, strings.Repeat(" ", indent), strings.TrimRight(line, " "))
		if text = text[len(line):]; text == "" {
			return
		}
		if first = strings.Repeat(" ", len(first)); indent == 0 {
			indent, room = 2, room-2
		}
	}
}
