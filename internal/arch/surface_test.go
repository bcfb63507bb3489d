// The public surface: every exported name of every package that a program may import.

package arch_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/rig/golden"
)

// TestPublicSurface shows a change of the public surface as a change of a golden file. Its
// lines have the form of the API files of the Go distribution.
func TestPublicSurface(t *testing.T) {
	seen := map[string]bool{}
	for folder, files := range publicPackages(t) {
		lines := surfaceOf(files)
		name := strings.ReplaceAll(folder, "/", ".") + ".txt"
		seen[name] = true
		golden.Equal(t, filepath.Join("testdata/surface", name), []byte(strings.Join(lines, "\n")+"\n"))
	}
	stored, err := filepath.Glob("testdata/surface/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stored {
		if !seen[filepath.Base(path)] {
			t.Errorf("%s is of no package: remove it", path)
		}
	}
}

// publicPackages returns the files of each package that a program may import, by folder.
func publicPackages(t *testing.T) map[string][]*ast.File {
	t.Helper()
	packages := map[string][]*ast.File{}
	for _, tree := range []string{"verification", "adapters", "hosts"} {
		err := filepath.WalkDir(filepath.Join(root, tree), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "testdata" || d.Name() == "internal"):
				return filepath.SkipDir
			case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil || file.Name.Name == "main" {
				return err
			}
			folder, err := filepath.Rel(root, filepath.Dir(path))
			folder = filepath.ToSlash(folder)
			packages[folder] = append(packages[folder], file)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return packages
}

// exportedNames returns the number of exported names and methods of a package.
func exportedNames(files []*ast.File) (n int) {
	for _, line := range surfaceOf(files) {
		if !strings.Contains(line, ", ") || strings.HasPrefix(line, "func") || strings.HasPrefix(line, "method") {
			n++
		}
	}
	return n
}

// surfaceOf returns a line for each exported name, field and method of a package, sorted.
func surfaceOf(files []*ast.File) (lines []string) {
	for _, file := range files {
		lines = append(lines, surfaceOfFile(file)...)
	}
	slices.Sort(lines)
	return lines
}

func surfaceOfFile(file *ast.File) (lines []string) {
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if !d.Name.IsExported() {
				continue
			}
			signature := strings.TrimPrefix(text(d.Type), "func")
			if d.Recv == nil {
				lines = append(lines, "func "+d.Name.Name+signature)
			} else if receiver := text(d.Recv.List[0].Type); ast.IsExported(strings.TrimLeft(receiver, "*")) {
				lines = append(lines, fmt.Sprintf("method (%s) %s%s", receiver, d.Name.Name, signature))
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				lines = append(lines, ofSpec(d.Tok, spec)...)
			}
		}
	}
	return lines
}

func ofSpec(tok token.Token, spec ast.Spec) (lines []string) {
	switch s := spec.(type) {
	case *ast.ValueSpec:
		for i, name := range s.Names {
			if !name.IsExported() {
				continue
			}
			line := tok.String() + " " + name.Name
			if s.Type != nil {
				line += " " + text(s.Type)
			}
			if tok == token.CONST && i < len(s.Values) {
				line += " = " + text(s.Values[i])
			}
			lines = append(lines, line)
		}
	case *ast.TypeSpec:
		if !s.Name.IsExported() {
			return nil
		}
		line := "type " + s.Name.Name
		switch of := s.Type.(type) {
		case *ast.StructType:
			return append([]string{line + " struct"}, members(line+" struct, ", of.Fields)...)
		case *ast.InterfaceType:
			return append([]string{line + " interface"}, members(line+" interface, ", of.Methods)...)
		default:
			if s.Assign.IsValid() {
				line += " ="
			}
			return []string{line + " " + text(s.Type)}
		}
	}
	return lines
}

// members returns a line for each exported field or method, and for each embedded type.
func members(prefix string, list *ast.FieldList) (lines []string) {
	for _, field := range list.List {
		of := text(field.Type)
		if len(field.Names) == 0 {
			lines = append(lines, prefix+of)
		}
		for _, name := range field.Names {
			switch _, method := field.Type.(*ast.FuncType); {
			case !name.IsExported():
			case method && strings.Contains(prefix, "interface"):
				lines = append(lines, prefix+name.Name+strings.TrimPrefix(of, "func"))
			default:
				lines = append(lines, prefix+name.Name+" "+of)
			}
		}
	}
	return lines
}

// text returns a node as one line.
func text(node ast.Node) string {
	var b strings.Builder
	_ = printer.Fprint(&b, token.NewFileSet(), node) // a builder takes everything
	return strings.Join(strings.Fields(b.String()), " ")
}
