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

	"github.com/verifyd/verifyd/internal/definition"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// printCase prints one line for a case that is ok. One that fails, or that was asked for, is
// printed step by step.
func (w workflowTry) printCase(s *session, p *played, problems *definition.Diagnostics) {
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
		for i, line := range stepLines(e, p.openWord(run, e)) {
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
			d = definition.Diagnostic{File: w.File, Path: strings.TrimPrefix(p.problems[i].Name, p.field("")+"."), Message: p.problems[i].Message}
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

// stepLines returns what a reader of the path sees of an event; none for an event that
// another one follows from. The first line begins with the name of the node. An answer or a group at which something is open has
// that word instead of its own.
func stepLines(e rules.Event, open string) []string {
	step := func(id verification.NodeID, text string, data verification.Data) []string {
		all := []string{fmt.Sprintf("%s: %s", id, text)}
		if data != nil {
			all = append(all, "  "+plainJSON(data))
		}
		return all
	}
	switch f := e.Fact.(type) {
	case rules.Started:
		return step("start", fmt.Sprintf("%s at %s", f.WorkflowName, timestamp(e.At)), f.Input)
	case rules.ResultRecorded:
		text := "failed"
		if f.Passed {
			text = "passed"
		}
		return step(f.Node, cmp.Or(open, text), f.Data)
	case rules.ResultPending:
		return step(f.Node, "pending", nil)
	case rules.Redirected:
		return step(f.Node, "the customer is led to "+hostOf(f.URL), nil)
	case rules.Returned:
		return step(f.Node, "the customer came back", nil)
	case rules.PollFailed:
		return step(f.Node, "no answer to a poll: "+f.Cause, nil)
	case rules.DispatchFailed:
		text := "no result: " + f.Cause
		if !f.RetryAt.IsZero() {
			text += "; called again"
		}
		return step(f.Node, text, nil)
	case rules.ResultUnavailable:
		return step(f.Node, "unavailable", f.Data)
	case rules.NoAnswer:
		return step(f.Node, string(f.Outcome), f.Data)
	case rules.GroupBegan:
		if f.Each {
			return step(f.Node, counted(f.Elements, "element"), nil)
		}
		return nil
	case rules.GroupDecided:
		text := map[bool]string{true: "passed", false: "failed"}[f.Passed]
		if f.Type == workflow.NodeChecks {
			text = map[bool]string{true: "met", false: "not met"}[f.Passed]
		}
		if f.Unavailable {
			text = "unavailable"
		}
		return step(f.Node, cmp.Or(open, text), f.Data)
	case rules.CustomerSubmitted:
		return step(f.Node, cmp.Or(open, "answered"), f.Data)
	case rules.BranchTaken:
		return append(step(f.Node, fmt.Sprintf("%s -> %s", cmp.Or(f.When, "else"), f.Next), nil), valueLines(f.Values)...)
	case rules.Skipped:
		text := "skipped"
		switch {
		case f.Kept:
			text = "the answer stays"
		case f.Next == "":
			text = "not called"
		}
		if f.Next != "" {
			text += " -> " + string(f.Next)
		}
		return append(step(f.Node, text, nil), valueLines(f.Values)...)
	case rules.Compared:
		return step(f.Node, comparedAnew(f), nil)
	case rules.AskedAgain:
		text := "the customer is asked again: " + strings.Join(f.Reasons, ", ")
		if len(f.Fields) > 0 {
			text += " (" + strings.Join(f.Fields, ", ") + ")"
		}
		return step(f.Node, text, nil)
	case rules.VerdictRecorded:
		return step(cmp.Or(f.Node, "verdict"), string(f.Decision)+" by "+f.By, nil)
	case rules.VerdictProposed:
		return step(cmp.Or(f.Node, "verdict"), "proposed "+string(f.Decision)+" by "+f.By, nil)
	case rules.ProposalReturned:
		return step(cmp.Or(f.Node, "verdict"), "sent back by "+f.By, nil)
	case rules.Completed:
		return step(f.Node, strings.TrimSpace("end "+completion(f)), f.Data)
	case rules.Failed:
		return step(f.Node, strings.TrimPrefix(failure(f), string(f.Node)+": "), nil)
	case rules.Expired:
		return []string{"expired: " + errorText(&f.Error)}
	case rules.Cancelled:
		return []string{"cancelled"}
	case rules.CustomerAwaited:
		return step(f.Node, "waits for the customer", nil)
	case rules.ReviewAsked:
		return step(f.Node, "waits for a reviewer", nil)
	case rules.Dispatched, rules.ReviewDueSoon:
		return nil
	case rules.CallbackReceived:
		return []string{string(f.Node) + ", polled at once"}
	case rules.JourneyOpened:
		return []string{string(f.Node)}
	case rules.DocumentUploaded:
		return []string{fmt.Sprintf("%s, %s, %d bytes for %s", f.Node, f.MediaType, f.Size, f.Field)}
	case rules.HitsFound:
		return []string{fmt.Sprintf("%s, %d in version %.12s of %s", f.Node, len(f.Hits), f.ListVersion, f.List)}
	case rules.HitsCleared:
		return []string{fmt.Sprintf("%s, %d left out", f.Node, len(f.Cleared))}
	case rules.HitDecided:
		return []string{fmt.Sprintf("%s, %s of %s: %s by %s", f.Node, f.Entry, f.List, f.Match, cmp.Or(f.By, "a program"))}
	case rules.NoteAdded:
		return []string{"by " + f.By}
	case rules.Corrected:
		return []string{strings.Join(strings.Fields(fmt.Sprintf("%s %s by %s", f.Node, f.Field, f.By)), " ")}
	case rules.Assigned:
		return []string{assignment(f)}
	case rules.RejectedBefore:
		return []string{rejectedBefore(f)}
	case rules.Held:
		return []string{"by " + f.By + ": " + f.Reason}
	case rules.HoldEnded:
		return []string{"by " + f.By}
	case rules.Restricted:
		return []string{"by " + f.By + ": " + f.Reason}
	case rules.RestrictionLifted:
		return []string{"by " + f.By + ": " + f.Reason}
	case rules.Redacted:
		return []string{"by " + cmp.Or(f.By, "a program")}
	case rules.Erased, rules.DocumentsRemoved:
		return []string{""}
	}
	return nil
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
