// Tests of the run page, of verdicts and of documents.

package console_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/console"
	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/report"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// reviewerCalled returns a reviewer with a name.
func reviewerCalled(name string) verification.Reviewer {
	who := reviewer(verification.RoleReviewer)
	who.Name = name
	return who
}

func TestTheRunPageShowsAllThatIsKnown(t *testing.T) {
	d := serve(t)
	d.suspicious()
	run, documents := d.answered(d.Apply(identity()), "case-1", "Asha <b>Rao</b>")
	page := d.as(reviewer(verification.RoleReviewer)).get("/runs/" + string(run))
	wants(t, page, http.StatusOK,
		`<h1 tabindex="-1"><bdi>Asha &lt;b&gt;Rao&lt;/b&gt;</bdi></h1>`, "case-1", "Needs a verdict", "In progress", "\u2068Identity check\u2069, version 1", string(run),
		"Full name", "Asha &lt;b&gt;Rao&lt;/b&gt;", "Front of the card", "Bank statement", "PDF, 1 KB", // the details
		"Registered name", "ASHA RAO", "61.5", "12 Hill Road", "Mumbai", "A. Rao", // the check
		"The score is low.", "Second look", // the review
		"steps.pan.data.score", "double(steps.pan.data.score) &lt; 80.0", "Score gate", // the branch
		"the customer agreed", "the customer sent a file", "the check passed", "a condition held", "waits for a verdict", // the timeline
		"Nobody has claimed this run.", `name="seq"`, "!report.pdf", "!document_id",
	)
	for _, u := range documents {
		if !strings.Contains(page.body, "/console/runs/"+string(run)+"/documents/"+u.ID) {
			t.Errorf("the page does not show the %s", u.Field)
		}
	}
	if n := strings.Count(page.body, "<img "); n != 2 {
		t.Errorf("the page has %d pictures, want 2", n)
	}
	wants(t, d.as(reviewer(verification.RoleViewer)).get("/runs/"+string(run)), http.StatusOK, `!value="approve"`)
	d.as(reviewer(verification.RoleReviewer)).post("/runs/" + string(run) + "/claim")
	wants(t, d.as(reviewer(verification.RoleViewer)).get("/runs/"+string(run)), http.StatusOK, "asha-reviewer has claimed this run", `!value="approve"`, "!Take over", "your role cannot give verdicts")
}

func TestTheRunPageShowsEveryVisitOfALoop(t *testing.T) {
	d := serve(t)
	run := d.looped()
	p := d.as(reviewer(verification.RoleReviewer))
	page := p.get("/runs/" + string(run))
	wants(t, page, http.StatusOK,
		"Needs a verdict", "On an earlier visit, a possible match on a list was found.",
		"This is the last visit of the step. There was 1 visit before it.", "Asha Rao", "Viktor Zamoyskov", // both answers
		"A possible match on a list was found.", "fictional-001", "0.993", // the hit
		"Visit 2 of this step", // the timeline
	)
	if n := strings.Count(page.body, `<details class="visit" open>`); n != 1 {
		t.Errorf("%d earlier visits are open, want the one with the hit", n)
	}
	if n := strings.Count(page.body, `<details class="visit">`); n != 1 {
		t.Errorf("%d earlier visits are closed, want the one of the form", n)
	}
	wants(t, p.get("/runs/"+string(run)+"?lang=hi"), http.StatusOK, "पहले के एक दौर में सूची में", "दौर 1", "!On an earlier visit")
}

func TestADocumentIsServedSafelyAndItsViewIsLogged(t *testing.T) {
	d := serve(t)
	d.suspicious()
	run, documents := d.answered(d.Apply(identity()), "case-1", "Asha Rao")
	other := d.begin(d.Apply(waiting("Other", "")), "case-2")
	p := d.as(reviewer(verification.RoleViewer))
	for _, u := range documents {
		a := p.get("/runs/" + string(run) + "/documents/" + u.ID)
		disposition := "inline"
		if u.MediaType == "application/pdf" {
			disposition = "attachment; filename=\"" + u.ID + "\""
		}
		if a.status != http.StatusOK || int64(len(a.body)) != u.Size {
			t.Errorf("%s = %d with %d bytes, want 200 with %d", u.Field, a.status, len(a.body), u.Size)
		}
		for name, want := range map[string]string{
			"Content-Type": u.MediaType, "X-Content-Type-Options": "nosniff", "Content-Disposition": disposition, "Cache-Control": "no-store",
		} {
			if got := a.header.Get(name); got != want {
				t.Errorf("%s of %s = %q, want %q", name, u.Field, got, want)
			}
		}
		if policy := a.header.Get("Content-Security-Policy"); !strings.Contains(policy, "sandbox") || !strings.Contains(policy, "default-src 'none'") {
			t.Errorf("the policy of %s = %q, want a sandbox", u.Field, policy)
		}
		for _, want := range []string{`msg="document viewed"`, "reviewer=asha-viewer", "document=" + u.ID, "run=" + string(run), "tenant=" + string(enginetest.Tenant)} {
			if !strings.Contains(d.log.String(), want) {
				t.Errorf("the log has no %s: %s", want, d.log)
			}
		}
		wants(t, p.get("/runs/"+string(other)+"/documents/"+u.ID), http.StatusNotFound)
	}
	if n := strings.Count(d.log.String(), "document viewed"); n != len(documents) {
		t.Errorf("%d views are logged, want %d", n, len(documents))
	}
}

