// Tests of corrections on the page of a run.

package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
)

func TestACorrectionStandsBesideTheValueOnThePage(t *testing.T) {
	d := serve(t)
	d.suspicious()
	run, _ := d.answered(d.Apply(identity()), "case-1", "Asha Rao")
	path := "/runs/" + string(run)
	asha := d.as(reviewerCalled("asha"))
	wants(t, asha.get(path), http.StatusOK, `action="/console`+path+`/corrections"`, `<optgroup label="PAN check">`,
		`<option value="pan address.lines[1]">Address › Lines › 2</option>`, `<option value="details name">Full name</option>`, `<option value="pan sightings[0].names[1]">`)
	for value, text := range map[string]string{
		"details name": "Asha <b>Rao</b>-Iyer", "pan address.lines[1]": "Bandra East", "pan sightings": "not me", "pan sightings[0].score": "zero",
	} {
		if a := asha.post(path+"/corrections", "value", value, "correction", text); a.status != http.StatusSeeOther || a.header.Get("Location") != "/console"+path+"#desk" {
			t.Errorf("a correction of %s = %d %s", value, a.status, a.header.Get("Location"))
		}
	}
	if err := d.Engine.Correct(t.Context(), enginetest.Tenant, run, rules.Correct{
		Node: "details", Field: "front", Correction: "another card", By: "Ravi", Identity: "ravi",
	}); err != nil {
		t.Fatal(err)
	}
	on := " on " + d.Clock.Now().UTC().Format("2006-01-02 15:04")
	page := asha.get(path)
	wants(t, page, http.StatusOK, "Your correction was saved.",
		"<span dir=\"auto\">Asha Rao</span><p class=\"small corrected\" dir=\"auto\">Corrected by \u2068asha\u2069"+on+": \u2068Asha &lt;b&gt;Rao&lt;/b&gt;-Iyer\u2069</p>",
		"Bandra West</span><p class=\"small corrected\" dir=\"auto\">Corrected by \u2068asha\u2069"+on+": \u2068Bandra East\u2069",
		"\u2068not me\u2069", "\u2068zero\u2069", "\u2068front\u2069: Corrected by \u2068Ravi\u2069",
		"\u2068asha\u2069 noted that \u2068Your details: Full name\u2069 is not correct.")
	if n := strings.Count(page.body, `class="small corrected"`); n != 5 {
		t.Errorf("the page has %d corrections beside values, want 5", n)
	}
	for _, wrong := range [][2]string{{"pan nowhere", "x"}, {"", "x"}, {"pan score", " "}, {"pan score", strings.Repeat("x", rules.MaxCorrection+1)}} {
		wants(t, asha.post(path+"/corrections", "value", wrong[0], "correction", wrong[1]), http.StatusUnprocessableEntity,
			"Choose a value and write a correction of at most 1000 characters.", `class="dialog correct" open`, wrong[1])
	}
	viewer := d.as(reviewer(verification.RoleViewer))
	wants(t, viewer.get(path), http.StatusOK, "\u2068Bandra East\u2069", "!/corrections")
	wants(t, viewer.post(path+"/corrections", "value", "pan score", "correction", "x"), http.StatusForbidden)
}

func TestARedactedRunWarnsBesideTheNotes(t *testing.T) {
	d := serve(t)
	w := d.Apply(waiting("Limit", ""))
	run := d.Start(w.ID, engine.StartRequest{ReferenceID: "case-1", Input: verification.Data(`{"name":"Asha"}`)}).ID
	path := "/runs/" + string(run)
	admin := d.as(reviewer(verification.RoleAdmin))
	wants(t, admin.post(path+"/corrections", "value", " name", "correction", "Asha Rao"), http.StatusSeeOther)
	if _, err := d.Engine.Cancel(t.Context(), enginetest.Tenant, run); err != nil {
		t.Fatal(err)
	}
	wants(t, admin.get(path), http.StatusOK, "\u2068Asha Rao\u2069", "!new personal data", `<optgroup label="Start data">`)
	admin.post(path+"/redact", "reason", "asked")
	wants(t, admin.get(path), http.StatusOK, "!\u2068Asha Rao\u2069", "Notes that you write now are new personal data", "!/corrections")
}
