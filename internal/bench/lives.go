// The lives that made-up runs have had.

package bench

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// story is what happens in a run, and when after its start.
type story []moment

type moment struct {
	after time.Duration
	fact  verification.Fact
}

// then goes on with facts, the first of them some time later.
func (s story) then(later time.Duration, facts ...verification.Fact) story {
	var at time.Duration
	if len(s) > 0 {
		at = s[len(s)-1].after
	}
	s = slices.Clip(s)
	for _, f := range facts {
		s = append(s, moment{at + later, f})
	}
	return s
}

// turn is how a life is bent so that the run soon reads differently.
type turn int

const (
	turnsNever      turn = iota
	turnsWhenIdle        // the customer came a short while ago, and may leave
	turnsAtDeadline      // the deadline is close
)

// life is one way in which a run can go.
type life struct {
	share        int // of ten thousand runs
	ttl, abandon time.Duration
	story        story
	turns        turn
}

// lives are all ways; nine in ten are over.
func lives() []life {
	consent := func(node verification.NodeID, status string) (asked, given verification.Fact) {
		asked = verification.CustomerAwaited{
			Node: node, Type: verification.NodeConsent, Label: "Consent", Signal: string(node) + "_submitted",
		}
		return asked, verification.CustomerSubmitted{
			Node: node, Data: verification.Data(fmt.Sprintf(`{"consent_status":%q}`, status)),
		}
	}
	check := func(node verification.NodeID, label string, passed bool) []verification.Fact {
		return []verification.Fact{
			verification.Dispatched{Node: node, Key: string(node), Label: label, Provider: "sandbox", Dispatch: 1, Visit: 1},
			verification.Answered{Node: node, Passed: passed, Data: verification.Data(`{"name_match":0.97}`)},
		}
	}
	branch := func(next verification.NodeID) verification.Fact {
		return verification.BranchTaken{Node: "risk", Next: next, Seen: verification.Data(`{"steps.bank.passed":true}`)}
	}
	verdict := func(node verification.NodeID, d verification.Decision) verification.Fact {
		return verification.VerdictRecorded{Node: node, Decision: d, Notes: "Looked at.", By: "reviewer"}
	}
	const approve, reject = verification.DecisionApprove, verification.DecisionReject

	asked, given := consent("consent", "success")
	_, declined := consent("consent", "declined")
	signing, signed := consent("sign", "success")
	details := verification.CustomerAwaited{
		Node: "details", Type: verification.NodeCustomerInput, Label: "Your details", Signal: "details_submitted",
	}
	filled := verification.CustomerSubmitted{Node: "details", Data: verification.Data(`{"name":"Asha Rao"}`)}
	done := verification.Completed{Node: "done"}

	begun := story{}.then(0, asked)
	halfway := begun.then(40*time.Second, given, details)
	unsure := begun.then(40*time.Second, declined, details)
	checked := func(s story) story {
		return s.then(90*time.Second, filled).then(2*time.Second, check("pan", "PAN", true)...).
			then(2*time.Second, check("bank", "Bank account", true)...).then(2*time.Second, check("court", "Court records", true)...)
	}
	failed := halfway.then(90*time.Second, filled).then(2*time.Second, check("pan", "PAN", false)...).
		then(0, verification.Failed{Node: "pan", Error: verification.RunError{
			Code: verification.CodeCheckFailed, Check: "pan", Message: "The check pan did not pass.",
		}})
	review := checked(halfway).then(0, branch("review"), verification.ReviewAsked{
		Node: "review", Label: "Manual review", Reason: "The name differs.",
	})
	judged := func(d verification.Decision) story { return review.then(6*time.Minute, verdict("review", d), signing) }
	smooth := checked(halfway).then(0, branch("done"), done)
	open := checked(unsure).then(0, branch("done"), done)
	expired := verification.Expired{Error: verification.RunError{
		Code: verification.CodeLinkExpired, Message: "The deadline passed while the run waited on the customer.",
	}}
	const day = 24 * time.Hour
	return []life{
		{share: 7200, ttl: runTTL, abandon: abandonTimeout, story: smooth},
		{share: 600, ttl: runTTL, abandon: abandonTimeout, story: judged(approve).then(time.Minute, signed, done)},
		{share: 200, ttl: runTTL, abandon: abandonTimeout, story: judged(reject).then(time.Minute, signed, done)},
		{share: 100, ttl: runTTL, abandon: abandonTimeout, story: open},
		{share: 50, ttl: runTTL, abandon: abandonTimeout, story: open.then(time.Hour, verdict("", approve))},
		{share: 550, ttl: runTTL, abandon: abandonTimeout, story: failed},
		{share: 50, ttl: runTTL, abandon: abandonTimeout, story: failed.then(time.Hour, verdict("", reject))},
		{share: 200, ttl: day, abandon: abandonTimeout, story: halfway.then(day, expired)},
		{share: 50, ttl: day, abandon: abandonTimeout, story: halfway.then(day, expired).then(time.Hour, verdict("", approve))},
		{share: 150, ttl: runTTL, abandon: abandonTimeout, story: halfway.then(4*time.Minute, verification.Cancelled{})},
		{share: 50, story: review.then(4*time.Minute, verification.Cancelled{}).then(time.Hour, verdict("", reject))},

		{share: 220, ttl: runTTL, abandon: abandonTimeout, story: begun},
		{share: 140, abandon: abandonTimeout, story: halfway},
		{share: 140, story: halfway},
		{share: 200, ttl: runTTL, abandon: abandonTimeout, story: review},
		{share: 40, abandon: abandonTimeout, story: judged(approve)},
		{share: 20, ttl: runTTL, story: judged(approve)},
		{share: 10, ttl: runTTL, abandon: abandonTimeout, story: judged(reject)},
		{share: 10, story: judged(reject)},
		{share: 2, ttl: runTTL, abandon: abandonTimeout, story: halfway, turns: turnsWhenIdle},
		{share: 18, abandon: abandonTimeout, story: review, turns: turnsAtDeadline},
	}
}

