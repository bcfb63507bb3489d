// The values of one run that expressions read.

package expression

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"

	"github.com/verifyd/verifyd/verification/workflow"
)

// reading holds the values of a scope that one evaluation, or one rendering, reads.
// It belongs to one goroutine.
type reading struct {
	vars  map[string]any // of an expression over named variables; nil for a scope
	scope *workflow.Scope
	input map[string]any
	run   map[string]any
	// clears says that the expression that is evaluated reads `clear` of a step. For any other one a step has no such field: what it
	// reads of a step as a whole is recorded, or sent. steps are the steps without it and with it.
	clears bool
	steps  map[bool]map[string]any
	cost   uint64 // of the expressions evaluated so far
}

func newReading(s *workflow.Scope) *reading {
	return &reading{scope: s, steps: map[bool]map[string]any{}}
}

// ResolveName returns the value of one of the global names.
func (r *reading) ResolveName(name string) (any, bool) {
	if r.vars != nil {
		v, ok := r.vars[name]
		return v, ok
	}
	switch name {
	case nameInput:
		if r.input == nil {
			r.input = r.scope.Input.Map()
		}
		return r.input, true
	case nameRun:
		if r.run == nil {
			r.run = map[string]any{
				"id": string(r.scope.RunID), "reference_id": r.scope.ReferenceID, "started_at": r.scope.StartedAt,
			}
		}
		return r.run, true
	case nameSteps:
		return r.steps[r.clears], true
	case nameItem:
		return r.scope.Item, r.scope.Position > 0
	case namePosition:
		return int64(r.scope.Position), r.scope.Position > 0
	case nameMember:
		if r.scope.Member == nil {
			return nil, false
		}
		return r.stepObject(r.scope.Member), true
	}
	return nil, false
}

// Parent says that there are no other names.
func (r *reading) Parent() cel.Activation { return nil }

// load decodes the steps that an expression reads. It decodes the data of a step
// only if a path leads there.
func (r *reading) load(reads []read) {
	steps := r.steps[r.clears]
	if steps == nil {
		steps = map[string]any{}
		if r.vars == nil {
			r.steps[r.clears] = steps
		}
	}
	for _, read := range reads {
		if r.vars != nil || read.path.root != nameSteps {
			continue
		}
		node := read.path.keys[0].name
		i := slices.IndexFunc(r.scope.Steps, func(s workflow.StepValues) bool { return string(s.Node) == node })
		if i < 0 {
			continue
		}
		s := &r.scope.Steps[i]
		step, ok := steps[node].(map[string]any)
		switch {
		case ok:
		case s.Group || s.Each:
			steps[node] = r.stepObject(s)
			continue
		default:
			step = r.stepFields(s)
			steps[node] = step
		}
		if len(s.Data) > 0 && step["data"] == nil && (len(read.path.keys) == 1 || read.path.keys[1].name == "data") {
			step["data"] = s.Data.Map()
		}
	}
}

// stepFields returns what expressions read of a step, without its data.
func (r *reading) stepFields(s *workflow.StepValues) map[string]any {
	step := map[string]any{"status": s.Status, "passed": s.Passed, "dispatches": int64(s.Dispatches)}
	if r.clears {
		step[fieldClear] = s.Clear
	}
	return step
}

// stepObject returns all that expressions read of a step.
func (r *reading) stepObject(s *workflow.StepValues) map[string]any {
	step := r.stepFields(s)
	if len(s.Data) > 0 {
		step["data"] = s.Data.Map()
	}
	switch {
	case s.Each:
		items := make([]any, len(s.Items))
		for i := range s.Items {
			items[i] = r.stepObject(&s.Items[i])
		}
		step[fieldItems] = items
	case s.Group:
		members := make(map[string]any, len(s.Members))
		for i := range s.Members {
			members[string(s.Members[i].Node)] = r.stepObject(&s.Members[i])
		}
		step[fieldMembers] = members
	}
	return step
}

// absentError says that a value is missing.
type absentError struct{ message string }

func (e *absentError) Error() string { return e.message }

// Absent tells a missing value from any other reason for an error.
func (*absentError) Absent() bool { return true }

// missing returns the error for a path, given the error for the object it goes through.
func missing(object, path, name string) error {
	if object == nameSteps {
		return &absentError{fmt.Sprintf("the step %s has not run", name)}
	}
	return &absentError{path + " has no value"}
}

// key is one part of a path: the name of a field, or an index.
type key struct {
	name  string
	index int64
	list  bool
}

// path is a chain of selections from one of the names, such as
// steps.pan.data.name_match.
type path struct {
	root string
	keys []key
}

// String returns the path as an expression writes it.
func (p path) String() string {
	s := p.root
	for _, k := range p.keys {
		if k.list {
			s += "[" + strconv.FormatInt(k.index, 10) + "]"
		} else {
			s = pathTo(s, k.name)
		}
	}
	return s
}

// pathTo returns the path to a field of the object at path.
func pathTo(path, name string) string {
	plain := name != "" && strings.IndexFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) < 0
	switch {
	case !plain:
		return path + "[" + strconv.Quote(name) + "]"
	case path == "":
		return name
	}
	return path + "." + name
}

func (r *reading) find(p path) (any, error) {
	v, _ := r.ResolveName(p.root)
	for i, k := range p.keys {
		ok := false
		switch of := v.(type) {
		case map[string]any:
			if !k.list {
				v, ok = of[k.name]
			}
		case []any:
			if ok = k.list && k.index >= 0 && k.index < int64(len(of)); ok {
				v = of[k.index]
			}
		}
		if !ok {
			return nil, missing(path{p.root, p.keys[:i]}.String(), path{p.root, p.keys[:i+1]}.String(), k.name)
		}
	}
	return v, nil
}