func TestTheReportOfARunThatIsOverIsPrinted(t *testing.T) {
	d := serve(t, func(p *engine.Ports, _ *engine.Options) { p.Printer = printer{} })
	run := d.begin(d.Apply(waiting("Limit", "")), "case-1")
	p := d.as(reviewer(verification.RoleReviewer))
	wants(t, p.get("/runs/"+string(run)+"/report.pdf"), http.StatusConflict)
	d.GiveVerdict(run, rules.DecisionApprove)
	wants(t, p.get("/runs/"+string(run)), http.StatusOK, "report.pdf")
	a := p.get("/runs/" + string(run) + "/report.pdf")
	if a.status != http.StatusOK || a.header.Get("Content-Type") != "application/pdf" || a.body != "the report of case-1" {
		t.Errorf("report = %d %s %q", a.status, a.header.Get("Content-Type"), a.body)
	}
	wants(t, p.get("/runs/"+string(run)), http.StatusOK, "report.pdf?for=file")
	if a := p.get("/runs/" + string(run) + "/report.pdf?for=file"); a.status != http.StatusOK || a.body != "the file of case-1" {
		t.Errorf("report for the file = %d %q", a.status, a.body)
	}
	wants(t, p.get("/runs/"+string(run)+"/report.pdf?for=x"), http.StatusBadRequest)
}

func TestAReportWithoutItsFontIsPrintedOnRequest(t *testing.T) {
	d := serveWith(t, func(c *console.Options) { c.SignReport = func(pdf []byte) ([]byte, error) { return pdf, nil } },
		func(p *engine.Ports, _ *engine.Options) { p.Printer = printer{} })
	run := d.begin(d.Apply(waiting("Limit", "")), "漢-1")
	d.GiveVerdict(run, rules.DecisionApprove)
	p, page := d.as(reviewer(verification.RoleViewer)), "/runs/"+string(run)
	wants(t, p.get(page), http.StatusOK, "!allow_missing")
	for _, file := range []string{"/report.pdf", "/report.pdf.jws"} {
		wants(t, p.get(page+file+"?for=file"), http.StatusConflict, "The report with the verdict was not printed:", "no font has U&#43;6F22",
			page+`/report.pdf?for=file&amp;allow_missing=1"`, page+`/report.pdf.jws?for=file&amp;allow_missing=1"`)
		if a := p.get(page + file + "?for=file&allow_missing=1"); a.status != http.StatusOK || a.body != "the file of 漢-1" {
			t.Errorf("%s all the same = %d %q", file, a.status, a.body)
		}
	}
	wants(t, p.get(page+"/report.pdf"), http.StatusOK, "the report of")
}

func TestAReportIsSignedForItsReaders(t *testing.T) {
	keys, err := token.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	signer := token.NewReports(keys)
	d := serveWith(t, func(c *console.Options) { c.SignReport = signer.SignReport },
		func(p *engine.Ports, _ *engine.Options) { p.Printer = printer{} })
	run := d.begin(d.Apply(waiting("Limit", "")), "case-1")
	page := "/runs/" + string(run)
	p := d.as(reviewer(verification.RoleViewer))
	wants(t, p.get(page), http.StatusOK, "!report.pdf.jws")
	wants(t, p.get(page+"/report.pdf.jws"), http.StatusConflict)
	d.GiveVerdict(run, rules.DecisionApprove)
	wants(t, p.get(page), http.StatusOK, page+`/report.pdf.jws"`, page+`/report.pdf.jws?for=file"`, "Digital signature:")
	for query, name := range map[string]string{"": "report-", "?for=file": "file-"} {
		pdf, got := p.get(page+"/report.pdf"+query), p.get(page+"/report.pdf.jws"+query)
		want, err := signer.SignReport([]byte(pdf.body))
		if err != nil || got.status != http.StatusOK || got.body != string(want) || got.header.Get("Content-Type") != "application/jose" ||
			got.header.Get("Content-Disposition") != `attachment; filename="`+name+string(run)+`.pdf.jws"` {
			t.Errorf("signature%s = %d %v %s, want %s", query, got.status, got.header, got.body, want)
		}
	}
	wants(t, p.get(page+"/report.pdf.jws?for=x"), http.StatusBadRequest)
	eve := d.as(verification.Reviewer{Tenant: otherTenant, Name: "eve", Role: verification.RoleAdmin})
	wants(t, eve.get(page+"/report.pdf.jws"), http.StatusNotFound)

	unsigned := serveWith(t, func(c *console.Options) { c.SignReport = nil }, func(p *engine.Ports, _ *engine.Options) { p.Printer = printer{} })
	run = unsigned.begin(unsigned.Apply(waiting("Limit", "")), "case-1")
	unsigned.GiveVerdict(run, rules.DecisionApprove)
	p = unsigned.as(reviewer(verification.RoleViewer))
	wants(t, p.get("/runs/"+string(run)), http.StatusOK, "report.pdf", "!report.pdf.jws")
	wants(t, p.get("/runs/"+string(run)+"/report.pdf.jws"), http.StatusNotFound)
}

// verdictForm returns the hidden fields of the verdict form on a page.
func verdictForm(t testing.TB, page response) []string {
	t.Helper()
	var pairs []string
	for _, name := range []string{"seq", "position", "reference"} {
		_, rest, ok := strings.Cut(page.body, `name="`+name+`" value="`)
		value, _, _ := strings.Cut(rest, `"`)
		if !ok {
			t.Fatalf("the page has no field %s: %s", name, page.body)
		}
		pairs = append(pairs, name, value)
	}
	return pairs
}

