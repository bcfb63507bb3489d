package arch_test

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/arch"
)

// Each check finds the problem of a broken sample and none in a correct one.

func TestCheckTopLevel(t *testing.T) {
	check(t, arch.CheckTopLevel([]string{".ci", ".gitignore", "LICENSE", "Makefile", "README.md", "adapters", "go.mod", "verification"}), "")
	check(t, arch.CheckTopLevel([]string{"docs", "pkg"}), "pkg must not stand at the top level")
	check(t, arch.CheckTopLevel([]string{"main.go"}), "main.go must not stand at the top level")
}

func TestCheckImports(t *testing.T) {
	for _, tt := range []struct {
		from, imp string
		allowed   bool
	}{
		{"verification", "time", true},
		{"verification", "encoding/json", true},
		{"verification", "encoding/xml", false},
		{"verification", "os", false},
		{"verification", "net/http", false},
		{"verification", "github.com/google/uuid", false},
		{"verification", "verification/engine", false},
		{"verification", "adapters/memory", false},
		{"verification", "internal/mock", false},

		{"verification/engine", "verification", true},
		{"verification/engine", "log/slog", true},
		{"verification/engine", "sync", true},
		{"verification/engine", "net/url", true},
		{"verification/engine", "net/http", false},
		{"verification/engine", "net/http/httptest", false},
		{"verification/engine", "database/sql/driver", false},
		{"verification/engine", "os", false},
		{"verification/engine", "os/exec", false},
		{"verification/engine", "golang.org/x/sync/errgroup", false},
		{"verification/engine", "adapters/memory", false},
		{"verification/engine", "verification/storetest", false},

		{"verification/engine", "verification/fair", true},
		{"verification/fair", "sync", true},
		{"verification/fair", "net/http", false},
		{"verification/fair", "verification", false},
		{"verification", "verification/fair", false},
		{"adapters/pdf", "verification/fair", true},
		{"verification/engine", "verification/lru", true},
		{"verification/lru", "context", false},
		{"verification/lru", "verification", false},
		{"adapters/pdf", "verification/lru", true},

		{"verification/storetest", "testing", true},
		{"verification/storetest", "verification", true},
		{"verification/storetest", "verification/engine", false},
		{"verification/storetest", "github.com/google/go-cmp/cmp", false},

		{"adapters/enginetest", "verification/engine", true},
		{"adapters/enginetest", "adapters/memory", true},
		{"adapters/enginetest", "adapters/provider/sandbox", true},
		{"adapters/enginetest", "adapters/postgres", false},
		{"adapters/enginetest", "adapters/provider/http", false},

		{"verification/policy", "verification", false},

		{"adapters/memory", "verification", true},
		{"adapters/memory", "github.com/tidwall/btree", true},
		{"adapters/memory", "verification/engine", false},
		{"adapters/memory", "adapters/postgres", false},
		{"adapters/memory", "hosts/verifyd", false},
		{"adapters/memory", "internal/golden", false},
		{"adapters/memory", "verification/storetest", false},
		{"adapters/postgres", "adapters/postgres/migrations", true},
		{"adapters/postgres/migrations", "adapters/postgres", true},
		{"adapters/httpapi", "verification/engine", true},
		{"adapters/httpapi", "adapters/token", false},
		{"adapters/httpapi", "adapters/apitypes", true},
		{"adapters/webhook", "adapters/apitypes", true},
		{"adapters/apitypes", "verification", true},
		{"adapters/apitypes", "encoding/json", true},
		{"adapters/apitypes", "github.com/go-json-experiment/json", false},
		{"adapters/apitypes", "verification/engine", false},
		{"adapters/apitypes", "adapters/webhook", false},
		{"adapters/journey", "verification/engine", true},
		{"adapters/journey", "adapters/web", true},
		{"adapters/memory", "adapters/web", false},
		{"adapters/web", "github.com/lucasb-eyer/go-colorful", true},
		{"adapters/web", "verification", false},
		{"adapters/console/pages", "verification/engine", true},
		{"adapters/provider/http", "verification", true},
		{"adapters/provider/http", "adapters/provider/http/wire", true},
		{"adapters/provider/http", "adapters/provider/sandbox", false},
		{"adapters/provider", "adapters/provider/sandbox", false},
		{"adapters/provider/http", "verification/engine", false},
		{"adapters/blob/s3", "adapters/blob", false},
		{"adapters/blob", "adapters/media", false},
		{"adapters/journey", "adapters/media", false},
		{"hosts/verifyd", "adapters/media", true},
		{"adapters/blob", "adapters/blob/s3", false},

		{"hosts/verifyd", "verification/engine", true},
		{"hosts/verifyd", "adapters/postgres", true},
		{"hosts/verifyd", "github.com/alecthomas/kong", true},
		{"hosts/verifyd", "internal/mock", false},
		{"hosts/verifyd", "internal/pgtest", false},
		{"hosts/verifyd", "adapters/enginetest", false},
		{"hosts/verifyctl", "testing", false},

		{"internal/scenario", "hosts/verifyd", true},
		{"internal/scenario", "testing", true},
		{"internal/mock", "verification", true},

		{"tools/gen", "fmt", false},
		{"github.com/verifyd/verifyd", "fmt", false},
	} {
		problems := arch.CheckImports([]arch.Package{{Path: tt.from, Imports: []string{tt.imp}}})
		if allowed := len(problems) == 0; allowed != tt.allowed {
			t.Errorf("%s imports %s: allowed = %v, want %v", tt.from, tt.imp, allowed, tt.allowed)
		}
	}
}

