// Checks of source files: their first comment, doc comments, and the clock.

package arch

import (
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// CheckOpenings checks that a file starts with the package documentation, or with
// one sentence about its content and a blank line. Test files and generated files
// are exempt.
func CheckOpenings(files []File) []string {
	var problems []string
	for _, f := range files {
		if f.Test() || ast.IsGenerated(f.AST) {
			continue
		}
		if problem := opening(f.AST); problem != "" {
			problems = append(problems, f.Path+": "+problem)
		}
	}
	return problems
}

func opening(f *ast.File) string {
	if f.Doc != nil && !directive(f.Doc) {
		if strings.HasPrefix(f.Doc.Text(), "Package "+f.Name.Name+" ") || f.Name.Name == "main" {
			return ""
		}
		return "leave a blank line between the opening sentence and the package clause, or begin with \"Package " + f.Name.Name + "\"."
	}
	var first *ast.CommentGroup
	for _, c := range f.Comments {
		if c.End() < f.Package && !directive(c) {
			first = c
			break
		}
	}
	if first == nil {
		return "open with one sentence on what stands in this file, then a blank line."
	}
	text := strings.TrimSpace(first.Text())
	if !strings.HasSuffix(text, ".") || regexp.MustCompile(`[.!?]\s+\p{Lu}`).MatchString(text) {
		return "open with one sentence that ends with a period; what is longer belongs to the package's documentation."
	}
	return ""
}

// directive reports whether all comments are compiler directives.
func directive(g *ast.CommentGroup) bool {
	return !slices.ContainsFunc(g.List, func(c *ast.Comment) bool {
		return !strings.HasPrefix(c.Text, "//go:") && !constraint.IsGoBuild(c.Text) && !constraint.IsPlusBuild(c.Text)
	})
}

// CheckDocs checks that every exported name below verification has a comment:
// types, functions, methods, constants and variables, the last two also as a
// group. The method of an interface with one method needs none.
func CheckDocs(files []File) []string {
	var problems []string
	for _, f := range files {
		if f.Test() || ast.IsGenerated(f.AST) || !within(f.Folder(), "verification/...") {
			continue
		}
		for _, decl := range f.AST.Decls {
			for _, id := range undocumented(decl) {
				problems = append(problems, fmt.Sprintf("%s: write a comment that says what %s promises.", f.at(id.Pos()), id.Name))
			}
		}
	}
	return problems
}

func undocumented(decl ast.Decl) []*ast.Ident {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && d.Name.IsExported() && (d.Recv == nil || exportedReceiver(d.Recv)) {
			return []*ast.Ident{d.Name}
		}
	case *ast.GenDecl:
		var ids []*ast.Ident
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.ValueSpec:
				if d.Doc == nil && s.Doc == nil && s.Comment == nil {
					ids = append(ids, s.Names...)
				}
			case *ast.TypeSpec:
				if s.Doc == nil && (d.Doc == nil || d.Lparen.IsValid()) {
					ids = append(ids, s.Name)
				}
				if iface, ok := s.Type.(*ast.InterfaceType); ok && s.Name.IsExported() {
					ids = append(ids, undocumentedMethods(iface)...)
				}
			}
		}
		return slices.DeleteFunc(ids, func(id *ast.Ident) bool { return !id.IsExported() })
	}
	return nil
}

func undocumentedMethods(iface *ast.InterfaceType) []*ast.Ident {
	var ids []*ast.Ident
	methods := 0
	for _, m := range iface.Methods.List {
		methods += len(m.Names)
		if m.Doc == nil && m.Comment == nil {
			ids = append(ids, m.Names...)
		}
	}
	if methods == 1 {
		return nil
	}
	return ids
}

func exportedReceiver(recv *ast.FieldList) bool {
	t := recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return false
		}
	}
}

// CheckClock checks that package verification uses only values of package time:
// it is passed the current time, and what happens later is an effect.
func CheckClock(files []File) []string {
	clock := []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}
	var problems []string
	for _, f := range files {
		if f.Test() || f.Folder() != "verification" {
			continue
		}
		name := importName(f.AST, "time")
		if name == "." {
			problems = append(problems, f.Path+": import time by its name, so that its use can be read.")
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				x, ok := sel.X.(*ast.Ident)
				if ok && x.Name == name && x.Obj == nil && slices.Contains(clock, sel.Sel.Name) {
					problems = append(problems, fmt.Sprintf("%s: do not call time.%s in a rule: take now as a value, or return an effect with its time.", f.at(sel.Pos()), sel.Sel.Name))
				}
			}
			return true
		})
	}
	return problems
}

// importName returns the name of the package at path in the file, or "".
func importName(f *ast.File, path string) string {
	for _, spec := range f.Imports {
		if spec.Path.Kind != token.STRING || spec.Path.Value != strconv.Quote(path) {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path[strings.LastIndex(path, "/")+1:]
	}
	return ""
}
