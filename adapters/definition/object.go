// An object of a file, read field by field.

package definition

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/verifyd/verifyd/verification"
)

// reader reads one file.
type reader struct {
	file   string
	faults *faults
}

func (r *reader) fault(at place, p *path, message string) {
	r.faults.add(Fault{File: r.file, Line: at.line, Column: at.column, Path: p.String(), Message: message})
}

// fields is an object while it is being read. Each method below asks for one
// field, and tells when it has the wrong type; a field that is not there is the
// zero value. close tells of the fields that nobody asked for.
type fields struct {
	*reader
	tree  *tree
	at    place
	path  *path
	asked []string
	void  bool // it is no object at all: nothing is missed in it
	// owner is what the object is, such as "a field of type date", and own
	// lists the fields that it may have. Both are empty when that does not
	// depend on a type.
	owner string
	own   []string
}

// object begins to read a value that must be an object; any other value is told
// and read as an empty one.
func (r *reader) object(t *tree, at place, p *path) *fields {
	if t.kind != kindObject {
		r.wrongType(t, at, p, kindObject)
		return &fields{reader: r, tree: &tree{kind: kindObject}, at: at, path: p, void: true}
	}
	return &fields{reader: r, tree: t, at: at, path: p}
}

func (r *reader) wrongType(t *tree, at place, p *path, want kind) {
	wanted := want.String()
	if want == kindNumber && p != nil && strings.HasSuffix(p.name, "_seconds") {
		wanted += " of seconds"
	}
	message := "must be " + wanted + ", not " + t.kind.String()
	switch {
	case t.kind == kindNull:
		message += ": leave it out instead"
	case want == kindText && (t.kind == kindNumber || t.kind == kindBoolean):
		message += ": put it in quotes"
	case t.kind == kindText && want != kindText:
		if bare, _, _ := resolve(t.word); bare == want {
			message += ": take off the quotes"
		}
	}
	r.fault(at, p, message)
}

func (f *fields) get(name string, want kind) (entry, bool) {
	f.asked = append(f.asked, name)
	e, ok := f.tree.entry(name)
	switch {
	case !ok || e.value.kind == want:
		return e, ok
	case f.own != nil && !slices.Contains(f.own, name):
		// Another type of value would be no better.
		f.fault(e.at, f.path.field(name), "does not belong to "+f.owner)
	default:
		f.wrongType(e.value, e.at, f.path.field(name), want)
	}
	return e, false
}

// typed says what type the object is of, for the messages about its fields.
func (f *fields) typed(owner string, own []string) {
	if own != nil {
		f.owner, f.own = owner, own
	}
}

// require tells when a field is not there whose zero value would pass for one.
func (f *fields) require(names ...string) {
	for _, name := range names {
		if _, ok := f.tree.entry(name); !ok && !f.void {
			f.fault(f.at, f.path.field(name), "is required")
		}
	}
}

func (f *fields) text(name string) string {
	e, ok := f.get(name, kindText)
	if !ok {
		return ""
	}
	return e.value.word
}

// boolean is nil when the field is not there.
func (f *fields) boolean(name string) *bool {
	e, ok := f.get(name, kindBoolean)
	if !ok {
		return nil
	}
	v := e.value.word == "true"
	return &v
}

func (f *fields) flag(name string) bool {
	v := f.boolean(name)
	return v != nil && *v
}

// float is nil when the field is not there.
func (f *fields) float(name string) *float64 {
	e, ok := f.get(name, kindNumber)
	if !ok {
		return nil
	}
	v, err := strconv.ParseFloat(e.value.word, 64)
	if err != nil {
		f.fault(e.at, f.path.field(name), "is not a number")
		return nil
	}
	return &v
}

func (f *fields) number(name string) float64 {
	v := f.float(name)
	if v == nil {
		return 0
	}
	return *v
}

// whole is a whole number that a JSON reader of any kind can hold.
func (f *fields) whole(name string) int64 {
	v := f.number(name)
	if v != math.Trunc(v) || math.Abs(v) > 1<<53 {
		e, _ := f.tree.entry(name)
		f.fault(e.at, f.path.field(name), "must be a whole number")
		return 0
	}
	return int64(v)
}

// data is an object kept as it is, its names in order.
func (f *fields) data(name string) verification.Data {
	e, ok := f.get(name, kindObject)
	if !ok {
		return nil
	}
	m, _ := e.value.data().(map[string]any)
	d, err := verification.NewData(m)
	if err != nil {
		f.fault(e.at, f.path.field(name), sentence(err))
	}
	return d
}

// child is an object inside this one; nil when the field is not there.
func (f *fields) child(name string) *fields {
	f.asked = append(f.asked, name)
	e, ok := f.tree.entry(name)
	if !ok {
		return nil
	}
	return f.object(e.value, e.at, f.path.field(name))
}

// children reads every entry of this object, whatever its name, as an object.
func (f *fields) children(each func(name string, child *fields)) {
	for _, e := range f.tree.entries {
		f.asked = append(f.asked, e.name)
		each(e.name, f.object(e.value, e.at, f.path.field(e.name)))
	}
}

// items calls each for every item of a list.
func (f *fields) items(name string, each func(item *tree, p *path)) {
	e, ok := f.get(name, kindList)
	if !ok {
		return
	}
	for i, item := range e.value.items {
		each(item, f.path.field(name).item(i))
	}
}

// objects reads a list of objects.
func (f *fields) objects(name string, each func(item *fields)) {
	f.items(name, func(item *tree, p *path) {
		each(f.object(item, item.at, p))
	})
}

// texts reads a list of strings.
func (f *fields) texts(name string) []string {
	var all []string
	f.items(name, func(item *tree, p *path) {
		if item.kind != kindText {
			f.wrongType(item, item.at, p, kindText)
			return
		}
		all = append(all, item.word)
	})
	return all
}

// place is where a field stands, or its object when it is not there.
func (f *fields) place(name string) place {
	if e, ok := f.tree.entry(name); ok {
		return e.at
	}
	return f.at
}

// maxListed is how many names a message lists at most.
const maxListed = 13

// close reports every unknown field, with the nearest name or all that would do.
func (f *fields) close() {
	names := f.asked
	if f.own != nil {
		names = f.own
	}
	known := make(map[string]bool, len(f.asked))
	for _, name := range f.asked {
		known[name] = true
	}
	for _, e := range f.tree.entries {
		if known[e.name] {
			continue
		}
		message := "unknown field"
		if near := verification.Nearest(e.name, names); near != "" {
			message += "; did you mean " + near + "?"
		} else if len(names) <= maxListed {
			message += " (supported: " + strings.Join(names, ", ") + ")"
		}
		f.fault(e.at, f.faults.name(f.path, e.name), message)
	}
}

// sentence is what a domain error says, without its subject.
func sentence(err error) string {
	var expected *verification.Error
	if !errors.As(err, &expected) {
		return err.Error()
	}
	messages := make([]string, 0, 1)
	for _, field := range expected.Fields {
		messages = append(messages, field.Message)
	}
	if len(messages) == 0 {
		messages = append(messages, expected.Message)
	}
	return strings.Join(messages, "; ")
}
