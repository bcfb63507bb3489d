package rules_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// nextWait returns the time until the next command: often none, and often until a limit,
// exactly or just past it.
func nextWait(t *rapid.T, j *journey) time.Duration {
	waits := []time.Duration{0, 0, 1, time.Microsecond, 999 * time.Millisecond, time.Second, 5 * time.Minute}
	s := j.run.Summary()
	for _, limit := range []time.Time{s.ExpiresAt, s.AbandonAt, j.run.Wait.At, j.run.Wait.PendingSince.Add(time.Minute)} {
		if until := limit.Sub(j.now); until >= 0 {
			waits = append(waits, until, until+1, until+time.Microsecond)
		}
	}
	return rapid.SampledFrom(waits).Draw(t, "wait")
}

// nextCommand returns a command that the run waits for, and sometimes any other one.
func nextCommand(t *rapid.T, j *journey) rules.Command {
	w := j.run.Wait
	if waits := j.run.Waits(); len(waits) > 1 {
		w = rapid.SampledFrom(waits).Draw(t, "of")
	}
	if rapid.IntRange(0, 4).Draw(t, "stray") == 0 {
		return strayCommand(t, j)
	}
	switch w.Kind {
	case rules.WaitResult, rules.WaitPoll:
		if rapid.IntRange(0, 5).Draw(t, "callback") == 0 {
			return rules.RecordCallback{WaitNumber: w.Number, Digest: rapid.SampledFrom([]string{"0f", "10"}).Draw(t, "digest")}
		}
		return providerCommand(t, w.Node, w.Dispatch)
	case rules.WaitRetry:
		return rules.Redispatch{}
	case rules.WaitCustomer:
		return rules.Submit{Signal: w.Signal, Payload: flows.Data(t, rapid.SampledFrom(payloads(w.Signal)).Draw(t, "payload"))}
	case rules.WaitReview, rules.WaitNothing:
		if w.Kind == rules.WaitReview && rapid.IntRange(0, 2).Draw(t, "asks again") == 0 {
			who := anyone(t)
			return rules.AskAgain{Reasons: []string{"other"}, By: who.Name, Identity: who.Identity}
		}
		for _, s := range j.run.Steps {
			if len(s.Rescreened) > 0 && rapid.Bool().Draw(t, "decides a hit") {
				return decideCommand(t, s.Node)
			}
		}
		return verdictCommand(t)
	}
	return rules.Expire{}
}

func providerCommand(t *rapid.T, node verification.NodeID, dispatch int) rules.Command {
	if rapid.IntRange(0, 3).Draw(t, "result_unavailable") == 0 {
		return rules.RecordFailure{
			Node: node, Dispatch: dispatch, Permanent: rapid.Bool().Draw(t, "permanent"),
			Cause: rapid.SampledFrom([]string{"", "timeout", "a\x00b\xff"}).Draw(t, "cause"),
		}
	}
	return rules.RecordResult{
		Node: node, Dispatch: dispatch,
		Outcome: rapid.SampledFrom([]verification.CheckOutcome{
			verification.OutcomePassed, verification.OutcomePassed, verification.OutcomeFailed, verification.OutcomePending,
			verification.OutcomeNoCoverage, verification.OutcomeInconclusive, "perhaps",
		}).Draw(t, "outcome"),
		Data: flows.Data(t, rapid.SampledFrom([]string{
			"", `{"name_match":0.5}`, `{"source_ok":false}`, `{"analysis_ok":false,"n":"<>"}`, `{"consent_status":"late"}`,
		}).Draw(t, "data")),
		Handle:    rapid.SampledFrom([]string{"ticket-1", "ticket-2", "", "a\x00"}).Draw(t, "handle"),
		PollAfter: rapid.SampledFrom([]time.Duration{0, 1, time.Second, time.Hour, 1 << 62}).Draw(t, "poll after"),
	}
}

