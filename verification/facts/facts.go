// Facts: what the sources of a run say about its subject, side by side.

package facts

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/verifyd/verifyd/internal/fold"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Facts are the facts of a run by source: a table whose rows are facts and whose columns
// are sources.
type Facts struct {
	Sources []Source
	Rows    []Row
}

// Source is where values come from.
type Source struct {
	Kind FactSourceKind
	Node verification.NodeID // of a customer's answer, a check or a document
	// Label is the label of the step; empty for the input and for the run itself.
	Label string
	// Documents are the ids of the documents that a check of a document was asked about.
	Documents []string
}

// FactSourceKind is the kind of a source. The kinds are in the order of the columns.
type FactSourceKind string

// The kinds of sources.
const (
	// SourceCustomer is what the customer answered. Answers of all forms are one source,
	// unless a fact compares two of them.
	SourceCustomer FactSourceKind = "customer"
	SourceElement  FactSourceKind = "element"  // what the customer answered about one element of a list
	SourceInput    FactSourceKind = "input"    // the input of the start
	SourceRun      FactSourceKind = "run"      // neither: a constant, or the reference
	SourceCheck    FactSourceKind = "check"    // the data of a check, of a member of a group, or of a whole group
	SourceDocument FactSourceKind = "document" // the data of a check that was asked about a document
)

func sourceKinds() []FactSourceKind {
	return []FactSourceKind{SourceCustomer, SourceElement, SourceInput, SourceRun, SourceCheck, SourceDocument}
}

// Row is one fact.
type Row struct {
	Fact    string // such as Name
	Differs bool   // some cell differs
	// Cells are the values. The first one that is given is what the others are compared with.
	Cells []Cell
}

// Cell returns the cell of a source in the row, and whether there is one.
func (r Row) Cell(source int) (Cell, bool) {
	i := slices.IndexFunc(r.Cells, func(c Cell) bool { return c.Source == source })
	if i < 0 {
		return Cell{}, false
	}
	return r.Cells[i], true
}

// Cell is what a source says about a fact.
type Cell struct {
	Source int // the index of the source in Facts
	// Node is the step that the value is from; empty for the input. Path is where it is,
	// such as steps.pan.data.name.
	Node verification.NodeID
	Path string
	// Text is the value, in NFC; it is cut after 500 characters. It is empty if the value is
	// not given, and then never differs.
	Text string
	// Differs says that the value differs from the first one that is given, ignoring case,
	// space and the order of words. A date is compared as a date, and a list agrees with each of its items.
	Differs bool
	// OtherScript says that the value is a name in another script than the first one, and compares as
	// equal to it: it does not differ.
	OtherScript bool
	// Marks are the characters of Text that differ, in order. There may be none, such as
	// where a word is missing.
	Marks []Range
}

// The bounds of facts.
const (
	maxFactRows    = 32
	maxFactCells   = 8 // of a row, without a `compare`
	maxFactItems   = 20
	maxFactFields  = 200     // of an object
	maxFactText    = 500     // characters of a cell
	maxFactCompare = 1 << 16 // bytes of a value that is compared
)

// Of returns the facts of a run: as `compare` of the workflow says or, without it, the
// customer's answers and the values of the input that another source also has, under the same
// key or title. schemas have the titles of the data of checks, and asked is what the checks
// were asked. It never fails.
func Of(
	p workflow.Program, r rules.Run, schemas map[verification.NodeID]workflow.DataSchema, asked []Asked,
) Facts {
	return factsOf(p, r, r.FactValues(p), schemas, asked)
}

// factsOf returns the facts with the values of the expressions of the run.
func factsOf(
	p workflow.Program, r rules.Run, v rules.FactValues,
	schemas map[verification.NodeID]workflow.DataSchema, asked []Asked,
) Facts {
	t := facts{p: p, r: r, elements: ElementsOf(p, r), documents: map[verification.NodeID][]string{}}
	for _, a := range asked {
		for _, d := range r.Documents {
			if d.ID != "" && strings.Contains(string(a.With), d.ID) {
				t.documents[a.Node] = append(t.documents[a.Node], d.ID)
			}
		}
	}
	if def := p.Version.Definition; len(def.Compare) > 0 {
		for i, values := range v.Compared {
			t.compared(def.Compare[i], values)
		}
	} else {
		t.common(schemas)
	}
	return t.table()
}

// facts collects the rows of a table.
type facts struct {
	p         workflow.Program
	r         rules.Run
	elements  Elements
	documents map[verification.NodeID][]string // of checks
	sources   []factSource
	rows      []Row
}

// factSource is a source of a table. Rows that have two values of one source have another
// one for the second.
type factSource struct {
	Source
	number int
}

// compared adds the row of a comparison.
func (t *facts) compared(c workflow.Comparison, values []rules.FactValue) {
	var reads []string
	for _, v := range values {
		reads = append(reads, v.Reads...)
	}
	row := t.rowOf(c.Fact, t.p.Version.Definition.KindOf(c, reads))
	for _, v := range values {
		cell := Cell{}
		if len(v.Reads) > 0 {
			cell.Path = v.Reads[0]
		}
		cell.Node = stepOf(cell.Path)
		cell.Text = textOf(v.Value)
		row.add(t.place(row, cell), v.Value)
	}
	t.rows = append(t.rows, row.Row)
}

