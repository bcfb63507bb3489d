package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification/workflow"
)

// TestTheWorkflowsInDocsCompile holds that every example of docs/workflows.md is valid on a host with the built-in checks and
// the sandbox. Its warnings are those that are meant.
func TestTheWorkflowsInDocsCompile(t *testing.T) {
	raw, err := os.ReadFile("../../docs/workflows.md")
	if err != nil {
		t.Fatal(err)
	}
	hosts := knownHosts{described: workflow.Descriptions(builtIn()), providers: []string{"sandbox", "sandbox_2"}}
	for name := range builtIn() {
		hosts.providers = append(hosts.providers, name)
	}
	file := filepath.Join(t.TempDir(), "docs.yaml")
	var warnings []string
	examples := 0
	for _, block := range strings.Split(string(raw), "```yaml\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		if err := os.WriteFile(file, []byte(block), 0o600); err != nil {
			t.Fatal(err)
		}
		examples++
		c, err := compile(t.Context(), file, hosts)
		if err != nil {
			t.Error(err)
		}
		for _, w := range c.warnings {
			warnings = append(warnings, c.definition.Workflow+" "+w.Path+": "+w.Message)
		}
	}
	const noted = ".fact: a difference changes nothing, because no condition reads the fact: " +
		"flag it with on_difference: flag, test it in a branch, or write on_difference: note"
	want := []string{"registry compare[0]" + noted, "registry compare[1]" + noted}
	if diff := cmp.Diff(want, warnings); diff != "" || examples < 6 {
		t.Errorf("%d examples; warnings (-want +got):\n%s", examples, diff)
	}
}
