// Tests of the bounded map, from inside: what it forgets is not seen outside.

package engine

import "testing"

func TestTheCacheForgetsWhatWasUsedLongestAgo(t *testing.T) {
	c := newCache[int, string](2)
	c.put(1, "a")
	c.put(2, "b")
	c.get(1)
	c.put(3, "c")
	for key, want := range map[int]string{1: "a", 2: "", 3: "c"} {
		if got, _ := c.get(key); got != want {
			t.Errorf("get(%d) = %q, want %q", key, got, want)
		}
	}
	c.put(1, "z")
	if got, _ := c.get(1); got != "z" || len(c.entries) != 2 {
		t.Errorf("get(1) = %q of %d entries, want the new value of 2", got, len(c.entries))
	}
}