func TestAVerdictLeadsToTheNextRunOfTheFilteredQueue(t *testing.T) {
	d := serve(t)
	ids := d.fill(7) // case-003 and case-006 are of another workflow
	p, ravi := d.as(reviewer(verification.RoleReviewer)), d.as(reviewerCalled("ravi"))
	workflow := d.Run(ids[0]).WorkflowID
	query := "?workflow=" + string(workflow)
	wants(t, ravi.post("/runs/"+string(ids[3])+"/claim"), http.StatusSeeOther)
	at := 1
	for _, next := range []int{4, 6, 0} { // after case-002; then from the beginning
		page := p.get("/runs/" + string(ids[at]) + query)
		a := p.post("/runs/"+string(ids[at])+"/verdict"+query, append(verdictForm(t, page), "decision", "approve", "notes", "Seen.\r\nFine.")...)
		if want := "/console/runs/" + string(ids[next]) + query; a.status != http.StatusSeeOther || a.header.Get("Location") != want {
			t.Errorf("a verdict on case %d leads to %d %s, want %s", at+1, a.status, a.header.Get("Location"), want)
		}
		if got := d.Run(ids[at]); got.Decision != rules.DecisionApprove || got.Notes != "Seen.\nFine." {
			t.Errorf("case %d is %q with %q", at+1, got.Decision, got.Notes)
		}
		at = next
	}
	wants(t, p.get("/runs/"+string(ids[0])+query), http.StatusOK, "was approved.", "Nobody has claimed this run.")
	page := p.get("/runs/" + string(ids[0]) + query)
	a := p.post("/runs/"+string(ids[0])+"/verdict"+query, append(verdictForm(t, page), "decision", "reject")...)
	if a.header.Get("Location") != "/console/queue"+query { // ravi has the last one
		t.Errorf("the last verdict leads to %s, want the queue", a.header.Get("Location"))
	}
	wants(t, p.get("/queue"+query), http.StatusOK, "was rejected.", "1 run waits")
}

func TestAClaimIsKeptRenewedReleasedAndTakenOver(t *testing.T) {
	d := serve(t)
	run := d.begin(d.Apply(waiting("Limit", "")), "case-1")
	path := "/runs/" + string(run)
	asha, ravi := d.as(reviewerCalled("asha")), d.as(reviewerCalled("ravi"))
	wants(t, asha.post(path+"/claim"), http.StatusSeeOther)
	wants(t, asha.get(path), http.StatusOK, "You have claimed this run.", "Approve", "!data-free")
	wants(t, ravi.get(path), http.StatusOK, "asha has claimed this run.", "Take over", `!value="approve"`)
	page := asha.get(path)
	renewed := asha.do(http.MethodPost, path+"/claim", "", "Accept", "application/json", "Origin", d.server.URL, "Content-Type", "application/x-www-form-urlencoded")
	wants(t, renewed, http.StatusOK, "Until "+inZone(t, d.Clock.Now().Add(rules.ClaimTTL), "UTC"))

	if a := ravi.post(path+"/claim", "take_over", "1"); a.status != http.StatusSeeOther {
		t.Fatalf("taking over = %d %s", a.status, a.body)
	}
	wants(t, ravi.get(path), http.StatusOK, "You have claimed this run.")
	lost := asha.do(http.MethodPost, path+"/claim", "", "Accept", "application/json", "Origin", d.server.URL, "Content-Type", "application/x-www-form-urlencoded")
	wants(t, lost, http.StatusConflict)
	refused := asha.post(path+"/verdict", append(verdictForm(t, page), "decision", "approve", "notes", "I <i>looked</i> at it.")...)
	wants(t, refused, http.StatusConflict, "Nothing was saved", "\u2068ravi\u2069 has taken this run over", "I &lt;i&gt;looked&lt;/i&gt; at it.", "Take over")
	if got := d.Run(run).Decision; got != rules.DecisionReview {
		t.Errorf("decision = %q after a refused verdict", got)
	}

	if a := ravi.post(path+"/release", "reference", "case-1"); a.header.Get("Location") != "/console/queue" {
		t.Errorf("releasing leads to %d %s", a.status, a.header.Get("Location"))
	}
	wants(t, ravi.get("/queue"), http.StatusOK, "was released.", "Nobody")
	wants(t, asha.post(path+"/claim"), http.StatusSeeOther)
	d.Advance(rules.ClaimTTL)
	wants(t, ravi.get(path), http.StatusOK, "Nobody has claimed this run.")
	wants(t, ravi.post(path+"/claim"), http.StatusSeeOther)
	wants(t, ravi.get(path), http.StatusOK, "You have claimed this run.")
}

func TestReadingARunDoesNotClaimIt(t *testing.T) {
	d := serve(t)
	run := d.begin(d.Apply(waiting("Limit", "")), "case-1")
	asha := d.as(reviewerCalled("asha"))
	for site, now := range map[string]bool{"same-origin": true, "cross-site": false, "same-site": false, "none": false} {
		page := asha.get("/runs/"+string(run), "Sec-Fetch-Site", site)
		wants(t, page, http.StatusOK, "Nobody has claimed this run.")
		if got := strings.Contains(page.body, " data-claim-now"); got != now {
			t.Errorf("a page opened from %s has its script claim the run = %t, want %t", site, got, now)
		}
		entry, err := d.Engine.Review(t.Context(), enginetest.Tenant, run)
		if err != nil || entry.Claim.By != "" {
			t.Errorf("a page opened from %s has claimed the run for %q, %v", site, entry.Claim.By, err)
		}
	}
}

