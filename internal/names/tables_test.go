// The tables say where they come from.

package names_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEveryTableHasASourceAndAVersion(t *testing.T) {
	files, err := filepath.Glob("tables/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d tables, %v", len(files), err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{"\n# source: ", "\n# version: "} {
			if !strings.Contains(string(raw), line) {
				t.Errorf("%s has no line%s", file, strings.TrimSuffix(line, " "))
			}
		}
	}
}
