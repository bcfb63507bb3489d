// Tests of headers, methods, assets and languages.

package journey_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/verifyd/verifyd/adapters/journey"
)

func TestEveryResponseHasTheSecurityHeaders(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	answers := map[string]response{
		"page": c.get(), "state": c.do(http.MethodGet, c.link+"/state", "", nil), "refusal": c.post("consent", "maybe"),
		"lost": c.do(http.MethodGet, c.server.URL+"/journey/nothing", "", nil), "deep": c.do(http.MethodGet, c.link+"/x/y", "", nil),
		"method": c.do(http.MethodPut, c.link, "", nil), "redirect": c.postTo("1", "consent", "success"),
	}
	for name, a := range answers {
		for header, want := range map[string]string{
			"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
			"X-Robots-Tag": "noindex, nofollow", "X-Frame-Options": "DENY",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
			"Permissions-Policy":      "camera=(self), geolocation=(self), microphone=(), payment=(), usb=()",
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
		} {
			if got := a.header.Get(header); got != want {
				t.Errorf("%s: %s = %q, want %q", name, header, got, want)
			}
		}
		if len(a.header.Values("Set-Cookie")) > 0 {
			t.Errorf("%s sets a cookie", name)
		}
	}
}

func TestOtherMethodsAreRefused(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	head := c.do(http.MethodHead, c.link, "", nil)
	if head.status != http.StatusOK || head.body != "" || !strings.HasPrefix(head.header.Get("Content-Type"), "text/html") {
		t.Errorf("HEAD = %d %q", head.status, head.body)
	}
	for _, method := range []string{http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodOptions, "FETCH"} {
		a := c.do(method, c.link, "", nil)
		if a.status != http.StatusMethodNotAllowed || a.header.Get("Allow") != "GET, HEAD, POST" {
			t.Errorf("%s = %d, Allow %q", method, a.status, a.header.Get("Allow"))
		}
	}
}

func TestAssetsAreCachedAndNameNoOtherHost(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	found := regexp.MustCompile(`(?:href|src)="\./(assets/[^"]+)"`).FindAllStringSubmatch(c.get().body, -1)
	if len(found) != 4 {
		t.Fatalf("the page has the assets %v, want 4", found)
	}
	for _, f := range found {
		a := c.do(http.MethodGet, c.server.URL+"/journey/"+f[1], "", nil)
		if a.status != http.StatusOK || a.header.Get("Cache-Control") != "public, max-age=31536000, immutable" || a.body == "" {
			t.Errorf("%s = %d %v", f[1], a.status, a.header)
		}
		body := strings.ReplaceAll(a.body, "http://www.w3.org/", "") // the namespaces of XML
		if strings.Contains(body, "http://") || strings.Contains(body, "https://") {
			t.Errorf("%s names another host", f[1])
		}
		if strings.Contains(body, "eval(") {
			t.Errorf("%s calls eval", f[1])
		}
	}
	for _, path := range []string{"assets/0/journey.css", "assets/" + strings.Split(found[0][1], "/")[1] + "/nothing.css", "assets/../journey.go"} {
		if a := c.do(http.MethodGet, c.server.URL+"/journey/"+path, "", nil); a.status != http.StatusNotFound {
			t.Errorf("%s = %d, want 404", path, a.status)
		}
	}
}

func TestThePagesWorkWhereverTheyAreMounted(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	r := chi.NewRouter()
	pages, err := journey.Handler(s.Engine, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	r.Mount("/deep/er", pages)
	mounted := httptest.NewServer(r)
	defer mounted.Close()
	token := strings.TrimPrefix(c.link, s.server.URL+"/journey/")
	for _, path := range []string{"/deep/er/" + token, "/deep/er/nothing", "/deep/er/nothing/at/all", "/deep/er/" + token + "/"} {
		page := c.do(http.MethodGet, mounted.URL+path, "", nil)
		at, err := url.Parse(mounted.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		sheet, err := at.Parse(between(page.body, `<link rel="stylesheet" href="`, `"`))
		if err != nil {
			t.Fatal(err)
		}
		if a := c.do(http.MethodGet, sheet.String(), "", nil); a.status != http.StatusOK {
			t.Errorf("the style sheet of %s is %s, which is %d", path[:min(len(path), 40)], sheet, a.status)
		}
	}
}

func TestTheCustomerMayChangeTheLanguage(t *testing.T) {
	s := serve(t)
	for accept, want := range map[string]string{
		"": "en", "hi": "hi", "hi-IN,en;q=0.5": "hi", "en-IN,hi;q=0.9": "en", "fr, hi;q=0.3, *;q=0.1": "hi", "xx": "en", ";;;": "en",
		"hi;q=0, en": "en", strings.Repeat("hi,", 1000): "en",
	} {
		c := s.begin(onboarding(), "")
		c.language = accept
		page := c.get()
		if got := between(page.body, `<html lang="`, `"`); got != want || page.header.Get("Content-Language") != want || page.header.Get("Vary") != "Accept-Language" {
			t.Errorf("Accept-Language %q leads to %q (%v), want %q", accept, got, page.header, want)
		}
	}
	c := s.begin(onboarding(), "")
	wants(t, c.get(), http.StatusOK, `<a href="?lang=hi" lang="hi" hreflang="hi">हिन्दी</a>`)
	wait, link := c.wait(), c.link
	c.link += "?lang=hi"
	wants(t, c.get(), http.StatusOK, "मैं सहमत हूँ", "Your consent", "चरण 1 / 3")
	a := c.postTo(wait, "consent", "success")
	onward(t, a)
	if to := a.header.Get("Location"); !strings.HasSuffix(to, "?lang=hi") {
		t.Errorf("Location = %q, want the language kept", to)
	}
	wants(t, c.postTo(c.wait(), "f.name", "आशा"), http.StatusUnprocessableEntity, "कृपया “PAN” भरें।", `value="आशा"`, "त्रुटि:")
	c.link = link + "?lang=fr"
	wants(t, c.get(), http.StatusOK, `<html lang="en" dir="ltr">`)
}

func TestTheLinkToAnotherLanguageKeepsThePage(t *testing.T) {
	s := serve(t)
	c := s.begin(declining(), "")
	link := c.link
	c.link += "?decline"
	wants(t, c.get(), http.StatusOK, "You do not agree?", `<a href="?decline=&amp;lang=hi" lang="hi"`)
	c.link = link + "?decline=&lang=hi"
	wants(t, c.get(), http.StatusOK, "आप सहमत नहीं हैं?", `<a href="?decline=&amp;lang=en" lang="en"`)
}

func TestARefusedAnswerHasNoLinkThatLosesIt(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	onward(t, c.post("consent", "success"))
	wants(t, c.get(), http.StatusOK, `hreflang="hi"`)
	a := c.post("f.name", "Asha")
	if wants(t, a, http.StatusUnprocessableEntity, `value="Asha"`); strings.Contains(a.body, "hreflang") {
		t.Error("a link to another language would lose the answers")
	}
}

func TestTheLanguagesAreAtTheTop(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	onward(t, c.post("consent", "success"))
	for name, page := range map[string]response{"a form": c.get(), "a refused form": c.post()} {
		top := between(page.body, `<header class="top">`, "</header>")
		if !strings.Contains(top, "?lang=hi") || !strings.Contains(top, `<svg class="icon"`) {
			t.Errorf("the top of %s is %s, want a globe and the other language", name, top)
		}
	}
}