func TestARefusedVerdictKeepsItsNotesOnThePage(t *testing.T) {
	d := serve(t)
	run := d.begin(d.Apply(waiting("Limit", "")), "case-1")
	path := "/runs/" + string(run)
	asha := d.as(reviewerCalled("asha"))
	page := asha.get(path)
	by := rules.GiveVerdict{Decision: rules.DecisionReject, Notes: "Forged.", By: "ravi", Identity: "ravi"}
	if _, err := d.Engine.GiveVerdict(t.Context(), enginetest.Tenant, run, by, ""); err != nil {
		t.Fatal(err)
	}
	second := asha.post(path+"/verdict", append(verdictForm(t, page), "decision", "approve", "notes", "All in order.")...)
	wants(t, second, http.StatusConflict, "Nothing was saved", "\u2068ravi\u2069 rejected the run.", "Forged.", "All in order.", "Rejected")
	if got := d.Run(run); got.Decision != rules.DecisionReject || got.Notes != "Forged." {
		t.Errorf("run = %q %q, want the first verdict", got.Decision, got.Notes)
	}
	again := asha.post(path+"/verdict", append(verdictForm(t, second), "decision", "approve", "notes", "All in order.")...)
	if again.status != http.StatusSeeOther {
		t.Errorf("a verdict after reading the first one = %d %s", again.status, again.body)
	}
	wants(t, asha.get(path), http.StatusOK, "Forged.", "All in order.", "Change the verdict", "\u2068asha\u2069 approved the run.")
	for _, form := range [][]string{{"decision", "approve"}, {"decision", "approve", "seq", "x"}} {
		wants(t, asha.post(path+"/verdict", form...), http.StatusConflict, "Nothing was saved")
	}
}

func TestAnInvalidVerdictIsRefusedAndItsNotesAreKept(t *testing.T) {
	d := serve(t)
	run := d.begin(d.Apply(waiting("Limit", "")), "case-1")
	p, path := d.as(reviewer(verification.RoleReviewer)), "/runs/"+string(run)
	form := verdictForm(t, p.get(path))
	long := strings.Repeat("x", 10_001)
	wants(t, p.post(path+"/verdict", append(form, "decision", "maybe", "notes", "keep me")...), http.StatusUnprocessableEntity, "Choose a verdict", "keep me", `aria-invalid="true"`)
	wants(t, p.post(path+"/verdict", append(form, "decision", "approve", "notes", long)...), http.StatusUnprocessableEntity, "at most 10000 characters", long)
}

func TestALiveRunCanBeCancelled(t *testing.T) {
	d := serve(t)
	run := d.begin(d.Apply(waiting("Limit", "")), "case-1")
	p, path := d.as(reviewer(verification.RoleReviewer)), "/runs/"+string(run)
	wants(t, p.get(path), http.StatusOK, "Cancel the run")
	if a := p.post(path+"/cancel", "reference", "case-1"); a.header.Get("Location") != "/console"+path {
		t.Fatalf("cancelling leads to %d %s", a.status, a.header.Get("Location"))
	}
	wants(t, p.get(path), http.StatusOK, "was cancelled.", "Cancelled", "The run was cancelled.", "!Cancel the run")
}

func TestFourEyesNeedTwoReviewers(t *testing.T) {
	d := serve(t)
	w := waiting("Limit", "The limit is high.")
	w.FourEyes = true
	run := d.begin(d.Apply(w), "case-1")
	path := "/runs/" + string(run)
	asha, ravi := d.as(reviewerCalled("asha")), d.as(reviewerCalled("ravi"))
	propose := func() {
		t.Helper()
		page := asha.get(path)
		wants(t, page, http.StatusOK, "Propose approval", "Another reviewer must confirm your verdict.")
		asha.post(path+"/verdict", append(verdictForm(t, page), "decision", "approve", "notes", "Fine by me.")...)
		wants(t, asha.get("/queue"), http.StatusOK, "was proposed.")
		wants(t, asha.get(path), http.StatusOK, "You have proposed this verdict", "Withdraw the proposal", "!Confirm")
	}
	propose()
	withdrawn := asha.post(path+"/verdict", append(verdictForm(t, asha.get(path)), "decision", "withdraw")...)
	if got := withdrawn.header.Get("Location"); got != "/console"+path {
		t.Errorf("a withdrawn proposal leads to %s, want its run", got)
	}
	wants(t, asha.get(path), http.StatusOK, "was withdrawn.", "Propose approval")
	propose()
	wants(t, asha.get("/queue"), http.StatusOK, "1 of 2: proposed by you")
	wants(t, ravi.get("/queue?cause=proposal"), http.StatusOK, "1 run waits", "1 of 2: approval proposed")
	stale := ravi.get(path)
	wants(t, stale, http.StatusOK, "Proposed verdict", "Fine by me.", "Confirm", "Send back")
	wants(t, ravi.post(path+"/verdict", append(verdictForm(t, stale), "decision", "return", "notes", "The photo is blurred.")...), http.StatusSeeOther)
	wants(t, ravi.get(path), http.StatusOK, "sent the proposed verdict back.", "The photo is blurred.", "Propose approval")
	wants(t, ravi.get("/queue?cause=proposal"), http.StatusOK, "0 runs wait", "!1 of 2")
	propose()
	wants(t, ravi.post(path+"/verdict", append(verdictForm(t, stale), "decision", "approve")...), http.StatusConflict, "Nothing was saved")
	page := ravi.get(path)
	wants(t, ravi.post(path+"/verdict", append(verdictForm(t, page), "decision", "approve")...), http.StatusSeeOther)
	if got := d.Run(run); got.Decision != rules.DecisionApprove || got.Notes != "Fine by me." {
		t.Errorf("run = %q %q, want the confirmed verdict", got.Decision, got.Notes)
	}
	wants(t, asha.get(path), http.StatusOK, "\u2068asha\u2069 proposed to approve the run.", "\u2068ravi\u2069 approved the run.")
}

