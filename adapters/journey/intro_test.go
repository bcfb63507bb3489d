// Tests of the introduction before the first step.

package journey_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/verification/workflow"
)

func TestTheFirstStepSaysWhatIsNeeded(t *testing.T) {
	s := serve(t)
	d := grouped()
	d.Intro = &workflow.Intro{
		Text: "We are **Acme**.", TextIn: workflow.Translations{"en": "We are **Acme**.", "hi": "हम <script>एक्मे हैं।"}, Minutes: 3,
	}
	d.Nodes["consent"] = workflow.Node{Type: workflow.NodeConsent, Label: "Consent", Text: "Do you agree?", OnDeclined: workflow.TargetNext, Next: "details"}
	d.Start = "consent"
	c := s.begin(d, "")
	wants(t, c.get(), http.StatusOK, "Before you begin", "We are <strong>Acme</strong>.", "<bdi>Your card</bdi>", "About 3 minutes", "Do you agree?", "Step 1 of 2<")
	hindi := *c
	hindi.link += "?lang=hi"
	wants(t, hindi.get(), http.StatusOK, "शुरू करने से पहले", "हम &lt;script&gt;एक्मे हैं।", "लगभग 3 मिनट")
	wants(t, c.post("consent", "success"), http.StatusSeeOther)
	wants(t, c.get(), http.StatusOK, "Step 2 of 2, part 1 of 3")
	for name, page := range map[string]response{"the second step": c.get(), "a workflow without": s.begin(grouped(), "").get()} {
		if strings.Contains(page.body, "Before you begin") {
			t.Errorf("the page of %s has an introduction", name)
		}
	}
}
