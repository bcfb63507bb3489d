package verification_test

import (
	"strings"
	"testing"

	"github.com/verifyd/verifyd/verification"
)

func TestTheNearestNameIsSuggested(t *testing.T) {
	known := []string{"on_failed", "bureau", "timeout_seconds", "done"}
	for name, want := range map[string]string{
		"bureu": "bureau", "Bureau": "bureau", "buraeu": "bureau", "on-failed": "on_failed", "onFailed": "on_failed",
		"timeout": "timeout_seconds", "dnoe": "done", "dome": "done", "dxxe": "", "": "", "experian": "", strings.Repeat("x", 65): "",
	} {
		if got := verification.Nearest(name, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
	if got := verification.Nearest[string]("x", nil); got != "" {
		t.Errorf("Nearest among none = %q", got)
	}
}

// Each field that a type lists is one that a definition may set for it.
func TestTypesListTheirFields(t *testing.T) {
	for kind, want := range map[verification.NodeType]string{
		verification.NodeConsent: "type label signal text on_declined next",
		verification.NodeBranch:  "type label rules else",
		verification.NodeEnd:     "type label outcome",
		"dance":                  "",
	} {
		if got := strings.Join(kind.Fields(), " "); got != want {
			t.Errorf("fields of a %s = %q, want %q", kind, got, want)
		}
	}
	for kind, want := range map[verification.FieldType]string{
		verification.FieldDate:   "type label help required",
		verification.FieldNumber: "type label help required min max",
		"colour":                 "",
	} {
		if got := strings.Join(kind.Fields(), " "); got != want {
			t.Errorf("fields of a %s = %q, want %q", kind, got, want)
		}
	}
}
