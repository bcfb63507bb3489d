package storetest_test

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/storetest"
)

// What the clauses save must leave no field of anything at its zero value
// everywhere: a store that forgets it would pass.

func TestClausesSaveEveryKindOfEvent(t *testing.T) {
	saved := savedByClauses(t)
	for _, name := range factTypes(t) {
		if !slices.Contains(saved.types(), "verification."+name) {
			t.Errorf("no clause saves an event with %s", name)
		}
	}
}

func TestClausesFillInEveryField(t *testing.T) {
	saved := savedByClauses(t)
	for _, typ := range []string{"Started", "Failed", "Summary", "RunError", "Workflow", "Version", "Definition", "Node", "InputField", "Tenant", "Account", "IdempotencyRecord", "Delivery"} {
		if !slices.Contains(saved.types(), "verification."+typ) {
			t.Errorf("no clause saves a %s", typ)
		}
	}
	for field, filled := range saved {
		if !filled && !settledOnly(field) {
			t.Errorf("no clause saves %s filled in", field)
		}
	}
}

// settledOnly names what a key is never claimed with.
func settledOnly(field string) bool {
	switch field {
	case "verification.IdempotencyRecord.Settled", "verification.IdempotencyRecord.Result", "verification.IdempotencyRecord.Decision":
		return true
	}
	return false
}

// fields tells of each field of a struct whether it was ever filled in.
type fields map[string]bool

func (f fields) types() []string {
	var all []string
	for name := range f {
		all = append(all, name[:strings.LastIndex(name, ".")])
	}
	return all
}

// see walks a value and notes which fields are filled in.
func (f fields) see(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			f.see(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			f.see(v.Index(i))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			f.see(v.MapIndex(k))
		}
	case reflect.Struct:
		if v.Type().PkgPath() != reflect.TypeFor[verification.Event]().PkgPath() {
			return
		}
		if v.NumField() == 0 {
			f[v.Type().String()+".(nothing)"] = true
		}
		for i := range v.NumField() {
			name := v.Type().String() + "." + v.Type().Field(i).Name
			f[name] = f[name] || !v.Field(i).IsZero()
			f.see(v.Field(i))
		}
	default:
	}
}

// savedByClauses runs the suite and notes all that it saves.
func savedByClauses(t *testing.T) fields {
	t.Helper()
	saved := fields{}
	note := make(chan any)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for v := range note {
			saved.see(reflect.ValueOf(v))
		}
	}()
	listening := when(func(b *broken, sound storetest.Store) {
		b.append = func(ctx context.Context, t tenantID, id runID, seq int, a verification.Commit) error {
			note <- a
			return sound.Append(ctx, t, id, seq, a)
		}
		b.saveWorkflow = func(ctx context.Context, t tenantID, w verification.Workflow, added *verification.Version) error {
			note <- w
			note <- added
			return sound.SaveWorkflow(ctx, t, w, added)
		}
		b.saveAccount = func(ctx context.Context, a verification.Account) error {
			note <- a
			return sound.SaveAccount(ctx, a)
		}
		b.saveTenant = func(ctx context.Context, v verification.Tenant) error {
			note <- v
			return sound.SaveTenant(ctx, v)
		}
		b.claimKey = func(ctx context.Context, t tenantID, r record) (record, error) {
			note <- r
			return sound.ClaimIdempotencyKey(ctx, t, r)
		}
		b.saveDelivery = func(ctx context.Context, t tenantID, d verification.Delivery) error {
			note <- d
			return sound.SaveDelivery(ctx, t, d)
		}
	})
	for _, c := range storetest.Clauses() {
		if err := c.Check(t.Context(), listening(memory.New())); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
	close(note)
	<-done
	return saved
}

// factTypes reads the source of the rules for the types that are a Fact.
func factTypes(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../event.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Name.Name == "kind" && f.Recv != nil {
			names = append(names, fmt.Sprint(f.Recv.List[0].Type))
		}
	}
	if len(names) < 10 {
		t.Fatalf("event.go has %d types with a kind, want all facts", len(names))
	}
	return names
}
