// JSON of events and data without reflection, for what every step encodes.

package verification

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"github.com/verifyd/verifyd/verification/internal/jsontext"
	"github.com/verifyd/verifyd/verification/internal/texts"
)

// appendValue appends v, which is nested depth levels deep, as json.Marshal encodes
// it. ok is false if v has another type than json.Unmarshal gives a value, or
// something that ParseData refuses or encodes in another form.
func appendValue(b []byte, v any, depth int) (_ []byte, ok bool) {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), true
	case bool:
		return strconv.AppendBool(b, v), true
	case int:
		return strconv.AppendInt(b, int64(v), 10), true
	case float64:
		size := math.Abs(v) // json.Marshal gives smaller ones an exponent
		return strconv.AppendFloat(b, v, 'f', -1, 64), size == 0 || size >= 1e-6 && size < firstInexact
	case json.Number:
		_, message := parseNumber(string(v))
		return append(b, v...), message == ""
	case string:
		return appendEscaped(b, v)
	case []any:
		if v == nil || depth > MaxDepth {
			return b, false
		}
		b = append(b, '[')
		for i, item := range v {
			if i > 0 {
				b = append(b, ',')
			}
			if b, ok = appendValue(b, item, depth+1); !ok {
				return b, false
			}
		}
		return append(b, ']'), true
	case map[string]any:
		if v == nil || depth > MaxDepth {
			return b, false
		}
		return appendObject(b, v, depth)
	}
	return b, false
}

func appendObject(b []byte, v map[string]any, depth int) (_ []byte, ok bool) {
	names := make([]string, 0, 16)
	for name := range v {
		names = append(names, name)
	}
	slices.Sort(names)
	b = append(b, '{')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		if b, ok = appendEscaped(b, name); !ok {
			return b, false
		}
		if b, ok = appendValue(append(b, ':'), v[name], depth+1); !ok {
			return b, false
		}
	}
	return append(b, '}'), true
}

func appendEscaped(b []byte, s string) (_ []byte, ok bool) {
	if jsontext.Plain(s) {
		return append(append(append(b, '"'), s...), '"'), true
	}
	raw, err := json.Marshal(s)
	return append(b, raw...), err == nil && texts.Storable(s)
}
