// The input of the checks: the packages, files and top-level names of a module.

package arch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Package is one package as the compiler sees it. Its path and its imports from
// the same module are relative to the module.
type Package struct {
	Path        string   // "verification/engine"
	Name        string   // "engine"
	Imports     []string // of the files that are built
	TestImports []string // of the test files, x_test included
}

// File is one parsed Go file; Path is relative to the module, with slashes.
type File struct {
	Path string
	Fset *token.FileSet
	AST  *ast.File
}

// Test reports whether the file is only built for tests.
func (f File) Test() bool { return strings.HasSuffix(f.Path, "_test.go") }

// Folder returns the directory of the file: "verification/engine".
func (f File) Folder() string { return path.Dir(f.Path) }

func (f File) at(pos token.Pos) string {
	return fmt.Sprintf("%s:%d", f.Path, f.Fset.Position(pos).Line)
}

// Root returns the nearest directory above dir with a go.mod.
func Root(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if parent := filepath.Dir(dir); parent != dir {
			dir = parent
			continue
		}
		return "", errors.New("no go.mod above the working folder")
	}
}

// Packages returns the packages of the module at root, as `go list` does.
func Packages(ctx context.Context, root string) ([]Package, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-e", "-json=ImportPath,Name,Imports,TestImports,XTestImports,Module", "./...")
	cmd.Dir = root
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, stderr.String())
	}
	return readList(strings.NewReader(string(out)))
}

func readList(r io.Reader) ([]Package, error) {
	var pkgs []Package
	for dec := json.NewDecoder(r); ; {
		var p struct {
			ImportPath, Name                   string
			Imports, TestImports, XTestImports []string
			Module                             *struct{ Path string }
		}
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return pkgs, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read go list: %w", err)
		}
		if p.Module == nil {
			continue
		}
		inside := func(paths []string) []string {
			var out []string
			for _, imp := range paths {
				out = append(out, strings.TrimPrefix(imp, p.Module.Path+"/"))
			}
			return out
		}
		pkgs = append(pkgs, Package{
			Path:        inside([]string{p.ImportPath})[0],
			Name:        p.Name,
			Imports:     inside(p.Imports),
			TestImports: inside(slices.Concat(p.TestImports, p.XTestImports)),
		})
	}
}

// Files parses every Go file of the module at root, with any build tags, except in
// testdata, in nested modules, and in names with a leading dot or underscore.
func Files(root string) ([]File, error) {
	var files []File
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || file == root {
			return err
		}
		name := d.Name()
		hidden := strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
		if d.IsDir() {
			_, err := os.Stat(filepath.Join(file, "go.mod"))
			if hidden || name == "testdata" || name == "vendor" || err == nil {
				return fs.SkipDir
			}
			return nil
		}
		if hidden || !strings.HasSuffix(name, ".go") {
			return nil
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		src, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		f, err := parseFile(fset, filepath.ToSlash(rel), string(src))
		if err != nil {
			return err
		}
		files = append(files, f)
		return nil
	})
	return files, err
}

func parseFile(fset *token.FileSet, path, src string) (File, error) {
	f, err := parser.ParseFile(fset, path, src, parser.ParseComments)
	if err != nil {
		return File{}, err
	}
	return File{Path: path, Fset: fset, AST: f}, nil
}

// TopLevel returns the names at the root that belong to the project: those that git
// tracks or would add or, without a checkout, those in the directory.
func TopLevel(ctx context.Context, root string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "git", "ls-files", "--cached", "--others", "--exclude-standard", "-z")
	cmd.Dir = root
	var names []string
	if out, err := cmd.Output(); err == nil && len(out) > 0 {
		for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
			top, _, _ := strings.Cut(name, "/")
			if _, err := os.Lstat(filepath.Join(root, top)); err == nil { // else: deleted, not yet staged
				names = append(names, top)
			}
		}
	} else {
		entries, err := os.ReadDir(root)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
