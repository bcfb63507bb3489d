// What events say in English: in the table of run show, and in the path of a case that try plays.

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// eventOf returns the JSON of an event, without the handle of a pending result.
func eventOf(e rules.Event) json.RawMessage {
	if p, ok := e.Fact.(rules.ResultPending); ok {
		p.Handle = ""
		e.Fact = p
	}
	raw, err := rules.EncodeEvent(e)
	if err != nil {
		raw, _ = json.Marshal(err.Error()) // a string always encodes
	}
	return raw
}

// told is what an event says in English.
type told struct {
	at   verification.NodeID // the line of a path begins with it; empty for a line without
	text string              // what a path says; empty for an event that another one follows from
	row  string              // what a table of events says instead; empty for the first line of a path
	// Only a path shows the data, and the values that a condition read: they are the answers of customers and the data of checks.
	data, values verification.Data
}

// line returns the first line of a path.
func (t told) line() string {
	if t.at == "" {
		return t.text
	}
	return fmt.Sprintf("%s: %s", t.at, t.text)
}

// describe returns what a table shows of an event.
func describe(e rules.Event) string {
	t := tell(e)
	if t.row == "" && t.text != "" {
		return t.line()
	}
	return t.row
}

// tell returns what an event says.
func tell(e rules.Event) told {
	switch f := e.Fact.(type) {
	case rules.Started:
		return told{at: "start", text: f.WorkflowName + " at " + timestamp(e.At), data: f.Input, row: fmt.Sprintf("%s, version %d", f.WorkflowName, f.Version)}
	case rules.Dispatched:
		return told{row: fmt.Sprintf("%s by %s, dispatch %d", f.Node, f.Provider, f.Dispatch)}
	case rules.ResultRecorded:
		return told{at: f.Node, text: passed(f.Passed), data: f.Data}
	case rules.ResultPending:
		return told{at: f.Node, text: "pending", row: fmt.Sprintf("%s, next poll at %s", f.Node, timestamp(f.PollAt))}
	case rules.CallbackReceived:
		return told{text: string(f.Node) + ", polled at once"}
	case rules.Redirected:
		return told{at: f.Node, text: "the customer is led to " + hostOf(f.URL)}
	case rules.Returned:
		return told{at: f.Node, text: "the customer came back"}
	case rules.PollFailed:
		row := fmt.Sprintf("%s, next poll at %s: %s", f.Node, timestamp(f.PollAt), f.Cause)
		return told{at: f.Node, text: "no answer to a poll: " + f.Cause, row: row}
	case rules.DispatchFailed:
		if f.RetryAt.IsZero() {
			return told{at: f.Node, text: "no result: " + f.Cause, row: fmt.Sprintf("%s, no retry: %s", f.Node, f.Cause)}
		}
		row := fmt.Sprintf("%s, retry at %s: %s", f.Node, timestamp(f.RetryAt), f.Cause)
		return told{at: f.Node, text: "no result: " + f.Cause + "; called again", row: row}
	case rules.ResultUnavailable:
		return told{at: f.Node, text: "unavailable", data: f.Data}
	case rules.NoAnswer:
		return told{at: f.Node, text: string(f.Outcome), data: f.Data}
	case rules.GroupBegan:
		if f.Each {
			return told{at: f.Node, text: counted(f.Elements, "element")}
		}
		return told{row: string(f.Node)}
	case rules.GroupDecided:
		return told{at: f.Node, text: groupResult(f), data: f.Data}
	case rules.CustomerAwaited:
		return told{at: f.Node, text: "waits for the customer", row: fmt.Sprintf("%s, signal %s", f.Node, f.Signal)}
	case rules.JourneyOpened:
		return told{text: string(f.Node)}
	case rules.DocumentUploaded:
		return told{text: fmt.Sprintf("%s, %s, %d bytes for %s", f.Node, f.MediaType, f.Size, f.Field)}
	case rules.CustomerSubmitted:
		return told{at: f.Node, text: "answered", data: f.Data}
	case rules.BranchTaken:
		return told{at: f.Node, text: fmt.Sprintf("%s -> %s", cmp.Or(f.When, "else"), f.Next), values: f.Values}
	case rules.Skipped:
		return told{at: f.Node, text: skipped(f), values: f.Values}
	case rules.Compared:
		return told{at: f.Node, text: comparedAnew(f)}
	case rules.AskedAgain:
		return askedAgain(f)
	case rules.ReviewAsked:
		return told{at: f.Node, text: "waits for a reviewer", row: fmt.Sprintf("%s: %s", f.Node, f.Reason)}
	case rules.VerdictRecorded:
		return verdict(f, string(f.Decision), string(f.Decision))
	case rules.VerdictProposed:
		return verdict(rules.VerdictRecorded(f), "proposed "+string(f.Decision), string(f.Decision))
	case rules.ProposalReturned:
		return verdict(rules.VerdictRecorded{By: f.By, Identity: f.Identity, Node: f.Node}, "sent back", "sent back")
	case rules.HitsFound:
		return told{text: fmt.Sprintf("%s, %d in version %.12s of %s", f.Node, len(f.Hits), f.ListVersion, f.List)}
	case rules.HitsCleared:
		return told{text: fmt.Sprintf("%s, %d left out", f.Node, len(f.Cleared))}
	case rules.HitDecided:
		return told{text: fmt.Sprintf("%s, %s of %s: %s by %s", f.Node, f.Entry, f.List, f.Match, cmp.Or(f.By, "a program"))}
	case rules.NoteAdded:
		return told{text: "by " + f.By}
	case rules.Corrected:
		return told{text: strings.Join(strings.Fields(fmt.Sprintf("%s %s by %s", f.Node, f.Field, f.By)), " ")}
	case rules.Assigned:
		return told{text: assignment(f)}
	case rules.ReviewDueSoon:
		return told{row: "due at " + timestamp(f.DueAt)}
	case rules.RejectedBefore:
		return told{text: rejectedBefore(f)}
	case rules.Completed:
		return told{at: f.Node, text: strings.TrimSpace("end " + completion(f)), data: f.Data}
	case rules.Failed:
		return told{at: f.Node, text: failure(f)}
	case rules.Expired:
		return told{text: "expired: " + errorText(&f.Error)}
	case rules.Cancelled:
		return told{text: "cancelled"}
	case rules.Held:
		return told{text: "by " + f.By + ": " + f.Reason}
	case rules.HoldEnded:
		return told{text: "by " + f.By}
	case rules.Restricted:
		return told{text: "by " + f.By + ": " + f.Reason}
	case rules.RestrictionLifted:
		return told{text: "by " + f.By + ": " + f.Reason}
	case rules.Redacted:
		return told{text: "by " + cmp.Or(f.By, "a program")}
	case rules.Erased, rules.DocumentsRemoved:
	}
	return told{}
}

