// Tests of asking a customer again on the page of a run.

package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestAReviewerAsksTheCustomerAgain(t *testing.T) {
	d := serve(t)
	d.suspicious()
	definition := identity()
	definition.RunTTLSeconds = 86400
	run, _ := d.answered(d.Apply(definition), "case-1", "Asha Rao")
	path := "/runs/" + string(run)
	asha := d.as(reviewerCalled("asha"))
	page := asha.get(path)
	wants(t, page, http.StatusOK, "Ask the customer again …", `<option value="details" selected>`, `name="reason" value="blurred"`,
		"The picture is blurred.", `name="field" value="details front"`, "The run ends on ")
	seq := between(t, page.body, `action="/console`+path+`/again"`, `name="seq" value="`)
	ask := func(values ...string) response {
		return asha.post(path+"/again", append(values, "seq", seq, "reference", "case-1")...)
	}
	wants(t, ask("step", "details"), http.StatusUnprocessableEntity, `aria-describedby="again-error" autofocus`, `class="dialog again" open`, "Choose a reason")
	wants(t, ask("step", "consent", "reason", "other", "field", "details front"), http.StatusUnprocessableEntity, `aria-describedby="again-error" autofocus`, "only fields of the step", `value="details front" data-upload checked`)
	wants(t, ask("step", "details", "reason", "blurred", "note_to_customer", strings.Repeat("x", workflow.MaxNoteToCustomer+1)), http.StatusUnprocessableEntity, `aria-describedby="again-error" autofocus`, "at most 1000 characters")
	wants(t, asha.post(path+"/again", "step", "details", "reason", "blurred", "seq", "1"), http.StatusConflict, "the run has changed")

	wants(t, ask("step", "details", "reason", "blurred", "field", "details front", "note_to_customer", "On a <table>."), http.StatusSeeOther)
	if r := d.Run(run); r.Decision != rules.DecisionNone || r.Action == nil || r.Action.SignalName != "details_submitted" {
		t.Errorf("the run has the decision %q and waits for %+v, want its customer", r.Decision, r.Action)
	}
	wants(t, asha.get(path), http.StatusOK, "\u2068asha\u2069 asked the customer again.", "\u2068The picture is blurred.\u2069", "On a &lt;table&gt;.", "Fields: \u2068",
		"!Ask the customer again …")
	wants(t, ask("step", "details", "reason", "blurred"), http.StatusConflict, "Nothing was asked")
}

// between returns the text in double quotes after a mark that follows a place.
func between(t testing.TB, body, place, mark string) string {
	t.Helper()
	_, rest, _ := strings.Cut(body, place)
	_, rest, _ = strings.Cut(rest, mark)
	value, _, ok := strings.Cut(rest, `"`)
	if !ok {
		t.Fatalf("the page has no %s after %s", mark, place)
	}
	return value
}

func TestTheFormThatAsksAgainLooksRight(t *testing.T) {
	d := serve(t)
	d.suspicious()
	run, _ := d.answered(d.Apply(identity()), "case-1", "Asha Rao")
	tab := d.tab(reviewerCalled("asha"), browser.Options{})
	d.inspectAll(tab, "again", "/runs/"+string(run), func() { tab.Wait("document.querySelector('details.again').open = true") })
}
