package rules_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// namedCommand is a command with the name of its column.
type namedCommand struct {
	name    string
	command rules.Command
}

// matrix is one part of the table of the results of every command in every
// situation.
type matrix struct {
	title    string
	commands []namedCommand
	cells    string // a line a situation, its outcomes in the order of commands
}

func matrices() []matrix {
	result := func(o verification.CheckOutcome) rules.Command {
		return rules.RecordResult{Node: "pan", Dispatch: 1, Outcome: o, Handle: "ticket-1"}
	}
	failure := func(permanent bool) rules.Command {
		return rules.RecordFailure{Node: "pan", Dispatch: 1, Permanent: permanent, Cause: "timeout"}
	}
	submit := func(signal, payload string) rules.Command {
		return rules.Submit{Signal: signal, Payload: verification.Data(payload)}
	}
	return []matrix{
		{"Results of the provider", []namedCommand{
			{"passed", result(verification.OutcomePassed)},
			{"failed", result(verification.OutcomeFailed)},
			{"no coverage", result(verification.OutcomeNoCoverage)},
			{"inconclusive", result(verification.OutcomeInconclusive)},
			{"pending", result(verification.OutcomePending)},
			{"redirect", rules.RecordResult{Node: "pan", Dispatch: 1, Outcome: verification.OutcomeRedirect, Redirect: signIn, Handle: "ticket-1"}},
			{"an unknown outcome", result("perhaps")},
			{"of another dispatch", rules.RecordResult{Node: "pan", Dispatch: 9, Outcome: verification.OutcomePassed}},
			{"of another step", rules.RecordResult{Node: "consent", Dispatch: 1, Outcome: verification.OutcomePassed}},
		}, `
			not started                        | not found | not found | not found | not found | not found | not found | not found | not found | not found
			awaiting a result                  | result_recorded, branch_taken, completed | result_recorded, failed | no_answer, result_unavailable, failed | no_answer, result_unavailable, failed | result_pending | dispatch_failed, result_unavailable, failed | dispatch_failed, result_unavailable, failed | nothing | nothing
			pending                            | result_recorded, branch_taken, completed | result_recorded, failed | no_answer, result_unavailable, failed | no_answer, result_unavailable, failed | nothing | dispatch_failed, result_unavailable, failed | dispatch_failed, result_unavailable, failed | nothing | nothing
			waiting for a retry                | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			retry due                          | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			parked on the customer             | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			away                               | result_recorded, branch_taken, completed | result_recorded, failed | no_answer, result_unavailable, failed | no_answer, result_unavailable, failed | nothing | nothing | dispatch_failed, result_unavailable, failed | nothing | nothing
			back without a result              | result_recorded, branch_taken, completed | result_recorded, failed | no_answer, result_unavailable, failed | no_answer, result_unavailable, failed | nothing | nothing | dispatch_failed, result_unavailable, failed | nothing | nothing
			group, no answer yet               | result_recorded | result_recorded, group_decided, failed | no_answer, result_unavailable | no_answer, result_unavailable | result_pending | dispatch_failed, result_unavailable | dispatch_failed, result_unavailable | nothing | nothing
			group, one has answered            | result_recorded, group_decided, branch_taken, review_asked | result_recorded, group_decided, failed | no_answer, result_unavailable, group_decided, failed | no_answer, result_unavailable, group_decided, failed | result_pending | dispatch_failed, result_unavailable, group_decided, failed | dispatch_failed, result_unavailable, group_decided, failed | nothing | nothing
			group, one has no answer           | result_recorded, group_decided, failed | result_recorded, group_decided, failed | no_answer, result_unavailable, group_decided, failed | no_answer, result_unavailable, group_decided, failed | result_pending | dispatch_failed, result_unavailable, group_decided, failed | dispatch_failed, result_unavailable, group_decided, failed | nothing | nothing
			group, one is pending              | result_recorded | result_recorded, group_decided, failed | no_answer, result_unavailable | no_answer, result_unavailable | nothing | dispatch_failed, result_unavailable | dispatch_failed, result_unavailable | nothing | nothing
			group, the retry of one is due     | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			group, one by one, at the second   | result_recorded, group_decided, branch_taken, completed | result_recorded, group_decided, failed | no_answer, result_unavailable, group_decided, failed | no_answer, result_unavailable, group_decided, failed | result_pending | dispatch_failed, result_unavailable, group_decided, failed | dispatch_failed, result_unavailable, group_decided, failed | nothing | nothing
			group, met without one             | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			group, overdue                     | expired | expired | expired | expired | expired | expired | expired | expired | expired
			elements, no answer yet            | result_recorded | result_recorded | no_answer, result_unavailable | no_answer, result_unavailable | result_pending | dispatch_failed, result_unavailable | dispatch_failed, result_unavailable | nothing | nothing
			elements, one has answered         | result_recorded, group_decided, branch_taken, completed | result_recorded, group_decided, failed | no_answer, result_unavailable, group_decided, failed | no_answer, result_unavailable, group_decided, failed | result_pending | dispatch_failed, result_unavailable, group_decided, failed | dispatch_failed, result_unavailable, group_decided, failed | nothing | nothing
			elements, one has failed           | result_recorded, group_decided, failed | result_recorded, group_decided, failed | no_answer, result_unavailable, group_decided, failed | no_answer, result_unavailable, group_decided, failed | result_pending | dispatch_failed, result_unavailable, group_decided, failed | dispatch_failed, result_unavailable, group_decided, failed | nothing | nothing
			form of the first element          | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			form of the last element           | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			abandoned                          | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			customer came back                 | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			parked on review                   | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			asked again                        | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			back from the customer             | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			asked again, overdue               | expired | expired | expired | expired | expired | expired | expired | expired | expired
			checked again in a round           | result_recorded, branch_taken, review_asked | result_recorded, failed | no_answer, result_unavailable, failed | no_answer, result_unavailable, failed | result_pending | dispatch_failed, result_unavailable, failed | dispatch_failed, result_unavailable, failed | nothing | nothing
			back from the last round           | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			parked on a second review          | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			completed, not flagged             | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			completed, flagged                 | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			completed, a group met without one | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			completed, settled                 | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			completed, with a new hit          | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			failed                             | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			failed, settled                    | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			expired                            | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			overdue on the customer            | expired | expired | expired | expired | expired | expired | expired | expired | expired
			overdue on a result                | expired | expired | expired | expired | expired | expired | expired | expired | expired
			overdue on review                  | expired | expired | expired | expired | expired | expired | expired | expired | expired
			cancelled                          | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			cancelled after a verdict          | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			four eyes, parked on review        | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			four eyes, proposed                | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			four eyes, proposed, overdue       | expired | expired | expired | expired | expired | expired | expired | expired | expired
			four eyes, completed               | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			four eyes, completed, proposed     | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing`},
		{"What the engine records", []namedCommand{
			{"no result, transient", failure(false)},
			{"no result, permanent", failure(true)},
			{"callback", rules.RecordCallback{WaitNumber: 4, Digest: "0f"}},
			{"return", rules.RecordReturn{WaitNumber: 4, Digest: "1f"}},
			{"redispatch", rules.Redispatch{}},
			{"abort at the check", rules.Abort{Node: "pan", Cause: "a template failed"}},
			{"abort elsewhere", rules.Abort{Node: "gate", Cause: "a template failed"}},
			{"expire", rules.Expire{}},
			{"hits of a later list", rules.RecordHits{Node: "pan", List: "sanctions", Hits: []verification.Hit{{ID: "1"}}}},
		}, `
			not started                        | not found | not found | not found | not found | not found | not found | not found | not found | not found
			awaiting a result                  | dispatch_failed | dispatch_failed, result_unavailable, failed | callback_received | nothing | nothing | failed | nothing | nothing | conflict
			pending                            | poll_failed | dispatch_failed, result_unavailable, failed | callback_received | nothing | nothing | failed | nothing | nothing | conflict
			waiting for a retry                | nothing | nothing | nothing | nothing | nothing | failed | nothing | nothing | conflict
			retry due                          | nothing | nothing | nothing | nothing | dispatched | failed | nothing | nothing | conflict
			parked on the customer             | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | conflict
			away                               | poll_failed | dispatch_failed, result_unavailable, failed | callback_received | returned | nothing | failed | nothing | nothing | conflict
			back without a result              | poll_failed | dispatch_failed, result_unavailable, failed | nothing | returned | nothing | failed | nothing | nothing | conflict
			group, no answer yet               | dispatch_failed | dispatch_failed, result_unavailable | callback_received | nothing | nothing | failed | nothing | nothing | conflict
			group, one has answered            | dispatch_failed | dispatch_failed, result_unavailable, group_decided, failed | callback_received | nothing | nothing | failed | nothing | nothing | conflict
			group, one has no answer           | dispatch_failed | dispatch_failed, result_unavailable, group_decided, failed | callback_received | nothing | nothing | failed | nothing | nothing | conflict
			group, one is pending              | poll_failed | dispatch_failed, result_unavailable | callback_received | nothing | nothing | failed | nothing | nothing | conflict
			group, the retry of one is due     | nothing | nothing | nothing | nothing | dispatched | failed | nothing | nothing | conflict
			group, one by one, at the second   | dispatch_failed | dispatch_failed, result_unavailable, group_decided, failed | callback_received | nothing | nothing | failed | nothing | nothing | conflict
			group, met without one             | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | conflict
			group, overdue                     | expired | expired | expired | expired | expired | expired | expired | expired | conflict
			elements, no answer yet            | dispatch_failed | dispatch_failed, result_unavailable | callback_received | nothing | nothing | failed | nothing | nothing | conflict
			elements, one has answered         | dispatch_failed | dispatch_failed, result_unavailable, group_decided, failed | callback_received | nothing | nothing | failed | nothing | nothing | conflict
			elements, one has failed           | dispatch_failed | dispatch_failed, result_unavailable, group_decided, failed | callback_received | nothing | nothing | failed | nothing | nothing | conflict
			form of the first element          | nothing | nothing | nothing | nothing | nothing | failed | nothing | nothing | conflict
			form of the last element           | nothing | nothing | nothing | nothing | nothing | failed | nothing | nothing | conflict
			abandoned                          | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | conflict
			customer came back                 | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | conflict
			parked on review                   | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | conflict
			asked again                        | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | conflict
			back from the customer             | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | conflict
			asked again, overdue               | expired | expired | expired | expired | expired | expired | expired | expired | conflict
			checked again in a round           | dispatch_failed | dispatch_failed, result_unavailable, failed | callback_received | nothing | nothing | failed | nothing | nothing | conflict
			back from the last round           | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | conflict
			parked on a second review          | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | conflict
			completed, not flagged             | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | hits_found
			completed, flagged                 | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | hits_found
			completed, a group met without one | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | hits_found
			completed, settled                 | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | hits_found
			completed, with a new hit          | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			failed                             | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | conflict
			failed, settled                    | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | conflict
			expired                            | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | conflict
			overdue on the customer            | expired | expired | expired | expired | expired | expired | expired | expired | conflict
			overdue on a result                | expired | expired | expired | expired | expired | expired | expired | expired | conflict
			overdue on review                  | expired | expired | expired | expired | expired | expired | expired | expired | conflict
			cancelled                          | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | conflict
			cancelled after a verdict          | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | conflict
			four eyes, parked on review        | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | conflict
			four eyes, proposed                | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | conflict
			four eyes, proposed, overdue       | expired | expired | expired | expired | expired | expired | expired | expired | conflict
			four eyes, completed               | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | hits_found
			four eyes, completed, proposed     | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | hits_found`},
		{"What the client and the customer do", []namedCommand{
			{"start", rules.Start{ReferenceID: "customer-1"}},
			{"start, bad input", rules.Start{}},
			{"open journey", rules.OpenJourney{}},
			{"open journey, another wait", rules.OpenJourney{WaitNumber: 99}},
			{"submit", submit("consent_submitted", `{"consent_status":"success"}`)},
			{"submit, bad payload", submit("consent_submitted", `{"consent_status":"maybe"}`)},
			{"submit to another signal", submit("details_submitted", `{"consent_status":"success"}`)},
			{"upload", rules.Upload{WaitNumber: 2, Document: verification.Document{Field: "front"}}},
		}, `
			not started                        | started, customer_awaited | invalid | not found | not found | not found | not found | not found | not found
			awaiting a result                  | conflict | conflict | not open | not open | not open | not open | not open | not open
			pending                            | conflict | conflict | not open | not open | not open | not open | not open | not open
			waiting for a retry                | conflict | conflict | not open | not open | not open | not open | not open | not open
			retry due                          | conflict | conflict | not open | not open | not open | not open | not open | not open
			parked on the customer             | conflict | conflict | journey_opened | not open | customer_submitted, dispatched | invalid | not open | invalid
			away                               | conflict | conflict | nothing | not open | not open | not open | not open | not open
			back without a result              | conflict | conflict | nothing | not open | not open | not open | not open | not open
			group, no answer yet               | conflict | conflict | not open | not open | not open | not open | not open | not open
			group, one has answered            | conflict | conflict | not open | not open | not open | not open | not open | not open
			group, one has no answer           | conflict | conflict | not open | not open | not open | not open | not open | not open
			group, one is pending              | conflict | conflict | not open | not open | not open | not open | not open | not open
			group, the retry of one is due     | conflict | conflict | not open | not open | not open | not open | not open | not open
			group, one by one, at the second   | conflict | conflict | not open | not open | not open | not open | not open | not open
			group, met without one             | conflict | conflict | not open | not open | not open | not open | not open | not open
			group, overdue                     | conflict | conflict | not open | not open | not open | not open | not open | not open
			elements, no answer yet            | conflict | conflict | not open | not open | not open | not open | not open | not open
			elements, one has answered         | conflict | conflict | not open | not open | not open | not open | not open | not open
			elements, one has failed           | conflict | conflict | not open | not open | not open | not open | not open | not open
			form of the first element          | conflict | conflict | nothing | not open | customer_submitted, customer_awaited | invalid | not open | invalid
			form of the last element           | conflict | conflict | nothing | not open | customer_submitted, group_decided, dispatched | invalid | not open | invalid
			abandoned                          | conflict | conflict | journey_opened | not open | customer_submitted, dispatched | invalid | not open | invalid
			customer came back                 | conflict | conflict | journey_opened | not open | customer_submitted, dispatched | invalid | not open | invalid
			parked on review                   | conflict | conflict | not open | not open | not open | not open | not open | not open
			asked again                        | conflict | conflict | nothing | not open | customer_submitted, skipped, branch_taken, review_asked | invalid | not open | not open
			back from the customer             | conflict | conflict | not open | not open | not open | not open | not open | not open
			asked again, overdue               | conflict | conflict | not open | not open | not open | not open | not open | not open
			checked again in a round           | conflict | conflict | not open | not open | not open | not open | not open | not open
			back from the last round           | conflict | conflict | not open | not open | not open | not open | not open | not open
			parked on a second review          | conflict | conflict | not open | not open | not open | not open | not open | not open
			completed, not flagged             | conflict | conflict | not open | not open | not open | not open | not open | not open
			completed, flagged                 | conflict | conflict | not open | not open | not open | not open | not open | not open
			completed, a group met without one | conflict | conflict | not open | not open | not open | not open | not open | not open
			completed, settled                 | conflict | conflict | not open | not open | not open | not open | not open | not open
			completed, with a new hit          | conflict | conflict | not open | not open | not open | not open | not open | not open
			failed                             | conflict | conflict | not open | not open | not open | not open | not open | not open
			failed, settled                    | conflict | conflict | not open | not open | not open | not open | not open | not open
			expired                            | conflict | conflict | not open | not open | not open | not open | not open | not open
			overdue on the customer            | conflict | conflict | not open | not open | not open | not open | not open | not open
			overdue on a result                | conflict | conflict | not open | not open | not open | not open | not open | not open
			overdue on review                  | conflict | conflict | not open | not open | not open | not open | not open | not open
			cancelled                          | conflict | conflict | not open | not open | not open | not open | not open | not open
			cancelled after a verdict          | conflict | conflict | not open | not open | not open | not open | not open | not open
			four eyes, parked on review        | conflict | conflict | not open | not open | not open | not open | not open | not open
			four eyes, proposed                | conflict | conflict | not open | not open | not open | not open | not open | not open
			four eyes, proposed, overdue       | conflict | conflict | not open | not open | not open | not open | not open | not open
			four eyes, completed               | conflict | conflict | not open | not open | not open | not open | not open | not open
			four eyes, completed, proposed     | conflict | conflict | not open | not open | not open | not open | not open | not open`},
		{"What the operator does", []namedCommand{
			{"a program approves", rules.GiveVerdict{Decision: rules.DecisionApprove}},
			{"a program rejects", rules.GiveVerdict{Decision: rules.DecisionReject}},
			{"verdict `review`", rules.GiveVerdict{Decision: rules.DecisionReview}},
			{"cancel", rules.Cancel{}},
			{"a hit is decided", rules.DecideHit{Node: "pan", List: "sanctions", Entry: "1", Match: rules.MatchOther}},
		}, `
			not started                        | not found | not found | not found | not found | not found
			awaiting a result                  | not open | not open | invalid | cancelled | conflict
			pending                            | not open | not open | invalid | cancelled | conflict
			waiting for a retry                | not open | not open | invalid | cancelled | conflict
			retry due                          | not open | not open | invalid | cancelled | conflict
			parked on the customer             | not open | not open | invalid | cancelled | conflict
			away                               | not open | not open | invalid | cancelled | conflict
			back without a result              | not open | not open | invalid | cancelled | conflict
			group, no answer yet               | not open | not open | invalid | cancelled | conflict
			group, one has answered            | not open | not open | invalid | cancelled | conflict
			group, one has no answer           | not open | not open | invalid | cancelled | conflict
			group, one is pending              | not open | not open | invalid | cancelled | conflict
			group, the retry of one is due     | not open | not open | invalid | cancelled | conflict
			group, one by one, at the second   | not open | not open | invalid | cancelled | conflict
			group, met without one             | verdict_recorded, branch_taken, completed | verdict_recorded, branch_taken, completed | invalid | cancelled | conflict
			group, overdue                     | expired, verdict_recorded | expired, verdict_recorded | invalid | conflict | conflict
			elements, no answer yet            | not open | not open | invalid | cancelled | conflict
			elements, one has answered         | not open | not open | invalid | cancelled | conflict
			elements, one has failed           | not open | not open | invalid | cancelled | conflict
			form of the first element          | not open | not open | invalid | cancelled | conflict
			form of the last element           | not open | not open | invalid | cancelled | conflict
			abandoned                          | not open | not open | invalid | cancelled | conflict
			customer came back                 | not open | not open | invalid | cancelled | conflict
			parked on review                   | verdict_recorded, branch_taken, review_asked | verdict_recorded, branch_taken, review_asked | invalid | cancelled | conflict
			asked again                        | not open | not open | invalid | cancelled | conflict
			back from the customer             | verdict_recorded, branch_taken, review_asked | verdict_recorded, branch_taken, review_asked | invalid | cancelled | conflict
			asked again, overdue               | expired, verdict_recorded | expired, verdict_recorded | invalid | conflict | conflict
			checked again in a round           | not open | not open | invalid | cancelled | conflict
			back from the last round           | verdict_recorded, branch_taken, completed | verdict_recorded, branch_taken, completed | invalid | cancelled | conflict
			parked on a second review          | verdict_recorded, completed | verdict_recorded, completed | invalid | cancelled | conflict
			completed, not flagged             | verdict_recorded | verdict_recorded | invalid | conflict | conflict
			completed, flagged                 | verdict_recorded | verdict_recorded | invalid | conflict | conflict
			completed, a group met without one | verdict_recorded | verdict_recorded | invalid | conflict | conflict
			completed, settled                 | verdict_recorded | verdict_recorded | invalid | conflict | conflict
			completed, with a new hit          | verdict_recorded | verdict_recorded | invalid | conflict | hit_decided
			failed                             | verdict_recorded | verdict_recorded | invalid | conflict | conflict
			failed, settled                    | verdict_recorded | verdict_recorded | invalid | conflict | conflict
			expired                            | verdict_recorded | verdict_recorded | invalid | conflict | conflict
			overdue on the customer            | expired, verdict_recorded | expired, verdict_recorded | invalid | conflict | conflict
			overdue on a result                | expired, verdict_recorded | expired, verdict_recorded | invalid | conflict | conflict
			overdue on review                  | expired, verdict_recorded | expired, verdict_recorded | invalid | conflict | conflict
			cancelled                          | verdict_recorded | verdict_recorded | invalid | nothing | conflict
			cancelled after a verdict          | verdict_recorded | verdict_recorded | invalid | nothing | conflict
			four eyes, parked on review        | conflict | conflict | invalid | cancelled | conflict
			four eyes, proposed                | conflict | conflict | invalid | cancelled | conflict
			four eyes, proposed, overdue       | conflict | conflict | invalid | conflict | conflict
			four eyes, completed               | conflict | conflict | invalid | conflict | conflict
			four eyes, completed, proposed     | conflict | conflict | invalid | conflict | conflict`},
		{"What two reviewers do", []namedCommand{
			{"one approves", verdictBy("asha", rules.DecisionApprove)},
			{"the same one rejects", verdictBy("asha", rules.DecisionReject)},
			{"another one approves", verdictBy("ravi", rules.DecisionApprove)},
			{"another one rejects", verdictBy("ravi", rules.DecisionReject)},
			{"one withdraws", rules.ReturnProposal{By: "asha", Identity: "asha"}},
			{"another one sends back", rules.ReturnProposal{By: "ravi", Identity: "ravi"}},
		}, `
			not started                        | not found | not found | not found | not found | not found | not found
			awaiting a result                  | not open | not open | not open | not open | conflict | conflict
			pending                            | not open | not open | not open | not open | conflict | conflict
			waiting for a retry                | not open | not open | not open | not open | conflict | conflict
			retry due                          | not open | not open | not open | not open | conflict | conflict
			parked on the customer             | not open | not open | not open | not open | conflict | conflict
			away                               | not open | not open | not open | not open | conflict | conflict
			back without a result              | not open | not open | not open | not open | conflict | conflict
			group, no answer yet               | not open | not open | not open | not open | conflict | conflict
			group, one has answered            | not open | not open | not open | not open | conflict | conflict
			group, one has no answer           | not open | not open | not open | not open | conflict | conflict
			group, one is pending              | not open | not open | not open | not open | conflict | conflict
			group, the retry of one is due     | not open | not open | not open | not open | conflict | conflict
			group, one by one, at the second   | not open | not open | not open | not open | conflict | conflict
			group, met without one             | verdict_recorded, branch_taken, completed | verdict_recorded, branch_taken, completed | verdict_recorded, branch_taken, completed | verdict_recorded, branch_taken, completed | conflict | conflict
			group, overdue                     | expired, verdict_recorded | expired, verdict_recorded | expired, verdict_recorded | expired, verdict_recorded | conflict | conflict
			elements, no answer yet            | not open | not open | not open | not open | conflict | conflict
			elements, one has answered         | not open | not open | not open | not open | conflict | conflict
			elements, one has failed           | not open | not open | not open | not open | conflict | conflict
			form of the first element          | not open | not open | not open | not open | conflict | conflict
			form of the last element           | not open | not open | not open | not open | conflict | conflict
			abandoned                          | not open | not open | not open | not open | conflict | conflict
			customer came back                 | not open | not open | not open | not open | conflict | conflict
			parked on review                   | verdict_recorded, branch_taken, review_asked | verdict_recorded, branch_taken, review_asked | verdict_recorded, branch_taken, review_asked | verdict_recorded, branch_taken, review_asked | conflict | conflict
			asked again                        | not open | not open | not open | not open | conflict | conflict
			back from the customer             | verdict_recorded, branch_taken, review_asked | verdict_recorded, branch_taken, review_asked | verdict_recorded, branch_taken, review_asked | verdict_recorded, branch_taken, review_asked | conflict | conflict
			asked again, overdue               | expired, verdict_recorded | expired, verdict_recorded | expired, verdict_recorded | expired, verdict_recorded | conflict | conflict
			checked again in a round           | not open | not open | not open | not open | conflict | conflict
			back from the last round           | verdict_recorded, branch_taken, completed | verdict_recorded, branch_taken, completed | verdict_recorded, branch_taken, completed | verdict_recorded, branch_taken, completed | conflict | conflict
			parked on a second review          | verdict_recorded, completed | verdict_recorded, completed | verdict_recorded, completed | verdict_recorded, completed | conflict | conflict
			completed, not flagged             | verdict_recorded | verdict_recorded | verdict_recorded | verdict_recorded | conflict | conflict
			completed, flagged                 | verdict_recorded | verdict_recorded | verdict_recorded | verdict_recorded | conflict | conflict
			completed, a group met without one | verdict_recorded | verdict_recorded | verdict_recorded | verdict_recorded | conflict | conflict
			completed, settled                 | verdict_recorded | verdict_recorded | verdict_recorded | verdict_recorded | conflict | conflict
			completed, with a new hit          | verdict_recorded | verdict_recorded | verdict_recorded | verdict_recorded | conflict | conflict
			failed                             | verdict_recorded | verdict_recorded | verdict_recorded | verdict_recorded | conflict | conflict
			failed, settled                    | verdict_recorded | verdict_recorded | verdict_recorded | verdict_recorded | conflict | conflict
			expired                            | verdict_recorded | verdict_recorded | verdict_recorded | verdict_recorded | conflict | conflict
			overdue on the customer            | expired, verdict_recorded | expired, verdict_recorded | expired, verdict_recorded | expired, verdict_recorded | conflict | conflict
			overdue on a result                | expired, verdict_recorded | expired, verdict_recorded | expired, verdict_recorded | expired, verdict_recorded | conflict | conflict
			overdue on review                  | expired, verdict_recorded | expired, verdict_recorded | expired, verdict_recorded | expired, verdict_recorded | conflict | conflict
			cancelled                          | verdict_recorded | verdict_recorded | verdict_recorded | verdict_recorded | conflict | conflict
			cancelled after a verdict          | verdict_recorded | verdict_recorded | verdict_recorded | verdict_recorded | conflict | conflict
			four eyes, parked on review        | verdict_proposed | verdict_proposed | verdict_proposed | verdict_proposed | conflict | conflict
			four eyes, proposed                | conflict | conflict | verdict_recorded, branch_taken, review_asked | proposal_returned | proposal_returned | proposal_returned
			four eyes, proposed, overdue       | expired, verdict_proposed | expired, verdict_proposed | expired, verdict_proposed | expired, verdict_proposed | conflict | conflict
			four eyes, completed               | verdict_proposed | verdict_proposed | verdict_proposed | verdict_proposed | conflict | conflict
			four eyes, completed, proposed     | conflict | conflict | verdict_recorded | proposal_returned | proposal_returned | proposal_returned`},
		{"What a reviewer asks the customer again", []namedCommand{
			{"for a step", rules.AskAgain{Step: "consent", Reasons: []string{"other"}, By: "asha", Identity: "asha"}},
			{"for no step", rules.AskAgain{Reasons: []string{"other"}}},
			{"without a reason", rules.AskAgain{Step: "consent"}},
			{"for a step, of an API client", rules.AskAgain{Step: "consent", Reasons: []string{"other"}}},
		}, `
			not started                        | not found | not found | not found | not found
			awaiting a result                  | not open | not open | not open | not open
			pending                            | not open | not open | not open | not open
			waiting for a retry                | not open | not open | not open | not open
			retry due                          | not open | not open | not open | not open
			parked on the customer             | not open | not open | not open | not open
			away                               | not open | not open | not open | not open
			back without a result              | not open | not open | not open | not open
			group, no answer yet               | not open | not open | not open | not open
			group, one has answered            | not open | not open | not open | not open
			group, one has no answer           | not open | not open | not open | not open
			group, one is pending              | not open | not open | not open | not open
			group, the retry of one is due     | not open | not open | not open | not open
			group, one by one, at the second   | not open | not open | not open | not open
			group, met without one             | asked_again, customer_awaited | invalid | invalid | asked_again, customer_awaited
			group, overdue                     | not open | not open | not open | not open
			elements, no answer yet            | not open | not open | not open | not open
			elements, one has answered         | not open | not open | not open | not open
			elements, one has failed           | not open | not open | not open | not open
			form of the first element          | not open | not open | not open | not open
			form of the last element           | not open | not open | not open | not open
			abandoned                          | not open | not open | not open | not open
			customer came back                 | not open | not open | not open | not open
			parked on review                   | asked_again, customer_awaited | invalid | invalid | asked_again, customer_awaited
			asked again                        | not open | not open | not open | not open
			back from the customer             | asked_again, customer_awaited | invalid | invalid | asked_again, customer_awaited
			asked again, overdue               | not open | not open | not open | not open
			checked again in a round           | not open | not open | not open | not open
			back from the last round           | conflict | invalid | invalid | conflict
			parked on a second review          | asked_again, customer_awaited | invalid | invalid | asked_again, customer_awaited
			completed, not flagged             | not open | not open | not open | not open
			completed, flagged                 | not open | not open | not open | not open
			completed, a group met without one | not open | not open | not open | not open
			completed, settled                 | not open | not open | not open | not open
			completed, with a new hit          | not open | not open | not open | not open
			failed                             | not open | not open | not open | not open
			failed, settled                    | not open | not open | not open | not open
			expired                            | not open | not open | not open | not open
			overdue on the customer            | not open | not open | not open | not open
			overdue on a result                | not open | not open | not open | not open
			overdue on review                  | not open | not open | not open | not open
			cancelled                          | not open | not open | not open | not open
			cancelled after a verdict          | not open | not open | not open | not open
			four eyes, parked on review        | asked_again, customer_awaited | invalid | invalid | conflict
			four eyes, proposed                | asked_again, customer_awaited | invalid | invalid | conflict
			four eyes, proposed, overdue       | not open | not open | not open | not open
			four eyes, completed               | not open | not open | not open | not open
			four eyes, completed, proposed     | not open | not open | not open | not open`},
		{"What a reviewer who may be the proposer does", []namedCommand{
			{"the same identity with another name approves", rules.GiveVerdict{Decision: rules.DecisionApprove, By: "Asha Rao", Identity: "asha"}},
			{"the same name with another identity approves", rules.GiveVerdict{Decision: rules.DecisionApprove, By: " Asha", Identity: "u-2"}},
			{"a person at the identity provider approves", atProvider("2", rules.DecisionApprove)},
			{"a person at the identity provider rejects", atProvider("2", rules.DecisionReject)},
		}, `
			not started                        | not found | not found | not found | not found
			awaiting a result                  | not open | not open | not open | not open
			pending                            | not open | not open | not open | not open
			waiting for a retry                | not open | not open | not open | not open
			retry due                          | not open | not open | not open | not open
			parked on the customer             | not open | not open | not open | not open
			away                               | not open | not open | not open | not open
			back without a result              | not open | not open | not open | not open
			group, no answer yet               | not open | not open | not open | not open
			group, one has answered            | not open | not open | not open | not open
			group, one has no answer           | not open | not open | not open | not open
			group, one is pending              | not open | not open | not open | not open
			group, the retry of one is due     | not open | not open | not open | not open
			group, one by one, at the second   | not open | not open | not open | not open
			group, met without one             | verdict_recorded, branch_taken, completed | verdict_recorded, branch_taken, completed | verdict_recorded, branch_taken, completed | verdict_recorded, branch_taken, completed
			group, overdue                     | expired, verdict_recorded | expired, verdict_recorded | expired, verdict_recorded | expired, verdict_recorded
			elements, no answer yet            | not open | not open | not open | not open
			elements, one has answered         | not open | not open | not open | not open
			elements, one has failed           | not open | not open | not open | not open
			form of the first element          | not open | not open | not open | not open
			form of the last element           | not open | not open | not open | not open
			abandoned                          | not open | not open | not open | not open
			customer came back                 | not open | not open | not open | not open
			parked on review                   | verdict_recorded, branch_taken, review_asked | verdict_recorded, branch_taken, review_asked | verdict_recorded, branch_taken, review_asked | verdict_recorded, branch_taken, review_asked
			asked again                        | not open | not open | not open | not open
			back from the customer             | verdict_recorded, branch_taken, review_asked | verdict_recorded, branch_taken, review_asked | verdict_recorded, branch_taken, review_asked | verdict_recorded, branch_taken, review_asked
			asked again, overdue               | expired, verdict_recorded | expired, verdict_recorded | expired, verdict_recorded | expired, verdict_recorded
			checked again in a round           | not open | not open | not open | not open
			back from the last round           | verdict_recorded, branch_taken, completed | verdict_recorded, branch_taken, completed | verdict_recorded, branch_taken, completed | verdict_recorded, branch_taken, completed
			parked on a second review          | verdict_recorded, completed | verdict_recorded, completed | verdict_recorded, completed | verdict_recorded, completed
			completed, not flagged             | verdict_recorded | verdict_recorded | verdict_recorded | verdict_recorded
			completed, flagged                 | verdict_recorded | verdict_recorded | verdict_recorded | verdict_recorded
			completed, a group met without one | verdict_recorded | verdict_recorded | verdict_recorded | verdict_recorded
			completed, settled                 | verdict_recorded | verdict_recorded | verdict_recorded | verdict_recorded
			completed, with a new hit          | verdict_recorded | verdict_recorded | verdict_recorded | verdict_recorded
			failed                             | verdict_recorded | verdict_recorded | verdict_recorded | verdict_recorded
			failed, settled                    | verdict_recorded | verdict_recorded | verdict_recorded | verdict_recorded
			expired                            | verdict_recorded | verdict_recorded | verdict_recorded | verdict_recorded
			overdue on the customer            | expired, verdict_recorded | expired, verdict_recorded | expired, verdict_recorded | expired, verdict_recorded
			overdue on a result                | expired, verdict_recorded | expired, verdict_recorded | expired, verdict_recorded | expired, verdict_recorded
			overdue on review                  | expired, verdict_recorded | expired, verdict_recorded | expired, verdict_recorded | expired, verdict_recorded
			cancelled                          | verdict_recorded | verdict_recorded | verdict_recorded | verdict_recorded
			cancelled after a verdict          | verdict_recorded | verdict_recorded | verdict_recorded | verdict_recorded
			four eyes, parked on review        | verdict_proposed | verdict_proposed | verdict_proposed | verdict_proposed
			four eyes, proposed                | conflict | conflict | conflict | proposal_returned
			four eyes, proposed, overdue       | expired, verdict_proposed | expired, verdict_proposed | expired, verdict_proposed | expired, verdict_proposed
			four eyes, completed               | verdict_proposed | verdict_proposed | verdict_proposed | verdict_proposed
			four eyes, completed, proposed     | conflict | conflict | conflict | proposal_returned`},
		{"What a reviewer writes, and what is due", []namedCommand{
			{"note", rules.AddNote{Notes: "called", By: "asha", Identity: "asha"}},
			{"correction", rules.Correct{Node: "consent", Field: "consent_status", Correction: "never asked", By: "asha", Identity: "asha"}},
			{"hold", rules.HoldRun{Reason: "in dispute", By: "asha", Identity: "asha"}},
			{"hold without a reason", rules.HoldRun{Reason: " ", By: "asha", Identity: "asha"}},
			{"end of the hold", rules.EndHold{By: "asha", Identity: "asha"}},
			{"empty note", rules.AddNote{Notes: " ", By: "asha", Identity: "asha"}},
			{"assign", rules.Assign{To: rules.Assignee{Person: verification.Person{Identity: "ravi", Name: "Ravi"}}, By: "asha", Identity: "asha"}},
			{"escalate", rules.Assign{To: rules.Assignee{Team: "seniors"}, Escalate: true, Notes: "look", By: "asha", Identity: "asha"}},
			{"end the assignment", rules.Assign{By: "asha", Identity: "asha"}},
			{"remind", rules.Remind{}},
		}, `
			not started                        | not found | not found | not found | not found | not found | not found | not found | not found | not found | not found
			awaiting a result                  | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			pending                            | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			waiting for a retry                | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			retry due                          | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			parked on the customer             | note_added | invalid | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			away                               | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			back without a result              | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			group, no answer yet               | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			group, one has answered            | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			group, one has no answer           | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			group, one is pending              | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			group, the retry of one is due     | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			group, one by one, at the second   | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			group, met without one             | note_added | corrected | held | invalid | conflict | invalid | assigned | assigned | nothing | nothing
			group, overdue                     | expired, note_added | expired, corrected | expired, held | invalid | conflict | invalid | conflict | conflict | conflict | expired
			elements, no answer yet            | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			elements, one has answered         | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			elements, one has failed           | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			form of the first element          | note_added | invalid | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			form of the last element           | note_added | invalid | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			abandoned                          | note_added | invalid | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			customer came back                 | note_added | invalid | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			parked on review                   | note_added | corrected | held | invalid | conflict | invalid | assigned | assigned | nothing | nothing
			asked again                        | note_added | invalid | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			back from the customer             | note_added | corrected | held | invalid | conflict | invalid | assigned | assigned | nothing | nothing
			asked again, overdue               | expired, note_added | invalid | expired, held | invalid | conflict | invalid | conflict | conflict | conflict | expired
			checked again in a round           | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			back from the last round           | note_added | corrected | held | invalid | conflict | invalid | assigned | assigned | nothing | nothing
			parked on a second review          | note_added | corrected | held | invalid | conflict | invalid | assigned | assigned | nothing | nothing
			completed, not flagged             | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			completed, flagged                 | note_added | corrected | held | invalid | conflict | invalid | assigned | assigned | nothing | nothing
			completed, a group met without one | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			completed, settled                 | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			completed, with a new hit          | note_added | corrected | held | invalid | conflict | invalid | assigned | assigned | nothing | nothing
			failed                             | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			failed, settled                    | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			expired                            | note_added | invalid | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			overdue on the customer            | expired, note_added | invalid | expired, held | invalid | conflict | invalid | conflict | conflict | conflict | expired
			overdue on a result                | expired, note_added | expired, corrected | expired, held | invalid | conflict | invalid | conflict | conflict | conflict | expired
			overdue on review                  | expired, note_added | expired, corrected | expired, held | invalid | conflict | invalid | conflict | conflict | conflict | expired
			cancelled                          | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			cancelled after a verdict          | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			four eyes, parked on review        | note_added | corrected | held | invalid | conflict | invalid | assigned | assigned | nothing | nothing
			four eyes, proposed                | note_added | corrected | held | invalid | conflict | invalid | assigned | assigned | nothing | nothing
			four eyes, proposed, overdue       | expired, note_added | expired, corrected | expired, held | invalid | conflict | invalid | conflict | conflict | conflict | expired
			four eyes, completed               | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			four eyes, completed, proposed     | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing`},
	}
}

