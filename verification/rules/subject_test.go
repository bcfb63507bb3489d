// Tests of the subject of a run and of what is compared in it.

package rules_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// registry asks for a name, a birth date, a number and a photo, and compares them with what a
// registry and a document say.
func registry() workflow.Definition {
	check := flows.CheckNode("Registry", "card")
	check.OnFailed = workflow.TargetNext
	card := flows.CheckNode("Card", "done")
	card.OnFailed, card.With = workflow.TargetNext, verification.Data(`{"number":"${pan}"}`)
	return flows.Define("details", flows.Nodes{
		"details": {
			Type: workflow.NodeCustomerInput, Label: "Your details", Next: "registry",
			Fields: workflow.InputFields{
				{Name: "name", Type: workflow.FieldText, Label: "Full name"},
				{Name: "dob", Type: workflow.FieldDate, Label: "Date of birth"},
				{Name: "pan", Type: workflow.FieldText},
				{Name: "sex", Type: workflow.FieldSelect, Options: []workflow.Option{{Value: "f", Label: "Female"}, {Value: "m", Label: "Male"}}},
				{Name: "photo", Type: workflow.FieldImage},
			},
		},
		"registry": check, "card": card, "done": flows.EndNode(),
	})
}

const photo = "0191f3c0-0000-7000-8000-00000000d001"

// asked brings a run of a definition like registry to its end. Without answer, the customer
// has not answered.
func asked(t flows.Tester, d workflow.Definition, input, answer, registry, card string) *journey {
	j := begin(t, d, input)
	if answer == "" {
		return j
	}
	j.do(rules.Upload{WaitNumber: j.run.Wait().Number, Document: verification.Document{
		ID: photo, Field: "photo", MediaType: "image/jpeg", Size: 1, SHA256: "ab",
	}})
	return j.submit(answer).result(verification.OutcomePassed, registry).result(verification.OutcomePassed, card)
}

