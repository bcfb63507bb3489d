package verification_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/verifyd/verifyd/verification"
)

func TestWholeNumbersOfJSONAreExact(t *testing.T) {
	for _, c := range []struct {
		text string
		want any // nil for a refusal
	}{
		{"0", int64(0)},
		{"-0", int64(0)},
		{"0.000", int64(0)},
		{"0e999999999999999999999", int64(0)},
		{"1.0", int64(1)},
		{"1e3", int64(1000)},
		{"1E+3", int64(1000)},
		{"-12.50e1", int64(-125)},
		{"100e-2", int64(1)},
		{"9007199254740991", int64(9007199254740991)},
		{"9007199254740992", int64(9007199254740992)},
		{"9007199254740993", int64(9007199254740993)},
		{"9007199254740993.0", int64(9007199254740993)},
		{"9.007199254740993e15", int64(9007199254740993)},
		{"-9007199254740993", int64(-9007199254740993)},
		{"9223372036854775807", int64(9223372036854775807)},
		{"-9223372036854775808", int64(-9223372036854775808)},
		{"-9223372036854775809", nil},
		{"9223372036854775808", uint64(9223372036854775808)},
		{"1.8446744073709551615e19", uint64(18446744073709551615)},
		{"18446744073709551615", uint64(18446744073709551615)},
		{"18446744073709551616", nil},
		{"1e20", nil},
		{"1e999999999999999999999", nil},
		{"0.5", 0.5},
		{"9007199254740993.5", 9007199254740994.0},
		{"5.0000000000000000001", 5.0},
		{"1e-999999999999999999999", nil},
		{strings.Repeat("1", 101), nil},
		{"", nil},
		{"-", nil},
		{"01", nil},
		{"1.", nil},
		{".5", nil},
		{"+1", nil},
		{"1e", nil},
		{"1e+-1", nil},
		{"0x10", nil},
		{"Infinity", nil},
		{"NaN", nil},
		{"1_000", nil},
		{" 1", nil},
	} {
		got, err := verification.ParseNumber(json.Number(c.text))
		if got != c.want || (err == nil) != (c.want != nil) {
			t.Errorf("ParseNumber(%s) = %T %v, %v, want %T %v", c.text, got, got, err, c.want, c.want)
		}
	}
}

// aNumber generates numbers of JSON, many of them around the limits of 53, 63 and 64 bits.
func aNumber() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		n := new(big.Int).Lsh(big.NewInt(1), rapid.SampledFrom([]uint{0, 1, 52, 53, 54, 62, 63, 64, 65, 80}).Draw(t, "bits"))
		n.Add(n, big.NewInt(rapid.Int64Range(-3, 3).Draw(t, "beside")))
		if rapid.Bool().Draw(t, "negative") {
			n.Neg(n)
		}
		text := n.String()
		if zeros := rapid.IntRange(0, 3).Draw(t, "zeros"); zeros > 0 {
			text += "." + strings.Repeat("0", zeros-1) + rapid.SampledFrom([]string{"0", "5"}).Draw(t, "fraction")
		}
		if rapid.Bool().Draw(t, "with an exponent") {
			text += fmt.Sprintf("e%d", rapid.IntRange(-25, 25).Draw(t, "exponent"))
		}
		return text
	})
}

func TestParseNumberAgreesWithMathBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := aNumber().Draw(t, "number")
		want, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatalf("math/big does not take %s", text)
		}
		got, err := verification.ParseNumber(json.Number(text))
		switch got := got.(type) {
		case int64:
			if want.Cmp(new(big.Rat).SetInt64(got)) != 0 {
				t.Errorf("ParseNumber(%s) = %d", text, got)
			}
		case uint64:
			if want.Cmp(new(big.Rat).SetUint64(got)) != 0 || want.Num().IsInt64() {
				t.Errorf("ParseNumber(%s) = %d", text, got)
			}
		case float64:
			if nearest, _ := want.Float64(); want.IsInt() || got != nearest {
				t.Errorf("ParseNumber(%s) = %v, want %v", text, got, nearest)
			}
		default:
			if err == nil || !want.IsInt() || want.Num().IsInt64() || want.Num().IsUint64() {
				t.Errorf("ParseNumber(%s) = %v, want a number", text, err)
			}
		}
	})
}

func TestDecodedNumbersKeepTheirDigits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := json.Number(aNumber().Draw(t, "number"))
		if _, err := verification.ParseNumber(number); err != nil {
			return
		}
		d, err := verification.ParseData([]byte(`{"a":[` + string(number) + `],"b":"x\"1.0"}`))
		if err != nil {
			t.Fatal(err)
		}
		again, err := verification.NewData(d.Map())
		if err != nil || string(again) != string(d) {
			t.Errorf("%s is decoded and encoded as %s, %v", d, again, err)
		}
	})
}

func TestDecodedNumbersAreFloatsIfExact(t *testing.T) {
	d := verification.Data(`{"a":1,"b":0.93,"c":-2.5,"d":9007199254740991,"e":9007199254740992,"f":1.50,"g":1e3,"h":-0}`)
	kinds := map[string]any{}
	for name, v := range d.Map() {
		kinds[name] = fmt.Sprintf("%T %v", v, v)
	}
	want := map[string]any{
		"a": "float64 1", "b": "float64 0.93", "c": "float64 -2.5", "d": "float64 9.007199254740991e+15",
		"e": "json.Number 9007199254740992", "f": "json.Number 1.50", "g": "json.Number 1e3", "h": "float64 -0",
	}
	for name := range want {
		if kinds[name] != want[name] {
			t.Errorf("%s of %s = %v, want %v", name, d, kinds[name], want[name])
		}
	}
}

func TestWholeNumbersAreShownByTheirDigits(t *testing.T) {
	for text, want := range map[json.Number]string{
		"1.2345678901234568e+16": "12345678901234568", "-1e3": "-1000", "5.0": "5", "-0": "0", "18446744073709551615": "18446744073709551615",
		"1.50": "1.50", "1e-7": "1e-7", "1e300": "1e300",
	} {
		if got := verification.Digits(text); got != want {
			t.Errorf("Digits(%s) = %s, want %s", text, got, want)
		}
	}
}
