// Diagnostics: the problems of a file, with their positions.

package definitions

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"

	"github.com/verifyd/verifyd/verification"
)

// maxListedDiagnostics is how many diagnostics are listed; the rest are counted.
const maxListedDiagnostics = 500

// Diagnostic is one problem of a file.
type Diagnostic struct {
	File string
	// Line and Column begin at 1; 0 is unknown. A column counts characters.
	Line, Column int
	// Path names the value, such as nodes.pan.on_failed; empty for the file.
	Path string
	// Message is a plain sentence without a full stop.
	Message string
}

// String returns one line: file:line:column: path: message.
func (d Diagnostic) String() string {
	var b strings.Builder
	b.WriteString(d.File)
	if d.Line > 0 {
		fmt.Fprintf(&b, ":%d", d.Line)
		if d.Column > 0 {
			fmt.Fprintf(&b, ":%d", d.Column)
		}
	}
	b.WriteString(": ")
	if d.Path != "" {
		b.WriteString(d.Path + ": ")
	}
	b.WriteString(d.Message)
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, b.String())
}

// MarshalText returns the line of String.
func (d Diagnostic) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Diagnostics is an error with all problems of a file and the files that it
// names, by file and line.
type Diagnostics struct {
	List []Diagnostic
	// More is the number of further problems that are not listed.
	More  int
	cause error
}

// Error returns one line for each diagnostic.
func (d *Diagnostics) Error() string {
	lines := make([]string, 0, len(d.List)+1)
	for _, one := range d.List {
		lines = append(lines, one.String())
	}
	if d.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more problems", d.More))
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the error that was explained: a *verification.Error.
func (d *Diagnostics) Unwrap() error { return d.cause }

// diagnostics collects the problems of a file and the files that it names.
type diagnostics struct {
	list []Diagnostic
	// unusable has the paths of values that are missing or of the wrong type.
	unusable map[string]bool
	// secrets says that there are secrets in the file.
	secrets bool
}

func (d *diagnostics) add(file string, at position, p path, message string) {
	d.list = append(d.list, Diagnostic{File: file, Line: at.line, Column: at.column, Path: p.String(), Message: message})
}

// discard notes that a value cannot be used, and makes it null.
func (d *diagnostics) discard(p path, value *tree) {
	if d.unusable == nil {
		d.unusable = map[string]bool{}
	}
	d.unusable[p.String()] = true
	if value != nil {
		*value = tree{kind: yaml.ScalarNode, at: value.at}
	}
}

// usable reports whether neither a value nor any above it is unusable.
func (d *diagnostics) usable(p path) bool {
	for i := range len(p) + 1 {
		if d.unusable[p[:i].String()] {
			return false
		}
	}
	return true
}

// name returns the path of a field that is unknown or given twice. In a file with
// secrets a typing error can turn one into a name, so the path leaves out names
// that are long enough for a secret.
func (d *diagnostics) name(p path, name string) path {
	if d.secrets && (!matches(name, `[a-z0-9_]*`) || len(name) >= verification.MinAPIKeyLength) {
		return p
	}
	return append(slices.Clip(p), name)
}

// err returns a *Diagnostics that unwraps to an ErrInvalid about the subject, and
// nil if there are no problems. Those of the named file come first, the others in
// the order of each file's first problem.
func (d *diagnostics) err(subject, file string) error {
	if len(d.list) == 0 {
		return nil
	}
	found := sorted(d.list, file)
	invalid := &verification.Error{Kind: verification.ErrInvalid, Subject: subject, Message: "the file is not valid"}
	for _, one := range found.List {
		invalid.Fields = append(invalid.Fields, verification.FieldError{Name: one.Path, Message: one.Message})
	}
	found.cause = invalid
	return found
}

func sorted(list []Diagnostic, first string) *Diagnostics {
	files := map[string]int{first: 0}
	for _, one := range list {
		if _, known := files[one.File]; !known {
			files[one.File] = len(files)
		}
	}
	slices.SortStableFunc(list, func(a, b Diagnostic) int {
		return cmp.Or(
			cmp.Compare(files[a.File], files[b.File]),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Path, b.Path),
		)
	})
	list = slices.Compact(list)
	listed := min(len(list), maxListedDiagnostics)
	return &Diagnostics{List: list[:listed:listed], More: len(list) - listed}
}

// location is the position of a workflow or a provider in a file.
type location struct {
	file string
	root *tree  // of the whole file
	base string // path in the file
}

// Explain returns a *Diagnostics, which unwraps to err, with the position of each field of a
// *verification.Error: the character in a text, the value at its path, or the nearest value above
// it. Explain returns any other error unchanged.
func (l location) Explain(err error) error {
	var invalid *verification.Error
	if !errors.As(err, &invalid) || l.root == nil {
		return err
	}
	fields := invalid.Fields
	if len(fields) == 0 {
		fields = []verification.FieldError{{Message: invalid.Error()}}
	}
	found := l.ExplainFields(fields)
	found.cause = err
	return found
}

// ExplainFields returns the position of each problem or warning of a definition, as
// Explain does; of too many, it counts the rest.
func (l location) ExplainFields(fields []verification.FieldError) *Diagnostics {
	var list []Diagnostic
	explained := fields[:min(len(fields), 2*maxListedDiagnostics)]
	for _, field := range explained {
		name := strings.TrimSuffix(strings.TrimPrefix(l.base+"."+field.Name, "."), ".")
		at, value := l.root.find(name)
		if field.Character > 0 {
			at = value.character(l.root.source, field.Character)
		}
		list = append(list, Diagnostic{File: l.file, Line: at.line, Column: at.column, Path: name, Message: field.Message})
	}
	found := sorted(list, l.file)
	found.More += len(fields) - len(explained)
	return found
}
