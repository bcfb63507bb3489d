// Tests of what the first page answers.

package pdf_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/report"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// audited is a report for the file of a company with so many hits about its owners, checks that did not screen, and a round. All
// that reviewers wrote is as long as it may be.
func audited(t testing.TB, hits int) report.Print {
	t.Helper()
	p := forFile(bank(t), rules.DecisionApprove)
	p.Subject = rules.Subject{Name: "Golden Peregrine Maritime", Number: "U12345MH2019"}
	long := strings.TrimSpace(strings.Repeat("The photo is of another person. ", 62))
	for i := range p.Judgements {
		p.Judgements[i].Notes = long
	}
	names := []string{"Victor Zamoyskov", "فاطمة السيد", "आशा राव", "Jonas Weber"}
	group := rules.ReportGroup{NodeID: "owners", Type: workflow.NodeChecks, Label: "Owner", Each: true, Status: rules.GroupFlagged, StartedAt: at(150), DecidedAt: at(170)}
	p.Groups = nil
	for i, name := range names {
		element := verification.NodeID("owners").Element(i + 1)
		sub := rules.ReportGroup{NodeID: element, Type: workflow.NodeChecks, Label: "Owner · " + name, Status: rules.GroupFlagged, StartedAt: at(150), DecidedAt: at(170)}
		group.Members = append(group.Members, rules.GroupMember{NodeID: element, Label: sub.Label, Answer: rules.AnswerFlagged})
		for _, member := range []string{"Identity", "Sanctions", "PEP"} {
			node := element.Member(strings.ToLower(member))
			m := rules.GroupMember{NodeID: node, Label: member, Answer: rules.AnswerConfirmed}
			c := rules.Card{NodeID: node, Type: workflow.NodeCheck, Label: sub.Label + ": " + member, Status: rules.CardOK, StartedAt: at(150), CompletedAt: at(152)}
			switch {
			case i == 3 && member == "Identity":
				m.Answer, c.Status = rules.AnswerNotConfirmed, rules.CardFailed
			case i == 3:
				m.Answer = rules.AnswerNotCalled
				p.Unscreened = append(p.Unscreened, rules.Unscreened{NodeID: node, Label: c.Label, Why: "decided"})
			case member != "Identity":
				c.Screening = &rules.Screening{List: strings.ToLower(member) + "_list"}
				p.Sources[node] = report.Source{List: c.Screening.List, Asked: verification.DataOf(map[string]any{"name": name, "birth_date": "1961-03-14"})}
			}
			if i == 0 && member == "Sanctions" {
				m.Answer, m.Hits = rules.AnswerFlagged, hits
				for k := range hits {
					h := verification.Hit{ID: fmt.Sprintf("e-%d", k), Name: fmt.Sprintf("Viktor Zamoiskov %d", k), Score: 0.9, BirthDates: []string{fmt.Sprint(1990 - k)}}
					c.Screening.Hits = append(c.Screening.Hits, h)
					c.HitDecisions = append(c.HitDecisions, rules.HitDecision{
						HitDecided: rules.HitDecided{List: "sanctions_list", Entry: h.ID, Match: rules.MatchOther, Reason: long, By: "Asha Rao"}, At: at(300),
					})
				}
				if hits > 1 {
					c.HitDecisions = c.HitDecisions[1:]
					c.Screening.Hits[hits-1].Name, c.Screening.Hits[hits-1].BirthDates = name, []string{"1961-03-14"}
				}
			}
			sub.Members = append(sub.Members, m)
			if m.Called() {
				p.Cards = append(p.Cards, c)
			}
		}
		p.Groups = append(p.Groups, sub)
	}
	p.Groups = append(p.Groups, group)
	p.Rounds = map[verification.NodeID][]report.Round{"details": {{
		Round:        rules.Round{AskedAgain: rules.AskedAgain{Round: 1, Note: "Please write the name as on the card.", By: "Ravi Das"}, At: at(60), Visit: 1, AnsweredAt: at(70)},
		ReasonLabels: []string{"The answer differs from the document."}, FieldLabels: []string{"PAN"},
	}}}
	return p
}

// ownersTable is the table of the owners of audited.
func ownersTable(t testing.TB, p report.Print) []*report.ElementTable {
	t.Helper()
	var d workflow.Definition
	d.Nodes = map[verification.NodeID]workflow.Node{"owners": {Type: workflow.NodeChecks, Members: workflow.Members{
		{Name: "identity", Label: "Identity"}, {Name: "sanctions", Label: "Sanctions"}, {Name: "pep", Label: "PEP"},
	}}}
	var all facts.Elements
	for i, g := range p.Groups[:4] {
		_, name, _ := strings.Cut(g.Label, " · ")
		all.All = append(all.All, facts.Element{Node: g.NodeID, Label: "Owner", Number: i + 1, Of: 4, Name: name, BirthDate: "1961-03-14", Kind: workflow.FactPerson})
	}
	return report.Elements(p.Report, d, all)
}

// firstPage returns what the first page shows, one string per line.
func firstPage(t testing.TB, doc []byte) string {
	t.Helper()
	var b strings.Builder
	for _, s := range read(t, doc) {
		if s.page == 1 {
			fmt.Fprintln(&b, s.text)
		}
	}
	return b.String()
}

