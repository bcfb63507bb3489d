package facts_test

import (
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// TestAnotherScriptIsNoDifference has names of people in office and of companies, as they are written in public in both scripts.
func TestAnotherScriptIsNoDifference(t *testing.T) {
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	// table returns the row of a name that the customer has given and a register has, whose fields have these names.
	table := func(kind workflow.FactKind, given, known, name string, compare ...workflow.Comparison) facts.Row {
		d := workflow.Definition{
			Workflow: "names", Name: "Names", Start: "register", Compare: compare,
			InputSchema: verification.Data(`{"type":"object","properties":{"` + name + `":{"type":"string"}}}`),
			Subject:     &workflow.SubjectFields{Name: "input." + name, Kind: kind},
			Nodes: map[verification.NodeID]workflow.Node{
				"register": {Type: workflow.NodeCheck, Provider: "p", Label: "Register", OnFailed: workflow.TargetNext, Next: "done"}, "done": {Type: workflow.NodeEnd},
			},
		}
		p, err := workflow.Compile(t.Context(), "0191f3c0-0000-7000-8000-000000000001", workflow.Version{Definition: d}, expression.New(), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		var history []rules.Event
		for _, f := range []rules.Fact{
			rules.Started{ReferenceID: "x", Input: verification.DataOf(map[string]any{name: given})},
			rules.Dispatched{Node: "register", Key: "register", Label: "Register", Provider: "p", Dispatch: 1},
			rules.ResultRecorded{Node: "register", Passed: true, Data: verification.DataOf(map[string]any{name: known})},
		} {
			history = append(history, rules.Event{At: at, Fact: f})
		}
		rows := facts.Of(p, rules.Fold("r", history), nil, nil).Rows
		if len(rows) != 1 || len(rows[0].Cells) != 2 {
			t.Fatalf("the rows are %+v, want one with two values", rows)
		}
		return rows[0]
	}
	for _, row := range []struct {
		kind         workflow.FactKind
		given, known string
		same         bool
	}{
		{workflow.FactPerson, "द्रौपदी मुर्मू", "Droupadi Murmu", true},
		{workflow.FactPerson, "नरेन्द्र मोदी", "Narendra Modi", true},
		{workflow.FactPerson, "राम नाथ कोविंद", "Ram Nath Kovind", true},
		{workflow.FactPerson, "प्रणब मुखर्जी", "Pranab Mukherjee", true},
		{workflow.FactPerson, "अमित शाह", "Amit Shah", true},
		{workflow.FactPerson, "राहुल गांधी", "Rahul Gandhi", true},
		{workflow.FactPerson, "عبد الفتاح السيسي", "Abdel Fattah el-Sisi", true},
		{workflow.FactPerson, "محمود عباس", "Mahmoud Abbas", true},
		{workflow.FactPerson, "محمد مرسي", "Mohamed Morsi", true},
		{workflow.FactPerson, "Владимир Путин", "Vladimir Putin", true},
		{workflow.FactPerson, "Сергей Лавров", "LAVROV Sergey", true},
		{workflow.FactPerson, "Нурсултан Назарбаев", "Nursultan Nazarbayev", true},
		{workflow.FactPerson, "Касым-Жомарт Токаев", "Kassym-Jomart Tokayev", true},
		{workflow.FactPerson, "Κυριάκος Μητσοτάκης", "Kyriakos Mitsotakis", true},
		{workflow.FactPerson, "Αλέξης Τσίπρας", "Alexis Tsipras", true},
		{workflow.FactCompany, "ПАО «Газпром»", "Gazprom PJSC", true},
		{workflow.FactCompany, "ПАО Ростелеком", "Rostelecom PJSC", true},
		{workflow.FactCompany, "АО «Концерн ВКО «Алмаз-Антей»", "JSC Concern VKO Almaz-Antey", true},
		{workflow.FactPerson, "नरेन्द्र मोदी", "Amit Shah", false},
		{workflow.FactPerson, "Владимир Путин", "Dmitry Medvedev", false},
		{workflow.FactPerson, "محمود عباس", "Mohamed Morsi", false},
		{workflow.FactCompany, "ПАО «Газпром»", "Rosneft PJSC", false},
	} {
		for _, name := range []string{"name", "holder"} { // the second one is a name because the subject has it
			compared := workflow.Comparison{Fact: "Name", Of: []string{"input." + name, "steps.register.data." + name}}
			for way, got := range map[string]facts.Row{
				"found": table(row.kind, row.given, row.known, name), "compared": table(row.kind, row.given, row.known, name, compared),
				"the other way round": table(row.kind, row.known, row.given, name, compared),
			} {
				if got.Differs == row.same || got.Cells[1].Differs == row.same || got.Cells[1].OtherScript != row.same || (len(got.Cells[1].Marks) > 0) == row.same {
					t.Errorf("%s, %s: %q and %q: the row is %+v, want the same: %t", way, name, row.given, row.known, got, row.same)
				}
			}
		}
	}
}
