// Letters that look like letters of another script.

package names

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/verifyd/verifyd/internal/fold"
)

// lookalikes are the letters that look alike in two scripts. See decision record 45.
type lookalikes struct {
	latin map[rune]rune         // the Latin letter that a letter or sign looks like
	other map[scriptLetter]rune // the reverse
}

type scriptLetter struct {
	script string
	latin  rune
}

func newLookalikes() lookalikes {
	l := lookalikes{map[rune]rune{}, map[scriptLetter]rune{}}
	for _, f := range rows("confusables.txt") {
		latin := []rune(f[0])[0]
		for _, sign := range f[1:] {
			r := []rune(sign)[0]
			l.latin[r] = latin
			if at := (scriptLetter{scriptOf(r), latin}); l.other[at] == 0 {
				l.other[at] = r
			}
		}
	}
	return l
}

// in returns a word in one script, and whether each of its letters looks like one of
// the script.
func (l lookalikes) in(script, word string) (string, bool) {
	var b strings.Builder
	for _, r := range norm.NFD.String(word) {
		s := scriptOf(r)
		if !unicode.IsLetter(r) || fold.Apostrophe(r) || s == script {
			b.WriteRune(r)
			continue
		}
		latin := r
		if s != "latin" {
			latin = l.latin[r]
		}
		if script != "latin" {
			latin = cmp.Or(l.other[scriptLetter{script, latin}], l.other[scriptLetter{script, unicode.ToLower(latin)}])
		}
		if latin == 0 {
			return word, false
		}
		b.WriteRune(latin)
	}
	return norm.NFC.String(b.String()), true
}

// oneScript returns a word that has letters of several scripts in the one that most of its
// letters have. It reports false if no script has look-alikes of all letters.
func (l lookalikes) oneScript(word string) (string, bool) {
	count := map[string]int{}
	for _, r := range word {
		if unicode.IsLetter(r) && !fold.Apostrophe(r) {
			count[scriptOf(r)]++
		}
	}
	scripts := make([]string, 0, len(count))
	for s := range count {
		scripts = append(scripts, s)
	}
	slices.SortFunc(scripts, func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(b, a))
	})
	for _, s := range scripts {
		if folded, ok := l.in(s, word); ok && s != "other" {
			return folded, true
		}
	}
	return word, false
}
