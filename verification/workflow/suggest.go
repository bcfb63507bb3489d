// Suggestions for misspelt names.

package workflow

import (
	"strings"

	"github.com/verifyd/verifyd/verification/internal/texts"
)

// longest is the maximum number of bytes of a name for which a suggestion is looked for.
const longest = 64

// Nearest returns the known name with the fewest edits from name: letters left
// out, added, changed, or swapped with the next. Case, spaces, dashes and underscores do
// not count, and a known name that continues name after an underscore is one edit away.
// Nearest returns the empty string if all names are more than two edits away, or more
// than one per four letters (one in a name of fewer).
func Nearest[S ~string](name string, known []S) string {
	if len(name) > longest {
		return ""
	}
	best, fewest := "", 3
	words := strings.NewReplacer("-", "_", " ", "_")
	plain := words.Replace(strings.ToLower(name))
	bare := strings.ReplaceAll(plain, "_", "")
	for _, k := range known {
		candidate := words.Replace(strings.ToLower(string(k)))
		n := fewest
		switch apart := len(plain) - len(candidate); {
		case bare == strings.ReplaceAll(candidate, "_", ""):
			n = 0
		case strings.HasPrefix(candidate, plain+"_"):
			n = 1
		case -fewest < apart && apart < fewest:
			n = edits(plain, candidate, fewest)
		}
		if n < fewest && n*4 <= max(len(candidate), 4) {
			best, fewest = string(k), n
		}
	}
	return best
}

// DidYouMean returns the end of a message that suggests the nearest known name;
// empty if none is near.
func DidYouMean[S ~string](name string, known []S) string {
	near := Nearest(name, known)
	if near == "" {
		return ""
	}
	return "; did you mean " + near + "?"
}

// suggestion returns a hint for a name that is not known: the one that was probably
// meant, or all that are known.
func suggestion(name string, known []string) string {
	hint := DidYouMean(name, known)
	if hint == "" && len(known) > 0 {
		hint = " (supported: " + texts.Join(known) + ")"
	}
	return hint
}

// edits returns the number of edits from a to b, or limit if there are more. Their lengths
// differ by less than limit, and neither is longer than longest+3. Prefixes whose lengths differ by more than limit do not count:
// each is at least limit edits from the other.
func edits(a, b string, limit int) int {
	var rows [3][longest + 4]int
	for i := range len(a) + 1 {
		row, before, beforeThat := &rows[i%3], &rows[(i+2)%3], &rows[(i+1)%3]
		first, last := max(0, i-limit), min(len(b), i+limit)
		if first > 0 {
			row[first-1] = limit
		}
		if last < len(b) {
			row[last+1] = limit
		}
		for j := first; j <= last; j++ {
			if i == 0 || j == 0 {
				row[j] = max(i, j)
				continue
			}
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(before[j]+1, row[j-1]+1, before[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], beforeThat[j-2]+1)
			}
		}
	}
	return min(rows[len(a)%3][len(b)], limit)
}
