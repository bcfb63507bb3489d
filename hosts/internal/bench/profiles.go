// The histories of generated runs.

package bench

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// story is facts at times after the start.
type story []timedFact

type timedFact struct {
	after time.Duration
	fact  rules.Fact
}

// then adds facts, the first of them some time later.
func (s story) then(later time.Duration, facts ...rules.Fact) story {
	var at time.Duration
	if len(s) > 0 {
		at = s[len(s)-1].after
	}
	s = slices.Clip(s)
	for _, f := range facts {
		s = append(s, timedFact{at + later, f})
	}
	return s
}

// change says how a history is shifted so that the status of its run soon changes.
type change int

const (
	unchanged   change = iota
	idleSoon           // the customer visited recently and may leave
	overdueSoon        // the deadline is close
)

// profile is one kind of history.
type profile struct {
	share        int // out of ten thousand runs
	ttl, abandon time.Duration
	story        story
	change       change
}

// profiles returns all kinds; nine in ten runs have ended.
func profiles() []profile {
	consent := func(node verification.NodeID, status string) (awaited, given rules.Fact) {
		awaited = rules.CustomerAwaited{
			Node: node, Type: workflow.NodeConsent, Label: "Consent", Signal: string(node) + "_submitted",
		}
		return awaited, rules.CustomerSubmitted{
			Node: node, Data: verification.Data(fmt.Sprintf(`{"consent_status":%q}`, status)),
		}
	}
	check := func(s story, node verification.NodeID, label string, passed bool, data string) story {
		return s.then(time.Millisecond, rules.Dispatched{
			Node: node, Key: string(node), Label: label, Provider: "sandbox", Dispatch: 1, Visit: 1,
		}).then(2*time.Second, rules.ResultRecorded{Node: node, Passed: passed, Data: verification.Data(data)})
	}
	const match = `{"name_match":0.97}`
	branch := func(next verification.NodeID) rules.Fact {
		return rules.BranchTaken{Node: "risk", Next: next, Values: verification.Data(`{"steps.bank.passed":true}`)}
	}
	verdict := func(node verification.NodeID, d rules.Decision) rules.Fact {
		return rules.VerdictRecorded{Node: node, Decision: d, Notes: "Looked at.", By: "reviewer"}
	}
	const approve, reject = rules.DecisionApprove, rules.DecisionReject

	awaited, given := consent("consent", "success")
	_, declined := consent("consent", "declined")
	signing, signed := consent("sign", "success")
	details := rules.CustomerAwaited{
		Node: "details", Type: workflow.NodeCustomerInput, Label: "Your details", Signal: "details_submitted",
	}
	filled := rules.CustomerSubmitted{Node: "details", Data: verification.Data(`{"name":"Asha Rao"}`)}
	done := rules.Completed{Node: "done"}

	begun := story{}.then(0, awaited)
	halfway := begun.then(40*time.Second, given, details)
	unsure := begun.then(40*time.Second, declined, details)
	checkedWith := func(s story, bank string) story {
		s = check(s.then(90*time.Second, filled), "pan", "PAN", true, match)
		return check(check(s, "bank", "Bank account", true, bank), "court", "Court records", true, match)
	}
	checked := func(s story) story { return checkedWith(s, match) }
	failed := check(halfway.then(90*time.Second, filled), "pan", "PAN", false, match).
		then(0, rules.Failed{Node: "pan", Error: rules.RunError{
			Code: rules.CodeCheckFailed, Check: "pan", Message: "The check pan did not pass.",
		}})
	reviewAsked := rules.ReviewAsked{Node: "review", Label: "Manual review", Reason: "The name differs."}
	review := checked(halfway).then(0, branch("review"), reviewAsked)
	unvouched := checkedWith(halfway, `{"source_ok":false,"analysis_ok":false}`).then(0, branch("review"), reviewAsked)
	judged := func(d rules.Decision) story { return review.then(6*time.Minute, verdict("review", d), signing) }
	smooth := checked(halfway).then(0, branch("done"), done)
	open := checked(unsure).then(0, branch("done"), done)
	expired := rules.Expired{Error: rules.RunError{
		Code: rules.CodeLinkExpired, Message: "The deadline passed while the run waited on the customer.",
	}}
	const day = 24 * time.Hour
	return []profile{
		{share: 7418, ttl: runTTL, abandon: abandonTimeout, story: smooth},
		{share: 600, ttl: runTTL, abandon: abandonTimeout, story: judged(approve).then(time.Minute, signed, done)},
		{share: 200, ttl: runTTL, abandon: abandonTimeout, story: judged(reject).then(time.Minute, signed, done)},
		{share: 42, ttl: runTTL, abandon: abandonTimeout, story: open},
		{share: 50, ttl: runTTL, abandon: abandonTimeout, story: open.then(time.Hour, verdict("", approve))},
		{share: 550, ttl: runTTL, abandon: abandonTimeout, story: failed},
		{share: 50, ttl: runTTL, abandon: abandonTimeout, story: failed.then(time.Hour, verdict("", reject))},
		{share: 200, ttl: day, abandon: abandonTimeout, story: halfway.then(day, expired)},
		{share: 50, ttl: day, abandon: abandonTimeout, story: halfway.then(day, expired).then(time.Hour, verdict("", approve))},
		{share: 150, ttl: runTTL, abandon: abandonTimeout, story: halfway.then(4*time.Minute, rules.Cancelled{})},
		{share: 50, story: review.then(4*time.Minute, rules.Cancelled{}).then(time.Hour, verdict("", reject))},

		{share: 220, ttl: runTTL, abandon: abandonTimeout, story: begun},
		{share: 140, abandon: abandonTimeout, story: halfway},
		{share: 140, story: halfway},
		{share: 30, ttl: runTTL, abandon: abandonTimeout, story: review},
		{share: 10, ttl: runTTL, abandon: abandonTimeout, story: unvouched},
		{share: 40, abandon: abandonTimeout, story: judged(approve)},
		{share: 20, ttl: runTTL, story: judged(approve)},
		{share: 10, ttl: runTTL, abandon: abandonTimeout, story: judged(reject)},
		{share: 10, story: judged(reject)},
		{share: 2, ttl: runTTL, abandon: abandonTimeout, story: halfway, change: idleSoon},
		{share: 18, abandon: abandonTimeout, story: review, change: overdueSoon},
	}
}

