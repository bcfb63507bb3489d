package rules_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestReportDescribesTheWholeRun(t *testing.T) {
	j := begin(t, flows.Ladder(), "").after(time.Minute).submit(consents)
	j.after(time.Minute).submit(`{"pan":"ABCDE1234F","place":{"denied":true}}`)
	j.after(time.Second).result(verification.OutcomeFailed, `{"name_match":0.3}`)
	j.after(time.Minute).approve("fine").after(time.Second).pass().after(time.Minute)
	minute := func(n int) time.Time { return flows.Noon().Add(time.Duration(n) * time.Minute) }
	approved := " A reviewer approved the run."
	want := rules.Report{
		Run: rules.ReportRun{
			ID: flows.RunID, ReferenceID: "customer-1", Status: rules.StatusCompleted,
			StartedAt: flows.Noon(), CompletedAt: minute(3).Add(2 * time.Second),
		},
		Workflow: rules.ReportWorkflow{
			ID: flows.WorkflowID, Name: "Onboarding", Version: 3, VersionHash: flows.Ladder().VersionHash(),
		},
		Summary: rules.ReportSummary{OK: 4, Failed: 1},
		Cards: []rules.Card{
			{
				NodeID: "consent", Type: workflow.NodeConsent, Label: "Consent", Status: rules.CardOK,
				StartedAt: flows.Noon(), CompletedAt: minute(1), Data: verification.Data(consents),
			},
			{
				NodeID: "details", Type: workflow.NodeCustomerInput, Label: "Your details", Status: rules.CardOK,
				Reason: "The customer's location was not shared or lies outside the allowed area." + approved, Causes: []rules.Cause{rules.CauseLocation},
				StartedAt: minute(1), CompletedAt: minute(2),
				Data: verification.Data(`{"pan":"ABCDE1234F","place":{"denied":true},"geo_ok":false}`),
			},
			{
				NodeID: "pan", Type: workflow.NodeCheck, Key: "pan_verification", Label: "PAN", Status: rules.CardFailed,
				Reason: "The check did not pass.", StartedAt: minute(2), CompletedAt: minute(2).Add(time.Second),
				Dispatches: 1, Data: verification.Data(`{"name_match":0.3}`),
			},
			{
				NodeID: "review", Type: workflow.NodeReview, Label: "Manual review", Status: rules.CardOK,
				Reason: "The PAN did not pass." + approved, Causes: []rules.Cause{rules.CauseReviewStep},
				StartedAt: minute(2).Add(time.Second), CompletedAt: minute(3).Add(time.Second),
			},
			{
				NodeID: "face", Type: workflow.NodeCheck, Key: "face", Label: "Face match", Status: rules.CardOK,
				StartedAt: minute(3).Add(time.Second), CompletedAt: minute(3).Add(2 * time.Second), Dispatches: 1,
			},
		},
		Flags: []rules.Flag{
			{NodeID: "details", Label: "Your details", Reason: "The customer's location was not shared or lies outside the allowed area."},
			{NodeID: "review", Label: "Manual review", Reason: "The PAN did not pass."},
		},
		Concerns: []rules.Concern{
			{NodeID: "pan", Label: "PAN", Kind: rules.ConcernFailed, Sentences: []rules.Sentence{{Key: "not_passed", Provider: "registry"}}},
			{NodeID: "details", Label: "Your details", Kind: rules.ConcernFlag, Sentences: []rules.Sentence{rules.CauseLocation.Sentence()}},
		},
		Decision: rules.DecisionApprove, Notes: "fine", ResolvedAt: minute(3).Add(time.Second),
	}
	got := j.report()
	want.Digest = got.Digest // another test covers it
	if diff := cmp.Diff(want, got, cmp.Transformer("", verification.Data.String), reasonsOnly); diff != "" {
		t.Errorf("MakeReport (-want +got):\n%s", diff)
	}
	if len(got.Digest) != 64 {
		t.Errorf("digest = %q, want a SHA-256 in hexadecimal", got.Digest)
	}
}

