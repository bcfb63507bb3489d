// Tests of a step that has only a location.

package journey_test

import (
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/rig/browser"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// placed is a workflow with a step that asks for nothing but the location.
func placed() workflow.Definition {
	return workflow.Definition{
		Workflow: "placed", Name: "Where", Start: "where",
		Nodes: map[verification.NodeID]workflow.Node{
			"where": {Type: workflow.NodeCustomerInput, Label: "Where you are", Optional: true, Next: "done", Fields: workflow.InputFields{
				{Name: "where", Type: workflow.FieldLocation, Label: "Where you are", Required: true},
			}},
			"done": {Type: workflow.NodeEnd},
		},
	}
}

// primary lists the buttons that look like the main one.
const primary = `[...document.querySelectorAll("main button")].filter((b) => b.checkVisibility() && !b.matches(".quiet, .link")).map((b) => b.textContent.trim()).join()`

func TestALocationComesBeforeTheWayOn(t *testing.T) {
	s := serve(t)
	for _, noScript := range []bool{false, true} {
		c := s.begin(placed(), "")
		tab := browser.Start(t).Open(t, browser.Options{NoScript: noScript, Location: &browser.Location{Latitude: 19, Longitude: 72, Accuracy: 15}})
		tab.Go(c.link)
		want := "Share my location"
		if noScript {
			want = "Continue"
		}
		if got := browser.Eval[string](tab, primary); got != want {
			t.Errorf("without JavaScript %v: the main button is %q, want %q", noScript, got, want)
		}
		if legend := browser.Eval[string](tab, `document.querySelector("legend").className`); legend != "hidden" {
			t.Errorf("the page says twice what it asks: the legend has the class %q", legend)
		}
		if noScript {
			tab.Press(`button[name="f.where.denied"]`)
			tab.See(".sign.good")
			if got := s.data(c, "where"); !strings.Contains(got, `"denied":true`) {
				t.Errorf("where = %s, want it denied", got)
			}
			continue
		}
		inspect(t, tab, "place", browser.AllRules)
		tab.Press("[data-share] button")
		tab.See(onto + ":focus")
		if got := browser.Eval[string](tab, primary); got != "Continue" {
			t.Errorf("the main button is %q after the location is shared, want Continue", got)
		}
		inspect(t, tab, "place shared", browser.AllRules)
		tab.Press(onto)
		tab.See(".sign.good")
		if got := s.data(c, "where"); !strings.Contains(got, `"latitude":19`) {
			t.Errorf("where = %s, want the location", got)
		}
	}
}