// rows returns the cells by situation. It fails unless every situation has a line and
// every command a cell.
func (m matrix) rows(t testing.TB) map[string][]string {
	t.Helper()
	rows := map[string][]string{}
	for line := range strings.Lines(strings.TrimSpace(m.cells)) {
		cells := strings.Split(line, "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if len(cells) != len(m.commands)+1 {
			t.Fatalf("%s, %s: there are %d outcomes for %d commands", m.title, cells[0], len(cells)-1, len(m.commands))
		}
		if rows[cells[0]] != nil {
			t.Fatalf("%s: %s has two lines", m.title, cells[0])
		}
		rows[cells[0]] = cells[1:]
	}
	var known []string
	for _, s := range situations() {
		known = append(known, s.name)
	}
	slices.Sort(known)
	if named := slices.Sorted(maps.Keys(rows)); !slices.Equal(named, known) {
		t.Fatalf("%s has the rows %q, want exactly %q", m.title, named, known)
	}
	return rows
}

func TestEveryCommandInEverySituation(t *testing.T) {
	for _, m := range matrices() {
		rows := m.rows(t)
		for _, s := range situations() {
			for i, c := range m.commands {
				t.Run(s.name+"/"+c.name, func(t *testing.T) {
					j := s.reach(t)
					command := j.address(c.command)
					status, ended := j.status(), j.detail().CompletedAt
					if got := flows.Outcome(j.try(command)); got != rows[s.name][i] {
						t.Fatalf("Decide = %s, want %s", got, rows[s.name][i])
					}
					if !status.Terminal() {
						return
					}
					if _, err := j.try(command); err == nil {
						j.do(command)
					}
					if j.status() != status || !j.detail().CompletedAt.Equal(ended) {
						t.Errorf("%T led from %s at %v to %s at %v", command, status, ended, j.status(), j.detail().CompletedAt)
					}
				})
			}
		}
	}
}

func TestMatrixHasEveryCommand(t *testing.T) {
	tried := map[string]bool{}
	for _, m := range matrices() {
		for _, c := range m.commands {
			tried[strings.TrimPrefix(fmt.Sprintf("%T", c.command), "rules.")] = true
		}
	}
	if declared, got := receiversOf(t, "command.go", "command"), slices.Sorted(maps.Keys(tried)); !slices.Equal(got, declared) {
		t.Errorf("the matrix asks %q, want all of %q", got, declared)
	}
}

// receiversOf lists the types of a source file that have the method.
func receiversOf(t *testing.T, file, method string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv == nil || f.Name.Name != method {
			continue
		}
		if name, ok := f.Recv.List[0].Type.(*ast.Ident); ok {
			types = append(types, name.Name)
		}
	}
	slices.Sort(types)
	return types
}
