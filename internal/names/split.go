// Texts that have several names of one person or company.

package names

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/verifyd/verifyd/internal/country"
)

// PartName is one of several names that a text has.
type PartName struct {
	Text string
	// Exact says that it is only looked up as it is written: it is one short word, such as an acronym,
	// which too many names are like, or lacks only words in brackets that Compare weighs itself.
	Exact bool
}

// MaxParts is the maximum number of parts that Split returns.
const MaxParts = 16

// Limits of Split.
const (
	maxSplit     = 4000 // bytes of a text
	maxNested    = 3    // brackets in brackets
	shortWord    = 7    // letters from which on a part of one word is compared
	shortUnbound = 2    // the same in scripts without spaces between words
)

// Split returns the names that a text has, other than the text as a whole: those between signs
// such as "a.k.a.", ";" and " / ", the text without what is in brackets, and what is in brackets
// if it is a name. A remark such as (deceased), a legal form, a place, and words that many
// companies have are no name. There are at most 16 parts; more says that the text has others.
func (c *Comparer) Split(text string) (parts []PartName, more bool) {
	if !c.tables.splitter.several(text) {
		return nil, false
	}
	if len(text) > maxSplit {
		text, more = strings.ToValidUTF8(text[:maxSplit], ""), true
	}
	s := splitting{c: c, seen: map[string]bool{bare(text): true}, more: more}
	for _, p := range s.names(asciiSigns(text), 0, false) {
		s.add(p)
	}
	return s.parts, s.more
}

// splitter is the table of Split.
type splitter struct {
	begins  map[string]bool // the first words of the phrases between names
	between *regexp.Regexp  // the phrases between names
	both    *regexp.Regexp  // "and" between two names that have brackets
	lead    *regexp.Regexp  // the phrases before a name in brackets
	inside  []string        // the phrases between names that have no spaces around them
	remarks map[string]bool
	forms   map[string]bool // remarks that are legal forms
	words   *regexp.Regexp  // the words that say that brackets are a remark
	units   *regexp.Regexp  // the words of a part of a party
	endings []string        // the same, without spaces before them
}

// joins returns the phrases of a use in the table of what joins names.
func joins(use string) []string {
	for _, f := range rows("joins.txt") {
		if f[0] == use {
			return strings.Split(strings.Join(f[1:], " "), " | ")
		}
	}
	return nil
}

func newSplitter() *splitter {
	between := slices.Concat(joins("name:"), joins("between:"))
	s := &splitter{
		begins: map[string]bool{}, remarks: map[string]bool{}, forms: map[string]bool{},
		between: phrases(strings.Join(between, "|")), inside: joins("inside:"),
		both:  regexp.MustCompile(`\x00\s+(?:and|et|und|y|e|и)\s[^\x00]+\x00`),
		words: phrases(strings.Join(joins("word:"), "|")), units: phrases(strings.Join(joins("unit:"), "|")), endings: joins("ending:"),
	}
	for _, phrase := range between {
		first, _, _ := strings.Cut(phrase, " ")
		s.begins[first] = true
	}
	for _, phrase := range joins("remark:") {
		s.remarks[bare(phrase)] = true
	}
	for _, phrase := range joins("form:") {
		s.remarks[bare(phrase)], s.forms[bare(phrase)] = true, true
	}
	lead := phrases(strings.Join(append(between, joins("lead:")...), "|")).String()
	s.lead = regexp.MustCompile(`^\s*(?:` + lead + `|\pL[\pL ]{1,30}:\s)[\s:,.]*`)
	return s
}

// several reports whether a text may have several names. It is fast, because most have one.
func (s *splitter) several(text string) bool {
	from := 0
	word := func(to int) bool {
		w := strings.TrimRight(text[from:to], ".,:")
		return len(w) > 1 && len(w) < 30 && s.begins[strings.ToLower(w)]
	}
	for i, r := range text {
		switch r {
		case '(', '[', '{', ';', '/', '@', '（', '［', '【', '；', '／', '＠':
			return true
		case ' ', ',', '\t', '\n', '\u00a0':
			if word(i) {
				return true
			}
			from = i + utf8.RuneLen(r)
		}
		if r >= 0x3000 && slices.ContainsFunc(s.inside, func(phrase string) bool { return strings.HasPrefix(text[i:], phrase) }) {
			return true
		}
	}
	return word(len(text))
}

// asciiSigns returns a text with the brackets and signs of ASCII for their wide forms.
func asciiSigns(text string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '（', '［', '【', '[', '{':
			return '('
		case '）', '］', '】', ']', '}':
			return ')'
		case '；':
			return ';'
		case '／':
			return '/'
		case '＠':
			return '@'
		}
		return r
	}, text)
}

// bare returns the letters and digits of a text, in lower case.
func bare(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}

// splitting is a text that is being split.
type splitting struct {
	c     *Comparer
	parts []PartName
	seen  map[string]bool
	more  bool
}

// add adds a part, unless it is no name or is known.
func (s *splitting) add(p PartName) {
	key := bare(p.Text)
	if s.seen[key] {
		return
	}
	if !s.c.isName(p.Text) {
		const manyWords = 3 // words of many companies that are a name together
		if p.Exact = true; s.c.onlyForms(p.Text) || len(s.c.parse(Company, p.Text).Tokens) < manyWords {
			return
		}
	}
	s.seen[key] = true
	if len(s.parts) == MaxParts {
		s.more = true
		return
	}
	s.parts = append(s.parts, PartName{p.Text, p.Exact || shortName(p.Text)})
}