// table prints the facts of a run: a line for each row, with the source of each cell, "!" in
// front of a text that differs, and its marks in brackets.
func table(f facts.Facts) string {
	var lines []string
	for _, row := range f.Rows {
		line := row.Fact + ":"
		for _, c := range row.Cells {
			s := f.Sources[c.Source]
			line += fmt.Sprintf(" %s %s=", s.Kind, s.Node)
			if c.Differs {
				line += "!"
			}
			text := []rune(c.Text)
			for _, m := range slices.Backward(c.Marks) {
				text = slices.Concat(text[:m.From], []rune("["), text[m.From:m.To], []rune("]"), text[m.To:])
			}
			line += string(text) + ";"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func factsOf(j *journey) facts.Facts {
	schemas := map[verification.NodeID]workflow.DataSchema{}
	for id, n := range j.program.Version.Definition.Nodes {
		schemas[id] = n.Fields.DataSchema("")
	}
	schemas["card"] = workflow.DataSchema{"properties": map[string]any{"holder": map[string]any{"title": "full  NAME"}}}
	return facts.Of(j.program, j.run, schemas, facts.AskedOf(j.program, j.run, flows.TenantID))
}

const answers = `{"name":"Meera Nair","dob":"1990-02-01","pan":"ABCDE1234F","sex":"f","photo":{"document_id":"` + photo + `"}}`

func TestFactsWithoutACompare(t *testing.T) {
	for _, c := range []struct{ name, input, answers, registry, card, want string }{
		{"nothing has the same key", "", answers, `{"status":"active"}`, "", ""},
		{
			"the registry has the family name first", "", `{"name":"Meera Nair"}`, `{"name":"NAIR MEERA"}`, "",
			"Full name: customer details=Meera Nair; check registry=NAIR MEERA;",
		},
		{
			"the registry agrees, ignoring case, space and composition", "", `{"name":"Meera  Naír"}`, `{"name":" meera nai\u0301r "}`, "",
			"Full name: customer details=Meera  Naír; check registry=meera naír;",
		},
		{
			"names and dates differ", "", answers, `{"name":"KUMAR RAVI","dob":"1988-07-12"}`, "",
			"Full name: customer details=Meera Nair; check registry=![KUMAR] [RAVI];\n" +
				"Date of birth: customer details=1990-02-01; check registry=!19[88-07-12];",
		},
		{
			"one letter and one word differ", "", `{"name":"Meera Devi Nair"}`, `{"name":"Mira Nair Devi"}`, "",
			"Full name: customer details=Meera Devi Nair; check registry=!M[i]ra Nair [Devi];",
		},
		{
			"a date is compared as a date", "", answers, `{"dob":"01/02/1990"}`, `{"dob":"1990-02-01T00:00:00Z"}`,
			"Date of birth: customer details=1990-02-01; check registry=01/02/1990; document card=1990-02-01T00:00:00Z;",
		},
		{
			"the same title", "", answers, "", `{"holder":"Meera N."}`,
			"Full name: customer details=Meera Nair; document card=!Meera N[.];",
		},
		{
			"a choice is compared by its value and its title", "", answers, `{"sex":"F"}`, `{"sex":"female"}`,
			"sex: customer details=Female; check registry=F; document card=female;",
		},
		{
			"the input and a list", `{"name":"Meera Nair"}`, answers, `{"name":["M. Nair","meera nair"]}`, `{"name":["Ravi","Asha"]}`,
			"Full name: customer details=Meera Nair; input =Meera Nair; check registry=M. Nair, meera nair; document card=![Ravi,] [Asha];",
		},
		{
			"the input and a check", `{"tier":1,"name":"Asha"}`, "{}", `{"tier":1.0,"name":null}`, `{"tier":2,"source_ok":false}`,
			"tier: input =1; check registry=1; document card=![2];",
		},
		{"what has no text is left out", "", answers, `{"name":{"first":"Meera"},"dob":"","pan":[]}`, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := asked(t, registry(), c.input, c.answers, c.registry, strings.Replace(c.card, "}", `,"file":"x"}`, 1))
			d := factsOf(j)
			got := table(d)
			if diff := cmp.Diff(strings.ReplaceAll(c.want, "document card", "check card"), got); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFactsOfACompare(t *testing.T) {
	d := registry()
	d.Compare = []workflow.Comparison{
		{Fact: "Name", Of: []string{"steps.registry.data.holder", "steps.details.data.name", "steps.registry.data.name"}},
		{Fact: "Reference", Of: []string{"input.number", "steps.details.data.pan"}},
		{Fact: "Place", Of: []string{"steps.card.data.city", "input.city"}},
	}
	j := asked(t, d, `{"number":"ABCDE1234X"}`, answers, `{"holder":"M Nair","name":"Meera Nair"}`, `{}`)
	want := "Name: check registry=M Nair; customer details=!M[eera] Nair; check registry=!M[eera] Nair;\n" +
		"Reference: input =ABCDE1234X; customer details=!ABCDE1234[F];\n" +
		"Place: check card=; input =;"
	f := factsOf(j)
	if diff := cmp.Diff(want, table(f)); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
	var sources []string
	for _, s := range f.Sources {
		sources = append(sources, strings.TrimSpace(string(s.Kind)+" "+s.Label))
	}
	if diff := cmp.Diff([]string{"customer Your details", "input", "check Registry", "check Registry", "check Card"}, sources); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
	if !f.Rows[0].Differs || f.Rows[2].Differs {
		t.Error("a row differs if, and only if, one of its cells does")
	}
	if c, ok := f.Rows[1].Cell(1); !ok || c.Path != "input.number" {
		t.Errorf("the cell of the input is %+v, %t", c, ok)
	}
	early := factsOf(asked(t, d, "", "", "", ""))
	if got := table(early); strings.Contains(got, "!") || len(early.Rows) != 3 {
		t.Errorf("before any answer the facts are\n%s", got)
	}
}

func TestACheckOfADocumentIsADocument(t *testing.T) {
	j := asked(t, registry(), "", answers, "", `{"name":"Meera Nair"}`)
	f := facts.Of(j.program, j.run, nil, []facts.Asked{{Node: "card", With: verification.Data(`{"front":"` + photo + `"}`)}})
	if diff := cmp.Diff("Full name: customer details=Meera Nair; document card=Meera Nair;", table(f)); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
	if got := f.Sources[1].Documents; !slices.Equal(got, []string{photo}) {
		t.Errorf("documents = %v, want the photo", got)
	}
}

func TestSubjectOfARun(t *testing.T) {
	full := workflow.SubjectFields{
		Name: "steps.registry.data.name", BirthDate: "input.born", Number: "steps.details.data.pan", Portrait: "steps.details.data.photo",
	}
	for _, c := range []struct {
		name    string
		subject *workflow.SubjectFields
		input   string
		answers string
		want    rules.Subject
	}{
		{"well-known fields", nil, `{"full_name":"Other","number":"7"}`, answers, rules.Subject{Name: "Meera Nair", BirthDate: "1990-02-01", Number: "ABCDE1234F", Portrait: photo}},
		{"the input", nil, `{"customer_name":"Asha Rao","date_of_birth":"2000-01-31","id_number":12345678901234567}`, "", rules.Subject{Name: "Asha Rao", BirthDate: "2000-01-31", Number: "12345678901234567", Portrait: ""}},
		{"the workflow says it", &full, `{"born":"1 May 1980"}`, answers, rules.Subject{Name: "KUMAR RAVI", BirthDate: "1 May 1980", Number: "ABCDE1234F", Portrait: photo}},
		{"only what the workflow says", &workflow.SubjectFields{Number: "steps.details.data.pan"}, "", answers, rules.Subject{Number: "ABCDE1234F"}},
		{"nothing is given yet", &full, "", "", rules.Subject{}},
		{"no image of the run", nil, "", `{"name":"A","photo":{"document_id":"0191f3c0-0000-7000-8000-00000000d002"}}`, rules.Subject{Name: "A"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := registry()
			d.Subject = c.subject
			j := asked(t, d, c.input, c.answers, `{"name":"KUMAR RAVI"}`, "")
			if diff := cmp.Diff(c.want, facts.SubjectOf(j.program, j.run)); diff != "" {
				t.Errorf("subject (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatChecksWereAskedIsRenderedAgain(t *testing.T) {
	j := asked(t, registry(), "", answers, "", "")
	want := []facts.Asked{
		{Node: "registry", Key: "registry", Label: "Registry"},
		{
			Node: "card", Key: "card", Label: "Card",
			With: verification.Data(`{"number":"ABCDE1234F","reference":"customer-1","run":"` + string(flows.RunID) + `"}`),
		},
	}
	if diff := cmp.Diff(want, facts.AskedOf(j.program, j.run, flows.TenantID)); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if got := facts.AskedOf(j.program, begin(t, registry(), "").run, flows.TenantID); got != nil {
		t.Errorf("before any check, asked = %+v", got)
	}
}

// anyText draws a text, often one that is like another one.
func anyText(t *rapid.T) string {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"", "Meera Nair", "meera  nair", "Nair", "1990-02-01", "1/2/1990", "2", "I\u0307\u0131ß", "e\u0301", "\u2028"}),
		rapid.String(),
		rapid.Map(rapid.IntRange(0, 200), func(n int) string { return strings.Repeat("wörd ", n) }),
	).Draw(t, "text")
}

func factValue(t *rapid.T) any {
	return rapid.SampledFrom([]func() any{
		func() any { return anyText(t) },
		func() any { return []any{anyText(t), nil, 1.5, []any{"x"}, map[string]any{}} },
		func() any { return rapid.Float64().Draw(t, "number") },
		func() any { return map[string]any{"document_id": photo, "name": anyText(t)} },
		func() any { return true },
		func() any { return nil },
	}).Draw(t, "value")()
}

func factData(t *rapid.T) verification.Data {
	keys := []string{"name", "dob", "pan", "sex", "photo", "holder", "place", "Name ", "", "source_ok"}
	object := map[string]any{}
	for range rapid.IntRange(0, 6).Draw(t, "fields") {
		object[rapid.SampledFrom(keys).Draw(t, "key")] = factValue(t)
	}
	d, err := verification.NewData(object)
	if err != nil {
		return verification.Data(`{"name":`) // damaged
	}
	return d
}

func TestFactsOfAnythingNeverPanic(t *testing.T) {
	paths := []string{
		"steps.details.data.name", "steps.details.data.dob", "steps.registry.data.name", "steps.card.data.name", "steps.card.data.place",
		"steps.done.data.x", "input.name", "input.place", "input.", "steps.registry.data.",
	}
	rapid.Check(t, func(t *rapid.T) {
		d := registry()
		path := rapid.SampledFrom(paths)
		if rapid.Bool().Draw(t, "compare") {
			for i := range rapid.IntRange(0, 4).Draw(t, "facts") {
				d.Compare = append(d.Compare, workflow.Comparison{
					Fact: fmt.Sprint(i), Of: rapid.SliceOfN(path, 0, 8).Draw(t, "of"),
				})
			}
		}
		if rapid.Bool().Draw(t, "subject") {
			d.Subject = &workflow.SubjectFields{
				Name: path.Draw(t, "name"), BirthDate: path.Draw(t, "birth date"), Number: path.Draw(t, "number"), Portrait: path.Draw(t, "portrait"),
			}
		}
		// A version that is stored is not validated again.
		p, err := workflow.Restore(flows.WorkflowID, workflow.Version{Definition: d}, flows.NewLanguage(), nil)
		if err != nil {
			p, err = workflow.Restore(flows.WorkflowID, workflow.Version{Definition: registry()}, flows.NewLanguage(), nil)
		}
		if err != nil {
			t.Fatalf("Restore: %v", err)
		}
		history := []rules.Event{{At: flows.Noon(), Fact: rules.Started{Input: factData(t)}}}
		for _, id := range []verification.NodeID{"details", "registry", "card", "lost"} {
			history = append(
				history,
				rules.Event{At: flows.Noon(), Fact: rules.CustomerAwaited{Node: "details", Type: workflow.NodeCustomerInput}},
				rules.Event{At: flows.Noon(), Fact: rules.Dispatched{Node: id, Dispatch: 1, Visit: 1}},
				rules.Event{At: flows.Noon(), Fact: rules.CustomerSubmitted{Node: "details", Data: factData(t)}},
				rules.Event{At: flows.Noon(), Fact: rules.ResultRecorded{Node: id, Data: factData(t)}},
			)
		}
		r := rules.Fold(flows.RunID, history[:rapid.IntRange(0, len(history)).Draw(t, "events")])
		_ = facts.SubjectOf(p, r)
		f := facts.Of(p, r, nil, facts.AskedOf(p, r, flows.TenantID))
		for _, row := range f.Rows {
			differs, given := false, 0
			for _, c := range row.Cells {
				if c.Source < 0 || c.Source >= len(f.Sources) {
					t.Fatalf("the cell %+v has no source", c)
				}
				if n := utf8.RuneCountInString(c.Text); n > 501 || !utf8.ValidString(c.Text) {
					t.Errorf("a cell has %d characters: %q", n, c.Text)
				}
				end := 0
				for _, m := range c.Marks {
					if m.From < end || m.To <= m.From || m.To > utf8.RuneCountInString(c.Text) {
						t.Errorf("marks %v of %q", c.Marks, c.Text)
					}
					end = m.To
				}
				if c.Text != "" {
					given++
				}
				if c.Differs && (c.Text == "" || given == 1) || !c.Differs && c.Marks != nil {
					t.Errorf("the cell %+v of %+v", c, row)
				}
				differs = differs || c.Differs
			}
			if row.Differs != differs || len(f.Rows) > 32 {
				t.Errorf("the row %+v of %d", row, len(f.Rows))
			}
		}
	})
}