func TestCheckImportsOfTests(t *testing.T) {
	for _, tt := range []struct {
		from, imp string
		allowed   bool
	}{
		{"verification", "adapters/enginetest", true},
		{"verification/engine", "internal/mock", true},
		{"adapters/httpapi", "adapters/memory", true},
		{"adapters/httpapi", "hosts/verifyd", false},
		{"verification", "hosts/verifyd", false},
		{"hosts/verifyctl", "hosts/verifyd", true},
		{"internal/scenario", "hosts/verifyd", true},
	} {
		problems := arch.CheckImports([]arch.Package{{Path: tt.from, TestImports: []string{tt.imp}}})
		if allowed := len(problems) == 0; allowed != tt.allowed {
			t.Errorf("a test of %s imports %s: allowed = %v, want %v", tt.from, tt.imp, allowed, tt.allowed)
		}
	}
}

func TestCheckNames(t *testing.T) {
	for _, tt := range []struct {
		path, name, want string
	}{
		{"adapters/memory", "memory", ""},
		{"hosts/verifyd", "main", ""},
		{"internal/util", "util", "says nothing by its name"},
		{"adapters/pdf/common", "common", "says nothing by its name"},
		{"verification/types", "verificationtypes", "says nothing by its name"},
		{"verification/model", "models", "says nothing by its name"},
		{"internal/x", "helpers", "says nothing by its name"},
		{"internal/x", "manager", "says nothing by its name"},
		{"internal/run_store", "run_store", "one lower-case noun"},
		{"internal/runs", "runStore", "one lower-case noun"},
	} {
		check(t, arch.CheckNames([]arch.Package{{Path: tt.path, Name: tt.name}}), tt.want)
	}
}

func TestCheckOpenings(t *testing.T) {
	for _, tt := range []struct {
		path, src, want string
	}{
		{"verification/run.go", "// One run.\n\npackage verification\n", ""},
		{"verification/run.go", "// One run: the fold\n// of its history.\n\npackage verification\n", ""},
		{"verification/doc.go", "// Package verification decides. It does no I/O.\npackage verification\n", ""},
		{"hosts/verifyd/main.go", "// Verifyd serves the API. It has a clock.\npackage main\n", ""},
		{"verification/run_test.go", "package verification_test\n", ""},
		{"internal/mock/ports_moq.go", "// Code generated by moq; DO NOT EDIT.\n// github.com/matryer/moq\n\npackage mock\n", ""},
		{"internal/pgtest/death_linux.go", "//go:build linux\n\n// How a server dies with us.\n\npackage pgtest\n", ""},
		{"internal/pgtest/death_linux.go", "//go:build linux\n\npackage pgtest\n", "open with one sentence on"},
		{"verification/run.go", "package verification\n\n// One run.\n", "open with one sentence on"},
		{"verification/run.go", "// One run\n\npackage verification\n", "ends with a period"},
		{"verification/run.go", "// One run. And more.\n\npackage verification\n", "ends with a period"},
		{"verification/run.go", "// One run.\npackage verification\n", "leave a blank line"},
	} {
		check(t, arch.CheckOpenings([]arch.File{parse(t, tt.path, tt.src)}), tt.want)
	}
}

func TestCheckDocs(t *testing.T) {
	for _, tt := range []struct {
		path, src, want string
	}{
		{"verification/x.go", "// Run is one.\ntype Run struct{ ID string }", ""},
		{"verification/x.go", "type Run struct{}", "what Run promises"},
		{"verification/x.go", "// Both.\ntype (\n\tRun struct{}\n)", "what Run promises"},
		{"verification/x.go", "type run struct{}\n\nfunc (run) Do() {}", ""},
		{"verification/x.go", "// Run is one.\ntype Run[T any] struct{}\n\nfunc (r *Run[T]) Do() {}", "what Do promises"},
		{"verification/x.go", "func Decide() {}", "what Decide promises"},
		{"verification/x.go", "func decide() {}", ""},
		{"verification/x.go", "// The statuses.\nconst (\n\tA = 1\n\tB = 2\n)", ""},
		{"verification/x.go", "const (\n\tA = 1 // the first\n\tb = 2\n)", ""},
		{"verification/x.go", "const A = 1", "what A promises"},
		{"verification/x.go", "var ErrA error", "what ErrA promises"},
		{"verification/x.go", "// Store keeps.\ntype Store interface{ Load() }", ""},
		{"verification/x.go", "// Store keeps.\ntype Store interface {\n\tLoad()\n\tSave() // saves\n}", "what Load promises"},
		{"verification/x.go", "// Store keeps.\ntype Store interface {\n\t// Load loads.\n\tLoad()\n\tseal()\n}", ""},
		{"verification/engine/x.go", "func New() {}", "what New promises"},
		{"verification/x_test.go", "func TestX() {}", ""},
		{"adapters/memory/x.go", "func New() {}", ""},
	} {
		check(t, arch.CheckDocs([]arch.File{parse(t, tt.path, "package x\n\n"+tt.src+"\n")}), tt.want)
	}
}