// payloads returns answers of a customer. The last one of each signal is invalid.
func payloads(signal string) []string {
	if signal == "consent_submitted" {
		return []string{consents, consents, `{"consent_status":"declined"}`, `{"consent_status":true}`}
	}
	return []string{
		`{"pan":"ABCDE1234F"}`, `{"pan":"ABCDE1234F"}`, `{"opted_out":true}`,
		`{"pan":"ABCDE1234F","place":{"latitude":19,"longitude":72.9}}`,
		`{"pan":"ABCDE1234F","place":{"denied":true}}`, `{"pan":1}`,
	}
}

func verdictCommand(t *rapid.T) rules.Command {
	who := anyone(t)
	return rules.GiveVerdict{
		Reason:    rapid.SampledFrom([]string{"", "", "wrong_name", "other", "lost"}).Draw(t, "reason"),
		Justified: rapid.Bool().Draw(t, "justified"),
		Decision: rapid.SampledFrom([]rules.Decision{
			rules.DecisionApprove, rules.DecisionReject, rules.DecisionReview,
		}).Draw(t, "verdict"),
		Notes: rapid.SampledFrom([]string{"", "seen"}).Draw(t, "notes"), By: who.Name, Identity: who.Identity,
	}
}

func decideCommand(t *rapid.T, node verification.NodeID) rules.Command {
	who := anyone(t)
	return rules.DecideHit{
		Node: node, List: "sanctions", Entry: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "entry"),
		Digest: rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "decided digest"),
		Match: rapid.SampledFrom([]rules.HitMatch{
			rules.MatchSame, rules.MatchOther, rules.MatchUnsure, "perhaps",
		}).Draw(t, "match"),
		Reason: rapid.SampledFrom([]string{"", "another year"}).Draw(t, "why"), By: who.Name, Identity: who.Identity,
	}
}

// reviewers are the identities and names of three people: Asha, Ravi and a program. The
// first two have signed in in every way.
func reviewers() map[verification.Person]string {
	return map[verification.Person]string{
		{Identity: "asha", Name: "asha"}:                        "Asha",
		{Identity: "\x00asha", Name: "Asha Rao"}:                "Asha",
		{Identity: "https://id.example#1", Name: "a@acme.test"}: "Asha",
		{Identity: "https://id.example#1", Name: "1"}:           "Asha",
		{Identity: "ravi", Name: "ravi"}:                        "Ravi",
		{Identity: "https://id.example#2", Name: "r@acme.test"}: "Ravi",
		{Name: "acme"}: "",
	}
}

// anyone draws one of them.
func anyone(t *rapid.T) verification.Person {
	all := slices.SortedFunc(maps.Keys(reviewers()), func(a, b verification.Person) int {
		return strings.Compare(a.Identity+a.Name, b.Identity+b.Name)
	})
	return rapid.SampledFrom(all).Draw(t, "reviewer")
}

// humanOf returns who gave a verdict of a history; empty for a program.
func humanOf(identity, name string) string {
	for p, human := range reviewers() {
		if strings.ReplaceAll(p.Identity, "\x00", "") == identity && p.Name == name {
			return human
		}
	}
	return ""
}

// strayCommand draws any command, whatever the run waits for.
func strayCommand(t *rapid.T, j *journey) rules.Command {
	node := rapid.SampledFrom(slices.Sorted(maps.Keys(j.program.Version.Definition.Nodes))).Draw(t, "node")
	dispatch, back := rapid.IntRange(0, 3).Draw(t, "dispatch"), anyone(t)
	commands := []rules.Command{
		rules.Start{ReferenceID: "customer-2"},
		providerCommand(t, node, dispatch),
		rules.RecordCallback{WaitNumber: j.run.Wait.Number, Digest: "0f"},
		rules.Redispatch{},
		rules.Abort{Node: node, Cause: "a template failed"},
		rules.OpenJourney{WaitNumber: rapid.SampledFrom([]int{0, 0, 1, j.run.Wait.Number}).Draw(t, "number")},
		rules.Submit{Signal: "details_submitted"},
		rules.Upload{WaitNumber: j.run.Wait.Number, Document: verification.Document{ID: "1", Field: "pan"}},
		verdictCommand(t),
		rules.ReturnProposal{Notes: "look again", By: back.Name, Identity: back.Identity},
		rules.AskAgain{Reasons: []string{"other"}, By: back.Name, Identity: back.Identity},
		rules.RecordHits{Node: node, List: "sanctions", Hits: []verification.Hit{{
			ID: rapid.SampledFrom([]string{"a", "b", "\x00a"}).Draw(t, "hit"), Digest: rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "digest of the hit"),
		}}},
		decideCommand(t, node),
		rules.Cancel{},
		rules.Expire{},
		rules.AddNote{Notes: "called", By: back.Name, Identity: back.Identity},
		rules.Correct{Node: node, Field: rapid.SampledFrom([]string{"consent_status", "name"}).Draw(t, "field"), Correction: "no", By: back.Name, Identity: back.Identity},
		rules.HoldRun{Reason: "in dispute", By: back.Name, Identity: back.Identity},
		rules.EndHold{By: back.Name, Identity: back.Identity},
		rules.Assign{To: rules.Assignee{Team: "seniors"}, Escalate: true, Notes: "look", By: back.Name, Identity: back.Identity},
		rules.Assign{To: rules.Assignee{Person: back}, By: back.Name, Identity: back.Identity},
		rules.Assign{By: back.Name, Identity: back.Identity},
		rules.Remind{},
	}
	return rapid.SampledFrom(commands).Draw(t, "command")
}

