// Tests of reject reasons, and of the notes that a workflow requires.

package rules_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestReasonAndNotesOfAVerdict(t *testing.T) {
	const approve, reject = rules.DecisionApprove, rules.DecisionReject
	type give = rules.GiveVerdict
	const noReason, noNotes = "payload.reason is required for a rejection", "payload.notes is required"
	for _, c := range []struct {
		name    string
		reasons bool // the workflow has reject reasons
		notes   workflow.NotesRule
		give    give
		want    string // the problems; empty for none
	}{
		{"an API client rejects without a reason", true, "required", give{Decision: reject}, ""},
		{"an API client rejects with a reason", true, "", give{Decision: reject, Reason: "other"}, ""},
		{"a reviewer rejects with a reason", true, "", give{Decision: reject, Reason: "other", Justified: true}, ""},
		{"a reviewer rejects without a reason", true, "", give{Decision: reject, Justified: true}, noReason},
		{"a reviewer rejects where there are no reasons", false, "", give{Decision: reject, Justified: true}, ""},
		{"a reviewer approves without a reason", true, "on_reject", give{Decision: approve, Justified: true}, ""},
		{"an approval with a reason", true, "", give{Decision: approve, Reason: "other"}, "payload.reason is only for a rejection"},
		{
			"a reason that there is not", true, "",
			give{Decision: reject, Reason: "oter", Notes: "x"},
			"payload.reason must be the code of a reject reason of the workflow",
		},
		{
			"a reason where there are none", false, "",
			give{Decision: reject, Reason: "other"},
			"payload.reason must be the code of a reject reason of the workflow",
		},
		{"a rejection without the notes that it needs", true, "on_reject", give{Decision: reject, Reason: "other", Justified: true}, noNotes},
		{"a rejection with the notes that it needs", true, "on_reject", give{Decision: reject, Reason: "other", Notes: "x", Justified: true}, ""},
		{"neither a reason nor notes", true, "on_reject", give{Decision: reject, Notes: " \n", Justified: true}, noReason + ", " + noNotes},
		{"an approval without the notes that it needs", false, "required", give{Decision: approve, Justified: true}, noNotes},
		{"notes are optional", false, "optional", give{Decision: reject, Justified: true}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := flows.DeskFlow()
			d.RejectReasons, d.Notes = nil, c.notes
			if c.reasons {
				d.RejectReasons = flows.Reasons()
			}
			j := begin(t, d, wantsOne).submit(consents).pass()
			_, err := j.try(c.give)
			var problems []string
			if err != nil {
				for _, f := range flows.FieldsOf(t, err) {
					problems = append(problems, f.Name+" "+f.Message)
				}
			}
			if got := strings.Join(problems, ", "); got != c.want {
				t.Fatalf("problems = %q, want %q", got, c.want)
			}
			if err != nil {
				return
			}
			if got := j.do(c.give).run.Verdict; got.Reason != c.give.Reason || got.Notes != c.give.Notes {
				t.Errorf("the verdict has the reason %q and the notes %q", got.Reason, got.Notes)
			}
		})
	}
}

func TestAConfirmationKeepsTheReasonOfTheProposal(t *testing.T) {
	const approve, reject = rules.DecisionApprove, rules.DecisionReject
	justified := func(who string, d rules.Decision, reason, notes string) rules.GiveVerdict {
		v := verdictBy(who, d)
		v.Reason, v.Notes, v.Justified = reason, notes, true
		return v
	}
	d := flows.FourEyes()
	d.Notes = workflow.NotesRequired
	proposed := begin(t, d, wantsOne).submit(consents).pass().do(justified("asha", reject, "wrong_name", "Another name."))
	if got := proposed.run.Proposal.Reason; got != "wrong_name" {
		t.Errorf("the proposal has the reason %q", got)
	}
	confirmed := proposed.fork().do(justified("ravi", reject, "", ""))
	if got := confirmed.run.Verdict; got.Reason != "wrong_name" || got.Notes != "Another name." {
		t.Errorf("the verdict has the reason %q and the notes %q, want those of the proposal", got.Reason, got.Notes)
	}
	other := proposed.fork().do(justified("ravi", reject, "other", ""))
	if got := other.run.Verdict.Reason; got != "other" {
		t.Errorf("the verdict has the reason %q, want that of the confirmation", got)
	}
	if _, err := proposed.try(justified("ravi", approve, "", "")); err == nil {
		t.Error("a reviewer sends a proposal back without the notes that the workflow requires")
	}
	approval := begin(t, d, wantsOne).submit(consents).pass().do(justified("asha", approve, "", "Fine."))
	returned := approval.do(justified("ravi", reject, "other", "Not fine.")).history
	if f, ok := returned[len(returned)-1].Fact.(rules.ProposalReturned); !ok || f.Reason != "other" {
		t.Errorf("the proposal was sent back with %+v", returned[len(returned)-1].Fact)
	}
}

