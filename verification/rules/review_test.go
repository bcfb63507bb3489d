package rules_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Each cause has one fixed sentence. Other values have none.
func TestDataFlagsAStep(t *testing.T) {
	const (
		source   = "The source could not vouch for the answer."
		analysis = "The analysis could not be completed with confidence."
		opted    = "The customer opted out of this step."
		geo      = "The customer's location was not shared or lies outside the allowed area."
		consent  = "The customer did not give consent."
	)
	for _, c := range []struct{ data, want string }{
		{`{"source_ok":false}`, source},
		{`{"source_ok":true}`, ""},
		{`{"source_ok":null}`, ""},
		{`{"source_ok":"false"}`, ""},
		{`{"source_ok":0}`, ""},
		{`{"Source_OK":false}`, ""},
		{`{"answer":{"source_ok":false}}`, ""},
		{`{"text":"\"source_ok\":false"}`, ""},
		{`{"source_\u006fk":false}`, source},
		{`{"source_ok":true,"source_ok":false}`, source},
		{`{"a":{"b":[{"c":"}"},1]},"d":"\\","e":"x\",\"y\":{","source_ok":false}`, source},
		{`{"source_ok":false,"a":[1,{"source_ok":true}],"b":{}}`, source},
		{`{"a":["source_ok",false],"b":":","source_ok":{"source_ok":false}}`, ""},
		{`{ "source_ok" : false }`, source},
		{`{"analysis_ok":false}`, analysis},
		{`{"analysis_ok":true}`, ""},
		{`{"opted_out":true}`, opted},
		{`{"opted_out":false}`, ""},
		{`{"opted_out":"true"}`, ""},
		{`{"geo_ok":false}`, geo},
		{`{"geo_ok":true}`, ""},
		{`{"consent_status":"success"}`, ""},
		{`{"consent_status":"\u0073uccess"}`, ""},
		{`{"consent_status":"declined"}`, consent},
		{`{"consent_status":""}`, consent},
		{`{"consent_status":null}`, consent},
		{`{"consent_status":true}`, consent},
		{`{"consent_status":{"success":true}}`, consent},
		{`{"other":false}`, ""},
		{`{}`, ""},
		{``, ""},
		{
			`{"consent_status":"no","geo_ok":false,"opted_out":true,"analysis_ok":false,"source_ok":false}`,
			source + " " + analysis + " " + opted + " " + geo + " " + consent,
		},
	} {
		j := begin(t, flows.Single(nil), "").result(verification.OutcomePassed, c.data)
		var want []rules.Flag
		decision := rules.DecisionNone
		if c.want != "" {
			want = []rules.Flag{{NodeID: "pan", Label: "PAN", Reason: c.want}}
			decision = rules.DecisionReview
		}
		if diff := cmp.Diff(want, j.detail().Flags, reasonsOnly); diff != "" {
			t.Errorf("data %s: reviews (-want +got):\n%s", c.data, diff)
		}
		if got := j.decision(); got != decision {
			t.Errorf("data %s: decision = %q, want %q", c.data, got, decision)
		}
	}
}

// A hit is a cause of its own, in place of the analysis, unless that has other reasons too. Hits alone
// flag nothing.
func TestAHitIsACauseOfItsOwn(t *testing.T) {
	const (
		hit      = "A possible match on a list was found."
		analysis = "The analysis could not be completed with confidence."
	)
	type causes = []rules.Cause
	one := &verification.ScreeningResult{List: "un", Hits: []verification.Hit{{ID: "e-1", Name: "Ivan Testov", Score: 1}}}
	for _, c := range []struct {
		data      string
		screening *verification.ScreeningResult
		want      string
		causes    causes
	}{
		{`{"analysis_ok":false,"hits":[{"id":"e-1"}]}`, one, hit, causes{rules.CauseHit}},
		{`{"analysis_ok":false,"source_ok":false}`, one, "The source could not vouch for the answer. " + hit, causes{rules.CauseSource, rules.CauseHit}},
		{`{"analysis_ok":false,"not_compared":["a word"]}`, one, hit + " " + analysis, causes{rules.CauseHit, rules.CauseAnalysis}},
		{`{"analysis_ok":false,"differs":["Name"]}`, one, hit + " " + analysis, causes{rules.CauseHit, rules.CauseAnalysis}},
		{`{"analysis_ok":false,"hits":[{"id":"e-1"}]}`, nil, analysis, causes{rules.CauseAnalysis}},
		{`{"analysis_ok":false}`, &verification.ScreeningResult{List: "un"}, analysis, causes{rules.CauseAnalysis}},
		{`{"analysis_ok":true}`, one, "", nil},
		{`{}`, one, "", nil},
	} {
		j := begin(t, flows.Single(nil), "").do(rules.RecordResult{
			Node: "pan", Dispatch: 1, Outcome: verification.OutcomePassed, Data: verification.Data(c.data), Screening: c.screening,
		})
		if got := j.card("pan"); got.Reason != c.want || !slices.Equal(got.Causes, c.causes) {
			t.Errorf("%s: the card has %q and %q, want %q and %q", c.data, got.Reason, got.Causes, c.want, c.causes)
		}
		flagged := len(j.detail().Flags) > 0
		if flagged != (c.want != "") || flagged && j.detail().Flags[0].Reason != c.want {
			t.Errorf("%s: reviews are %+v, want %q", c.data, j.detail().Flags, c.want)
		}
		review, _ := j.run.Review()
		if !slices.Equal(review.Causes, c.causes) {
			t.Errorf("%s: the queue has %q, want %q", c.data, review.Causes, c.causes)
		}
	}
}

