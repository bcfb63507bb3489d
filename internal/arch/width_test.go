// How wide the project is: names, methods, lines, words, and what one change touches.

package arch_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// What testdata/width.txt counts.
const (
	manyMethods = 40  // of one type
	longFile    = 300 // lines
	longLine    = 160 // characters
	manyLines   = 500 // of go doc -all
	// The newest event and the newest small table: the files that name them are the price of the next one.
	newestEvent = "RejectedBefore"
	newestTable = "LedgerMark"
)

// TestWidth holds each number of testdata/width.txt as a ceiling, see ceilings. Each kind begins with its total.
func TestWidth(t *testing.T) {
	counted := counts{}
	for folder, files := range publicPackages(t) {
		counted.add("exported names", folder, exportedNames(files))
		for _, line := range surfaceOf(files) {
			if name, isPort := strings.CutSuffix(strings.TrimPrefix(line, "type "), " interface"); isPort && folder == "verification/store" {
				counted.add("methods of store ports", name, methodsOf(surfaceOf(files), name))
			}
		}
	}
	for file, src := range sources(t) {
		counted.source(t, file, src)
	}
	for _, tree := range []string{"verification", "adapters", "hosts", "internal"} {
		eachFile(t, filepath.Join(root, tree), "_test.go", func(file, text string) {
			counted.add("lines of tests", filepath.ToSlash(filepath.Dir(strings.TrimPrefix(file, root+"/"))), strings.Count(text, "\n"))
		})
	}
	eachFile(t, filepath.Join(root, "docs"), ".md", func(file, text string) {
		if page := strings.TrimPrefix(filepath.ToSlash(file), root+"/docs/"); !strings.HasPrefix(page, "decisions/") {
			counted.add("words of docs", page, len(strings.Fields(text)))
		}
	})
	for folder, lines := range longestPages(t) {
		counted.add("lines of go doc -all", folder, lines)
	}
	maps.DeleteFunc(counted["methods"], func(_ string, n int) bool { return n < manyMethods })
	maps.DeleteFunc(counted["lines of go doc -all"], func(_ string, n int) bool { return n < manyLines })
	for kind, step := range map[string]int{"lines": 100, "lines of tests": 500, "lines of go doc -all": 10, "words of docs": 100} {
		counted.roundUp(kind, step)
	}
	holdCeilings(t, "testdata/width.txt", counted)
}

// counts are numbers by kind and by what they count.
type counts map[string]map[string]int

func (c counts) add(kind, of string, n int) {
	if c[kind] == nil {
		c[kind] = map[string]int{}
	}
	c[kind][of] += n
}

// roundUp rounds the numbers of a kind up, so that a small change needs no new ceiling.
func (c counts) roundUp(kind string, step int) {
	for of, n := range c[kind] {
		c[kind][of] = (n + step - 1) / step * step
	}
}

// source counts a source file.
func (c counts) source(t *testing.T, file, src string) {
	t.Helper()
	c.add("lines", path.Dir(file), strings.Count(src, "\n"))
	f, err := parser.ParseFile(token.NewFileSet(), file, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if ast.IsGenerated(f) {
		return
	}
	for _, d := range f.Decls {
		if method, ok := d.(*ast.FuncDecl); ok && method.Recv != nil {
			of, _, _ := strings.Cut(strings.TrimPrefix(text(method.Recv.List[0].Type), "*"), "[")
			c.add("methods", path.Dir(file)+"."+of, 1)
		}
	}
	if strings.Count(src, "\n") > longFile {
		c.add("long files", file, 1)
	}
	for line := range strings.Lines(src) {
		if utf8.RuneCountInString(line) > longLine {
			c.add("long lines", path.Dir(file), 1)
		}
	}
	for kind, name := range map[string]string{"files that name the newest event": newestEvent, "files that name the newest small table": newestTable} {
		if names(f, name) {
			c.add(kind, path.Dir(file), 1)
		}
	}
}

// names reports whether a name in a file contains a word.
func names(f *ast.File, word string) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && strings.Contains(id.Name, word)
		return !found
	})
	return found
}

// methodsOf returns how many methods an interface of a surface has itself.
func methodsOf(surface []string, name string) (n int) {
	for _, line := range surface {
		if member, ok := strings.CutPrefix(line, "type "+name+" interface, "); ok && strings.Contains(member, "(") {
			n++
		}
	}
	return n
}

// longestPages returns the lines of go doc -all of each public package that is part of the library.
func longestPages(t *testing.T) map[string]int {
	t.Helper()
	lines := map[string]int{}
	for folder := range publicPackages(t) {
		if strings.HasPrefix(folder, "hosts/") {
			continue
		}
		cmd := exec.CommandContext(t.Context(), "go", "doc", "-all", "./"+folder)
		cmd.Dir = root
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go doc -all ./%s: %v", folder, err)
		}
		lines[folder] = bytes.Count(out, []byte("\n"))
	}
	return lines
}

// keys returns a key for the total of each kind, followed by the keys of what it counts, and the number of each.
func (c counts) keys() (keys []string, numbers map[string]int) {
	numbers = map[string]int{}
	for _, kind := range slices.Sorted(maps.Keys(c)) {
		keys = append(keys, kind+":")
		for _, of := range slices.Sorted(maps.Keys(c[kind])) {
			key := fmt.Sprintf("%s: %s", kind, of)
			keys = append(keys, key)
			numbers[key] = c[kind][of]
			numbers[kind+":"] += c[kind][of]
		}
	}
	return keys, numbers
}
