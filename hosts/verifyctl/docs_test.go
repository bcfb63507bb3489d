package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification/workflow"
)

// TestTheWorkflowsInDocsCompile holds that every example of the pages on workflows is valid on a host with the built-in checks and
// the sandbox, without a warning.
func TestTheWorkflowsInDocsCompile(t *testing.T) {
	var raw []byte
	for _, page := range []string{"workflows", "workflow-recipes", "workflow-semantics"} {
		text, err := os.ReadFile("../../docs/" + page + ".md")
		if err != nil {
			t.Fatal(err)
		}
		raw = append(raw, text...)
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
	if diff := cmp.Diff([]string(nil), warnings); diff != "" || examples != 8 {
		t.Errorf("%d examples; warnings (-want +got):\n%s", examples, diff)
	}
}

// The examples in folders and the demo have no warning either.
func TestTheExamplesHaveNoWarnings(t *testing.T) {
	files, err := filepath.Glob("../../docs/examples/*/workflow.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("there are %d examples: %v", len(files), err)
	}
	for _, name := range []string{"bank-account", "business-records", "individual-onboarding"} {
		files = append(files, "../verifyd/demo/"+name+".yaml")
	}
	for _, file := range files {
		c, err := compile(t.Context(), file, knownHosts{described: workflow.Descriptions(builtIn())})
		if err != nil || len(c.warnings) > 0 {
			t.Errorf("%s: %v, with the warnings %v", file, err, c.warnings)
		}
	}
}

// The tutorial shows parts of an example, word for word, and what its cases print.
func TestTheTutorialShowsTheExample(t *testing.T) {
	const folder = "../../docs/examples/company/"
	var files []string
	for _, name := range []string{"../../tutorial.md", "workflow.yaml", "cases.yaml", "transcript.txt"} {
		raw, err := os.ReadFile(folder + name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, string(raw))
	}
	blocks := strings.Split(files[0], "```yaml\n")[1:]
	for _, block := range blocks {
		if block, _, _ = strings.Cut(block, "```"); !strings.Contains(files[1], block) && !strings.Contains(files[2], block) {
			t.Errorf("the example does not have\n%s", block)
		}
	}
	if words := len(strings.Fields(files[0])); words > 1500 || len(blocks) < 9 {
		t.Errorf("the tutorial has %d words and %d parts of the example", words, len(blocks))
	}
	for _, block := range strings.Split(files[0], "```console\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		if command, printed, _ := strings.Cut(block, "\n"); strings.Contains(command, " try ") && !strings.Contains(files[3], command+"\n"+printed) {
			t.Errorf("the cases do not print\n%s", block)
		}
	}
	at := func(n int) string { return strings.Split(files[1], "\n")[n-1] } // the line that the tutorial breaks
	if got, want := strings.TrimSpace(at(18)), "next: gstin"; got != want {
		t.Errorf("line 18 of the example is %q, want %q", got, want)
	}
}