// anyEvent draws an event of any kind, even if it cannot have happened.
func anyEvent(t *rapid.T) rules.Event {
	node := rapid.SampledFrom([]verification.NodeID{"", "pan", "details", "review", "nowhere"}).Draw(t, "node")
	n := rapid.IntRange(-1, 4).Draw(t, "n")
	object := verification.Data(rapid.SampledFrom([]string{"", "{}", `{"source_ok":false}`, "[1]", "7", `{"geo_ok"`}).Draw(t, "data"))
	at := flows.Noon().Add(time.Duration(rapid.IntRange(-10, 7200).Draw(t, "at")) * time.Second)
	decision := rapid.SampledFrom([]rules.Decision{"", "review", "approve", "reject", "odd"}).Draw(t, "decision")
	kind := rapid.SampledFrom([]workflow.NodeType{workflow.NodeConsent, workflow.NodeCustomerInput, "odd"}).Draw(t, "type")
	facts := []rules.Fact{
		nil,
		rules.Started{Workflow: flows.WorkflowID, Input: object, RunTTLSeconds: int64(n), AbandonTimeoutSeconds: int64(n), FourEyes: n > 2, ReviewDueSoon: n > 1, ReviewDueMinutes: int64(n)},
		rules.Dispatched{Node: node, Key: "key", Label: "Label", Provider: "registry", Dispatch: n, Visit: n},
		rules.ResultPending{Node: node, Handle: "ticket", PollAt: at},
		rules.CallbackReceived{Node: node, Digest: "0f"},
		rules.PollFailed{Node: node, PollAt: at},
		rules.Redirected{Node: node, URL: "https://bank.example/", Handle: "ticket", PollAt: at},
		rules.Returned{Node: node, Digest: "0f", Pending: n > 1},
		rules.ResultRecorded{Node: node, Passed: n > 1, Data: object},
		rules.ResultRecorded{Node: node, Screening: &rules.Screening{List: "sanctions", ListVersion: "v1", Hits: []verification.Hit{{ID: "a"}}}},
		rules.DispatchFailed{Node: node, RetryAt: at},
		rules.ResultUnavailable{Node: node, Data: object},
		rules.CustomerAwaited{Node: node, Type: kind, Label: "Label", Signal: "signal"},
		rules.JourneyOpened{Node: node},
		rules.DocumentUploaded{Node: node, Document: "1", Field: "front", Size: int64(n)},
		rules.CustomerSubmitted{Node: node, Data: object},
		rules.BranchTaken{Node: node, Next: node, Values: object},
		rules.GroupBegan{Node: node, Type: workflow.NodeChecks, Label: "Label", Visit: n, Each: n > 2, Elements: n, Items: object},
		rules.Dispatched{Node: node.Member("bureau"), Key: "key", Label: "Label", Provider: "registry", Dispatch: n, Visit: n},
		rules.Dispatched{Node: node.Element(1), Key: "key", Label: "Label", Provider: "registry", Dispatch: n, Visit: n},
		rules.ResultRecorded{Node: node.Member("bureau"), Passed: n > 1, Data: object, Confirms: new(bool)},
		rules.GroupDecided{Node: node, Type: workflow.NodeChecks, Passed: n > 1, Unavailable: n > 2, Lacking: []verification.NodeID{node.Member("bureau")}, Data: object},
		rules.NoAnswer{Node: node, Outcome: verification.OutcomeNoCoverage, Data: object},
		rules.Skipped{Node: node, Next: node, Values: object, Kept: n > 1, On: "failed"},
		rules.Skipped{Node: node.Member("bureau")},
		rules.AskedAgain{Node: node, From: node, Round: n, Reasons: []string{"other"}, Note: "look", Identity: "asha"},
		rules.ReviewAsked{Node: node, Label: "Label"},
		rules.VerdictRecorded{Node: node, Decision: decision, Reason: "other"},
		rules.VerdictProposed{Node: node, Decision: decision, Reason: "other", Identity: "asha"},
		rules.ProposalReturned{Node: node, Decision: decision, Reason: "other", Identity: "ravi"},
		rules.HitsFound{Node: node, List: "sanctions", Hits: []verification.Hit{{ID: "a", Score: 0.9}}},
		rules.HitDecided{Node: node, List: "sanctions", Entry: "a", Match: rules.MatchOther},
		rules.HitsFound{Node: node, List: "sanctions", Hits: []verification.Hit{{ID: "b"}}, Overruled: true},
		rules.HitsCleared{Node: node, Cleared: []rules.Clearance{{List: "sanctions", Hit: verification.Hit{ID: "b"}, Run: "other", At: at}}},
		rules.Completed{Node: node, Data: object},
		rules.Failed{Node: node},
		rules.Expired{},
		rules.Cancelled{},
		rules.NoteAdded{Notes: "called", Identity: "asha"},
		rules.Corrected{Node: node, Field: "source_ok", Correction: "no", Identity: "asha"},
		rules.Held{Reason: "in dispute", Identity: "asha"},
		rules.HoldEnded{Identity: "asha"},
		rules.Erased{},
		rules.DocumentsRemoved{},
		rules.Restricted{Digest: "ab", Reason: "contested", Identity: "asha"},
		rules.RestrictionLifted{Reason: "settled", Identity: "asha"},
		rules.Redacted{Digest: "cd"},
		rules.Assigned{To: rules.Assignee{Team: "seniors"}, Identity: "asha"},
		rules.Assigned{To: rules.Assignee{Person: verification.Person{Identity: "asha"}}},
		rules.Assigned{},
		rules.ReviewDueSoon{DueAt: at},
	}
	return rules.Event{At: at, Fact: rapid.SampledFrom(facts).Draw(t, "fact")}
}

func TestAnyHistoryFoldsAndCanBeRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := flows.Compile(t, flows.Ladder())
		r, now := rules.Run{ID: flows.RunID}, flows.Noon()
		var history []rules.Event
		for range rapid.IntRange(0, 20).Draw(t, "events") {
			e := anyEvent(t)
			old, before := r, picture(r)
			r, history = r.Evolve(e), append(history, e)
			if picture(old) != before {
				t.Fatalf("%s wrote into the run before it", e.Kind())
			}
			now = now.Add(time.Duration(rapid.IntRange(0, 2000).Draw(t, "seconds")) * time.Second)
			_, _, _ = r.Task(now), r.Detail(now), rules.MakeReport(flows.RunID, history, now)
			_, _ = r.Request(p, flows.TenantID)
			_, _ = json.Marshal(e)
			j := &journey{t: t, program: p, run: r, now: now}
			_, _ = j.try(nextCommand(t, j))
			equal(t, "the view", r.AsOf(now).Summary().View(now), r.Summary().View(now))
			if got, want := r.Summary().DecisionAt(now), r.AsOf(now).Decision(); got != want {
				t.Errorf("the list says the decision %q, the run %q", got, want)
			}
		}
		equal(t, "the fold", rules.Fold(flows.RunID, history), r)
	})
}