func TestTheNextRunIsNotAnOwnProposal(t *testing.T) {
	d := serve(t)
	w := waiting("Limit", "The limit is high.")
	w.FourEyes = true
	applied := d.Apply(w)
	paths := []string{"/runs/" + string(d.begin(applied, "case-1")), "/runs/" + string(d.begin(applied, "case-2"))}
	asha := d.as(reviewerCalled("asha"))
	for i, next := range []string{paths[1], "/queue"} {
		a := asha.post(paths[i]+"/verdict", append(verdictForm(t, asha.get(paths[i])), "decision", "reject")...)
		if got := a.header.Get("Location"); got != "/console"+next {
			t.Errorf("the proposal on run %d leads to %s, want %s", i, got, next)
		}
	}
}

func TestASecondClickSendsNothing(t *testing.T) {
	d := serve(t)
	run := d.begin(d.Apply(waiting("Limit", "The limit is high.")), "case-1")
	tab := d.tab(reviewer(verification.RoleReviewer), browser.Options{Wide: true})
	tab.Go(d.server.URL + "/console/runs/" + string(run))
	tab.See(".cancel form")
	sent := browser.Eval[string](tab, `(() => {
		const form = document.querySelector(".cancel form"), submitter = form.querySelector("button");
		const click = () => form.dispatchEvent(new SubmitEvent("submit", {cancelable: true, submitter}));
		return [click(), click(), dispatchEvent(new PageTransitionEvent("pageshow")) && click()].join(" ");
	})()`)
	if sent != "true false true" {
		t.Errorf("two clicks and one after the back button are sent: %s, want true false true", sent)
	}
}

func TestAReviewerWorksTheQueueInABrowser(t *testing.T) {
	for _, noScript := range []bool{false, true} {
		name := map[bool]string{false: "with JavaScript", true: "without JavaScript"}[noScript]
		t.Run(name, func(t *testing.T) {
			d := serve(t)
			d.suspicious()
			w := d.Apply(identity())
			run, _ := d.answered(w, "case-1", "Asha Rao")
			d.Advance(time.Minute)
			second, _ := d.answered(w, "case-2", "Ravi Kumar")
			d.fill(3)
			tab := d.tab(reviewer(verification.RoleReviewer), browser.Options{Wide: true, NoScript: noScript})
			tab.Go(d.server.URL + "/console/queue")
			tab.Set("#workflow", string(w.ID))
			tab.Press(".toolbar button")
			tab.See(`a[href*="workflow="][data-row]`)
			if text := tab.Text(); !strings.Contains(text, "2 runs wait") || strings.Contains(text, "case-003") {
				t.Errorf("the filtered queue is %s", text)
			}
			tab.Press(`a[data-row]`)
			tab.See("#notes")
			if !noScript {
				tab.See("[data-mine]") // the script claims the run, which moves the buttons
				compareImages(t, tab)
			}
			tab.Fill("#notes", "The card is hers.")
			tab.Press(`button[value="approve"]`)
			tab.See(".note.good")
			if text := tab.Text(); !strings.Contains(text, "case-1") || !strings.Contains(text, "was approved.") || !strings.Contains(text, "case-2") {
				t.Errorf("the next page is %s", text)
			}
			if got := d.Run(run); got.Decision != rules.DecisionApprove || got.Notes != "The card is hers." {
				t.Errorf("run = %q %q", got.Decision, got.Notes)
			}
			if noScript {
				here := browser.Eval[string](tab, `location.href`)
				tab.Go(browser.Eval[string](tab, `document.querySelector("figure a").href`)) // the picture alone
				tab.Go(here)
			} else {
				tab.See("[data-mine]")
			}
			tab.Press(`button[value="reject"]`)
			tab.See(".empty")
			if got := d.Run(second).Decision; got != rules.DecisionReject {
				t.Errorf("the second run is %q", got)
			}
		})
	}
}

func TestTwoReviewersMeetOnOneRunInABrowser(t *testing.T) {
	d := serve(t)
	w := waiting("Limit", "The limit is high.")
	w.FourEyes = true
	run, second := d.begin(d.Apply(waiting("Account", "It is new.")), "case-1"), d.begin(d.Apply(w), "case-2")
	asha, ravi := d.tab(reviewerCalled("asha"), browser.Options{Wide: true}), d.tab(reviewerCalled("ravi"), browser.Options{Wide: true, NoScript: true})
	open := func(tab *browser.Tab, run verification.RunID) {
		tab.Go(d.server.URL + "/console/runs/" + string(run))
		tab.See("#verdict")
	}
	open(asha, run)
	asha.Fill("#notes", "I am still reading.") // claims the run
	asha.See("[data-mine]")
	open(ravi, run)
	ravi.Press("button[name=take_over]")
	ravi.See("#notes")
	asha.Press("button[value=approve]")
	asha.See("[data-undo]")
	open(asha, run) // sends the verdict, which was held back
	asha.See(".held.warning")
	if text := asha.Text(); !strings.Contains(text, "has taken this run over") {
		t.Errorf("asha sees %.400s", text)
	}
	inspect(t, asha, "run-taken-over")
	asha.Press("button[name=take_over]")
	asha.See("#notes")
	asha.Wait(`document.querySelector("#notes").value === "I am still reading."`)
	plain := d.tab(reviewerCalled("asha"), browser.Options{Wide: true, NoScript: true})
	open(plain, run)
	d.GiveVerdict(run, rules.DecisionReject) // by a program, while asha reads
	plain.Press("button[value=approve]")
	plain.See(".note.warning .timeline")
	if text := plain.Text(); !strings.Contains(text, "rejected the run.") {
		t.Errorf("asha sees %.400s", text)
	}
	plain.Emulate(browser.Options{Wide: true}) // the rules of accessibility need a script
	inspect(t, plain, "run-changed")

	open(asha, second)
	asha.Fill("#notes", "Fine by me.")
	asha.See("[data-mine]")
	asha.Press("button[value=approve]")
	asha.See(".note.good")
	open(ravi, second)
	if text := ravi.Text(); !strings.Contains(text, "Approval proposed") || !strings.Contains(text, "Fine by me.") {
		t.Errorf("ravi sees %.400s", text)
	}
	ravi.Press("button[value=approve]")
	ravi.See(".note.good")
	if got := d.Run(second); got.Decision != rules.DecisionApprove {
		t.Errorf("the run under four eyes is %q, want it approved", got.Decision)
	}
}

