// Histories that the clauses save: stories told in events.

package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// Two tenants, and what both of them have under the same ids.
const (
	ours   = verification.TenantID("a0000000-0000-7000-8000-000000000001")
	theirs = verification.TenantID("b0000000-0000-7000-8000-000000000002")

	onboarding = verification.WorkflowID("c0000000-0000-7000-8000-000000000001")
	renewal    = verification.WorkflowID("c0000000-0000-7000-8000-000000000002")
	unknown    = verification.WorkflowID("c0000000-0000-7000-8000-00000000000f")
)

// tick is the smallest step of a moment that is kept.
const tick = time.Microsecond

// moment is some time after stories begin. It has microseconds, so that a
// store that drops them is found out.
func moment(after time.Duration) time.Time {
	return time.Date(2026, 3, 1, 9, 0, 0, 123456000, time.UTC).Add(after)
}

// story is a run and its history.
type story struct {
	id     verification.RunID
	events []verification.Event
}

func runID(n int) verification.RunID {
	return verification.RunID(fmt.Sprintf("d0000000-0000-7000-8000-%012x", n))
}

// begin starts story number n at a moment.
func begin(n int, at time.Time, s verification.Started) story {
	return story{runID(n), nil}.at(at, s)
}

// simple is a story that has just begun, without limits.
func simple(n int) story { return begin(n, moment(0), started()) }

// at goes on at a moment.
func (s story) at(now time.Time, facts ...verification.Fact) story {
	s.events = slices.Clone(s.events)
	for _, f := range facts {
		s.events = append(s.events, verification.Event{At: now, Fact: f})
	}
	return s
}

// then goes on some time after the newest event.
func (s story) then(after time.Duration, facts ...verification.Fact) story {
	return s.at(s.events[len(s.events)-1].At.Add(after), facts...)
}

func (s story) summary() verification.Summary {
	return verification.Fold(s.id, s.events).Summary()
}

func (s story) ref(t verification.TenantID) verification.RunRef {
	return verification.RunRef{Tenant: t, Run: s.id}
}

// appendix is the whole story as one append, without effects.
func (s story) appendix() verification.Commit {
	return verification.Commit{Events: s.events, Summary: s.summary()}
}

// advancing is the whole story as one append that queues an advance.
func (s story) advancing(at time.Time) verification.Commit {
	a := s.appendix()
	a.AdvanceAt = at
	return a
}

// announcing is the whole story as one append that queues its announcement, due
// at the last event.
func (s story) announcing() verification.Commit {
	a := s.appendix()
	a.AnnounceAt = s.events[len(s.events)-1].At
	return a
}

// only is an append without events: it changes the effects alone.
func (s story) only(advanceAt time.Time) verification.Commit {
	return verification.Commit{Summary: s.summary(), AdvanceAt: advanceAt}
}

func started() verification.Started {
	return verification.Started{
		Workflow: onboarding, WorkflowName: "Onboarding", Version: 1, VersionHash: "first", ReferenceID: "customer-1",
	}
}

// limited is a start whose run has a deadline and an abandon timeout, in
// seconds; 0 is none.
func limited(deadline, abandon int64) verification.Started {
	s := started()
	s.RunTTLSeconds, s.AbandonTimeoutSeconds = deadline, abandon
	return s
}

func consent() verification.Fact {
	return verification.CustomerAwaited{
		Node: "consent", Type: verification.NodeConsent, Label: "Consent", Signal: "consent_submitted",
	}
}

func came() verification.Fact { return verification.CustomerCame{Node: "consent"} }

func dispatched(dispatch int) verification.Fact {
	return verification.Dispatched{
		Node: "pan", Key: "pan_verification", Label: "PAN", Provider: "sandbox", Dispatch: dispatch, Visit: 1,
	}
}

func answered(data string) verification.Fact {
	return verification.Answered{Node: "pan", Passed: true, Data: verification.Data(data)}
}

