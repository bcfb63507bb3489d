// Tests of redirects, and of the progress of a journey.

package rules_test

import (
	"testing"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

func TestARedirectKeepsItsQuery(t *testing.T) {
	const id = verification.RunID("0191f3c0-0000-7000-8000-000000000001")
	const added = "run_id=0191f3c0-0000-7000-8000-000000000001&status=completed"
	for uri, want := range map[string]string{
		"":                                "",
		"https://app.example/done":        "https://app.example/done?" + added,
		"https://app.example/done?":       "https://app.example/done?" + added,
		"https://app.example/?a=1&a=%202": "https://app.example/?a=1&a=%202&" + added,
		"https://app.example/?run_id=x":   "https://app.example/?run_id=x&" + added,
		"https://app.example/#part":       "https://app.example/?" + added + "#part",
	} {
		if got := rules.RedirectTarget(uri, id, rules.StatusCompleted); got != want {
			t.Errorf("RedirectTarget(%q) = %s, want %s", uri, got, want)
		}
	}
}
