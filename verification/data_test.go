package verification_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
)

func TestParseDataTakesObjects(t *testing.T) {
	for _, c := range []struct{ name, raw, want string }{
		{"nothing", ``, ``},
		{"white space", " \t\r\n", ``},
		{"null", ` null `, ``},
		{"empty object", `{}`, `{}`},
		{"white space inside", "{ \"a\" :\n[1, 2] }\n", `{"a":[1,2]}`},
		{"the order of names", `{"b":1,"a":2}`, `{"b":1,"a":2}`},
		{"numbers as they are", `{"a":1.50,"b":1e2,"c":-0,"d":12345678901234567890}`, `{"a":1.50,"b":1e2,"c":-0,"d":12345678901234567890}`},
		{"the largest whole numbers", `{"a":-9223372036854775808,"b":18446744073709551615}`, `{"a":-9223372036854775808,"b":18446744073709551615}`},
		{"the smallest number", `{"a":5e-324,"b":0e-999,"c":-0.0}`, `{"a":5e-324,"b":0e-999,"c":-0.0}`},
		{"an escaped backslash before u0000", `{"a":"\\u0000"}`, `{"a":"\\u0000"}`},
		{"a surrogate pair", `{"a":"\ud83d\uDE00"}`, `{"a":"\ud83d\uDE00"}`},
		{"braces and digits in a string", `{"a":"{[1e999","b":"\"{"}`, `{"a":"{[1e999","b":"\"{"}`},
		{"what other encoders escape", "{\"a\":\"<b>&\u2028\"}", `{"a":"\u003cb\u003e\u0026\u2028"}`},
		{"both separators", "{\"\u2028\":\"\u2029\u2027\u202a\"}", "{\"\\u2028\":\"\\u2029\u2027\u202a\"}"},
		{"escapes as they are", `{"a":"\"\\\/\b\f\n\r\t\u003C\u2028"}`, `{"a":"\"\\\/\b\f\n\r\t\u003C\u2028"}`},
		{"literals", ` { "a" : [ true , false , null ] , "b" : [ ] , "c" : { } } `, `{"a":[true,false,null],"b":[],"c":{}}`},
		{"a name twice", `{"a":1,"a":2}`, `{"a":1,"a":2}`},
		{"much white space", `{"a":` + strings.Repeat(" ", 10_000) + `1}`, `{"a":1}`},
		{"other scripts", `{"नाम":"आशा"}`, `{"नाम":"आशा"}`},
		{"more than 32 objects and arrays side by side", `{"a":[` + strings.Repeat(`{},[],`, 20) + `0]}`, `{"a":[` + strings.Repeat(`{},[],`, 20) + `0]}`},
		{"32 levels", strings.Repeat(`{"a":`, 31) + `{}` + strings.Repeat(`}`, 31), strings.Repeat(`{"a":`, 31) + `{}` + strings.Repeat(`}`, 31)},
	} {
		got, err := verification.ParseData([]byte(c.raw))
		if err != nil || got.String() != c.want || (got == nil) != (c.want == "") {
			t.Errorf("%s: ParseData = %s, %v, want %s", c.name, got, err, c.want)
		}
		saved, err := json.Marshal(map[string]verification.Data{"data": got})
		if err != nil || got != nil && string(saved) != `{"data":`+c.want+`}` {
			t.Errorf("%s: inside other JSON it is %s, %v, want the same bytes", c.name, saved, err)
		}
	}
}

const tooManyBits = "must be a whole number of at most 64 bits to keep its digits: send it as a string"

