// Tests of the output of stored text that would control a terminal, or hide on it.

package main

import (
	"strings"
	"testing"
	"unicode"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// hostile has a CSI as one character and as two, an override of the direction, an isolate,
// a space without width, a delete, and a tag above U+FFFF.
const hostile = "a\u009b2Jb\x1b[2Jc\u202ed\u2066e\u200bf\x7fg\U000e0041h"

// joined has a non-joiner and a joiner inside words, which are part of their spelling.
const joined = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u0915\u094d\u200d\u0937"

// steers returns the first character of a text that must not reach a terminal; 0 for none.
func steers(text string) rune {
	for _, r := range text {
		if r != '\n' && r != '\u200c' && r != '\u200d' && unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) {
			return r
		}
	}
	return 0
}

func TestNoStoredTextControlsTheTerminal(t *testing.T) {
	w := onMemory(t)
	w.env["ACME_API_KEY"] = "a-key-for-local-use-only"
	w.ctl("apply testdata/bootstrap.yaml")
	db, err := w.server.open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.close() }()
	acme, err := db.tables().Tenant(t.Context(), tenant)
	if err != nil {
		t.Fatal(err)
	}
	acme.Name, acme.WebhookSecret = hostile+joined, hostile
	if err := db.tables().SaveTenant(t.Context(), acme); err != nil {
		t.Fatal(err)
	}
	run := string(w.start(onboarding, "person-1").ID)
	w.kit.Submit(verification.RunID(run), "consent_submitted", map[string]any{"consent_status": "declined"})
	if _, err := w.kit.Engine.GiveVerdict(t.Context(), tenant, verification.RunID(run), rules.GiveVerdict{
		Decision: rules.DecisionReject, Notes: hostile, By: hostile,
	}, ""); err != nil {
		t.Fatal(err)
	}
	w.transcript()
	for _, line := range []string{
		"tenant list", "tenant list --json", "webhook secret", "webhook secret --json",
		"run show " + run, "run show --json " + run, "run show --events " + run, "run show --events --json " + run,
		"tenant " + strings.ReplaceAll(hostile, " ", ""), "screening compare " + hostile + " " + hostile,
	} {
		w.ctl(line)
		_, said, _ := strings.Cut(string(w.transcript()), "\n") // without the line of the command
		if r := steers(said); r != 0 {
			t.Errorf("verifyctl %s prints %U:\n%s", line, r, said)
		}
	}
	if said := w.ctl("tenant list"); !strings.Contains(said, joined) {
		t.Errorf("a name with joiners is printed as:\n%s", said)
	}
	var shown struct{ Name, Notes string }
	w.decode(w.ctl("run show --json "+run), &shown)
	var all []struct{ Name string }
	w.decode(w.ctl("tenant list --json"), &all)
	if shown.Notes != hostile || len(all) == 0 || all[0].Name != hostile+joined {
		t.Errorf("the JSON has the notes %q and the tenants %q, want the stored text", shown.Notes, all)
	}
}
