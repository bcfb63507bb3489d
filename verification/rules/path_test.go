package rules_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

func TestTransitionsAreTheMovesOfARun(t *testing.T) {
	type move = rules.Transition
	for _, c := range []struct {
		name  string
		from  verification.NodeID
		facts []rules.Fact
		want  []move
	}{
		{"a start", "", []rules.Fact{
			rules.Started{}, rules.CustomerAwaited{Node: "consent"},
		}, []move{{To: "consent"}}},
		{"an answer", "consent", []rules.Fact{
			rules.JourneyOpened{Node: "consent"},
			rules.CustomerSubmitted{Node: "consent", Data: verification.Data(`{"consent_status":"success"}`)},
			rules.CustomerAwaited{Node: "details"},
			rules.DocumentUploaded{Node: "details"},
			rules.CustomerSubmitted{Node: "details"},
			rules.Dispatched{Node: "pan"},
		}, []move{{"consent", "details", "next"}, {"details", "pan", "next"}}},
		{"a declined consent", "consent", []rules.Fact{
			rules.CustomerSubmitted{Node: "consent", Data: verification.Data(`{"consent_status":"declined"}`)},
			rules.Completed{Node: "declined"},
		}, []move{{"consent", "declined", "declined"}}},
		{"a result after a retry and a poll, and branches", "pan", []rules.Fact{
			rules.DispatchFailed{Node: "pan"},
			rules.Dispatched{Node: "pan", Dispatch: 2},
			rules.ResultPending{Node: "pan"},
			rules.PollFailed{Node: "pan"},
			rules.CallbackReceived{Node: "pan"},
			rules.ResultRecorded{Node: "pan", Passed: true},
			rules.BranchTaken{Node: "deep", When: "input.full", Next: "risk"},
			rules.BranchTaken{Node: "risk", Next: "face"},
			rules.Dispatched{Node: "face"},
		}, []move{{"pan", "deep", "next"}, {"deep", "risk", "input.full"}, {"risk", "face", "else"}}},
		{"results that did not pass", "pan", []rules.Fact{
			rules.ResultRecorded{Node: "pan"},
			rules.Dispatched{Node: "face"},
			rules.ResultUnavailable{Node: "face"},
			rules.ReviewAsked{Node: "review"},
		}, []move{{"pan", "face", "failed"}, {"face", "review", "unavailable"}}},
		{"verdicts", "first", []rules.Fact{
			rules.VerdictRecorded{Node: "first", Decision: rules.DecisionReject},
			rules.ReviewAsked{Node: "second"},
			rules.VerdictRecorded{Node: "second", Decision: rules.DecisionApprove},
			rules.Completed{Node: "done"},
			rules.VerdictRecorded{Decision: rules.DecisionReject},
		}, []move{{"first", "second", "reject"}, {"second", "done", "next"}}},
		{"a step that leads back to itself", "ask", []rules.Fact{
			rules.CustomerSubmitted{Node: "ask"}, rules.CustomerAwaited{Node: "ask"},
		}, []move{{"ask", "ask", "next"}}},
		{"an end in the middle", "pan", []rules.Fact{
			rules.ResultRecorded{Node: "pan"}, rules.Failed{Node: "pan"},
		}, nil},
		{"a run that was cancelled", "pan", []rules.Fact{rules.Cancelled{}}, nil},
		{"a run that expired", "pan", []rules.Fact{rules.Expired{}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var events []rules.Event
			for i, f := range c.facts {
				events = append(events, rules.Event{At: time.Unix(int64(i), 0), Fact: f})
			}
			if diff := cmp.Diff(c.want, rules.Transitions(c.from, events)); diff != "" {
				t.Errorf("moves (-want +got):\n%s", diff)
			}
		})
	}
}
