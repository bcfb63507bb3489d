// The order of mixed text, against the test data of the Unicode Consortium.

package typeset

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-text/typesetting/di"
)

// classes has a character of each class of the Unicode bidirectional algorithm that a text may
// have. BidiTest.txt has lines of classes.
func classes() map[string]rune {
	return map[string]rune{
		"L": 'a', "R": 'א', "AL": 'ا', "EN": '1', "AN": '٠', "ES": '+', "ET": '$', "CS": ',', "NSM": 0x300, "WS": ' ', "ON": '!',
		"LRI": isolateLeft, "RLI": isolateRight, "FSI": isolateFirst, "PDI": isolateEnd,
	}
}

// ordered returns the indexes of the visible characters from left to right.
func ordered(ts *Typesetter, runes []rune, d di.Direction) (order []int) {
	var runs []run
	for i, l := range ts.levels(runes, d, 0) {
		r := run{level: l}
		r.Runes.Offset = i
		runs = append(runs, r)
	}
	for _, r := range visualOrder(runs) {
		if i := r.Runes.Offset; !directs(runes[i]) {
			order = append(order, i)
		}
	}
	return order
}

func TestTheOrderIsTheOneOfUnicode(t *testing.T) {
	module, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/go-text/typesetting").Output()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(module)), "bidi", "test", "BidiTest.txt"))
	if err != nil {
		t.Fatal(err)
	}
	fonts, err := LoadFonts("")
	if err != nil {
		t.Fatal(err)
	}
	ts, known, tried := NewShaper(fonts).New(), classes(), 0
	var reordered []string
	for line := range strings.Lines(string(raw)) {
		if order, ok := strings.CutPrefix(line, "@Reorder:"); ok {
			reordered = strings.Fields(order)
		}
		names, bits, ok := strings.Cut(strings.TrimSpace(line), ";")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		var runes []rune
		for name := range strings.FieldsSeq(names) {
			runes = append(runes, known[name])
		}
		end := strings.TrimRightFunc(string(runes), func(r rune) bool { return r == ' ' || directs(r) })
		if slices.Contains(runes, 0) || strings.Contains(string(runes)[len(end):], " ") {
			continue // an override, which prints as a box, or spaces at the end, which are dropped
		}
		var want []int
		for _, text := range reordered {
			if i, err := strconv.Atoi(text); err == nil && !directs(runes[i]) {
				want = append(want, i)
			}
		}
		set, err := strconv.ParseUint(strings.TrimSpace(bits), 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		for i, d := range []di.Direction{paragraphDirection(runes), di.DirectionLTR, di.DirectionRTL} {
			if set>>i&1 == 0 {
				continue
			}
			tried++
			if got := ordered(ts, runes, d); !slices.Equal(got, want) {
				t.Errorf("%s in direction %d: the order is %v, want %v", names, d, got, want)
			}
		}
	}
	if tried < 100_000 {
		t.Errorf("%d texts were tried, want all of the file", tried)
	}
}
