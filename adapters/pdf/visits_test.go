package pdf_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/report"
	"github.com/verifyd/verifyd/verification/rules"
)

// visit is an earlier visit of a step of the sample.
func visit(number int, status rules.CardStatus, reason, data string) rules.CardVisit {
	return rules.CardVisit{
		Number: number, Status: status, Reason: reason, StartedAt: at(100 * number), CompletedAt: at(100*number + 3),
		Dispatches: 1, Data: verification.Data(data),
	}
}

// looped is the sample with a check whose first visit had a hit.
func looped() report.Print {
	r := sample()
	r.Summary = rules.ReportSummary{OK: 4, NeedsReview: 1}
	c := &r.Cards[3]
	c.Label, c.Status, c.Dispatches = "Sanctions screening", rules.CardNeedsReview, 3
	c.Reason = "On an earlier visit, the analysis could not be completed with confidence."
	c.Data = verification.Data(`{"analysis_ok":true,"list":"fictional","name":"Asha Rao"}`)
	c.Visits = []rules.CardVisit{
		visit(1, rules.CardNeedsReview, "The analysis could not be completed with confidence.",
			`{"analysis_ok":false,"list":"fictional","name":"Viktor Zamoyskov","hits":[{"id":"fictional-001","score":0.993}]}`),
		visit(2, rules.CardFailed, "The check did not pass.", `{"analysis_ok":true,"list":"fictional","name":"Li Wei"}`),
	}
	return r
}

func TestEarlierVisitsArePrintedBelowTheLast(t *testing.T) {
	doc := render(t, plain(t), looped())
	check(t, doc)
	got, at := text(t, doc), 0
	for _, want := range []string{
		"Sanctions screening", "Visits\n3; here is visit 3", "Asha Rao", "Visit 2 of 3\n", "FAILED", "The check did not pass.", "Li Wei",
		"Visit 1 of 3\n", "FLAGGED", "The analysis could not be completed with confidence.", "fictional-001",
	} {
		i := strings.Index(got[at:], want)
		if i < 0 {
			t.Fatalf("the document does not show %q after the things before it:\n%s", want, got)
		}
		at += i
	}
}

func TestVisitsThatAreNotPrintedAreCounted(t *testing.T) {
	r := looped()
	r.Cards[3].VisitsOmitted = 1700
	if got := text(t, render(t, plain(t), r)); !strings.Contains(got, "1,700 more earlier visits") || !strings.Contains(got, "1,703; here is visit 1,703") {
		t.Errorf("the document does not count the visits that the report leaves out:\n%s", got)
	}
	r = sample()
	for i := range r.Cards {
		for n := range 100 {
			r.Cards[i].Visits = append(r.Cards[i].Visits, visit(n+1, rules.CardOK, "", string(object(20, "field", "value"))))
		}
	}
	if got := text(t, render(t, plain(t), r)); !strings.Contains(got, "more earlier visits of this step are not printed here") {
		t.Error("a document of 500 visits with 20 values each is printed as a whole")
	}
}

// The run of the history was flagged, completed, and got a verdict afterwards.
func TestThePrintedReportIsTheSameAfterAVerdict(t *testing.T) {
	history := []rules.Event{
		{At: at(0), Fact: rules.Started{WorkflowName: "Onboarding", Version: 1, ReferenceID: "person-1"}},
		{At: at(1), Fact: rules.Dispatched{Node: "pan", Key: "pan", Label: "PAN", Provider: "registry", Dispatch: 1, Visit: 1}},
		{At: at(2), Fact: rules.ResultRecorded{Node: "pan", Passed: true, Data: verification.Data(`{"source_ok":false}`)}},
		{At: at(2), Fact: rules.Completed{Node: "done", Outcome: "approved"}},
	}
	printed := func(history []rules.Event) []byte {
		r := report.Print{Report: rules.MakePrint("0191f3c0-7a11-7c2e-9b52-6f0a4c1d2e3f", history, at(9))}
		r.Digest = sample().Digest // it is over the history, so it differs
		return render(t, plain(t), r)
	}
	before := printed(history)
	for _, d := range []rules.Decision{rules.DecisionApprove, rules.DecisionReject} {
		after := printed(append(history[:4:4], rules.Event{At: at(3), Fact: rules.VerdictRecorded{Decision: d, Notes: "private"}}))
		if !bytes.Equal(before, after) {
			t.Errorf("the document shows something of the verdict %s:\n%s", d, text(t, after))
		}
	}
	if got := text(t, before); !strings.Contains(got, "FLAGGED") || strings.Contains(got, "reviewer") || strings.Contains(got, "approved") {
		t.Errorf("the document shows\n%s", got)
	}
}

func TestTheHeadlineOfACompletedRunIsNeutral(t *testing.T) {
	const green = "0.090 0.376 0.239" // of toneGood
	greens := func(s rules.Status) int {
		r := sample()
		r.Run.Status = s
		return strings.Count(string(render(t, plain(t), r)), green)
	}
	if got, want := greens(rules.StatusCompleted), greens(rules.StatusCancelled); got != want || want == 0 {
		t.Errorf("the report of a completed run has %d green parts, and of a cancelled one %d: want as many", got, want)
	}
}

func TestWhatAnInconclusiveSourceFoundIsPrinted(t *testing.T) {
	r := looped()
	r.Cards[3].Found, r.Cards[3].Visits[0].Found = verification.Data(`{"likeness":0.62}`), verification.Data(`{"likeness":0.55}`)
	got := text(t, render(t, plain(t), r))
	last, first, _ := strings.Cut(got, "Visit 1 of 3\n")
	for _, part := range []struct{ text, want string }{{last, "0.62"}, {first, "0.55"}} {
		if !strings.Contains(part.text, "Found, which decides nothing") || !strings.Contains(part.text, part.want) {
			t.Errorf("the document does not show what was found, %s:\n%s", part.want, part.text)
		}
	}
}
