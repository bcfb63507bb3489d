package definitions_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification/workflow"
)

// TestStoredHashesStay holds the hashes of definitions as the first version of the language gave them: a stored version is
// found by its hash.
func TestStoredHashesStay(t *testing.T) {
	got := ""
	for _, file := range examples(t) {
		if name := filepath.Base(file); name != "group.yaml" {
			got += fmt.Sprintf("%s %s\n", load(t, file).Definition.VersionHash(), name)
		}
	}
	for _, d := range []workflow.Definition{flows.DeskFlow(), flows.Ladder(), flows.Loop(), flows.Refusal()} {
		got += fmt.Sprintf("%s %s from %s\n", d.VersionHash(), d.Name, d.Start)
	}
	path := filepath.Join("testdata", "hashes.txt")
	if updating() {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("hashes (-golden +got):\n%s", diff)
	}
}