func TestParseDataRefusesTheRest(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 32) + `{}` + strings.Repeat(`}`, 32)
	for _, c := range []struct{ name, raw, want string }{
		{"an array", `[]`, "it must be an object"},
		{"a string", `"{}"`, "it must be an object"},
		{"a number", `7`, "it must be an object"},
		{"another kind of space", "\u00a0{}", "it must be an object"},
		{"broken UTF-8", "{\"a\":\"\xff\"}", "it must be valid UTF-8"},
		{"33 levels", deep, "it must not nest deeper than 32"},
		{"33 levels of arrays", `{"a":` + strings.Repeat(`[`, 32) + strings.Repeat(`]`, 32) + `}`, "it must not nest deeper than 32"},
		{"levels without end", strings.Repeat(`{"a":`, 100000), "it must not nest deeper than 32"},
		{"NUL", `{"a":"x\u0000"}`, "it must not contain a NUL character"},
		{"NUL in a name", `{"\u0000":1}`, "it must not contain a NUL character"},
		{"NUL after an escaped backslash", `{"a":"\\\u0000"}`, "it must not contain a NUL character"},
		{"half a pair", `{"a":"\ud83d"}`, "it must not contain half of a surrogate pair"},
		{"half a pair and text", `{"a":"\ud83dxyzabc"}`, "it must not contain half of a surrogate pair"},
		{"half a pair and another escape", `{"a":"\ud83d\u0041"}`, "it must not contain half of a surrogate pair"},
		{"the second half alone", `{"a":"\ude00"}`, "it must not contain half of a surrogate pair"},
		{"a number out of range", `{"a":1e999}`, "invalid: a: " + tooManyBits},
		{"a number out of range below", `{"a":[-1e309]}`, "invalid: a[0]: " + tooManyBits},
		{"one more than 64 bits", `{"x":1,"a":{"b":[{},[1],{"c d":"12","e":18446744073709551616}]}}`, "invalid: a.b[2].e: " + tooManyBits},
		{"one less than 64 bits", `{"a":[[1],2,[3,-9223372036854775809]]}`, "invalid: a[2][1]: " + tooManyBits},
		{"a number too small to tell from zero", `{"a":{},"b":1e-999}`, "invalid: b: must not be a number that a float64 cannot tell from zero: send it as a string"},
		{"a number without end", `{"a":0.` + strings.Repeat("1", 99) + `}`, "invalid: a: must be a number of at most 100 characters: send it as a string"},
		{"a raw NUL", "{\"a\":\"\x00\"}", "it must be valid JSON"},
		{"two objects", `{}{}`, "it must be valid JSON"},
		{"cut off", `{"a":`, "it must be valid JSON"},
		{"cut off in a string", `{"a`, "it must be valid JSON"},
		{"cut off in an escape", `{"a\`, "it must be valid JSON"},
		{"cut off in a code", `{"a\u00`, "it must be valid JSON"},
		{"no code", `{"a":"\u00zz"}`, "it must be valid JSON"},
		{"no number", `{"a":1-2}`, "it must be valid JSON"},
		{"an unknown literal", `{"a":tru}`, "it must be valid JSON"},
		{"no value", `{"a":}`, "it must be valid JSON"},
		{"no name", `{1:2}`, "it must be valid JSON"},
		{"no colon", `{"a" 1}`, "it must be valid JSON"},
		{"a comma too many", `{"a":1,}`, "it must be valid JSON"},
		{"a comma too many in an array", `{"a":[1,]}`, "it must be valid JSON"},
		{"the wrong end", `{"a":[1}`, "it must be valid JSON"},
		{"an unknown escape", `{"a":"\x"}`, "it must be valid JSON"},
		{"a raw control character", "{\"a\":\"\x1f\"}", "it must be valid JSON"},
		{"a number with a leading zero", `{"a":01}`, "it must be valid JSON"},
	} {
		got, err := verification.ParseData([]byte(c.raw))
		if got != nil || flows.Outcome(nil, err) != "invalid" || err.Error() != "data: "+c.want {
			t.Errorf("%s: ParseData = %s, %v, want %s", c.name, got, err, c.want)
		}
	}
}

func TestNewDataEncodesObjects(t *testing.T) {
	for _, none := range []map[string]any{nil, {}} {
		if d, err := verification.NewData(none); d != nil || err != nil {
			t.Errorf("NewData(%v) = %s, %v, want none", none, d, err)
		}
	}
	d, err := verification.NewData(map[string]any{"b": 1, "a": "<", "c": nil})
	if err != nil || d.String() != `{"a":"\u003c","b":1,"c":null}` {
		t.Errorf("NewData = %s, %v", d, err)
	}
	for want, v := range map[string]any{
		"it cannot be written as JSON":        math.NaN(),
		"it must not contain a NUL character": "\x00",
	} {
		if _, err := verification.NewData(map[string]any{"a": v}); flows.Outcome(nil, err) != "invalid" || err.Error() != "data: "+want {
			t.Errorf("NewData(%v) = %v, want %s", v, err, want)
		}
	}
}

// NewData has two encoders: its own for what JSON decodes to, and encoding/json.
func TestNewDataEncodesAsEncodingJSONDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		others := rapid.Bool().Draw(t, "other types and values")
		m := anyObject(0, others).Draw(t, "object")
		raw, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		want, wantErr := verification.ParseData(raw)
		if len(m) == 0 {
			want = nil
		}
		got, err := verification.NewData(m)
		if string(got) != string(want) || (got == nil) != (want == nil) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Errorf("NewData = %s, %v\nwant %s, %v", got, err, want, wantErr)
		}
	})
	deep := map[string]any{}
	for range verification.MaxDepth - 1 {
		deep = map[string]any{"a": deep}
	}
	if d, err := verification.NewData(deep); err != nil || len(d) != 6*(verification.MaxDepth-1)+2 {
		t.Errorf("NewData of %d levels = %s, %v", verification.MaxDepth, d, err)
	}
	if _, err := verification.NewData(map[string]any{"a": deep}); flows.Outcome(nil, err) != "invalid" {
		t.Errorf("NewData of %d levels = %v, want ErrInvalid", verification.MaxDepth+1, err)
	}
}

// anyObject generates objects of what JSON decodes to. With others it adds values that
// NewData refuses or leaves to encoding/json: one of them is enough for the whole object.
func anyObject(depth int, others bool) *rapid.Generator[map[string]any] {
	return rapid.MapOfN(rapid.String(), anyValue(depth+1, others), 0, 5)
}

