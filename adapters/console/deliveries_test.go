// Tests of the deliveries page.

package console_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// measured is a workflow with a customer, a provider and a review. The label of its
// check begins like a formula of a spreadsheet.
func measured() workflow.Definition {
	return workflow.Definition{
		Workflow: "measured", Name: "Open an account", Start: "consent", RunTTLSeconds: 24 * 3600,
		LifecycleWebhookURL: "https://client.example/hooks?secret=hidden",
		Nodes: map[verification.NodeID]workflow.Node{
			"consent": {Type: workflow.NodeConsent, Label: "Consent", Text: "May we?", OnDeclined: "done", Next: "pan"},
			"pan":     {Type: workflow.NodeCheck, Label: "=PAN verification", Provider: "script", OnFailed: "review", Next: "done"},
			"review":  {Type: workflow.NodeReview, Label: "Manual review", Reason: "The PAN did not match.", Next: "done"},
			"done":    {Type: workflow.NodeEnd},
		},
	}
}

// notified makes runs that end at once and returns the last one.
func (d *desk) notified(runs int) rules.RunDetail {
	d.t.Helper()
	definition := measured()
	definition.Start = "pan"
	delete(definition.Nodes, "consent")
	id := d.Apply(definition).ID
	var run rules.RunDetail
	for n := range runs {
		run = d.Start(id, engine.StartRequest{ReferenceID: fmt.Sprint("person-", n)})
	}
	return run
}

func TestDeliveriesAreListedByStateInPages(t *testing.T) {
	d := serve(t)
	p := d.as(reviewer(verification.RoleAdmin))
	wants(t, p.get("/deliveries"), http.StatusOK, "No deliveries")
	gone := &verification.RetryError{Cause: errors.New("410")}
	d.Notices.FailWith(gone)
	failed := d.notified(1)
	d.Advance(time.Minute)
	d.Notices.FailWith(errors.New("down"))
	pending := d.notified(1)
	d.Settle()
	d.notified(51)
	d.Settle()
	wants(t, p.get("/deliveries"), http.StatusOK, "53 deliveries", "1 to 50 of 53", `href="/console/deliveries?page=2"`, "!rel=\"prev\"")
	wants(t, p.get("/deliveries?page=2"), http.StatusOK, "51 to 53 of 53", string(failed.ID), string(pending.ID), `href="/console/deliveries"`, "!rel=\"next\"")
	wants(t, p.get("/deliveries?state=failed"), http.StatusOK, "1 delivery", `name="person"`, string(failed.ID), "!"+string(pending.ID),
		`href="/console/runs/`+string(failed.ID)+`?back=%2Fdeliveries%3Fstate%3Dfailed"`, "https://client.example/hooks<", "!secret=hidden", "Failed", "–")
	wants(t, p.get("/deliveries?state=pending"), http.StatusOK, "1 delivery", string(pending.ID), `<time datetime="2026-01-05T09:01:0`)
	wants(t, p.get("/deliveries?state=delivered&page=2"), http.StatusOK, "51 to 51 of 51", `href="/console/deliveries?state=delivered"`)
	if a := p.get("/deliveries?page=9"); a.status != http.StatusSeeOther || a.header.Get("Location") != "/console/deliveries?page=2" {
		t.Errorf("a page after the last one = %d to %s, want the last one", a.status, a.header.Get("Location"))
	}
	wants(t, p.get("/deliveries?state=lost"), http.StatusBadRequest)
	wants(t, d.as(verification.Reviewer{Tenant: otherTenant, Name: "eve", Role: verification.RoleAdmin}).get("/deliveries"), http.StatusOK, "No deliveries")
}

func TestAnAdministratorSendsANoticeAgain(t *testing.T) {
	d := serve(t)
	d.Notices.FailWith(&verification.RetryError{Cause: errors.New("410")})
	run := d.notified(1)
	send := "/deliveries/" + string(run.ID) + "/send"
	for _, role := range []verification.Role{verification.RoleViewer, verification.RoleReviewer} {
		p := d.as(reviewer(role))
		wants(t, p.get("/deliveries"), http.StatusOK, string(run.ID), "!Send again")
		wants(t, p.post(send), http.StatusForbidden)
	}
	other := d.as(verification.Reviewer{Tenant: otherTenant, Name: "eve", Role: verification.RoleAdmin})
	wants(t, other.post(send), http.StatusNotFound)
	p := d.as(reviewer(verification.RoleAdmin))
	wants(t, p.post("/deliveries/nothing/send"), http.StatusNotFound)
	wants(t, p.post(send, "state", "lost"), http.StatusBadRequest)
	live := d.Start(d.Apply(measured()).ID, engine.StartRequest{ReferenceID: "live"})
	wants(t, p.post("/deliveries/"+string(live.ID)+"/send"), http.StatusConflict)
	if all := d.Notices.All(); len(all) != 1 {
		t.Fatalf("there were %d attempts before the button was pressed, want 1", len(all))
	}
	for _, noScript := range []bool{false, true} {
		tab := d.tab(reviewer(verification.RoleAdmin), browser.Options{Wide: true, NoScript: noScript})
		tab.Go(d.server.URL + "/console/deliveries?state=failed")
		if noScript { // it was delivered above
			tab.Go(d.server.URL + "/console/deliveries?state=delivered")
		}
		tab.Press("tbody button")
		tab.See(".note")
		d.Settle()
		if text := tab.Text(); !strings.Contains(text, "The notice will be sent again.") {
			t.Errorf("page = %s", text)
		}
		if log := d.log.String(); !strings.Contains(log, "asha-admin") {
			t.Errorf("log = %s, want the name of the sender", log)
		}
	}
	if all := d.Notices.All(); len(all) != 3 || all[2].Run.ID != run.ID {
		t.Errorf("attempts = %d, want 3", len(all))
	}
	wants(t, p.get("/deliveries?state=delivered"), http.StatusOK, "1 delivery", "accepted")
}

func TestANoticeOfAVerdictIsSentAgain(t *testing.T) {
	d := serve(t)
	definition := measured()
	definition.Start, definition.Notify = "pan", []workflow.NoticeEvent{workflow.NoticeReviewed}
	delete(definition.Nodes, "consent")
	run := d.Start(d.Apply(definition).ID, engine.StartRequest{ReferenceID: "person"})
	d.Settle()
	d.GiveVerdict(run.ID, rules.DecisionApprove)
	d.Settle()
	before := d.Notices.All()
	notice := before[len(before)-1]
	if notice.Event != workflow.NoticeReviewed {
		t.Fatalf("the last notice is %s, want %s", notice.Event, workflow.NoticeReviewed)
	}
	tab := d.tab(reviewer(verification.RoleAdmin), browser.Options{Wide: true, NoScript: true})
	tab.Go(d.server.URL + "/console/deliveries")
	tab.Press(fmt.Sprintf("#run-%s-%d button", run.ID, notice.Seq))
	tab.See(".note")
	d.Settle()
	if all := d.Notices.All(); len(all) != len(before)+1 || all[len(before)].ID != notice.ID {
		t.Errorf("the notices are %+v, want %s once more", all, notice.ID)
	}
}