func TestCheckClock(t *testing.T) {
	const head = "package x\n\nimport \"time\"\n\n"
	for _, tt := range []struct {
		path, src, want string
	}{
		{"verification/x.go", head + "var d = time.Second\n\nfunc f(now time.Time) bool { return now.After(now.Add(d)) }", ""},
		{"verification/x.go", head + "var now = time.Now", "do not call time.Now"},
		{"verification/x.go", head + "func f(t time.Time) time.Duration { return time.Since(t) }", "do not call time.Since"},
		{"verification/x.go", head + "func f() { time.AfterFunc(0, f) }", "do not call time.AfterFunc"},
		{"verification/x.go", head + "func f() { time.NewTicker(1) }", "do not call time.NewTicker"},
		{"verification/x.go", "package x\n\nimport clock \"time\"\n\nvar now = clock.Now()", "do not call time.Now"},
		{"verification/x.go", "package x\n\nimport . \"time\"\n\nvar now = Now()", "import time by its name"},
		{"verification/x.go", "package x\n\ntype T struct{ Now int }\n\nfunc f(time T) int { return time.Now }", ""},
		{"verification/x_test.go", head + "var now = time.Now", ""},
		{"adapters/clock/x.go", head + "var now = time.Now", ""},
	} {
		check(t, arch.CheckClock([]arch.File{parse(t, tt.path, tt.src)}), tt.want)
	}
}

func TestCheckLint(t *testing.T) {
	rules := "      rules:\n        verification:\n          allow: # closed\n"
	for _, p := range arch.Closed() {
		rules += "            - " + p + "$\n"
	}
	rules += "        adapters-memory:\n          allow:\n            - $gostd\n        adapters-provider-http:\n          allow:\n            - $gostd\n"
	memory := arch.Package{Path: "adapters/memory"}
	http := arch.Package{Path: "adapters/provider/http/wire"}
	blob := arch.Package{Path: "adapters/blob"}

	check(t, arch.CheckLint(rules, []arch.Package{memory, http}), "")
	check(t, arch.CheckLint(rules, []arch.Package{memory, blob}), "add the depguard rule adapters-blob")
	check(t, arch.CheckLint(strings.Replace(rules, "- io$", "- os$", 1), nil), "make them equal")
}

func TestFilesLeaveOutWhatIsNotTheModule(t *testing.T) {
	dir := t.TempDir()
	for path, text := range map[string]string{
		"go.mod":                "module example.com/m\n",
		"verification/run.go":   "package verification\n",
		"hosts/testdata/a.go":   "not Go",
		"internal/tools/go.mod": "module example.com/m/tools\n",
		"internal/tools/a.go":   "not Go",
		".build/a.go":           "not Go",
	} {
		write(t, filepath.Join(dir, path), text)
	}
	files, err := arch.Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 1 || files[0].Path != "verification/run.go" || files[0].Folder() != "verification" {
		t.Errorf("Files = %v, want verification/run.go alone", files)
	}
	names, err := arch.TopLevel(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(names, " "), ".build go.mod hosts internal verification"; got != want {
		t.Errorf("TopLevel outside of a checkout = %q, want %q", got, want)
	}
}

func TestPackagesAreSeenFromTheModule(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), "module example.com/m\n\ngo 1.26\n")
	write(t, filepath.Join(dir, "verification/run.go"), "package verification\n\nimport _ \"time\"\n")
	write(t, filepath.Join(dir, "hosts/d/main.go"), "package main\n\nimport _ \"example.com/m/verification\"\n\nfunc main() {}\n")
	write(t, filepath.Join(dir, "hosts/d/main_test.go"), "package main_test\n\nimport _ \"testing\"\n")
	pkgs, err := arch.Packages(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(pkgs) != 2 || pkgs[0].Path != "hosts/d" || pkgs[0].Name != "main" ||
		strings.Join(pkgs[0].Imports, " ") != "verification" || strings.Join(pkgs[0].TestImports, " ") != "testing" {
		t.Errorf("Packages = %+v, want hosts/d with its imports, and verification", pkgs)
	}
}

// check wants one problem that contains want, or none if want is empty.
func check(t *testing.T, problems []string, want string) {
	t.Helper()
	switch {
	case want == "" && len(problems) > 0:
		t.Errorf("problems = %q, want none", problems)
	case want != "" && (len(problems) != 1 || !strings.Contains(problems[0], want)):
		t.Errorf("problems = %q, want one with %q", problems, want)
	}
}

func parse(t *testing.T, path, src string) arch.File {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, path, src, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return arch.File{Path: path, Fset: fset, AST: f}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
