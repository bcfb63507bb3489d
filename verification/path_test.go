package verification_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification"
)

func TestTransitionsAreTheMovesOfARun(t *testing.T) {
	type move = verification.Transition
	for _, c := range []struct {
		name  string
		from  verification.NodeID
		facts []verification.Fact
		want  []move
	}{
		{"a start", "", []verification.Fact{
			verification.Started{}, verification.CustomerAwaited{Node: "consent"},
		}, []move{{To: "consent"}}},
		{"an answer", "consent", []verification.Fact{
			verification.JourneyOpened{Node: "consent"},
			verification.CustomerSubmitted{Node: "consent", Data: verification.Data(`{"consent_status":"success"}`)},
			verification.CustomerAwaited{Node: "details"},
			verification.DocumentUploaded{Node: "details"},
			verification.CustomerSubmitted{Node: "details"},
			verification.Dispatched{Node: "pan"},
		}, []move{{"consent", "details", "next"}, {"details", "pan", "next"}}},
		{"a declined consent", "consent", []verification.Fact{
			verification.CustomerSubmitted{Node: "consent", Data: verification.Data(`{"consent_status":"declined"}`)},
			verification.Completed{Node: "declined"},
		}, []move{{"consent", "declined", "declined"}}},
		{"a result after a retry and a poll, and branches", "pan", []verification.Fact{
			verification.DispatchFailed{Node: "pan"},
			verification.Dispatched{Node: "pan", Dispatch: 2},
			verification.ResultPending{Node: "pan"},
			verification.PollFailed{Node: "pan"},
			verification.CallbackReceived{Node: "pan"},
			verification.ResultRecorded{Node: "pan", Passed: true},
			verification.BranchTaken{Node: "deep", When: "input.full", Next: "risk"},
			verification.BranchTaken{Node: "risk", Next: "face"},
			verification.Dispatched{Node: "face"},
		}, []move{{"pan", "deep", "next"}, {"deep", "risk", "input.full"}, {"risk", "face", "else"}}},
		{"results that did not pass", "pan", []verification.Fact{
			verification.ResultRecorded{Node: "pan"},
			verification.Dispatched{Node: "face"},
			verification.ResultUnavailable{Node: "face"},
			verification.ReviewAsked{Node: "review"},
		}, []move{{"pan", "face", "failed"}, {"face", "review", "unavailable"}}},
		{"verdicts", "first", []verification.Fact{
			verification.VerdictRecorded{Node: "first", Decision: verification.DecisionReject},
			verification.ReviewAsked{Node: "second"},
			verification.VerdictRecorded{Node: "second", Decision: verification.DecisionApprove},
			verification.Completed{Node: "done"},
			verification.VerdictRecorded{Decision: verification.DecisionReject},
		}, []move{{"first", "second", "reject"}, {"second", "done", "next"}}},
		{"a step that leads back to itself", "ask", []verification.Fact{
			verification.CustomerSubmitted{Node: "ask"}, verification.CustomerAwaited{Node: "ask"},
		}, []move{{"ask", "ask", "next"}}},
		{"an end in the middle", "pan", []verification.Fact{
			verification.ResultRecorded{Node: "pan"}, verification.Failed{Node: "pan"},
		}, nil},
		{"a run that was cancelled", "pan", []verification.Fact{verification.Cancelled{}}, nil},
		{"a run that expired", "pan", []verification.Fact{verification.Expired{}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var events []verification.Event
			for i, f := range c.facts {
				events = append(events, verification.Event{At: time.Unix(int64(i), 0), Fact: f})
			}
			if diff := cmp.Diff(c.want, verification.Transitions(c.from, events)); diff != "" {
				t.Errorf("moves (-want +got):\n%s", diff)
			}
		})
	}
}
