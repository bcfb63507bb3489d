// Splitting a text into words, and transliterating them.

package names

import (
	"strings"
	"unicode"

	"github.com/mozillazg/go-unidecode"
	"golang.org/x/text/unicode/norm"

	"github.com/verifyd/verifyd/internal/fold"
)

type word struct {
	script string // latin, cyrillic, arabic, hebrew, greek, indic, tamil, han, kana, hangul or other
	raw    string // lower case, composed
	shown  string // as it is written
	plain  string // ASCII letters and digits
	heard  string // the same, as it sounds
	broken bool   // an apostrophe is inside it
	lost   rune   // a letter of it that has no reading; 0 for none
}

// words splits a text at spaces and punctuation, and between scripts. A full stop or
// an apostrophe inside a word does not split it.
func (t *tables) words(text string) []word {
	out, _ := t.read(text)
	return out
}

// read returns the words of a text, and those that have letters without a reading as they are
// written.
func (t *tables) read(text string) (out []word, unread []string) {
	var run []rune
	script, broken := "", false
	runes := []rune(norm.NFKC.String(limit(text)))
	from, to := 0, 0 // the runes of the word
	flush := func() {
		if len(run) > 0 {
			w := t.transliterate(script, string(run))
			w.broken, w.shown = broken, string(runes[from:to])
			if w.lost != 0 {
				unread = append(unread, w.shown)
			}
			if w.plain != "" {
				out = append(out, w)
			}
		}
		run, script, broken = run[:0], "", false
	}
	for i, r := range runes {
		r = unicode.ToLower(r)
		switch {
		case unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Mc, r):
			if len(run) > 0 {
				run = append(run, r)
				to = i + 1
			}
		case r == '\u200c' || r == '\u200d' || r == 'ー' && script == "kana":
		case fold.Apostrophe(r):
			broken = broken || len(run) > 0
		case repeats(r) && (script == "han" || script == "kana"):
			run = append(run, repeated(r, run[len(run)-1]))
			to = i + 1
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			s := scriptOf(r)
			if s == "digit" && script != "" || script == "digit" {
				if script == "digit" {
					script = s
				}
				s = script
			}
			if script != "" && s != script {
				flush()
			}
			if len(run) == 0 {
				from = i
			}
			script = s
			run = append(run, r)
			to = i + 1
		case r == '.' && len(run) > 0:
			// "S.p.A." and "J.R." are split by the caller, which knows the kind.
			switch {
			case i+1 == len(runes):
			case unicode.IsLetter(runes[i+1]) && script != "han":
				run = append(run, '.')
			case unicode.IsDigit(runes[i+1]) && unicode.IsDigit(run[len(run)-1]): // 2.5 is not 25
				flush()
			}
		default:
			flush()
		}
	}
	flush()
	return out, unread
}

// repeats reports whether a sign stands for the character before it.
func repeats(r rune) bool { return strings.ContainsRune("々〻ゝヽゞヾ", r) }

// repeated returns the character that a sign stands for: the one before it, voiced after some
// signs.
func repeated(sign, before rune) rune {
	if sign == 'ゞ' || sign == 'ヾ' {
		if voiced := []rune(norm.NFC.String(string(before) + "\u3099")); len(voiced) == 1 {
			return voiced[0]
		}
	}
	return before
}

func limit(text string) string {
	n := 0
	for i := range text {
		if n == maxRunes {
			return text[:i]
		}
		n++
	}
	return text
}

func scriptOf(r rune) string {
	switch {
	case unicode.IsDigit(r):
		return "digit"
	case unicode.Is(unicode.Latin, r):
		return "latin"
	case unicode.Is(unicode.Cyrillic, r):
		return "cyrillic"
	case unicode.Is(unicode.Arabic, r):
		return "arabic"
	case unicode.Is(unicode.Hebrew, r):
		return "hebrew"
	case unicode.Is(unicode.Greek, r):
		return "greek"
	case unicode.Is(unicode.Han, r):
		return "han"
	case unicode.Is(unicode.Hiragana, r) || unicode.Is(unicode.Katakana, r) || r == 'ー':
		return "kana"
	case unicode.Is(unicode.Hangul, r):
		return "hangul"
	case unicode.Is(unicode.Tamil, r):
		return "tamil"
	case r >= 0x0900 && r <= 0x0d7f:
		return "indic"
	}
	return "other"
}

