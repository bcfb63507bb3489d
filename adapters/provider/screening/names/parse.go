// Parsing names: from a text to tokens.

package names

import "cmp"

// Parse splits a name into tokens. It ignores what follows the first 500 characters, and
// the tokens after the 16th. It returns ErrNoName for a text without a token.
func (c *Comparer) Parse(kind Kind, text string) (Name, error) {
	n := Name{Kind: kind}
	if kind == Company {
		c.parseCompany(&n, text)
	} else {
		c.parsePerson(&n, text)
	}
	if len(n.Tokens) == 0 {
		return n, ErrNoName
	}
	n.Tokens = n.Tokens[:min(len(n.Tokens), maxTokens)]
	return n, nil
}

func (c *Comparer) token(kind Kind, w word, r role) *Token {
	if c.known == nil {
		return c.newToken(kind, w, r)
	}
	source := tokenSource{w.script, w.plain, w.heard, kind, r, w.broken}
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
	}
	if r == plain && len(t.Text) == 1 && w.script != "hangul" {
		t.role = initial
	}
	t.sound = cmp.Or(c.tables.soundOf(w.heard), t.Text)
	if kind == Person || r == plain {
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
	if t.sound != c.tables.soundOf(t.Text) {
		t.key += "/" + t.sound
	}
	return t
}