// history returns the history of a run from its start until now, at the given pace. If
// the profile has a change, the status of the run changes at a random time from lag
// before now: at most the abandon timeout later for an idle customer, and at most a day
// later for a deadline.
func (l profile) history(w filledWorkflow, n int, started, now time.Time, pace float64, random *rand.Rand) []rules.Event {
	within := abandonTimeout
	if l.change == overdueSoon {
		within = 24 * time.Hour
	}
	changed := now.Add(time.Duration(random.Int64N(int64(within+lag))) - lag).Truncate(time.Microsecond)
	if l.change == overdueSoon {
		l.ttl = changed.Sub(started).Truncate(time.Second)
	}
	events := make([]rules.Event, 0, len(l.story)+2)
	events = append(events, rules.Event{At: started, Fact: rules.Started{
		Workflow: w.ID, WorkflowName: w.Name, Version: w.Versions, VersionHash: w.Current(),
		ReferenceID:   fmt.Sprintf("person-%d", n),
		RunTTLSeconds: int64(l.ttl.Seconds()), AbandonTimeoutSeconds: int64(l.abandon.Seconds()), ReviewDueMinutes: w.reviewDueMinutes,
	}})
	for _, m := range l.story {
		after := time.Duration(float64(m.after) * pace).Truncate(time.Microsecond)
		if _, ok := m.fact.(rules.Expired); ok || m.after > l.ttl && l.ttl > 0 {
			after = m.after // at the deadline, and after it
		}
		if started.Add(after).After(now) {
			return resting(events)
		}
		events = append(events, rules.Event{At: started.Add(after), Fact: m.fact})
	}
	if came := changed.Add(-abandonTimeout); l.change == idleSoon && came.After(events[len(events)-1].At) {
		events = append(events, rules.Event{At: came, Fact: rules.JourneyOpened{Node: "details"}})
	}
	return events
}

// resting cuts the history of a live run back to where the run waited for a person,
// because no work is queued for it.
func resting(events []rules.Event) []rules.Event {
	for len(events) > 2 {
		switch events[len(events)-1].Fact.(type) { //nolint:gochecksumtype // only these wait for a person
		case rules.CustomerAwaited, rules.ReviewAsked:
			return events
		}
		if s := rules.Fold("", events).Summary(); s.Ended != "" {
			return events
		}
		events = events[:len(events)-1]
	}
	return events
}
