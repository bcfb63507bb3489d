// The quality of the comparison on pairs written by hand.

package names_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/verifyd/verifyd/internal/names"
	"github.com/verifyd/verifyd/internal/rig/golden"
)

// threshold is the score from which names count as a match.
const threshold = 0.85

// verdicts counts matches that were found, missed and wrong.
type verdicts struct{ hits, misses, alarms, clears int }

func (v *verdicts) add(want, got bool) {
	switch {
	case want && got:
		v.hits++
	case want:
		v.misses++
	case got:
		v.alarms++
	default:
		v.clears++
	}
}

func (v *verdicts) recall() float64    { return float64(v.hits) / float64(max(1, v.hits+v.misses)) }
func (v *verdicts) precision() float64 { return float64(v.hits) / float64(max(1, v.hits+v.alarms)) }
func (v *verdicts) f1() float64 {
	return 2 * float64(v.hits) / float64(max(1, 2*v.hits+v.misses+v.alarms))
}

// score returns the score of two names.
func score(t testing.TB, c *names.Comparer, kind, a, b string) names.Match {
	t.Helper()
	k, err := names.ParseKind(kind)
	if err != nil {
		t.Fatal(err)
	}
	first, err := c.Parse(k, a)
	if err != nil {
		t.Fatalf("Parse(%q): %v", a, err)
	}
	second, err := c.Parse(k, b)
	if err != nil {
		t.Fatalf("Parse(%q): %v", b, err)
	}
	return c.Compare(first, second)
}

func TestHardPairsAreToldApart(t *testing.T) {
	for _, file := range []string{"hard-pairs.csv", "held-out-pairs.csv", "fresh-pairs.csv"} {
		t.Run(file, func(t *testing.T) { toldApart(t, "testdata/"+file) })
	}
}

func TestFormsOfAFamilyNameMatch(t *testing.T) {
	c := names.New()
	for _, pair := range [][2]string{
		{"Olena Zelenskyi", "Olena Zelenska"}, {"Donald Tuska", "Donald Tuski"}, {"Anna Petrov", "Anna Petrova"}, {"Anna Karenin", "Anna Karenina"},
	} {
		for _, in := range [][2]string{pair, {pair[1], pair[0]}} {
			if m := score(t, c, "person", in[0], in[1]); m.Score < threshold {
				t.Errorf("%q and %q: %.3f, want at least %.2f", in[0], in[1], m.Score, threshold)
			}
		}
	}
}

func TestOneNameIsOneNameHoweverItIsWritten(t *testing.T) {
	c := names.New()
	for _, tc := range []struct {
		kind, a, b string
		want       float32
	}{
		{"person", "Abdulhaq Khan", "Abdul Haq Khan", 1},
		{"person", "Abdulhaq Khan", "Abd al-Haq Khan", 1},
		{"person", "Abd ash-Shakur Khan", "Abdul Shakur Khan", 1},
		{"person", "Wong Siuming", "Wang Xiaoming", 0.9},
		{"person", "Wong Siu Ming", "Wang Xiaoming", 0.9},
		{"company", "A B C Trading", "ABC Trading", 1},
		{"company", "Acme Tools S A", "Acme Tools SA", 1},
		{"company", "Twenty One Club", "21 Club", 1},
		{"company", "Studio Twenty", "Studio 20", 1},
	} {
		if m := score(t, c, tc.kind, tc.a, tc.b); m.Score < tc.want {
			t.Errorf("%q and %q: %.3f, want at least %.2f", tc.a, tc.b, m.Score, tc.want)
		}
	}
}

func TestTheOrderOfTwoNamesDoesNotMatter(t *testing.T) {
	c := names.New()
	for _, file := range []string{"hard-pairs.csv", "held-out-pairs.csv", "fresh-pairs.csv"} {
		for _, row := range pairs(t, "testdata/"+file) {
			if m, back := score(t, c, row[0], row[1], row[2]), score(t, c, row[0], row[2], row[1]); math.Abs(float64(m.Score-back.Score)) > 1e-6 {
				t.Errorf("%s %q and %q: %.3f, and %.3f in the other order", row[0], row[1], row[2], m.Score, back.Score)
			}
		}
	}
}

// pairs returns the rows of a file without the first.
func pairs(t *testing.T, path string) [][]string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // it is only read
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows[1:]
}

// toldApart compares the pairs of a file, which also has their scores.
func toldApart(t *testing.T, path string) {
	t.Helper()
	c := names.New()
	var scored bytes.Buffer
	file := csv.NewWriter(&scored)
	_ = file.Write([]string{"kind", "name1", "name2", "match", "score"}) // Flush has the error
	found := map[string]*verdicts{"person": {}, "company": {}, "all": {}}
	for _, row := range pairs(t, path) {
		m := score(t, c, row[0], row[1], row[2])
		_ = file.Write(append(row[:4:4], fmt.Sprintf("%.3f", m.Score)))
		want, got := row[3] == "yes", m.Score >= threshold
		found[row[0]].add(want, got)
		found["all"].add(want, got)
		if want != got {
			t.Logf("%.3f, want match=%v: %s %q %q %v", m.Score, want, row[0], row[1], row[2], m.Parts)
		}
	}
	file.Flush()
	golden.Equal(t, path, scored.Bytes())
	for _, kind := range []string{"person", "company", "all"} {
		v := found[kind]
		t.Logf("%s: F1 %.3f, precision %.3f, recall %.3f of %d pairs", kind, v.f1(), v.precision(), v.recall(), v.hits+v.misses+v.alarms+v.clears)
	}
	if f1 := found["all"].f1(); f1 < 0.9 {
		t.Errorf("F1 at %.2f = %.3f, want at least 0.90", threshold, f1)
	}
}
