package schematext_test

import (
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/verifyd/verifyd/internal/schematext"
)

func TestAllowedValuesAreListedIfTheyAreFew(t *testing.T) {
	for _, tt := range []struct {
		values []any
		want   string
	}{
		{[]any{}, "must be one of the allowed values"},
		{[]any{"a"}, `must be "a"`},
		{[]any{"a", nil, true}, `must be "a", null or true`},
		{make([]any, 11), "must be one of the allowed values"},
		{[]any{[]any{1}}, "must be one of the allowed values"},
	} {
		if got := schematext.Message(&kind.Enum{Want: tt.values}); got != tt.want {
			t.Errorf("Message(%v) = %q, want %q", tt.values, got, tt.want)
		}
	}
}