// transliterate returns a word of one script in ASCII.
func (t *tables) transliterate(script, raw string) word {
	w := word{script: script, raw: raw}
	switch script {
	case "indic", "tamil":
		w.plain, w.lost = t.indic.read(raw, script == "tamil")
		w.heard = w.plain
		return w
	case "greek":
		w.plain, w.lost = t.greek(raw)
		w.heard = w.plain
		return w
	case "han":
		var readings []string
		readings, w.lost = t.readHan(raw)
		w.plain = strings.Join(readings, "")
		w.heard = w.plain
		return w
	}
	if rest, ok := strings.CutPrefix(raw, "عبدال"); ok && script == "arabic" && rest != "" {
		// Abd al-: its article is spoken in many ways.
		w.plain = "abd" + t.transliterate(script, rest).plain
		if rest == "له" {
			w.plain = "abdullah"
		}
		w.heard = w.plain
		return w
	}
	var plain, heard strings.Builder
	for _, r := range norm.NFC.String(raw) {
		p, h, ok := t.letter(r)
		if !ok && w.lost == 0 {
			w.lost = r
		}
		plain.WriteString(p)
		heard.WriteString(h)
	}
	w.plain, w.heard = plain.String(), heard.String()
	if script == "hangul" {
		w.heard = strings.NewReplacer("yeo", "yo", "eo", "o", "eu", "u").Replace(w.heard)
	}
	return w
}

// letter returns the ASCII form of a letter or sign, and how it sounds. It returns false if the
// letter has no reading that is known: a sign without one is not heard.
func (t *tables) letter(r rune) (text, heard string, ok bool) {
	if r < unicode.MaxASCII {
		return string(r), string(r), true
	}
	if l, known := t.letters[r]; known {
		return l.plain, l.heard, true
	}
	if base := norm.NFD.String(string(r)); base[0] < unicode.MaxASCII {
		return base[:1], base[:1], true
	}
	text = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(unidecode.Unidecode(string(r))))
	return text, text, text != "" || silentMark(r)
}

// silentMark reports whether a character is a mark that stands for no sound of its own: one that
// changes the letter below or above it, as accents and signs for a missing vowel do. Vowel
// signs have the combining class 0.
func silentMark(r rune) bool {
	return unicode.IsMark(r) && (norm.NFC.PropertiesString(string(r)).CCC() != 0 || unicode.Is(unicode.Inherited, r))
}

func (t *tables) readHan(raw string) (out []string, lost rune) {
	for _, r := range raw {
		reading, ok := t.readings[r]
		if !ok {
			reading, _, ok = t.letter(r)
		}
		if simple, known := t.simplified[r]; !ok && known {
			reading, _, ok = t.letter(simple)
		}
		if !ok && lost == 0 {
			lost = r
		}
		if reading != "" {
			out = append(out, reading)
		}
	}
	return out, lost
}

// greek transliterates a Greek word as it is spoken today.
func (t *tables) greek(raw string) (plain string, lost rune) {
	base := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(raw))
	base = strings.NewReplacer("ου", "u", "αυ", "av", "ευ", "ev", "ει", "i", "οι", "i", "αι", "e", "γγ", "ng", "γκ", "g",
		"μπ", "b", "ντ", "nt", "η", "i", "υ", "y", "χ", "ch").Replace(base)
	var b strings.Builder
	for _, r := range base {
		text, _, ok := t.letter(r)
		if !ok && lost == 0 {
			lost = r
		}
		b.WriteString(text)
	}
	return b.String(), lost
}