func TestAnEarlierHitIsACauseOfItsOwn(t *testing.T) {
	screened := func(j *journey, data string, hits ...verification.Hit) *journey {
		return j.do(rules.RecordResult{
			Node: "list", Dispatch: j.run.Wait().Dispatch, Outcome: verification.OutcomePassed, Data: verification.Data(data),
			Screening: &verification.ScreeningResult{List: "un", Hits: hits},
		})
	}
	j := screened(begin(t, owners(), "").submit(`{"more":true}`), `{"analysis_ok":false}`, verification.Hit{ID: "e-1", Score: 1})
	card := screened(j.submit(`{"more":false}`), `{"analysis_ok":true}`).card("list")
	if want := "On an earlier visit, a possible match on a list was found."; card.Reason != want || !slices.Equal(card.Causes, []rules.Cause{rules.CauseHit}) {
		t.Errorf("the card has %q and %q, want %q", card.Reason, card.Causes, want)
	}
	if visit := card.Visits[0]; visit.Reason != "A possible match on a list was found." || !slices.Equal(visit.Causes, card.Causes) {
		t.Errorf("the visit has %q and %q", visit.Reason, visit.Causes)
	}
}

func TestHistoryFlagsAStep(t *testing.T) {
	const (
		recovered = "The step recovered from a failure."
		thrice    = "The step was dispatched three or more times."
	)
	four := flows.Single(func(n *workflow.Node) { n.Retry = &workflow.Retry{MaxDispatches: 4} })
	backed := flows.Single(func(n *workflow.Node) { n.Fallback = "backup" })
	lenient := flows.Single(func(n *workflow.Node) { n.OnFailed = workflow.TargetNext })
	for _, c := range []struct {
		name, want string
		j          *journey
	}{
		{"passed at once", "", begin(t, four, "").pass()},
		{"failed alone is no flag", "", begin(t, lenient, "").fail()},
		{"passed at the second dispatch", recovered, begin(t, four, "").noResult(false).redispatch().pass()},
		{"failed at the second dispatch", recovered, begin(t, lenient, "").noResult(false).redispatch().fail()},
		{
			"passed at the third dispatch", recovered + " " + thrice,
			begin(t, four, "").noResult(false).redispatch().noResult(false).redispatch().pass(),
		},
		{"passed after a failed poll", recovered, begin(t, four, "").pend("ticket-1").noResult(false).pass()},
		{"passed after being polled", "", begin(t, four, "").pend("ticket-1").pend("ticket-2").pass()},
		{"passed by the fallback", recovered, begin(t, backed, "").noResult(true).pass()},
		{"never answered", "", begin(t, four, "").noResult(true)},
		{
			"never result_recorded, three dispatches", thrice,
			begin(t, four, "").noResult(false).redispatch().noResult(false).redispatch().noResult(true),
		},
		{
			"the third dispatch is out", thrice,
			begin(t, four, "").noResult(false).redispatch().noResult(false).redispatch(),
		},
		{"the second dispatch is out", "", begin(t, four, "").noResult(false).redispatch()},
	} {
		var got string
		for _, f := range c.j.detail().Flags {
			got += f.Reason
		}
		if got != c.want {
			t.Errorf("%s: reason = %q, want %q", c.name, got, c.want)
		}
		queued := c.want != "" && c.j.status() == rules.StatusCompleted
		if (c.j.decision() == rules.DecisionReview) != queued {
			t.Errorf("%s: status %s and decision %q, want review: %v", c.name, c.j.status(), c.j.decision(), queued)
		}
	}
}