func TestACardHasTheStatusAndTheReasonOfItsStep(t *testing.T) {
	lenient := flows.Single(func(n *workflow.Node) {
		n.OnFailed, n.OnUnavailable = workflow.TargetNext, workflow.TargetNext
	})
	dispatched := func() *journey {
		n := flows.Single(func(n *workflow.Node) { n.Retry = &workflow.Retry{MaxDispatches: 4} })
		return begin(t, n, "").noResult(false).redispatch().noResult(false).redispatch()
	}
	const unfinished, often = "The run ended before this step was finished.", "The step was dispatched three or more times."
	open := `{"source_ok":false}`
	const source, approved, rejected = "The source could not vouch for the answer.",
		" A reviewer approved the run.", " A reviewer rejected the run."
	for _, c := range []struct {
		name   string
		j      *journey
		status rules.CardStatus
		reason string
	}{
		{"passed", begin(t, lenient, "").pass(), rules.CardOK, ""},
		{"failed", begin(t, lenient, "").fail(), rules.CardFailed, "The check did not pass."},
		{"failed, run approved", begin(t, lenient, "").fail().approve(""), rules.CardFailed, "The check did not pass."},
		{"passed, run rejected", begin(t, lenient, "").pass().reject(""), rules.CardOK, ""},
		{"flagged", begin(t, lenient, "").result(verification.OutcomePassed, open), rules.CardNeedsReview, source},
		{"flagged and failed", begin(t, lenient, "").result(verification.OutcomeFailed, open), rules.CardNeedsReview, source},
		{"flagged, approved", begin(t, lenient, "").result(verification.OutcomeFailed, open).approve(""), rules.CardOK, source + approved},
		{"flagged, rejected", begin(t, lenient, "").result(verification.OutcomePassed, open).reject(""), rules.CardFailed, source + rejected},
		{
			"flagged, approved, then rejected", begin(t, lenient, "").result(verification.OutcomePassed, open).approve("").reject(""),
			rules.CardFailed, source + rejected,
		},
		{"outstanding, run cancelled", begin(t, lenient, "").cancel(), rules.CardFailed, unfinished},
		{"outstanding, run expired", begin(t, lenient, "").after(2 * time.Hour), rules.CardFailed, unfinished},
		{"outstanding, run broken", begin(t, lenient, "").do(rules.Abort{Node: "pan"}), rules.CardFailed, unfinished},
		{"outstanding, run cancelled, then approved", begin(t, lenient, "").cancel().approve(""), rules.CardFailed, unfinished},
		{"flagged and outstanding, run cancelled", dispatched().cancel(), rules.CardFailed, often + " " + unfinished},
		{
			"flagged and outstanding, run cancelled, then approved", dispatched().cancel().approve(""),
			rules.CardOK, often + " " + unfinished + approved,
		},
		{"no result, run goes on", begin(t, lenient, "").noResult(true), rules.CardNeedsReview, source},
		{"no result, run failed", begin(t, flows.Single(nil), "").noResult(true), rules.CardFailed, "The source gave no answer."},
	} {
		if got := c.j.card("pan"); got.Status != c.status || got.Reason != c.reason {
			t.Errorf("%s: the card is %s: %q, want %s: %q", c.name, got.Status, got.Reason, c.status, c.reason)
		}
	}
}