// stepOf returns the step that a path reads: of steps.owners.items[0].members.bureau.data.name, the
// member owners[1].bureau. It is empty if the path reads no step.
func stepOf(path string) verification.NodeID {
	head, rest, _ := strings.Cut(path, ".items[")
	digits, rest, ofElement := strings.Cut(rest, "]")
	node, isStep := workflow.StepOf(head)
	index, err := strconv.Atoi(digits)
	switch {
	case !isStep:
		return ""
	case !ofElement || err != nil || strings.Contains(string(node), ".") || head != "steps."+string(node):
		step, _ := workflow.StepOf(path)
		return step
	}
	element := node.Element(index + 1)
	if name, isMember := strings.CutPrefix(rest, ".members."); isMember {
		name, _, _ = strings.Cut(name, ".")
		return element.Member(name)
	}
	return element
}

// common adds a row for each key or title that a claim has in common with another source.
func (t *facts) common(schemas map[verification.NodeID]workflow.DataSchema) {
	type group struct {
		fieldRow
		keys, titles map[string]bool
	}
	var groups []*group
	join := func(path string, node verification.NodeID, f field, begins bool) {
		key, title := fold.Text(f.key), fold.Text(f.title)
		for _, by := range []func(g *group) bool{
			func(g *group) bool { return g.keys[key] },
			func(g *group) bool { return title != "" && g.titles[title] },
		} {
			for _, g := range groups {
				if len(g.Cells) >= maxFactCells || !by(g) || slices.ContainsFunc(g.Cells, func(c Cell) bool { return c.Node == node }) {
					continue
				}
				if begins && node != "" && slices.ContainsFunc(g.Cells, func(c Cell) bool { return c.Node != "" }) {
					continue // the same key in two forms may be of two people
				}
				g.keys[key], g.titles[title] = true, true
				g.add(t.place(g.fieldRow, Cell{Node: node, Path: path + f.key, Text: f.text}), f.value)
				return
			}
		}
		if begins {
			reads := []string{path + f.key}
			kind := t.p.Version.Definition.KindOf(workflow.Comparison{Of: reads}, reads)
			g := &group{t.rowOf(cmp.Or(f.title, f.key), kind), map[string]bool{key: true}, map[string]bool{title: true}}
			g.add(t.place(g.fieldRow, Cell{Node: node, Path: path + f.key, Text: f.text}), f.value)
			groups = append(groups, g)
		}
	}
	for _, c := range claimed(t.p, t.r, schemas) {
		for _, f := range c.fields {
			join(c.path, c.node, f, true)
		}
	}
	for _, s := range t.r.Steps {
		if s.Type != workflow.NodeCheck || s.Gone {
			continue
		}
		for _, f := range fieldsOf(s.Data, schemas[s.Node]) {
			join("steps."+string(s.Node)+".data.", s.Node, f, false)
		}
	}
	for _, g := range groups {
		if len(g.Cells) > 1 && len(t.rows) < maxFactRows {
			t.rows = append(t.rows, g.Row)
		}
	}
}

// place returns the cell with its source, which the row does not have yet.
func (t *facts) place(row fieldRow, c Cell) Cell {
	s := Source{Kind: SourceRun}
	step, _ := t.r.Step(c.Node)
	node, _ := t.p.Node(c.Node)
	switch {
	case node.Type == workflow.NodeCustomerInput || node.Type == workflow.NodeConsent:
		s = Source{Kind: SourceCustomer, Node: c.Node}
		if c.Node != c.Node.InDefinition() {
			s.Kind = SourceElement
		}
	case c.Node != "":
		s = Source{Kind: SourceCheck, Node: c.Node, Documents: t.documents[c.Node]}
		if len(s.Documents) > 0 {
			s.Kind = SourceDocument
		}
	case c.Path == "input" || strings.HasPrefix(c.Path, "input."):
		s.Kind = SourceInput
	}
	if c.Node != "" {
		s.Label = t.elements.Label(c.Node, cmp.Or(step.Label, node.Label, string(c.Node)))
	}
	number := 0
	for i, known := range t.sources {
		same := known.Kind == s.Kind && (s.Kind == SourceCustomer || known.Node == s.Node)
		if !same {
			continue
		}
		if _, taken := row.Cell(i); !taken {
			c.Source = i
			return c
		}
		number++
	}
	c.Source = len(t.sources)
	t.sources = append(t.sources, factSource{s, number})
	return c
}

