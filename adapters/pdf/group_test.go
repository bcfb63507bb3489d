package pdf_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/report"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// company is a report with a form that the customer was asked for again, a group of checks, and a waterfall for each of so many
// owners.
func company(owners int) report.Print {
	r := sample()
	at := func(node, label, data string, status rules.CardStatus, reason string) rules.Card {
		return rules.Card{
			NodeID: verification.NodeID(node), Type: workflow.NodeCheck, Label: label, Status: status, Reason: reason,
			StartedAt: at(150), CompletedAt: at(152), Dispatches: 1, Data: verification.Data(data),
		}
	}
	r.Cards = r.Cards[:2]
	details := &r.Cards[1]
	details.Label, details.Data = "The company", verification.Data(`{"name":"Acme Trading","owners":[{"name":"Asha Rao","share":50},{"name":"Meera Iyer","share":50}]}`)
	details.Visits = []rules.CardVisit{visit(1, rules.CardOK, "", `{"name":"Acme Trading","owners":[{"name":"Asha Rao","share":50},{"name":"Meera Iyr","share":50}]}`)}
	again := rules.CardVisit{Number: 1, Status: rules.CardFailed, Reason: "The answer was not needed.", Sentences: []rules.Sentence{{Key: "not_needed"}}}
	r.Rounds = map[verification.NodeID][]report.Round{"details": {{
		Round: rules.Round{
			AskedAgain: rules.AskedAgain{Round: 1, Note: "Please write the name as on the ID card.", By: "Asha Rao"}, At: details.StartedAt, Visit: 1,
			AnsweredAt: details.CompletedAt,
		},
		ReasonLabels: []string{"The answer differs from the document."}, FieldLabels: []string{"Owners 2: Name"},
	}}}
	r.Cards = append(r.Cards,
		at("address.bureau", "Proof of address: Credit bureau", `{"confidence":0.97}`, rules.CardOK, ""),
		at("address.register", "Proof of address: Land register", `{"plot":"MH-12/7"}`, rules.CardOK, ""),
		at("address.utility", "Proof of address: Utility bill", "", rules.CardFailed, "The answer was not needed."))
	r.Cards[4].Visits = []rules.CardVisit{again}
	each := rules.ReportGroup{NodeID: "owners", Type: workflow.NodeChecks, Label: "Owner", Each: true, Status: rules.GroupMet, StartedAt: r.Run.StartedAt, DecidedAt: r.Run.CompletedAt}
	r.Groups = []rules.ReportGroup{{
		NodeID: "address", Type: workflow.NodeChecks, Label: "Proof of address", Status: rules.GroupMet, Order: workflow.OrderTogether, Need: 2,
		StartedAt: r.Run.StartedAt, DecidedAt: r.Run.CompletedAt,
		Members: []rules.GroupMember{
			{NodeID: "address.bureau", Label: "Credit bureau", Answer: rules.AnswerConfirmed},
			{NodeID: "address.register", Label: "Land register", Answer: rules.AnswerConfirmed},
			{NodeID: "address.utility", Label: "Utility bill", Answer: rules.AnswerNotNeeded},
			{NodeID: "address.abroad", Label: "Register abroad", Answer: rules.AnswerLeftOut},
		},
	}}
	for i := range owners {
		element := verification.NodeID("owners").Element(i + 1)
		label := workflow.ElementLabel("Owner", i+1, owners)
		each.Members = append(each.Members, rules.GroupMember{NodeID: element, Label: label, Answer: rules.AnswerConfirmed})
		r.Groups = append(r.Groups, rules.ReportGroup{
			NodeID: element, Type: workflow.NodeChecks, Label: label, Status: rules.GroupMet, Order: workflow.OrderOneByOne, Need: 1,
			StartedAt: each.StartedAt, DecidedAt: each.DecidedAt,
			Members: []rules.GroupMember{
				{NodeID: element.Member("bureau"), Label: "Credit bureau", Answer: rules.AnswerNoCoverage},
				{NodeID: element.Member("register"), Label: "Register of people", Answer: rules.AnswerConfirmed},
				{NodeID: element.Member("consulate"), Label: "Consulate", Answer: rules.AnswerNotCalled},
			},
		})
		r.Cards = append(r.Cards,
			at(string(element)+".bureau", label+": Credit bureau", "", rules.CardFailed, "The source does not cover this person or company."),
			at(string(element)+".register", label+": Register of people", `{"registered_name":"ASHA RAO","since":"2011-04-01"}`, rules.CardOK, ""))
	}
	r.Groups = append(r.Groups, each)
	r.Digest = fmt.Sprintf("%064d", owners)
	return r
}

