// Tests of forms: who may send one, why a verdict is refused, and which text is kept.

package console_test

import (
	"encoding/base64"
	"html"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/console"
	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
)

// formOf returns the hidden fields of the form with an action on a page.
func formOf(t testing.TB, page response, action string) []string {
	t.Helper()
	_, form, ok := strings.Cut(page.body, `action="/console`+action+`"`)
	form, _, _ = strings.Cut(form, "</form>")
	if !ok {
		t.Fatalf("the page has no form for %s: %s", action, page.body)
	}
	var pairs []string
	for _, field := range regexp.MustCompile(`type="hidden" name="([^"]*)" value="([^"]*)"`).FindAllStringSubmatch(form, -1) {
		pairs = append(pairs, field[1], html.UnescapeString(field[2]))
	}
	return pairs
}

func TestAFormIsSentOnlyByThePersonWhoFilledItIn(t *testing.T) {
	d := serve(t)
	run := d.begin(d.Apply(waiting("Limit", "")), "case-1")
	path := "/runs/" + string(run)
	asha, ravi := d.as(reviewerCalled("asha")), d.as(reviewerCalled("ravi"))
	filled := append(formOf(t, asha.get(path), path+"/verdict"), "decision", "reject", "notes", "I, asha, have seen it.")
	kept := d.nobody().post(path+"/verdict", filled...) // the session has ended
	wants(t, kept, http.StatusUnauthorized, "I, asha, have seen it.", "Send again")
	again := append(formOf(t, kept, path+"/verdict"), "notes", "I, asha, have seen it.")
	refused := ravi.post(path+"/verdict", again...) // ravi has signed in in the same browser
	wants(t, refused, http.StatusConflict, "This form belongs to another person", "!<textarea", `href="/console/"`)
	wants(t, ravi.post(path+"/claim", formOf(t, asha.get(path), path+"/verdict")...), http.StatusConflict, "another person")
	if got := d.Run(run).Decision; got != rules.DecisionReview {
		t.Errorf("the decision is %q after the post of another person, want review", got)
	}
	same := d.as(reviewerCalled(" Asha")) // the name of another link, for the same person
	wants(t, same.post(path+"/verdict", formOf(t, refused, path+"/verdict")...), http.StatusSeeOther)
	if got := d.Run(run); got.Decision != rules.DecisionReject || got.Notes != "I, asha, have seen it." {
		t.Errorf("run = %q %q, want the verdict of asha", got.Decision, got.Notes)
	}
}

func TestARefusedVerdictSaysWhy(t *testing.T) {
	approve := []string{"decision", "approve", "notes", "Fine by me."}
	for _, tt := range []struct {
		name   string
		happen func(d *desk, run verification.RunID, asha *person) // before asha sends the form
		stale  bool                                                // the form was loaded before happen
		form   []string
		want   string
	}{
		{
			"a colleague has proposed", func(d *desk, run verification.RunID, _ *person) { d.propose(run, "ravi", "ravi") }, true, approve,
			"Nothing was saved: a reviewer has acted on this run since you opened it.",
		},
		{"the run was cancelled", func(d *desk, run verification.RunID, _ *person) {
			if _, err := d.Engine.Cancel(d.t.Context(), enginetest.Tenant, run); err != nil {
				d.t.Fatal(err)
			}
		}, true, approve, "Nothing was saved: this run has ended since you opened it."},
		{
			"her own proposal", func(d *desk, run verification.RunID, _ *person) { d.propose(run, "asha", "asha") }, false, approve,
			"Nothing was saved: you have proposed this verdict.",
		},
		{
			"the proposal of a namesake", func(d *desk, run verification.RunID, _ *person) { d.propose(run, "asha-2", "Asha") }, false, approve,
			"Nothing was saved: you may be the reviewer who proposed this verdict.",
		},
		{
			"nothing is proposed", func(*desk, verification.RunID, *person) {}, false,
			[]string{"decision", "return", "notes", "Fine by me."},
			"Nothing was saved: no verdict is proposed on this run any more.",
		},
		{"a colleague has the run", func(d *desk, run verification.RunID, _ *person) {
			d.as(reviewerCalled("ravi")).post("/runs/" + string(run) + "/claim")
		}, true, approve, "Nothing was saved: \u2068ravi\u2069 has taken this run over."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := serve(t)
			w := waiting("Limit", "The limit is high.")
			w.FourEyes = true
			run, asha := d.begin(d.Apply(w), "case-1"), d.as(reviewerCalled("asha"))
			path := "/runs/" + string(run)
			page := asha.get(path)
			tt.happen(d, run, asha)
			if !tt.stale {
				page = asha.get(path)
			}
			refused := asha.post(path+"/verdict", append(formOf(t, page, path+"/verdict"), tt.form...)...)
			wants(t, refused, http.StatusConflict, tt.want, "Fine by me.")
		})
	}
	t.Run("the run waits for the customer", func(t *testing.T) {
		d := serve(t)
		run := d.begin(d.Apply(identity()), "case-1")
		rec, err := d.Engine.History(t.Context(), enginetest.Tenant, run)
		if err != nil {
			t.Fatal(err)
		}
		refused := d.as(reviewerCalled("asha")).post("/runs/"+string(run)+"/verdict", append(approve, "seq", strconv.Itoa(rec.Run.Seq))...)
		wants(t, refused, http.StatusConflict, "Nothing was saved: this run does not wait for a verdict now.", "Fine by me.")
	})
}

