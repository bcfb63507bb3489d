// Tests of the way to a run: the palette, the place in the list, the tabs, and what a team is asked.

package console_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

func TestThePaletteFindsRunsByReferenceAndPerson(t *testing.T) {
	d := serve(t, searching)
	ids := d.fill(9)
	people(d)
	nair := d.equal("mb-1", false)
	p := d.as(reviewer(verification.RoleViewer))
	find := func(text string) (all []struct{ Text, URL string }) {
		t.Helper()
		a := p.script("/palette", "text", text)
		if err := json.Unmarshal([]byte(a.body), &all); err != nil || a.status != http.StatusOK {
			t.Fatalf("%q: %d %s, %v", text, a.status, a.body, err)
		}
		return all
	}
	for text, want := range map[string]int{"": 0, "ca": 0, "case": 6, "case-003": 1, "no such": 0, "rao asha": 1, "rao": 3, "98123 45678": 2} {
		if got := find(text); len(got) != want {
			t.Errorf("%q finds %v, want %d runs", text, got, want)
		}
	}
	if got := find("case-003")[0]; got.URL != "/console/runs/"+string(ids[2]) || !strings.Contains(got.Text, "case-003\u2069 · Needs a verdict") {
		t.Errorf("the palette offers %+v", got)
	}
	other := reviewer(verification.RoleAdmin)
	other.Tenant = otherTenant
	wants(t, d.as(other).script("/palette", "text", "case-003"), http.StatusOK, "[]")

	tab := d.tab(reviewer(verification.RoleReviewer), browser.Options{Wide: true})
	tab.Go(d.server.URL + "/console/numbers")
	tab.Wait(loaded)
	browser.Eval[bool](tab, `document.dispatchEvent(new KeyboardEvent("keydown", {key: "k", ctrlKey: true, bubbles: true})), true`)
	tab.Key("mb-1")
	tab.Wait(`document.querySelector(".palette [role=option]")?.textContent.includes("mb-1")`)
	inspect(t, tab, "palette-run")
	tab.Key("\r")
	tab.Wait(`location.pathname.endsWith("` + string(nair) + `")`)
}

func TestARunSaysItsPlaceInTheList(t *testing.T) {
	d := serve(t)
	ids := d.fill(3)
	p := d.as(reviewer(verification.RoleReviewer))
	wants(t, p.get("/queue"), http.StatusOK, fmt.Sprintf(`href="/console/runs/%s?at=2&amp;of=3"`, ids[1]))
	page := p.get(fmt.Sprintf("/runs/%s?at=2&of=3", ids[1]))
	wants(t, page, http.StatusOK, ">2 of 3</span>", `href="/console/queue#run-`)
	next := regexp.MustCompile(`href="/console([^"]*)" data-next`).FindStringSubmatch(page.body)[1]
	a := p.get(strings.ReplaceAll(next, "&amp;", "&"))
	if want := fmt.Sprintf("/console/runs/%s?at=3&of=3", ids[2]); a.header.Get("Location") != want {
		t.Errorf("the next run is %s, want %s", a.header.Get("Location"), want)
	}
	for _, query := range []string{"", "?at=4&of=3", "?at=-1&of=3", "?at=x&of=y"} {
		wants(t, p.get("/runs/"+string(ids[2])+query), http.StatusOK, "!of 3</span>")
	}
}

func TestANewHitHasItsTabAndDueTime(t *testing.T) {
	d := serve(t)
	w := waiting("Limit", "Look.")
	w.ReviewDueMinutes = 60
	old := d.begin(d.Apply(w), "old")
	run := d.matched("again", 1, 0)
	d.GiveVerdict(run, rules.DecisionApprove)
	d.Advance(24 * time.Hour)
	d.found(run, "list")
	p := d.as(reviewerCalled("asha"))
	wants(t, p.get("/queue"), http.StatusOK, `Screened again <span class="count">1</span>`, `In my hands <span class="count">0</span>`, `Assigned to me <span class="count">0</span>`)
	wants(t, p.get("/queue?cause=rescreened"), http.StatusOK, "run-"+string(run), "!run-"+string(old), `aria-current="page">Screened again`)
	if held, err := d.Engine.Review(t.Context(), reviewerCalled("asha").Tenant, run); err != nil || !held.Since.Equal(d.Clock.Now()) {
		t.Errorf("the run waits since %v, %v; want the time of the hit, %v", held.Since, err, d.Clock.Now())
	}
}

func TestWhatATeamIsAskedStandsInThePanel(t *testing.T) {
	d := withTeams(t)
	run := d.begin(d.Apply(waiting("Limit", "")), "case-1")
	path := "/runs/" + string(run)
	asha, ravi := d.as(reviewerCalled("asha")), d.as(senior("ravi"))
	wants(t, asha.post(path+"/assign", "to", "team:seniors", "escalate", "1", "notes", "Is it genuine? "+canary(3)), http.StatusSeeOther)
	asked := regexp.MustCompile(`(?s)<p class="assigned">.{0,600}?</p>\s*<p class="said" dir="auto">Is it genuine\? c3`)
	if a := ravi.get(path); !asked.MatchString(a.body) || strings.Contains(a.body, "<canary-3>") {
		t.Errorf("the question does not stand under the escalation: %s", a.body)
	}
	wants(t, ravi.post(path+"/assign", "to", "person:ravi"), http.StatusSeeOther)
	if asked.MatchString(ravi.get(path).body) {
		t.Error("the question still stands after the run was assigned to a person")
	}
}
