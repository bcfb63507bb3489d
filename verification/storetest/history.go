// The histories that clauses save.

package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// The ids of two tenants and of workflows that both of them have.
const (
	ours   = verification.TenantID("a0000000-0000-7000-8000-000000000001")
	theirs = verification.TenantID("b0000000-0000-7000-8000-000000000002")

	onboarding = verification.WorkflowID("c0000000-0000-7000-8000-000000000001")
	renewal    = verification.WorkflowID("c0000000-0000-7000-8000-000000000002")
	unknown    = verification.WorkflowID("c0000000-0000-7000-8000-00000000000f")
)

// advanceKey is the key of a run's advance.
func advanceKey() store.WorkKey { return store.WorkKey{Kind: store.WorkAdvance} }

// announceKey is the key of the notice that a run is over.
func announceKey() store.WorkKey {
	return store.WorkKey{Kind: store.WorkAnnounce}
}

// expireKey is the key of a run's deadline.
func expireKey() store.WorkKey { return store.WorkKey{Kind: store.WorkExpire} }

// rescreenKey names the re-screening of a run against a list.
func rescreenKey(list string) store.WorkKey {
	return store.WorkKey{Kind: store.WorkRescreen, List: list}
}

// tick is the resolution of stored times.
const tick = time.Microsecond

// instant returns the time after the start of histories. It has microseconds, so
// that clauses notice a store that drops them.
func instant(after time.Duration) time.Time {
	return time.Date(2026, 3, 1, 9, 0, 0, 123456000, time.UTC).Add(after)
}

// history is the history of a run.
type history struct {
	id     verification.RunID
	events []rules.Event
}

func runID(n int) verification.RunID {
	return verification.RunID(fmt.Sprintf("d0000000-0000-7000-8000-%012x", n))
}

// begin starts the history of run number n at a time.
func begin(n int, at time.Time, s rules.Started) history {
	return history{runID(n), nil}.at(at, s)
}

// simple returns a history that has just begun, without limits.
func simple(n int) history { return begin(n, instant(0), started()) }

// at adds events at a time.
func (s history) at(now time.Time, facts ...rules.Fact) history {
	s.events = slices.Clone(s.events)
	for _, f := range facts {
		s.events = append(s.events, rules.Event{At: now, Fact: f})
	}
	return s
}

// then adds events some time after the newest one.
func (s history) then(after time.Duration, facts ...rules.Fact) history {
	return s.at(s.events[len(s.events)-1].At.Add(after), facts...)
}

// summary returns the summary of the run as List returns it, without its review.
func (s history) summary() rules.Summary {
	v := s.reviewed()
	v.Review = nil
	return v
}

// reviewed returns the summary of the run with its review.
func (s history) reviewed() rules.Summary { return rules.Fold(s.id, s.events).Summary() }

func (s history) ref(t verification.TenantID) verification.RunRef {
	return verification.RunRef{Tenant: t, Run: s.id}
}

// commit returns the whole history as one append, with the work of its
// deadline only.
func (s history) commit() store.Commit {
	return s.commitAfter(0)
}

// commitAfter returns the events after the first seq as one append, with the
// work of the deadline only.
func (s history) commitAfter(seq int) store.Commit {
	before := rules.Fold(s.id, s.events[:seq])
	return store.NewCommit(before, before.EvolveAll(s.events[seq:]), s.events[seq:], time.UTC)
}

// advancing returns the whole history as one append that queues an advance.
func (s history) advancing(at time.Time) store.Commit {
	a := s.commit()
	a.Work[advanceKey()] = at
	return a
}

// announcing returns the whole history as one append that queues its announcement,
// due at the last event.
func (s history) announcing() store.Commit {
	a := s.commit()
	a.Work[announceKey()] = s.events[len(s.events)-1].At
	return a
}

// only returns an append without events, which changes only the effects.
func (s history) only(advanceAt time.Time) store.Commit {
	return store.Commit{Summary: s.reviewed(), Work: store.AdvanceAt(advanceAt)}
}

func started() rules.Started {
	return rules.Started{
		Workflow: onboarding, WorkflowName: "Onboarding", Version: 1, VersionHash: "first", ReferenceID: "customer-1",
	}
}

// limited returns the start of a run with a deadline and an abandon timeout, in
// seconds; 0 is none.
func limited(deadline, abandon int64) rules.Started {
	s := started()
	s.RunTTLSeconds, s.AbandonTimeoutSeconds = deadline, abandon
	return s
}