// inZone returns a time in a zone as the pages show it.
func inZone(t testing.TB, at time.Time, zone string) string {
	t.Helper()
	location, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	return at.In(location).Format("2006-01-02 15:04")
}

// propose proposes an approval.
func (d *desk) propose(run verification.RunID, identity, name string) {
	d.t.Helper()
	_, err := d.Engine.GiveVerdict(d.t.Context(), enginetest.Tenant, run, rules.GiveVerdict{
		Decision: rules.DecisionApprove, By: name, Identity: identity,
	}, "")
	if err != nil {
		d.t.Fatal(err)
	}
}

func TestANamesakeOfTheProposerOnlySendsTheProposalBack(t *testing.T) {
	d := serve(t)
	w := waiting("Limit", "The limit is high.")
	w.FourEyes = true
	applied := d.Apply(w)
	run, other := d.begin(applied, "case-1"), d.begin(applied, "case-2")
	path := "/runs/" + string(run)
	d.propose(run, "https://id.example#1", "Asha Rao")
	namesake := reviewerCalled("asha rao")
	namesake.Identity = "https://id.example#2"
	p := d.as(namesake)
	wants(t, p.get("/queue"), http.StatusOK, "1 of 2: approval proposed", "!proposed by you")
	page := p.get(path)
	wants(t, page, http.StatusOK, "because you have the same name", "Send back", "!Confirm", "!You have proposed", "!Withdraw")
	a := p.post("/runs/"+string(other)+"/verdict", append(formOf(t, p.get("/runs/"+string(other)), "/runs/"+string(other)+"/verdict"), "decision", "approve")...)
	if got := a.header.Get("Location"); got != "/console/queue" {
		t.Errorf("the next run is %s, want the queue: the other run has a proposal that a namesake cannot confirm", got)
	}
	wants(t, p.post(path+"/verdict", append(formOf(t, p.get(path), path+"/verdict"), "decision", "return")...), http.StatusSeeOther)
	wants(t, p.get(path), http.StatusOK, "sent the proposed verdict back.", "Propose approval")
}

func TestOnlyAPostThatMaySucceedIsOfferedAgain(t *testing.T) {
	store := &refusingStore{}
	d := serve(t, func(p *engine.Ports, _ *engine.Options) { store.Store, p.Store = p.Store, store })
	run := d.begin(d.Apply(waiting("Limit", "")), "case-1")
	path := "/runs/" + string(run) + "/verdict"
	asha := d.as(reviewerCalled("asha"))
	form := append(verdictForm(t, asha.get("/runs/"+string(run))), "decision", "approve", "notes", "Seen.")
	const home = `href="/console/"`
	wants(t, d.as(reviewer(verification.RoleViewer)).post(path, form...), http.StatusForbidden, "Seen.", "<textarea", "!Send again", home)
	wants(t, asha.post("/runs/00000000-0000-7000-8000-00000000dead/verdict", form...), http.StatusNotFound, "Seen.", "<textarea", "!Send again", home)
	store.down.Store(true)
	wants(t, asha.post(path, form...), http.StatusServiceUnavailable, "Seen.", "Send again", home)
}

