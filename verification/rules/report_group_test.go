package rules_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/report"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// outline writes the sections of a report, and what each member of a group answered.
func (j *journey) outline() string {
	r := j.report()
	r.Groups = j.run.AsOf(j.now).ReportGroups(j.program.Version.Definition)
	var write func(s report.Section) string
	write = func(s report.Section) string {
		if s.Card != nil {
			return string(s.Card.NodeID)
		}
		var members, under []string
		for _, m := range s.Group.Members {
			members = append(members, m.Label+" "+string(m.Answer))
		}
		for _, inner := range s.Under {
			under = append(under, write(inner))
		}
		return fmt.Sprintf("%s %s (%s) [%s]", s.Group.Label, s.Group.Status, strings.Join(members, ", "), strings.Join(under, " "))
	}
	var all []string
	for _, s := range report.Sections(r) {
		all = append(all, write(s))
	}
	return strings.Join(all, "; ")
}

// answered runs a group until each member that is called has its answer, or until the last n have not.
func answered(t *testing.T, g group, order workflow.Order, each string, but int) *journey {
	t.Helper()
	input := ""
	if each != "" {
		input = `{"list":["a","b"]}`
	}
	j := begin(t, g.definition(order, "", each), input).after(time.Minute)
	for {
		waits := j.run.Waits
		if len(waits) <= but || waits[0].Kind == rules.WaitReview {
			return j
		}
		g.answer(j, waits[0].Node)
	}
}