// reasonsAreOfTheWorkflow: a verdict has a reason only if it rejects, and one that the workflow has.
func reasonsAreOfTheWorkflow(t flows.Tester, j *journey) {
	t.Helper()
	def := j.program.Version.Definition
	if def.Nodes == nil {
		return // a recorded history
	}
	for _, e := range j.history {
		var v rules.VerdictRecorded
		switch f := e.Fact.(type) {
		case rules.VerdictRecorded:
			v = f
		case rules.VerdictProposed:
			v = rules.VerdictRecorded(f)
		}
		if _, known := def.RejectReason(v.Reason); v.Reason != "" && (!known || v.Decision != rules.DecisionReject) {
			t.Errorf("a verdict %s has the reason %q", v.Decision, v.Reason)
		}
	}
}

// The client reads what the customer does, in the language of the customer's last page.
func TestTheTextOfARejectionIsInTheCustomersLanguage(t *testing.T) {
	d := flows.Refusal()
	d.RejectReasons = []workflow.RejectReason{
		{Code: "blurred", Label: "Blurred", CustomerText: "Blurred.", CustomerTextIn: workflow.Translations{"en": "Blurred.", "hi": "धुंधली।"}},
		{Code: "other", Label: "Other"},
	}
	for _, c := range []struct {
		language, reason string
		decision         rules.Decision
		want             string
	}{
		{"hi", "blurred", rules.DecisionReject, "धुंधली।"},
		{"fr", "blurred", rules.DecisionReject, "Blurred."},
		{"", "blurred", rules.DecisionReject, "Blurred."},
		{"hi", "other", rules.DecisionReject, ""},
		{"hi", "", rules.DecisionReject, ""},
		{"hi", "", rules.DecisionApprove, ""},
	} {
		j := begin(t, d, "").do(rules.Submit{Signal: "consent_submitted", Payload: verification.Data(consents), Language: c.language}).pass()
		events, _, err := rules.Decide(j.program, j.run, rules.GiveVerdict{Decision: c.decision, Reason: c.reason}, j.now)
		if err != nil {
			t.Fatal(err)
		}
		history := append(slices.Clip(j.history), events[0])
		if got := rules.RejectionText(d, history); got != c.want {
			t.Errorf("%+v: the text is %q, want %q", c, got, c.want)
		}
		reason, rejected := rules.Fold(flows.RunID, history).Rejection(d)
		if want := c.decision == rules.DecisionReject && c.reason != ""; rejected != want || rejected && reason.Code != c.reason {
			t.Errorf("%+v: the rejection is %+v, %t", c, reason, rejected)
		}
	}
}

// What a customer was asked for again is no longer said once it was answered.
func TestARejectionIsToldUntilTheCustomerAnswers(t *testing.T) {
	d := flows.Refusal()
	d.RejectReasons = []workflow.RejectReason{{Code: "blurred", Label: "Blurred", CustomerText: "Blurred."}}
	told := func(j *journey) bool { _, ok := j.run.Rejection(d); return ok }
	j := begin(t, d, "").submit(consents).pass()
	j.after(time.Minute).do(rules.GiveVerdict{Decision: rules.DecisionReject, Reason: "blurred"})
	if !told(j) {
		t.Error("the customer who is asked again is not told why")
	}
	if j.after(time.Minute).submit(consents); told(j) {
		t.Error("the customer who has answered is told again")
	}
	if j.pass(); told(j) {
		t.Error("while a reviewer looks again, the customer is told")
	}
	if j.do(rules.GiveVerdict{Decision: rules.DecisionApprove}); told(j) {
		t.Error("an approved customer is told")
	}
	if j.do(rules.GiveVerdict{Decision: rules.DecisionReject, Reason: "blurred"}); !told(j) {
		t.Error("a customer who is rejected after the end is not told")
	}
}
