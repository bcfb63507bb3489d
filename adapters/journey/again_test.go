package journey_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification/rules"
)

// A customer who is asked again comes to the step under the same link, with the reasons, the note and the answers of before.
func TestACustomerIsAskedAgain(t *testing.T) {
	s := serve(t)
	s.Provider.On("pan_verification", enginetest.Fail(nil), enginetest.Pass(nil))
	c := s.begin(onboarding(), "")
	onward(t, c.post("consent", "success"))
	onward(t, c.post(details()...))
	onward(t, c.send([]file{{"front", "front.jpg", picture(t, 40)}}, "f.where.latitude", "19.07", "f.where.longitude", "72.87", "f.where.accuracy", "20"))
	s.Settle()
	link := c.link
	c.askAgain(rules.AskAgain{Step: "details", Reasons: []string{"does_not_match"}, Fields: []string{"name"}, Note: "As on the <card>."})
	page := c.get()
	for _, want := range []string{
		"Please check this again", "The answers do not match the document.", "As on the &lt;card&gt;.", "<bdi>Full name</bdi>",
		`value="Asha Rao"`, `value="ABCDE1234F"`, `value="1990"`, `value="36"`, "line 1\nline 2", `value="own" selected`, " checked",
	} {
		if !strings.Contains(page.body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	c.language = "hi"
	if page := c.get(); page.status != http.StatusOK || !strings.Contains(page.body, "उत्तर दस्तावेज़ से मेल नहीं खाते।") {
		t.Error("the page in Hindi lacks the reason")
	}
	c.language = ""
	onward(t, c.post(append(details(), "f.name", "Asha K Rao")...)) // the photos stay
	s.Settle()
	if got := s.data(c, "details"); !strings.Contains(got, "Asha K Rao") || c.link != link {
		t.Errorf("the answer is %s", got)
	}
	if got := s.Run(c.run); got.Action == nil || got.Action.Type != rules.ActionReview {
		t.Errorf("the run waits for %v, want the review: the check does not read the details", got.Action)
	}
	c.askAgain(rules.AskAgain{Step: "extra", Reasons: []string{"blurred"}, Fields: []string{"front"}})
	page = c.get()
	if !strings.Contains(page.body, "The picture is blurred.") || strings.Contains(page.body, `name="f.front.id"`) {
		t.Error("the page does not ask for the front again")
	}
	c.askAgainForPhoto(t)
}

// askAgainForPhoto answers with another photo, and then approves the run.
func (c *customer) askAgainForPhoto(t *testing.T) {
	t.Helper()
	onward(t, c.send([]file{{"front", "front.jpg", picture(t, 90)}}, "f.where.latitude", "19.07", "f.where.longitude", "72.87", "f.where.accuracy", "20"))
	c.Settle()
	if d := c.GiveVerdict(c.run, rules.DecisionApprove); d.Status != rules.StatusCompleted {
		t.Errorf("the run is %s", d.Status)
	}
}
