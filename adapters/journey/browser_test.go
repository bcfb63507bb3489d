// Tests of the pages in a real browser: a phone, with and without JavaScript.

package journey_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// onto is the button that continues.
const onto = "form:not(.optout) > .buttons button:not(.quiet)"

// shots is the folder for pictures of the pages, for people to look at.
var shots = filepath.Join("..", "..", ".build", "journey")

// client is the site that a customer is sent back to.
func client(t *testing.T) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "<!doctype html><title>Back</title><p id=back>%s</p><p id=from>%s</p>", r.URL.RawQuery, r.Header.Get("Referer"))
	}))
	t.Cleanup(s.Close)
	return s
}

// photo is a file to upload.
func photo(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "pass.jpg")
	if err := os.WriteFile(path, []byte(picture(t, 120)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAJourneyOnAPhone(t *testing.T) {
	for _, noScript := range []bool{false, true} {
		t.Run(fmt.Sprintf("without JavaScript %v", noScript), func(t *testing.T) {
			s, back := serve(t), client(t)
			c := s.begin(onboarding(), back.URL+"/done")
			tab := browser.Start(t).Open(t, browser.Options{
				NoScript: noScript, Location: &browser.Location{Latitude: 19.076, Longitude: 72.877, Accuracy: 15},
			})
			tab.Go(c.link)
			tab.Press("button[value=success]")
			tab.See("#f-name")
			tab.Fill("#f-name", "Asha Rao")
			tab.Fill("#f-pan", "abc")
			tab.Press(onto)
			tab.See(".problems")
			if text := tab.Text(); !strings.Contains(text, "“PAN” does not have the right form") {
				t.Errorf("page = %s", text)
			}
			if id := browser.Eval[string](tab, "document.activeElement.className"); id != "problems" {
				t.Errorf("%s has the focus, want the problems", id)
			}
			if name := browser.Eval[string](tab, `document.querySelector("#f-name").value`); name != "Asha Rao" {
				t.Errorf("name = %q after a problem, want it kept", name)
			}
			tab.Set("#f-pan", "ABCDE1234F")
			tab.Set("#f-dob-day", "1")
			tab.Set("#f-dob-month", "4")
			tab.Set("#f-dob-year", "1990")
			tab.Press("#f-terms")
			tab.Press(onto)
			tab.See("#f-front")
			tab.Choose("#f-front", photo(t))
			if noScript {
				tab.Press(`input[name="f.where.denied"]`)
			} else {
				tab.Press("[data-share] button")
				tab.Wait(`document.querySelector("input[name='f.where.latitude']").value !== ""`)
			}
			tab.Press(onto)
			tab.See("#back")
			if text := tab.Text(); !strings.Contains(text, "run_id="+string(c.run)+"&status=completed") {
				t.Errorf("the client gets %q", text)
			}
			tab.Go(c.link)
			tab.See("#back") // at once: no page of ours is in between
			if from := browser.Eval[string](tab, `document.querySelector("#from").textContent`); from != "" {
				t.Errorf("the client got a referrer: %s", from)
			}
			want := `"where":{"accuracy":15,"latitude":19.076,"longitude":72.877}`
			if noScript {
				want = `"where":{"denied":true}`
			}
			if extra := s.data(c, "extra"); !strings.Contains(extra, want) || !strings.Contains(extra, `"media_type":"image/jpeg"`) {
				t.Errorf("extra = %s, want %s in it", extra, want)
			}
		})
	}
}

func TestAWaitPageFollowsTheRunInABrowser(t *testing.T) {
	for _, noScript := range []bool{false, true} {
		t.Run(fmt.Sprintf("without JavaScript %v", noScript), func(t *testing.T) {
			s := serve(t)
			s.Provider.On("pan_verification", enginetest.Flake(), enginetest.Fail(nil))
			c := s.begin(onboarding(), "")
			reach(c, "uploads")
			tab := browser.Start(t).Open(t, browser.Options{NoScript: noScript})
			tab.Go(c.link)
			tab.Press(".optout button")
			tab.See(`[data-state="in_progress"]`)
			s.Advance(time.Minute)
			tab.See(`[data-state="in_progress.review"]`)
			if noScript {
				return // it checks again in a minute
			}
			s.GiveVerdict(c.run, rules.DecisionApprove)
			tab.See(".sign.good")
		})
	}
}

func TestTheBackButtonAndASecondTabDoNoHarm(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	b := browser.Start(t)
	one, two := b.Open(t, browser.Options{}), b.Open(t, browser.Options{})
	one.Go(c.link)
	two.Go(c.link)
	two.Press("a[href$='decline']")
	two.See("button[value=declined]")
	one.Press("button[value=success]")
	one.See("#f-name")
	two.Press("button[value=declined]")
	two.See(".note")
	two.See("#f-name")
	one.Back()
	one.See("#f-name")
	if got := s.data(c, "consent"); got != `{"consent_status":"success"}` {
		t.Errorf("consent = %s, want the first answer", got)
	}
}

func TestJavaScriptReportsProblemsBeforeThePost(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	reach(c, "uploads")
	tab := browser.Start(t).Open(t, browser.Options{})
	tab.Go(c.link)
	large := filepath.Join(t.TempDir(), "large.jpg")
	if err := os.WriteFile(large, make([]byte, verification.MaxDocumentBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	tab.Choose("#f-front", large)
	tab.See("#f-front-large")
	if text := tab.Text(); strings.Contains(text, "Your file is ready") {
		t.Errorf("the page says that a file that is too large is ready: %s", text)
	}
	tab.Press("[data-share] button")
	tab.Wait(`document.querySelector("[data-location] .status").textContent.includes("does not share your location")`)
	if found := tab.Violations(browser.AllRules); found != "" {
		t.Errorf("axe finds:\n%s", found)
	}
	tab.Shoot(filepath.Join(shots, "uploads-problem-early.png"))
	tab.Press(onto) // goes nowhere
	if id := browser.Eval[string](tab, "document.activeElement.id"); id != "f-front" {
		t.Errorf("%q has the focus, want the file", id)
	}
	tab.Choose("#f-front", photo(t))
	tab.Press(`input[name="f.where.denied"]`)
	tab.Press(onto)
	tab.See(".sign.good")
}

// TestMarkupInEveryValueIsInert visits every page of a journey whose texts are all
// markup: those of the tenant, the workflow author and the customer.
func TestMarkupInEveryValueIsInert(t *testing.T) {
	canary := func(n int) string {
		return fmt.Sprintf(`c%d"'><canary-%d><img src=x onerror="window.canary=%d"><script>window.canary=%d</script>{{.Name}}`, n, n, n, n)
	}
	s := serve(t)
	tenant := verification.Tenant{ID: enginetest.Tenant, Name: canary(1), Links: verification.PageLinks{Privacy: "https://acme.example/?" + `"><canary-2>`}}
	if err := s.Store.SaveTenant(t.Context(), tenant); err != nil {
		t.Fatal(err)
	}
	c := s.begin(workflow.Definition{
		Workflow: "markup", Name: canary(3), Description: canary(4), Start: "consent",
		Nodes: map[verification.NodeID]workflow.Node{
			"consent": {Type: workflow.NodeConsent, Label: canary(5), Text: canary(6) + "\n\n- " + canary(7) + "\n\n[" + canary(8) + "](https://acme.example/%22%3E)", OnDeclined: workflow.TargetNext, Next: "details"},
			"details": {Type: workflow.NodeCustomerInput, Label: canary(9), Text: canary(10), Next: "check", Fields: workflow.InputFields{
				{Name: "name", Type: workflow.FieldText, Label: canary(11), Help: canary(12)},
				{Name: "about", Type: workflow.FieldTextarea, Label: canary(13)},
				{Name: "age", Type: workflow.FieldNumber, Label: canary(14)},
				{Name: "work", Type: workflow.FieldSelect, Label: canary(15), Options: []workflow.Option{{Value: canary(16), Label: canary(17)}}},
				{Name: "photo", Type: workflow.FieldImage, Label: canary(18), Help: canary(19)},
				{Name: "where", Type: workflow.FieldLocation, Label: canary(20)},
			}},
			"check":  {Type: workflow.NodeCheck, Key: "check", Label: canary(21), Provider: "script", Next: "review"},
			"review": {Type: workflow.NodeReview, Label: canary(22), Reason: canary(23), Next: "done"},
			"done":   {Type: workflow.NodeEnd},
		},
	}, "")
	tab := browser.Start(t).Open(t, browser.Options{})
	shown := map[int]bool{}
	look := func(page string) {
		t.Helper()
		if found := browser.Eval[string](tab, `[...document.querySelectorAll("*")].filter((e) => e.localName.startsWith("canary") ||
			[...e.attributes].some((a) => a.name.startsWith("on") || a.name.startsWith("<"))).map((e) => e.outerHTML).join("\n") + (window.canary ?? "")`); found != "" {
			t.Errorf("%s interprets %s", page, found)
		}
		text := browser.Eval[string](tab, `document.documentElement.textContent + [...document.querySelectorAll("option")].map((o) => o.value)`)
		for n := range 24 {
			shown[n] = shown[n] || strings.Contains(text, fmt.Sprintf("<canary-%d>", n))
		}
	}
	tab.Go(c.link)
	look("the consent")
	tab.Press("button[value=success]")
	tab.See("#f-name")
	look("the form")
	tab.Set("#f-name", canary(11))
	tab.Set("#f-about", canary(13))
	browser.Eval[bool](tab, `document.querySelector("form:not(.optout)").noValidate = true, document.querySelector("#f-age").type = "text", true`)
	tab.Set("#f-age", canary(14))
	tab.Press(onto)
	tab.See(".problems")
	look("the form with problems")
	if name := browser.Eval[string](tab, `document.querySelector("#f-name").value`); name != canary(11) {
		t.Errorf("the form shows the answer %q", name)
	}
	c.post("f.name", canary(11), "f.about", canary(13), "f.work", canary(16), "f.where.denied", "on")
	s.Settle()
	tab.Go(c.link)
	tab.See("main")
	look("the page of a person who waits")
	s.GiveVerdict(c.run, rules.DecisionApprove)
	tab.Go(c.link)
	look("the last page")
	tab.Go(c.link + "x")
	look("the page of a wrong link")
	for _, n := range []int{1, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20} {
		if !shown[n] {
			t.Errorf("no page shows the canary %d", n)
		}
	}
}

func TestOneFormOfAPageIsSentAtATime(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	onward(t, c.post("consent", "success"))
	onward(t, c.post(details()...))
	tab := browser.Start(t).Open(t, browser.Options{})
	tab.Go(c.link)
	tab.See(".optout button")
	sent := browser.Eval[string](tab, `[...document.forms].map((form) =>
		form.dispatchEvent(new SubmitEvent("submit", {cancelable: true, submitter: form.querySelector(".buttons button")}))).join(" ")`)
	if sent != "true false" {
		t.Errorf("of an answer and a skip are sent: %s, want true false", sent)
	}
}

func TestTheScriptSaysThatSomebodySeesThePage(t *testing.T) {
	for _, noScript := range []bool{false, true} {
		t.Run(fmt.Sprintf("without JavaScript %v", noScript), func(t *testing.T) {
			s := serve(t)
			c := s.begin(onboarding(), "")
			s.Advance(20 * time.Minute)
			tab := browser.Start(t).Open(t, browser.Options{NoScript: noScript})
			tab.Go(c.link)
			tab.See("button[value=success]")
			if noScript { // then the form is the first sign
				if got := s.Run(c.run).Status; got != rules.StatusAbandoned {
					t.Errorf("status = %s before the form, want abandoned", got)
				}
				tab.Press("button[value=success]")
				tab.See("#f-name")
			}
			for range 200 { // the script does not wait for the answer
				if s.Run(c.run).Status == rules.StatusInProgress {
					return
				}
				tab.See("main")
				browser.Eval[bool](tab, "new Promise((done) => setTimeout(() => done(true), 50))")
			}
			t.Errorf("status = %s, want in_progress", s.Run(c.run).Status)
		})
	}
}

// A browser loads a page ahead in a tab that is hidden.
func TestAPageThatIsLoadedAheadSaysNothing(t *testing.T) {
	s := serve(t)
	page := s.begin(onboarding(), "").get().body
	tab := browser.Start(t).Open(t, browser.Options{})
	tab.Go(s.server.URL + "/journey/assets/" + between(page, `src="./assets/`, `"`)) // has a body, and does not run the script
	told := browser.Eval[[]int](tab, `new Promise((done) => {
		let state = "hidden", posts = 0, told = [];
		Object.defineProperty(document, "visibilityState", { get: () => state });
		window.fetch = async () => { posts++; };
		document.body.dataset.opened = "";
		const script = document.createElement("script");
		script.src = location.href;
		script.onload = () => {
			for (const next of ["hidden", "visible", "hidden", "visible"]) {
				state = next;
				document.dispatchEvent(new Event("visibilitychange"));
				told.push(posts);
			}
			done(told);
		};
		document.head.append(script);
	})`)
	if !slices.Equal(told, []int{0, 1, 1, 1}) {
		t.Errorf("a page that is hidden, seen, hidden, seen has sent %v, want 0, 1, 1, 1", told)
	}
}
