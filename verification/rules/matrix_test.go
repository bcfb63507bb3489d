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
// situation, which is testdata/commands.md.
type matrix struct {
	title    string
	commands []namedCommand
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
		}},
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
		}},
		{"What the client and the customer do", []namedCommand{
			{"start", rules.Start{ReferenceID: "customer-1"}},
			{"start, bad input", rules.Start{}},
			{"open journey", rules.OpenJourney{}},
			{"open journey, another wait", rules.OpenJourney{WaitNumber: 99}},
			{"submit", submit("consent_submitted", `{"consent_status":"success"}`)},
			{"submit, bad payload", submit("consent_submitted", `{"consent_status":"maybe"}`)},
			{"submit to another signal", submit("details_submitted", `{"consent_status":"success"}`)},
			{"upload", rules.Upload{WaitNumber: 2, Document: verification.Document{Field: "front"}}},
		}},
		{"What the operator does", []namedCommand{
			{"a program approves", rules.GiveVerdict{Decision: rules.DecisionApprove}},
			{"a program rejects", rules.GiveVerdict{Decision: rules.DecisionReject}},
			{"verdict `review`", rules.GiveVerdict{Decision: rules.DecisionReview}},
			{"cancel", rules.Cancel{}},
			{"a hit is decided", rules.DecideHit{Node: "pan", List: "sanctions", Entry: "1", Match: rules.MatchOther}},
		}},
		{"What two reviewers do", []namedCommand{
			{"one approves", verdictBy("asha", rules.DecisionApprove)},
			{"the same one rejects", verdictBy("asha", rules.DecisionReject)},
			{"another one approves", verdictBy("ravi", rules.DecisionApprove)},
			{"another one rejects", verdictBy("ravi", rules.DecisionReject)},
			{"one withdraws", rules.ReturnProposal{By: "asha", Identity: "asha"}},
			{"another one sends back", rules.ReturnProposal{By: "ravi", Identity: "ravi"}},
		}},
		{"What a reviewer asks the customer again", []namedCommand{
			{"for a step", rules.AskAgain{Step: "consent", Reasons: []string{"other"}, By: "asha", Identity: "asha"}},
			{"for no step", rules.AskAgain{Reasons: []string{"other"}}},
			{"without a reason", rules.AskAgain{Step: "consent"}},
			{"for a step, of an API client", rules.AskAgain{Step: "consent", Reasons: []string{"other"}}},
		}},
		{"What a reviewer who may be the proposer does", []namedCommand{
			{"the same identity with another name approves", rules.GiveVerdict{Decision: rules.DecisionApprove, By: "Asha Rao", Identity: "asha"}},
			{"the same name with another identity approves", rules.GiveVerdict{Decision: rules.DecisionApprove, By: " Asha", Identity: "u-2"}},
			{"a person at the identity provider approves", atProvider("2", rules.DecisionApprove)},
			{"a person at the identity provider rejects", atProvider("2", rules.DecisionReject)},
		}},
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
		}},
	}
}

// outcome returns what a command leads to in a situation. It fails the test if a run that is over changes its status or
// the time of its end.
func (s situation) outcome(t *testing.T, c namedCommand) string {
	t.Helper()
	j := s.reach(t)
	command := j.address(c.command)
	status, ended := j.status(), j.detail().CompletedAt
	events, err := j.try(command)
	if !status.Terminal() {
		return flows.Outcome(events, err)
	}
	if err == nil {
		j.do(command)
	}
	if j.status() != status || !j.detail().CompletedAt.Equal(ended) {
		t.Errorf("%s: %s led from %s at %v to %s at %v", s.name, c.name, status, ended, j.status(), j.detail().CompletedAt)
	}
	return flows.Outcome(events, err)
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
