// What is wrong with a file, and where.

package definition

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/verifyd/verifyd/verification"
)

// maxFaults is how many faults are told; the rest are counted.
const maxFaults = 500

// Fault is one thing that is wrong with a file.
type Fault struct {
	File string
	// Line and Column begin at 1; 0 is unknown. A column counts characters.
	Line, Column int
	// Path names the value, such as nodes.pan.on_failed; empty for the file.
	Path string
	// Message is a plain sentence without a final stop.
	Message string
}

// String is the fault on one line: file:line:column: path: message.
func (f Fault) String() string {
	var b strings.Builder
	b.WriteString(f.File)
	if f.Line > 0 {
		fmt.Fprintf(&b, ":%d", f.Line)
		if f.Column > 0 {
			fmt.Fprintf(&b, ":%d", f.Column)
		}
	}
	b.WriteString(": ")
	if f.Path != "" {
		b.WriteString(f.Path + ": ")
	}
	b.WriteString(f.Message)
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, b.String())
}

// Faults is everything that is wrong, by file and line. Its text has one line
// a fault.
type Faults struct {
	List []Fault
	// More is how many further faults were found and are not listed.
	More  int
	cause error
}

// Error is one line a fault.
func (f *Faults) Error() string {
	lines := make([]string, 0, len(f.List)+1)
	for _, one := range f.List {
		lines = append(lines, one.String())
	}
	if f.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more faults", f.More))
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the error that was explained: a *verification.Error.
func (f *Faults) Unwrap() error { return f.cause }

// faults collects what is wrong with a file and the files that it names.
type faults struct {
	list  []Fault
	more  int
	files []string // in the order of their first fault
	// discreet is set for a file in which secrets stand.
	discreet bool
}

func (f *faults) add(fault Fault) {
	if len(f.list) >= maxFaults {
		f.more++
		return
	}
	if !slices.Contains(f.files, fault.File) {
		f.files = append(f.files, fault.File)
	}
	f.list = append(f.list, fault)
}

// merge takes over the faults of another file.
func (f *faults) merge(other *faults) {
	for _, fault := range other.list {
		f.add(fault)
	}
	f.more += other.more
}

// err is nil when nothing is wrong. It unwraps to an ErrInvalid about subject.
func (f *faults) err(subject string) error {
	if len(f.list) == 0 {
		return nil
	}
	f.sort()
	cause := &verification.Error{Kind: verification.ErrInvalid, Subject: subject, Message: "the file is not valid"}
	for _, one := range f.list {
		cause.Fields = append(cause.Fields, verification.FieldError{Name: one.Path, Message: one.Message})
	}
	return &Faults{List: f.list, More: f.more, cause: cause}
}

func (f *faults) sort() {
	slices.SortStableFunc(f.list, func(a, b Fault) int {
		return cmp.Or(
			cmp.Compare(slices.Index(f.files, a.File), slices.Index(f.files, b.File)),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
		)
	})
}

// Explain gives each fault of a *verification.Error its place in the file: that
// of the value its path names, or of the nearest one above it. The answer is a
// *Faults that unwraps to err. Any other error, and nil, comes back as it is.
func (d Document) Explain(err error) error {
	var invalid *verification.Error
	if !errors.As(err, &invalid) || d.root == nil {
		return err
	}
	fields := invalid.Fields
	if len(fields) == 0 {
		fields = []verification.FieldError{{Message: invalid.Error()}}
	}
	f := &faults{}
	for _, field := range fields {
		at := d.root.find(field.Name)
		name := field.Name
		if base := d.base.String(); base != "" {
			name = strings.TrimSuffix(base+"."+name, ".")
		}
		f.add(Fault{File: d.File, Line: at.line, Column: at.column, Path: name, Message: field.Message})
	}
	f.sort()
	return &Faults{List: f.list, More: f.more, cause: err}
}

// twice tells that a field was given before in its object.
func (f *faults) twice(file string, at place, p *path, name string) {
	f.add(Fault{File: file, Line: at.line, Column: at.column, Path: f.name(p, name).String(), Message: "the field is given twice"})
}

// name is the path to a field that has no business there. Where secrets stand,
// a slip of the pen can make one look like a name: there only names are said
// that are too short for a secret.
func (f *faults) name(p *path, name string) *path {
	plain := !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	if f.discreet && (!plain || len(name) >= verification.MinAPIKeyLength) {
		return p
	}
	return p.field(name)
}
