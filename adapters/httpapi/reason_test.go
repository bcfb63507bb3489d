// Tests that the API never shows the reason of a rejection.

package httpapi_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestTheReasonOfARejectionIsNeverShown(t *testing.T) {
	const code, label, told = "reason_code", "The label of the reason", "What the customer is told"
	digest := regexp.MustCompile(`"digest":"[0-9a-f]+"`) // of the history, which has the reason
	rejected := func(reason string) (bodies map[string]string) {
		a := newAPI(t, setup{})
		d := journey()
		d.FourEyes, d.Notes = true, workflow.NotesRequired
		d.RejectReasons = []workflow.RejectReason{{Code: code, Label: label, CustomerText: told}}
		d.LifecycleWebhookURL, d.Notify = "https://app.example/hook", workflow.NoticeEvents()
		d.ReviewDueMinutes = 60
		w := a.Apply(d).ID
		id := a.Start(w, engine.StartRequest{ReferenceID: "person-1"}).ID
		a.Submit(id, "consent_submitted", map[string]any{"consent_status": "success"})
		a.Submit(id, "details_submitted", map[string]any{"pan": "ABCDE1234F"})
		bodies = map[string]string{}
		read := func(when string) {
			for _, path := range []string{"/v1/runs", "/v1/runs/" + string(id), "/v1/runs/" + string(id) + "?view=report", "/v1/workflows", "/v1/workflows/" + string(w)} {
				bodies[when+path] = digest.ReplaceAllString(string(a.do(http.MethodGet, path, "").Body), "")
			}
		}
		for _, who := range []string{"asha", "ravi"} {
			_, err := a.Engine.GiveVerdict(t.Context(), enginetest.Tenant, id, rules.GiveVerdict{
				Decision: rules.DecisionReject, Reason: reason, Notes: "No.", By: who, Identity: who,
			}, "")
			must(t, err)
			a.Settle()
			read(who)
		}
		notices := a.Notices.All()
		slices.SortFunc(notices, func(a, b rules.Notice) int { return strings.Compare(a.ID, b.ID) }) // sent side by side
		for i := range notices {
			notices[i].Run.Action = nil // a pointer, which would be printed
		}
		bodies["notices"] = fmt.Sprintf("%+v", notices)
		return bodies
	}
	with, without := rejected(code), rejected("")
	// The customer's text is for the customer: a run.reviewed has it.
	if n := strings.Count(with["notices"], "CustomerText:"+told); n != 1 {
		t.Errorf("%d notices have the text for the customer, want one: %s", n, with["notices"])
	}
	with["notices"] = strings.Replace(with["notices"], "CustomerText:"+told, "CustomerText:", 1)
	if diff := cmp.Diff(without, with); diff != "" {
		t.Errorf("responses with a reason (-without +with):\n%s", diff)
	}
	if notices := with["notices"]; !strings.Contains(notices, "run.reviewed") || !strings.Contains(notices, "Decision:reject") {
		t.Errorf("the run is not rejected: notices %s", notices)
	}
	for from, body := range with {
		for _, hidden := range []string{code, label, told} {
			if strings.Contains(body, hidden) {
				t.Errorf("%s shows %q: %s", from, hidden, body)
			}
		}
	}
}

// A reviewer chooses the reason of a rejection in the console. The API takes none, and an approval with one records nothing.
func TestAnApprovalWithAReasonIsRefused(t *testing.T) {
	a := newAPI(t, setup{})
	d := journey()
	d.RejectReasons = []workflow.RejectReason{{Code: "forged_seal", Label: "Forged seal"}}
	id := a.started(d).ID
	a.Submit(id, "consent_submitted", map[string]any{"consent_status": "success"})
	a.Submit(id, "details_submitted", map[string]any{"pan": "ABCDE1234F"})
	verdict, run := "/v1/signals/"+string(id)+"/human_review_decision", "/v1/runs/"+string(id)
	events := func() int {
		a.Settle()
		all, err := a.Store.Load(t.Context(), enginetest.Tenant, id, 0)
		must(t, err)
		return len(all)
	}
	refused := func() {
		recorded, shown := events(), string(a.do(http.MethodGet, run, "").Body)
		for _, decision := range []string{"approve", "reject"} {
			a.do(http.MethodPost, verdict, `{"payload":{"decision":"`+decision+`","reason":"forged_seal"}}`).is(400, badField("payload.reason", "is not a known field"))
		}
		if n := events(); n != recorded {
			t.Errorf("%d events are recorded, want the %d before", n, recorded)
		}
		a.do(http.MethodGet, run, "").is(200, shown)
	}
	refused()
	a.do(http.MethodPost, verdict, `{"payload":{"decision":"approve"}}`).is(200, `{"ok":true,"result":"signal_delivered","decision":"approve"}`)
	refused() // after the end, too
}
