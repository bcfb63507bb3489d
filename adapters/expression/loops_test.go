package expression_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// What a loop reads of its elements tells a condition on what a screening found from one on whether it passed.
func TestReadPathsSayWhatLoopsRead(t *testing.T) {
	c, d := expression.New(), companyDeclarations()
	for text, want := range map[string][]string{
		"steps.owners.items.exists(o, !o.passed)":                                             {"steps.owners.items", "steps.owners.items[].passed"},
		"steps.owners.items.all(o, o.clear)":                                                  {"steps.owners.items", "steps.owners.items[].clear"},
		"steps.owners.items[0].passed":                                                        {"steps.owners.items[0].passed"},
		"size(steps.owners.items) == 2":                                                       {"steps.owners.items"},
		"steps.owners.items.all(o, o.passed && o.data.name == 'x')":                           {"steps.owners.items", "steps.owners.items[].data.name", "steps.owners.items[].passed"},
		"steps.owners.items.filter(o, o.passed).exists(p, has(p.data.name))":                  {"steps.owners.items", "steps.owners.items[].data.name", "steps.owners.items[].passed"},
		"steps.owners.items.map(o, o.passed).all(p, p)":                                       {"steps.owners.items", "steps.owners.items[].passed"},
		"steps.each_address.items.exists(i, i.members.bureau.?data.?name.orValue('') == 'x')": {"steps.each_address.items", "steps.each_address.items[].members.bureau.data.name"},
		"steps.each_address.items.all(i, [1].all(o, i.passed))":                               {"steps.each_address.items", "steps.each_address.items[].passed"},
		"['a'].all(o, o == 'a' && steps.address.passed)":                                      {"steps.address.passed"},
	} {
		condition, err := c.Condition(text, d)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := readPaths(t, condition)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	template, err := c.Template(verification.Data(`{"low":"${steps.owners.items.all(o, o.passed)}"}`), d)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"steps.owners.items", "steps.owners.items[].passed"}, readPaths(t, template)); diff != "" {
		t.Errorf("a template (-want +got):\n%s", diff)
	}
}

// readPaths returns the paths that a text reads.
func readPaths(t *testing.T, text any) []string {
	t.Helper()
	r, ok := text.(workflow.Reader)
	if !ok {
		t.Fatalf("%v does not say what it reads", text)
	}
	return r.ReadPaths()
}
