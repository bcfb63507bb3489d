// Tests of the hits of a screening.

package pdf_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/report"
	"github.com/verifyd/verifyd/verification/rules"
)

// screenedBank is the bank's report of a customer with two hits, one of whom a reviewer has decided
// about, and an entry that the check has cleared itself.
func screenedBank(t testing.TB, name string) report.Print {
	t.Helper()
	p := bank(t)
	p.Subject.Name = name
	p.Sources["court"] = report.Source{
		Providers: []string{"screening"}, List: "fictional",
		Asked: verification.DataOf(map[string]any{"name": name, "birth_date": "1961-07-01", "countries": []string{"India", "Belarus"}}),
	}
	hits := []verification.Hit{
		{
			ID: "e-1", Name: "Zamoyskov, Viktor", Alias: "Viktor Petrov", Score: 0.914, BirthDates: []string{"1961-03-14"}, Countries: []string{"ru", "by"},
			Topics: []string{"sanction", "role.pep"}, Reasons: []string{"Viktor is the same", "Petrow is like Petrov: 0.91, one letter differs"},
		},
		{
			ID: "e-2", Name: "طارق الهاشمي", Score: 0.8, BirthDates: []string{"1970"}, Countries: []string{"iq"},
			Reasons: []string{"طارق is the same, علي is the same as على", "هاشم is like الهاشمي: 0.80, another ending"},
		},
	}
	for i := range p.Cards {
		c := &p.Cards[i]
		if c.NodeID != "court" {
			continue
		}
		c.Label = "Sanctions"
		c.Screening = &rules.Screening{List: "fictional", Hits: hits}
		c.Data = verification.DataOf(map[string]any{
			"list": "fictional", "score": 0.914, "hits": hits, "hits_total": 2,
			"cleared": []verification.Hit{{ID: "e-3", Name: "Viktor Petrow", Score: 0.7, BirthDates: []string{"1999-01-01"}}},
		})
		c.HitDecisions = []rules.HitDecision{{
			HitDecided: rules.HitDecided{List: "fictional", Entry: "e-1", Match: rules.MatchOther, Reason: "Born in March.", By: "Asha Rao"}, At: at(300),
		}}
	}
	return p
}

func TestAHitIsPrintedAsCustomerBesideEntry(t *testing.T) {
	got := text(t, render(t, plain(t), screenedBank(t, "Viktor Petrow")))
	for _, want := range []string{
		"Hit 1 of 2: Zamoyskov, Viktor\n", "Score of the list: 91 %", "Customer\nEntry\n", "Name that matched\n–\nViktor\n Petrov\n",
		"Born\n1961\n-07-01\n1961\n-03-14\nDiffers in part\n", "Countries\nIndia, \nBelarus\nRussia, \nBelarus\nDiffers in part\n",
		"Listed as\n–\nsanctioned, politically exposed\nperson\n", "Born\n1961-07-01\n1970\nDiffers\n",
		"How they compare\nViktor is the same\nPetrow is like", "Cleared by the check 1 of 1: Viktor Petrow\n", "Hits total\n2\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the document does not show %q:\n%s", want, got)
		}
	}
	for _, dump := range []string{"Hits ›", "Hits 1", "Birth dates", "Cleared 1"} {
		if strings.Contains(got, dump) {
			t.Errorf("the document also shows %q:\n%s", dump, got)
		}
	}
}

func TestAReportForTheFileSaysWhoDecidedEachHit(t *testing.T) {
	got := text(t, render(t, plain(t), forFile(screenedBank(t, "Viktor Petrow"), rules.DecisionApprove)))
	const want = "Decided\nAnother person, by Asha Rao on 20 Nov 2026, 14:49:03 IST\nBorn in March.\n"
	if !strings.Contains(got, want) || strings.Count(got, "Decided\n") != 1 {
		t.Errorf("the document does not show %q once:\n%s", want, got)
	}
}

func TestAReportForTheFileSaysWhichHitsAreOpen(t *testing.T) {
	p := screenedBank(t, "Viktor Petrow")
	for i := range p.Cards {
		for k := range p.Cards[i].HitDecisions {
			p.Cards[i].HitDecisions[k].Match = rules.MatchUnsure
		}
	}
	got := text(t, render(t, plain(t), forFile(p, rules.DecisionApprove)))
	for _, want := range []string{
		"Not decided\nNot sure, by Asha Rao on 20 Nov 2026, 14:49:03 IST\nBorn in March.\n",
		"Not decided\nNo reviewer has said whether it is the same person or company.\n",
	} {
		if strings.Count(got, want) != 1 {
			t.Errorf("the document does not show %q once:\n%s", want, got)
		}
	}
	if got := text(t, render(t, plain(t), p)); strings.Contains(got, "No reviewer has said") {
		t.Errorf("a report that is not for the file speaks of reviewers:\n%s", got)
	}
}

func TestAHitThatWasLeftOutSaysWhoClearedIt(t *testing.T) {
	p := forFile(screenedBank(t, "Viktor Petrow"), rules.DecisionApprove)
	for i := range p.Cards {
		c := &p.Cards[i]
		if c.NodeID == "court" {
			for _, run := range []verification.RunID{"0191-other", p.Run.ID} {
				c.Cleared = append(c.Cleared, rules.Clearance{List: "fictional", Hit: c.Screening.Hits[0], Run: run, By: "Vikram Singh", At: at(500)})
			}
		}
	}
	got := text(t, render(t, plain(t), p))
	for _, want := range []string{
		"Left out, decided before 1 of 2: Zamoyskov, Viktor\n", "Score of the list: 91 %", "Another person, by Vikram Singh on 20 Nov 2026, 14:52:23 IST\nIn the run 0191-other\n",
		"Left out, decided before 2 of 2:",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the document does not show %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "In the run "+string(p.Run.ID)) {
		t.Error("a decision in the run itself names the run")
	}
}

func TestReasonsKeepTheirOrderAroundArabicNames(t *testing.T) {
	doc := read(t, render(t, plain(t), screenedBank(t, "Tariq")))
	from := slices.IndexFunc(doc, func(s shown) bool { return strings.Contains(s.text, "is the same as") })
	if from < 0 {
		t.Fatal("the reason is not printed in one run of Latin words")
	}
	var line []shown
	for _, s := range doc {
		if s.page == doc[from].page && s.y == doc[from].y && s.x > 200 {
			line = append(line, s)
		}
	}
	slices.SortFunc(line, func(a, b shown) int { return int(100 * (a.x - b.x)) })
	var words []string
	for _, s := range line {
		words = append(words, strings.TrimSpace(s.text))
	}
	// Each name is one run, whose letters are from left to right here.
	if got, want := strings.Join(words, " "), "قراط is the same, يلع is the same as ىلع"; got != want {
		t.Errorf("the reason reads from left to right\n%s, want\n%s", got, want)
	}
}

func TestAReportSaysWhatWasNotScreened(t *testing.T) {
	p := screenedBank(t, "Viktor Petrow")
	p.Unscreened = []rules.Unscreened{{NodeID: "owner[2].lists", Label: "Owner 2 of 3: Lists", Why: "decided"}}
	const said = "Not screened\nOwner 2 of 3: Lists: Nobody was screened: the group was decided before this check was called.\n"
	for _, p.ForFile = range []bool{false, true} {
		got := text(t, render(t, plain(t), p))
		if at, summary := strings.Index(got, said), strings.Index(got, "\nOK\n"); at < 0 || summary < at {
			t.Errorf("for the file %t: the report does not say so before its summary:\n%s", p.ForFile, got[:min(len(got), 1500)])
		}
	}
}
