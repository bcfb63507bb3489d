// Tests of the way from a computer to a phone.

package journey_test

import (
	"net/http"
	"strings"
	"testing"

	"rsc.io/qr"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/rig/browser"
)

func TestAStepWithPhotosHasAQRCodeOfItsLink(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	if page := c.get(); strings.Contains(page.body, `class="code"`) {
		t.Error("a consent has a QR code")
	}
	reach(c, "uploads")
	run, err := s.Engine.Run(t.Context(), enginetest.Tenant, c.run)
	if err != nil {
		t.Fatal(err)
	}
	for query, label := range map[string]string{"": "QR code of this page", "?lang=hi": "इस पेज का QR कोड"} {
		code, err := qr.Encode(run.Action.URL+query, qr.M)
		if err != nil {
			t.Fatal(err)
		}
		black := 0
		for i := range code.Size * code.Size {
			if code.Black(i%code.Size, i/code.Size) {
				black++
			}
		}
		page := c.do(http.MethodGet, c.link+query, "", nil)
		wants(t, page, http.StatusOK, `role="img" aria-label="`+label+`"`)
		if got := strings.Count(page.body, "h1v1h-1z"); got != black {
			t.Errorf("the code of %s has %d black modules, want %d", query, got, black)
		}
	}
}

func TestAComputerFollowsThePhone(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	reach(c, "uploads")
	tab := browser.Start(t).Open(t, browser.Options{})
	tab.Go(c.link)
	const shown = `document.querySelector(".phone").checkVisibility()`
	if browser.Eval[bool](tab, shown) {
		t.Error("a phone shows a code for a phone")
	}
	tab.Emulate(browser.Options{Wide: true, Width: 1280})
	tab.Go(c.link)
	if !browser.Eval[bool](tab, shown) {
		t.Error("a computer shows no code")
	}
	inspect(t, tab, "phone 1280", browser.AllRules)
	onward(t, c.send([]file{{"front", "pass.jpg", picture(t, 90)}}, "f.where.denied", "on"))
	tab.See(".sign.good")
}