func consent() rules.Fact {
	return rules.CustomerAwaited{
		Node: "consent", Type: workflow.NodeConsent, Label: "Consent", Signal: "consent_submitted",
	}
}

func came() rules.Fact { return rules.JourneyOpened{Node: "consent"} }

func dispatched(dispatch int) rules.Fact {
	return rules.Dispatched{
		Node: "pan", Key: "pan_verification", Label: "PAN", Provider: "sandbox", Dispatch: dispatch, Visit: 1,
	}
}

func answered(data string) rules.Fact {
	return rules.ResultRecorded{Node: "pan", Passed: true, Data: verification.Data(data)}
}

func asked(node verification.NodeID) rules.Fact {
	return rules.ReviewAsked{Node: node, Label: "Manual review", Reason: "The names differ."}
}

// verdict decides a review step; without a node, a run that has ended.
func verdict(node verification.NodeID, d rules.Decision) rules.Fact {
	v := rules.VerdictRecorded{Node: node, Decision: d, Notes: "Seen.", By: "reviewer-7"}
	if d == rules.DecisionReject {
		v.Reason = "wrong_name"
	}
	return v
}

func proposed(node verification.NodeID) rules.Fact {
	return rules.VerdictProposed{Node: node, Decision: rules.DecisionReject, Reason: "wrong_name", Notes: oddText, By: oddText, Identity: oddText}
}

func rejectedBefore() rules.Fact {
	by := []verification.EarlierBy{verification.EarlierReference, verification.EarlierNumber}
	return rules.RejectedBefore{Runs: []rules.RejectedRun{{Run: "e0000000-0000-7000-8000-000000000002", By: by}}, Unknown: true}
}

func completed() rules.Fact {
	return rules.Completed{Node: "done", Outcome: "done", Data: verification.Data(`{"risk":"low"}`)}
}

func failed() rules.Fact {
	return rules.Failed{Node: "pan", Cause: "status 502", Error: rules.RunError{
		Code: rules.CodeCheckFailed, Check: "pan_verification", Message: "The check did not pass.",
	}}
}

func expired() rules.Fact {
	return rules.Expired{Error: rules.RunError{
		Code: rules.CodeLinkExpired, Message: "The customer did not complete the journey before it expired.",
	}}
}

// sampleRuns returns histories in every state, some with the same start time.
func sampleRuns() []history {
	const approve, reject = rules.DecisionApprove, rules.DecisionReject
	n := 0
	start := func(s rules.Started) history {
		n++
		s.ReferenceID = fmt.Sprintf("customer-%d", n)
		if n%3 == 0 {
			s.Workflow = renewal
		}
		return begin(n, instant(time.Duration(n/2)*time.Minute), s)
	}
	open := func() history {
		return start(started()).then(0, dispatched(1)).then(time.Second, answered(`{"source_ok":false}`), completed())
	}
	return []history{
		start(started()),
		start(limited(3600, 0)).then(0, dispatched(1)),
		start(limited(3600, 900)).then(0, consent()),
		start(limited(3600, 900)).then(0, consent()).then(10*time.Minute, came()),
		start(limited(600, 900)).then(0, consent()),
		start(started()).then(0, consent()),
		start(limited(0, 900)).then(0, consent()),
		start(started()).then(0, asked("review"), rejectedBefore()),
		start(limited(1800, 900)).then(0, asked("review")),
		start(limited(1800, 0)).then(0, dispatched(1)).then(time.Second, answered(`{}`), completed()),
		open(),
		open().then(time.Hour, verdict("", approve)),
		open().then(time.Hour, verdict("", approve)).then(time.Hour, verdict("", reject)),
		start(started()).then(0, asked("review")).then(time.Minute, verdict("review", reject), completed()),
		start(limited(1800, 0)).then(0, asked("review")).then(time.Minute, verdict("review", approve), dispatched(1)),
		start(started()).then(0, asked("review")).then(time.Minute, verdict("review", approve), asked("second")),
		start(limited(2400, 0)).then(0, asked("review")).then(time.Minute, verdict("review", approve), asked("second")),
		start(started()).then(0, dispatched(1)).then(time.Second, failed()),
		start(started()).then(0, dispatched(1)).then(time.Second, failed()).then(time.Hour, verdict("", reject)),
		start(limited(600, 0)).then(0, consent()).then(10*time.Minute, expired()),
		start(limited(600, 0)).then(0, consent()).then(10*time.Minute, expired()).then(time.Hour, verdict("", approve)),
		start(limited(600, 0)).then(0, asked("review")).then(time.Minute, rules.Cancelled{}),
		start(started()).then(0, consent()).then(time.Minute, rules.Cancelled{}),
	}
}