// history is the life of a run that started at a moment, up to now: as fast or
// slow as pace says. What is bent to turn does so from a little before now on: an
// idle customer within the timeout, a deadline within a day.
func (l life) history(w verification.Workflow, n int, started, now time.Time, pace float64, random *rand.Rand) []verification.Event {
	within := abandonTimeout
	if l.turns == turnsAtDeadline {
		within = 24 * time.Hour
	}
	turning := now.Add(time.Duration(random.Int64N(int64(within+lag))) - lag).Truncate(time.Microsecond)
	if l.turns == turnsAtDeadline {
		l.ttl = turning.Sub(started).Truncate(time.Second)
	}
	events := make([]verification.Event, 0, len(l.story)+2)
	events = append(events, verification.Event{At: started, Fact: verification.Started{
		Workflow: w.ID, WorkflowName: w.Name, Version: w.Versions, VersionHash: w.Current(),
		ReferenceID:   fmt.Sprintf("person-%d", n),
		RunTTLSeconds: int64(l.ttl.Seconds()), AbandonTimeoutSeconds: int64(l.abandon.Seconds()),
	}})
	for _, m := range l.story {
		after := time.Duration(float64(m.after) * pace).Truncate(time.Microsecond)
		if _, ok := m.fact.(verification.Expired); ok || m.after > l.ttl && l.ttl > 0 {
			after = m.after // at the deadline, and after it
		}
		if started.Add(after).After(now) {
			return resting(events)
		}
		events = append(events, verification.Event{At: started.Add(after), Fact: m.fact})
	}
	if came := turning.Add(-abandonTimeout); l.turns == turnsWhenIdle && came.After(events[len(events)-1].At) {
		events = append(events, verification.Event{At: came, Fact: verification.CustomerCame{Node: "details"}})
	}
	return events
}

// resting cuts a history that is not at its end back to where the run waited
// for somebody: nothing else would drive it on.
func resting(events []verification.Event) []verification.Event {
	for len(events) > 2 {
		switch events[len(events)-1].Fact.(type) {
		case verification.CustomerAwaited, verification.ReviewAsked:
			return events
		}
		if s := verification.Fold("", events).Summary(); s.Ended != "" {
			return events
		}
		events = events[:len(events)-1]
	}
	return events
}
