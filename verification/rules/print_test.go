package rules_test

import (
	"slices"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/report"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// printed returns the print of a journey's run, with the same description for each provider.
func printed(j *journey, d verification.ProviderDescription, forFile bool) report.Print {
	return report.Of(j.run, j.program, j.history, j.now, flows.TenantID, func(string) verification.ProviderDescription { return d }, forFile)
}

func TestAConsentIsPrintedAsItWasShown(t *testing.T) {
	d := flows.DeskFlow()
	flows.Edit("consent", func(n *workflow.Node) {
		n.Text, n.TextIn = "I agree.", workflow.Translations{"en": "I agree.", "hi": "सहमत"}
	})(&d)
	j := begin(t, d, "")
	j.do(rules.Submit{WaitNumber: j.run.Wait().Number, Language: "hi", Payload: flows.Data(t, consents)}).pass().cancelIfLive()
	got := printed(j, verification.ProviderDescription{}, false).Consents
	if len(got) != 1 || got[0].Text != "सहमत" || got[0].Language != "hi" || !got[0].Agreed || !got[0].At.Equal(flows.Noon()) || len(got[0].SHA256) != 64 {
		t.Errorf("consents = %+v, want the text in Hindi", got)
	}
	for _, language := range []string{"", "fr"} {
		j := begin(t, d, "")
		j.do(rules.Submit{WaitNumber: j.run.Wait().Number, Language: language, Payload: flows.Data(t, `{"consent_status":"declined"}`)})
		got := printed(j, verification.ProviderDescription{}, false).Consents
		if len(got) != 1 || got[0].Text != "I agree." || got[0].Language != "" || got[0].Agreed {
			t.Errorf("consents in %q = %+v, want the default text", language, got)
		}
	}
}

// cancelIfLive cancels a run that is not over.
func (j *journey) cancelIfLive() *journey {
	if j.run.Ended == "" {
		j.cancel()
	}
	return j
}

func TestPrintedFieldsAreInTheOrderOfTheForm(t *testing.T) {
	form := flows.Define("details", flows.Nodes{
		"details": {Type: workflow.NodeCustomerInput, Next: "done", Fields: workflow.InputFields{
			{Name: "zip", Type: workflow.FieldText, Label: "Postal code"},
			{Name: "address", Type: workflow.FieldText, Label: "Address"},
			{Name: "late", Type: workflow.FieldText, Label: "Late"},
		}},
		"done": flows.EndNode(),
	})
	form.InputSchema = verification.Data(`{"properties":{"z":{"title":"Zed"},"a":{}}}`)
	j := begin(t, form, `{"a":1,"b":{"x":1},"z":2}`).submit(`{"address":"Fort","zip":"400001"}`)
	p := printed(j, verification.ProviderDescription{}, false)
	if got, want := string(p.Cards[0].Data), `{"zip":"400001","address":"Fort"}`; got != want {
		t.Errorf("the printed form is %s, want %s", got, want)
	}
	if got := p.Cards[0].DataSchema.Field("zip").Title(); got != "Postal code" {
		t.Errorf("the label is %q", got)
	}
	if got, want := string(p.Input), `{"z":2,"a":1,"b":{"x":1}}`; got != want || p.InputSchema.Field("z").Title() != "Zed" {
		t.Errorf("the printed input is %s, want %s with titles", got, want)
	}
}

func TestPrintedChecksSayWhatTheyWereAsked(t *testing.T) {
	d := flows.Screening("a", "b")
	flows.Edit("a", func(n *workflow.Node) { n.With = verification.Data(`{"number":"${pan}"}`) })(&d)
	j := begin(t, d, "").screened(resultOf("sanctions", "v1")).pass()
	described := verification.ProviderDescription{
		With: verification.Data(`{"properties":{"number":{"title":"PAN"}}}`), Data: verification.Data(`{"properties":{"name":{"title":"Name"}}}`),
	}
	p := printed(j, described, false)
	a, b := p.Sources["a"], p.Sources["b"]
	if string(a.Asked) != `{"number":"ABCDE1234F","reference":"customer-1","run":"`+string(flows.RunID)+`"}` || a.AskedSchema.Field("number").Title() != "PAN" || a.List != "sanctions" ||
		a.ListVersion != "v1" || len(a.Providers) != 1 {
		t.Errorf("the source of a is %+v", a)
	}
	if b.Asked != nil || b.List != "" {
		t.Errorf("the source of b is %+v, want nothing asked", b)
	}
	if got := p.Cards[0].DataSchema.Field("name").Title(); got != "Name" {
		t.Errorf("the title of an answer is %q", got)
	}
}

func TestARunWithoutVerdictsHasNoDataOfReviews(t *testing.T) {
	j := begin(t, flows.FourEyes(), wantsOne).submit(consents).pass().propose().after(time.Minute)
	j.do(verdictBy("vikram", rules.DecisionApprove))
	reviews := func(r rules.Run) (data, other int) {
		for _, s := range r.Steps {
			switch {
			case s.Type == workflow.NodeReview && s.Data != nil:
				data++
			case s.Data != nil:
				other++
			}
		}
		return data, other
	}
	before, others := reviews(j.run)
	if after, left := reviews(report.WithoutVerdicts(j.run)); before == 0 || after != 0 || left != others {
		t.Errorf("%d of %d reviews and %d of %d other steps have data, want none and all", after, before, left, others)
	}
	if again, _ := reviews(j.run); again != before {
		t.Errorf("the run itself has the data of %d reviews, want %d", again, before)
	}
}

func TestOnlyAPrintForTheFileHasVerdicts(t *testing.T) {
	j := begin(t, flows.FourEyes(), wantsOne).submit(consents).pass().propose().after(time.Minute)
	j.do(verdictBy("vikram", rules.DecisionApprove))
	p := printed(j, verification.ProviderDescription{}, false)
	if p.Judgements != nil || p.Decision != rules.DecisionNone || p.ForFile {
		t.Errorf("the print has %+v, %s", p.Judgements, p.Decision)
	}
	for _, c := range p.Cards {
		for _, s := range c.Sentences {
			if s.Key == "approved" || s.Key == "rejected" {
				t.Errorf("the card %s says %q", c.NodeID, c.Reason)
			}
		}
	}
	p = printed(j, verification.ProviderDescription{}, true)
	if len(p.Judgements) != 2 || p.Judgements[0].Kind != report.JudgementProposal || p.Judgements[1].Kind != report.JudgementVerdict ||
		p.Judgements[1].Identity != "vikram" || p.Decision != rules.DecisionApprove {
		t.Errorf("the print for the file has %+v, %s", p.Judgements, p.Decision)
	}
}

func TestAPrintForTheFileHasTheReasonInWords(t *testing.T) {
	d := flows.FourEyes()
	d.RejectReasons = flows.Reasons()
	j := begin(t, d, wantsOne).submit(consents).pass()
	for _, tt := range []struct{ identity, code, want string }{
		{"asha", "wrong_name", "The name does not match"},
		{"vikram", "", "The name does not match"}, // that of the proposal
		{"vikram", "other", "Other"},
	} {
		c := verdictBy(tt.identity, rules.DecisionReject)
		c.Reason = tt.code
		j.do(c)
		all := printed(j, verification.ProviderDescription{}, true).Judgements
		if got := all[len(all)-1].ReasonLabel; got != tt.want {
			t.Errorf("the reason of %s is %q, want %q", tt.identity, got, tt.want)
		}
	}
}

func TestAPrintHasGroupsAndRoundsInWords(t *testing.T) {
	j := atReview(t).do(askAgain("name")).cancel()
	for forFile, by := range map[bool]string{false: "", true: "asha"} {
		p := printed(j, verification.ProviderDescription{}, forFile)
		want := []report.Round{{ReasonLabels: []string{"The picture is blurred."}, FieldLabels: []string{"name"}}}
		want[0].Round = p.Cards[1].Rounds[0]
		equal(t, "the rounds", p.Rounds["details"], want)
		if want[0].By != by {
			t.Errorf("for the file %t: the round is by %q, want %q", forFile, want[0].By, by)
		}
	}
	met := answered(t, group{need: 1, answers: []string{"passed"}}, "", "", 0).cancel()
	if got := printed(met, verification.ProviderDescription{}, false).Groups; len(got) != 1 || got[0].Status != rules.GroupMet {
		t.Errorf("the groups are %+v, want one that is met", got)
	}
}

// What a source found that cannot tell is in the report for the file, on the visit on which it was found, and in no other report.
func TestWhatASourceFoundIsForTheFile(t *testing.T) {
	d := rounds()
	pan := d.Nodes["pan"]
	pan.OnUnavailable = workflow.TargetNext
	d.Nodes["pan"] = pan
	j := begin(t, d, "").submit(`{"consent_status":"success"}`).submit(`{"name":"Asha"}`).pass().pass()
	j.do(askAgain("name")).submit(`{"name":"Asha Rao"}`).result(verification.OutcomeInconclusive, `{"score":0.62}`)
	for _, forFile := range []bool{true, false} {
		want := map[bool]string{true: `{"score":0.62}`, false: ""}[forFile]
		cards := rules.MakePrint(j.run.ID, j.history, j.now).Cards
		if forFile {
			cards = rules.MakeReport(j.run.ID, j.history, j.now).Cards
		}
		i := slices.IndexFunc(cards, func(c rules.Card) bool { return c.NodeID == "pan" })
		if got := cards[i].Found.String(); got != want {
			t.Errorf("for the file: %t: found %s, want %s", forFile, got, want)
		}
		if got := cards[i].Data.String(); got != `{"no_answer":"inconclusive","source_ok":false}` || cards[i].Visits[0].Found != nil {
			t.Errorf("for the file: %t: the data is %s, and the first visit found %s", forFile, got, cards[i].Visits[0].Found)
		}
	}
	if got := j.detail().Checks[0].Data.String(); got != `{"no_answer":"inconclusive","source_ok":false}` {
		t.Errorf("the API shows %s", got)
	}
}

func TestACustomerWhoIsAskedAgainKeepsTheirAnswer(t *testing.T) {
	j := atReview(t).do(askAgain("name"))
	step := func(r rules.Run) string { s, _ := r.Step("details"); return s.Data.String() }
	if got := step(j.run.WithEarlierAnswers()); got != `{"name":"Asha"}` || step(j.run) != "" {
		t.Errorf("the answers are %q, and %q with the earlier one", step(j.run), got)
	}
	if got := step(j.submit(`{"name":"Rao"}`).run.WithEarlierAnswers()); got != `{"name":"Rao"}` {
		t.Errorf("the answer is %q, want the new one", got)
	}
}
