package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

func TestAFieldIsNotWrittenBelowItsLevel(t *testing.T) {
	type part struct {
		Old string
		New string `since:"2"`
	}
	type record struct {
		part

		At     time.Time
		Parts  []part
		ByName map[string]*part
		Any    any
		Raw    []byte
		hidden part
	}
	for name, r := range map[string]record{
		"nothing":           {},
		"what is old":       {part: part{Old: "x"}, At: time.Now(), Raw: []byte("x"), Parts: []part{{Old: "x"}}},
		"a field":           {part: part{New: "x"}},
		"a field in a list": {Parts: []part{{}, {New: "x"}}},
		"a field in a map":  {ByName: map[string]*part{"a": nil, "b": {New: "x"}}},
		"a field in any":    {Any: &part{New: "x"}},
		"unexported":        {hidden: part{New: "x"}},
	} {
		isNew := strings.HasPrefix(name, "a field")
		err := store.CheckFields(r, 1)
		if (err != nil) != isNew || isNew && !strings.Contains(err.Error(), "the field store_test.part.New may be written since level 2") {
			t.Errorf("%s at level 1 = %v, want an error that names the field: %t", name, err, isNew)
		}
		if err := store.CheckFields(r, 2); err != nil {
			t.Errorf("%s at level 2 = %v", name, err)
		}
	}
	if err := store.CheckFields(struct {
		Field string `since:"two"`
	}{"x"}, 1); err == nil {
		t.Error("a tag that is no number = nil, want an error")
	}
}

// BenchmarkCheckLevel checks the commit of a check below the newest level.
func BenchmarkCheckLevel(b *testing.B) {
	c := store.Commit{Events: []rules.Event{
		{At: time.Now(), Fact: rules.ResultRecorded{Node: "pan", Passed: true}}, {At: time.Now(), Fact: rules.Dispatched{Node: "face"}},
	}}
	for b.Loop() {
		_ = store.CheckFields(c, store.Level)
	}
}
