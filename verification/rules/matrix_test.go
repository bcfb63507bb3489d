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
	"time"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// situation is a state that a run of the desk definition can have.
type situation struct {
	name  string
	reach func(t flows.Tester) *journey
}

// situations lists the states of a run, each with the steps that lead to it.
func situations() []situation {
	parked := func(t flows.Tester, input string) *journey { t.Helper(); return begin(t, flows.DeskFlow(), input) }
	checking := func(t flows.Tester, input string) *journey {
		t.Helper()
		return parked(t, input).submit(`{"consent_status":"success"}`)
	}
	reviewing := func(t flows.Tester) *journey { t.Helper(); return checking(t, `{"review":true,"again":true}`).pass() }
	doubted := func(t flows.Tester) *journey {
		t.Helper()
		return begin(t, flows.FourEyes(), wantsTwo).submit(consents).pass()
	}
	open := func(t flows.Tester) *journey {
		t.Helper()
		return checking(t, "").result(verification.OutcomePassed, `{"source_ok":false}`)
	}
	atVendor := func(t flows.Tester) *journey {
		t.Helper()
		d := flows.DeskFlow()
		pan := d.Nodes["pan"]
		pan.RedirectHosts = []string{"*.bank.example"}
		d.Nodes["pan"] = pan
		return begin(t, d, "").submit(consents).do(rules.RecordResult{
			Node: "pan", Dispatch: 1, Outcome: verification.OutcomeRedirect, Redirect: signIn, Handle: "ticket-1",
		})
	}
	return []situation{
		{"not started", func(t flows.Tester) *journey { return unstarted(t, flows.DeskFlow()) }},
		{"awaiting a result", func(t flows.Tester) *journey { return checking(t, "") }},
		{"pending", func(t flows.Tester) *journey { return checking(t, "").pend("ticket-1") }},
		{"waiting for a retry", func(t flows.Tester) *journey { return checking(t, "").noResult(false) }},
		{"retry due", func(t flows.Tester) *journey { return checking(t, "").noResult(false).after(time.Second) }},
		{"parked on the customer", func(t flows.Tester) *journey { return parked(t, "").after(time.Minute) }},
		{"away", func(t flows.Tester) *journey { return atVendor(t) }},
		{"back without a result", func(t flows.Tester) *journey { return atVendor(t).do(rules.RecordReturn{WaitNumber: 4, Digest: "0f"}) }},
		{"abandoned", func(t flows.Tester) *journey { return parked(t, "").after(10*time.Minute + 1) }},
		{"customer came back", func(t flows.Tester) *journey {
			return parked(t, "").after(11 * time.Minute).do(rules.OpenJourney{}).after(time.Minute)
		}},
		{"parked on review", reviewing},
		{"asked again", func(t flows.Tester) *journey {
			return reviewing(t).do(rules.AskAgain{Step: "consent", Reasons: []string{"other"}})
		}},
		{"back from the customer", func(t flows.Tester) *journey {
			return reviewing(t).do(rules.AskAgain{Step: "consent", Reasons: []string{"other"}}).submit(consents)
		}},
		{"parked on a second review", func(t flows.Tester) *journey { return reviewing(t).approve("fine") }},
		{"completed, not flagged", func(t flows.Tester) *journey { return checking(t, "").pass() }},
		{"completed, flagged", open},
		{"completed, settled", func(t flows.Tester) *journey { return open(t).after(time.Minute).approve("fine") }},
		{"completed, with a new hit", func(t flows.Tester) *journey { return checking(t, "").pass().found("1") }},
		{"failed", func(t flows.Tester) *journey { return checking(t, "").fail() }},
		{"failed, settled", func(t flows.Tester) *journey { return checking(t, "").fail().reject("") }},
		{"expired", func(t flows.Tester) *journey { return parked(t, "").after(2 * time.Hour).do(rules.Expire{}) }},
		{"overdue on the customer", func(t flows.Tester) *journey { return parked(t, "").after(2 * time.Hour) }},
		{"overdue on a result", func(t flows.Tester) *journey { return checking(t, "").after(2 * time.Hour) }},
		{"overdue on review", func(t flows.Tester) *journey { return reviewing(t).after(2 * time.Hour) }},
		{"cancelled", func(t flows.Tester) *journey { return checking(t, "").cancel() }},
		{"cancelled after a verdict", func(t flows.Tester) *journey { return reviewing(t).approve("").cancel() }},
		{"four eyes, parked on review", doubted},
		{"four eyes, proposed", func(t flows.Tester) *journey { return doubted(t).propose() }},
		{"four eyes, proposed, overdue", func(t flows.Tester) *journey { return doubted(t).propose().after(2 * time.Hour) }},
		{"four eyes, completed", func(t flows.Tester) *journey { return begin(t, flows.FourEyes(), "").submit(consents).pass() }},
		{"four eyes, completed, proposed", func(t flows.Tester) *journey {
			return begin(t, flows.FourEyes(), "").submit(consents).pass().propose()
		}},
	}
}

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
			{"pending", result(verification.OutcomePending)},
			{"redirect", rules.RecordResult{Node: "pan", Dispatch: 1, Outcome: verification.OutcomeRedirect, Redirect: signIn, Handle: "ticket-1"}},
			{"an unknown outcome", result("perhaps")},
			{"of another dispatch", rules.RecordResult{Node: "pan", Dispatch: 9, Outcome: verification.OutcomePassed}},
			{"of another step", rules.RecordResult{Node: "consent", Dispatch: 1, Outcome: verification.OutcomePassed}},
		}, `
			not started                    | not found | not found | not found | not found | not found | not found | not found
			awaiting a result              | result_recorded, branch_taken, completed | result_recorded, failed | result_pending | dispatch_failed, result_unavailable, failed | dispatch_failed, result_unavailable, failed | nothing | nothing
			pending                        | result_recorded, branch_taken, completed | result_recorded, failed | nothing | dispatch_failed, result_unavailable, failed | dispatch_failed, result_unavailable, failed | nothing | nothing
			waiting for a retry            | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			retry due                      | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			parked on the customer         | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			away                           | result_recorded, branch_taken, completed | result_recorded, failed | nothing | nothing | dispatch_failed, result_unavailable, failed | nothing | nothing
			back without a result          | result_recorded, branch_taken, completed | result_recorded, failed | nothing | nothing | dispatch_failed, result_unavailable, failed | nothing | nothing
			abandoned                      | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			customer came back             | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			parked on review               | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			asked again                    | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			back from the customer         | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			parked on a second review      | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			completed, not flagged         | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			completed, flagged             | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			completed, settled             | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			completed, with a new hit      | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			failed                         | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			failed, settled                | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			expired                        | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			overdue on the customer        | expired | expired | expired | expired | expired | expired | expired
			overdue on a result            | expired | expired | expired | expired | expired | expired | expired
			overdue on review              | expired | expired | expired | expired | expired | expired | expired
			cancelled                      | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			cancelled after a verdict      | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			four eyes, parked on review    | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			four eyes, proposed            | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			four eyes, proposed, overdue   | expired | expired | expired | expired | expired | expired | expired
			four eyes, completed           | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			four eyes, completed, proposed | nothing | nothing | nothing | nothing | nothing | nothing | nothing`},
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
			not started                    | not found | not found | not found | not found | not found | not found | not found | not found | not found
			awaiting a result              | dispatch_failed | dispatch_failed, result_unavailable, failed | callback_received | nothing | nothing | failed | nothing | nothing | conflict
			pending                        | poll_failed | dispatch_failed, result_unavailable, failed | callback_received | nothing | nothing | failed | nothing | nothing | conflict
			waiting for a retry            | nothing | nothing | nothing | nothing | nothing | failed | nothing | nothing | conflict
			retry due                      | nothing | nothing | nothing | nothing | dispatched | failed | nothing | nothing | conflict
			parked on the customer         | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | conflict
			away                           | poll_failed | dispatch_failed, result_unavailable, failed | callback_received | returned | nothing | failed | nothing | nothing | conflict
			back without a result          | poll_failed | dispatch_failed, result_unavailable, failed | nothing | returned | nothing | failed | nothing | nothing | conflict
			abandoned                      | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | conflict
			customer came back             | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | conflict
			parked on review               | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | conflict
			asked again                    | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | conflict
			back from the customer         | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | conflict
			parked on a second review      | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | conflict
			completed, not flagged         | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | hits_found
			completed, flagged             | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | hits_found
			completed, settled             | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | hits_found
			completed, with a new hit      | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing
			failed                         | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | conflict
			failed, settled                | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | conflict
			expired                        | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | conflict
			overdue on the customer        | expired | expired | expired | expired | expired | expired | expired | expired | conflict
			overdue on a result            | expired | expired | expired | expired | expired | expired | expired | expired | conflict
			overdue on review              | expired | expired | expired | expired | expired | expired | expired | expired | conflict
			cancelled                      | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | conflict
			cancelled after a verdict      | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | conflict
			four eyes, parked on review    | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | conflict
			four eyes, proposed            | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | conflict
			four eyes, proposed, overdue   | expired | expired | expired | expired | expired | expired | expired | expired | conflict
			four eyes, completed           | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | hits_found
			four eyes, completed, proposed | nothing | nothing | nothing | nothing | nothing | nothing | nothing | nothing | hits_found`},
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
			not started                    | started, customer_awaited | invalid | not found | not found | not found | not found | not found | not found
			awaiting a result              | conflict | conflict | not open | not open | not open | not open | not open | not open
			pending                        | conflict | conflict | not open | not open | not open | not open | not open | not open
			waiting for a retry            | conflict | conflict | not open | not open | not open | not open | not open | not open
			retry due                      | conflict | conflict | not open | not open | not open | not open | not open | not open
			parked on the customer         | conflict | conflict | journey_opened | not open | customer_submitted, dispatched | invalid | not open | invalid
			away                           | conflict | conflict | nothing | not open | not open | not open | not open | not open
			back without a result          | conflict | conflict | nothing | not open | not open | not open | not open | not open
			abandoned                      | conflict | conflict | journey_opened | not open | customer_submitted, dispatched | invalid | not open | invalid
			customer came back             | conflict | conflict | journey_opened | not open | customer_submitted, dispatched | invalid | not open | invalid
			parked on review               | conflict | conflict | not open | not open | not open | not open | not open | not open
			asked again                    | conflict | conflict | nothing | not open | customer_submitted, skipped, branch_taken, review_asked | invalid | not open | not open
			back from the customer         | conflict | conflict | not open | not open | not open | not open | not open | not open
			parked on a second review      | conflict | conflict | not open | not open | not open | not open | not open | not open
			completed, not flagged         | conflict | conflict | not open | not open | not open | not open | not open | not open
			completed, flagged             | conflict | conflict | not open | not open | not open | not open | not open | not open
			completed, settled             | conflict | conflict | not open | not open | not open | not open | not open | not open
			completed, with a new hit      | conflict | conflict | not open | not open | not open | not open | not open | not open
			failed                         | conflict | conflict | not open | not open | not open | not open | not open | not open
			failed, settled                | conflict | conflict | not open | not open | not open | not open | not open | not open
			expired                        | conflict | conflict | not open | not open | not open | not open | not open | not open
			overdue on the customer        | conflict | conflict | not open | not open | not open | not open | not open | not open
			overdue on a result            | conflict | conflict | not open | not open | not open | not open | not open | not open
			overdue on review              | conflict | conflict | not open | not open | not open | not open | not open | not open
			cancelled                      | conflict | conflict | not open | not open | not open | not open | not open | not open
			cancelled after a verdict      | conflict | conflict | not open | not open | not open | not open | not open | not open
			four eyes, parked on review    | conflict | conflict | not open | not open | not open | not open | not open | not open
			four eyes, proposed            | conflict | conflict | not open | not open | not open | not open | not open | not open
			four eyes, proposed, overdue   | conflict | conflict | not open | not open | not open | not open | not open | not open
			four eyes, completed           | conflict | conflict | not open | not open | not open | not open | not open | not open
			four eyes, completed, proposed | conflict | conflict | not open | not open | not open | not open | not open | not open`},
		{"What the operator does", []namedCommand{
			{"a program approves", rules.GiveVerdict{Decision: rules.DecisionApprove}},
			{"a program rejects", rules.GiveVerdict{Decision: rules.DecisionReject}},
			{"verdict `review`", rules.GiveVerdict{Decision: rules.DecisionReview}},
			{"cancel", rules.Cancel{}},
			{"a hit is decided", rules.DecideHit{Node: "pan", List: "sanctions", Entry: "1", Match: rules.MatchOther}},
		}, `
			not started                    | not found | not found | not found | not found | not found
			awaiting a result              | not open | not open | invalid | cancelled | conflict
			pending                        | not open | not open | invalid | cancelled | conflict
			waiting for a retry            | not open | not open | invalid | cancelled | conflict
			retry due                      | not open | not open | invalid | cancelled | conflict
			parked on the customer         | not open | not open | invalid | cancelled | conflict
			away                           | not open | not open | invalid | cancelled | conflict
			back without a result          | not open | not open | invalid | cancelled | conflict
			abandoned                      | not open | not open | invalid | cancelled | conflict
			customer came back             | not open | not open | invalid | cancelled | conflict
			parked on review               | verdict_recorded, branch_taken, review_asked | verdict_recorded, branch_taken, review_asked | invalid | cancelled | conflict
			asked again                    | not open | not open | invalid | cancelled | conflict
			back from the customer         | verdict_recorded, branch_taken, review_asked | verdict_recorded, branch_taken, review_asked | invalid | cancelled | conflict
			parked on a second review      | verdict_recorded, completed | verdict_recorded, completed | invalid | cancelled | conflict
			completed, not flagged         | verdict_recorded | verdict_recorded | invalid | conflict | conflict
			completed, flagged             | verdict_recorded | verdict_recorded | invalid | conflict | conflict
			completed, settled             | verdict_recorded | verdict_recorded | invalid | conflict | conflict
			completed, with a new hit      | verdict_recorded | verdict_recorded | invalid | conflict | hit_decided
			failed                         | verdict_recorded | verdict_recorded | invalid | conflict | conflict
			failed, settled                | verdict_recorded | verdict_recorded | invalid | conflict | conflict
			expired                        | verdict_recorded | verdict_recorded | invalid | conflict | conflict
			overdue on the customer        | expired, verdict_recorded | expired, verdict_recorded | invalid | conflict | conflict
			overdue on a result            | expired, verdict_recorded | expired, verdict_recorded | invalid | conflict | conflict
			overdue on review              | expired, verdict_recorded | expired, verdict_recorded | invalid | conflict | conflict
			cancelled                      | verdict_recorded | verdict_recorded | invalid | nothing | conflict
			cancelled after a verdict      | verdict_recorded | verdict_recorded | invalid | nothing | conflict
			four eyes, parked on review    | conflict | conflict | invalid | cancelled | conflict
			four eyes, proposed            | conflict | conflict | invalid | cancelled | conflict
			four eyes, proposed, overdue   | conflict | conflict | invalid | conflict | conflict
			four eyes, completed           | conflict | conflict | invalid | conflict | conflict
			four eyes, completed, proposed | conflict | conflict | invalid | conflict | conflict`},
		{"What two reviewers do", []namedCommand{
			{"one approves", verdictBy("asha", rules.DecisionApprove)},
			{"the same one rejects", verdictBy("asha", rules.DecisionReject)},
			{"another one approves", verdictBy("ravi", rules.DecisionApprove)},
			{"another one rejects", verdictBy("ravi", rules.DecisionReject)},
			{"one withdraws", rules.ReturnProposal{By: "asha", Identity: "asha"}},
			{"another one sends back", rules.ReturnProposal{By: "ravi", Identity: "ravi"}},
		}, `
			not started                    | not found | not found | not found | not found | not found | not found
			awaiting a result              | not open | not open | not open | not open | conflict | conflict
			pending                        | not open | not open | not open | not open | conflict | conflict
			waiting for a retry            | not open | not open | not open | not open | conflict | conflict
			retry due                      | not open | not open | not open | not open | conflict | conflict
			parked on the customer         | not open | not open | not open | not open | conflict | conflict
			away                           | not open | not open | not open | not open | conflict | conflict
			back without a result          | not open | not open | not open | not open | conflict | conflict
			abandoned                      | not open | not open | not open | not open | conflict | conflict
			customer came back             | not open | not open | not open | not open | conflict | conflict
			parked on review               | verdict_recorded, branch_taken, review_asked | verdict_recorded, branch_taken, review_asked | verdict_recorded, branch_taken, review_asked | verdict_recorded, branch_taken, review_asked | conflict | conflict
			asked again                    | not open | not open | not open | not open | conflict | conflict
			back from the customer         | verdict_recorded, branch_taken, review_asked | verdict_recorded, branch_taken, review_asked | verdict_recorded, branch_taken, review_asked | verdict_recorded, branch_taken, review_asked | conflict | conflict
			parked on a second review      | verdict_recorded, completed | verdict_recorded, completed | verdict_recorded, completed | verdict_recorded, completed | conflict | conflict
			completed, not flagged         | verdict_recorded | verdict_recorded | verdict_recorded | verdict_recorded | conflict | conflict
			completed, flagged             | verdict_recorded | verdict_recorded | verdict_recorded | verdict_recorded | conflict | conflict
			completed, settled             | verdict_recorded | verdict_recorded | verdict_recorded | verdict_recorded | conflict | conflict
			completed, with a new hit      | verdict_recorded | verdict_recorded | verdict_recorded | verdict_recorded | conflict | conflict
			failed                         | verdict_recorded | verdict_recorded | verdict_recorded | verdict_recorded | conflict | conflict
			failed, settled                | verdict_recorded | verdict_recorded | verdict_recorded | verdict_recorded | conflict | conflict
			expired                        | verdict_recorded | verdict_recorded | verdict_recorded | verdict_recorded | conflict | conflict
			overdue on the customer        | expired, verdict_recorded | expired, verdict_recorded | expired, verdict_recorded | expired, verdict_recorded | conflict | conflict
			overdue on a result            | expired, verdict_recorded | expired, verdict_recorded | expired, verdict_recorded | expired, verdict_recorded | conflict | conflict
			overdue on review              | expired, verdict_recorded | expired, verdict_recorded | expired, verdict_recorded | expired, verdict_recorded | conflict | conflict
			cancelled                      | verdict_recorded | verdict_recorded | verdict_recorded | verdict_recorded | conflict | conflict
			cancelled after a verdict      | verdict_recorded | verdict_recorded | verdict_recorded | verdict_recorded | conflict | conflict
			four eyes, parked on review    | verdict_proposed | verdict_proposed | verdict_proposed | verdict_proposed | conflict | conflict
			four eyes, proposed            | conflict | conflict | verdict_recorded, branch_taken, review_asked | proposal_returned | proposal_returned | proposal_returned
			four eyes, proposed, overdue   | expired, verdict_proposed | expired, verdict_proposed | expired, verdict_proposed | expired, verdict_proposed | conflict | conflict
			four eyes, completed           | verdict_proposed | verdict_proposed | verdict_proposed | verdict_proposed | conflict | conflict
			four eyes, completed, proposed | conflict | conflict | verdict_recorded | proposal_returned | proposal_returned | proposal_returned`},
		{"What a reviewer asks the customer again", []namedCommand{
			{"for a step", rules.AskAgain{Step: "consent", Reasons: []string{"other"}, By: "asha", Identity: "asha"}},
			{"for no step", rules.AskAgain{Reasons: []string{"other"}}},
			{"without a reason", rules.AskAgain{Step: "consent"}},
		}, `
			not started                    | not found | not found | not found
			awaiting a result              | not open | not open | not open
			pending                        | not open | not open | not open
			waiting for a retry            | not open | not open | not open
			retry due                      | not open | not open | not open
			parked on the customer         | not open | not open | not open
			away                           | not open | not open | not open
			back without a result          | not open | not open | not open
			abandoned                      | not open | not open | not open
			customer came back             | not open | not open | not open
			parked on review               | asked_again, customer_awaited | invalid | invalid
			asked again                    | not open | not open | not open
			back from the customer         | asked_again, customer_awaited | invalid | invalid
			parked on a second review      | asked_again, customer_awaited | invalid | invalid
			completed, not flagged         | not open | not open | not open
			completed, flagged             | not open | not open | not open
			completed, settled             | not open | not open | not open
			completed, with a new hit      | not open | not open | not open
			failed                         | not open | not open | not open
			failed, settled                | not open | not open | not open
			expired                        | not open | not open | not open
			overdue on the customer        | not open | not open | not open
			overdue on a result            | not open | not open | not open
			overdue on review              | not open | not open | not open
			cancelled                      | not open | not open | not open
			cancelled after a verdict      | not open | not open | not open
			four eyes, parked on review    | asked_again, customer_awaited | invalid | invalid
			four eyes, proposed            | asked_again, customer_awaited | invalid | invalid
			four eyes, proposed, overdue   | not open | not open | not open
			four eyes, completed           | not open | not open | not open
			four eyes, completed, proposed | not open | not open | not open`},
		{"What a reviewer who may be the proposer does", []namedCommand{
			{"the same identity with another name approves", rules.GiveVerdict{Decision: rules.DecisionApprove, By: "Asha Rao", Identity: "asha"}},
			{"the same name with another identity approves", rules.GiveVerdict{Decision: rules.DecisionApprove, By: " Asha", Identity: "u-2"}},
			{"a person at the identity provider approves", atProvider("2", rules.DecisionApprove)},
			{"a person at the identity provider rejects", atProvider("2", rules.DecisionReject)},
		}, `
			not started                    | not found | not found | not found | not found
			awaiting a result              | not open | not open | not open | not open
			pending                        | not open | not open | not open | not open
			waiting for a retry            | not open | not open | not open | not open
			retry due                      | not open | not open | not open | not open
			parked on the customer         | not open | not open | not open | not open
			away                           | not open | not open | not open | not open
			back without a result          | not open | not open | not open | not open
			abandoned                      | not open | not open | not open | not open
			customer came back             | not open | not open | not open | not open
			parked on review               | verdict_recorded, branch_taken, review_asked | verdict_recorded, branch_taken, review_asked | verdict_recorded, branch_taken, review_asked | verdict_recorded, branch_taken, review_asked
			asked again                    | not open | not open | not open | not open
			back from the customer         | verdict_recorded, branch_taken, review_asked | verdict_recorded, branch_taken, review_asked | verdict_recorded, branch_taken, review_asked | verdict_recorded, branch_taken, review_asked
			parked on a second review      | verdict_recorded, completed | verdict_recorded, completed | verdict_recorded, completed | verdict_recorded, completed
			completed, not flagged         | verdict_recorded | verdict_recorded | verdict_recorded | verdict_recorded
			completed, flagged             | verdict_recorded | verdict_recorded | verdict_recorded | verdict_recorded
			completed, settled             | verdict_recorded | verdict_recorded | verdict_recorded | verdict_recorded
			completed, with a new hit      | verdict_recorded | verdict_recorded | verdict_recorded | verdict_recorded
			failed                         | verdict_recorded | verdict_recorded | verdict_recorded | verdict_recorded
			failed, settled                | verdict_recorded | verdict_recorded | verdict_recorded | verdict_recorded
			expired                        | verdict_recorded | verdict_recorded | verdict_recorded | verdict_recorded
			overdue on the customer        | expired, verdict_recorded | expired, verdict_recorded | expired, verdict_recorded | expired, verdict_recorded
			overdue on a result            | expired, verdict_recorded | expired, verdict_recorded | expired, verdict_recorded | expired, verdict_recorded
			overdue on review              | expired, verdict_recorded | expired, verdict_recorded | expired, verdict_recorded | expired, verdict_recorded
			cancelled                      | verdict_recorded | verdict_recorded | verdict_recorded | verdict_recorded
			cancelled after a verdict      | verdict_recorded | verdict_recorded | verdict_recorded | verdict_recorded
			four eyes, parked on review    | verdict_proposed | verdict_proposed | verdict_proposed | verdict_proposed
			four eyes, proposed            | conflict | conflict | conflict | proposal_returned
			four eyes, proposed, overdue   | expired, verdict_proposed | expired, verdict_proposed | expired, verdict_proposed | expired, verdict_proposed
			four eyes, completed           | verdict_proposed | verdict_proposed | verdict_proposed | verdict_proposed
			four eyes, completed, proposed | conflict | conflict | conflict | proposal_returned`},
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
			not started                    | not found | not found | not found | not found | not found | not found | not found | not found | not found | not found
			awaiting a result              | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			pending                        | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			waiting for a retry            | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			retry due                      | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			parked on the customer         | note_added | invalid | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			away                           | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			back without a result          | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			abandoned                      | note_added | invalid | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			customer came back             | note_added | invalid | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			parked on review               | note_added | corrected | held | invalid | conflict | invalid | assigned | assigned | nothing | nothing
			asked again                    | note_added | invalid | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			back from the customer         | note_added | corrected | held | invalid | conflict | invalid | assigned | assigned | nothing | nothing
			parked on a second review      | note_added | corrected | held | invalid | conflict | invalid | assigned | assigned | nothing | nothing
			completed, not flagged         | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			completed, flagged             | note_added | corrected | held | invalid | conflict | invalid | assigned | assigned | nothing | nothing
			completed, settled             | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			completed, with a new hit      | note_added | corrected | held | invalid | conflict | invalid | assigned | assigned | nothing | nothing
			failed                         | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			failed, settled                | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			expired                        | note_added | invalid | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			overdue on the customer        | expired, note_added | invalid | expired, held | invalid | conflict | invalid | conflict | conflict | conflict | expired
			overdue on a result            | expired, note_added | expired, corrected | expired, held | invalid | conflict | invalid | conflict | conflict | conflict | expired
			overdue on review              | expired, note_added | expired, corrected | expired, held | invalid | conflict | invalid | conflict | conflict | conflict | expired
			cancelled                      | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			cancelled after a verdict      | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			four eyes, parked on review    | note_added | corrected | held | invalid | conflict | invalid | assigned | assigned | nothing | nothing
			four eyes, proposed            | note_added | corrected | held | invalid | conflict | invalid | assigned | assigned | nothing | nothing
			four eyes, proposed, overdue   | expired, note_added | expired, corrected | expired, held | invalid | conflict | invalid | conflict | conflict | conflict | expired
			four eyes, completed           | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing
			four eyes, completed, proposed | note_added | corrected | held | invalid | conflict | invalid | conflict | conflict | conflict | nothing`},
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
					status, ended := j.status(), j.detail().CompletedAt
					if got := flows.Outcome(j.try(c.command)); got != rows[s.name][i] {
						t.Fatalf("Decide = %s, want %s", got, rows[s.name][i])
					}
					if !status.Terminal() {
						return
					}
					if _, err := j.try(c.command); err == nil {
						j.do(c.command)
					}
					if j.status() != status || !j.detail().CompletedAt.Equal(ended) {
						t.Errorf("%T led from %s at %v to %s at %v", c.command, status, ended, j.status(), j.detail().CompletedAt)
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