// names returns what may be names in a text, which is in brackets if it is nested. listed says that a
// phrase such as "a.k.a." comes before it: commas then separate names, too.
func (s *splitting) names(text string, nested int, listed bool) []PartName {
	var out []PartName
	t := s.c.tables.splitter
	for i, piece := range t.pieces(text) {
		if i > 0 {
			piece, _ = t.withoutLead(piece)
		}
		outside, brackets := bracketed(piece)
		whole := strings.Join(outside, " ")
		neutral := len(brackets) > 0 && !slices.ContainsFunc(brackets, func(content string) bool { return !s.c.neutral(content) })
		out = append(out, PartName{Text: tidy(whole), Exact: neutral})
		if listed && strings.Contains(whole, ",") {
			for name := range strings.SplitSeq(whole, ",") {
				if strings.Contains(strings.TrimSpace(name), " ") && !describes(name) { // not Family, Given
					out = append(out, PartName{Text: tidy(name)})
				}
			}
		}
		for i, content := range brackets {
			if nested < maxNested {
				out = append(out, s.inBrackets(content, whole, tidy(strings.Join(outside[i+1:], " ")), nested)...)
			}
		}
	}
	return out
}

// inBrackets returns the names in brackets that stand in or behind the text outside, before the tail.
// With the tail they are names, too: KHALIJ (GULF) LINES is GULF LINES. A single word before a tail
// is more often a place, as in Halle (Saale) GmbH.
func (s *splitting) inBrackets(content, outside, tail string, nested int) []PartName {
	t := s.c.tables.splitter
	content, led := t.withoutLead(content)
	if !led && (capitals(outside) && describes(content) || t.isRemark(content)) {
		return nil
	}
	inner := s.names(content, nested+1, led)
	if tail == "" || tail == tidy(outside) {
		return inner
	}
	var out []PartName
	for _, p := range inner {
		joins := script(p.Text) == script(tail)
		single := joins && !strings.Contains(p.Text, " ")
		if p.Exact = p.Exact || single && !led; led || !joins || single || s.c.onlyForms(tail) {
			out = append(out, p)
		}
		if joins && s.c.isName(p.Text) && !s.c.onlyForms(tail) && (!single || s.c.isName(tail)) {
			out = append(out, PartName{Text: p.Text + " " + tail})
		}
	}
	return out
}

// withoutLead returns a text without a phrase at its beginning that says that a name follows.
func (s *splitter) withoutLead(text string) (rest string, led bool) {
	if begin := s.lead.FindString(text); begin != "" {
		return text[len(begin):], true
	}
	for _, phrase := range s.inside {
		if rest, led = strings.CutPrefix(strings.TrimSpace(text), phrase); led {
			return rest, true
		}
	}
	return text, false
}

// isRemark reports whether what is in brackets says something about a party.
func (s *splitter) isRemark(content string) bool {
	if s.words.MatchString(content) {
		return true
	}
	unit := s.units.MatchString(content) || slices.ContainsFunc(s.endings, func(word string) bool { return strings.HasSuffix(content, word) })
	return unit && len(strings.Fields(content)) <= 3
}

// isName reports whether a part of a text is a name: it has a word that alone may identify somebody.
func (c *Comparer) isName(text string) bool {
	s, key := c.tables.splitter, bare(text)
	if len(key) < 2 || s.remarks[key] || !strings.ContainsFunc(key, unicode.IsLetter) || c.onlyForms(text) {
		return false
	}
	if _, ok := country.Parse(text); ok && len(key) != 3 || c.tables.titles[key] == title { // codes of three letters are acronyms, too
		return false
	}
	for _, kind := range []Kind{Company, Person} {
		if !slices.ContainsFunc(c.parse(kind, text).Tokens, (*Token).Distinctive) {
			return false
		}
	}
	return true
}

// neutral reports whether a text is a legal form, or has only places and words of many companies.
func (c *Comparer) neutral(text string) bool {
	return c.onlyForms(text) || c.tables.splitter.forms[bare(text)] || !slices.ContainsFunc(c.parse(Company, text).Tokens, (*Token).Distinctive)
}

// onlyForms reports whether a text is a legal form.
func (c *Comparer) onlyForms(text string) bool {
	plain := ""
	for _, w := range c.tables.words(text) {
		plain += strings.ReplaceAll(w.plain, ".", "")
	}
	_, form := c.tables.legal[plain]
	return form || plain == ""
}

// shortName reports whether a name is one short word.
func shortName(text string) bool {
	if strings.ContainsAny(text, " -") {
		return false
	}
	n := utf8.RuneCountInString(bare(text))
	if first, _ := utf8.DecodeRuneInString(text); unicode.In(first, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana) {
		return n < shortUnbound
	}
	return n < shortWord
}

func capitals(text string) bool { return strings.ContainsFunc(text, unicode.IsUpper) }

// describes reports whether a text is none of the names that are written with capitals: it has no capital,
// or begins with a longer word than an article without one.
func describes(text string) bool {
	const article = 3
	first, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	small := func(text string) bool { return strings.ContainsFunc(text, unicode.IsLower) && !capitals(text) }
	return small(text) || small(first) && len(bare(first)) > article
}

// script returns the script of the first letter of a text.
func script(text string) string {
	if i := strings.IndexFunc(text, unicode.IsLetter); i >= 0 {
		r, _ := utf8.DecodeRuneInString(text[i:])
		return scriptOf(r)
	}
	return ""
}
