package arch_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/verifyd/verifyd/internal/arch"
)

// The checks of the repository itself.

func TestTopLevelIsClosed(t *testing.T) {
	names, err := arch.TopLevel(t.Context(), root(t))
	if err != nil {
		t.Fatal(err)
	}
	report(t, arch.CheckTopLevel(names))
}

func TestImportsFollowTheTable(t *testing.T) {
	report(t, arch.CheckImports(packages(t)))
}

func TestPackageNamesSayWhatTheyAreAbout(t *testing.T) {
	report(t, arch.CheckNames(packages(t)))
}

func TestLinterHoldsTheSameTable(t *testing.T) {
	config, err := os.ReadFile(filepath.Join(root(t), ".golangci.yml"))
	if err != nil {
		t.Fatal(err)
	}
	report(t, arch.CheckLint(string(config), packages(t)))
}

func TestFilesOpenWithASentence(t *testing.T) {
	report(t, arch.CheckOpenings(files(t)))
}

func TestExportedNamesOfTheRulesAreDocumented(t *testing.T) {
	report(t, arch.CheckDocs(files(t)))
}

func TestRulesHaveNoClock(t *testing.T) {
	report(t, arch.CheckClock(files(t)))
}

func report(t *testing.T, problems []string) {
	t.Helper()
	for _, problem := range problems {
		t.Error(problem)
	}
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := arch.Root(".")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// packages also reads every file, so that `go test` does not use a cached result
// for a changed tree: it cannot see what `go list` reads.
func packages(t *testing.T) []arch.Package {
	t.Helper()
	files(t)
	pkgs, err := arch.Packages(t.Context(), root(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(pkgs) == 0 {
		t.Fatal("go list found no package: run the test inside the module.")
	}
	return pkgs
}

func files(t *testing.T) []arch.File {
	t.Helper()
	found, err := arch.Files(root(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Fatal("no Go file found: run the test inside the module.")
	}
	return found
}
