// Names as registries write them: what belongs to a name, and what does not.

package names

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Registered is a name for Identify.
type Registered struct {
	text     string // as it was given
	readings []Name // what the text may mean; one is enough
	aliases  []Name // the names of a text that has several; one is enough, too
	parent   *Name  // the name after "son of"
}

func (r Registered) doubts() []string {
	var out []string
	for _, n := range r.readings {
		for _, doubt := range n.Doubts {
			if !slices.Contains(out, doubt) {
				out = append(out, doubt)
			}
		}
	}
	return out
}

// ParseRegistered reads the name of a person or a company as registries and customers write
// it: what follows "S/O" or "trading as" is no part of it. It returns ErrNoName for a
// text without a letter or digit.
func (c *Comparer) ParseRegistered(kind Kind, text string) (Registered, error) {
	r, given := c.tables.registry, text
	text = norm.NFKC.String(withoutMarks(c.tables.inFull(text)))
	text = strings.NewReplacer("\u200b", "", "\u2060", "", "\ufeff", "", "\u00ad", "").Replace(text)
	text = r.apart(text)
	marker := r.relation
	if kind == Company {
		marker = r.trading
	}
	head, tail := text, ""
	if at := marker.FindStringIndex(text); at != nil && strings.ContainsFunc(text[:at[0]], unicode.IsLetter) {
		head, tail = text[:at[0]], text[at[1]:]
	}
	n, err := c.registered(kind, head)
	out := Registered{text: given, readings: []Name{n}}
	if err != nil || kind == Company {
		return out, err
	}
	for _, alias := range aliases(head) {
		if name, err := c.registered(kind, alias); err == nil && len(mainWords(name)) > 1 {
			out.aliases = append(out.aliases, name)
		}
	}
	if parent, err := c.registered(kind, tail); err == nil {
		if r.child.MatchString(text) {
			out.parent = &parent
		}
		if len(n.Tokens) == 1 { // in Singapore, the father's name is a part of the name
			whole, _ := c.registered(kind, head+" "+tail) // it has a word
			out.readings = append(out.readings, whole)
		}
	}
	if wife := r.wife.FindStringSubmatch(head); wife != nil {
		if own, err := c.registered(kind, wife[1]); err == nil {
			out.readings = append(out.readings, own)
		}
	}
	return out, nil
}

// registered parses a name, with the titles, degrees and generations of registries.
func (c *Comparer) registered(kind Kind, text string) (Name, error) {
	r := c.tables.registry
	if kind == Company {
		return c.Parse(kind, text)
	}
	text, degrees, found := strings.Cut(text, ",")
	if found && !r.onlyDegrees(degrees) {
		text += "," + degrees
	}
	n, err := c.Parse(kind, text)
	if err != nil {
		return n, err
	}
	for field := range strings.FieldsSeq(text) {
		if words, unread := c.tables.read(field); len(words) == 0 && len(unread) == 0 && strings.ContainsFunc(field, unicode.IsLetter) {
			n.Doubts = append(n.Doubts, field+" has no Latin letter to compare")
		}
	}
	all := n
	n.Tokens, n.Words = nil, []string{}
	count := len(mainWords(all))
	family := r.vietnamese[all.Tokens[0].Text] || r.vietnamese[all.Tokens[len(all.Tokens)-1].Text]
	front := true // only titles so far
	for i, t := range all.Tokens {
		shown, last := all.word(i, 1), i == len(all.Tokens)-1
		generation, ok := r.generations[t.Text]
		switch {
		case ok && count > 2:
			n.Forms = append(n.Forms, generation)
			count--
			continue
		case r.anywhere[t.Text] && count > 1 && t.latin:
			t = t.as(title)
		case r.titles[t.Text] && count > 2 && !last:
			t = t.as(title)
			count--
		case t.main() && c.letters(t):
			for _, letter := range shown {
				s := strings.ToLower(string(letter))
				n.add(c.token(Person, word{script: "latin", raw: s, plain: s, heard: s}, plain), string(letter))
			}
			front = false
			continue
		case t.main():
		case !t.latin && !r.foreign[shown]: // its transliteration looks like a title
			if t = t.as(plain); len(t.Text) == 1 {
				t.role = initial
			}
		case t.role == title && !front && !last:
			t = t.as(plain)
		case t.role == particle && family && i > 0: // the Vietnamese middle name Van
			t = t.as(plain)
		case len(t.Text) == 1 && shown != strings.ToLower(shown):
			t = t.as(initial)
		}
		front = front && t.role == title
		n.add(t, shown)
	}
	return n, nil
}

// addressed returns the name of a company without M/s or Messrs, which letters write before it.
func (r *registry) addressed(text string) string {
	if start := strings.TrimLeft(text, " "); start == "" || start[0]|0x20 != 'm' {
		return text
	}
	return r.messrs.ReplaceAllString(text, "")
}

// letters reports whether a word is initials that are written as one, as in MK Gandhi.
func (c *Comparer) letters(t *Token) bool {
	return t.role == plain && t.latin && len(t.Text) <= 3 && len(t.lines) == 0 && !t.china && !strings.ContainsAny(t.Text, "aeiouy0123456789")
}

// as returns a copy of a token with another role.
func (t *Token) as(r role) *Token {
	out := *t
	out.role = r
	return &out
}

// registry is the tables of Identify.
type registry struct {
	relation, child, trading, messrs, wife, koreanWord, characters, inner *regexp.Regexp
	titles, anywhere, foreign, degrees, known                             map[string]bool
	vietnamese, korean, inside                                            map[string]bool
	generations                                                           map[string]string
	patronymics, before, relations                                        []string
	formLines                                                             map[string][]int
}

