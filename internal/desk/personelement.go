// The file of a person who is an element of a run, such as an owner: without what is about others.

package desk

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/rules"
)

// personElement is the element whom a file is about.
type personElement struct {
	facts.Element

	steps   []verification.NodeID                         // the elements of the last visits that are the person
	history []rules.Event                                 // what is about the person
	items   []any                                         // the person in the lists
	reads   map[verification.NodeID][]verification.NodeID // what nodes read to make their lists
}

// elementOf returns the element of a run at a place such as owners[2].
func elementOf(h engine.History, at verification.NodeID) (*personElement, error) {
	found := facts.ElementsOf(h.Program, h.Run)
	i := slices.IndexFunc(found.All, func(e facts.Element) bool { return e.Node == at })
	if i < 0 {
		return nil, verification.Invalid("element", "the run has no element "+string(at)+" with a name")
	}
	p := &personElement{Element: found.All[i], reads: map[verification.NodeID][]verification.NodeID{}}
	p.steps = p.same(found)
	then, here := elementsThen(h), []verification.NodeID(nil)
	var documents []string                           // in which items and answers name theirs
	elsewhere := map[rules.Event]verification.Data{} // corrections of values of other steps, with the data of the step
	for k, e := range h.Events {
		node := nodeOf(e.Fact)
		switch f := e.Fact.(type) { //nolint:gochecksumtype // the other facts are about the person if their step is
		case rules.Started:
			e.Fact = rules.Started{Workflow: f.Workflow, WorkflowName: f.WorkflowName, Version: f.Version, VersionHash: f.VersionHash}
		case rules.GroupBegan:
			all, named := then[k]
			if named {
				here = p.same(all)
			}
			if !f.Each && p.is(here, node) {
				break
			}
			list, _ := f.Items.Map()["list"].([]any)
			before := len(p.items)
			for n, item := range list {
				if slices.Contains(here, f.Node.Element(n+1)) {
					p.items = append(p.items, item)
				}
			}
			if len(p.items) == before {
				continue
			}
			f.Items = verification.DataOf(map[string]any{"list": p.items[before:]})
			documents, e.Fact = append(documents, string(f.Items)), f
			p.reads[f.Node] = h.Program.Reads(f.Node)
		case rules.CustomerSubmitted:
			if !p.is(here, node) {
				continue
			}
			documents = append(documents, string(f.Data))
		case rules.Corrected:
			if of, known := rules.Fold(h.Run.ID, h.Events[:k]).Step(node); !known {
				elsewhere[e] = h.Run.Started.Input
			} else if !p.is(here, node) {
				elsewhere[e] = of.Data
			}
		case rules.DocumentUploaded, rules.Redacted, rules.Restricted, rules.RestrictionLifted:
		default:
			if !p.is(here, node) {
				continue
			}
		}
		p.history = append(p.history, e)
	}
	p.history = slices.DeleteFunc(p.history, func(e rules.Event) bool {
		switch f := e.Fact.(type) { //nolint:gochecksumtype // the others are there because they are about the person
		case rules.DocumentUploaded:
			return !slices.ContainsFunc(documents, func(text string) bool { return f.Document != "" && strings.Contains(text, f.Document) })
		case rules.Corrected:
			data, other := elsewhere[e]
			return other && !p.has(data.Map(), "", f.Field)
		}
		return false
	})
	return p, nil
}

// has reports whether the path of a field leads from a value at a path into an item of a list that is the person.
func (p *personElement) has(v any, at, field string) bool {
	inner := map[string]any{}
	list, isList := v.([]any)
	for i, item := range list {
		inner[fmt.Sprintf("%s[%d]", at, i)] = item
	}
	fields, _ := v.(map[string]any)
	for name, value := range fields {
		inner[strings.TrimPrefix(at+"."+name, ".")] = value
	}
	for path, value := range inner {
		is := isList && slices.ContainsFunc(p.items, func(item any) bool { return reflect.DeepEqual(item, value) })
		if rest, leads := strings.CutPrefix(field, path); leads && (rest == "" || strings.ContainsRune(".[", rune(rest[0]))) && (is || p.has(value, path, field)) {
			return true
		}
	}
	return false
}

// same returns the elements with the name and the birth date of the person.
func (p *personElement) same(all facts.Elements) (same []verification.NodeID) {
	for _, e := range all.All {
		if e.Name == p.Name && e.BirthDate == p.BirthDate {
			same = append(same, e.Node)
		}
	}
	return same
}

// is reports whether a step is of one of the elements.
func (*personElement) is(elements []verification.NodeID, step verification.NodeID) bool {
	node, n, _ := step.Parts()
	return n > 0 && slices.Contains(elements, node.Element(n))
}

// narrow takes out of a run what is not about the person.
func (p *personElement) narrow(r *personRun) {
	r.element, r.history = p, p.history
	r.documents = slices.DeleteFunc(r.documents, func(d verification.Document) bool {
		return !slices.ContainsFunc(p.history, func(e rules.Event) bool {
			f, upload := e.Fact.(rules.DocumentUploaded)
			return upload && f.Document == d.ID
		})
	})
}

// report takes out of a report what is not about the person.
func (p *personElement) report(all rules.Report) rules.Report {
	r := rules.Report{Run: all.Run, Workflow: all.Workflow, Digest: all.Digest}
	r.Run.ReferenceID, r.Run.Outcome, r.Run.Data = "", "", nil
	for _, c := range all.Cards {
		if p.is(p.steps, c.NodeID) && !c.Gone {
			c.Visits, c.VisitsOmitted = nil, 0
			r.Cards = append(r.Cards, c)
		}
	}
	return r
}

// nodeOf returns the step that a fact is about; empty for none.
func nodeOf(f rules.Fact) verification.NodeID {
	if field := reflect.ValueOf(f).FieldByName("Node"); field.IsValid() {
		node, _ := field.Interface().(verification.NodeID)
		return node
	}
	return ""
}
