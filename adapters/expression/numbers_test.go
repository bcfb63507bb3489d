package expression_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/workflow"
)

// numbersIn returns a scope with the numbers x and y, once as a declared number of the
// input and once in the data of a check that is not described.
func numbersIn(t interface{ Fatal(args ...any) }, x, y string) (workflow.Scope, workflow.Declarations) {
	object, err := verification.ParseData([]byte(`{"x":` + x + `,"y":` + y + `,"l":[` + x + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	s := workflow.Scope{Input: object, Steps: []workflow.StepValues{{Node: "pan", Status: "passed", Passed: true, Data: object}}}
	d := workflow.Declarations{
		Input: verification.Data(`{"type":"object","properties":{"x":{"type":"number"},"y":{"type":["integer","null"]},` +
			`"l":{"type":"array","items":{"type":"number"}}}}`),
		Steps: map[verification.NodeID]workflow.StepDeclaration{"pan": {Type: workflow.NodeCheck, MayPrecede: true}},
	}
	return s, d
}

// aWhole generates whole numbers, many of them around 53, 63 and 64 bits.
func aWhole() *rapid.Generator[*big.Int] {
	return rapid.Custom(func(t *rapid.T) *big.Int {
		n := new(big.Int).Lsh(big.NewInt(1), rapid.SampledFrom([]uint{0, 20, 52, 53, 54, 62, 63, 64}).Draw(t, "bits"))
		n.Add(n, big.NewInt(rapid.Int64Range(-3, 3).Draw(t, "beside")))
		if rapid.Bool().Draw(t, "negative") {
			n.Neg(n)
		}
		if !n.IsInt64() && !n.IsUint64() {
			n.SetInt64(0)
		}
		return n
	})
}

func TestWholeNumbersCompareExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := aWhole().Draw(t, "x"), aWhole().Draw(t, "y")
		scope, d := numbersIn(t, x.String(), y.String())
		literal := y.String()
		if !y.IsInt64() {
			literal += "u"
		}
		for _, pair := range [][2]string{
			{"input.x", "input.y"},
			{"input.x", "steps.pan.data.y"},
			{"steps.pan.data.x", "steps.pan.data.y"},
			{"input.x", literal},
			{"steps.pan.data.x", literal},
			{"input.l[0]", literal},
		} {
			for operator, want := range map[string]bool{
				"==": x.Cmp(y) == 0, "!=": x.Cmp(y) != 0, "<": x.Cmp(y) < 0, "<=": x.Cmp(y) <= 0, ">": x.Cmp(y) > 0, ">=": x.Cmp(y) >= 0,
			} {
				text := pair[0] + " " + operator + " " + pair[1]
				c, err := language.Condition(text, d)
				if err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				if holds, _, err := c.Holds(scope); err != nil || holds != want {
					t.Errorf("%s with x = %s, y = %s: %t, %v, want %t", text, x, y, holds, err, want)
				}
			}
			text := pair[0] + " in [7, " + pair[1] + "]"
			c, err := language.Condition(text, d)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			want := x.Cmp(y) == 0 || x.Cmp(big.NewInt(7)) == 0
			if holds, _, err := c.Holds(scope); err != nil || holds != want {
				t.Errorf("%s with x = %s, y = %s: %t, %v, want %t", text, x, y, holds, err, want)
			}
		}
	})
}

func TestWholeNumbersAreCalculatedExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := aWhole().Draw(t, "x"), aWhole().Draw(t, "y")
		scope, d := numbersIn(t, x.String(), y.String())
		literal := y.String()
		if !y.IsInt64() {
			literal += "u"
		}
		for operator, want := range map[string]*big.Int{
			"+": new(big.Int).Add(x, y), "-": new(big.Int).Sub(x, y), "*": new(big.Int).Mul(x, y),
		} {
			for _, text := range []string{
				"input.x " + operator + " input.y", "steps.pan.data.x " + operator + " input.y", "steps.pan.data.x " + operator + " " + literal,
			} {
				render, err := language.Template(verification.Data(`{"v":"${`+text+`}"}`), d)
				if err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				got, err := render.Render(scope)
				raw, _ := json.Marshal(got["v"])
				switch {
				case err != nil && want.IsInt64():
					t.Errorf("%s with x = %s, y = %s: %v, want %s", text, x, y, err, want)
				case err == nil && strings.Replace(string(raw), "-0", "0", 1) != want.String() && string(raw) != want.String():
					t.Errorf("%s with x = %s, y = %s: %s, want %s", text, x, y, raw, want)
				}
			}
		}
	})
}