func TestSourceWithoutAnAnswerFlagsItsStep(t *testing.T) {
	j := begin(t, flows.Single(func(n *workflow.Node) { n.OnUnavailable = workflow.TargetNext }), "").noResult(true)
	want := []rules.Flag{{NodeID: "pan", Label: "PAN", Reason: "The source could not vouch for the answer."}}
	if diff := cmp.Diff(want, j.detail().Flags, reasonsOnly); diff != "" {
		t.Errorf("reviews (-want +got):\n%s", diff)
	}
	if j.decision() != rules.DecisionReview {
		t.Errorf("decision = %q, want review", j.decision())
	}
}

func TestStepThatFailedOnAnEarlierVisitHasRecovered(t *testing.T) {
	twice := func() *journey { return begin(t, flows.Loop(), "").submit(`{"pan":"x"}`).fail().submit(`{"pan":"y"}`) }
	for _, c := range []struct {
		name, want string
		j          *journey
	}{
		{"still out", "", twice()},
		{"failed again", "", twice().fail()},
		{"passed", "The step recovered from a failure.", twice().pass()},
		{
			"passed the third time", "The step recovered from a failure. The step was dispatched three or more times.",
			twice().fail().submit(`{"pan":"z"}`).pass(),
		},
	} {
		var got string
		for _, f := range c.j.detail().Flags {
			got += f.Reason
		}
		if got != c.want {
			t.Errorf("%s: reason = %q, want %q", c.name, got, c.want)
		}
	}
}

func TestReviewStepIsFlaggedOnceReached(t *testing.T) {
	for _, c := range []struct {
		name string
		j    *journey
		want rules.Flag
	}{
		{
			"with a reason of its own", begin(t, flows.Ladder(), "").submit(consents).submit(`{"pan":"ABCDE1234F"}`).fail(),
			rules.Flag{NodeID: "review", Label: "Manual review", Reason: "The PAN did not pass."},
		},
		{
			"without one", onReview(t),
			rules.Flag{NodeID: "review", Label: "Manual review", Reason: "The workflow asks for a manual review."},
		},
	} {
		for _, when := range []string{"parked", "decided", "much later"} {
			if diff := cmp.Diff([]rules.Flag{c.want}, c.j.detail().Flags, reasonsOnly); diff != "" {
				t.Errorf("%s, %s: reviews (-want +got):\n%s", c.name, when, diff)
			}
			if when == "parked" {
				c.j.approve("fine")
			}
			c.j.after(100 * time.Hour)
		}
	}
}

func TestFlagsComeInTheOrderOfTheSteps(t *testing.T) {
	j := begin(t, flows.Ladder(), "").submit(`{"consent_status":"declined"}`).submit(`{"opted_out":true}`).
		noResult(true).noResult(true).approve("") // the fallback gave no result either
	var got []verification.NodeID
	for _, f := range j.detail().Flags {
		got = append(got, f.NodeID)
	}
	if diff := cmp.Diff([]verification.NodeID{"consent", "details", "pan", "review"}, got); diff != "" {
		t.Errorf("flagged (-want +got):\n%s", diff)
	}
}

func TestOnlyCompletedRunsNeedAVerdictForFlags(t *testing.T) {
	open := func() *journey { return begin(t, flows.Ladder(), "").submit(`{"consent_status":"declined"}`) }
	details := `{"pan":"ABCDE1234F"}`
	for _, c := range []struct {
		name string
		j    *journey
		want rules.Decision
	}{
		{"parked on the customer", open(), rules.DecisionNone},
		{"abandoned", open().after(11 * time.Minute), rules.DecisionNone},
		{"running", open().submit(details), rules.DecisionNone},
		{"expired", open().after(2 * time.Hour), rules.DecisionNone},
		{"cancelled", open().cancel(), rules.DecisionNone},
		{"failed", open().submit(details).pass().fail(), rules.DecisionNone},
		{"completed", open().submit(details).pass().pass(), rules.DecisionReview},
	} {
		if got := c.j.decision(); got != c.want {
			t.Errorf("%s: decision = %q, want %q", c.name, got, c.want)
		}
		if len(c.j.detail().Flags) != 1 {
			t.Errorf("%s: reviews = %+v, want the flag of consent all the same", c.name, c.j.detail().Flags)
		}
	}
}
