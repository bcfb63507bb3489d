// Groups of checks: several sources for one question.

package workflow

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/internal/jsontext"
)

// The bounds of groups and of for_each.
const (
	MaxMembers       = 16  // of a group
	MaxElements      = 64  // of a list of for_each
	MaxElementChecks = 256 // members times elements
)

// Order says when the members of a group are called.
type Order string

// The orders.
const (
	OrderTogether Order = "together"   // all at once
	OrderOneByOne Order = "one_by_one" // the next one only while the group is not decided
)

// Finish says when a group whose members are called together is over.
type Finish string

// The values of Finish.
const (
	FinishDecided Finish = "decided" // as soon as it is decided; the other members are cancelled
	FinishAll     Finish = "all"     // when every member has its answer
)

// Need is how many members of a group must confirm: 1 to MaxMembers, or NeedAll. In JSON it is a number, all
// or any.
type Need int

// NeedAll asks for every member whose condition holds, and at least one.
const NeedAll Need = 0

// MarshalJSON encodes the number.
func (n Need) MarshalJSON() ([]byte, error) {
	if n == NeedAll {
		return []byte(`"all"`), nil
	}
	return json.Marshal(int(n))
}

// UnmarshalJSON decodes a number, all or any.
func (n *Need) UnmarshalJSON(raw []byte) error {
	switch string(raw) {
	case `"all"`:
		*n = NeedAll
		return nil
	case `"any"`:
		*n = 1
		return nil
	}
	var count int
	if err := json.Unmarshal(raw, &count); err != nil || count < 1 {
		return errors.New("need must be all, any, or a number of at least 1")
	}
	*n = Need(count)
	return nil
}

// Member is a member of a group of checks. Its fields are those of a check in Node.
type Member struct {
	Name           string            `json:"-"`
	Label          string            `json:"-"`
	LabelIn        Translations      `json:"-"`
	When           string            `json:"when,omitempty"`
	Key            string            `json:"key,omitempty"` // empty means the names of the group and the member with a dot between them
	Provider       string            `json:"provider,omitempty"`
	With           verification.Data `json:"with,omitempty"`
	TimeoutSeconds float64           `json:"timeout_seconds,omitempty"`
	Retry          *Retry            `json:"retry,omitempty"`
	Poll           *Poll             `json:"poll,omitempty"`
	Fallback       string            `json:"fallback,omitempty"`
	Rescreen       *Rescreen         `json:"rescreen,omitempty"`
}

// Check returns the member as a check, which has no routes.
func (m Member) Check() Node {
	return Node{
		Type: NodeCheck, Label: cmp.Or(m.Label, m.Name), LabelIn: m.LabelIn, When: m.When, Key: m.Key, Provider: m.Provider, With: m.With,
		TimeoutSeconds: m.TimeoutSeconds, Retry: m.Retry, Poll: m.Poll, Fallback: m.Fallback, Rescreen: m.Rescreen,
	}
}

// memberJSON is a Member in JSON.
type memberJSON struct {
	plainMember
	Label text `json:"label,omitzero"`
}

type plainMember Member

// MarshalJSON encodes the member without its name.
func (m Member) MarshalJSON() ([]byte, error) {
	return jsontext.Encode(memberJSON{plainMember(m), text{m.Label, m.LabelIn}})
}

// UnmarshalJSON decodes the member without its name.
func (m *Member) UnmarshalJSON(raw []byte) error {
	var j memberJSON
	if err := json.Unmarshal(raw, &j); err != nil {
		return err
	}
	*m = Member(j.plainMember)
	m.Label, m.LabelIn = j.Label.plain, j.Label.translations
	return nil
}

// Members are the members of a group, in the order of the file. In JSON they are an object by name.
type Members []Member

// MarshalJSON encodes the members as an object, in order.
func (ms Members) MarshalJSON() ([]byte, error) {
	return encodeOrdered(ms, func(m Member) string { return m.Name }, jsontext.Encode)
}

// UnmarshalJSON decodes an object and keeps its order.
func (ms *Members) UnmarshalJSON(raw []byte) (err error) {
	*ms, err = decodeOrdered[Member](raw, func(m *Member, name string) { m.Name = name })
	return err
}

// MaxElements returns how many elements the list of for_each may have.
func (n Node) MaxElements() int { return min(MaxElements, MaxElementChecks/max(1, len(n.Members))) }

// Spares reports whether the conditions of a group may leave out all its members, so that a run passes it by.
func (n Node) Spares() bool {
	return n.Type == NodeChecks && !slices.ContainsFunc(n.Members, func(m Member) bool { return m.When == "" })
}

// Called returns when the members of a group are called; OrderTogether by default.
func (n Node) Called() Order { return cmp.Or(n.Order, OrderTogether) }

// Node returns a node of the definition, or the check that a member of a group is: see
// verification.NodeID.Parts.
func (d Definition) Node(id verification.NodeID) (Node, bool) {
	if n, ok := d.Nodes[id]; ok {
		return n, true
	}
	node, _, member := id.Parts()
	n, ok := d.Nodes[node]
	if !ok || member == "" {
		return n, ok && node != id
	}
	for _, m := range n.Members {
		if m.Name == member {
			return m.Check(), true
		}
	}
	return Node{}, false
}

// EachCheck calls f with each check of the definition, breadth first from the start: a node, or a member of a group with the id
// that Node takes.
func (d Definition) EachCheck(f func(id verification.NodeID, check Node)) {
	for _, id := range d.BreadthFirst() {
		for _, s := range d.checksAt(id) {
			f(s.id, s.check)
		}
	}
}

// Label returns the label of a node, or of a member with that of its group before it.
func (d *Definition) Label(id verification.NodeID) string {
	node, _, member := id.Parts()
	label := d.Nodes[node].Title(node)
	if member == "" {
		return label
	}
	m, _ := d.Node(id)
	return label + ": " + m.Title(id)
}

// ElementLabel returns the label of an element: that of the node, its number and how many there are. Labels hold no data.
func ElementLabel(label string, n, of int) string { return fmt.Sprintf("%s %d of %d", label, n, of) }

// step is a check of a definition: a node, or a member of a group, whose label begins with the label of the group.
type step struct {
	id    verification.NodeID
	check Node
	label string
}

// checksAt returns the checks of a node: itself, or the members of a group.
func (d Definition) checksAt(id verification.NodeID) []step {
	n := d.Nodes[id]
	if n.Type == NodeCheck {
		return []step{{id, n, n.Title(id)}}
	}
	if n.Type != NodeChecks {
		return nil
	}
	steps := make([]step, len(n.Members))
	for i, m := range n.Members {
		check := m.Check()
		steps[i] = step{id.Member(m.Name), check, n.Title(id) + ": " + check.Label}
	}
	return steps
}
