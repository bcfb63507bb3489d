package rules_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestVerdictRefusesNotesThatCannotBeStored(t *testing.T) {
	for _, c := range []struct {
		name string
		give rules.GiveVerdict
		want []verification.FieldError
	}{
		{"approve", rules.GiveVerdict{Decision: rules.DecisionApprove}, nil},
		{"10000 characters of two bytes", rules.GiveVerdict{Decision: rules.DecisionReject, Notes: strings.Repeat("ä", 10000)}, nil},
		{
			"10001 characters",
			rules.GiveVerdict{Decision: rules.DecisionReject, Notes: strings.Repeat("x", 10001)},
			[]verification.FieldError{{Name: "payload.notes", Message: "must be at most 10000 characters"}},
		},
		{
			"NUL",
			rules.GiveVerdict{Decision: rules.DecisionReject, Notes: "a\x00b"},
			[]verification.FieldError{{Name: "payload.notes", Message: "must be valid UTF-8 without a NUL character"}},
		},
		{
			"broken UTF-8",
			rules.GiveVerdict{Decision: rules.DecisionReject, Notes: "a\xff"},
			[]verification.FieldError{{Name: "payload.notes", Message: "must be valid UTF-8 without a NUL character"}},
		},
		{
			"no decision",
			rules.GiveVerdict{},
			[]verification.FieldError{{Name: "payload.decision", Message: `must be "approve" or "reject"`}},
		},
		{
			"review",
			rules.GiveVerdict{Decision: rules.DecisionReview},
			[]verification.FieldError{{Name: "payload.decision", Message: `must be "approve" or "reject"`}},
		},
		{
			"capital letters",
			rules.GiveVerdict{Decision: "Approve"},
			[]verification.FieldError{{Name: "payload.decision", Message: `must be "approve" or "reject"`}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, j := range []*journey{onReview(t), finishedOpen(t)} {
				_, err := j.try(c.give)
				if c.want == nil {
					if err != nil {
						t.Errorf("GiveVerdict = %v, want no error", err)
					}
					continue
				}
				if diff := cmp.Diff(c.want, flows.FieldsOf(t, err)); diff != "" {
					t.Errorf("fields (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestAVerdictOnAnOldRunIsAConflict(t *testing.T) {
	for name, j := range map[string]*journey{"parked on review": onReview(t), "completed": finishedOpen(t)} {
		seen := j.run.Seq
		for _, row := range []struct {
			seq  int
			kind error
		}{{seen - 1, verification.ErrConflict}, {seen + 1, verification.ErrConflict}, {seen, nil}, {0, nil}} {
			_, _, err := rules.Decide(j.program, j.run, rules.GiveVerdict{
				Decision: rules.DecisionApprove, Seq: row.seq,
			}, j.now)
			if !errors.Is(err, row.kind) {
				t.Errorf("%s with %d events: a verdict on %d events = %v, want %v", name, seen, row.seq, err, row.kind)
			}
		}
	}
}

func TestVerdictOnAReviewStepIsItsOutput(t *testing.T) {
	for _, c := range []struct {
		give   func(*journey, string) *journey
		status rules.StepStatus
		output string
		next   string
	}{
		{(*journey).approve, rules.StepPassed, `{"decision":"approve"}`, "dispatched"},
		{(*journey).reject, rules.StepFailed, `{"decision":"reject"}`, "completed"}, // on_reject is done
	} {
		j := begin(t, flows.Ladder(), "").submit(consents).submit(`{"pan":"ABCDE1234F"}`).fail().after(time.Minute)
		before := len(j.history)
		c.give(j, "looked at it")
		if got := flows.Kinds(j.history[before:]); got != "verdict_recorded, "+c.next {
			t.Errorf("the verdict leads to %s, want %s", got, c.next)
		}
		given, _ := j.history[before].Fact.(rules.VerdictRecorded)
		if given.Node != "review" || given.Notes != "looked at it" || given.By == "" {
			t.Errorf("the verdict is kept as %+v", given)
		}
		step, _ := j.run.Step("review")
		if step.Status != c.status || step.Data.String() != c.output || !step.CompletedAt.Equal(j.now) {
			t.Errorf("step = %+v, want %s with %s", step, c.status, c.output)
		}
	}
}

func TestReviewerOfAVerdictIsStoredCleanAndNotShown(t *testing.T) {
	j := finishedOpen(t).do(rules.GiveVerdict{Decision: rules.DecisionApprove, By: "as\x00ha\xff"})
	given, _ := j.history[len(j.history)-1].Fact.(rules.VerdictRecorded)
	if given.By != "asha" || j.run.Verdict.By != "asha" {
		t.Errorf("by = %q, want asha", given.By)
	}
}

func TestASecondVerdictReplacesTheFirstAsAWhole(t *testing.T) {
	j := finishedOpen(t).approve("first").after(time.Hour).reject("second")
	if d := j.detail(); d.Decision != rules.DecisionReject || d.Notes != "second" || !d.ResolvedAt.Equal(j.now) {
		t.Errorf("detail = %q, %q at %v, want the second verdict", d.Decision, d.Notes, d.ResolvedAt)
	}
	j.after(time.Hour).approve("")
	if d := j.detail(); d.Decision != rules.DecisionApprove || d.Notes != "" || !d.ResolvedAt.Equal(j.now) {
		t.Errorf("detail = %q, %q at %v, want the third verdict without notes", d.Decision, d.Notes, d.ResolvedAt)
	}
	j.after(time.Hour).approve("")
	if d := j.detail(); !d.ResolvedAt.Equal(j.now) {
		t.Errorf("resolved at %v, want the newest verdict even where it says the same", d.ResolvedAt)
	}
}

func TestCancelTwiceIsHarmless(t *testing.T) {
	j := checked(t).cancel().after(time.Minute)
	ended, before := j.detail().CompletedAt, len(j.history)
	if j.cancel(); len(j.history) != before || !j.detail().CompletedAt.Equal(ended) {
		t.Errorf("the second cancel left %s, ended at %v", flows.Kinds(j.history[before:]), j.detail().CompletedAt)
	}
}

func TestCancelOfAnotherTerminalRunNamesTheStatus(t *testing.T) {
	for _, c := range []struct {
		j    *journey
		want string
	}{
		{finishedOpen(t), "completed"},
		{checked(t).fail(), "failed"},
		{checked(t).after(2 * time.Hour), "expired"},
	} {
		_, err := c.j.try(rules.Cancel{})
		want := "run: the run is " + c.want + " and can no longer be cancelled"
		if flows.Outcome(nil, err) != "conflict" || err.Error() != want {
			t.Errorf("Cancel = %v, want %s", err, want)
		}
	}
}

func TestASignalWithTheSameRequestIsDeliveredOnce(t *testing.T) {
	submit := rules.Submit{Signal: "consent_submitted", Payload: verification.Data(consents), Request: "one"}
	approve := rules.GiveVerdict{Decision: rules.DecisionApprove, Request: "two"}
	j := begin(t, flows.DeskFlow(), wantsTwo).do(submit).pass().do(approve)
	for _, c := range []rules.Command{submit, approve} {
		if got := flows.Outcome(j.try(c)); got != "nothing" {
			t.Errorf("%T again = %s, want nothing", c, got)
		}
	}
	want := []rules.SignalReceipt{
		{Request: "one", Node: "consent"}, {Request: "two", Node: "review", Verdict: rules.DecisionApprove},
	}
	for _, w := range want {
		if got, ok := j.run.Receipt(w.Request); !ok || got != w {
			t.Errorf("Receipt(%s) = %+v, %t; want %+v", w.Request, got, ok, w)
		}
	}
	if with, without := j.run.Size(), begin(t, flows.DeskFlow(), wantsTwo).submit(consents).pass().approve("").run.Size(); with <= without {
		t.Errorf("the size of a run with receipts is %d, want more than %d", with, without)
	}
	approve.Request = "three"
	if got := flows.Outcome(j.try(approve)); got != "verdict_recorded, completed" {
		t.Errorf("another request = %s, want the second review to be decided", got)
	}
	if _, ok := j.run.Receipt(""); ok {
		t.Error("there is a receipt of no request")
	}
}

func TestAConfirmationWithoutNotesHasThoseProposed(t *testing.T) {
	for _, c := range []struct{ notes, want string }{{"", "seen"}, {"I agree.", "I agree."}} {
		j := begin(t, flows.FourEyes(), wantsOne).submit(consents).pass().propose().after(time.Minute)
		second := verdictBy("ravi", rules.DecisionApprove)
		second.Notes = c.notes
		j.do(second)
		want := rules.Verdict{
			Node: "review", Decision: rules.DecisionApprove, Notes: c.want, By: "ravi", Identity: "ravi", At: j.now,
		}
		if diff := cmp.Diff(want, j.run.Verdict); diff != "" {
			t.Errorf("verdict (-want +got):\n%s", diff)
		}
		if j.run.Proposal != (rules.Verdict{}) {
			t.Errorf("the proposal %+v outlived its confirmation", j.run.Proposal)
		}
	}
}

func TestTheReasonWhyAVerdictNeedsAnotherPersonIsSaid(t *testing.T) {
	j := begin(t, flows.FourEyes(), wantsOne).submit(consents).pass()
	const noPerson = "run: the verdict needs two reviewers; each of them must send the access token of a person"
	for _, c := range []struct {
		j       *journey
		command rules.Command
		want    string
	}{
		{j, rules.GiveVerdict{Decision: rules.DecisionApprove, By: "acme"}, noPerson},
		{j, rules.GiveVerdict{Decision: rules.DecisionApprove, Identity: "\x00"}, noPerson},
		{j.fork().propose(), rules.ReturnProposal{By: "acme"}, noPerson},
		{j, rules.ReturnProposal{Identity: "asha"}, "run: no verdict is proposed"},
		{
			j.fork().propose(), verdictBy("asha", rules.DecisionReject),
			"run: you have proposed a verdict; another reviewer must confirm it or send it back",
		},
		{
			j.fork().propose(),
			rules.GiveVerdict{Decision: rules.DecisionApprove, By: "someone else", Identity: "asha\x00"},
			"run: you have proposed a verdict; another reviewer must confirm it or send it back",
		},
		{
			j.fork().propose(), atProvider("2", rules.DecisionApprove),
			"run: you and the reviewer who proposed the verdict may be one person, since you have the same name " +
				"or used different ways to sign in; send it back, or let another reviewer confirm it",
		},
		{
			j.fork().propose(),
			rules.GiveVerdict{Decision: rules.DecisionApprove, By: "Asha", Identity: "another"},
			"run: you and the reviewer who proposed the verdict may be one person, since you have the same name " +
				"or used different ways to sign in; send it back, or let another reviewer confirm it",
		},
	} {
		events, err := c.j.try(c.command)
		if flows.Outcome(events, err) != "conflict" || err.Error() != c.want {
			t.Errorf("%+v = %v, want %s", c.command, err, c.want)
		}
	}
}

func TestAProposalThatWasSentBackCanBeMadeAgainByAnyone(t *testing.T) {
	for _, back := range []rules.Command{
		verdictBy("ravi", rules.DecisionReject),
		rules.GiveVerdict{Decision: rules.DecisionReject, By: "asha", Identity: "namesake"},
		rules.ReturnProposal{Notes: "Look again.", By: "ravi", Identity: "ravi"},
		rules.ReturnProposal{By: "asha", Identity: "asha"}, // withdrawn
	} {
		for _, who := range []string{"asha", "ravi"} {
			j := begin(t, flows.FourEyes(), wantsOne).submit(consents).pass().propose().do(back)
			if got := flows.Outcome(j.try(verdictBy(who, rules.DecisionApprove))); got != "verdict_proposed" {
				t.Errorf("after %+v a verdict of %s = %s, want a proposal", back, who, got)
			}
		}
	}
	_, err := begin(t, flows.FourEyes(), wantsOne).submit(consents).pass().propose().
		try(rules.ReturnProposal{Notes: strings.Repeat("x", 10001), Identity: "ravi"})
	want := []verification.FieldError{{Name: "payload.notes", Message: "must be at most 10000 characters"}}
	if diff := cmp.Diff(want, flows.FieldsOf(t, err)); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

// The step Manual review needs two people, and Second look one.
func TestAReviewStepMayAskForTwoPeople(t *testing.T) {
	d := flows.DeskFlow()
	flows.Edit("review", func(n *workflow.Node) { n.FourEyes = true })(&d)
	only := begin(t, d, wantsOne).submit(consents).pass()
	for _, c := range []struct {
		name    string
		j       *journey
		command rules.Command
		want    string
	}{
		{"an API client", only, rules.GiveVerdict{Decision: rules.DecisionApprove}, "conflict"},
		{"an API client asks again", only, rules.AskAgain{Step: "consent", Reasons: []string{"other"}}, "conflict"},
		{"a person asks again", only, rules.AskAgain{Step: "consent", Reasons: []string{"other"}, Identity: "asha"}, "asked_again, customer_awaited"},
		{"one person", only, verdictBy("asha", rules.DecisionApprove), "verdict_proposed"},
		{"the same person again", only.fork().propose(), verdictBy("asha", rules.DecisionApprove), "conflict"},
		{"an API client undoes a proposal", only.fork().propose(), rules.AskAgain{Step: "consent", Reasons: []string{"other"}}, "conflict"},
		{"another person", only.fork().propose(), verdictBy("ravi", rules.DecisionApprove), "verdict_recorded, branch_taken, completed"},
		{"another person, who does not agree", only.fork().propose(), verdictBy("ravi", rules.DecisionReject), "proposal_returned"},
	} {
		if got := flows.Outcome(c.j.try(c.command)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	over := only.fork().propose().do(verdictBy("ravi", rules.DecisionApprove))
	if over.run.Ended == "" || over.decision() != rules.DecisionApprove {
		t.Fatalf("the run is %s with the decision %q", over.status(), over.decision())
	}
	for who, want := range map[string]string{"": "conflict", "asha": "verdict_proposed"} {
		if got := flows.Outcome(over.try(verdictBy(who, rules.DecisionReject))); got != want {
			t.Errorf("one person, %q, replaces the verdict of two: %s, want %s", who, got, want)
		}
	}
	historyFolds(t, over)

	second := begin(t, d, wantsTwo).submit(consents).pass().propose().do(verdictBy("ravi", rules.DecisionApprove))
	if second.run.Wait().Node != "again" {
		t.Fatalf("the run waits at %s", second.run.Wait().Node)
	}
	if got := flows.Outcome(second.try(rules.GiveVerdict{Decision: rules.DecisionApprove})); got != "verdict_recorded, completed" {
		t.Errorf("one verdict at the second step: %s", got)
	}
	none := begin(t, d, "").submit(consents).pass() // it never comes to the step
	if got := flows.Outcome(none.try(rules.GiveVerdict{Decision: rules.DecisionReject})); got != "verdict_recorded" {
		t.Errorf("a verdict on a run without the step: %s", got)
	}
}

func TestAProposalWithTheSameRequestIsDeliveredOnce(t *testing.T) {
	first := verdictBy("asha", rules.DecisionApprove)
	second := verdictBy("ravi", rules.DecisionReject)
	first.Request, second.Request = "one", "two"
	j := begin(t, flows.FourEyes(), wantsOne).submit(consents).pass()
	for _, c := range []struct {
		give rules.GiveVerdict
		want rules.SignalReceipt
	}{
		{first, rules.SignalReceipt{Request: "one", Node: "review", Verdict: rules.DecisionApprove, Proposed: true}},
		{second, rules.SignalReceipt{Request: "two", Node: "review", Verdict: rules.DecisionReject, Returned: true}},
	} {
		j.do(c.give)
		if got, _ := j.run.Receipt(c.want.Request); got != c.want {
			t.Errorf("Receipt = %+v, want %+v", got, c.want)
		}
		if got := flows.Outcome(j.try(c.give)); got != "nothing" {
			t.Errorf("the same request again = %s, want nothing", got)
		}
	}
}