// compareImages zooms and rotates an image, and compares it with another one.
func compareImages(t *testing.T, tab *browser.Tab) {
	t.Helper()
	tab.Press("figure a")
	tab.See(".viewer .stage img")
	width := func() float64 {
		return browser.Eval[float64](tab, `document.querySelector(".stage > div").offsetWidth`)
	}
	tab.Wait(`document.querySelector(".stage > div").offsetWidth > 0`)
	fit := width()
	tab.Press("[data-zoom=in]")
	if w := width(); w < fit*1.2 {
		t.Errorf("zoomed width = %v, want more than %v", w, fit)
	}
	tab.Press("[data-turn]")
	tab.Press("[data-fit]")
	if w, h := width(), browser.Eval[float64](tab, `document.querySelector(".stage > div").offsetHeight`); w >= h {
		t.Errorf("the rotated image is %v by %v, want it upright", w, h)
	}
	tab.Press("[data-compare]")
	tab.Wait(`document.querySelectorAll(".pane").length === 2 && [...document.querySelectorAll(".stage > div")].every((d) => d.offsetWidth > 0)`)
	if labels := browser.Eval[int](tab, `new Set([...document.querySelectorAll(".stage")].map((s) => s.ariaLabel)).size`); labels != 2 {
		t.Errorf("the panes show %d images, want 2", labels)
	}
	inspect(t, tab, "run-compare")
	tab.Press(".viewer form button")
	tab.Wait(`!document.querySelector(".viewer").open && document.activeElement.matches("a[data-image]")`)
	tab.Press("figure a")
	tab.See(".viewer .stage img")
	browser.Eval[bool](tab, `(() => {
		const viewer = document.querySelector(".viewer");
		viewer.addEventListener("close", () => { viewer.dataset.closed = ""; });
		viewer.close();
		document.querySelector("#notes").focus(); // before the event
		return true;
	})()`)
	tab.Wait(`"closed" in document.querySelector(".viewer").dataset && document.activeElement.id === "notes"`)
}

func TestARunLooksRight(t *testing.T) {
	d := serve(t)
	d.suspicious()
	w := d.Apply(identity())
	long := strings.TrimSpace(strings.Repeat("A very long reference ", 10)[:200])
	parked, _ := d.answered(w, long, "आशा राव أمينة "+long)
	taken, _ := d.answered(w, "case-2", "Ravi Kumar")
	d.as(reviewerCalled("ravi")).post("/runs/" + string(taken) + "/claim")
	settled, _ := d.answered(w, "case-3", "Mina Das")
	four := identity()
	four.Workflow, four.Name, four.FourEyes = "four-eyes", "Four eyes", true
	proposed, _ := d.answered(d.Apply(four), "case-4", "Lee Wong")
	for run, decision := range map[verification.RunID]rules.Decision{settled: rules.DecisionReject, proposed: rules.DecisionApprove} {
		by := rules.GiveVerdict{Decision: decision, Notes: "The photo does not match.\nSee the second page.", By: "ravi", Identity: "ravi"}
		if _, err := d.Engine.GiveVerdict(t.Context(), enginetest.Tenant, run, by, ""); err != nil {
			t.Fatal(err)
		}
	}
	d.Provider.On("pan", enginetest.Flake(), enginetest.Flake(), enginetest.Fail(scored(20)))
	failing := identity()
	failing.Workflow, failing.Name = "failing", "Failing"
	n := failing.Nodes["pan"]
	n.OnFailed = workflow.TargetFail
	failing.Nodes["pan"] = n
	failed, _ := d.answered(d.Apply(failing), "case-5", "Noor Khan")
	looped := d.looped()
	d.Advance(time.Minute)
	tab := d.tab(reviewer(verification.RoleReviewer), browser.Options{})
	for state, run := range map[string]verification.RunID{
		"parked": parked, "taken": taken, "settled": settled, "proposed": proposed, "failed": failed, "looped": looped,
	} {
		d.inspectAll(tab, "run-"+state, "/runs/"+string(run), func() {
			tab.Wait(`[...document.images].every((i) => i.scrollIntoView() || i.complete)`)
			browser.Eval[bool](tab, `scrollTo(0, 0), true`)
			if state == "failed" {
				browser.Eval[bool](tab, `document.querySelector("[data-guide]").open = true`)
			}
		})
	}
}

// printer prints the reference of a report.
type printer struct{}

func (printer) PrintReport(_ context.Context, _ verification.TenantID, r report.Print) ([]byte, error) {
	if r.ForFile && !r.AllowMissing && strings.Contains(r.Run.ReferenceID, "漢") {
		return nil, verification.Conflict("report", "no font has U+6F22")
	}
	if r.ForFile {
		return []byte("the file of " + r.Run.ReferenceID), nil
	}
	return []byte("the report of " + r.Run.ReferenceID), nil
}

