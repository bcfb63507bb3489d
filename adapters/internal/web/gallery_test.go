// Tests of the design: every component in a real browser.

package web_test

import (
	"embed"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/internal/rig/browser"
)

//go:embed testdata/gallery.html
var gallery embed.FS

// shots is the folder for pictures of the gallery, for people to look at.
var shots = filepath.Join("..", "..", ".build", "web")

// galleryData is the data of testdata/gallery.html.
type galleryData struct {
	Style, Brand string
	Badges       []web.Badge
	Notes        []web.Note
	Summary      web.Summary
	Pager        web.Pager
	Empty        web.Empty
	Icons        []string
}

// serveGallery serves the page with every component.
func serveGallery(t *testing.T) *httptest.Server {
	t.Helper()
	assets, err := web.NewAssets(fstest.MapFS{"assets/own.css": {Data: []byte("p { }")}})
	if err != nil {
		t.Fatal(err)
	}
	page, err := web.Templates(gallery, nil, "testdata/gallery.html")
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /assets/{path...}", func(w http.ResponseWriter, r *http.Request) { assets.Serve(w, r, r.PathValue("path")) })
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		d := galleryData{
			Style: assets.Path("web.css"), Brand: assets.BrandPath(r.URL.Query().Get("brand")),
			Badges:  []web.Badge{{web.Neutral, "Draft", ""}, {web.Info, "In progress", "clock"}, {web.Good, "Approved", "tick"}, {web.Warning, "Due in 2 hours", "warning"}, {web.Bad, "Overdue", "stop"}},
			Notes:   []web.Note{{web.Info, "Another person has this run."}, {web.Good, "Your verdict is saved."}, {web.Warning, "Your session ends in 5 minutes."}, {web.Bad, "The run has changed."}},
			Summary: web.Summary{Title: "Please check your answers", Problems: []web.Problem{{"notes", "Notes", "Please fill this in."}, {"", "", "Something else."}}},
			Pager:   web.Pager{"Pages of the list", "51 to 100 of 312", "Previous", "Next", "?page=1", "?page=3"},
			Empty:   web.Empty{"inbox", "Nothing to review", "New runs appear here by themselves."},
			Icons:   icons(),
		}
		if err := page.ExecuteTemplate(w, "gallery.html", d); err != nil {
			t.Error(err)
		}
	})
	s := httptest.NewServer(web.Policy{Referrer: "same-origin"}.Secure(mux))
	t.Cleanup(s.Close)
	return s
}

func icons() []string {
	return strings.Fields("tick cross stop warning info clock hourglass broken-link cloud shield lock person people document image camera upload download place search filter eye zoom-in zoom-out rotate refresh compare flag branch chart inbox send sign-out menu down previous next external globe phone")
}

func TestTheGalleryIsAccessible(t *testing.T) {
	s := serveGallery(t)
	tab := browser.Start(t).Open(t, browser.Options{Wide: true})
	last := "none"
	for _, look := range []struct {
		name  string
		query string
		rtl   bool
		rules browser.Rules
		browser.Options
	}{
		{name: "light", rules: browser.AllRules, Options: browser.Options{Wide: true}},
		{name: "dark", rules: browser.ColourRules, Options: browser.Options{Wide: true, Dark: true}},
		{name: "phone dark", rules: browser.ColourRules, Options: browser.Options{Dark: true}},
		{name: "phone", rules: browser.AllButContrast, Options: browser.Options{Width: 320}},
		{name: "right to left", rtl: true, rules: browser.AllRules, Options: browser.Options{Wide: true}},
		{name: "yellow", rules: browser.ColourRules, query: "?brand=%23ffe600", Options: browser.Options{Wide: true}},
		{name: "yellow dark", rules: browser.ColourRules, query: "?brand=%23ffe600", Options: browser.Options{Wide: true, Dark: true}},
		{name: "red dark", rules: browser.ColourRules, query: "?brand=%239c1f2e", Options: browser.Options{Wide: true, Dark: true}},
		{name: "black dark", rules: browser.ColourRules, query: "?brand=%23000000", Options: browser.Options{Wide: true, Dark: true}},
		{name: "white", rules: browser.ColourRules, query: "?brand=%23ffffff", Options: browser.Options{Wide: true}},
	} {
		t.Run(look.name, func(t *testing.T) {
			tab.Emulate(look.Options)
			if look.query != last {
				tab.Go(s.URL + "/" + look.query)
				last = look.query
			}
			if look.rtl {
				browser.Eval[bool](tab, `document.documentElement.dir = "rtl", true`)
			}
			tab.Shoot(filepath.Join(shots, strings.ReplaceAll(look.name, " ", "-")+".png"))
			if found := tab.Violations(look.rules); found != "" {
				t.Errorf("axe finds:\n%s", found)
			}
			if wide := tab.TooWide(); wide > 0 {
				t.Errorf("the page is %d pixels too wide", wide)
			}
			if font := browser.Eval[string](tab, `getComputedStyle(document.body).getPropertyValue("--card")`); font == "" {
				t.Error("the style sheet is not loaded")
			}
		})
	}
}

func TestAButtonKeepsTheColourOfTheTenant(t *testing.T) {
	s := serveGallery(t)
	tab := browser.Start(t).Open(t, browser.Options{})
	for colour, text := range map[string]string{"9c1f2e": "rgb(255, 255, 255)", "ffe600": "rgb(0, 0, 0)"} {
		tab.Go(s.URL + "/?brand=%23" + colour)
		for _, dark := range []bool{false, true} {
			tab.Emulate(browser.Options{Dark: dark})
			var red, green, blue int
			if _, err := fmt.Sscanf(colour, "%02x%02x%02x", &red, &green, &blue); err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprintf("rgb(%d, %d, %d) %s", red, green, blue, text)
			if got := browser.Eval[string](tab, `(() => { const s = getComputedStyle(document.querySelector("#primary")); return s.backgroundColor + " " + s.color; })()`); got != want {
				t.Errorf("dark %v: the button is %s, want %s", dark, got, want)
			}
		}
	}
}
