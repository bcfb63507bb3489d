// Values of CEL become plain JSON values and text.

package expression

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/verifyd/verifyd/verification"
)

// errTooLarge is returned for a value or a text beyond maxValue.
var errTooLarge = fmt.Errorf("the value is larger than %d bytes", maxValue)

// valueSize is what a value or a field's name counts besides the bytes of its text: about
// what JSON needs, with the separators.
const valueSize = 2

// converter makes plain JSON values: nil, bool, float64, json.Number, string, []any and
// map[string]any, with numbers as verification.Data.Map has them. The containers that it
// returns are new. It fails once the values need more than the bytes
// left.
type converter struct{ left int }

// spend counts one more value, or a field's name, with n bytes of text.
func (c *converter) spend(n int) error {
	if c.left -= valueSize + n; c.left < 0 {
		return errTooLarge
	}
	return nil
}

func (c *converter) value(v any, depth int) (any, error) {
	if depth > verification.MaxDepth {
		return nil, fmt.Errorf("the value nests deeper than %d", verification.MaxDepth)
	}
	switch x := v.(type) {
	case types.Null:
		v = nil
	case *types.Optional:
		if x.HasValue() {
			return c.value(x.GetValue(), depth)
		}
		v = nil
	case types.Bool, types.String, types.Bytes, types.Double, types.Int, types.Uint, types.Timestamp, types.Duration:
		if scalar, ok := x.(ref.Val); ok {
			v = scalar.Value()
		}
	}
	switch x := v.(type) {
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, errors.New("the value is not a finite number")
		}
	case int64:
		if v = float64(x); x <= -firstInexact || x >= firstInexact {
			v = json.Number(strconv.FormatInt(x, 10))
		}
	case uint64:
		if v = float64(x); x >= firstInexact {
			v = json.Number(strconv.FormatUint(x, 10))
		}
	case time.Time:
		v = x.UTC().Format(time.RFC3339Nano)
	case time.Duration:
		v = strconv.FormatFloat(x.Seconds(), 'f', -1, 64) + "s"
	case []byte:
		v = base64.StdEncoding.EncodeToString(x)
	}
	text := 0
	switch v := v.(type) {
	case string:
		text = len(v)
	case json.Number:
		text = len(v)
	}
	if err := c.spend(text); err != nil {
		return nil, err
	}
	switch v.(type) {
	case nil, bool, string, float64, json.Number:
		return v, nil
	}
	return c.container(v, depth)
}

func (c *converter) container(v any, depth int) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		object := make(map[string]any, len(v))
		for name, field := range v {
			if err := c.field(object, name, field, depth); err != nil {
				return nil, err
			}
		}
		return object, nil
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			var err error
			if list[i], err = c.value(item, depth+1); err != nil {
				return nil, err
			}
		}
		return list, nil
	case traits.Mapper:
		object := map[string]any{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			name := it.Next()
			s, ok := name.(types.String)
			if !ok {
				return nil, errors.New("the keys of an object must be strings")
			}
			if err := c.field(object, string(s), v.Get(name), depth); err != nil {
				return nil, err
			}
		}
		return object, nil
	case traits.Lister:
		list := []any{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			item, err := c.value(it.Next(), depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		return list, nil
	}
	return nil, errors.New("the value has a type that JSON does not have")
}

// field adds a field to an object at this depth.
func (c *converter) field(object map[string]any, name string, v any, depth int) error {
	if err := c.spend(len(name)); err != nil {
		return err
	}
	v, err := c.value(v, depth+1)
	object[name] = v
	return err
}

// asText returns a plain value as part of a longer text: nothing for null, a string
// as it is, and JSON for anything else.
func asText(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", fmt.Errorf("the value cannot be written: %w", err)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}
