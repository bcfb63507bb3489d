// What tests of the rules and of the language share.

package flows

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Tester is the part of testing.T that rapid.T has, too.
type Tester interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// Screener is the name of a provider that screens. Providers has its description.
const Screener = "lists"

// Providers returns the descriptions of providers that Compile knows.
func Providers() map[string]verification.ProviderDescription {
	return map[string]verification.ProviderDescription{Screener: {Screens: true, Rescreens: true}}
}

// Compile returns the program of a valid definition.
func Compile(t Tester, d workflow.Definition) workflow.Program {
	t.Helper()
	v := workflow.Version{Number: 3, Hash: d.VersionHash(), Definition: d}
	p, err := workflow.Compile(context.Background(), WorkflowID, v, NewLanguage(), nil, Providers())
	if err != nil {
		t.Fatalf("Compile: %v", err)
	}
	return p
}

// Data parses a valid object; empty for none.
func Data(t Tester, object string) verification.Data {
	t.Helper()
	d, err := verification.ParseData([]byte(object))
	if err != nil {
		t.Fatalf("ParseData(%s): %v", object, err)
	}
	return d
}

// Outcome returns the result of a command as text.
func Outcome(events []rules.Event, err error) string {
	for _, refusal := range []struct {
		kind error
		word string
	}{
		{verification.ErrNotFound, "not found"},
		{verification.ErrConflict, "conflict"},
		{verification.ErrInvalid, "invalid"},
		{verification.ErrNotOpen, "not open"},
	} {
		if errors.Is(err, refusal.kind) {
			return refusal.word
		}
	}
	switch {
	case err != nil:
		return "error: " + err.Error()
	case len(events) == 0:
		return "nothing"
	}
	return Kinds(events)
}

// Kinds names the types of events, in their order.
func Kinds(events []rules.Event) string {
	names := make([]string, len(events))
	for i, e := range events {
		names[i] = e.Kind()
	}
	return strings.Join(names, ", ")
}

// FieldsOf returns the fields of an error.
func FieldsOf(t testing.TB, err error) []verification.FieldError {
	t.Helper()
	var e *verification.Error
	if !errors.As(err, &e) {
		t.Fatalf("error = %v, want a *verification.Error", err)
	}
	return e.Fields
}

// Edit changes one node.
func Edit(id verification.NodeID, change func(n *workflow.Node)) func(*workflow.Definition) {
	return func(d *workflow.Definition) {
		n := d.Nodes[id]
		change(&n)
		d.Nodes[id] = n
	}
}