func TestAClaimWithANoteSaysThatTheRunHasChanged(t *testing.T) {
	d := serve(t)
	w := waiting("Limit", "The limit is high.")
	w.FourEyes = true
	run, asha := d.begin(d.Apply(w), "case-1"), d.as(reviewerCalled("asha"))
	path := "/runs/" + string(run)
	form := append(formOf(t, asha.get(path), path+"/verdict"), "notes", "Fine by me.")
	const changed = "a reviewer has acted on this run since you opened it"
	wants(t, asha.post(path+"/claim", form...), http.StatusOK, "Fine by me.", "!"+changed)
	wants(t, asha.post(path+"/release"), http.StatusSeeOther)
	d.propose(run, "ravi", "ravi")
	wants(t, asha.post(path+"/claim", form...), http.StatusOK, "Fine by me.", changed)
}

func TestAPageThatIsOpenedOverHTTPClaimsByItsReferrer(t *testing.T) {
	d := serve(t)
	run := d.begin(d.Apply(waiting("Limit", "")), "case-1")
	p := d.as(reviewerCalled("asha"))
	for from, want := range map[string]bool{
		"": false, d.server.URL + "/console/queue?age=1h": true, d.server.URL + "/journey/x": false, d.server.URL + "/consoles/": false,
		"https://attacker.example/console/queue": false, d.server.URL + ".attacker.example/console/queue": false,
	} {
		page := p.get("/runs/"+string(run), "Referer", from)
		if got := strings.Contains(page.body, " data-claim-now"); got != want {
			t.Errorf("a page opened from %q has its script claim the run = %t, want %t", from, got, want)
		}
	}
	page := p.get("/runs/"+string(run), "Referer", d.server.URL+"/console/queue", "Sec-Fetch-Site", "cross-site")
	wants(t, page, http.StatusOK, "! data-claim-now")
	page = p.get("/runs/"+string(run)+"?lang=hi", "Sec-Fetch-Site", "same-origin")
	wants(t, page, http.StatusOK, "! data-claim-now")
}

func TestTheReferrerMayBeTheHostOrThePublicAddress(t *testing.T) {
	d := serveWith(t, func(o *console.Options) { o.URL = "http://verify.example/console" })
	run := d.begin(d.Apply(waiting("Limit", "")), "case-1")
	p := d.as(reviewerCalled("asha"))
	for from, want := range map[string]bool{
		d.server.URL + "/console/": true, "http://verify.example/console/queue": true, "https://verify.example/console/queue": false,
	} {
		page := p.get("/runs/"+string(run), "Referer", from)
		if got := strings.Contains(page.body, " data-claim-now"); got != want {
			t.Errorf("a page opened from %q has its script claim the run = %t, want %t", from, got, want)
		}
	}
}

func TestANoteThatWasTypedBeforeTheClaimStays(t *testing.T) {
	d := serve(t)
	run := d.begin(d.Apply(waiting("Limit", "")), "case-1")
	tab := d.tab(reviewerCalled("asha"), browser.Options{Wide: true, NoScript: true})
	tab.Go(d.server.URL + "/console/runs/" + string(run))
	const note = "\nThe name is\nspelled differently."
	tab.Set("#notes", note)
	tab.Press("[data-free] button")
	tab.See("[data-mine] button")
	if got := browser.Eval[string](tab, `document.querySelector("#notes").value`); got != note {
		t.Errorf("after the claim the note is %q, want %q", got, note)
	}
	tab.Press("button[value=approve]")
	tab.See(".note.good")
	if got := d.Run(run); got.Decision != rules.DecisionApprove || strings.TrimSpace(got.Notes) != strings.TrimSpace(note) {
		t.Errorf("run = %q %q, want the note", got.Decision, got.Notes)
	}
}

func TestAScriptClaimsNothingForALaterSignIn(t *testing.T) {
	d := serve(t)
	run := d.begin(d.Apply(waiting("Limit", "")), "case-1")
	tab := d.tab(reviewerCalled("asha"), browser.Options{Wide: true})
	tab.Go(d.server.URL + "/console/runs/" + string(run))
	browser.Eval[bool](tab, `fetch("`+d.link(reviewerCalled("ravi"))+`", {method: "POST"}).then((r) => r.ok)`)
	tab.Fill("#notes", "Mine.")
	tab.See("[data-taken]")
	found, err := d.Engine.Review(t.Context(), enginetest.Tenant, run)
	if err != nil || found.Claim.By != "" {
		t.Errorf("the run is claimed by %q, %v; want nobody", found.Claim.By, err)
	}
}

