package workflow_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestEveryProblemOfARescreen(t *testing.T) {
	described := map[string]verification.ProviderDescription{
		"registry": {Rescreens: true, Lists: []string{"peps", "sanctions"}}, "backup": {},
	}
	type node = workflow.Node
	for _, row := range []struct {
		name          string
		change        func(n *node)
		path, message string // empty for no problem
	}{
		{"nothing", func(*node) {}, "", ""},
		{"the list of with", func(n *node) { n.With = verification.Data(`{"list":"sanctions"}`) }, "", ""},
		{"an expression in with", func(n *node) { n.With = verification.Data(`{"list":"${input.list}"}`) }, "", ""},
		{"a provider that is not described", func(n *node) { n.Provider = "elsewhere" }, "", ""},
		{"no list", func(n *node) { n.Rescreen.List = "" }, ".list", "is required"},
		{"a long list", func(n *node) { n.Provider, n.Rescreen.List = "elsewhere", strings.Repeat("l", 201) }, ".list", "must be at most 200 characters"},
		{"another time", func(n *node) { n.Rescreen.Every = "day" }, ".every", "must be change"},
		{"another list than with", func(n *node) { n.With = verification.Data(`{"list":"peps"}`) }, ".list", `must be the list in with, "peps"`},
		{"a list that is not there", func(n *node) { n.Rescreen.List = "blocked" }, ".list", `there is no list "blocked" (supported: peps, sanctions)`},
		{"a misspelt list", func(n *node) { n.Rescreen.List = "sanction" }, ".list", `there is no list "sanction"; did you mean sanctions?`},
		{"a provider that screens nothing", func(n *node) { n.Provider = "backup" }, "", `the provider "backup" does not screen completed runs again`},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := flows.Screening("pan")
			flows.Edit("pan", row.change)(&d)
			anything := &recorder{seen: map[string][]workflow.Declarations{}}
			_, err := workflow.Compile(t.Context(), flows.WorkflowID, workflow.Version{Definition: d}, anything, nil, described)
			if row.message == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			want := []verification.FieldError{{Name: "nodes.pan.rescreen" + row.path, Message: row.message}}
			if diff := cmp.Diff(want, flows.FieldsOf(t, err)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
	unknown := map[string]verification.ProviderDescription{"registry": {Rescreens: true}}
	if _, err := workflow.Compile(t.Context(), flows.WorkflowID, workflow.Version{Definition: flows.Screening("pan")}, flows.NewLanguage(), nil, unknown); err != nil {
		t.Errorf("with lists that are not known: %v, want no problem", err)
	}
}
