// The data of a step as nested tables.

package runpage

import (
	"cmp"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/adapters/console/internal/queue"
	"github.com/verifyd/verifyd/adapters/internal/labels"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// maxValues is the number of values of one step that a page shows.
const maxValues = 500

// dataField is one field of an object, or one item of a list, whose label is not shown.
// Exactly one of Text, Fields and Items is set.
type dataField struct {
	Label   string
	Path    string // in the data, such as owners[0].name
	Text    string
	Ours    bool // Text is a message such as "yes" or "none", and not data
	Empty   bool // an empty object or list
	Unit    string
	Scale   *scaleView     // nil for none
	OfRun   bool           // Text is the id of a run
	Earlier *queue.Earlier // what is shown of that run; nil if nothing is
	Fields  []dataField
	Items   []dataField
	// Corrections are the corrections of the value, oldest first.
	Corrections []string
}

// dataTable is the data of a step.
type dataTable struct {
	Fields []dataField
	More   int // values that are left out
}

// tableOf returns the data in its recorded order. A field has its title or else its name
// in words. It leaves out the paths in hidden. message returns the text of a message.
func tableOf(
	d verification.Data, s workflow.DataSchema, hidden map[string]bool, message func(key string) string,
) dataTable {
	data := labels.ReadData(d, s)
	if data.Kind == labels.DataText { // recorded data is an object
		return dataTable{Fields: []dataField{{Text: data.Text}}}
	}
	b := tableBuilder{message: message}
	fields := b.fields(data, hidden, "")
	return dataTable{Fields: fields, More: max(0, b.seen-maxValues)}
}

type tableBuilder struct {
	message func(key string) string
	seen    int // values, shown or not
}

// fields returns the fields of an object or the items of a list, which is at a path, up to the limit.
func (b *tableBuilder) fields(of labels.DataValue, hidden map[string]bool, path string) (all []dataField) {
	i := -1
	for v := range of.Values() {
		i++
		at := v.PathIn(of, path, i)
		if hidden[at] {
			continue
		}
		f, shown := dataField{Label: cmp.Or(v.Title, labels.InWords(v.Name)), Path: at, Text: v.Text, Unit: v.Unit, Scale: b.scale(v), OfRun: v.OfRun}, b.seen < maxValues
		switch {
		case v.Kind == labels.DataObject && !v.Empty:
			f.Fields = b.fields(v, hidden, f.Path)
		case v.Kind == labels.DataList && !v.Empty:
			f.Items = b.fields(v, hidden, f.Path)
		default:
			b.seen++
		}
		if !shown {
			continue
		}
		ours := map[labels.DataKind]string{labels.DataTrue: "data.yes", labels.DataFalse: "data.no", labels.DataNone: "data.none"}[v.Kind]
		if v.Empty {
			ours, f.Empty = "data.empty", true
		}
		if ours != "" {
			f.Text, f.Unit, f.Ours = b.message(ours), "", true
		}
		all = append(all, f)
	}
	return all
}

// Scalars reports whether every item of a list is a single value.
func (f dataField) Scalars() bool {
	nested := func(i dataField) bool { return len(i.Fields)+len(i.Items) > 0 }
	return len(f.Items) > 0 && !slices.ContainsFunc(f.Items, nested)
}

// maxColumns is how many fields the items of a list may have to be the rows of a table.
const maxColumns = 6

// Columns returns the labels of the fields that the items of a list have in common; none if
// the items are no rows of a table.
func (f dataField) Columns() (labels []string) {
	for i, item := range f.Items {
		var own []string
		for _, cell := range item.Fields {
			if len(cell.Fields)+len(cell.Items) > 0 {
				return nil
			}
			own = append(own, cell.Label)
		}
		if i == 0 {
			labels = own
		}
		// The last item may be cut where the page shows no more values.
		if cut := i == len(f.Items)-1; len(own) == 0 || len(own) > len(labels) || len(own) < len(labels) && !cut || !slices.Equal(own, labels[:len(own)]) {
			return nil
		}
	}
	if len(f.Items) < 2 || len(labels) > maxColumns {
		return nil
	}
	return labels
}

// Isolated returns the text for a list that has a direction.
func (f dataField) Isolated() string { return labels.IsolateWords(f.Text) }

// Dir returns the direction of a list of texts: that of most of their letters.
func (f dataField) Dir() string {
	texts := make([]string, len(f.Items))
	for i, item := range f.Items {
		texts[i] = item.Text
	}
	return direction(texts)
}

// maxLine is how many values a line shows.
const maxLine = 3

// line returns the first plain values in one line.
func (t dataTable) line() string {
	var parts []string
	for _, f := range t.Fields {
		if len(parts) == maxLine {
			break
		}
		if f.Text != "" && !f.Empty && len(f.Fields)+len(f.Items) == 0 {
			parts = append(parts, f.Label+": "+f.Text)
		}
	}
	return strings.Join(parts, " · ")
}

// direction returns the direction of most letters of texts, ltr or rtl.
func direction(texts []string) string {
	if labels.FromRight(texts...) {
		return "rtl"
	}
	return "ltr"
}
