// The similarity of two tokens.

package names

import (
	"slices"
	"strings"
)

// SameMeaning is the reason of a part whose words are translations of each other.
const SameMeaning = "same meaning"

// Reasons for a similarity.
const (
	same       = "same"
	variant    = "same name"
	shortForm  = "short form"
	spelling   = "spelling"
	typo       = "typing error"
	letterOnly = "initial"
	dialect    = "Chinese dialect"
	familyName = "form of a family name"
	acronym    = "initials"
	characters = "other characters"
	ending     = "ending of another language"
	formGlued  = "legal form"
	misread    = "letters that look alike"
)

// words are two tokens that are compared, of names of one kind.
type words struct {
	a, b   *Token
	person bool    // otherwise they are of companies
	china  chinese // whether both names are Chinese, and how they are written
	mode   mode    // by which their sounds are compared
}

// verdict is what a rule says of two words. The zero value leaves them to the next rule.
type verdict struct {
	similarity float32
	why        string
	decides    bool
}

// rule compares two words if it is for them.
type rule struct {
	name  string
	judge func(c *Comparer, w words) verdict
}

// rules are the rules by which two words are compared. The first one that decides counts, and the last one always does.
type rules struct{ people, companies []rule }

func newRules() rules {
	first := []rule{{"characters", byCharacters}, {"same text", sameText}, {"numbers", byNumbers}, {"initials", byInitials}}
	ofCompanies := []rule{{"meanings", byMeaning}, {"words of companies", ofCompanies}, {"legal forms", gluedForms}}
	ofBoth := []rule{{"forms of a name", formsOfAName}, {"same sound", sameSound}, {"Chinese", inChinese}, {"other names", otherNames}}
	ofPeople := []rule{{"family names", familyNames}, {"genders", byGender}}
	last := []rule{{"sounds", bySound}}
	return rules{slices.Concat(first, ofBoth, ofPeople, last), slices.Concat(first, ofCompanies, ofBoth, last)}
}

// similar compares two tokens of names of one kind. It returns their similarity and the
// reason for it. china says whether both names are Chinese, and how they are written.
func (c *Comparer) similar(kind Kind, a, b *Token, china chinese) (float32, string) {
	w, all := c.wordsOf(kind, a, b, china)
	_, v := decide(c, all, w)
	return v.similarity, v.why
}

// wordsOf returns two words and the rules for them.
func (c *Comparer) wordsOf(kind Kind, a, b *Token, china chinese) (words, []rule) {
	w := words{a, b, kind == Person, china, max(a.mode, b.mode)}
	if a.mode == b.mode && (a.mode == abjad || a.mode == foreign) {
		w.mode = spelled
	}
	if w.person {
		return w, c.rules.people
	}
	return w, c.rules.companies
}

// decide returns the number of the rule that decides, and its verdict.
func decide(c *Comparer, all []rule, w words) (int, verdict) {
	for i := range all {
		if v := all[i].judge(c, w); v.decides {
			return i, v
		}
	}
	return 0, verdict{}
}

// means reports whether one word has the meaning of the other.
func (t *tables) means(a, b *Token) bool {
	return a.meaning != "" && (a.meaning == b.meaning || t.stem(a.meaning) == t.stem(b.Text))
}

// standsFor reports whether one word is an abbreviation of the other, which has the same meaning in
// every language.
func (t *tables) standsFor(short, long *Token) bool {
	words := t.shortFor[short.written]
	if slices.Contains(words, long.Text) {
		return true
	}
	return slices.ContainsFunc(t.shortFor[long.written], func(w string) bool { return slices.Contains(words, w) })
}

// lookalike returns a word of six letters or more as readers of images take it: rn looks like m.
func lookalike(word string) string {
	if len(word) < leastLookalike {
		return word
	}
	return strings.ReplaceAll(word, "rn", "m")
}

// leastLookalike is the least number of letters of a word in which rn may have been an m, or of the word with
// rn for m.
const leastLookalike = 6

// typed returns the similarity of two words of which one may have typing errors: one
// in four letters or more, two in eight or more.
func (c *Comparer) typed(a, b string) float32 {
	longest := max(len(a), len(b))
	shortest := min(len(a), len(b))
	if longest-shortest > 2 || shortest < 4 {
		return 0
	}
	errors := typing(a, b)
	if errors > 1.3 && longest < 8 || errors > 2.3 {
		return 0
	}
	return 1 - c.weights.TypingError*errors/float32(longest)
}

// oneError reports whether two words differ by one typing error: words of four letters or more,
// of eight if the first letter is another one.
func oneError(a, b string) bool {
	short := min(len(a), len(b))
	return short >= 4 && abs(len(a)-len(b)) <= 1 && (a[0] == b[0] || a[:2] == string([]byte{b[1], b[0]}) || short >= 8) && typing(a, b) <= 1.3
}

// unwritten returns the similarity of a word without short vowels and one with them. A vowel
// at the beginning or the end of a word is written in every script, and a word of one or two
// consonants is like too many words.
func (c *Comparer) unwritten(a, b *Token, s float32) float32 {
	if a.mode != abjad {
		a, b = b, a
	}
	const vowels = "aeiouUIEYvh"
	spelled := func(sound string, i int) bool { return strings.IndexByte(vowels, sound[i]) >= 0 }
	if vowel(b.sound[0]) && !spelled(a.sound, 0) {
		s -= c.weights.UnwrittenEdge
	}
	if last := len(b.sound) - 1; vowel(b.sound[last]) && !spelled(a.sound, len(a.sound)-1) {
		s -= c.weights.UnwrittenEdge
	}
	if len(skeleton(a.sound)) < 3 {
		s -= c.weights.UnwrittenShort
	}
	return s
}

func shared(a, b []uint16) (uint16, bool) {
	for _, line := range a {
		if slices.Contains(b, line) {
			return line, true
		}
	}
	return 0, false
}

// otherGender reports whether two given names differ only in the last vowels, as Ivan
// and Ivana, Mario and Maria, or Yevgeny and Yevgenia do.
func otherGender(a, b string) bool {
	if strings.HasSuffix(a, "a") == strings.HasSuffix(b, "a") {
		return false
	}
	const endings = "aeiouUIEY"
	return strings.TrimRight(a, endings) == strings.TrimRight(b, endings)
}
