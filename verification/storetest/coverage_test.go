// Tests of what the clauses cover: every kind of event, and every field of what is saved.

package storetest_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/storetest"
)

// Every field of every saved type must be set in at least one value: otherwise a
// store that drops the field would pass.

func TestClausesSaveEveryKindOfEvent(t *testing.T) {
	saved := savedByClauses(t)
	for _, name := range factTypes(t) {
		if !slices.Contains(saved.types(), "rules."+name) {
			t.Errorf("no clause saves an event with %s", name)
		}
	}
}

func TestClausesFillInEveryField(t *testing.T) {
	saved := savedByClauses(t)
	for _, typ := range []string{
		"rules.Started", "rules.Failed", "rules.Summary", "rules.RunError", "rules.Delivery", "rules.Claim",
		"workflow.Workflow", "workflow.Version", "workflow.Definition", "workflow.Node", "workflow.InputField",
		"verification.Tenant", "verification.Account",
		"store.Commit", "store.Setup", "store.RetentionMark", "store.LedgerMark", "verification.Erasure", "store.Ages", "store.IdempotencyRecord", "store.RescreenPass", "store.RunRecord", "store.WorkRecord", "store.Measure",
	} {
		if !slices.Contains(saved.types(), typ) {
			t.Errorf("no clause saves a %s", typ)
		}
	}
	for field, filled := range saved {
		if !filled && field != "workflow.InputField.BirthOf" { // which workflow.Restore sets, and no store saves
			t.Errorf("no clause saves %s with a value", field)
		}
	}
}

// fields maps each field of the structs, such as rules.Started.Version, to whether it was
// set in any value.
type fields map[string]bool

func (f fields) types() []string {
	var all []string
	for name := range f {
		all = append(all, name[:strings.LastIndex(name, ".")])
	}
	return all
}

// see records which fields are set in a value.
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
		if !strings.HasPrefix(v.Type().PkgPath(), reflect.TypeFor[verification.Data]().PkgPath()) {
			return
		}
		if v.NumField() == 0 {
			f[v.Type().String()+".(nothing)"] = true
		}
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if field.Tag.Get("json") == "-" && !v.Type().Implements(reflect.TypeFor[json.Marshaler]()) {
				continue // only a fold sets it
			}
			name := v.Type().String() + "." + field.Name
			f[name] = f[name] || !v.Field(i).IsZero()
			f.see(v.Field(i))
		}
	default:
	}
}

// savedByClauses runs the clauses and records which fields of the saved values they set.
func savedByClauses(t *testing.T) fields {
	t.Helper()
	saved := fields{}
	for _, c := range storetest.Clauses() {
		b := working().broken(func(*broken, stores) {})
		if err := c.Check(t.Context(), b, b); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
		for _, call := range b.AppendCalls() {
			saved.see(reflect.ValueOf(call.C))
		}
		for _, call := range b.SaveWorkflowCalls() {
			saved.see(reflect.ValueOf(call.W))
			saved.see(reflect.ValueOf(call.Added))
		}
		for _, call := range b.SaveSetupCalls() {
			saved.see(reflect.ValueOf(call.S))
		}
		for _, call := range b.HoldPassCalls() {
			held := call.P
			held.StartedAt, held.EndedAt, held.Runs = call.Now, call.Now, 1 // HoldPass sets them
			saved.see(reflect.ValueOf(held))
		}
		for _, call := range b.AppendAuditCalls() {
			saved.see(reflect.ValueOf(call.Entries))
		}
		for _, call := range b.SaveRecordsCalls() {
			saved.see(reflect.ValueOf(call.Records))
		}
		for _, call := range b.ChangeCalls() {
			saved.see(reflect.ValueOf(call.Rows))
		}
		for _, call := range b.ForgetCalls() {
			saved.see(reflect.ValueOf(call.Before))
		}
		for _, call := range b.ClaimCalls() {
			saved.see(reflect.ValueOf(call.C))
		}
	}
	return saved
}

// factTypes reads the types that implement Fact from event.go.
func factTypes(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../rules/event.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Name.Name == "about" && f.Recv != nil {
			names = append(names, fmt.Sprint(f.Recv.List[0].Type))
		}
	}
	if len(names) < 10 {
		t.Fatalf("event.go has %d types with a row, want all facts", len(names))
	}
	return names
}
