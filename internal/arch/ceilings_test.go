// Ceilings: numbers that fall by themselves, and rise only with a decision record.

package arch_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A line of a file of ceilings is "NUMBER KEY", or "NUMBER over LOW by NNNN KEY" for a number that has risen: LOW is
// the lowest that it ever was, NNNN the decision record that says why it rose.
type ceiling struct {
	most, low int
	by        string
}

// String returns a ceiling as its line begins.
func (c ceiling) String() string {
	if c.most == c.low {
		return strconv.Itoa(c.most)
	}
	return fmt.Sprintf("%d over %d by %s", c.most, c.low, c.by)
}

// parseCeilings reads a file of ceilings. A line that begins with a tab is below the last one that does not.
func parseCeilings(file string) (map[string]ceiling, error) {
	all, kind := map[string]ceiling{}, ""
	for line := range strings.Lines(file) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok {
			return nil, fmt.Errorf("%q is no line of KEY, tab, NUMBER", line)
		}
		if strings.HasPrefix(line, "\t") {
			key = kind + ": " + key
		} else {
			kind = strings.TrimSuffix(key, ":")
		}
		c, words := ceiling{}, strings.Fields(value)
		most, err := strconv.Atoi(words[0])
		if err == nil && len(words) == 5 && words[1] == "over" && words[3] == "by" {
			c.low, err = strconv.Atoi(words[2])
			c.by = words[4]
		} else if c.low = most; len(words) != 1 {
			err = fmt.Errorf("want %q or %q", "NUMBER", "NUMBER over LOW by NNNN")
		}
		if c.most = most; err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		all[key] = c
	}
	return all, nil
}

// hold compares a number with its ceiling, and returns the ceiling afterwards.
func (c ceiling) hold(n int, decided func(string) bool) (ceiling, string) {
	switch {
	case n <= c.low:
		return ceiling{most: n, low: n}, ""
	case n > c.most:
		return c, fmt.Sprintf("is %d, at most %d: make it less, or write \"%s\" where NNNN is the decision record that says why", n, c.most,
			ceiling{most: n, low: c.low, by: "NNNN"})
	case !decided(c.by):
		return c, fmt.Sprintf("has risen to %d by %q, which is no decision record", c.most, c.by)
	}
	c.most = n
	return c, ""
}

// holdCeilings fails the test for each number above its ceiling. It writes the ceilings that fell into the file.
func holdCeilings(t *testing.T, file string, counted counts) {
	t.Helper()
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all, err := parseCeilings(string(before))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	decided := func(number string) bool {
		records, err := filepath.Glob(filepath.Join(root, "docs/decisions", number+"-*.md"))
		return err == nil && len(number) == 4 && len(records) == 1
	}
	var after strings.Builder
	keys, numbers := counted.keys()
	for _, key := range keys {
		c, problem := all[key].hold(numbers[key], decided)
		if problem != "" {
			t.Errorf("%s: %s %s", file, key, problem)
		}
		if kind, of, item := strings.Cut(key, ": "); item {
			fmt.Fprintf(&after, "\t%s\t%s\n", of, c)
		} else {
			fmt.Fprintf(&after, "%s\t%s\n", kind, c)
		}
	}
	if after.String() != string(before) && !t.Failed() {
		if err := os.WriteFile(file, []byte(after.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: ceilings fell; commit them", file)
	}
}

func TestCeilingsFallAndDoNotRise(t *testing.T) {
	decided := func(number string) bool { return number == "0088" }
	for _, tt := range []struct {
		was  ceiling
		n    int
		want ceiling
		bad  string
	}{
		{ceiling{most: 10, low: 10}, 10, ceiling{most: 10, low: 10}, ""},
		{ceiling{most: 10, low: 10}, 7, ceiling{most: 7, low: 7}, ""},
		{ceiling{most: 10, low: 10}, 11, ceiling{most: 10, low: 10}, `write "11 over 10 by NNNN"`},
		{ceiling{}, 1, ceiling{}, `write "1 over 0 by NNNN"`},
		{ceiling{most: 12, low: 10, by: "0088"}, 12, ceiling{most: 12, low: 10, by: "0088"}, ""},
		{ceiling{most: 12, low: 10, by: "0088"}, 11, ceiling{most: 11, low: 10, by: "0088"}, ""},
		{ceiling{most: 12, low: 10, by: "0088"}, 9, ceiling{most: 9, low: 9}, ""},
		{ceiling{most: 12, low: 10, by: "0088"}, 13, ceiling{most: 12, low: 10, by: "0088"}, `write "13 over 10 by NNNN"`},
		{ceiling{most: 12, low: 10, by: "none"}, 12, ceiling{most: 12, low: 10, by: "none"}, "is no decision record"},
	} {
		got, problem := tt.was.hold(tt.n, decided)
		if got != tt.want || (problem == "") != (tt.bad == "") || !strings.Contains(problem, tt.bad) {
			t.Errorf("%v with %d = %v, %q, want %v, %q", tt.was, tt.n, got, problem, tt.want, tt.bad)
		}
	}
	want := map[string]ceiling{"a b:": {most: 3, low: 3}, "a b: c/d": {most: 2, low: 1, by: "0088"}}
	if got, err := parseCeilings("a b:\t3\n\tc/d\t2 over 1 by 0088\n"); err != nil || !cmp.Equal(got, want, cmp.AllowUnexported(ceiling{})) {
		t.Errorf("the ceilings are %v, %v, want %v", got, err, want)
	}
	for _, bad := range []string{"a\n", "a\tx\n", "a\t3 over 2\n", "a\t3 over x by 0088\n"} {
		if got, err := parseCeilings(bad); err == nil {
			t.Errorf("%q was read as %v", bad, got)
		}
	}
}
