package workflow_test

import (
	"strings"
	"testing"

	"github.com/verifyd/verifyd/verification/workflow"
)

func TestTheNearestNameIsSuggested(t *testing.T) {
	known := []string{"on_failed", "bureau", "timeout_seconds", "done"}
	for name, want := range map[string]string{
		"bureu": "bureau", "Bureau": "bureau", "buraeu": "bureau", "on-failed": "on_failed", "onFailed": "on_failed",
		"timeout": "timeout_seconds", "dnoe": "done", "dome": "done", "dxxe": "", "": "", "experian": "", strings.Repeat("x", 65): "",
	} {
		if got := workflow.Nearest(name, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
	if got := workflow.Nearest[string]("x", nil); got != "" {
		t.Errorf("Nearest among none = %q", got)
	}
}
