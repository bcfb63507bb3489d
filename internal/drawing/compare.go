// Comparison of two versions of a workflow.

package drawing

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Change says how a node or a field of one definition differs from another.
type Change string

// The changes.
const (
	ChangeNone    Change = ""
	ChangeAdded   Change = "added"
	ChangeRemoved Change = "removed"
	ChangeChanged Change = "changed"
)

// Comparison is what differs between two definitions.
type Comparison struct {
	// Fields are the fields of the workflow itself, in alphabetical order.
	Fields []FieldChange
	// Nodes are those that differ: the ones of the newer definition breadth first, then
	// the ones that were removed, by name.
	Nodes []NodeChange
}

// NodeChange is a node that differs.
type NodeChange struct {
	Node   verification.NodeID
	Change Change
	// Fields are what differs in a changed node, and all fields of an added or removed
	// one, in alphabetical order.
	Fields []FieldChange
}

// FieldChange is a field that differs.
type FieldChange struct {
	// Path leads to the field, such as retry.max_dispatches or rules[1].when. It is
	// "fields (order)" for the order of the fields of an input.
	Path string
	// Before and After are the values in JSON; empty if the field is not set.
	Before, After string
}

// Change returns what happened to the field.
func (f FieldChange) Change() Change {
	switch {
	case f.Before == "":
		return ChangeAdded
	case f.After == "":
		return ChangeRemoved
	}
	return ChangeChanged
}

// Of returns how a node differs.
func (c Comparison) Of(id verification.NodeID) Change {
	if i := slices.IndexFunc(c.Nodes, func(n NodeChange) bool { return n.Node == id }); i >= 0 {
		return c.Nodes[i].Change
	}
	return ChangeNone
}

// Compare returns the differences of after from before. It ignores what is not part of
// the content of a version, see Definition.VersionHash. The order of fields counts
// only in a customer input, and of members only in a group of checks.
func Compare(before, after workflow.Definition) Comparison {
	c := Comparison{Fields: compareFields(content(before), content(after))}
	ids := after.BreadthFirst()
	for _, id := range slices.Concat(slices.Sorted(maps.Keys(after.Nodes)), slices.Sorted(maps.Keys(before.Nodes))) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, id := range ids {
		old, was := before.Nodes[id]
		now, is := after.Nodes[id]
		n := NodeChange{Node: id, Change: ChangeChanged}
		switch {
		case !was:
			n.Change, n.Fields = ChangeAdded, compareFields(unset{}, now)
		case !is:
			n.Change, n.Fields = ChangeRemoved, compareFields(old, unset{})
		default:
			n.Fields = compareFields(old, now)
			n.order("fields (order)", names(old.Fields, fieldName), names(now.Fields, fieldName))
			n.order("members (order)", names(old.Members, memberName), names(now.Members, memberName))
		}
		if len(n.Fields) > 0 {
			c.Nodes = append(c.Nodes, n)
		}
	}
	return c
}

// content returns the fields of a definition that Compare compares on their own.
func content(d workflow.Definition) workflow.Definition {
	d.ID, d.Publish, d.Retired, d.Retention, d.LifecycleWebhookURL, d.Nodes = "", nil, false, verification.Retention{}, "", nil
	return d
}

// order adds a change of the order alone.
func (n *NodeChange) order(path string, before, after []string) {
	if !slices.Equal(before, after) && slices.Equal(slices.Sorted(slices.Values(before)), slices.Sorted(slices.Values(after))) {
		n.Fields = append(n.Fields, FieldChange{path, jsonText(before), jsonText(after)})
	}
}

func fieldName(f workflow.InputField) string { return f.Name }

func memberName(m workflow.Member) string { return m.Name }

func names[T any](all []T, name func(T) string) (names []string) {
	for _, one := range all {
		names = append(names, name(one))
	}
	return names
}

// unset is a value that is not set; nil is the null of JSON.
type unset struct{}

// compareFields returns the differences of two values that are objects in JSON; unset
// has no fields.
func compareFields(before, after any) []FieldChange {
	var changes []FieldChange
	compareObjects("", decoded(before), decoded(after), &changes)
	return changes
}

// decoded returns the fields of a value that is an object in JSON. Numbers keep their
// digits.
func decoded(v any) map[string]any {
	var fields map[string]any
	d := json.NewDecoder(strings.NewReader(jsonText(v)))
	d.UseNumber()
	if d.Decode(&fields) != nil {
		return nil // a definition is plain data: only a Data that is not JSON fails
	}
	return fields
}

func compareObjects(path string, before, after map[string]any, changes *[]FieldChange) {
	names := slices.Collect(maps.Keys(before))
	for name := range after {
		if _, both := before[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	value := func(fields map[string]any, name string) any {
		if v, ok := fields[name]; ok {
			return v
		}
		return unset{}
	}
	for _, name := range names {
		inside := name
		if path != "" {
			inside = path + "." + name
		}
		compareValues(inside, value(before, name), value(after, name), changes)
	}
}

// compareValues adds the differences of two decoded values. Items of lists are compared
// by their positions.
func compareValues(path string, before, after any, changes *[]FieldChange) {
	beforeFields, wasObject := before.(map[string]any)
	afterFields, isObject := after.(map[string]any)
	if wasObject && isObject {
		compareObjects(path, beforeFields, afterFields, changes)
		return
	}
	beforeList, wasList := before.([]any)
	afterList, isList := after.([]any)
	if wasList && isList {
		for i := range max(len(beforeList), len(afterList)) {
			compareValues(path+"["+strconv.Itoa(i)+"]", item(beforeList, i), item(afterList, i), changes)
		}
		return
	}
	if c := (FieldChange{Path: path, Before: jsonText(before), After: jsonText(after)}); c.Before != c.After {
		*changes = append(*changes, c)
	}
}

func item(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return unset{}
}

// jsonText returns a value as JSON; empty for unset.
func jsonText(v any) string {
	if v == any(unset{}) {
		return ""
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // decoded JSON can be encoded
	return strings.TrimSuffix(b.String(), "\n")
}
