// Parsing names: from a text to tokens.

package names

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Parse splits a name into tokens. It reads the first 500 characters and 16 words of a
// longer name, and the name then has a doubt. It returns ErrNoName for a text without a
// token.
func (c *Comparer) Parse(kind Kind, text string) (Name, error) {
	n := c.parse(kind, text)
	if len(n.Tokens) == 0 {
		return n, ErrNoName
	}
	if characters := utf8.RuneCountInString(text); characters > maxRunes {
		n.Doubts = append(n.Doubts, fmt.Sprintf("the name has %d characters: no more than %d are compared", characters, maxRunes))
	} else if len(n.Tokens) > maxTokens {
		n.Doubts = append(n.Doubts, fmt.Sprintf("the name has %d words: no more than %d are compared", len(n.Tokens), maxTokens))
	}
	if len(n.Tokens) > maxTokens {
		n.Tokens = n.Tokens[:maxTokens]
		n.Words = n.Words[:min(len(n.Words), maxTokens)]
	}
	return n, nil
}

// parse splits a name into all its tokens.
func (c *Comparer) parse(kind Kind, text string) Name {
	n := Name{Kind: kind}
	if c.known == nil {
		n.Words = make([]string, 0, 4)
	}
	if kind == Person {
		text = c.tables.inFull(text)
	}
	normal, doubts := c.tables.normalize(kind, text)
	if n.Doubts = doubts; normal != text {
		text, n.Text = normal, normal
	}
	if kind == Company {
		c.parseCompany(&n, text)
	} else {
		c.parsePerson(&n, text)
	}
	return n
}

// doubtUnread adds a doubt for each word with letters that have no reading.
func (n *Name) doubtUnread(words []string) {
	for _, w := range words {
		n.Doubts = append(n.Doubts, fmt.Sprintf("the word %q has letters that cannot be read", w))
	}
}

// add adds a token, which the name writes as shown, unless no letter of it has a counterpart in
// ASCII, such as a Hebrew ayin between full stops.
func (n *Name) add(t *Token, shown string) {
	if strings.Trim(t.Text, ".") == "" {
		return
	}
	n.Tokens = append(n.Tokens, t)
	if n.Words != nil {
		n.Words = append(n.Words, shown)
	}
}

// word returns the n tokens from the given one on as the name writes them.
func (n *Name) word(from, size int) string {
	if size == 0 {
		return ""
	}
	if size == 1 {
		if from < len(n.Words) {
			return n.Words[from]
		}
		return n.Tokens[from].written
	}
	words := make([]string, 0, size)
	for i := from; i < from+size; i++ {
		words = append(words, n.word(i, 1))
	}
	return strings.Join(words, " ")
}

func (c *Comparer) token(kind Kind, w word, r role) *Token {
	if c.known == nil {
		return c.newToken(kind, w, r)
	}
	source := tokenSource{w.script, w.plain, w.heard, c.tables.characters(w), kind, r, w.broken}
	t, ok := c.known[source]
	if !ok {
		t = c.newToken(kind, w, r)
		c.known[source] = t
	}
	return t
}

func (c *Comparer) newToken(kind Kind, w word, r role) *Token {
	t := &Token{Text: w.plain, role: r, latin: w.script == "latin"}
	switch w.script {
	case "arabic", "hebrew":
		t.mode = abjad
	case "tamil", "hangul":
		t.mode = unvoiced
	case "foreign":
		t.mode = foreign
	}
	if w.script == "han" || w.script == "hangul" {
		t.characters = c.tables.characters(w)
	}
	if r == plain && len(t.Text) == 1 && w.script != "hangul" {
		t.role = initial
	}
	t.code = kind == Company && coded(t.Text)
	t.sound = cmp.Or(c.tables.soundOf(w.heard), t.Text)
	if t.mode != foreign && (kind == Person || r == plain) {
		t.lines = c.tables.known(t.Text, t.sound)
	}
	t.china = t.mode == spelled && c.syllabic(t.Text)
	t.aspirated = w.broken && t.china
	t.written, t.writtenSound = t.Text, t.sound
	return t.identify(c)
}

func (t *Token) identify(c *Comparer) *Token {
	t.key = string([]byte{'0' + byte(t.role), '0' + byte(t.mode)}) + t.Text
	if !t.latin {
		t.key += "~"
	}
	if t.aspirated {
		t.key += "'"
	}
	if t.written != t.Text {
		t.key += "=" + t.written
	}
	if t.characters != "" {
		t.key += "#" + t.characters
	}
	if t.meaning != "" {
		t.key += ":" + t.meaning
	}
	if t.sound != c.tables.soundOf(t.Text) {
		t.key += "/" + t.sound
	}
	return t
}
