// How wide the project is: names, methods, long files, long lines and long pages.

package arch_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/verifyd/verifyd/internal/rig/golden"
)

// What testdata/width.txt lists.
const (
	manyMethods = 40    // of one type
	longFile    = 300   // lines
	longLine    = 160   // characters
	longPage    = 2_500 // words; their number is rounded up to hundreds
)

// TestWidth compares the width of the project with a golden file, so that whatever gets wider
// shows in a change. Each kind begins with its total.
func TestWidth(t *testing.T) {
	kinds := map[string]map[string]int{}
	count := func(kind, of string, n int) {
		if kinds[kind] == nil {
			kinds[kind] = map[string]int{}
		}
		kinds[kind][of] += n
	}
	for folder, files := range publicPackages(t) {
		count("exported names", folder, exportedNames(files))
	}
	for file, src := range sources(t) {
		f, err := parser.ParseFile(token.NewFileSet(), file, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if ast.IsGenerated(f) {
			continue
		}
		for _, d := range f.Decls {
			if method, ok := d.(*ast.FuncDecl); ok && method.Recv != nil {
				of, _, _ := strings.Cut(strings.TrimPrefix(text(method.Recv.List[0].Type), "*"), "[")
				count("methods", path.Dir(file)+"."+of, 1)
			}
		}
		if strings.Count(src, "\n") > longFile {
			count("long files", file, 1)
		}
		for line := range strings.Lines(src) {
			if utf8.RuneCountInString(line) > longLine {
				count("long lines", path.Dir(file), 1)
			}
		}
	}
	maps.DeleteFunc(kinds["methods"], func(_ string, n int) bool { return n < manyMethods })
	eachFile(t, filepath.Join(root, "docs"), ".md", func(file, text string) {
		page := strings.TrimPrefix(filepath.ToSlash(file), root+"/")
		if words := len(strings.Fields(text)); words > longPage {
			count("long pages", page, (words+99)/100*100)
		}
	})
	var b strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		total := 0
		for _, n := range kinds[kind] {
			total += n
		}
		fmt.Fprintf(&b, "%s: %d\n", kind, total)
		for _, of := range slices.Sorted(maps.Keys(kinds[kind])) {
			fmt.Fprintf(&b, "\t%s %d\n", of, kinds[kind][of])
		}
	}
	golden.Equal(t, "testdata/width.txt", []byte(b.String()))
}

// TestSize prints what grows with each change: lines by package, lines of tests, words of docs.
// See make width.
func TestSize(t *testing.T) {
	lines, all, tests, words := map[string]int{}, 0, 0, 0
	for file, src := range sources(t) {
		lines[path.Dir(file)] += strings.Count(src, "\n")
		all += strings.Count(src, "\n")
	}
	for _, tree := range []string{"verification", "adapters", "hosts", "internal"} {
		eachFile(t, filepath.Join(root, tree), "_test.go", func(_, text string) { tests += strings.Count(text, "\n") })
	}
	eachFile(t, filepath.Join(root, "docs"), ".md", func(file, text string) {
		if filepath.Dir(file) == filepath.Join(root, "docs") {
			words += len(strings.Fields(text))
		}
	})
	var b strings.Builder
	for _, folder := range slices.Sorted(maps.Keys(lines)) {
		fmt.Fprintf(&b, "\t%s %d\n", folder, lines[folder])
	}
	t.Logf("lines: %d\n%slines of tests: %d\nwords of docs/*.md: %d", all, b.String(), tests, words)
}