func TestAClaimEndsWithAProposalOfItsHolder(t *testing.T) {
	d := serve(t)
	w := waiting("Four eyes", "Look.")
	w.FourEyes = true
	run := d.begin(d.Apply(w), "case-1")
	tenant := reviewer(verification.RoleReviewer).Tenant
	_, err := d.Engine.Claim(t.Context(), tenant, run, engine.ClaimRequest{By: "ravi", Name: "ravi"})
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []struct {
		identity, holder string
		want             error
	}{{"asha", "ravi", rules.ErrClaimed}, {"ravi", "", nil}} {
		_, err = d.Engine.GiveVerdict(t.Context(), tenant, run, rules.GiveVerdict{
			Decision: rules.DecisionApprove, By: by.identity, Identity: by.identity,
		}, "")
		if !errors.Is(err, by.want) {
			t.Fatalf("the verdict of %s = %v, want %v", by.identity, err, by.want)
		}
		entry, err := d.Engine.Review(t.Context(), tenant, run)
		if err != nil || entry.Claim.By != by.holder {
			t.Errorf("after %s has acted, the claim is that of %q (%v), want %q", by.identity, entry.Claim.By, err, by.holder)
		}
	}
}

func TestAReviewerIsOnePersonUnderEveryName(t *testing.T) {
	d := serve(t)
	w := waiting("Limit", "The limit is high.")
	w.FourEyes = true
	run := d.begin(d.Apply(w), "case-1")
	path := "/runs/" + string(run)
	called := func(subject, name string) *person {
		who := reviewerCalled(name)
		who.Identity = verification.IssuedIdentity("https://id.example", subject)
		return d.as(who)
	}
	asha, unnamed, ravi := called("1", "asha@acme.example"), called("1", "1"), called("2", "ravi@acme.example")
	linked := d.as(reviewerCalled("asha"))
	wants(t, asha.get("/session"), http.StatusOK, "asha@acme.example", "https://id.example#1")
	wants(t, asha.post(path+"/verdict", append(verdictForm(t, asha.get(path)), "decision", "approve")...), http.StatusSeeOther)
	wants(t, unnamed.post(path+"/claim"), http.StatusSeeOther)
	wants(t, asha.get(path), http.StatusOK, "You have claimed this run.", "You have proposed this verdict", "!Confirm")
	wants(t, asha.get("/queue?whose=mine"), http.StatusOK, "1 run waits")
	for name, p := range map[string]*person{"without an email": unnamed, "with a link": linked} {
		wants(t, p.post(path+"/claim", "take_over", "1"), http.StatusSeeOther)
		page := p.get(path)
		if p == linked {
			wants(t, page, http.StatusOK, "may be the same person", "Send back", "!Confirm", "!Withdraw")
		}
		wants(t, p.post(path+"/verdict", append(verdictForm(t, page), "decision", "approve")...), http.StatusConflict, "Nothing was saved")
		if got := d.Run(run).Decision; got != rules.DecisionReview {
			t.Errorf("signed in %s, one person has made the decision %q", name, got)
		}
	}
	wants(t, ravi.post(path+"/claim", "take_over", "1"), http.StatusSeeOther)
	page := ravi.get(path)
	wants(t, page, http.StatusOK, "Confirm", "Send back")
	wants(t, ravi.post(path+"/verdict", append(verdictForm(t, page), "decision", "approve")...), http.StatusSeeOther)
	if got := d.Run(run).Decision; got != rules.DecisionApprove {
		t.Errorf("after two people the decision is %q", got)
	}
}

