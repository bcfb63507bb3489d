// What an expression reads of one run, decoded when it is first asked for.

package expression

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"cel.dev/cel-go/cel"

	"github.com/verifyd/verifyd/verification"
)

// reading is the view of a scope that one evaluation, or one rendering, works
// on. It belongs to one goroutine.
type reading struct {
	scope *verification.Scope
	input map[string]any
	steps []stepReading
	cost  uint64 // of the expressions that were evaluated
}

// The other views of a reading: what `run` and `steps` stand for.
type (
	runReading   reading
	stepsReading reading
)

type stepReading struct {
	step *verification.Step
	data map[string]any
}

func newReading(s *verification.Scope) *reading {
	r := &reading{scope: s, steps: make([]stepReading, len(s.Steps))}
	for i := range s.Steps {
		r.steps[i].step = &s.Steps[i]
	}
	return r
}

// ResolveName finds what one of the names of an expression stands for.
func (r *reading) ResolveName(name string) (any, bool) {
	switch name {
	case nameInput:
		if r.input == nil {
			r.input = r.scope.Input.Map()
		}
		return r.input, true
	case nameRun:
		return (*runReading)(r), true
	case nameSteps:
		return (*stepsReading)(r), true
	}
	return nil, false
}

// member reads a field of whatever has fields.
func member(of any, name string) (any, bool) {
	switch of := of.(type) {
	case map[string]any:
		v, ok := of[name]
		return v, ok
	case *stepsReading:
		for i := range of.steps {
			if string(of.steps[i].step.Node) == name {
				return &of.steps[i], true
			}
		}
	case *stepReading:
		return of.field(name)
	case *runReading:
		return of.field(name)
	}
	return nil, false
}

func (r *runReading) field(name string) (any, bool) {
	switch name {
	case "id":
		return string(r.scope.RunID), true
	case "reference_id":
		return r.scope.ReferenceID, true
	case "started_at":
		return r.scope.StartedAt, true
	}
	return nil, false
}

func (r *runReading) fields() map[string]any {
	return map[string]any{
		"id": string(r.scope.RunID), "reference_id": r.scope.ReferenceID,
		"started_at": r.scope.StartedAt.UTC().Format(time.RFC3339Nano),
	}
}

func (s *stepReading) field(name string) (any, bool) {
	switch name {
	case "data":
		if len(s.step.Data) == 0 {
			return nil, false
		}
		if s.data == nil {
			s.data = s.step.Data.Map()
		}
		return s.data, true
	case "status":
		return string(s.step.Status), true
	case "passed":
		return s.step.Status == verification.CheckPassed, true
	case "dispatches":
		return int64(s.step.Dispatches), true
	}
	return nil, false
}

func (s *stepReading) fields() map[string]any {
	m := map[string]any{
		"status": string(s.step.Status), "passed": s.step.Status == verification.CheckPassed,
		"dispatches": float64(s.step.Dispatches),
	}
	if data, ok := s.field("data"); ok {
		m["data"] = data
	}
	return m
}

// absentError says that a value is not there.
type absentError struct{ message string }

func (e *absentError) Error() string { return e.message }

// missing says why a field was not there.
func missing(of any, path, name string) error {
	if _, ok := of.(*stepsReading); ok {
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

// String writes the path as an expression would.
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

// pathTo writes the path to a field of what is at path.
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

// find reads what is at a path. When it is not there, it says why.
func (r *reading) find(p path) (any, error) {
	v, _ := r.ResolveName(p.root)
	for i, k := range p.keys {
		var ok bool
		of := v
		if list, isList := of.([]any); k.list && isList {
			if ok = k.index >= 0 && k.index < int64(len(list)); ok {
				v = list[k.index]
			}
		} else if !k.list {
			v, ok = member(of, k.name)
		}
		if !ok {
			return nil, missing(of, path{p.root, p.keys[:i+1]}.String(), k.name)
		}
	}
	return v, nil
}

// Parent says that there are no other names.
func (r *reading) Parent() cel.Activation { return nil }
