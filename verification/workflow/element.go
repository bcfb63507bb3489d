// Elements: who the elements of a node with for_each are.

package workflow

import (
	"context"

	"github.com/verifyd/verifyd/verification"
)

// ElementFields say who, or what, the elements of a node with for_each are, for people. Name and BirthDate are expressions, such as
// item.name. The labels of elements do not depend on them.
type ElementFields struct {
	Name      string   `json:"name,omitempty"`
	BirthDate string   `json:"birth_date,omitempty"`
	Kind      FactKind `json:"kind,omitempty"` // FactPerson or FactCompany; empty means that the workflow does not say
}

// texts returns the expressions of `element` and their paths, the name first.
func (e *ElementFields) texts(at string) (texts, paths []string) {
	if e == nil {
		return nil, nil
	}
	texts, paths = []string{e.Name}, []string{at + ".element.name"}
	if e.BirthDate != "" {
		texts, paths = append(texts, e.BirthDate), append(paths, at+".element.birth_date")
	}
	return texts, paths
}

// element checks the form of `element`.
func (v *validator) element(at string, n Node) {
	if n.Element == nil || !v.check(at+".element", n.repeats(), "is for a node with for_each: write for_each beside it, or leave it out") {
		return
	}
	v.length(at+".element.name", n.Element.Name, 1, maxText)
	v.length(at+".element.birth_date", n.Element.BirthDate, 0, maxText)
	oneOf(v, at+".element.kind", n.Element.Kind, FactPerson, FactCompany)
}

// elementValues compiles the expressions of `element`.
func (v *validator) elementValues(ctx context.Context, id verification.NodeID, n Node, l ExpressionCompiler, p *Program) {
	if texts, paths := n.Element.texts(nodePath(id)); n.repeats() && n.Element != nil && n.Element.Name != "" {
		p.elements[id] = v.values(ctx, l, texts, paths, v.declarations(id))
	}
}

// ElementValues returns the expressions of `element` of a node with for_each: the name and, unless it is empty, the birth date; nil
// without `element`.
func (p *Program) ElementValues(node verification.NodeID) Values { return p.elements[node] }