func TestAReportHasGroupsWithTheAnswersOfTheirMembers(t *testing.T) {
	for _, c := range []struct {
		name string
		j    *journey
		want string
	}{
		{
			"met", answered(t, group{need: 2, answers: []string{"passed", "left out", "failed", "passed", "passed"}}, "", "", 0),
			"Address met (m0 confirmed, m1 left_out, m2 not_confirmed, m3 confirmed, m4 not_needed) [address.m0 address.m2 address.m3 address.m4]; met",
		},
		{
			"a waterfall", answered(t, group{need: 1, answers: []string{"no_coverage", "inconclusive", "outage", "passed", "passed"}}, workflow.OrderOneByOne, "", 0),
			"Address met (m0 no_coverage, m1 inconclusive, m2 no_answer, m3 confirmed, m4 not_called) [address.m0 address.m1 address.m2 address.m3]; met",
		},
		{"not met", answered(t, group{need: 0, answers: []string{"failed", "passed"}}, "", "", 0), "Address not_met (m0 not_confirmed, m1 not_needed) [address.m0 address.m1]; not_met"},
		{"no source answered", answered(t, group{need: 0, answers: []string{"outage", "passed"}}, "", "", 0), "Address unavailable (m0 no_answer, m1 confirmed) [address.m0 address.m1]; unavailable"},
		{"open", answered(t, group{need: 0, answers: []string{"passed", "passed"}}, "", "", 1), "Address open (m0 confirmed, m1 open) [address.m0]"},
		{"open, without a card", answered(t, group{need: 0, answers: []string{"passed", "passed"}}, "", "", 2), "Address open (m0 open, m1 open) []"},
		{"cancelled", answered(t, group{need: 0, answers: []string{"passed", "passed"}}, "", "", 1).cancel(), "Address unfinished (m0 confirmed, m1 unfinished) [address.m0 address.m1]"},
		{
			"two elements", answered(t, group{need: 1, answers: []string{"no_coverage", "passed"}}, workflow.OrderOneByOne, "input.list", 0),
			"Address met (Address 1 of 2 confirmed, Address 2 of 2 confirmed) [" +
				"Address 1 of 2 met (m0 no_coverage, m1 confirmed) [address[1].m0 address[1].m1] Address 2 of 2 met (m0 no_coverage, m1 confirmed) [address[2].m0 address[2].m1]]; met",
		},
		{
			"an element is open", answered(t, group{need: 1, answers: []string{"failed"}}, "", "input.list", 1),
			"Address open (Address 1 of 2 not_confirmed, Address 2 of 2 open) [Address 1 of 2 not_met (m0 not_confirmed) [address[1].m0] Address 2 of 2 open (m0 open) []]",
		},
	} {
		if got := c.j.outline(); got != c.want {
			t.Errorf("%s: the report has\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

func TestTheElementsOfAFormAndACheckStandUnderTheirNode(t *testing.T) {
	j := begin(t, flows.Company(), `{"list":["a","b"]}`).submit(`{"pan":"x"}`).submit(`{"pan":"x"}`).submit(`{"pan":"x"}`)
	for range 2 {
		j.pass()
	}
	j.fail().pass()
	want := "details; Home met (Home 1 of 2 confirmed, Home 2 of 2 confirmed) [homes[1] homes[2]]; " +
		"Address met (bureau confirmed, register confirmed, utility left_out) [address.bureau address.register]; " +
		"Owner not_met (Owner 1 of 2 not_confirmed, Owner 2 of 2 confirmed) [owners[1] owners[2]]; " +
		"Registers open (Registers 1 of 2 open, Registers 2 of 2 open) [Registers 1 of 2 open (cheap open, dear not_called) [] Registers 2 of 2 open (cheap open, dear not_called) []]"
	if got := j.outline(); got != want {
		t.Errorf("the report has\n%s\nwant\n%s", got, want)
	}
}

func TestEveryCardOfEveryRecordedHistoryIsInOneSection(t *testing.T) {
	for file, history := range recorded(t) {
		run := rules.Fold("", history)
		r := rules.MakeReport("", history, history[len(history)-1].At)
		r.Groups = run.ReportGroups(workflow.Definition{})
		var cards, want []verification.NodeID
		var add func(all []report.Section)
		add = func(all []report.Section) {
			for _, s := range all {
				if s.Card != nil {
					cards = append(cards, s.Card.NodeID)
				}
				add(s.Under)
			}
		}
		add(report.Sections(r))
		for _, c := range r.Cards {
			want = append(want, c.NodeID)
		}
		slices.Sort(cards)
		slices.Sort(want)
		if !slices.Equal(cards, want) {
			t.Errorf("%s: the sections have %v, want %v", file, cards, want)
		}
	}
}

func TestARoundIsOnTheCardOfItsStep(t *testing.T) {
	j := atReview(t).after(time.Minute).do(askAgain("name"))
	card := func() rules.Card { return j.card("details") }
	if got := card().Rounds; len(got) != 1 || got[0].Visit != 1 || got[0].By != "asha" || !got[0].AnsweredAt.IsZero() {
		t.Errorf("the rounds before the answer are %+v", got)
	}
	j.after(time.Minute).submit(`{"name":"Asha Rao"}`)
	if got := card().Rounds; len(got) != 1 || !got[0].AnsweredAt.Equal(j.now) {
		t.Errorf("the rounds after the answer are %+v, want one answered at %v", got, j.now)
	}
	printed := rules.MakePrint(j.run.ID, j.history, j.now)
	for _, c := range printed.Cards {
		for _, r := range c.Rounds {
			if r.By != "" || r.Identity != "" {
				t.Errorf("the printed report names who asked: %+v", r)
			}
		}
	}
	if step, _ := j.run.Step("details"); step.Rounds[0].By != "asha" {
		t.Error("the print has changed the run")
	}
}

func TestASourceThatAMetGroupDidNotNeedIsNoConcern(t *testing.T) {
	concerns := func(j *journey) (all []verification.NodeID) {
		for _, c := range j.report().Concerns {
			all = append(all, c.NodeID)
		}
		return all
	}
	met := answered(t, group{need: 1, answers: []string{"no_coverage", "failed", "passed"}}, workflow.OrderOneByOne, "", 0)
	if got := concerns(met); !slices.Equal(got, []verification.NodeID{"address.m1"}) {
		t.Errorf("the concerns of a group that is met = %v, want the member that does not confirm", got)
	}
	lacking := answered(t, group{need: 0, answers: []string{"no_coverage", "passed"}}, "", "", 0)
	if got := concerns(lacking); !slices.Equal(got, []verification.NodeID{"address.m0"}) {
		t.Errorf("the concerns of a group without enough answers = %v, want the member without one", got)
	}
}
