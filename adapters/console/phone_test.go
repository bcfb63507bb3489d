// Tests of the pages on small screens.

package console_test

import (
	"errors"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
)

func TestEveryPageIsInTheNavigationOfASmallPhone(t *testing.T) {
	d := serve(t)
	for _, language := range []string{"en", "hi"} {
		tab := d.tab(reviewer(verification.RoleViewer), browser.Options{Width: 320, Language: language})
		tab.Go(d.server.URL + "/console/deliveries")
		if n := browser.Eval[int](tab, `[...document.querySelectorAll(".bar nav a")].filter((a) => a.getBoundingClientRect().left >= 0 && a.getBoundingClientRect().right <= 320).length`); n != 5 {
			t.Errorf("%d of 5 pages are in sight in %s", n, language)
		}
	}
}

func TestFiltersLeaveRoomForTheList(t *testing.T) {
	d := serve(t)
	d.fill(3)
	for path, search := range map[string]string{"/queue": "search", "/runs": "reference"} {
		phone := d.tab(reviewer(verification.RoleReviewer), browser.Options{Width: 320})
		for _, query := range []string{"?" + search + "=case", ""} {
			phone.Go(d.server.URL + "/console" + path + query)
			const top = `document.querySelector("tbody tr").getBoundingClientRect().top`
			if at := browser.Eval[float64](phone, top); at > 520 {
				t.Errorf("%s%s: the first run is at %v pixels, want it below the search", path, query, at)
			}
		}
		phone.Press(".filters summary")
		phone.See("#workflow")
		phone.Go(d.server.URL + "/console" + path + "?workflow=" + string(d.Run(d.begin(d.Apply(waiting("Other", "Look.")), "other")).WorkflowID))
		phone.See("#workflow") // because it is set
		if path == "/queue" {
			phone.Go(d.server.URL + "/console/queue?order=due")
			phone.See("#order")
		}
		wide := d.tab(reviewer(verification.RoleReviewer), browser.Options{Wide: true})
		wide.Go(d.server.URL + "/console" + path)
		wide.See("#workflow")
	}
}

// A table in a box that hides what is outside of it makes no page too wide: the table is
// compared with its box. 720 pixels are a screen of 1440 at 200 %.
func TestNoTableIsCutOff(t *testing.T) {
	d := serve(t)
	d.suspicious()
	d.Notices.FailWith(errors.New("502 Bad Gateway"))
	d.notified(2)
	due := waiting("Account opening with a long name", "The customer is a politically exposed person.")
	due.ReviewDueMinutes = 120
	claimed := d.begin(d.Apply(due), "CUST-2026-00013")
	if _, err := d.Engine.Claim(t.Context(), enginetest.Tenant, claimed, engine.ClaimRequest{By: "a", Name: "Lakshmi Venkataraman Iyer"}); err != nil {
		t.Fatal(err)
	}
	d.answered(d.Apply(identity()), "case-1", "Asha Rao")
	d.Advance(10 * time.Hour)
	tab := d.tab(reviewer(verification.RoleAdmin), browser.Options{Wide: true})
	for _, path := range []string{"/queue", "/runs", "/workflows", "/deliveries"} {
		tab.Go(d.server.URL + "/console" + path)
		for _, width := range []int{320, 641, 720, 820, 900, 961, 1024, 1440} {
			tab.Emulate(browser.Options{Width: width})
			tab.See("table")
			const cut = `[...document.querySelectorAll("table")].filter((t) => t.scrollWidth > t.parentElement.clientWidth).map((t) => t.className + " " + t.scrollWidth + " in " + t.parentElement.clientWidth).join(", ")`
			if found := browser.Eval[string](tab, cut); found != "" {
				t.Errorf("%s at %d pixels: %s", path, width, found)
			}
		}
	}
}

func TestNoTextOfTheQueueIsCutOffOnASmallPhone(t *testing.T) {
	d := serve(t)
	d.fill(1)
	tab := d.tab(reviewer(verification.RoleReviewer), browser.Options{Width: 320})
	tab.Go(d.server.URL + "/console/queue")
	tab.See(".queue td")
	if cut := browser.Eval[string](tab, `[...document.querySelectorAll(".queue td")].filter((td) => td.scrollWidth > td.clientWidth).map((td) => td.textContent.trim()).join(", ")`); cut != "" {
		t.Errorf("cut off: %s", cut)
	}
}

func TestANestedValueHasTheWidthOfASmallPhone(t *testing.T) {
	d := serve(t)
	d.suspicious()
	run, _ := d.answered(d.Apply(identity()), "case-1", "Asha Rao")
	tab := d.tab(reviewer(verification.RoleReviewer), browser.Options{Width: 320})
	tab.Go(d.server.URL + "/console/runs/" + string(run))
	tab.See(".nested")
	if narrowest := browser.Eval[float64](tab, `Math.min(...[...document.querySelectorAll(".nested .data td")].map((td) => td.getBoundingClientRect().width))`); narrowest < 120 {
		t.Errorf("a nested value is %v pixels wide, want 120", narrowest)
	}
	if out := browser.Eval[float64](tab, `innerHeight - document.querySelector(".to-verdict").getBoundingClientRect().bottom`); out != 0 {
		t.Errorf("the button to the verdict is %v pixels above the end of the screen, want 0", out)
	}
}

func TestEachFactOfAHitAndAnOwnerHasRoom(t *testing.T) {
	d := serveNamed(t, list{"Victor Zamoyskov": entry("Viktor Zamoyskov", "1961-03-14"), "Omar Haddad": entry("Umar Hadad", "1971")})
	run := d.own("BIZ-1", [2]string{"Victor Zamoyskov", "1961-03-14"}, [2]string{"Omar Haddad", "1970-05-05"}, [2]string{"Kabir Bose", "1970-04-01"})
	tab := d.tab(reviewerCalled("asha"), browser.Options{Wide: true})
	tab.Go(d.server.URL + "/console/runs/" + string(run))
	for _, width := range []int{320, 641, 720, 961, 1024, 1199, 1201, 1280} {
		tab.Emulate(browser.Options{Wide: true, Width: width})
		const narrow = `[...document.querySelectorAll(".hit > tr:first-child > :is(th, td:not(.select)), .owners td .quiet")].filter((td) => td.getBoundingClientRect().width < 64 || td.scrollWidth > td.clientWidth).map((td) => td.innerText + " in " + td.getBoundingClientRect().width).join(", ")`
		if found := browser.Eval[string](tab, narrow); found != "" {
			t.Errorf("at %d pixels: %s", width, found)
		}
		if wide := browser.Eval[int](tab, `(({scrollWidth, clientWidth}) => scrollWidth - clientWidth)(document.querySelector(".owners .scroll"))`); wide > 0 {
			t.Errorf("at %d pixels the owners are %d pixels too wide", width, wide)
		}
	}
}