// An owner who is gone since a round has no heading of a group: the cards stand under the node, with earlier visits only.
func TestElementsThatAreGoneArePrintedAsEarlierVisits(t *testing.T) {
	r := company(1)
	gone := func(member, label string, status rules.CardStatus, reason string, v rules.CardVisit) rules.Card {
		return rules.Card{
			NodeID: verification.NodeID("owners[2]." + member), Type: workflow.NodeCheck, Label: "Owner 2 of 3: " + label, Status: status, Reason: reason,
			StartedAt: at(120), Dispatches: 1, Gone: true, Visits: []rules.CardVisit{v},
		}
	}
	hit := gone("lists", "Lists", rules.CardNeedsReview, "On an earlier visit, a possible match on a list was found.",
		visit(1, rules.CardNeedsReview, "A possible match on a list was found.", `{"analysis_ok":false}`))
	hit.Causes = []rules.Cause{rules.CauseHit}
	r.Cards = append(r.Cards, gone("identity", "Identity", rules.CardOK, "Only an earlier visit came here.",
		visit(1, rules.CardFailed, "The check did not pass.", `{"reason":"another name"}`)), hit)
	doc := render(t, plain(t), r)
	check(t, doc)
	got := text(t, doc)
	at := 0
	for _, want := range []string{
		"Owner: 1", "Owner 1 of 1", "Owner 2 of 3: Identity", "EARLIER VISIT", "1, all earlier", "Only an earlier visit came here.", "Visit 1 of 1", "FAILED",
		"The check did not pass.", "another name", "Owner 2 of 3: Lists", "FLAGGED", "1, all earlier", "On an earlier visit, a possible match on a list was found.", "Visit 1 of 1",
	} {
		i := strings.Index(got[at:], want)
		if i < 0 {
			t.Fatalf("%q does not follow in\n%s", want, got[at:])
		}
		at += i + len(want)
	}
	if strings.Contains(got, "Owner 2 of 3\n") {
		t.Errorf("an owner who is gone has a heading:\n%s", got)
	}
}

func TestCardsArePrintedUnderTheirGroup(t *testing.T) {
	r := company(2)
	r.Cards[6], r.Cards[7] = r.Cards[7], r.Cards[6] // the second owner was asked about before the first one had an answer
	doc := render(t, plain(t), r)
	check(t, doc)
	got, at := text(t, doc), 0
	for _, want := range []string{
		"Round 1: the customer was asked again on", "by Asha Rao", "Why: The answer differs from the document.", "Fields: Owners 2: Name",
		"Note to the customer: Please write the name as on the ID card.", "The customer answered on", "Visit 1 of 2\n", "Meera Iyr",
		"Proof of address\nMET\n2 of 3 sources confirmed, 2 needed. Decided", "Utility bill\nIts answer was not needed.\n",
		"Register abroad\nLeft out: its condition does not hold.\n", "3.\nProof of address: Credit bureau\nCONFIRMED\n",
		"Proof of address: Utility bill\nNOT NEEDED\n", "Visit 1 of 2\n", "NOT NEEDED\n", "Owner: 2\nOK\nMade for each element. 2 passed; decided",
		"Owner 1 of 2\nMET\n1 of 2 sources confirmed, 1 needed. Decided", "Credit bureau\nDoes not cover this person or company.\n",
		"Register of people\nConfirmed. Asked because Credit bureau does not cover this person or company.\n", "Consulate\nNot asked.\n",
		"6.\nOwner 1 of 2: Credit bureau\nNO COVERAGE\n", "Owner 2 of 2\nMET\n", "9.\nOwner 2 of 2: Register of people\nCONFIRMED\n",
	} {
		i := strings.Index(got[at:], want)
		if i < 0 {
			t.Fatalf("the document does not show %q after the things before it:\n%s", want, got)
		}
		at += i
	}
}

