// Rows: the customer adds rows to a group of fields, and removes them.

package journey

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/workflow"
)

// A row keeps its number on the page while others are removed, so that what was typed and uploaded stays with it. The input
// of a group has the numbers of its rows, such as 0,2,3. Buttons that submit the form add and remove rows, with and without
// a script. In the answer, rows are numbered from 0 in their order.

// The values of the buttons. The name of a group, or the place of a row, follows.
const (
	doAdd    = "add "
	doRemove = "remove "
	doRows   = "rows" // shows the form again, with the rows that the script of the page has restored
)

// rows returns the numbers of the rows of a group on the page: those of the post, or the least number of rows.
func (f form) rows(group workflow.InputField) (rows []int) {
	posted, ok := f.values[inputName(group.Name)]
	if !ok {
		least, _ := group.Rows()
		for row := range least {
			rows = append(rows, row)
		}
		return rows
	}
	for number := range strings.SplitSeq(posted, ",") {
		row, err := strconv.Atoi(number)
		_, of, name := workflow.SplitPlace(workflow.Place(group.Name, row, "x"))
		if err == nil && name == "x" && of == row && !slices.Contains(rows, row) {
			rows = append(rows, row)
		}
	}
	return rows
}

func (f form) setRows(group workflow.InputField, rows []int) {
	numbers := make([]string, len(rows))
	for i, row := range rows {
		numbers[i] = strconv.Itoa(row)
	}
	f.values[inputName(group.Name)] = strings.Join(numbers, ",")
}

// next returns the number of a row that is added to rows.
func next(rows []int) int { return slices.Max(append(rows, -1)) + 1 }

// changeRows does what a button says, and reports whether it is one of those that change rows.
func (f form) changeRows(step *engine.JourneyStep) bool {
	do := f.values["do"]
	name, adds := strings.CutPrefix(do, doAdd)
	place, removes := strings.CutPrefix(do, doRemove)
	if adds {
		if group, ok := step.Fields.ByName(name); ok && group.Type == workflow.FieldGroup {
			rows := f.rows(group)
			if _, most := group.Rows(); len(rows) < most {
				f.setRows(group, append(rows, next(rows)))
			}
		}
	}
	if name, row, _ := workflow.SplitPlace(place + "."); removes {
		if group, ok := step.Fields.ByName(name); ok && group.Type == workflow.FieldGroup {
			f.setRows(group, slices.DeleteFunc(f.rows(group), func(n int) bool { return n == row }))
			for _, field := range f.inRow(group, row) {
				delete(f.problems, field.Name)
			}
		}
	}
	return adds || removes || do == doRows
}

// inRow returns the fields of a row, each named by its place on the page.
func (f form) inRow(group workflow.InputField, row int) workflow.InputFields {
	fields := slices.Clone(group.Fields)
	for i := range fields {
		fields[i].Label = cmp.Or(fields[i].Label, fields[i].Name)
		fields[i].Name = workflow.Place(group.Name, row, fields[i].Name)
	}
	return fields
}

// rowName returns the place of a row, such as owners[2].
func rowName(group string, row int) string {
	return strings.TrimSuffix(workflow.Place(group, row, ""), ".")
}

// withRows returns the fields, and after each group the fields of its rows.
func (f form) withRows(fields workflow.InputFields) (all workflow.InputFields) {
	for _, field := range fields {
		all = append(all, field)
		if field.Type == workflow.FieldGroup {
			for _, row := range f.rows(field) {
				all = append(all, f.inRow(field, row)...)
			}
		}
	}
	return all
}

// problemAt returns the field that has a problem in the answer, and its place on the page.
func (f form) problemAt(step *engine.JourneyStep, place string) (field workflow.InputField, onPage string, ok bool) {
	of, row, name := workflow.SplitPlace(place)
	if of == "" {
		of, row, name = workflow.SplitPlace(place + ".") // a whole row
	}
	group, _ := step.Fields.ByName(of)
	switch rows := f.rows(group); {
	case of == "":
		field, ok = step.Fields.ByName(place)
		return field, place, ok
	case group.Type != workflow.FieldGroup || row >= len(rows):
		return field, "", false
	case name == "":
		return group, rowName(of, rows[row]), true
	default:
		field, ok = group.Fields.ByName(name)
		return field, workflow.Place(of, rows[row], name), ok
	}
}

// rowsOf returns the answer to a group.
func rowsOf(group workflow.InputField, f form, c catalog) []any {
	list := []any{}
	for _, row := range f.rows(group) {
		values := map[string]any{}
		for _, field := range f.inRow(group, row) {
			if value, given := valueOf(field, f, c); given {
				_, _, name := workflow.SplitPlace(field.Name)
				values[name] = value
			}
		}
		list = append(list, values)
	}
	return list
}

// rowView is a row of a group.
type rowView struct {
	Title  string
	ID     string
	Place  string
	Error  string
	Fields []fieldView
	Remove bool // whether it may be removed
}

// rowViews fills in the rows of a group.
func (v visitor) rowViews(w *fieldView, f form, again *engine.JourneyRound) {
	rows := f.rows(w.InputField)
	least, most := w.InputField.Rows()
	f.setRows(w.InputField, rows)
	w.Value, w.Required = f.values[w.Input], least > 0
	w.Add, w.Added = len(rows) < most, elementID(rowName(w.Name, next(rows)))
	for i, row := range rows {
		place := rowName(w.Name, row)
		r := rowView{
			Title: v.numbered("rows.row", w.Label, i+1, len(rows)), ID: elementID(place), Place: place, Error: f.problems[place],
			Remove: len(rows) > least,
		}
		for _, field := range f.inRow(w.InputField, row) {
			one := viewOf(field, f)
			one.Again = again != nil && slices.Contains(again.Fields, field.Name)
			one.AutoFill = field.AutoComplete // the browser knows the customer, and not the others
			r.Fields = append(r.Fields, one)
		}
		w.Rows = append(w.Rows, r)
	}
}

// numbered returns the title of one of several: of a row, or of the element of a form with for_each.
func (c catalog) numbered(key, label string, n, of int) string {
	return strings.NewReplacer("%s", label, "#", strconv.Itoa(n), "@", strconv.Itoa(of)).Replace(c.Message(key))
}

// problemsOf returns the problems of a field and of its rows, in the order of the page.
func (v visitor) problemsOf(w fieldView, short string) (all []web.Problem) {
	if w.Error != "" {
		problem := web.Problem{Target: w.Target(), Label: w.Label, Text: w.Error}
		if strings.Contains(w.Error, short) {
			problem.Label = "" // the sentence names the field
		}
		all = append(all, problem)
	}
	for _, r := range w.Rows {
		if r.Error != "" {
			all = append(all, web.Problem{Target: r.ID, Label: r.Title, Text: r.Error})
		}
		for _, field := range r.Fields {
			if field.Error != "" {
				all = append(all, web.Problem{Target: field.Target(), Label: r.Title, Text: field.Error})
			}
		}
	}
	return all
}

// uploads reports whether the field, or one in its rows, takes a document.
func uploads(field workflow.InputField) bool {
	return field.Upload() || slices.ContainsFunc(field.Fields, workflow.InputField.Upload)
}
