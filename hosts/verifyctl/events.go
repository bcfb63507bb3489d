// Events as run show prints them.

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/verification/rules"
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

// describe returns what a table shows of a fact. It leaves out the answers of customers
// and the data of checks.
func describe(f rules.Fact) string {
	switch f := f.(type) {
	case rules.Started:
		return fmt.Sprintf("%s, version %d", f.WorkflowName, f.Version)
	case rules.Dispatched:
		return fmt.Sprintf("%s by %s, dispatch %d", f.Node, f.Provider, f.Dispatch)
	case rules.ResultPending:
		return fmt.Sprintf("%s, next poll at %s", f.Node, timestamp(f.PollAt))
	case rules.CallbackReceived:
		return string(f.Node) + ", polled at once"
	case rules.PollFailed:
		return fmt.Sprintf("%s, next poll at %s: %s", f.Node, timestamp(f.PollAt), f.Cause)
	case rules.ResultRecorded:
		if f.Passed {
			return string(f.Node) + " passed"
		}
		return string(f.Node) + " failed"
	case rules.DispatchFailed:
		if f.RetryAt.IsZero() {
			return fmt.Sprintf("%s, no retry: %s", f.Node, f.Cause)
		}
		return fmt.Sprintf("%s, retry at %s: %s", f.Node, timestamp(f.RetryAt), f.Cause)
	case rules.ResultUnavailable:
		return string(f.Node)
	case rules.CustomerAwaited:
		return fmt.Sprintf("%s, signal %s", f.Node, f.Signal)
	case rules.JourneyOpened:
		return string(f.Node)
	case rules.DocumentUploaded:
		return fmt.Sprintf("%s, %s, %d bytes for %s", f.Node, f.MediaType, f.Size, f.Field)
	case rules.CustomerSubmitted:
		return string(f.Node)
	case rules.BranchTaken:
		return fmt.Sprintf("%s to %s: %s", f.Node, f.Next, cmp.Or(f.When, "else"))
	case rules.Skipped:
		return skipped(f)
	case rules.AskedAgain:
		return askedAgain(f)
	case rules.ReviewAsked:
		return fmt.Sprintf("%s: %s", f.Node, f.Reason)
	case rules.VerdictRecorded:
		return verdict(f)
	case rules.VerdictProposed:
		return verdict(rules.VerdictRecorded(f))
	case rules.ProposalReturned:
		return verdict(rules.VerdictRecorded{Decision: "sent back", By: f.By, Identity: f.Identity, Node: f.Node})
	case rules.HitsFound:
		return fmt.Sprintf("%s, %d in version %.12s of %s", f.Node, len(f.Hits), f.ListVersion, f.List)
	case rules.HitsCleared:
		return fmt.Sprintf("%s, %d left out", f.Node, len(f.Cleared))
	case rules.HitDecided:
		return fmt.Sprintf("%s, %s of %s: %s by %s", f.Node, f.Entry, f.List, f.Match, cmp.Or(f.By, "a program"))
	case rules.NoteAdded:
		return "by " + f.By
	case rules.Corrected:
		return strings.Join(strings.Fields(fmt.Sprintf("%s %s by %s", f.Node, f.Field, f.By)), " ")
	case rules.Assigned:
		return assignment(f)
	case rules.ReviewDueSoon:
		return "due at " + timestamp(f.DueAt)
	case rules.Completed:
		if f.Outcome != "" {
			return fmt.Sprintf("%s: %s", f.Node, f.Outcome)
		}
		return string(f.Node)
	case rules.Failed:
		return failure(f)
	case rules.Expired:
		return errorText(&f.Error)
	case rules.Cancelled, rules.Erased, rules.DocumentsRemoved:
		return ""
	case rules.Held:
		return "by " + f.By + ": " + f.Reason
	case rules.HoldEnded:
		return "by " + f.By
	case rules.Restricted:
		return "by " + f.By + ": " + f.Reason
	case rules.RestrictionLifted:
		return "by " + f.By + ": " + f.Reason
	case rules.Redacted:
		return "by " + cmp.Or(f.By, "a program")
	}
	return ""
}

// askedAgain says what the customer is asked again, and why.
func askedAgain(f rules.AskedAgain) string {
	by := ""
	if f.By != "" {
		by = " by " + f.By
	}
	text := fmt.Sprintf("%s, round %d, from %s%s: %s", f.Node, f.Round, f.From, by, strings.Join(f.Reasons, ", "))
	if len(f.Fields) > 0 {
		text += " (" + strings.Join(f.Fields, ", ") + ")"
	}
	return text
}

// skipped says which step was left out, and where the run went.
func skipped(f rules.Skipped) string {
	switch {
	case f.Kept:
		return fmt.Sprintf("%s: the answer stays, to %s", f.Node, f.Next)
	case f.Next == "":
		return string(f.Node) + ": its condition does not hold"
	}
	return fmt.Sprintf("%s: its condition does not hold, to %s", f.Node, f.Next)
}

func verdict(f rules.VerdictRecorded) string {
	text := string(f.Decision)
	if f.By != "" {
		text += " by " + f.By
	}
	if f.Identity != "" && f.Identity != f.By {
		text += " (" + f.Identity + ")"
	}
	if f.Node != "" {
		text += " on " + string(f.Node)
	}
	return text
}

func assignment(f rules.Assigned) string {
	to := "to " + cmp.Or(f.To.Name(), f.To.Person.Identity, "nobody")
	if f.Escalated {
		to += ", escalated"
	}
	return to + " by " + f.By
}

func failure(f rules.Failed) string {
	text := fmt.Sprintf("%s: %s", f.Node, errorText(&f.Error))
	if f.Cause != "" {
		text += ": " + f.Cause
	}
	return text
}

func timestamp(t time.Time) string { return apitypes.Timestamp{Time: t}.String() }
