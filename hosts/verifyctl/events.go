// Events as run show prints them.

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

// describe returns what a table shows of an event: where it has no more to say, what a path says. It leaves out the answers of
// customers and the data of checks.
func describe(e rules.Event) string {
	switch f := e.Fact.(type) { //nolint:gochecksumtype // of the others a path says all
	case rules.Started:
		return fmt.Sprintf("%s, version %d", f.WorkflowName, f.Version)
	case rules.Dispatched:
		return fmt.Sprintf("%s by %s, dispatch %d", f.Node, f.Provider, f.Dispatch)
	case rules.GroupBegan:
		if !f.Each {
			return string(f.Node)
		}
	case rules.ResultPending:
		return fmt.Sprintf("%s, next poll at %s", f.Node, timestamp(f.PollAt))
	case rules.PollFailed:
		return fmt.Sprintf("%s, next poll at %s: %s", f.Node, timestamp(f.PollAt), f.Cause)
	case rules.DispatchFailed:
		if f.RetryAt.IsZero() {
			return fmt.Sprintf("%s, no retry: %s", f.Node, f.Cause)
		}
		return fmt.Sprintf("%s, retry at %s: %s", f.Node, timestamp(f.RetryAt), f.Cause)
	case rules.CustomerAwaited:
		return fmt.Sprintf("%s, signal %s", f.Node, f.Signal)
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
	case rules.ReviewDueSoon:
		return "due at " + timestamp(f.DueAt)
	}
	if lines := stepLines(e, ""); len(lines) > 0 {
		return lines[0]
	}
	return ""
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
