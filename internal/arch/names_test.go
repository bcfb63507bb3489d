// Names of the project in comments and documents.

package arch_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// qualified is a name with its package, and perhaps a member, in a text.
var qualified = regexp.MustCompile(`(?:^|[^\w./-])\*?([a-z]\w*)\.([A-Z]\w*)(?:\.([A-Z]\w*))?(\(?)`)

// declaration is the start of a line of surfaceOf: a name, and perhaps a member.
var declaration = regexp.MustCompile(`^(?:(?:func|var|const|type) (\w+)(?:\[.*?\])?(?: (?:struct|interface), (\w+))?|method \(\*?(\w+)(?:\[.*?\])?\) (\w+))`)

func TestNamesInTextsExist(t *testing.T) {
	declared := declaredNames(t)
	checked := 0
	members := map[string]bool{}
	for _, names := range declared {
		for name := range names {
			if _, member, ok := strings.Cut(name, "."); ok {
				members[member] = true
			}
		}
	}
	check := func(at, text string) {
		for _, m := range qualified.FindAllStringSubmatch(text, -1) {
			names, ok := declared[m[1]]
			if !ok || m[4] != "" && members[m[2]] { // a call of a variable with the name of the package
				continue
			}
			if checked++; !names[m[2]] || m[3] != "" && !names[m[2]+"."+m[3]] {
				t.Errorf("%s: there is no %s.%s", at, m[1], strings.Trim(m[2]+"."+m[3], "."))
			}
		}
	}
	for _, tree := range []string{"verification", "adapters", "hosts", "internal"} {
		eachFile(t, filepath.Join(root, tree), ".go", func(file, src string) {
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, file, src, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range f.Comments {
				check(fset.Position(c.Pos()).String(), c.Text())
			}
			ast.Inspect(f, func(n ast.Node) bool { // a clause of storetest quotes its promise
				if s, ok := n.(*ast.BasicLit); ok && s.Kind == token.STRING {
					check(fset.Position(s.Pos()).String(), s.Value)
				}
				return true
			})
		})
	}
	eachFile(t, filepath.Join(root, "docs"), ".md", check)
	if checked < 100 {
		t.Errorf("%d names were checked: are they found?", checked)
	}
}

// declaredNames returns the exported names of each package, and Type.Member of each of its types, by the
// name of the package. Packages of one name share theirs.
func declaredNames(t *testing.T) map[string]map[string]bool {
	t.Helper()
	declared := map[string]map[string]bool{}
	for file, src := range sources(t) {
		f, err := parser.ParseFile(token.NewFileSet(), file, src, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		name := f.Name.Name
		if name == "main" || path.Base(path.Dir(file)) == "testdata" {
			continue
		}
		if declared[name] == nil {
			declared[name] = map[string]bool{}
		}
		for _, line := range surfaceOf([]*ast.File{f}) {
			if m := declaration.FindStringSubmatch(line); m != nil {
				declared[name][m[1]] = true
				declared[name][m[1]+m[3]+"."+m[2]+m[4]] = true
			}
		}
	}
	return declared
}

func TestListsInDocumentsAreComplete(t *testing.T) {
	of := func(folder string) []string { return surfaceOf(publicPackages(t)[folder]) }
	for at, want := range map[string][]string{
		"architecture.md: A **command** (`command.go`) is a":       receivers(t, "verification/rules/command.go", "command"),
		"architecture.md: The kinds of work are":                   submatches(of("verification/store"), `^const Work\w+ WorkKind = "(\w+)"`),
		"writing-an-adapter.md: these ports over one set of data:": submatches(of("verification/store"), `^type Store interface, (\w+)`),
	} {
		file, phrase, _ := strings.Cut(at, ": ")
		raw, err := os.ReadFile(filepath.Join(root, "docs", file))
		if err != nil {
			t.Fatal(err)
		}
		_, list, _ := strings.Cut(string(raw), phrase+"\n")
		list, _, ok := strings.Cut(list, "\n\n")
		got := submatches([]string{list}, "`(.*?)`")
		slices.Sort(got)
		slices.Sort(want)
		if !ok || len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("docs/%s: after %q are %q, want %q", file, phrase, got, want)
		}
	}
}

// submatches returns the first submatch of each match.
func submatches(texts []string, pattern string) (found []string) {
	for _, text := range texts {
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			found = append(found, m[1])
		}
	}
	return found
}

// receivers returns the types of a file that have a method.
func receivers(t *testing.T, file, method string) []string {
	t.Helper()
	return submatches(strings.Split(sources(t)[file], "\n"), `^func \((\w+)\) `+method+`\(\)`)
}
