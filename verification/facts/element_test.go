package facts_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// owned returns a program with a check for each owner, and a run with lists of owners, one after the other.
func owned(t *testing.T, lists ...string) (workflow.Program, rules.Run) {
	t.Helper()
	p, err := workflow.Compile(t.Context(), "0191f3c0-0000-7000-8000-000000000001", workflow.Version{Definition: workflow.Definition{
		Workflow: "owners", Name: "Owners", Start: "owners", Nodes: map[verification.NodeID]workflow.Node{
			"owners": {
				Type: workflow.NodeCheck, Label: "Owner", Provider: "p", ForEach: "input.owners", OnFailed: workflow.TargetNext, Next: "done",
				Element: &workflow.ElementFields{Name: "item.name", BirthDate: "item.?dob.orValue('')", Kind: workflow.FactPerson},
			},
			"done": {Type: workflow.NodeEnd},
		},
	}}, expression.New(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	history := []rules.Event{{At: at, Fact: rules.Started{ReferenceID: "x"}}}
	for i, list := range lists {
		n := strings.Count(list, "name")
		began := rules.GroupBegan{Node: "owners", Type: workflow.NodeCheck, Label: "Owner", Visit: i + 1, Each: true, Elements: n, Items: verification.Data(`{"list":` + list + `}`)}
		history = append(history, rules.Event{At: at, Fact: began})
		for k := range n - i { // the last one is not called on the second visit
			dispatched := rules.Dispatched{Node: began.Node.Element(k + 1), Key: "owners", Label: workflow.ElementLabel("Owner", k+1, n), Provider: "p", Visit: i + 1, Dispatch: 1}
			history = append(history, rules.Event{At: at, Fact: dispatched})
		}
	}
	return p, rules.Fold("r", history)
}

func TestLabelsHaveTheNamesOfElements(t *testing.T) {
	p, run := owned(t, `[{"name":"Asha Rao","dob":"1980-04-01"},{"name":" "},{"name":"Meera Iyer"},{"name":"Meera Iyer"}]`)
	all := facts.ElementsOf(p, run)
	for step, labels := range map[verification.NodeID][2]string{
		"owners[1]":       {"Owner 1 of 4", "Owner · Asha Rao"},
		"owners[1].lists": {"Owner 1 of 4: Lists", "Owner · Asha Rao: Lists"},
		"owners[2]":       {"Owner 2 of 4", "Owner 2 of 4"},
		"owners[3].lists": {"Owner 3 of 4: Lists", "Owner 3 of 4 · Meera Iyer: Lists"},
		"owners[4]":       {"Lists", "Lists"},
		"owners":          {"Owner", "Owner"},
		"other[1]":        {"Owner 1 of 4", "Owner 1 of 4"},
	} {
		if got := all.Label(step, labels[0]); got != labels[1] {
			t.Errorf("%s of %s = %q, want %q", labels[0], step, got, labels[1])
		}
	}
	for _, long := range []string{"\U0001f600", "ا"} {
		p, run = owned(t, `[{"name":"`+strings.Repeat(long, 600)+`"}]`)
		if got := facts.ElementsOf(p, run).All[0].Name; got != strings.Repeat(long, 500)+"…" {
			t.Errorf("a long name is %q", got)
		}
	}
}

// A step that the new list has not come to is of the person of the old one.
func TestAStepOfAnEarlierListHasNoName(t *testing.T) {
	p, run := owned(t, `[{"name":"Asha Rao"},{"name":"Ravi Menon"}]`, `[{"name":"Asha Rao"},{"name":"Meera Iyer"}]`)
	all := facts.ElementsOf(p, run)
	if got := all.Label("owners[2]", "Owner 2 of 2"); got != "Owner 2 of 2" {
		t.Errorf("the answer about Ravi Menon is labelled %q", got)
	}
	if got := all.Label("owners[1]", "Owner 1 of 2"); got != "Owner · Asha Rao" {
		t.Errorf("the first owner is labelled %q", got)
	}
	if run.Groups[0].Items = nil; len(facts.ElementsOf(p, run).All) != 0 {
		t.Error("a redacted list has elements")
	}
}

func TestARunIsFoundByItsElements(t *testing.T) {
	p, run := owned(t, `[{"name":"Asha Rao","dob":"1980-04-01"},{"name":"a b c d e f g h i j","dob":"1990"},{"name":"12 Station Road"}]`)
	var got []string
	for _, w := range facts.SearchWords(p, run) {
		got = append(got, string(w.Kind)+":"+w.Text)
	}
	want := []string{
		"date:1980-04-01", "person:asha rao 1980-04-01", "name:asha", "name:rao",
		"date:1990", "number:1990", "person:a b c d e f g h i j 1990", "name:a", "name:b", "name:c", "name:d", "name:e",
		"number:12", "name:station", "name:road",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("words (-want +got):\n%s", diff)
	}
	var earlier []string
	for _, w := range facts.EarlierWords(p, run) {
		earlier = append(earlier, string(w.By)+":"+w.Same)
		if !slices.Contains(facts.SearchWords(p, run), w.Key) {
			t.Errorf("the run is not found by %+v", w.Key)
		}
	}
	if diff := cmp.Diff([]string{"person:asha rao 1980-04-01", "person:a b c d e f g h i j 1990"}, earlier); diff != "" {
		t.Errorf("words of earlier runs (-want +got):\n%s", diff)
	}
}