func passed(ok bool) string {
	if ok {
		return "passed"
	}
	return "failed"
}

// groupResult says how a group was decided.
func groupResult(f rules.GroupDecided) string {
	switch {
	case f.Unavailable:
		return "unavailable"
	case f.Type != workflow.NodeChecks:
		return passed(f.Passed)
	case f.Passed:
		return "met"
	}
	return "not met"
}

// skipped says why a step or a member was left out, and where the run went.
func skipped(f rules.Skipped) string {
	switch {
	case f.Kept && f.Next == "":
		return "the answer stays"
	case f.Kept:
		return "the answer stays -> " + string(f.Next)
	case f.Next == "":
		return "not called"
	}
	return "skipped -> " + string(f.Next)
}

// rejectedBefore says which other runs are rejected.
func rejectedBefore(f rules.RejectedBefore) string {
	runs := mapSlice(f.Runs, func(r rules.RejectedRun) string {
		return fmt.Sprintf("%s, same %s", r.Run, strings.Join(mapSlice(r.By, func(by verification.EarlierBy) string { return string(by) }), " and "))
	})
	if f.Unknown {
		runs = append(runs, "not every run was looked at")
	}
	return strings.Join(runs, "; ")
}

// askedAgain says what the customer is asked again, and why.
func askedAgain(f rules.AskedAgain) told {
	by, why := "", strings.Join(f.Reasons, ", ")
	if f.By != "" {
		by = " by " + f.By
	}
	if len(f.Fields) > 0 {
		why += " (" + strings.Join(f.Fields, ", ") + ")"
	}
	row := fmt.Sprintf("%s, round %d, from %s%s: %s", f.Node, f.Round, f.From, by, why)
	return told{at: f.Node, text: "the customer is asked again: " + why, row: row}
}

// comparedAnew says which facts of a step differ after they were compared anew.
func comparedAnew(f rules.Compared) string {
	if len(f.Differs) == 0 {
		return "compared again: all facts agree"
	}
	return "compared again, differs: " + strings.Join(f.Differs, ", ")
}

// completion says with which outcome a run ended, and what its data lacks.
func completion(f rules.Completed) string {
	if len(f.Lacking) == 0 {
		return f.Outcome
	}
	return strings.TrimSpace(fmt.Sprintf("%s without %s (%s)", f.Outcome, strings.Join(f.Lacking, ", "), f.Cause))
}

// verdict says who gave or proposed a verdict, or sent it back.
func verdict(f rules.VerdictRecorded, text, row string) told {
	if f.By != "" {
		row += " by " + f.By
	}
	if f.Identity != "" && f.Identity != f.By {
		row += " (" + f.Identity + ")"
	}
	if f.Node != "" {
		row += " on " + string(f.Node)
	}
	return told{at: cmp.Or(f.Node, "verdict"), text: text + " by " + cmp.Or(f.By, "a program"), row: row}
}

func assignment(f rules.Assigned) string {
	to := "to " + cmp.Or(f.To.Name(), f.To.Person.Identity, "nobody")
	if f.Escalated {
		to += ", escalated"
	}
	return to + " by " + cmp.Or(f.By, "a program")
}

func failure(f rules.Failed) string {
	if f.Cause == "" {
		return errorText(&f.Error)
	}
	return errorText(&f.Error) + ": " + f.Cause
}

func timestamp(t time.Time) string { return apitypes.Timestamp{Time: t}.String() }
