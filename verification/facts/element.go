// Elements: who the elements of nodes with for_each are.

package facts

import (
	"slices"
	"strconv"
	"strings"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Element is an element of a node with for_each whose `element` says who it is.
type Element struct {
	Node            verification.NodeID // such as owners[2]
	Label           string              // of the node
	Number, Of      int                 // its position, and the length of the list
	Name, BirthDate string              // an element without a name is left out
	Kind            workflow.FactKind

	shared bool // another element of the node has the name
}

// Who returns the name, with the number if another element of the node has the same name.
func (e Element) Who() string {
	if e.shared {
		return e.Name + " (" + strconv.Itoa(e.Number) + ")"
	}
	return e.Name
}

// Title returns the label of the element with its name. The number is in it if another element of the node has the same name.
func (e Element) Title() string {
	label := e.Label
	if e.shared {
		label = workflow.ElementLabel(e.Label, e.Number, e.Of)
	}
	return label + " · " + e.Name
}

// SearchWords returns the words by which a run is found for the element: the name and the birth date.
func (e Element) SearchWords() []SearchWord {
	words := e.searchWords()
	return words.words(maxElementWords)
}

func (e Element) searchWords() (all searchWords) {
	all.add([]searchValue{{value: e.Name}, {value: e.BirthDate, date: true}})
	return all
}

// Elements are the elements of a run that have names, in the order in which the run came to their nodes.
type Elements struct {
	All []Element

	earlier []verification.NodeID // steps of elements of earlier lists
}

// ElementsOf returns the elements of the last visits of a run. It never fails.
func ElementsOf(p workflow.Program, r rules.Run) (found Elements) {
	for _, g := range r.Groups {
		all := r.ElementValues(p, g)
		names := map[string]int{}
		for _, values := range all {
			names[textOf(values[0])]++
		}
		for i, values := range all {
			e := Element{
				Node: g.Node.Element(i + 1), Label: g.Label, Number: i + 1, Of: g.Elements, Name: textOf(values[0]),
				Kind: p.Version.Definition.Nodes[g.Node].Element.Kind,
			}
			if len(values) > 1 {
				e.BirthDate = textOf(values[1])
			}
			e.shared = names[e.Name] > 1
			if e.Name != "" {
				found.All = append(found.All, e)
			}
		}
	}
	for _, s := range r.Steps {
		if len(found.All) > 0 && r.OfEarlierList(s.Node) {
			found.earlier = append(found.earlier, s.Node)
		}
	}
	return found
}

// Of returns the element that a step is of; ok is false for any other step, and for one of an earlier list.
func (all Elements) Of(step verification.NodeID) (e Element, ok bool) {
	node, n, _ := step.Parts()
	i := slices.IndexFunc(all.All, func(e Element) bool { return e.Number == n && e.Node == node.Element(n) })
	if i < 0 || slices.Contains(all.earlier, step) {
		return e, false
	}
	return all.All[i], true
}

// Label returns the label of a step as people read it: with the name of its element.
func (all Elements) Label(step verification.NodeID, label string) string {
	if e, ok := all.Of(step); ok {
		if rest, is := strings.CutPrefix(label, workflow.ElementLabel(e.Label, e.Number, e.Of)); is {
			return e.Title() + rest
		}
	}
	return label
}

// Named returns a report with the labels as people read them. The labels of the API hold no data.
func (all Elements) Named(r rules.Report) rules.Report {
	if len(all.All) == 0 {
		return r
	}
	r.Cards, r.Groups, r.Flags, r.Unscreened = slices.Clone(r.Cards), slices.Clone(r.Groups), slices.Clone(r.Flags), slices.Clone(r.Unscreened)
	for i := range r.Cards {
		c := &r.Cards[i]
		c.Label = all.Label(c.NodeID, c.Label)
	}
	for i := range r.Groups {
		g := &r.Groups[i]
		g.Label, g.Members = all.Label(g.NodeID, g.Label), slices.Clone(g.Members)
		for k := range g.Members {
			m := &g.Members[k]
			m.Label = all.Label(m.NodeID, m.Label)
		}
	}
	for i := range r.Flags {
		f := &r.Flags[i]
		f.Label = all.Label(f.NodeID, f.Label)
	}
	for i := range r.Unscreened {
		u := &r.Unscreened[i]
		u.Label = all.Label(u.NodeID, u.Label)
	}
	r.Concerns = all.NamedConcerns(r.Concerns)
	return r
}

// NamedConcerns returns concerns with the labels as people read them.
func (all Elements) NamedConcerns(concerns []rules.Concern) []rules.Concern {
	concerns = slices.Clone(concerns)
	for i := range concerns {
		c := &concerns[i]
		c.Label = all.Label(c.NodeID, c.Label)
	}
	return concerns
}