func TestAPageShowsTheNewEndOfARenewedClaim(t *testing.T) {
	d := serve(t)
	run := d.begin(d.Apply(waiting("Limit", "")), "case-1")
	tab := d.tab(reviewerCalled("asha"), browser.Options{Wide: true})
	tab.Go(d.server.URL + "/console/") // its script stores the time zone
	tab.Go(d.server.URL + "/console/runs/" + string(run))
	old := browser.Eval[string](tab, `document.querySelector("[data-held]").textContent`)
	d.Advance(rules.ClaimTTL / 3)
	tab.Fill("#notes", "x") // begins to work on the run
	tab.See("form[data-mine]:not([hidden])")
	entry, err := d.Engine.Review(t.Context(), enginetest.Tenant, run)
	if err != nil {
		t.Fatal(err)
	}
	got := browser.Eval[string](tab, `document.querySelector("[data-held]").textContent`)
	zone := browser.Eval[string](tab, `Intl.DateTimeFormat().resolvedOptions().timeZone`)
	if want := "Until " + inZone(t, entry.Claim.Until, zone); got != want || got == old {
		t.Errorf("the page says %q, want %q; before it was %q", got, want, old)
	}
}

func TestAPageShowsThatItsClaimWasTakenOver(t *testing.T) {
	d := serve(t)
	run := d.begin(d.Apply(waiting("Limit", "")), "case-1")
	tab := d.tab(reviewerCalled("asha"), browser.Options{Wide: true})
	tab.Go(d.server.URL + "/console/queue")
	tab.Press("a[data-row]") // claims the run
	tab.See("form[data-mine]:not([hidden])")
	_, err := d.Engine.Claim(t.Context(), enginetest.Tenant, run, engine.ClaimRequest{By: "ravi", Name: "ravi", TakeOver: true})
	if err != nil {
		t.Fatal(err)
	}
	tab.Fill("#notes", "Mine.") // renews the claim
	tab.See("[data-taken]")
	if text := tab.Text(); strings.Contains(text, "You have claimed this run") {
		t.Errorf("the page says that the run is taken over and still claimed: %.400s", text)
	}
}

func TestAClaimThatFailsIsMadeAgain(t *testing.T) {
	d := serve(t)
	run := d.begin(d.Apply(waiting("Limit", "")), "case-1")
	tab := d.tab(reviewerCalled("asha"), browser.Options{Wide: true})
	tab.Go(d.server.URL + "/console/runs/" + string(run))
	browser.Eval[bool](tab, `{
		const send = window.fetch;
		window.fetch = () => { window.fetch = send; return Promise.resolve(new Response("", {status: 503})); };
		true;
	}`)
	tab.Fill("#notes", "x")
	tab.Fill("#notes", "y")
	tab.See("form[data-mine]:not([hidden])")
}

func TestLanguagesKeepTheFilterOfThePage(t *testing.T) {
	p := serve(t).as(reviewer(verification.RoleViewer))
	wants(t, p.get("/queue?age=4h&search=caf%C3%A9"), http.StatusOK, `href="?age=4h&amp;lang=hi&amp;search=caf%C3%A9"`)
	wants(t, p.get("/queue?age=4h&lang=hi"), http.StatusOK, `href="?age=4h&amp;lang=en"`)
}

func TestTheMessageCookieShowsOnlyKnownMessages(t *testing.T) {
	d := serve(t)
	p := d.as(reviewer(verification.RoleViewer))
	for message, shown := range map[string]bool{
		`["done.approve","case-1"]`: true, `["done.approve","case %d 1"]`: true, `["done.redelivered"]`: true,
		`["done.approve"]`: false, `["done.approve","a","b"]`: false, `["done.redelivered","a"]`: false, `["done.nothing"]`: false,
		`["error.id"]`: false, `[]`: false, `x`: false,
	} {
		value := base64.RawURLEncoding.EncodeToString([]byte(message))
		page := p.get("/queue", "Cookie", "verifyd-flash="+value)
		wants(t, page, http.StatusOK, "!%!", "!%s")
		if got := strings.Contains(page.body, "data-done"); got != shown {
			t.Errorf("the message %s is shown = %t, want %t", message, got, shown)
		}
	}
}