func asked(node verification.NodeID) verification.Fact {
	return verification.ReviewAsked{Node: node, Label: "Manual review", Reason: "The names differ."}
}

// verdict answers a review step; without a node the run was over.
func verdict(node verification.NodeID, d verification.Decision) verification.Fact {
	return verification.VerdictRecorded{Node: node, Decision: d, Notes: "Seen.", By: "reviewer-7"}
}

func completed() verification.Fact { return verification.Completed{Node: "done"} }

func failed() verification.Fact {
	return verification.Failed{Node: "pan", Cause: "status 502", Error: verification.RunError{
		Code: verification.CodeCheckFailed, Check: "pan_verification", Message: "The check did not pass.",
	}}
}

func expired() verification.Fact {
	return verification.Expired{Error: verification.RunError{
		Code: verification.CodeLinkExpired, Message: "The customer did not complete the journey before it expired.",
	}}
}

// lives are stories that stand everywhere a run can stand, some of them begun
// at the same moment.
func lives() []story {
	const approve, reject = verification.DecisionApprove, verification.DecisionReject
	n := 0
	life := func(s verification.Started) story {
		n++
		s.ReferenceID = fmt.Sprintf("customer-%d", n)
		if n%3 == 0 {
			s.Workflow = renewal
		}
		return begin(n, moment(time.Duration(n/2)*time.Minute), s)
	}
	open := func() story {
		return life(started()).then(0, dispatched(1)).then(time.Second, answered(`{"source_ok":false}`), completed())
	}
	return []story{
		life(started()),
		life(limited(3600, 0)).then(0, dispatched(1)),
		life(limited(3600, 900)).then(0, consent()),
		life(limited(3600, 900)).then(0, consent()).then(10*time.Minute, came()),
		life(limited(600, 900)).then(0, consent()),
		life(started()).then(0, consent()),
		life(limited(0, 900)).then(0, consent()),
		life(started()).then(0, asked("review")),
		life(limited(1800, 900)).then(0, asked("review")),
		life(limited(1800, 0)).then(0, dispatched(1)).then(time.Second, answered(`{}`), completed()),
		open(),
		open().then(time.Hour, verdict("", approve)),
		open().then(time.Hour, verdict("", approve)).then(time.Hour, verdict("", reject)),
		life(started()).then(0, asked("review")).then(time.Minute, verdict("review", reject), completed()),
		life(limited(1800, 0)).then(0, asked("review")).then(time.Minute, verdict("review", approve), dispatched(1)),
		life(started()).then(0, asked("review")).then(time.Minute, verdict("review", approve), asked("second")),
		life(limited(2400, 0)).then(0, asked("review")).then(time.Minute, verdict("review", approve), asked("second")),
		life(started()).then(0, dispatched(1)).then(time.Second, failed()),
		life(started()).then(0, dispatched(1)).then(time.Second, failed()).then(time.Hour, verdict("", reject)),
		life(limited(600, 0)).then(0, consent()).then(10*time.Minute, expired()),
		life(limited(600, 0)).then(0, consent()).then(10*time.Minute, expired()).then(time.Hour, verdict("", approve)),
		life(limited(600, 0)).then(0, asked("review")).then(time.Minute, verification.Cancelled{}),
		life(started()).then(0, consent()).then(time.Minute, verification.Cancelled{}),
	}
}

// moments are all those at which one of the stories begins to read
// differently, a tick later, and the far past and future; earliest first.
func moments(stories []story) []time.Time {
	all := []time.Time{moment(-time.Hour), moment(1000 * time.Hour)}
	for _, s := range stories {
		for _, m := range []time.Time{s.summary().AbandonAt, s.summary().ExpiresAt} {
			if !m.IsZero() {
				all = append(all, m, m.Add(tick))
			}
		}
	}
	slices.SortFunc(all, time.Time.Compare)
	return slices.CompactFunc(all, time.Time.Equal)
}
