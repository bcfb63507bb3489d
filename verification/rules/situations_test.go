package rules_test

import (
	"strings"
	"time"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// situation is a state that a run of the desk definition can have.
type situation struct {
	name  string
	reach func(t flows.Tester) *journey
}

// address returns a command about the check of the definition as one about the step that the situation is about, if
// it has one. It is about the current dispatch and wait of that step.
func (j *journey) address(c rules.Command) rules.Command {
	if j.about == "" {
		return c
	}
	dispatch, number := 1, 99
	if w, waits := j.run.WaitAt(j.about); waits {
		dispatch, number = w.Dispatch, w.Number
	}
	switch c := c.(type) {
	case rules.RecordResult:
		if c.Node == "pan" {
			c.Node = j.about
		}
		if c.Dispatch == 1 {
			c.Dispatch = dispatch
		}
		return c
	case rules.RecordFailure:
		c.Node, c.Dispatch = j.about, dispatch
		return c
	case rules.RecordCallback:
		c.WaitNumber = number
		return c
	case rules.RecordReturn:
		c.WaitNumber = number
		return c
	case rules.Abort:
		if c.Node == "pan" {
			c.Node = j.about
		}
		return c
	case rules.RecordHits:
		c.Node = j.about
		return c
	case rules.DecideHit:
		c.Node = j.about
		return c
	case rules.Submit:
		if j.run.Wait().Signal != "" { // a form
			c.Payload = verification.Data(strings.ReplaceAll(string(c.Payload), "consent_status", "pan"))
			other := map[string]string{"consent_1_submitted": "consent_2_submitted", "consent_2_submitted": "consent_1_submitted"}
			c.Signal = strings.NewReplacer("consent_submitted", j.run.Wait().Signal, "details_submitted", other[j.run.Wait().Signal]).Replace(c.Signal)
		}
		return c
	case rules.Upload:
		c.WaitNumber = number
		return c
	}
	return c
}

// at says which member or element the commands about the check are about.
func (j *journey) at(step verification.NodeID) *journey {
	j.about = step
	return j
}

// answer records what the provider of a step says.
func (j *journey) answer(step verification.NodeID, o verification.CheckOutcome) *journey {
	j.t.Helper()
	w, waits := j.run.WaitAt(step)
	if !waits {
		j.t.Fatalf("the run does not wait for %s", step)
	}
	return j.do(rules.RecordResult{Node: step, Dispatch: w.Dispatch, Outcome: o, Handle: "ticket-1"})
}

// grouped is the desk with two checks in the place of the one.
func grouped(order workflow.Order, need workflow.Need) workflow.Definition {
	member := func(name string) workflow.Member {
		return workflow.Member{Name: name, Provider: "registry", Retry: &workflow.Retry{MaxDispatches: 2}}
	}
	d := flows.DeskFlow()
	d.Nodes["pan"] = workflow.Node{
		Type: workflow.NodeChecks, Label: "PAN", Order: order, Need: need, Next: "gate",
		Members: workflow.Members{member("bureau"), member("register")},
	}
	return d
}

// listed is the desk with a check, or a form in the place of the consent, for each element of a list.
func listed(node verification.NodeID) workflow.Definition {
	d := flows.DeskFlow()
	flows.Edit(node, func(n *workflow.Node) {
		if n.ForEach = "input.list"; node == "consent" {
			n.Type, n.Text, n.OnDeclined = workflow.NodeCustomerInput, "", ""
			n.Fields = workflow.InputFields{{Name: "pan", Type: workflow.FieldText, Required: true, Pattern: "^success$"}}
		}
	})(&d)
	return d
}

// again is the desk whose check depends on the consent, for which a customer may be asked once more.
func again() workflow.Definition {
	d := flows.DeskFlow()
	flows.Edit("consent", func(n *workflow.Node) { n.MaxRounds = 1 })(&d)
	flows.Edit("pan", func(n *workflow.Node) { n.When = "reads consent" })(&d)
	return d
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
	together := func(t flows.Tester, need workflow.Need) *journey {
		t.Helper()
		return begin(t, grouped("", need), `{"review":true}`).submit(consents).at("pan.bureau")
	}
	elements := func(t flows.Tester) *journey {
		t.Helper()
		return begin(t, listed("pan"), `{"list":["x","y"]}`).submit(consents).at("pan[2]")
	}
	round := func(t flows.Tester) *journey {
		t.Helper()
		return begin(t, again(), `{"review":true}`).submit(consents).pass().do(rules.AskAgain{Step: "consent", Reasons: []string{"other"}})
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
		{"group, no answer yet", func(t flows.Tester) *journey { return together(t, 0) }},
		{"group, one has answered", func(t flows.Tester) *journey {
			return together(t, 0).answer("pan.register", verification.OutcomePassed)
		}},
		{"group, one has no answer", func(t flows.Tester) *journey {
			return together(t, 0).answer("pan.register", verification.OutcomeNoCoverage)
		}},
		{"group, one is pending", func(t flows.Tester) *journey {
			return together(t, 0).answer("pan.bureau", verification.OutcomePending)
		}},
		{"group, the retry of one is due", func(t flows.Tester) *journey {
			return together(t, 0).do(rules.RecordFailure{Node: "pan.bureau", Dispatch: 1, Cause: "timeout"}).after(time.Second)
		}},
		{"group, one by one, at the second", func(t flows.Tester) *journey {
			return begin(t, grouped(workflow.OrderOneByOne, 1), "").submit(consents).
				answer("pan.bureau", verification.OutcomeFailed).at("pan.register")
		}},
		{"group, met without one", func(t flows.Tester) *journey {
			return together(t, 1).answer("pan.register", verification.OutcomePassed)
		}},
		{"group, overdue", func(t flows.Tester) *journey { return together(t, 0).after(2 * time.Hour) }},
		{"elements, no answer yet", elements},
		{"elements, one has answered", func(t flows.Tester) *journey {
			return elements(t).answer("pan[1]", verification.OutcomePassed)
		}},
		{"elements, one has failed", func(t flows.Tester) *journey {
			return elements(t).answer("pan[1]", verification.OutcomeFailed)
		}},
		{"form of the first element", func(t flows.Tester) *journey {
			return begin(t, listed("consent"), `{"list":["x","y"]}`).at("consent[1]")
		}},
		{"form of the last element", func(t flows.Tester) *journey {
			return begin(t, listed("consent"), `{"list":["x","y"]}`).submit(`{"pan":"success"}`).at("consent[2]")
		}},
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
		{"asked again, overdue", func(t flows.Tester) *journey { return round(t).after(2 * time.Hour) }},
		{"checked again in a round", func(t flows.Tester) *journey { return round(t).submit(consents).at("pan") }},
		{"back from the last round", func(t flows.Tester) *journey { return round(t).submit(consents).pass() }},
		{"parked on a second review", func(t flows.Tester) *journey { return reviewing(t).approve("fine") }},
		{"completed, not flagged", func(t flows.Tester) *journey { return checking(t, "").pass() }},
		{"completed, flagged", open},
		{"completed, a group met without one", func(t flows.Tester) *journey {
			return begin(t, grouped("", 1), "").submit(consents).answer("pan.register", verification.OutcomePassed).at("pan.bureau")
		}},
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
