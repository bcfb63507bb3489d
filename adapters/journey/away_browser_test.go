// Tests of the way to a vendor and back in a real browser.

package journey_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
)

// bankSite serves the page of a bank, on another site than ours. Its buttons lead to back.
func bankSite(t *testing.T, back *atomic.Value) (signIn string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, `<!doctype html><title>Bank</title><p id=referrer>%s %s</p><a id=allow href="%[3]s?result=approved">Allow</a>
			<a id=cancel href="%[3]s?result=cancelled">Cancel</a>
			<form method=post action="%[3]s"><input name=result value=soon><button id=later>Later</button></form>`,
			r.Header.Get("Referer"), r.Header.Get("Cookie"), back.Load())
	}))
	t.Cleanup(s.Close)
	return strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
}

// toTheBank opens a journey in a browser, and presses the button that leads to the bank.
func toTheBank(t *testing.T, o browser.Options) (*customer, *bank, *browser.Tab, string) {
	t.Helper()
	var back atomic.Value
	back.Store("")
	c, b, url := ledTo(t, bankSite(t, &back))
	back.Store(url)
	tab := browser.Start(t).Open(t, o)
	tab.Go(c.link)
	tab.Press("a.button")
	tab.See("#allow")
	if told := strings.TrimSpace(browser.Eval[string](tab, `document.querySelector("#referrer").textContent`)); told != "" {
		t.Errorf("the bank gets the referrer or the cookie %q", told)
	}
	return c, b, tab, url
}

func TestTheWayOutAndBackInABrowser(t *testing.T) {
	for _, noScript := range []bool{false, true} {
		for _, way := range []string{"#allow", "#later"} {
			t.Run(fmt.Sprintf("%s, without JavaScript %v", way[1:], noScript), func(t *testing.T) {
				c, b, tab, _ := toTheBank(t, browser.Options{NoScript: noScript})
				tab.Back()
				tab.See("a.button")
				tab.Press("a.button")
				tab.See("#cancel")
				tab.Press("#cancel")
				tab.See("a.button")
				if c.status() != rules.StatusInProgress {
					t.Errorf("after the customer cancelled, the run is %s", c.status())
				}
				tab.Press("a.button")
				tab.See(way)
				tab.Press(way)
				c.Settle()
				tab.See(".sign.good")
				if c.status() != rules.StatusCompleted || b.returns != 2 {
					t.Errorf("the run is %s after %d returns, want two", c.status(), b.returns)
				}
				tab.Back()
				tab.See("#allow")
				tab.Press("#cancel")
				tab.See(".sign.good")
				if at := browser.Eval[string](tab, "location.pathname"); !strings.HasSuffix(c.link, at) || b.returns != 2 {
					t.Errorf("the back button leads to %s after %d returns", at, b.returns)
				}
			})
		}
	}
}

// A bank's app may open the return URL in another browser than the customer's.
func TestAnotherBrowserDoesNotOpenTheJourney(t *testing.T) {
	c, _, tab, back := toTheBank(t, browser.Options{})
	other := browser.Start(t).Open(t, browser.Options{})
	other.Go(back + "?result=approved")
	if text := other.Text(); !strings.Contains(text, "go back to the page where you started") || strings.Contains(text, "Bank account") {
		t.Errorf("another browser shows %s", text)
	}
	c.Settle()
	tab.Back()
	tab.See(".sign.good")
}

func TestThePagesOfAWayOutAndBackAreAccessible(t *testing.T) {
	b := browser.Start(t)
	const far = "https://login.netbanking.savings-and-loans.example/sign-in?session=7"
	c, _, back := ledTo(t, far, func(p *engine.Ports, _ *engine.Options) { // a return has the vendor polled, and reports nothing
		if b, ok := p.Providers["script"].(*bank); ok {
			p.Providers["script"] = b.Poller
		}
	})
	c.Provider.On("bank", enginetest.Lead(far, "ticket", time.Hour))
	for i, at := range []struct{ name, url string }{{"led away", c.link}, {"back elsewhere", back}, {"came back", c.link}} {
		tab := b.Open(t, browser.Options{})
		if i == 2 {
			c.back(back+"?result=soon", "")
			c.Settle()
		}
		for n, language := range looks() {
			tenant := branded(t, "")
			if n == i%2 {
				tenant.Logo = verification.Logo{}
			}
			if err := c.Store.SaveTenant(t.Context(), tenant); err != nil {
				t.Fatal(err)
			}
			tab.Emulate(language[0].Options)
			tab.Go(at.url)
			for _, look := range language {
				tab.Emulate(look.Options)
				inspect(t, tab, at.name+" "+look.name, look.rules)
			}
		}
	}
}