// Whatever is above it, a heading is on the page of the heading or the card below it.
func TestTheHeadingOfAGroupIsOnThePageOfItsFirstCard(t *testing.T) {
	for owners := range 12 {
		r := company(owners + 1)
		r.Cards[0].Reason = strings.Repeat("Another line of a long reason, which moves all that follows.\n", 3*owners)
		doc := render(t, plain(t), r)
		check(t, doc)
		pages := map[string]int{}
		for _, s := range read(t, doc) {
			pages[s.text] = max(pages[s.text], s.page)
		}
		same := [][2]string{
			{"Proof of address", "Proof of address: Credit bureau"}, {fmt.Sprintf("Owner: %d", owners+1), fmt.Sprintf("Owner 1 of %d", owners+1)},
		}
		for i := range owners + 1 {
			label := workflow.ElementLabel("Owner", i+1, owners+1)
			same = append(same, [2]string{label, label + ": Credit bureau"})
		}
		for _, pair := range same {
			if pages[pair[0]] != pages[pair[1]] || pages[pair[0]] == 0 {
				t.Errorf("%d owners: %q is on page %d and %q on page %d", owners+1, pair[0], pages[pair[0]], pair[1], pages[pair[1]])
			}
		}
	}
}

func TestAGroupWithoutCardsIsPrinted(t *testing.T) {
	r := company(0)
	r.Groups[0].Status, r.Groups[0].Members[0].Answer = rules.GroupUnavailable, rules.AnswerNone
	doc := render(t, plain(t), r)
	check(t, doc)
	if got := text(t, doc); !strings.Contains(got, "Owner: 0\nOK\n") || !strings.Contains(got, "Proof of address\nTOO FEW ANSWERS\n") {
		t.Errorf("the document does not show the groups:\n%s", got)
	}
}

func TestNoGreenWordIsPrintedOverAHit(t *testing.T) {
	r := company(1)
	flag := func(i int, status rules.CardStatus) {
		r.Cards[i].Status, r.Cards[i].Causes = status, []rules.Cause{rules.CauseHit}
	}
	flag(2, rules.CardNeedsReview)
	flag(3, rules.CardFailed)
	flag(6, rules.CardOK) // approved although nobody has decided the hits
	address, owner, each := &r.Groups[0], &r.Groups[1], &r.Groups[2]
	address.Status, owner.Status, each.Status = rules.GroupFlagged, rules.GroupFlagged, rules.GroupFlagged
	address.Members[0].Answer, address.Members[0].Hits = rules.AnswerFlagged, 2
	address.Members[1].Answer = rules.AnswerNotConfirmed
	address.Members[1].Hits = 1
	owner.Members[1].Answer, owner.Members[1].Hits = rules.AnswerFlagged, 1
	each.Members[0].Answer, each.Members[0].Hits = rules.AnswerFlagged, 1
	doc := render(t, plain(t), r)
	check(t, doc)
	got, at := text(t, doc), 0
	for _, want := range []string{
		"Proof of address\nMET, 3 HITS\n0 of 3 sources confirmed, 2 needed. 1 answered and flagged for review; decided",
		"Credit bureau\nAnswered, 2 hits.\n", "Land register\nDid not confirm, 1 hit.\n", "Proof of address: Credit bureau\nANSWERED, 2 HITS\n",
		"Proof of address: Land register\nFAILED\n", "Owner: 1\nPASSED, 1 HIT\nMade for each element. 0 passed, 1 answered and flagged for review; decided",
		"Owner 1 of 1\nMET, 1 HIT\n", "Register of people\nAnswered, 1 hit. Asked because Credit bureau does not cover this person or\ncompany.\n",
		"Register of people\nANSWERED, 1 HIT\n",
	} {
		i := strings.Index(got[at:], want)
		if i < 0 {
			t.Fatalf("the document does not show %q after the things before it:\n%s", want, got)
		}
		at += i
	}
	address.Members[0].Hits, address.Members[1].Hits = 0, 0
	got = text(t, render(t, plain(t), r))
	for _, want := range []string{"MET, FLAGGED\n", "ANSWERED, FLAGGED\n", "Answered, flagged for review.\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("without a hit, the document does not show %q:\n%s", want, got)
		}
	}
}
