// A definition becomes a program, or a list of all its faults.

package verification

import "fmt"

// Compile validates a version of a workflow and compiles what is written
// inside it. providers names the providers that checks may use; nil allows any,
// and an empty list none. When anything is wrong, the error is an ErrInvalid whose Fields name
// every fault by its place, such as "nodes.pan.on_failed", in the order of the
// places.
func Compile(id WorkflowID, version Version, l ExpressionCompiler, providers []string) (Program, error) {
	v := &validator{def: version.Definition}
	if v.fields(providers); !v.lost {
		v.graph()
	}
	if version.Definition.expressions() > maxExpressions {
		return Program{}, v.err()
	}
	return v.compile(id, version, l)
}

// Restore makes the program of a version that was validated when it was saved.
// It does not validate again: rules that came later must not break runs that
// began before.
func Restore(id WorkflowID, version Version, l ExpressionCompiler) (Program, error) {
	v := &validator{def: version.Definition}
	return v.compile(id, version, l)
}

func (v *validator) compile(id WorkflowID, version Version, l ExpressionCompiler) (Program, error) {
	p := Program{
		Workflow: id, Version: version,
		conditions: map[NodeID][]Condition{},
		templates:  map[NodeID]Template{},
		patterns:   map[NodeID]map[string]Pattern{},
	}
	v.texts(l, &p)
	if len(v.faults) > 0 {
		return Program{}, v.err()
	}
	return p, nil
}

// err returns every problem that was found.
func (v *validator) err() error {
	return &Error{Kind: ErrInvalid, Subject: "workflow", Message: "the definition is not valid", Fields: v.sorted()}
}

// texts compiles every expression, pattern and schema.
func (v *validator) texts(l ExpressionCompiler, p *Program) {
	if v.def.InputSchema != nil {
		schema, err := l.Schema(v.def.InputSchema)
		if err != nil {
			v.fault("input_schema", "%v", err)
		}
		p.input = schema
	}
	for _, id := range v.names() {
		n := v.def.Nodes[id]
		switch n.Type {
		case NodeBranch:
			d := v.declarations(id)
			p.conditions[id] = make([]Condition, len(n.Rules))
			for i, r := range n.Rules {
				if r.When == "" {
					continue // already told
				}
				c, err := l.Condition(r.When, d)
				if err != nil {
					v.fault(fmt.Sprintf("%s.rules[%d].when", nodePath(id), i), "%v", err)
					continue
				}
				p.conditions[id][i] = c
			}
		case NodeCheck:
			if n.With == nil {
				continue
			}
			t, err := l.Template(n.With, v.declarations(id))
			if err != nil {
				v.fault(nodePath(id)+".with", "%v", err)
			}
			p.templates[id] = t
		case NodeCustomerInput:
			p.patterns[id] = v.patterns(nodePath(id), n.Fields, l)
		case NodeConsent, NodeReview, NodeEnd:
		}
	}
}

func (v *validator) patterns(at string, fields InputFields, l ExpressionCompiler) map[string]Pattern {
	patterns := map[string]Pattern{}
	for _, f := range fields {
		if f.Pattern == "" {
			continue
		}
		p, err := l.Pattern(f.Pattern)
		if err != nil {
			v.fault(at+".fields."+f.Name+".pattern", "%v", err)
			continue
		}
		patterns[f.Name] = p
	}
	return patterns
}
