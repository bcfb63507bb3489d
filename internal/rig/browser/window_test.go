// Tests that a window which is used again has nothing left of the test before.

package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/verifyd/verifyd/internal/rig/browser"
)

// remember leaves something in every place that a page can.
const remember = `(async () => {
	document.cookie = "script=old; max-age=900";
	localStorage.setItem("local", "old");
	sessionStorage.setItem("session", "old");
	window.name = "old";
	await new Promise((done) => { indexedDB.open("old").onsuccess = done; });
	await (await caches.open("old")).put("/old", new Response("old"));
	return true;
})()`

// remembered lists what a page finds there. The history begins with an empty page.
const remembered = `(async () => [document.cookie, localStorage.length, sessionStorage.length, window.name, history.length,
	(await indexedDB.databases()).length, (await caches.keys()).length,
	(await navigator.permissions.query({name: "geolocation"})).state].join("|"))()`

func TestAWindowThatIsUsedAgainKnowsNothing(t *testing.T) {
	var loaded atomic.Int64 // number of requests for what a browser may keep for a day
	visited := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/kept.css" {
			loaded.Add(1)
			w.Header().Set("Content-Type", "text/css")
			w.Header().Set("Cache-Control", "public, max-age=86400, immutable")
			return
		}
		http.SetCookie(w, &http.Cookie{Name: "server", Value: "old", HttpOnly: true, MaxAge: 900})
		fmt.Fprintf(w, `<!doctype html><title>Page</title><meta name="viewport" content="width=device-width">
			<link rel="stylesheet" href="/kept.css"><p>sent: %s</p>`, r.Header.Get("Cookie"))
	}))
	defer visited.Close()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<!doctype html><p>Other</p>") }))
	defer elsewhere.Close()
	b, window := browser.Start(t), ""
	t.Run("before", func(t *testing.T) {
		tab := b.Open(t, browser.Options{Dark: true, Language: "hi", Location: &browser.Location{Latitude: 19, Longitude: 73, Accuracy: 10}})
		tab.SetCookies(visited.URL, []*http.Cookie{{Name: "test", Value: "old"}})
		tab.Go(visited.URL)
		browser.Eval[bool](tab, remember)
		tab.Go(visited.URL)
		if got, want := browser.Eval[string](tab, remembered), "script=old|1|1|old|"; !strings.HasPrefix(got, want) {
			t.Fatalf("the page remembers %q, want %q", got, want)
		}
		tab.Go(elsewhere.URL) // what the tab keeps of a site that it has left
		window = tab.Window()
	})
	t.Run("after", func(t *testing.T) {
		tab := b.Open(t, browser.Options{Wide: true})
		if tab.Window() != window {
			t.Fatal("the tab is in another window, so that this test shows nothing")
		}
		before := loaded.Load()
		tab.Go(visited.URL)
		if got, want := browser.Eval[string](tab, remembered), "|0|0||2|0|0|denied"; got != want {
			t.Errorf("the page remembers %q, want %q", got, want)
		}
		if text := tab.Text(); text != "sent:" {
			t.Errorf("the browser %s", text)
		}
		if loaded.Load() != before+1 {
			t.Error("the browser kept a file of the test before")
		}
	})
}

func TestAWindowWithTwoTabsIsNotUsedAgain(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `<!doctype html><title>Page</title><a href="/" target="_blank" rel="opener">Open</a>
			<script>if (opener) opener.document.title = "opened"</script>`)
	}))
	defer s.Close()
	b := browser.Start(t)
	first, second := "", ""
	t.Run("before", func(t *testing.T) {
		tab := b.Open(t, browser.Options{Wide: true})
		tab.Go(s.URL)
		tab.Press("a")
		tab.Wait(`document.title === "opened"`)
		first = tab.Window()
	})
	t.Run("after", func(t *testing.T) { second = b.Open(t, browser.Options{}).Window() })
	if first == second {
		t.Error("a window with a second tab was used again")
	}
}
