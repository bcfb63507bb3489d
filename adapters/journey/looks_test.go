// Tests of the look and the accessibility of the pages.

package journey_test

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"path/filepath"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// look is a way in which every page must be usable, with the rules of accessibility that
// are checked in it.
type look struct {
	name string
	browser.Options
	rules browser.Rules
}

// looks returns the looks of a page. It is opened in the first one of each language.
func looks() [][]look {
	return [][]look{
		{
			{"light", browser.Options{}, browser.AllRules},
			{"dark", browser.Options{Dark: true}, browser.ColourRules},
			{"narrow", browser.Options{Width: 320}, browser.LayoutRules},
			{"wide", browser.Options{Wide: true, Width: 1920}, browser.LayoutRules},
		},
		{{"hindi", browser.Options{Language: "hi-IN"}, browser.AllButContrast}},
	}
}

func TestEveryPageIsAccessible(t *testing.T) {
	tab := browser.Start(t).Open(t, browser.Options{})
	for i, kind := range kinds() {
		t.Run(kind.name, func(t *testing.T) {
			s := serve(t)
			workflow, redirect := onboarding(), ""
			if strings.HasPrefix(kind.name, "declined") {
				workflow = declining()
			}
			if strings.HasSuffix(kind.name, "and on") {
				redirect = "https://app.example/verify"
			}
			c := s.begin(workflow, redirect)
			kind.reach(c)
			for n, language := range looks() {
				if (i+n)%2 == 1 { // half of the pages have no logo in English, so that the initial of the tenant is seen, too
					if err := s.Store.SaveTenant(t.Context(), branded(t, redirect)); err != nil {
						t.Fatal(err)
					}
				}
				tab.Emulate(language[0].Options)
				tab.Go(c.link)
				if kind.then != nil {
					kind.then(tab)
				}
				if foreign := browser.Eval[string](tab, foreign); foreign != "" {
					t.Errorf("not ours, or not loaded: %s", foreign)
				}
				for _, look := range language {
					tab.Emulate(look.Options)
					inspect(t, tab, kind.name+" "+look.name, look.rules)
				}
			}
		})
	}
}

// inspect takes a picture of a page and fails the test if axe finds a problem, the page is
// wider than the window, or a tap target is too small.
func inspect(t *testing.T, tab *browser.Tab, name string, rules browser.Rules) {
	t.Helper()
	tab.Shoot(filepath.Join(shots, strings.ReplaceAll(name, " ", "-")+".png"))
	if found := tab.Violations(rules); found != "" {
		t.Errorf("%s: axe finds:\n%s", name, found)
	}
	if wide := tab.TooWide(); wide > 0 {
		t.Errorf("%s is %d pixels too wide", name, wide)
	}
	if small := browser.Eval[string](tab, tooSmall); small != "" {
		t.Errorf("%s: smaller than 44 pixels: %s", name, small)
	}
}