func TestNumbersReachATemplateAsTheyAreWritten(t *testing.T) {
	for _, number := range []string{
		"12345678901234567", "-9223372036854775808", "18446744073709551615", "9007199254740993", "1.50", "1e3", "-0", "0.1234567890123456789", "1.0",
	} {
		scope, d := numbersIn(t, number, "1")
		render, err := language.Template(verification.Data(`{"v":"${input.x}","dyn":"${steps.pan.data.x}","l":"${input.l}","o":"${steps.pan.data}",`+
			`"text":"<${input.x}>","const":`+number+`}`), d)
		if err != nil {
			t.Fatal(err)
		}
		got, err := render.Render(scope)
		if err != nil {
			t.Fatal(err)
		}
		saved, err := verification.NewData(got)
		want := fmt.Sprintf(`{"const":%[1]s,"dyn":%[1]s,"l":[%[1]s],"o":{"l":[%[1]s],"x":%[1]s,"y":1},"text":"\u003c%[1]s\u003e","v":%[1]s}`, number)
		if err != nil || saved.String() != want {
			t.Errorf("rendered %s\nwant     %s, %v", saved, want, err)
		}
	}
}

func TestFunctionsTakeNumbersOfAnySize(t *testing.T) {
	for _, row := range []struct {
		x, text string
		want    any
	}{
		{"12345678901234567", `string(input.x)`, "12345678901234567"},
		{"18446744073709551615", `string(steps.pan.data.x)`, "18446744073709551615"},
		{"12345678", `string(input.x)`, "12345678"},
		{"1234567.5", `string(input.x)`, "1234567.5"},
		{"12345678901234567", `int(input.x) % 10`, 7.0},
		{"1234567", `int(input.x) % 10`, 7.0},
		{"18446744073709551615", `uint(input.x) % 10u`, 5.0},
		{"9007199254740993", `double(input.x)`, 9007199254740992.0},
		{"9007199254740993", `input.x / 3`, 3002399751580331.0},
		{"9007199254740993", `input.x / 2`, 4503599627370496.5},
		{"5", `input.x / 2`, 2.5},
		{"5", `input.x * 1.5`, 7.5},
		{"9007199254740993", `-input.x`, json.Number("-9007199254740993")},
		{"9007199254740991", `input.x + 1`, json.Number("9007199254740992")},
		{"9007199254740993", `[input.x, 1.5]`, []any{json.Number("9007199254740993"), 1.5}},
		{"9007199254740993", `input.x > 1 ? input.x : 0`, json.Number("9007199254740993")},
		{"9007199254740993", `input.?x.orValue(0)`, json.Number("9007199254740993")},
		{"9007199254740993", `input.l.map(n, n + 1)`, []any{json.Number("9007199254740994")}},
		{"9007199254740993", `{"a": steps.pan.data}`, map[string]any{"a": map[string]any{
			"x": json.Number("9007199254740993"), "y": 1.0, "l": []any{json.Number("9007199254740993")},
		}}},
	} {
		scope, d := numbersIn(t, row.x, "1")
		render, err := language.Template(verification.Data(`{"v":"${`+quoted(row.text)+`}"}`), d)
		if err != nil {
			t.Errorf("%s: %v", row.text, err)
			continue
		}
		got, err := render.Render(scope)
		if diff := cmp.Diff(map[string]any{"v": row.want}, got); diff != "" || err != nil {
			t.Errorf("%s of %s: %v (-want +got):\n%s", row.text, row.x, err, diff)
		}
	}
}

// quoted escapes the quotes of an expression for a JSON text.
func quoted(text string) string {
	raw, _ := json.Marshal(text)
	return string(raw[1 : len(raw)-1])
}

func TestANumberOfTooManyBitsIsNotRead(t *testing.T) {
	_, d := numbersIn(t, "1", "1")
	scope := workflow.Scope{Input: verification.Data(`{"x":18446744073709551616}`)} // of an old history
	c, err := language.Condition(`input.x > 1`, d)
	if err != nil {
		t.Fatal(err)
	}
	const want = "input.x has more than 64 bits, so it cannot be read exactly"
	if holds, _, err := c.Holds(scope); holds || err == nil || err.Error() != want {
		t.Errorf("Holds = %t, %v, want %s", holds, err, want)
	}
}

func TestASchemaChecksAllDigits(t *testing.T) {
	s, err := language.Schema(verification.Data(`{"properties":{"x":{"type":"integer","maximum":9007199254740992},"y":{"enum":[9007199254740993,1.0]},"z":{"multipleOf":2}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for object, want := range map[string]string{
		`{"x":9007199254740992,"y":9007199254740993,"z":18446744073709551614}`: "",
		`{"x":9007199254740993}`:      "x must be at most 9007199254740992",
		`{"y":9007199254740992}`:      "y must be 9007199254740993 or 1.0",
		`{"y":1}`:                     "",
		`{"z":18446744073709551615}`:  "z must be a multiple of 2",
		`{"x":1.0}`:                   "",
		`{"x":5.0000000000000000001}`: "x must be a whole number",
	} {
		got := ""
		for _, problem := range s.Check(verification.Data(object)) {
			got += problem.Name + " " + problem.Message
		}
		if got != want {
			t.Errorf("Check(%s) = %q, want %q", object, got, want)
		}
	}
}
