// The table of imports in testdata/imports.txt, beside the code.

package arch_test

import (
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const modulePath = "github.com/verifyd/verifyd/"

func TestImportsAreInTheTable(t *testing.T) {
	text, err := os.ReadFile("testdata/imports.txt")
	if err != nil {
		t.Fatal(err)
	}
	rows := importRows(t, string(text))
	used := map[string]bool{} // "row: entry"
	found := imports(t, "")
	if len(found) < 50 {
		t.Fatalf("%d folders found", len(found))
	}
	for folder, imported := range found {
		row := rowOf(rows, folder)
		if row == "" {
			t.Errorf("testdata/imports.txt has no row for %s", folder)
			continue
		}
		for _, name := range imported {
			entry, ok := allowed(rows, row, name)
			if used[row+": "+entry] = true; !ok {
				t.Errorf("%s imports %s, which the row %s of testdata/imports.txt does not allow", folder, name, row)
			}
		}
	}
	for row, entries := range rows {
		for _, e := range entries {
			if !used[row+": "+e] && !strings.HasPrefix(e, "-") {
				t.Errorf("testdata/imports.txt: nothing in %s imports %s", row, e)
			}
		}
	}
}

// TestImportsGoDown compares the floors of docs/architecture.md with the code.
func TestImportsGoDown(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rows, _ := strings.Cut(string(text), "\n| floor |")
	rows, _, _ = strings.Cut(rows, "\n\n")
	floors := map[string][]string{} // the floor of a folder, as text, because of rowOf
	for n, row := range strings.Split(rows, "\n") {
		for _, folder := range submatches([]string{strings.SplitN(row+"||", "|", 3)[1]}, "`(.*?)`") {
			floors[folder] = []string{strconv.Itoa(n)}
		}
	}
	for folder, imported := range imports(t, "") {
		from := rowOf(floors, folder)
		if from == "" {
			t.Errorf("docs/architecture.md has no floor for %s", folder)
			continue
		}
		for _, name := range imported {
			if to := rowOf(floors, name); to != "" && to != from && floors[to][0] <= floors[from][0] {
				t.Errorf("%s imports %s, which is not below it", folder, name)
			}
		}
	}
}

func TestImportsOfTests(t *testing.T) {
	for folder, imported := range imports(t, "_test") {
		for _, name := range imported {
			switch {
			case replaced(name):
				t.Errorf("a test in %s imports %s, which testdata/imports.txt allows nowhere", folder, name)
			case below(name, "github.com/stretchr/testify"):
				t.Errorf("a test in %s imports %s: write it with testing and go-cmp", folder, name)
			case below(name, "hosts") && !below(folder, "hosts"):
				t.Errorf("a test in %s imports %s: move it to hosts", folder, name)
			}
		}
	}
}

func TestTheTableOfImports(t *testing.T) {
	rows := importRows(t, "# Imports\n\n```text\na: std -net/http a/b x.org/lib\n    c\na/b: slices\nc: any -testing\n```\n")
	for at, want := range map[string]bool{
		"a net/url": true, "a net/http": false, "a net/http/httptest": false, "a a/b": true, "a a/b/c": false,
		"a x.org/lib/sub": true, "a x.org/library": false, "a c": true, "a a/d": true,
		"a/b slices": true, "a/b sort": false, "a/b a": false, "a/b/c slices": true,
		"c x.org/lib": true, "c testing": false, "c a": true, "c log": false, "c math/rand": false, "c math/rand/v2": true,
	} {
		folder, name, _ := strings.Cut(at, " ")
		if _, got := allowed(rows, rowOf(rows, folder), name); got != want {
			t.Errorf("%s may import %s: %t, want %t", folder, name, got, want)
		}
	}
	if row := rowOf(rows, "d"); row != "" {
		t.Errorf("the row of d is %q, want none", row)
	}
}

// importRows reads the block of the table: the entries of each row.
func importRows(t *testing.T, document string) map[string][]string {
	t.Helper()
	_, rest, _ := strings.Cut(document, "\n```text\n")
	block, _, ok := strings.Cut(rest, "\n```\n")
	if !ok {
		t.Fatal("there is no block of text")
	}
	rows, row := map[string][]string{}, ""
	for line := range strings.SplitSeq(block, "\n") {
		if folder, entries, ok := strings.Cut(line, ": "); ok && !strings.HasPrefix(line, " ") {
			if row = folder; rows[row] != nil {
				t.Errorf("the row %s is there twice", row)
			}
			line = entries
		}
		rows[row] = append(rows[row], strings.Fields(line)...)
	}
	return rows
}

// rowOf returns the row of a folder or, if it has none, of the nearest folder above it that has one.
// It is empty if there is none.
func rowOf(rows map[string][]string, folder string) string {
	for ; folder != "."; folder = path.Dir(folder) {
		if rows[folder] != nil {
			return folder
		}
	}
	return ""
}

// allowed reports whether a row allows an import, and by which entry. Imports of this module are
// folders.
func allowed(rows map[string][]string, row, name string) (entry string, ok bool) {
	if replaced(name) {
		return "", false
	}
	if rowOf(rows, name) == row {
		return "", true
	}
	dotted := strings.Contains(strings.SplitN(name, "/", 2)[0], ".")
	own := rowOf(rows, name) != ""
	for _, e := range rows[row] {
		switch {
		case strings.HasPrefix(e, "-") && below(name, e[1:]):
			return e, false
		case entry != "":
		case e == "any", e == "std" && !dotted && !own, e == name, dotted && below(name, e):
			entry = e
		}
	}
	return entry, entry != ""
}

// replaced reports whether there is a better package, for tests too.
func replaced(name string) bool {
	return name == "log" || name == "math/rand" || below(name, "github.com/pkg/errors")
}

// below reports whether a path is another one or stands below it.
func below(name, of string) bool { return name == of || strings.HasPrefix(name, of+"/") }

// imports returns what the Go files of each folder import, those of tests or the others. Imports
// of this module are folders.
func imports(t *testing.T, suffix string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for _, tree := range []string{"verification", "adapters", "hosts", "internal"} {
		eachFile(t, filepath.Join(root, tree), ".go", func(file, src string) {
			if strings.HasSuffix(file, "_test.go") != (suffix == "_test") || strings.Contains(file, "/testdata/") {
				return
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, src, parser.ImportsOnly)
			folder, relErr := filepath.Rel(root, filepath.Dir(file))
			if err != nil || relErr != nil {
				t.Fatal(err, relErr)
			}
			folder = filepath.ToSlash(folder)
			if found[folder] == nil {
				found[folder] = []string{} // it may import nothing
			}
			for _, i := range f.Imports {
				name, err := strconv.Unquote(i.Path.Value)
				if err != nil {
					t.Fatal(err)
				}
				found[folder] = append(found[folder], strings.TrimPrefix(name, modulePath))
			}
		})
	}
	for folder, names := range found {
		slices.Sort(names)
		found[folder] = slices.Compact(names)
	}
	return found
}
