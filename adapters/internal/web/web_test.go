// Tests of assets, catalogs and templates.

package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/verifyd/verifyd/adapters/internal/web"
)

func get(t *testing.T, a *web.Assets, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	a.Serve(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), path)
	return w
}

func TestAnAssetIsCachedForEverBelowItsVersion(t *testing.T) {
	own := fstest.MapFS{"assets/own.js": {Data: []byte("let x;")}}
	a, err := web.NewAssets(own)
	if err != nil {
		t.Fatal(err)
	}
	for path, media := range map[string]string{a.Path("own.js"): "text/javascript", a.Path("web.css"): "text/css", a.Path("icon.svg"): "image/svg+xml", a.BrandPath("#9C1F2E"): "text/css"} {
		w := get(t, a, path)
		if w.Code != http.StatusOK || w.Header().Get("Cache-Control") != "public, max-age=31536000, immutable" || !strings.HasPrefix(w.Header().Get("Content-Type"), media) || w.Body.Len() == 0 {
			t.Errorf("%s = %d %v, want it as %s", path, w.Code, w.Header(), media)
		}
	}
	version, _, _ := strings.Cut(a.Path(""), "/")
	for _, path := range []string{"", "own.js", "0/own.js", version, version + "/", version + "/nothing.css", version + "/brand-12345.css", version + "/brand-9c1f2e", version + "/brand-zzzzzz.css", version + "/../web.go"} {
		if w := get(t, a, path); w.Code != http.StatusNotFound || w.Header().Get("Cache-Control") != "" {
			t.Errorf("%q = %d, Cache-Control %q, want 404 uncached", path, w.Code, w.Header().Get("Cache-Control"))
		}
	}
	own["assets/own.js"].Data = []byte("let y;")
	changed, err := web.NewAssets(own)
	if err != nil {
		t.Fatal(err)
	}
	if changed.Path("web.css") == a.Path("web.css") {
		t.Error("the paths stay when an asset changes")
	}
	if _, err := web.NewAssets(fstest.MapFS{"assets/web.css": {}}); err == nil {
		t.Error("an own asset may replace a shared one")
	}
	if got := a.BrandPath("red"); got != "" {
		t.Errorf("BrandPath of red = %q, want none", got)
	}
}

func catalogs(en, hi string) fstest.MapFS {
	return fstest.MapFS{"messages/en.json": {Data: []byte(en)}, "messages/hi.json": {Data: []byte(hi)}}
}

func TestCatalogsThatDifferAreRefused(t *testing.T) {
	const en = `{"a": "%d of %s", "b": "Up to #"}`
	for name, hi := range map[string]string{
		"a missing key":   `{"a": "%d %s"}`,
		"an empty text":   `{"a": "%d %s", "b": ""}`,
		"another key":     `{"a": "%d %s", "b": "#", "c": "c"}`,
		"a missing verb":  `{"a": "%d", "b": "#"}`,
		"a missing value": `{"a": "%d %s", "b": "b"}`,
		"no JSON":         `{`,
	} {
		if _, err := web.ReadCatalogs(catalogs(en, hi)); err == nil {
			t.Errorf("ReadCatalogs accepts %s", name)
		}
	}
	if _, err := web.ReadCatalogs(catalogs(en, `{"a": "%[2]s, %[1]d", "b": "# तक"}`)); err != nil {
		t.Error(err)
	}
}

func TestMessagesFollowTheNumberAndTheLanguage(t *testing.T) {
	all, err := web.ReadCatalogs(catalogs(
		`{"language": "English", "runs (one)": "%d run", "runs (other)": "%d runs"}`,
		`{"language": "हिन्दी", "runs (one)": "%d रन (एक)", "runs (other)": "%d रन"}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		accept string
		n      int
		want   string
	}{
		{"en", 1, "1 run"},
		{"en", 0, "0 runs"},
		{"en", 100000, "100,000 runs"},
		{"hi", 1, "1 रन (एक)"},
		{"hi", 0, "0 रन (एक)"},
		{"hi-IN", 100000, "1,00,000 रन"},
	} {
		c := all.Choose("", http.Header{"Accept-Language": {tt.accept}})
		if got, err := c.N("runs", tt.n); got != tt.want || err != nil {
			t.Errorf("%s: N(%d) = %q, %v, want %q", tt.accept, tt.n, got, err, tt.want)
		}
	}
	c := all.Choose("hi", http.Header{"Accept-Language": {"en"}})
	if c.Lang() != "hi" {
		t.Errorf("the chosen language is %s", c.Lang())
	}
	for want, query := range map[string]url.Values{"?lang=en": nil, "?a=1&a=2&lang=en": {"a": {"1", "2"}, "lang": {"hi"}}} {
		if links := all.Links(c, query); len(links) != 1 || links[0].Lang() != "en" || links[0].URL != want {
			t.Errorf("Links of %v = %v, want one to %s", query, links, want)
		}
	}
	if _, err := c.T("nothing"); err == nil {
		t.Error("T of an unknown key returns no error")
	}
	if _, err := c.N("nothing", 1); err == nil {
		t.Error("N of an unknown key returns no error")
	}
}

func TestAProblemDoesNotDoubleThePunctuationOfItsLabel(t *testing.T) {
	for label, want := range map[string]string{
		"Full name": "Full name: Please fill this in.", "I have told the truth.": "I have told the truth. Please fill this in.",
		"Employed?": "Employed? Please fill this in.", "Name (as on the card)": "Name (as on the card): Please fill this in.",
		"मैं सच बोल रहा हूँ।": "मैं सच बोल रहा हूँ। Please fill this in.", "": "Please fill this in.",
	} {
		if got := (web.Problem{Label: label, Text: "Please fill this in."}).Line(); got != want {
			t.Errorf("Line = %q, want %q", got, want)
		}
	}
}

func TestAnUnknownIconIsAnError(t *testing.T) {
	page, err := web.Templates(fstest.MapFS{"page/x.html": {Data: []byte(`{{icon .}}`)}}, nil, "page/x.html")
	if err != nil {
		t.Fatal(err)
	}
	for name, wantError := range map[string]bool{"search": false, "nothing": true, `"><script>`: true} {
		var b strings.Builder
		if err := page.ExecuteTemplate(&b, "x.html", name); (err != nil) != wantError {
			t.Errorf("icon %s: error %v", name, err)
		}
	}
}