func TestWhichStepsHaveACardInAReport(t *testing.T) {
	four := func() *journey {
		return begin(t, flows.Single(func(n *workflow.Node) { n.Retry = &workflow.Retry{MaxDispatches: 4} }), "")
	}
	for _, c := range []struct {
		name string
		j    *journey
		want []verification.NodeID
	}{
		{"parked on the customer", atDesk(t), nil},
		{"cancelled at the customer", atDesk(t).cancel(), []verification.NodeID{"consent"}},
		{"expired at the customer", atDesk(t).after(2 * time.Hour), []verification.NodeID{"consent"}},
		{"a dispatch is out", checked(t), []verification.NodeID{"consent"}},
		{"cancelled while a dispatch is out", checked(t).cancel(), []verification.NodeID{"consent", "pan"}},
		{"broken at a check", checked(t).do(rules.Abort{Node: "pan"}), []verification.NodeID{"consent", "pan"}},
		{"a third dispatch is out", four().noResult(false).redispatch().noResult(false).redispatch(), []verification.NodeID{"pan"}},
		{"parked on review", onReview(t), []verification.NodeID{"consent", "pan", "review"}},
		{"cancelled on review", onReview(t).cancel(), []verification.NodeID{"consent", "pan", "review"}},
		{"failed", checked(t).fail(), []verification.NodeID{"consent", "pan"}},
		{"back at the customer", begin(t, flows.Loop(), "").submit(`{"pan":"x"}`).fail(), []verification.NodeID{"details", "pan"}},
		{"checking again", begin(t, flows.Loop(), "").submit(`{"pan":"x"}`).fail().submit(`{"pan":"y"}`), []verification.NodeID{"details", "pan"}},
	} {
		var got []verification.NodeID
		for _, card := range c.j.report().Cards {
			got = append(got, card.NodeID)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: cards (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestAVerdictDoesNotSettleAnUnfinishedStep(t *testing.T) {
	j := begin(t, flows.DeskFlow(), wantsTwo).submit(consents).pass().approve("fine").cancel()
	const reason = "The workflow asks for a manual review."
	if got, want := j.card("again"), reason+" The run ended before this step was finished."; got.Status != rules.CardFailed || got.Reason != want {
		t.Errorf("the second review is %s: %q, want failed: %q", got.Status, got.Reason, want)
	}
	if got, want := j.card("review"), reason+" A reviewer approved the run."; got.Status != rules.CardOK || got.Reason != want {
		t.Errorf("the first review is %s: %q, want ok: %q", got.Status, got.Reason, want)
	}
}

func TestReviewCardShowsNoData(t *testing.T) {
	j := onReview(t).approve("private")
	if got := j.card("review"); got.Data != nil {
		t.Errorf("data = %s, want none: the verdict stands beside the cards", got.Data)
	}
}

func TestFlaggedCardsNeedReviewUntilTheSecondVerdict(t *testing.T) {
	j := begin(t, flows.DeskFlow(), wantsTwo).submit(consents).pass().approve("fine")
	for _, c := range j.report().Cards {
		want := rules.CardOK
		if c.Type == workflow.NodeReview {
			want = rules.CardNeedsReview
		}
		if c.Status != want {
			t.Errorf("the card %s is %s, want %s", c.NodeID, c.Status, want)
		}
	}
}

func TestAReportDoesNotDependOnTheRecordOfTheExpiry(t *testing.T) {
	read := onReview(t).after(2 * time.Hour)
	written := read.fork().do(rules.Expire{})
	equal(t, "the report", read.report(), written.report())
	if before := len(read.history); len(written.history) != before+1 {
		t.Fatalf("Expire wrote %d events, want one", len(written.history)-before)
	}
	early := read.fork()
	early.now = flows.Noon()
	if early.report().Digest == read.report().Digest {
		t.Error("the digest does not change with the expiry")
	}
}

func TestReportOfARunInProgressShowsItsFinishedSteps(t *testing.T) {
	r := checked(t).report()
	if r.Run.Status != rules.StatusInProgress || !r.Run.CompletedAt.IsZero() || r.Error != nil || len(r.Digest) != 64 {
		t.Errorf("report = %+v", r)
	}
}

func TestAPrintedReportTellsNoVerdict(t *testing.T) {
	onPaper := func(j *journey) rules.Report {
		r := rules.MakePrint(j.run.ID, j.history, j.now)
		r.Digest = ""
		return r
	}
	completed := begin(t, flows.Single(nil), "").result(verification.OutcomePassed, `{"source_ok":false}`)
	before := onPaper(completed)
	if c := before.Cards[0]; c.Status != rules.CardNeedsReview || c.Reason != "The source could not vouch for the answer." {
		t.Errorf("the printed card is %s: %q, want the flag", c.Status, c.Reason)
	}
	equal(t, "the printed report after the verdict", onPaper(completed.after(time.Minute).approve("private")), before)
	equal(t, "the printed report after another verdict", onPaper(completed.after(time.Minute).reject("")), before)

	stopped := checked(t).cancel()
	before = onPaper(stopped)
	equal(t, "the printed report of a cancelled run after a verdict", onPaper(stopped.approve("")), before)

	approved := onPaper(onReview(t).after(time.Minute).approve("private"))
	review := approved.Cards[2]
	if review.Status != rules.CardNeedsReview || !review.CompletedAt.IsZero() || review.Data != nil || review.Reason != "The workflow asks for a manual review." {
		t.Errorf("the printed card of the review is %+v, want neither verdict nor time", review)
	}
	if approved.Flags != nil || approved.Decision != "" || approved.Notes != "" || !approved.ResolvedAt.IsZero() {
		t.Errorf("the printed report has %v, %q, %q, %v", approved.Flags, approved.Decision, approved.Notes, approved.ResolvedAt)
	}
	equal(t, "the printed report after a rejection", onPaper(onReview(t).after(time.Minute).reject("")), approved)
}

// A rejection after the end takes the outcome away from every reader, and an approval brings it back.
func TestAnOutcomeIsNotReadAgainstADecision(t *testing.T) {
	accepted := func(data string) *journey {
		d := flows.Single(nil)
		flows.Edit("done", func(n *workflow.Node) { n.Outcome, n.Data = "accepted", verification.Data(`{"class":"${class}"}`) })(&d)
		return begin(t, d, "").result(verification.OutcomePassed, data)
	}
	refused := func() *journey {
		d := flows.DeskFlow()
		flows.Edit("done", func(n *workflow.Node) { n.Outcome, n.Data = "refused", verification.Data(`{"class":"${class}"}`) })(&d)
		return begin(t, d, wantsOne).submit(consents).pass().reject("")
	}
	const open = `{"analysis_ok":false}`
	for _, c := range []struct {
		name                     string
		j                        *journey
		outcome, noticed         string
		decision, noticeDecision rules.Decision
	}{
		{"nothing open", accepted(""), "accepted", "accepted", "", ""},
		{"open", accepted(open), "", "", "review", "review"},
		{"open, and approved", accepted(open).approve(""), "accepted", "", "approve", "review"},
		{"open, and rejected", accepted(open).reject(""), "", "", "reject", "review"},
		{"open, rejected and approved", accepted(open).reject("").approve(""), "accepted", "", "approve", "review"},
		{"nothing open, and rejected", accepted("").reject(""), "", "accepted", "reject", ""},
		{"rejected, and hits found", accepted("").reject("").found("e-1"), "", "accepted", "review", ""},
		{"hits found, and approved", accepted("").reject("").found("e-1").approve(""), "accepted", "accepted", "approve", ""},
		{"rejected on the way", refused(), "refused", "refused", "reject", "reject"},
		{"rejected on the way, then approved", refused().approve(""), "refused", "refused", "approve", "reject"},
		{"rejected on the way and again", refused().reject(""), "", "refused", "reject", "reject"},
	} {
		n := rules.EndNotice(c.j.run)
		if got := c.j.detail(); got.Outcome != c.outcome || got.Decision != c.decision {
			t.Errorf("%s: outcome %q, decision %q, want %q, %q", c.name, got.Outcome, got.Decision, c.outcome, c.decision)
		}
		if n.Run.Outcome != c.noticed || n.Decision != c.noticeDecision {
			t.Errorf("%s: the notice has outcome %q, decision %q, want %q, %q", c.name, n.Run.Outcome, n.Decision, c.noticed, c.noticeDecision)
		}
		list, report := c.j.run.Summary().View(c.j.now), c.j.report().Run
		for _, shown := range []struct {
			outcome string
			data    verification.Data
		}{{c.outcome, c.j.detail().Data}, {c.outcome, list.Data}, {c.outcome, report.Data}, {c.noticed, n.Run.Data}} {
			if (shown.outcome != "") != (shown.data != nil) {
				t.Errorf("%s: the outcome is %q, and the data of the end %s", c.name, shown.outcome, shown.data)
			}
		}
	}
}

func TestTheOutcomeOfTheEndNodeIsOnTheReport(t *testing.T) {
	def := flows.Refusal()
	done := def.Nodes["done"]
	done.Outcome = "refused"
	def.Nodes["done"] = done
	j := begin(t, def, "").submit(`{"consent_status":"declined"}`)
	if got := j.report().Run.Outcome; got != "" {
		t.Errorf("the outcome of a live run = %q, want none", got)
	}
	j.approve("")
	if got := j.report().Run.Outcome; got != "refused" {
		t.Errorf("the outcome of the completed run = %q, want refused", got)
	}
	last := j.history[len(j.history)-1].Fact
	equal(t, "the last event", last, rules.Fact(rules.Completed{Node: "done", Outcome: "refused"}))
}