// instants returns the times of all deadlines of histories, the times just after
// them, and a time long before and long after; earliest first.
func instants(histories []history) []time.Time {
	all := []time.Time{instant(-time.Hour), instant(1000 * time.Hour)}
	for _, s := range histories {
		for _, m := range []time.Time{s.summary().AbandonAt, s.summary().ExpiresAt} {
			if !m.IsZero() {
				all = append(all, m, m.Add(tick))
			}
		}
	}
	slices.SortFunc(all, time.Time.Compare)
	return slices.CompactFunc(all, time.Time.Equal)
}

// oddData changes when it is decoded and encoded again: the order of its keys, its
// numbers and its escapes.
const oddData = `{"z":1,"a":"<b> & \u00e9 é 漢字 🙂 \"q\" \\ \/","n":1.50,"e":1e2,"big":12345678901234567890,` +
	`"deep":{"y":[null,true,{}],"x":[]},"line":"` + "\u2028" + `"}`

// oddText has characters that must be escaped or have several bytes.
const oddText = "Zoë said: \"100% <ok>\" & 'fine'\n\t漢字 🙂 \\ %s"

// everyFact returns a fact of each kind with every field set, and a second one
// without the optional fields.
func everyFact() []rules.Fact {
	data := verification.Data(oddData)
	cleared := []rules.Clearance{{
		List: oddText, ListVersion: "ab", Hit: verification.Hit{ID: oddText, Name: oddText, Score: 0.5, Digest: "ab"}, Asked: "cd",
		Run: runID(7), Node: "screen", Visit: 2, At: instant(time.Hour), By: oddText, Identity: oddText,
	}}
	return []rules.Fact{
		rules.Started{
			Workflow: onboarding, WorkflowName: oddText, Version: 7, VersionHash: "first", ReferenceID: oddText,
			Input: data, RedirectURI: "https://app.example/done?a=1&b=2", Zone: "Asia/Kolkata", RunTTLSeconds: 86400, AbandonTimeoutSeconds: 900,
			ReviewDueMinutes: 240, FourEyes: true, ReviewDueSoon: true,
		},
		rules.Dispatched{Node: "pan", Key: "pan_verification", Label: oddText, Provider: "sandbox", Dispatch: 3, Visit: 2, Screens: true},
		rules.ResultPending{Node: "pan", Handle: oddText, PollAt: instant(time.Minute)},
		rules.CallbackReceived{Node: "pan", Digest: "0f"},
		rules.PollFailed{Node: "pan", Cause: oddText, PollAt: instant(2 * time.Minute)},
		rules.ResultRecorded{Node: "pan", Passed: true, Data: data, Screening: &rules.Screening{
			Total: 12,
			List:  "sanctions", ListVersion: "ab", Hits: []verification.Hit{{ID: oddText}}, Asked: "cd", Cleared: cleared, Doubted: true,
		}},
		rules.ResultRecorded{Node: "pan", Doubted: true},
		rules.ResultRecorded{Node: "address.bureau", Passed: true, Confirms: new(bool)},
		rules.GroupBegan{Node: "owners[1]", Type: workflow.NodeChecks, Label: oddText, Visit: 1},
		rules.GroupBegan{Node: "owners", Type: workflow.NodeCheck, Key: "owners", Label: oddText, Visit: 2, Each: true, Elements: 3, Items: data},
		rules.GroupBegan{Node: "owners", Type: workflow.NodeChecks, Label: oddText, Visit: 1, Screens: []rules.ScreeningMember{{Name: "lists", Label: oddText}}},
		rules.GroupDecided{
			Node: "address", Type: workflow.NodeChecks, Passed: true, Unavailable: true, Lacking: []verification.NodeID{"address.bureau"}, Data: data,
			Checks: []workflow.CheckInfo{{Key: "address.bureau", Label: oddText}},
		},
		rules.NoAnswer{Node: "pan", Outcome: verification.OutcomeNoCoverage, Data: data},
		rules.Skipped{Node: "pan", Next: "done", Values: data, Kept: true, On: "failed"},
		rules.Skipped{Node: "address.bureau"},
		rules.Compared{Node: "pan", Differs: []string{oddText}},
		rules.Compared{Node: "address.bureau"},
		rules.AskedAgain{
			Node: "consent", From: "review", Round: 2, Reasons: []string{"blurred"}, Fields: []string{"front"}, Note: oddText,
			By: oddText, Identity: oddText, Request: "a request", Since: instant(0),
		},
		rules.Redirected{Node: "pan", URL: oddText, Handle: oddText, PollAt: instant(time.Minute)},
		rules.Redirected{Node: "pan", URL: "https://bank.example/"},
		rules.Returned{Node: "pan", Digest: "0f", Pending: true},
		rules.DispatchFailed{Node: "pan", Cause: oddText, RetryAt: instant(3 * time.Minute)},
		rules.DispatchFailed{Node: "pan", Cause: oddText},
		rules.ResultUnavailable{Node: "pan", Data: data},
		rules.ResultUnavailable{Node: "pan"},
		rules.CustomerAwaited{Node: "consent", Type: workflow.NodeConsent, Label: oddText, Signal: "consent_submitted"},
		rules.JourneyOpened{Node: "consent"},
		rules.Held{Reason: oddText, By: oddText, Identity: oddText},
		rules.HoldEnded{By: oddText, Identity: oddText},
		rules.Redacted{Digest: "ab", Reason: rules.RedactAsked, By: oddText, Identity: oddText},
		rules.Erased{},
		rules.DocumentsRemoved{},
		rules.Restricted{Digest: "ab", Reason: oddText, By: oddText, Identity: oddText},
		rules.RestrictionLifted{Reason: oddText, By: oddText, Identity: oddText},
		rules.DocumentUploaded{
			Node: "consent", Document: "e0000000-0000-7000-8000-000000000001", Field: oddText,
			MediaType: "image/jpeg", Size: 1 << 40, SHA256: "ab",
		},
		rules.CustomerSubmitted{Node: "consent", Data: data, Language: "hi", Request: "a request"},
		rules.CustomerSubmitted{Node: "consent"},
		rules.BranchTaken{Node: "risk", When: "steps.pan.data.name_match < 0.8", Next: "review", Values: data},
		rules.BranchTaken{Node: "risk", Next: "done"},
		rules.ReviewAsked{Node: "review", Label: oddText, Reason: oddText, FourEyes: true},
		rules.VerdictProposed{
			Node: "review", Decision: rules.DecisionReject, Reason: "wrong_name", Notes: oddText, By: oddText, Identity: oddText, Request: "a request",
		},
		rules.ProposalReturned{
			Node: "review", Decision: rules.DecisionApprove, Reason: "wrong_name", Notes: oddText, By: oddText, Identity: oddText, Request: "a request",
		},
		rules.VerdictRecorded{
			Node: "review", Decision: rules.DecisionReject, Reason: "wrong_name", Notes: oddText, By: oddText, Identity: oddText, Request: "a request",
		},
		rules.VerdictRecorded{Decision: rules.DecisionApprove},
		rules.HitsFound{Node: "pan", List: "sanctions", ListVersion: "ab", Hits: []verification.Hit{
			{ID: oddText, Name: oddText, Score: 0.25, Reasons: []string{oddText}},
		}, Overruled: true, Visit: 1, Asked: "cd"},
		rules.HitsCleared{Node: "pan", Visit: 1, Cleared: cleared},
		rules.HitDecided{
			Node: "pan", Visit: 1, List: oddText, Entry: oddText, Digest: "ab", Match: rules.MatchOther, Reason: oddText, Asked: "cd", By: oddText, Identity: oddText,
		},
		rules.NoteAdded{Notes: oddText, By: oddText, Identity: oddText},
		rules.Corrected{Node: "pan", Field: oddText, Correction: oddText, By: oddText, Identity: oddText, Request: "a request"},
		rules.Assigned{To: rules.Assignee{Team: oddText}, Escalated: true, Notes: oddText, By: oddText, Identity: oddText},
		rules.Assigned{To: rules.Assignee{Person: verification.Person{Identity: oddText, Name: oddText}}},
		rules.Assigned{},
		rejectedBefore(),
		rules.ReviewDueSoon{DueAt: instant(4 * time.Hour)},
		rules.Completed{Node: "done", Outcome: "refused", Data: data, Lacking: []string{"risk"}, Cause: oddText},
		rules.Failed{Node: "pan", Cause: oddText, Error: rules.RunError{
			Code: rules.CodeCheckUnavailable, Check: "pan_verification", Message: oddText,
		}},
		rules.Expired{Error: rules.RunError{
			Code: rules.CodeRunExpired, Check: "pan_verification", Message: oddText,
		}},
		rules.Cancelled{},
	}
}
