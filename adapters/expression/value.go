// From values of CEL to plain JSON values and to text.

package expression

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/traits"

	"github.com/verifyd/verifyd/verification"
)

// maxExact is the last of the whole numbers that a float64 holds all of.
const maxExact = 1 << 53

// errTooLarge is returned for a value, or a text, beyond maxValue.
var errTooLarge = fmt.Errorf("the value is larger than %d bytes", maxValue)

// valueSize is what a value, or a field's name, counts for beside the bytes of
// its text: no JSON is shorter.
const valueSize = 2

// plainer makes plain JSON values: nil, bool, float64, string, []any and
// map[string]any. A whole number that float64 does not hold stays an int64 or
// a uint64. The containers that it returns are new ones. It fails once it has
// made left bytes.
type plainer struct{ left int }

// spend counts one more value, or a field's name, with n bytes of text.
func (p *plainer) spend(n int) error {
	if p.left -= valueSize + n; p.left < 0 {
		return errTooLarge
	}
	return nil
}

// textSize returns the bytes of a string, and of what becomes one.
func textSize(v any) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case types.String:
		return len(v)
	case types.Bytes:
		return base64.StdEncoding.EncodedLen(len(v))
	}
	return 0
}

func (p *plainer) value(v any, depth int) (any, error) {
	if err := p.spend(textSize(v)); err != nil {
		return nil, err
	}
	if depth > verification.MaxDepth {
		return nil, fmt.Errorf("the value nests deeper than %d", verification.MaxDepth)
	}
	switch v := v.(type) {
	case nil, types.Null:
		return nil, nil
	case bool, string:
		return v, nil
	case types.Bool:
		return bool(v), nil
	case types.String:
		return string(v), nil
	case float64:
		return number(v)
	case types.Double:
		return number(float64(v))
	case int64:
		return whole(v), nil
	case types.Int:
		return whole(int64(v)), nil
	case types.Uint:
		if v > math.MaxInt64 {
			return uint64(v), nil
		}
		return whole(int64(v)), nil
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano), nil
	case types.Timestamp:
		return v.UTC().Format(time.RFC3339Nano), nil
	case types.Duration:
		s, _ := v.ConvertToType(types.StringType).(types.String)
		return string(s), nil
	case types.Bytes:
		return base64.StdEncoding.EncodeToString(v), nil
	case *types.Optional:
		if !v.HasValue() {
			return nil, nil
		}
		return p.value(v.GetValue(), depth)
	}
	return p.container(v, depth)
}

func (p *plainer) container(v any, depth int) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		object := make(map[string]any, len(v))
		for name, field := range v {
			if err := p.field(object, name, field, depth); err != nil {
				return nil, err
			}
		}
		return object, nil
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			var err error
			if list[i], err = p.value(item, depth+1); err != nil {
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
			if err := p.field(object, string(s), v.Get(name), depth); err != nil {
				return nil, err
			}
		}
		return object, nil
	case traits.Lister:
		list := []any{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			item, err := p.value(it.Next(), depth+1)
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
func (p *plainer) field(object map[string]any, name string, v any, depth int) error {
	if err := p.spend(len(name)); err != nil {
		return err
	}
	v, err := p.value(v, depth+1)
	object[name] = v
	return err
}

func number(f float64) (any, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, errors.New("the value is not a finite number")
	}
	return f, nil
}

func whole(i int64) any {
	if i >= -maxExact && i <= maxExact {
		return float64(i)
	}
	return i
}

// asText writes a plain value inside a longer text: nothing for null, and JSON
// for anything but a string.
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
