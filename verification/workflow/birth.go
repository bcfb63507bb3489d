// Birth dates: which date fields of a form ask for one.

package workflow

import (
	"maps"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/verification"
)

// The messages about a date that cannot be the birth date of a person, or the day on which a company was founded.
const (
	BirthProblem   = "must be a date on which a person can have been born"
	FoundedProblem = "must be a date on which a company can have been founded"
)

// withBirthDates returns the definition with InputField.BirthOf of its fields: those that `subject.birth_date` or the birth_date of a check
// reads, and those that are named or labelled so.
func (d Definition) withBirthDates() Definition {
	of := map[verification.NodeID]map[string]FactKind{} // by node and field; fields of rows are GROUP.FIELD
	mark := func(node verification.NodeID, field string, kind FactKind) {
		if of[node] == nil {
			of[node] = map[string]FactKind{}
		}
		if of[node][field] != FactCompany { // what is compared for both may be any date of the past
			of[node][field] = kind
		}
	}
	company := d.Subject != nil && d.Subject.Kind == FactCompany
	if d.Subject != nil {
		for _, r := range fieldsRead(d.Subject.BirthDate, "") {
			mark(r.node, r.field, kindIf(company))
		}
	}
	for _, n := range d.Nodes {
		if n.Element == nil {
			continue
		}
		for _, r := range fieldsRead(n.Element.BirthDate, n.ForEach) {
			mark(r.node, r.field, kindIf(n.Element.Kind == FactCompany))
		}
	}
	d.EachCheck(func(id verification.NodeID, n Node) {
		node, _, _ := id.Parts()
		with := n.With.Map()
		text, _ := with["birth_date"].(string)
		kind, _ := with["kind"].(string)
		for _, r := range fieldsRead(text, d.Nodes[node].ForEach) {
			mark(r.node, r.field, kindIf(kind == string(FactCompany) || strings.Contains(kind, "${")))
		}
	})
	d.Nodes = maps.Clone(d.Nodes)
	for id, n := range d.Nodes {
		if n.Type == NodeCustomerInput {
			n.Fields = n.Fields.withBirthDates("", of[id], company)
			d.Nodes[id] = n
		}
	}
	return d
}

func kindIf(company bool) FactKind {
	if company {
		return FactCompany
	}
	return FactPerson
}

func (fs InputFields) withBirthDates(group string, read map[string]FactKind, company bool) InputFields {
	fs = slices.Clone(fs)
	for i, f := range fs {
		switch kind := read[group+f.Name]; {
		case f.Type == FieldGroup:
			fs[i].Fields = f.Fields.withBirthDates(f.Name+".", read, false)
		case f.Type == FieldDate && kind != "":
			fs[i].BirthOf = kind
		case f.Type == FieldDate && !company && f.saysBirth():
			fs[i].BirthOf = FactPerson
		}
	}
	return fs
}

// saysBirth reports whether the name, the label or the autofill token of a date field says that it is a birth date.
func (f InputField) saysBirth() bool {
	switch f.Name {
	case "dob", "birth_date", "birthdate", "birthday", "date_of_birth", "bday":
		return f.AutoComplete == "" || f.AutoComplete == "bday"
	}
	labels := strings.ToLower(f.Label + "\n" + f.LabelIn["en"] + "\n" + f.LabelIn["hi"])
	words := []string{"date of birth", "birth date", "birthdate", "birthday", "जन्म तिथि", "जन्मतिथि", "जन्म की तारीख"}
	return f.AutoComplete == "bday" || slices.ContainsFunc(words, func(w string) bool { return strings.Contains(labels, w) })
}

// fieldRead is a field of a form that an expression reads; GROUP.FIELD is one of rows.
type fieldRead struct {
	node  verification.NodeID
	field string
}

// fieldsRead returns what a text with expressions reads of forms: steps.NODE.data.FIELD, also of an element, and what it reads of item, an
// element of the list.
func fieldsRead(text, list string) (all []fieldRead) {
	for _, rest := range after(text, "steps.") {
		node, rest := leadingName(rest)
		data, rest := leadingName(rest)
		if data == "items" {
			_, rest, _ = strings.Cut(rest, "]")
			data, rest = leadingName(rest)
		}
		field, rest := leadingName(rest)
		if data != "data" || field == "" {
			continue
		}
		if strings.HasPrefix(rest, "[") { // of a row
			_, rest, _ = strings.Cut(rest, "]")
			inRow, _ := leadingName(rest)
			field += "." + inRow
		}
		all = append(all, fieldRead{verification.NodeID(node), field})
	}
	if list == "" {
		return all
	}
	for _, rest := range after(list, "steps.") {
		node, rest := leadingName(rest)
		if items, _ := leadingName(rest); items != "items" {
			continue
		}
		for _, rest := range after(text, "item.") {
			data, rest := leadingName(rest)
			if field, _ := leadingName(rest); data == "data" {
				all = append(all, fieldRead{verification.NodeID(node), field})
			}
		}
	}
	if groups := fieldsRead(list, ""); len(groups) == 1 {
		for _, rest := range after(text, "item.") {
			field, _ := leadingName(rest)
			all = append(all, fieldRead{groups[0].node, groups[0].field + "." + field})
		}
	}
	return all
}

// after returns the texts behind each occurrence of a word that begins a path.
func after(text, word string) (all []string) {
	for at := 0; ; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return all
		}
		at += i + len(word)
		if before := at - len(word) - 1; before < 0 || !isNameByte(text[before]) && text[before] != '.' {
			all = append(all, text[at:])
		}
	}
}

// leadingName returns the name at the beginning of the rest of a path, and what is behind it. A value that may be missing has ? before it.
func leadingName(path string) (name, rest string) {
	path = strings.TrimPrefix(strings.TrimPrefix(path, "."), "?")
	n := 0
	for n < len(path) && isNameByte(path[n]) {
		n++
	}
	return path[:n], path[n:]
}

func isNameByte(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}
