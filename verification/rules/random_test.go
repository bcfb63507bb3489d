package rules_test

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

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
		rules.AskedAgain{Node: node, From: node, Round: n, Reasons: []string{"other"}, Identity: "asha", Since: at},
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
		rules.RejectedBefore{Runs: []rules.RejectedRun{{Run: "other", By: []verification.EarlierBy{verification.EarlierReference}}}, Unknown: n > 1},
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
			_, _ = r.Request(p, flows.TenantID, r.Wait())
			_, _ = json.Marshal(e)
			j := &journey{t: t, program: p, run: r, now: now}
			_, _ = j.try(flows.NextCommand(t, p, r))
			equal(t, "the view", r.AsOf(now).Summary().View(now), r.Summary().View(now))
			if got, want := r.Summary().DecisionAt(now), r.AsOf(now).Decision(); got != want {
				t.Errorf("the list says the decision %q, the run %q", got, want)
			}
		}
		equal(t, "the fold", rules.Fold(flows.RunID, history), r)
	})
}