// table returns the rows with their sources in order. Sources that no row has are left out.
func (t *facts) table() Facts {
	used := map[int]bool{}
	for _, row := range t.rows {
		for _, c := range row.Cells {
			used[c.Source] = true
		}
	}
	order := slices.Sorted(maps.Keys(used))
	rank := func(i int) (kind, step int) {
		s := t.sources[i]
		kind = min(slices.Index(sourceKinds(), s.Kind), slices.Index(sourceKinds(), SourceCheck)) // checks and documents in execution order
		step = slices.IndexFunc(t.r.Steps, func(step rules.Step) bool { return step.Node == s.Node })
		if step < 0 {
			step = len(t.r.Steps)
		}
		return kind, step
	}
	slices.SortStableFunc(order, func(a, b int) int {
		kindA, stepA := rank(a)
		kindB, stepB := rank(b)
		if kindA == 0 && kindB == 0 { // the customer's first source has several steps
			return cmp.Compare(t.sources[a].number, t.sources[b].number)
		}
		return cmp.Or(cmp.Compare(kindA, kindB), cmp.Compare(stepA, stepB), cmp.Compare(t.sources[a].number, t.sources[b].number))
	})
	f := Facts{Rows: t.rows}
	column := map[int]int{}
	for i, source := range order {
		column[source] = i
		f.Sources = append(f.Sources, t.sources[source].Source)
	}
	for i := range f.Rows {
		for k := range f.Rows[i].Cells {
			c := &f.Rows[i].Cells[k]
			c.Source = column[c.Source]
		}
	}
	return f
}

// fieldRow is a row that grows. first is the value that others are compared with.
type fieldRow struct {
	Row
	first     any
	firstText string
	sameName  func(a, b any) bool // nil for values that are no names
}

// rowOf returns the row of a fact of a kind.
func (t *facts) rowOf(fact string, kind workflow.FactKind) fieldRow {
	row := fieldRow{Row: Row{Fact: fact}}
	if compare := t.p.Facts(); compare != nil && kind != workflow.FactText {
		row.sameName = func(a, b any) bool { return compare.Agree(kind, a, b) }
	}
	return row
}

// add adds a cell with the value that its text is of.
func (r *fieldRow) add(c Cell, value any) {
	switch {
	case c.Text == "":
	case r.first == nil:
		r.first, r.firstText = value, c.Text
	case !Agree(r.first, value) && fold.Text(r.firstText) != fold.Text(c.Text):
		if r.sameName != nil && otherScript(r.firstText, c.Text) && r.sameName(r.first, value) {
			c.OtherScript = true
			break
		}
		c.Differs, r.Differs = true, true
		c.Marks = marks(r.firstText, c.Text)
	}
	r.Cells = append(r.Cells, c)
}

// claim is what the customer or the client says.
type claim struct {
	node   verification.NodeID // empty for the input
	path   string              // of the fields
	fields []field
}

// field is a field of recorded data whose value can be compared.
type field struct {
	key, title string
	value      any
	text       string // never empty
}

// claimed returns the customer's answers in the order of the forms, and then the input.
func claimed(p workflow.Program, r rules.Run, schemas map[verification.NodeID]workflow.DataSchema) (claims []claim) {
	def := p.Version.Definition
	for _, s := range r.Steps {
		if s.Type != workflow.NodeCustomerInput || s.Gone {
			continue
		}
		c := claim{node: s.Node, path: "steps." + string(s.Node) + ".data."}
		values := s.Data.Map()
		n, _ := def.Node(s.Node)
		for _, f := range n.Fields {
			if text := textOf(values[f.Name]); text != "" && !f.Upload() && f.Type != workflow.FieldLocation && f.Type != workflow.FieldGroup {
				schema := schemas[s.Node].Field(f.Name)
				c.fields = append(c.fields, field{f.Name, cmp.Or(schema.Title(), f.Label), values[f.Name], schema.Choice(text)})
			}
		}
		claims = append(claims, c)
	}
	return append(claims, claim{path: "input.", fields: fieldsOf(r.Started.Input, def.InputSchema.Map())})
}

// fieldsOf returns the fields of an object, in the order of their keys. It leaves out those
// that tell how a check went.
func fieldsOf(d verification.Data, s workflow.DataSchema) (all []field) {
	values := d.Map()
	for _, key := range slices.Sorted(maps.Keys(values)) {
		switch key {
		case "source_ok", "analysis_ok", "differs", "opted_out", "geo_ok", "consent_status", "documents", "node_id":
			continue
		}
		if text := textOf(values[key]); text != "" && len(all) < maxFactFields {
			schema := s.Field(key)
			all = append(all, field{key, schema.Title(), values[key], schema.Choice(text)})
		}
	}
	return all
}

// textOf returns a value as a text in NFC: a text, a number, true or false, or a list of
// these. It is empty for any other value.
func textOf(v any) string {
	text := full(v)
	if n := 0; len(text) > maxFactText {
		for i := range text {
			if n++; n > maxFactText {
				return text[:i] + "…"
			}
		}
	}
	return text
}

// full is textOf without the limit of the length.
func full(v any) string {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(composed(v[:min(len(v), maxFactCompare)]))
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case json.Number:
		return verification.Digits(v)
	case bool:
		return strconv.FormatBool(v)
	case []any:
		var items []string
		for _, item := range v[:min(len(v), maxFactItems)] {
			if _, nested := item.([]any); nested {
				return ""
			}
			if text := full(item); text != "" {
				items = append(items, text)
			}
		}
		return strings.Join(items, ", ")
	}
	return ""
}
