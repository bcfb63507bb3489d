package pdf_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/report"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// object is data of n fields: name000, name001, ...
func object(n int, name, value string) verification.Data {
	var b strings.Builder
	b.WriteByte('{')
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"%s%03d":"%s"`, name, i, value)
	}
	b.WriteByte('}')
	return verification.Data(b.String())
}

func TestALongTableContinuesOnTheNextPage(t *testing.T) {
	r := sample()
	r.Cards[2].Data = object(300, "line", strings.Repeat("UPI transfer ", 8))
	doc := render(t, plain(t), r)
	pages := check(t, doc)
	if pages < 8 {
		t.Errorf("300 rows take %d pages", pages)
	}
	got := text(t, doc)
	for i := range 300 {
		if key := fmt.Sprintf("Line%03d\n", i); strings.Count(got, key) != 1 {
			t.Errorf("row %d is shown %d times", i, strings.Count(got, key))
		}
	}
	continued, seams := strings.Count(got, "(continued)"), strings.Count(got, "Continued on the next page")
	if continued != seams || continued < 6 {
		t.Errorf("the card is interrupted %d times and continued %d times", seams, continued)
	}
}

func TestAReportOfManySteps(t *testing.T) {
	r := sample()
	r.Cards = nil
	for i := range 220 {
		c := sample().Cards[i%5]
		c.Label = fmt.Sprintf("Step number %d", i+1)
		r.Cards = append(r.Cards, c)
	}
	doc := render(t, plain(t), r)
	check(t, doc)
	got := text(t, doc)
	for i := range 220 {
		if label := fmt.Sprintf("%d.\nStep number %d\n", i+1, i+1); !strings.Contains(got, label) {
			t.Errorf("step %d is missing", i+1)
		}
	}
}

func TestDataIsFlattened(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 30) + `"end"` + strings.Repeat("}", 30)
	for _, tt := range []struct{ data, want string }{
		{`{"b":true,"a":{"x":1.50,"y":{"z":"deep"}}}`, "B\nYes\nA › X\n1.50\nA › Y › Z\ndeep"},
		{`{"list":["one",2,null,false]}`, "List\none, 2, None, No"},
		{`{"hits":[{"court":"Pune"},{"court":"Goa"}]}`, "Hits\nCourt\nPune\nGoa"},
		{`{"mixed":[1,[2,3],{"a":4}]}`, "Mixed 1\n1\nMixed 2\n2, 3\nMixed 3 › A\n4"},
		{`{"o":{},"l":[],"s":"","n":null}`, "O\nEmpty\nL\nEmpty\nS\nEmpty\nN\nNone"},
		{`{"big":123456789012345678901234567890.10}`, "Big\n123456789012345678901234567890.10"},
		{`{"on":"2026-11-21","at":"2026-11-20T09:14:03.5+05:30","no":"2026-13-01"}`, "On\n21 Nov 2026\nAt\n20 Nov 2026, 03:44:03 UTC\nNo\n2026-13-01"},
		{`{"place":{"denied":true},"id_number":7,"Über_x":1}`, "Place\nNot shared\nID number\n7\nÜber_x\n1"},
		{`{"hits":[{"court":"Pune","n":[1,2]},{"n":{"a":true,"b":null}},"odd"]}`, "Hits\nCourt\nN\nValue\nPune\n1, 2\nA: Yes; B: –\nodd"},
		{`{"wide":[{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8}]}`, "Wide 1 › A\n1\nWide 1 › B\n2"},
		{`{"deep":` + deep + `}`, "end"},
		{`{"":{"":"no name"}}`, "no name"},
		{`{"broken":`, `{"broken":`},
		{`[1,2]`, `[1,2]`},
		{`{}`, "VALID"},
	} {
		r := sample()
		r.Cards[2].Data = verification.Data(tt.data)
		if tt.data == `{}` {
			r.Cards[2].Reason = "VALID"
		}
		doc := render(t, plain(t), r)
		check(t, doc)
		if got := text(t, doc); !strings.Contains(got, tt.want) {
			t.Errorf("%s: the document does not show %q", tt.data, tt.want)
		}
	}
}

func TestFieldsHaveTheTitlesAndUnitsOfTheirSchemas(t *testing.T) {
	const provider = `{"type":"object","properties":{
		"score":{"type":"number","title":"Highest score","x-unit":"%"},
		"gap":{"type":["number","null"],"title":"Gap","x-unit":"days"},
		"years":{"type":"array","title":"Years","items":{"type":"number","x-unit":"CE"}},
		"hits":{"type":"array","title":"Hits","items":{"type":"object","properties":{"court":{"type":"string","title":"Court"},"n":true}}},
		"name":{"type":"string","title":7},
		"country":{"title":"Country","oneOf":[{"const":"fr","title":"France"},{"const":"in","title":"India"}]}
	}}`
	const fallback = `{"properties":{"score":{"title":"Other score"},"age":{"title":"Age","x-unit":"years"}}}`
	for _, tt := range []struct{ data, want string }{
		{`{"score":97}`, "Highest score\n97 %"},
		{`{"age":30}`, "Age\n30 years"},
		{`{"gap":null}`, "Gap\nNone"},
		{`{"country":"in"}`, "Country\nIndia"},
		{`{"country":"de"}`, "Country\nde"},
		{`{"years":[1990,1991]}`, "Years\n1990 CE, 1991 CE"},
		{`{"hits":[{"court":"Pune","n":1}]}`, "Hits\nCourt\nN\nPune\n1"},
		{`{"name":"Asha","more":true}`, "Name\nAsha\nMore\nYes"},
	} {
		r := sample()
		r.Cards[2].Data = verification.Data(tt.data)
		r.Cards[2].DataSchema = workflow.MergeSchemas(verification.Data(provider).Map(), verification.Data(fallback).Map())
		if got := text(t, render(t, plain(t), r)); !strings.Contains(got, tt.want) {
			t.Errorf("%s: the document does not show %q", tt.data, tt.want)
		}
	}
}

func TestWhatExceedsALimitIsCutAndNoted(t *testing.T) {
	lines := func(r *report.Print) {
		for i := range 40 {
			c := sample().Cards[2]
			c.NodeID = verification.NodeID(fmt.Sprint(i))
			c.Data = object(400, "k", "v")
			r.Cards = append(r.Cards, c)
		}
	}
	for _, tt := range []struct {
		name   string
		change func(*report.Print)
		want   string
	}{
		{"a value", func(r *report.Print) { r.Cards[2].Data = object(1, "k", strings.Repeat("v ", 7000)) }, "… (2,000 of 14,000 characters)"},
		{"a reason", func(r *report.Print) { r.Cards[2].Reason = strings.Repeat("é", 2001) }, "… (2,000 of 2,001 characters)"},
		{"a reason of wide letters", func(r *report.Print) { r.Cards[2].Reason = strings.Repeat("﷽", 2000) }, "﷽"},
		{"a message", func(r *report.Print) {
			r.Error = &rules.RunError{Code: "X", Message: strings.Repeat("漢", 9000)}
		}, "… (2,000 of 9,000 characters)"},
		{"a label", func(r *report.Print) { r.Cards[2].Label = strings.Repeat("label ", 100) }, "… (300 of 600 characters)"},
		{"a label of wide letters", func(r *report.Print) { r.Cards[2].Label = strings.Repeat("﷽", 300) }, "…"},
		{"names of wide letters", func(r *report.Print) {
			wide := strings.Repeat("﷽", 300)
			r.Workflow.Name, r.Run.ReferenceID, r.Cards[2].Key, r.Digest = wide, wide, wide, wide
			r.Run.ID, r.Workflow.ID, r.Cards[2].NodeID = verification.RunID(wide), verification.WorkflowID(wide), verification.NodeID(wide)
			r.Cards[2].Label, r.Cards[2].Reason = wide, wide
			r.Cards[2].Data = object(3, wide, wide)
		}, "…"},
		{"a key", func(r *report.Print) { r.Cards[2].Data = object(2, strings.Repeat("k.", 1000), "v") }, "… (300 of 2,003 characters)"},
		{"rows", func(r *report.Print) { r.Cards[2].Data = object(1500, "k", "v") }, "1,000 more values are not printed here."},
		{"lines of a document", lines, "400 more values are not printed here."},
		{"steps", func(r *report.Print) {
			for range 1100 {
				r.Cards = append(r.Cards, rules.Card{Label: "x", Status: rules.CardOK})
			}
		}, "105 more steps are not printed here."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := sample()
			tt.change(&r)
			doc := render(t, plain(t), r)
			check(t, doc)
			if got := text(t, doc); !strings.Contains(got, tt.want) {
				t.Errorf("the document does not say %q", tt.want)
			}
		})
	}
}

func TestAnEmptyReportPrints(t *testing.T) {
	doc := render(t, plain(t), report.Print{})
	if pages := check(t, doc); pages != 1 {
		t.Errorf("an empty report has %d pages", pages)
	}
	if got := text(t, doc); !strings.Contains(got, "The run finished no step.") {
		t.Errorf("an empty report does not say so:\n%s", got)
	}
}
