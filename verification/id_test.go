package verification_test

import (
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
)

func TestIDsAreUUIDsInLowerCase(t *testing.T) {
	const id = "0191f3c0-0000-7000-8000-00000000abcd"
	parse := map[string]func(string) (string, error){
		"tenant":   func(s string) (string, error) { id, err := verification.ParseTenantID(s); return string(id), err },
		"workflow": func(s string) (string, error) { id, err := verification.ParseWorkflowID(s); return string(id), err },
		"run":      func(s string) (string, error) { id, err := verification.ParseRunID(s); return string(id), err },
	}
	for subject, parse := range parse {
		for _, s := range []string{id, strings.ToUpper(id)} {
			if got, err := parse(s); got != id || err != nil {
				t.Errorf("%s: %s parses to %s, %v", subject, s, got, err)
			}
		}
		for _, s := range []string{
			"", id[:35], id + "0", "{" + id[1:35] + "}", strings.ReplaceAll(id, "-", ""), "urn:uuid:" + id, "g" + id[1:],
			strings.Replace(id, "-", "0", 1), id[:8] + "0-" + id[10:], id[:34] + "é", " " + id[1:],
		} {
			got, err := parse(s)
			if got != "" || flows.Outcome(nil, err) != "invalid" || err.Error() != subject+": an id must be a UUID" {
				t.Errorf("%s: %q parses to %q, %v, want invalid", subject, s, got, err)
			}
		}
	}
}
