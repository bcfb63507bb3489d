// Tests of the keys of the lists and of the run page.

package console_test

import (
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// loaded is true once the scripts of a page handle its keys.
const loaded = `document.readyState === "complete"`

func TestTheRunPageIsReadAndLeftWithTheKeyboard(t *testing.T) {
	d := serve(t)
	ids := d.fill(5)
	tab := d.tab(reviewer(verification.RoleReviewer), browser.Options{Wide: true})
	tab.Go(d.server.URL + "/console/runs?status=in_progress")
	focus := func() string {
		return browser.Eval[string](tab, `document.activeElement.id || document.activeElement.textContent.trim()`)
	}
	tab.Key("jj")
	if got := focus(); got != "case-004" {
		t.Fatalf("j on the list of runs leads to %q, want case-004", got)
	}
	tab.Key("\r")
	tab.See("#notes")
	tab.Wait(loaded)
	tab.Key("j")
	step := focus()
	tab.Key("?")
	tab.See(".keys td")
	if text := tab.Text(); !strings.Contains(text, "Go to the verdict") || !strings.Contains(text, "Back to the runs") || strings.Contains(text, "Open the entry") {
		t.Errorf("the list of keys is that of another page: %s", text)
	}
	tab.Key("\x1b")
	if got := focus(); got != step {
		t.Errorf("after the list of keys the focus is on %q, want %q again", got, step)
	}
	tab.Key("v")
	if got := focus(); got != "notes" {
		t.Errorf("v leads to %q, want the notes", got)
	}
	browser.Eval[bool](tab, `document.activeElement.blur(), true`)
	tab.Key("q")
	tab.See(".toolbar.runs")
	tab.Wait(loaded)
	if at, want := browser.Eval[string](tab, `location.search + location.hash`), "?status=in_progress#run-"+string(ids[3]); at != want {
		t.Errorf("q leads to %s, want %s", at, want)
	}
	tab.Key("j")
	if got := focus(); got != "case-003" {
		t.Errorf("after the way back j leads to %q, want the run after the one that was read", got)
	}
}

func TestTheKeyOfTheVerdictLeadsToWhatIsThere(t *testing.T) {
	d := serve(t)
	ids := d.fill(1)
	d.GiveVerdict(ids[0], rules.DecisionApprove)
	for role, want := range map[verification.Role]string{verification.RoleReviewer: "SUMMARY", verification.RoleViewer: "H2"} {
		tab := d.tab(reviewer(role), browser.Options{Wide: true})
		tab.Go(d.server.URL + "/console/runs/" + string(ids[0]))
		tab.See(".verdict")
		tab.Key("v")
		if got := browser.Eval[string](tab, `document.activeElement.tagName`); got != want {
			t.Errorf("v leads a %s to %s, want %s", role, got, want)
		}
	}
}