func newRegistry() *registry {
	r := &registry{generations: map[string]string{}, formLines: map[string][]int{}, known: map[string]bool{}, foreign: map[string]bool{}}
	for _, f := range rows("titles.txt") {
		for _, w := range f[1:] {
			r.foreign[w] = true
		}
	}
	for _, f := range rows("identity.txt") {
		words := f[1:]
		set := map[string]bool{}
		for _, w := range words {
			set[w] = true
		}
		switch f[0] {
		case "relation:":
			r.relations = strings.Split(strings.Join(words, " "), " | ")
			r.relation = phrases(strings.Join(words, " "))
		case "trading:":
			r.trading = phrases(strings.Join(append(joins("name:"), strings.Join(words, " ")), "|"))
		case "title:":
			r.titles = set
		case "anywhere:":
			r.anywhere = set
		case "known:":
			for _, w := range words {
				r.known[w] = true
			}
		case "degree:":
			r.degrees = set
		case "generation:":
			for _, w := range words {
				word, generation, _ := strings.Cut(w, "=")
				r.generations[word] = generation
			}
		case "before:":
			r.before = words
		case "patronymic:":
			r.patronymics = words
		case "inside:":
			r.inside = set
		case "vietnamese:":
			r.vietnamese = set
		case "korean:":
			r.korean = set
		}
	}
	for line, f := range rows("company-forms.txt") {
		for form := range strings.SplitSeq(strings.Join(f, " "), " | ") {
			form = strings.ReplaceAll(form, " ", "")
			r.formLines[form] = append(r.formLines[form], line)
		}
	}
	r.child = regexp.MustCompile(`(?i)\b([sd]\s*/\s*o\b|a\s*/\s*[lp]\b|(son|daughter) of\b|anak (lelaki|perempuan)\b)|पुत्र`)
	r.messrs = regexp.MustCompile(`(?i)^\s*(m/s|messrs)\b\.?`)
	r.wife = regexp.MustCompile(`(?i)^\s*\pL{3,9}né\s+(\S+\s+\S.*)$`)
	r.characters = regexp.MustCompile(`[\p{Han}\p{Hangul}\p{Hiragana}\p{Katakana}]`)
	r.inner = regexp.MustCompile(`(\pL*\p{Ll})(['’]?)(\p{Lu})|(\pL{3,}|[\p{Hangul}\p{Han}]+)['’](\p{Lo}{3,}|[\p{Hangul}\p{Han}]+)`)
	r.koreanWord = regexp.MustCompile(`^((kk|gg|tt|dd|pp|bb|ss|jj|ch|sh|[gkndtrlmbpsjhyw])?(yae|yeo|wae|ae|ya|eo|ye|wa|oe|yo|wo|we|wi|yu|eu|ui|oo|ee|ou|uh|oh|[uaeoi])(ng|[kgnlmpbth])?){1,2}$`)
	return r
}

// phrases returns an expression for phrases that are separated by |.
func phrases(text string) *regexp.Regexp {
	var out []string
	for p := range strings.SplitSeq(text, "|") {
		p = regexp.QuoteMeta(strings.TrimSpace(p))
		out = append(out, strings.ReplaceAll(strings.ReplaceAll(p, "/", `\s*/\s*`), " ", `\s+`))
	}
	slices.SortFunc(out, func(a, b string) int { return len(b) - len(a) })
	return regexp.MustCompile(`(?i)(?:^|[\s,;(])(?:` + strings.Join(out, "|") + `)(?:$|[\s.,:;)])`)
}

// apart splits words that are written as one with a capital letter inside, as in AshaRao.
func (r *registry) apart(text string) string {
	return r.inner.ReplaceAllStringFunc(text, func(s string) string {
		part := r.inner.FindStringSubmatch(s)
		if r.inside[strings.ToLower(part[1])] {
			return s
		}
		return part[1] + part[4] + " " + part[3] + part[5]
	})
}

// onlyDegrees reports whether a text is a list of academic degrees.
func (r *registry) onlyDegrees(text string) bool {
	for word := range strings.FieldsFuncSeq(text, func(c rune) bool { return c == ',' || c == ' ' }) {
		if !r.degrees[strings.ToLower(strings.ReplaceAll(word, ".", ""))] {
			return false
		}
	}
	return true
}

// optional reports whether a word before a name is often left out.
func (r *registry) optional(c *Comparer, t *Token) bool {
	return slices.ContainsFunc(r.before, func(word string) bool {
		_, ok := shared(t.lines, c.tables.lines[word])
		return ok
	})
}

func (r *registry) patronymic(word string) bool { return r.withoutPatronymic(word) != word }

// withoutPatronymic returns a word without the ending of a patronymic.
func (r *registry) withoutPatronymic(word string) string {
	for _, ending := range r.patronymics {
		if stem, ok := strings.CutSuffix(word, ending); ok {
			return stem
		}
	}
	return word
}

// legalForm is a legal form as it is written, and the lines of the table that have it.
type legalForm struct {
	written string
	lines   []int
}

// forms returns the legal forms of a company, without those that say only that it is one.
func (r *registry) forms(n Name) []legalForm {
	var out []legalForm
	for i, written := range n.written {
		if n.Forms[i] != "company" || len(r.formLines[written]) > 0 {
			out = append(out, legalForm{written, r.formLines[written]})
		}
	}
	return out
}

// agree reports whether a legal form of one company may be that of the other.
func agree(a, b []legalForm) bool {
	for _, s := range a {
		for _, t := range b {
			if s.written == t.written || slices.ContainsFunc(s.lines, func(line int) bool { return slices.Contains(t.lines, line) }) {
				return true
			}
		}
	}
	return false
}
