package rules_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// factTag returns what the tag of a field says a redaction does with it, and whether the field counts.
func factTag(f reflect.StructField) (does string, counted bool) {
	does, rest, _ := strings.Cut(f.Tag.Get("fact"), ",")
	return does, rest == "counted"
}

func TestEachFieldSaysWhatIsLeftOfIt(t *testing.T) {
	var check func(typ reflect.Type)
	check = func(typ reflect.Type) {
		for f := range typ.Fields() {
			does, _ := factTag(f)
			if !slices.Contains([]string{"kept", "emptied", "blank", "flags", "reference", "inside"}, does) {
				t.Errorf("%s.%s has the tag %q: say what a redaction leaves of the field", typ.Name(), f.Name, does)
			}
			if does == "inside" {
				check(f.Type.Elem())
			}
		}
	}
	for _, c := range allFacts() {
		check(reflect.TypeOf(c.fact))
	}
}

func TestEachFactSaysWhereElseItIsTold(t *testing.T) {
	for kind, c := range allFacts() {
		about := rules.Event{Fact: c.fact}.About()
		if about.Kind != kind || about.File < rules.FileNone || about.File > rules.FileBoth {
			t.Errorf("%s: about is %+v; it must say its kind, and which part of a person's file has it", kind, about)
		}
	}
}

// TestTheAuditTrailKnowsTheActionsOfFacts compares the actions of facts with those of the trail: each of the trail is of a fact, or is
// one of what no history has.
func TestTheAuditTrailKnowsTheActionsOfFacts(t *testing.T) {
	elsewhere := slices.Concat(store.AuditReads(), []store.AuditAction{
		store.AuditPersonExported, store.AuditExported, store.AuditRunDeleted,
		store.AuditAccountCreated, store.AuditAccountSaved, store.AuditAccountDisabled, store.AuditAccountEnabled,
		store.AuditKeyRotated, store.AuditTokenIssued, store.AuditReviewerSignedOut,
		store.AuditWorkflowSaved, store.AuditWorkflowPublished, store.AuditWorkflowRetired, store.AuditTenantSaved,
	})
	told := map[store.AuditAction]bool{}
	for kind, c := range allFacts() {
		action := store.AuditAction(rules.Event{Fact: c.fact}.About().Audit)
		if action == "" {
			continue
		}
		if told[action] = true; !slices.Contains(store.AuditActions(), action) {
			t.Errorf("%s: the audit trail has no action %q", kind, action)
		}
		if slices.Contains(elsewhere, action) {
			t.Errorf("%s: its action %q is listed here as one that no history has", kind, action)
		}
	}
	for _, action := range store.AuditActions() {
		if !told[action] && !slices.Contains(elsewhere, action) {
			t.Errorf("no fact has the action %q: name it in the row of its fact, or list it here", action)
		}
	}
}

// TestAFactCountsTheFieldsThatSaySo fills each field alone, and looks at whether the fact adds bytes to a history.
func TestAFactCountsTheFieldsThatSaySo(t *testing.T) {
	for kind, c := range allFacts() {
		typ := reflect.TypeOf(c.fact)
		for i := range typ.NumField() {
			v := reflect.New(typ).Elem()
			fillCanaries(v.Field(i))
			fact, _ := v.Interface().(rules.Fact)
			_, counted := factTag(typ.Field(i))
			want := 0
			if counted && kind != "verdict_proposed" { // the notes of a proposal do not count
				want = lengthOf(v.Field(i))
			}
			if got := rules.BytesOf(fact); got != want || counted && lengthOf(v.Field(i)) == 0 {
				t.Errorf("%s: with %s, the fact adds %d bytes, want %d", kind, typ.Field(i).Name, got, want)
			}
		}
	}
}

// lengthOf returns the length of a text, of data or of texts.
func lengthOf(v reflect.Value) (n int) {
	if texts, ok := v.Interface().([]string); ok {
		for _, text := range texts {
			n += len(text)
		}
		return n
	}
	if v.Kind() == reflect.String || v.Type() == reflect.TypeFor[verification.Data]() {
		return v.Len()
	}
	return 0
}
