// Tests of the browser: it shows pages, and it cannot reach other hosts.

package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/rig/browser"
)

func TestMain(m *testing.M) { os.Exit(browser.Tests{M: m}.Run()) }

const page = `<!doctype html><title>Page</title><p id="script">off</p><noscript><p id="none">no script</p></noscript>
<input id="name"><button id="go">Go</button><p id="language">%s</p>
<script>
script.textContent = "on";
document.querySelector("#go").onclick = () => { script.textContent = "hello " + document.querySelector("#name").value; };
</script>`

func TestATabShowsAPageAndReachesNothingElse(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, page, r.Header.Get("Accept-Language"))
	}))
	defer s.Close()
	b := browser.Start(t)
	tab := b.Open(t, browser.Options{Language: "hi", Dark: true, Location: &browser.Location{Latitude: 19, Longitude: 73, Accuracy: 10}})
	tab.Go(s.URL)
	tab.Fill("#name", "Asha")
	tab.Press("#go")
	if text := tab.Text(); !strings.Contains(text, "hello Asha") || !strings.Contains(text, "hi") {
		t.Errorf("page = %q", text)
	}
	if !browser.Eval[bool](tab, `matchMedia("(prefers-color-scheme: dark)").matches`) {
		t.Error("the screen is not dark")
	}
	if lat := browser.Eval[float64](tab, `new Promise((found, refused) => navigator.geolocation.getCurrentPosition((p) => found(p.coords.latitude), refused))`); lat != 19 {
		t.Errorf("latitude = %v, want 19", lat)
	}
	if reached := browser.Eval[bool](tab, `fetch("http://verifyd.example/", {mode: "no-cors"}).then(() => true, () => false)`); reached {
		t.Error("the browser reached another host")
	}
	t.Setenv(browser.EnvPictures, "1")
	picture := filepath.Join(t.TempDir(), "page.png")
	tab.Shoot(picture)
	if raw, err := os.ReadFile(picture); err != nil || !strings.HasPrefix(string(raw), "\x89PNG") {
		t.Errorf("picture = %.8q, %v", raw, err)
	}

	plain := b.Open(t, browser.Options{NoScript: true, Wide: true})
	plain.Go(s.URL)
	plain.See("#none")
	if text := plain.Text(); !strings.Contains(text, "off") {
		t.Errorf("page without JavaScript = %q", text)
	}
}

func TestATabChangesItsPersonWithoutLeavingThePage(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `<!doctype html><title>Page</title><meta name="viewport" content="width=device-width"><p>%s %s</p>`,
			r.Header.Get("Accept-Language"), r.Header.Get("Cookie"))
	}))
	defer s.Close()
	tab := browser.Start(t).Open(t, browser.Options{Wide: true})
	tab.SetCookies(s.URL, []*http.Cookie{{Name: "who", Value: "asha"}})
	tab.Go(s.URL)
	browser.Eval[bool](tab, `window.stays = true`)
	const screen = `[window.stays, document.documentElement.clientWidth, matchMedia("(pointer: coarse)").matches, matchMedia("(prefers-color-scheme: dark)").matches].join(" ")`
	for _, row := range []struct {
		browser.Options
		want string
	}{
		{browser.Options{Wide: true}, "true 1200 false false"},
		{browser.Options{Wide: true, Dark: true}, "true 1200 false true"},
		{browser.Options{Wide: true, Width: 1920}, "true 1920 false false"},
		{browser.Options{Dark: true}, "true 390 true true"},
		{browser.Options{Width: 320, Language: "hi"}, "true 320 true false"},
	} {
		tab.Emulate(row.Options)
		if got := browser.Eval[string](tab, screen); got != row.want {
			t.Errorf("for %+v the screen is %q, want %q", row.Options, got, row.want)
		}
	}
	if text := tab.Text(); text != "en who=asha" {
		t.Errorf("the page says %q, want the language and the cookie of when it was opened", text)
	}
	tab.Go(s.URL)
	if text := tab.Text(); text != "hi who=asha" {
		t.Errorf("the page that is opened next says %q", text)
	}
}