func TestALinkOfAnotherSiteDoesNotClaimARun(t *testing.T) {
	d := serve(t)
	run := d.begin(d.Apply(waiting("Limit", "")), "case-1")
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<a href="` + d.server.URL + "/console/runs/" + string(run) + `">Look</a>`))
	}))
	t.Cleanup(other.Close)
	holder := func() string {
		entry, err := d.Engine.Review(t.Context(), enginetest.Tenant, run)
		if err != nil {
			t.Fatal(err)
		}
		return entry.Claim.By
	}
	tab := d.tab(reviewerCalled("asha"), browser.Options{Wide: true})
	tab.Go(other.URL)
	tab.Press("a")
	tab.See("[data-free] button")
	if got := holder(); got != "" {
		t.Errorf("%q has claimed the run by following a link", got)
	}
	inspect(t, tab, "run-unclaimed")
	tab.Press("[data-free] button")
	tab.See("[data-mine] button")
	tab.Press("[data-mine] button") // releases it
	tab.See("a[data-row]")
	if got := holder(); got != "" {
		t.Errorf("%q has the run that was released", got)
	}
	tab.Press("a[data-row]")
	tab.See("[data-mine] button")
	if got := holder(); got != "asha" {
		t.Errorf("%q has the run that asha opened from the queue", got)
	}
}

// refusingStore returns an error from each append while it is down.
type refusingStore struct {
	store.Store

	down   atomic.Bool
	before func() // is called before each append; nil for no call
}

// Append implements store.RunStore.
func (s *refusingStore) Append(ctx context.Context, t verification.TenantID, id verification.RunID, seq int, c store.Commit) error {
	if s.down.Load() {
		return verification.Unavailable("store", "it has stopped")
	}
	if s.before != nil {
		s.before()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.Store.Append(ctx, t, id, seq, c)
}

func TestAPostIsCompletedWhenTheBrowserLeaves(t *testing.T) {
	store := &refusingStore{}
	d := serve(t, func(p *engine.Ports, _ *engine.Options) { store.Store, p.Store = p.Store, store })
	run := d.begin(d.Apply(waiting("Limit", "")), "case-1")
	p := d.as(reviewerCalled("asha"))
	path := "/runs/" + string(run)
	form := url.Values{"decision": {"approve"}, "notes": {"Seen."}}
	for pairs := verdictForm(t, p.get(path)); len(pairs) > 0; pairs = pairs[2:] {
		form.Set(pairs[0], pairs[1])
	}
	ctx, leave := context.WithCancel(t.Context())
	store.before = leave
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/console"+path+"/verdict", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	for _, c := range p.client.Jar.Cookies(d.url()) {
		r.AddCookie(c)
	}
	d.server.Config.Handler.ServeHTTP(httptest.NewRecorder(), r)
	if got := d.Run(run); ctx.Err() == nil || got.Decision != rules.DecisionApprove || got.Notes != "Seen." {
		t.Errorf("the browser left: %v; run = %q %q, want the verdict", ctx.Err() != nil, got.Decision, got.Notes)
	}
}

func TestANoteSurvivesAPostThatFails(t *testing.T) {
	store := &refusingStore{}
	d := serve(t, func(p *engine.Ports, _ *engine.Options) { store.Store, p.Store = p.Store, store })
	run := d.begin(d.Apply(waiting("Limit", "")), "case-1")
	const note = "The name is <b>wrong</b>.\nReally."
	tab := d.tab(reviewerCalled("asha"), browser.Options{Wide: true, NoScript: true})
	tab.Go(d.server.URL + "/console/runs/" + string(run))
	tab.Set("#notes", note)
	store.down.Store(true)
	tab.Press("button[value=reject]")
	tab.See("textarea[readonly]")
	if text := tab.Text(); !strings.Contains(text, "The service is unavailable") {
		t.Errorf("the page is %s", text)
	}
	if got := browser.Eval[string](tab, `document.querySelector("textarea").value`); got != note {
		t.Errorf("the page has the note %q, want %q", got, note)
	}
	tab.Shoot(filepath.Join(shots, "unavailable-kept.png"))
	store.down.Store(false)
	tab.Press("main form button")
	tab.See(".note.good")
	if got := d.Run(run); got.Decision != rules.DecisionReject || strings.ReplaceAll(got.Notes, "\r", "") != note {
		t.Errorf("run = %q %q, want the verdict with its note", got.Decision, got.Notes)
	}

	p := d.as(reviewerCalled("ravi"))
	store.down.Store(true)
	path := "/runs/" + string(run) + "/verdict?search=case"
	failed := p.post(path, "decision", "approve", "notes", "typed", "seq", "9")
	wants(t, failed, http.StatusConflict, "typed")
	failed = p.post(path, append(verdictForm(t, failed), "decision", "approve", "notes", "typed again")...)
	wants(t, failed, http.StatusServiceUnavailable, "typed again", `action="/console/runs/`+string(run)+`/verdict?search=case"`, `name="decision" value="approve"`)
	foreign := p.do(http.MethodPost, path, "decision=approve&notes=forged", "Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "cross-site")
	wants(t, foreign, http.StatusForbidden, "!forged", "!<textarea")
	missing := p.post("/runs/00000000-0000-7000-8000-00000000dead/verdict", "decision", "approve", "notes", "typed", "seq", "1")
	wants(t, missing, http.StatusNotFound, "typed", "<textarea")
}

func TestAClaimIsThatOfAPersonInAnyCase(t *testing.T) {
	d := serve(t)
	run := d.begin(d.Apply(waiting("Limit", "The limit is high.")), "case-1")
	path := "/runs/" + string(run)
	called := func(identity string) *person {
		who := reviewerCalled("asha")
		who.Identity = identity
		return d.as(who)
	}
	first, again := called("Asha@acme.example"), called("asha@ACME.example ")
	wants(t, first.post(path+"/claim"), http.StatusSeeOther)
	wants(t, again.get(path), http.StatusOK, "You have claimed this run.")
	wants(t, again.get("/queue?whose=mine"), http.StatusOK, "1 run waits")
	wants(t, again.do(http.MethodPost, path+"/claim", "", "Accept", "*/*", "Sec-Fetch-Site", "same-origin"), http.StatusOK, "Until")
	wants(t, again.post(path+"/release"), http.StatusSeeOther)
	wants(t, first.get(path), http.StatusOK, "Nobody has claimed this run.")
}

func TestOneFormOfAPageIsSentAtATime(t *testing.T) {
	d := serve(t)
	run := d.begin(d.Apply(waiting("Limit", "The limit is high.")), "case-1")
	who := reviewer(verification.RoleReviewer)
	d.as(who).post("/runs/" + string(run) + "/claim")
	tab := d.tab(who, browser.Options{Wide: true})
	tab.Go(d.server.URL + "/console/runs/" + string(run))
	tab.See("form[data-mine] button")
	sent := browser.Eval[string](tab, `(() => {
		const send = (form) => form.dispatchEvent(new SubmitEvent("submit", {cancelable: true, submitter: form.querySelector("button:not([disabled])")}));
		return [".decide", "form[data-mine]", ".cancel form"].map((form) => send(document.querySelector(form))).join(" ");
	})()`)
	if sent != "false false false" {
		t.Errorf("of a verdict, a release and a cancellation are sent: %s, want only the verdict to be held back", sent)
	}
	tab.See("[data-undo]")
}

// What a reviewer wrote is shown as it is, also if it quotes a sentence of the rules.
func TestANoteThatQuotesARuleIsNotTranslated(t *testing.T) {
	const quoted = "The customer did not give consent. The check did not pass."
	d := serve(t)
	run := d.looped()
	if _, err := d.Engine.GiveVerdict(t.Context(), enginetest.Tenant, run, rules.GiveVerdict{
		Decision: rules.DecisionApprove, Notes: quoted,
	}, ""); err != nil {
		t.Fatal(err)
	}
	p := d.as(reviewer(verification.RoleReviewer))
	wants(t, p.get("/runs/"+string(run)+"?lang=hi"), http.StatusOK, quoted, "पहले के एक दौर में सूची में एक संभावित मेल", "एक समीक्षक ने सत्यापन स्वीकार किया।")
}
