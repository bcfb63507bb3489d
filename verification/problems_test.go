package verification_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification"
)

// tester is the part of testing.T that rapid.T has, too.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// compile returns the program of a valid definition.
func compile(t tester, d verification.Definition) verification.Program {
	t.Helper()
	v := verification.Version{Number: 3, Hash: d.VersionHash(), Definition: d}
	p, err := verification.Compile(context.Background(), workflowID, v, newLanguage(), nil, nil)
	if err != nil {
		t.Fatalf("Compile: %v", err)
	}
	return p
}

// data parses a valid object; empty for none.
func data(t tester, object string) verification.Data {
	t.Helper()
	d, err := verification.ParseData([]byte(object))
	if err != nil {
		t.Fatalf("ParseData(%s): %v", object, err)
	}
	return d
}

// outcome returns the result of a command as text.
func outcome(events []verification.Event, err error) string {
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
	return kinds(events)
}

// kinds names the types of events, in their order.
func kinds(events []verification.Event) string {
	names := make([]string, len(events))
	for i, e := range events {
		names[i] = e.Kind()
	}
	return strings.Join(names, ", ")
}

// fieldsOf returns the fields of an error.
func fieldsOf(t testing.TB, err error) []verification.FieldError {
	t.Helper()
	var e *verification.Error
	if !errors.As(err, &e) {
		t.Fatalf("error = %v, want a *verification.Error", err)
	}
	return e.Fields
}

// invalid is one row of the tables of problems: a change of a valid definition,
// and the problem that is then reported, with its path.
type invalid struct {
	name          string
	change        func(d *verification.Definition)
	path, message string
}

// edit changes one node.
func edit(id verification.NodeID, change func(n *verification.Node)) func(*verification.Definition) {
	return func(d *verification.Definition) {
		n := d.Nodes[id]
		change(&n)
		d.Nodes[id] = n
	}
}

// problemsOf compiles a definition with the providers registry and backup.
func problemsOf(t testing.TB, d verification.Definition) []verification.FieldError {
	t.Helper()
	_, err := verification.Compile(t.Context(), workflowID, verification.Version{Definition: d}, newLanguage(), []string{"backup", "registry"}, nil)
	if err == nil {
		return nil
	}
	if outcome(nil, err) != "invalid" || !strings.HasPrefix(err.Error(), "workflow: the definition is not valid: ") {
		t.Errorf("Compile = %v, want an invalid workflow", err)
	}
	return fieldsOf(t, err)
}

// eachProblem tries every row on its own definition.
func eachProblem(t *testing.T, rows []invalid) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			d := ladder()
			row.change(&d)
			want := []verification.FieldError{{Name: row.path, Message: row.message}}
			if diff := cmp.Diff(want, problemsOf(t, d)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}