// branded is a tenant with a logo, a colour and links.
func branded(t *testing.T, redirect string) verification.Tenant {
	t.Helper()
	m := image.NewNRGBA(image.Rect(0, 0, 360, 96))
	for y := range 96 {
		for x := range 360 {
			if x < 96 || y > 30 && y < 66 && x%40 > 8 {
				m.Set(x, y, color.NRGBA{R: 0x9c, G: 0x1f, B: 0x2e, A: 255})
			}
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	tenant := verification.Tenant{
		ID: enginetest.Tenant, Name: "Acme Bank", Colour: "#9c1f2e", Logo: verification.NewLogo("image/png", b.Bytes()),
		Links: verification.PageLinks{
			Privacy: "https://acme.example/privacy", Help: "https://acme.example/help", Legal: "https://acme.example/legal", Phone: "+91 22 9876 5432",
		},
	}
	if redirect != "" {
		tenant.RedirectAllowlist = []string{redirect}
	}
	return tenant
}

func TestEveryColourOfATenantIsReadable(t *testing.T) {
	tab := browser.Start(t).Open(t, browser.Options{})
	s := serve(t)
	c := s.begin(onboarding(), "")
	reach(c, "uploads")
	for _, colour := range []string{"#ffe600", "#ffffff", "#000000", "#e4002b"} {
		tenant := verification.Tenant{ID: enginetest.Tenant, Name: "Acme Bank", Colour: colour}
		if err := s.Store.SaveTenant(t.Context(), tenant); err != nil {
			t.Fatal(err)
		}
		tab.Go(c.link)
		tab.Press(onto)
		tab.See(".problems")
		for _, dark := range []bool{false, true} {
			tab.Emulate(browser.Options{Dark: dark})
			if found := tab.Violations(browser.ColourRules); found != "" {
				t.Errorf("%s, dark %v: axe finds:\n%s", colour, dark, found)
			}
			if got := browser.Eval[string](tab, `getComputedStyle(document.documentElement).getPropertyValue("--brand")`); got == "#2554c7" || got == "#8db2ff" {
				t.Errorf("%s, dark %v: the page has our colour, %s", colour, dark, got)
			}
			name := "colour-" + colour[1:]
			if dark {
				name += "-dark"
			}
			tab.Shoot(filepath.Join(shots, name+".png"))
		}
		tab.Emulate(browser.Options{})
	}
}

func TestThePagesRunFromRightToLeft(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	reach(c, "uploads")
	tab := browser.Start(t).Open(t, browser.Options{})
	tab.Go(c.link)
	browser.Eval[bool](tab, `document.documentElement.dir = "rtl", true`)
	tab.Shoot(filepath.Join(shots, "uploads-right-to-left.png"))
	if wide := tab.TooWide(); wide > 0 {
		t.Errorf("the page is %d pixels too wide", wide)
	}
	if found := tab.Violations(browser.AllRules); found != "" {
		t.Errorf("axe finds:\n%s", found)
	}
	browser.Eval[bool](tab, `document.querySelector("main").append(new Image(20, 20)), true`)
	if found := tab.Violations(browser.AllRules); !strings.HasPrefix(found, "image-alt") {
		t.Errorf("axe finds %q, want the picture without a text: does it look at all?", found)
	}
}

// foreign returns the resources that were loaded from other hosts, and an entry if the
// style sheet or the script was not loaded.
const foreign = `(() => {
	const all = performance.getEntriesByType("resource").map((e) => e.name);
	const bad = all.filter((n) => !n.startsWith(location.origin + "/"));
	for (const name of ["journey.css", "journey.js"]) if (!all.some((n) => n.endsWith(name))) bad.push("no " + name);
	return bad.join(" ");
})()`

// tooSmall returns the tap targets that are too small. Nobody taps what is hidden. A checkbox is as large as its
// label.
const tooSmall = `[...document.querySelectorAll("a, button, input:not([type=hidden]), select, textarea")]
	.filter((e) => !e.closest(".problems, .skip, [aria-hidden=true]"))
	.map((e) => e.closest("label") || (e.matches(".hidden") && document.querySelector("label.button[for='" + e.id + "']")) || e)
	.filter((e) => { const r = e.getBoundingClientRect(); return r.height > 0 && (r.height < 44 || r.width < 44); })
	.map((e) => e.outerHTML).join("\n")`

// kind is a kind of page, and how to come to it.
type kind struct {
	name  string
	reach func(c *customer)
	then  func(tab *browser.Tab)
}

func kinds() []kind {
	first := func(*customer) {}
	second := func(c *customer) { onward(c.t, c.post("consent", "success")) }
	third := func(c *customer) { second(c); onward(c.t, c.post(details()...)) }
	last := func(c *customer) { third(c); onward(c.t, c.post("do", "opt_out")) }
	finish := func(c *customer) { last(c); c.Settle() }
	decline := func(c *customer) { onward(c.t, c.post("consent", "declined")); c.Settle() }
	asked := func(c *customer) {
		c.Provider.On("pan_verification", enginetest.Fail(nil))
		last(c)
		c.Settle()
		c.askAgain(rules.AskAgain{Step: "details", Reasons: []string{"does_not_match", "incomplete"}, Fields: []string{"name", "dob"}, Note: "Please write your name as it is on the card."})
	}
	stay := func(tab *browser.Tab) {
		browser.Eval[bool](tab, `document.querySelector("a[data-leave]").href = "#", true`)
	}
	shoot := func(tab *browser.Tab) {
		tab.Press("[data-open]")
		tab.See("[data-shoot]:focus")
		tab.Press("[data-shoot]")
		tab.See("[data-judge] [data-use]:focus")
	}
	press := func(tab *browser.Tab) { tab.Press(onto); tab.See(".problems") }
	return []kind{
		{"consent", first, nil},
		{"form", second, nil},
		{"form with problems", second, func(tab *browser.Tab) {
			tab.Fill("#f-name", "محمد عبد الله الرشيد")
			tab.Fill("#f-age", "1,7")
			tab.Fill("#f-email", "asha")
			press(tab)
		}},
		{"declining", func(c *customer) { c.link += "?decline" }, nil},
		{"uploads", third, nil},
		{"uploads with problems", third, press},
		{"uploads chosen", third, func(tab *browser.Tab) {
			shoot(tab)
			tab.Press("[data-use]")
			tab.See("[data-open]:focus")
		}},
		{"camera", third, func(tab *browser.Tab) { tab.Press("[data-open]"); tab.See("[data-shoot]:focus") }},
		{"photo taken", third, shoot},
		{"asked again", asked, nil},
		{"moved", func(c *customer) { second(c); c.link += "?moved" }, nil},
		{"waiting", func(c *customer) {
			c.Provider.On("pan_verification", enginetest.Flake())
			last(c)
		}, nil},
		{"review", func(c *customer) {
			c.Provider.On("pan_verification", enginetest.Fail(nil))
			last(c)
			c.Settle()
		}, nil},
		{"done", finish, nil},
		{"done and on", func(c *customer) { finish(c); c.link += "?sent" }, stay},
		{"declined", decline, nil},
		{"declined and on", func(c *customer) { decline(c); c.link += "?sent" }, stay},
		{"expired", expire, nil},
		{"expired and on", func(c *customer) { expire(c); c.link += "?sent" }, stay},
		{"cancelled", cancel, nil},
		{"lost", func(c *customer) { c.link = strings.Replace(c.link, "/journey/", "/journey/x", 1) }, nil},
	}
}

// reach brings a customer to a kind of page.
func reach(c *customer, name string) {
	c.t.Helper()
	for _, kind := range kinds() {
		if kind.name == name {
			kind.reach(c)
			return
		}
	}
	c.t.Fatalf("there is no page %q", name)
}

func TestALinkLeavesTheLinesTheirDistance(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	tab := browser.Start(t).Open(t, browser.Options{})
	tab.Go(c.link)
	if more := browser.Eval[float64](tab, `(() => {
		const [plain, linked] = [...document.querySelectorAll(".words li")].map((e) => e.getBoundingClientRect().height);
		return linked - plain;
	})()`); more > 2 || more < -2 {
		t.Errorf("a line with a link is %v pixels higher than one without", more)
	}
}

func TestLongWordsStayOnAPhone(t *testing.T) {
	s := serve(t)
	d := onboarding()
	details := d.Nodes["details"]
	d.Start = "details"
	delete(d.Nodes, "consent")
	for i := range details.Fields {
		details.Fields[i].Label = strings.Repeat("Rechtsschutzversicherung", 3)
	}
	c := s.begin(d, "")
	tab := browser.Start(t).Open(t, browser.Options{Width: 320})
	tab.Go(c.link)
	tab.Press(onto)
	tab.See(".problems")
	if wide := tab.TooWide(); wide > 0 {
		t.Errorf("the page is %d pixels too wide", wide)
	}
}
