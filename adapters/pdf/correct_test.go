package pdf_test

import (
	"strings"
	"testing"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

func TestACorrectionIsPrintedBesideItsValue(t *testing.T) {
	r := sample()
	correct := func(field string) rules.Correction {
		return rules.Correction{Field: field, Text: "NOTE OF " + strings.ToUpper(field), By: "Ravi", At: at(500)}
	}
	r.Input, r.InputCorrections = verification.Data(`{"name":"Ananya","city":"Pune"}`), []rules.Correction{correct("name")}
	r.Cards[0].Corrections = []rules.Correction{correct("consent_status")}
	r.Cards[1].Corrections = []rules.Correction{correct("location.latitude"), correct("pan")}
	r.Cards[2].Corrections = []rules.Correction{correct("name"), correct("nowhere")}
	r.Cards[3].Corrections = []rules.Correction{correct("liveness"), correct("liveness.signals[1]"), correct("frames[2]")}
	r.Cards[4].Corrections = []rules.Correction{correct("hits[1].court")}
	doc := render(t, plain(t), r)
	check(t, doc)
	got, at := strings.ReplaceAll(text(t, doc), "\n", " "), 0
	for _, want := range []string{
		"Ananya", "Corrected 20 Nov 2026, 09:22:23 UTC by Ravi: NOTE OF NAME", "Pune",
		"NOTE OF CONSENT_STATUS",
		"ABCPE1234F", "NOTE OF PAN", "19.0760, 72.8777", "by Ravi (location.latitude): NOTE OF LOCATION.LATITUDE",
		"Ananya Iyer", "NOTE OF NAME", "VALID", "(nowhere): NOTE OF NOWHERE",
		"1, 4, 9", "(frames[2])", "blink, turn_left", "(liveness): NOTE OF LIVENESS", "(liveness.signals[1])",
		"District Court, Pune", "(hits[1].court)", "Ananya Iyer, A. Iyer",
	} {
		i := strings.Index(got[at:], want)
		if i < 0 {
			t.Fatalf("the document does not show %q after the things before it:\n%s", want, got[at:])
		}
		at += i
	}
	for i := range r.Cards {
		for k := range r.Cards[i].Corrections {
			r.Cards[i].Corrections[k].By = ""
		}
	}
	r.InputCorrections[0].By = ""
	if got := text(t, render(t, plain(t), r)); strings.Contains(got, "Ravi") || !strings.Contains(got, "NOTE OF PAN") {
		t.Errorf("the report for the customer reads:\n%s", got)
	}
}