func anyValue(depth int, others bool) *rapid.Generator[any] {
	values := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Just[any]("<&>\u2028"), rapid.Just[any](json.Number("1.50")),
		rapid.Bool().AsAny(), rapid.Int().AsAny(), rapid.Float64Range(-1e20, 1e20).AsAny(), rapid.StringMatching(`[ -~é]{0,4}`).AsAny(),
	}
	if others {
		values = append(values,
			rapid.Just[any]([]any(nil)), rapid.Just[any](map[string]any(nil)), rapid.Just[any]([]string{"a"}), rapid.Just[any](int64(7)),
			rapid.Just[any]("a\x00b"), rapid.Just[any]("\xff"), rapid.Just[any](json.Number("1e999")),
			rapid.Float64().AsAny(), rapid.Float64Range(-1e-5, 1e-5).AsAny(), rapid.String().AsAny(),
		)
	}
	if depth < 4 {
		values = append(values, anyObject(depth, others).AsAny(), rapid.SliceOfN(anyValue(depth+1, others), 0, 4).AsAny())
	}
	return rapid.OneOf(values...)
}

func TestDataDecodesToAMap(t *testing.T) {
	for _, c := range []struct {
		d    verification.Data
		want map[string]any
	}{
		{nil, map[string]any{}},
		{verification.Data(`{"a":1,"b":[true,null]}`), map[string]any{"a": 1.0, "b": []any{true, nil}}},
		{verification.Data(`[1]`), map[string]any{}},
		{verification.Data(`{`), map[string]any{}},
	} {
		if diff := cmp.Diff(c.want, c.d.Map()); diff != "" {
			t.Errorf("Map of %s (-want +got):\n%s", c.d, diff)
		}
	}
}

func TestDataIsJSONItself(t *testing.T) {
	var v struct {
		Some verification.Data `json:"some"`
		None verification.Data `json:"none"`
	}
	v.None = verification.Data(`{"old":1}`)
	raw := []byte(`{"some":{"a":1},"none":null}`)
	if err := json.Unmarshal(raw, &v); err != nil || v.Some.String() != `{"a":1}` || v.None != nil {
		t.Fatalf("Unmarshal = %+v, %v", v, err)
	}
	kept := v.Some
	if err := json.Unmarshal([]byte(`{"some":{"b":2}}`), &v); err != nil || kept.String() != `{"a":1}` {
		t.Errorf("decoding again wrote into what was decoded before: %s, %v", kept, err)
	}
	if out, err := json.Marshal(v); err != nil || string(out) != `{"some":{"b":2},"none":null}` {
		t.Errorf("Marshal = %s, %v", out, err)
	}
}

func FuzzParseData(f *testing.F) {
	for _, seed := range []string{
		``, `null`, `{}`, `{"a":[1,-2.5e3,"\ud83d\ude00"]}`, `{"a":"\u0000"}`, `{"a":1e999}`, "{\"\xff\":1}", `{"a":"<"}`, `{} {}`, `{"\ud800`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, err := verification.ParseData(raw)
		if err != nil {
			if d != nil || flows.Outcome(nil, err) != "invalid" {
				t.Errorf("ParseData = %s, %v, want none and an ErrInvalid", d, err)
			}
			return
		}
		if d == nil {
			return
		}
		var m map[string]any
		if err := json.Unmarshal(d, &m); err != nil {
			t.Fatalf("%s does not decode: %v", d, err)
		}
		again, err := verification.ParseData(d)
		if err != nil || string(again) != string(d) {
			t.Errorf("%s parses to %s, %v, want itself", d, again, err)
		}
		saved, err := json.Marshal(d)
		if err != nil || string(saved) != string(d) {
			t.Errorf("%s is saved as %s, %v, want itself", d, saved, err)
		}
		if compacted, err := json.Marshal(json.RawMessage(raw)); err != nil || string(compacted) != string(d) {
			t.Errorf("%s parses to %s, want %s as encoding/json compacts it, %v", raw, d, compacted, err)
		}
		if strings.Contains(textsOf(m), "\x00") {
			t.Errorf("%s holds a NUL", d)
		}
		var was map[string]any
		if err := json.Unmarshal(raw, &was); err != nil || !cmp.Equal(was, m) {
			t.Errorf("%s became %s, %v", raw, d, err)
		}
	})
}

// textsOf joins every name and every text of a decoded object.
func textsOf(v any) string {
	var b strings.Builder
	switch v := v.(type) {
	case string:
		return v
	case []any:
		for _, e := range v {
			b.WriteString(textsOf(e))
		}
	case map[string]any:
		for name, e := range v {
			b.WriteString(name + textsOf(e))
		}
	}
	return b.String()
}

func TestDataOfPanicsForWhatCannotBeSaved(t *testing.T) {
	if got := string(verification.DataOf(map[string]any{"a": 1})); got != `{"a":1}` {
		t.Errorf("DataOf = %s", got)
	}
	defer func() {
		if err, ok := recover().(error); !ok || !errors.Is(err, verification.ErrInvalid) {
			t.Errorf("DataOf of a channel panics with %v, want ErrInvalid", err)
		}
	}()
	verification.DataOf(map[string]any{"a": make(chan int)})
}
