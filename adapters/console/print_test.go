// Tests of pages on paper.

package console_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
)

// onPaper are the cards without a text beside their heading, and the things for hands, that a printed page shows.
const onPaper = `[...document.querySelectorAll("nav, button, .button, form:not(:has(table)), input, textarea, select, .skip, .foot, .to-verdict, .printed, .card")].filter((e) => e.checkVisibility() && (
	!e.matches(".card") || e.innerText.trim() === (e.querySelector("h2")?.innerText.trim() ?? ""))).map((e) => e.outerHTML.slice(0, 120)).join("\n")`

func TestAPrintedPageHasNoNavigationAndNoEmptyBox(t *testing.T) {
	d := serveNamed(t, list{"Victor Zamoyskov": entry("Viktor Zamoyskov", "1961-03-14")})
	owners := [][2]string{{"Victor Zamoyskov", "1961-03-14"}, {"Kabir Bose", "1970-04-01"}, {"فاطمة السيد", "1980-04-01"}, {"आशा राव", "1981-04-01"}, {"Ravi Menon", "1982-04-01"}}
	open, over := "/runs/"+string(d.own("BIZ-1", owners...)), "/runs/"+string(d.own("BIZ-2", owners...))
	asha := d.as(reviewerCalled("asha"))
	for range 2 {
		wants(t, asha.post(over+"/hits", append(hitForms(t, asha.get(over))[0][1:], "match", "other", "reason", "Another year.")...), 303)
	}
	wants(t, asha.post(over+"/verdict", append(verdictForm(t, asha.get(over)), "decision", "reject", "notes", "Not screened.")...), 303)
	d.Settle()
	for name, path := range map[string]string{"open": open, "over": over, "queue": "/queue", "runs": "/runs?reference=BIZ"} {
		for who, person := range map[string]string{"reviewer": "asha", "admin": ""} {
			r := reviewerCalled(person)
			if person == "" {
				r = reviewer(verification.RoleAdmin)
			}
			paper := browser.Options{Wide: true, Width: 794, Print: true, Dark: person == ""}
			tab := d.tab(r, paper)
			tab.Go(d.server.URL + "/console" + path)
			if name == "runs" && person == "" { // what would be removed
				tab.Emulate(browser.Options{Wide: true})
				browser.Eval[int](tab, `[...document.querySelectorAll("[name=run]")].map((one) => one.checked = true).length`)
				tab.Press("#redact button")
				tab.See("#reason")
				tab.Emulate(paper)
			}
			if ink := browser.Eval[string](tab, "getComputedStyle(document.body).color"); ink != "rgb(22, 32, 46)" {
				t.Errorf("the printed page %s of a %s is written in %s", name, who, ink)
			}
			if left := browser.Eval[string](tab, onPaper); left != "" {
				t.Errorf("the printed page %s of a %s shows\n%s", name, who, left)
			}
			if name == "runs" && !strings.Contains(tab.Text(), "BIZ-1") {
				t.Errorf("the printed list of a %s does not show its runs:\n%s", who, tab.Text())
			}
			for _, want := range []string{"Victor Zamoyskov", "Not screened", "Viktor Zamoyskov", "Ravi Menon\n1982-04-01"} {
				if (name == "open" || name == "over") && !strings.Contains(tab.Text(), want) {
					t.Errorf("the printed page %s of a %s does not show %q:\n%s", name, who, want, tab.Text())
				}
			}
			tab.Shoot(filepath.Join(shots, "print-"+name+"-"+who+".png"))
		}
	}
}