func TestTheFirstPageAnswersAnAuditor(t *testing.T) {
	p := audited(t, 9)
	for i := range 20 {
		p.Unscreened = append(p.Unscreened, rules.Unscreened{NodeID: "x", Label: fmt.Sprintf("Register %d", i), Why: "ended"})
		p.Rounds["details"] = append(p.Rounds["details"], p.Rounds["details"][0])
	}
	p.Elements = ownersTable(t, p)
	doc := render(t, plain(t), p)
	check(t, doc)
	got := firstPage(t, doc)
	for _, want := range []string{
		"Screening: 9 hits, 1 not decided, 8 another person\n", "Lists: Sanctions list (9 hits), Pep list (no hits)",
		"Another person, by Asha Rao on 20 Nov 2026, 14:49:03 IST\n", "Not screened\nOwner · Jonas Weber: Sanctions: Nobody was screened:", "And 19 more.",
		"Your details: Round 1: the customer was asked again on 20 Nov 2026, 14:45:03 IST by Ravi Das. Why: The\nanswer differs from the document. Fields: PAN\n",
		"Rules\nVersion 3, hash 9f86d081884c\nDecided by\nVikram Singh, 20 Nov 2026, 14:50:43 IST\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the first page does not show %q:\n%s", want, got)
		}
	}
	closest, next := strings.Index(got, "Victor Zamoyskov, born 14 Mar 1961"), strings.Index(got, "Viktor Zamoiskov")
	if closest < 0 || closest > next || strings.Contains(got, "Viktor Zamoiskov 0") {
		t.Errorf("the closest hit is not the first one:\n%s", got)
	}
}

func TestTheFirstPageHasTheTableOfOwners(t *testing.T) {
	p := audited(t, 1)
	p.Judgements, p.Rounds = p.Judgements[:1], nil
	p.Judgements[0].Kind, p.Judgements[0].Notes = report.JudgementVerdict, "The photo is of another person."
	owners := &p.Cards[slices.IndexFunc(p.Cards, func(c rules.Card) bool { return c.NodeID == "owners[1].sanctions" })]
	owners.HitDecisions[0].Reason = "Another year."
	p.Elements = ownersTable(t, p)
	doc := render(t, plain(t), p)
	check(t, doc)
	got := firstPage(t, doc)
	for _, want := range []string{
		"Owner, by check\n4 in the list, 1 with hits, 1 not screened.\nName\nBorn\nIdentity\nSanctions\nPEP\n",
		"Victor Zamoyskov\n14 Mar 1961\nConfirmed\n1 hit, another person\nNo hit\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the first page does not show %q:\n%s", want, got)
		}
	}
	const stopped = "Jonas Weber\n14 Mar 1961\nNot confirmed\nNot screened: Identity failed\nNot screened: Identity failed\n"
	if all := strings.ReplaceAll(text(t, doc), "Identity\nfailed", "Identity failed"); !strings.Contains(all, stopped) {
		t.Errorf("the document does not show %q:\n%s", stopped, all)
	}
}

// A report that may be passed on counts hits, and says nothing of what reviewers decided.
func TestAReportToPassOnCountsItsHits(t *testing.T) {
	p := audited(t, 2)
	p.ForFile, p.Rounds["details"][0].By = false, ""
	doc := render(t, plain(t), p)
	check(t, doc)
	got := firstPage(t, doc)
	for _, want := range []string{"Screening: 2 hits\nLists: Sanctions list (2 hits), Pep list (no hits)", "Not screened\nOwner", "Asked again\nYour details: Round 1: the customer was asked again on"} {
		if !strings.Contains(got, want) {
			t.Errorf("the first page does not show %q:\n%s", want, got)
		}
	}
	for _, secret := range []string{"Asha Rao", "Ravi Das", "not decided", "another person", "Rules", "Zamoiskov"} {
		if strings.Contains(got, secret) {
			t.Errorf("the first page shows %q:\n%s", secret, got)
		}
	}
}

// An entry that a later visit found again is one hit, and an entry that only an earlier visit found is counted.
func TestHitsOfEarlierVisitsAreCountedOnce(t *testing.T) {
	p := screenedBank(t, "Viktor Petrow")
	at := slices.IndexFunc(p.Cards, func(c rules.Card) bool { return c.NodeID == "court" })
	c := &p.Cards[at]
	earlier := &rules.Screening{List: "fictional", Hits: append(slices.Clone(c.Screening.Hits), verification.Hit{ID: "e-9", Name: "Petra Viktorova"})}
	c.Visits = []rules.CardVisit{{Number: 1, Screening: earlier, StartedAt: c.StartedAt, Status: rules.CardNeedsReview}}
	got := firstPage(t, render(t, plain(t), forFile(p, rules.DecisionApprove)))
	for _, want := range []string{"Screening: 3 hits, 2 not decided, 1 another person", "Petra Viktorova\n", ", on an earlier visit"} {
		if !strings.Contains(got, want) {
			t.Errorf("the first page does not show %q:\n%s", want, got)
		}
	}
}
