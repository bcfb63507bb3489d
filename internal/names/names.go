// Package names compares names of people and companies, in any script.
//
// A name is split into words, the words are transliterated, and each word of one
// name is aligned with the most similar word of the other. The score is 1 for the
// same name and 0 for names that share nothing. docs/screening.md describes how it
// is computed.
package names

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// Kind says whether a name is that of a person or of a company.
type Kind string

// The kinds.
const (
	Person  Kind = "person"
	Company Kind = "company"
)

// ParseKind returns the kind with this name, or an error for any other text.
func ParseKind(s string) (Kind, error) {
	switch k := Kind(s); k {
	case Person, Company:
		return k, nil
	}
	return "", fmt.Errorf("%q is not a kind of name: use person or company", s)
}

// maxRunes is the maximum length of a name, in Unicode code points. The rest of a
// longer name is ignored.
const maxRunes = 500

// maxTokens is the maximum number of words of a name that are compared.
const maxTokens = 16

// ErrNoName is returned for a text without a letter or digit.
var ErrNoName = errors.New("the name has no letter and no digit")

// Comparer compares names. It holds the tables of this package and is safe for
// concurrent use.
type Comparer struct {
	tables  *tables
	sounds  *sounds
	weights weights
	rules   rules
	// known has the tokens so far, by what they were made from; nil to remember none.
	known map[tokenSource]*Token
}

type tokenSource struct {
	script, plain, heard, characters string
	kind                             Kind
	role                             role
	broken                           bool
}

var comparer = sync.OnceValue(func() *Comparer { //nolint:gochecknoglobals // nothing changes it, and reading its tables takes milliseconds
	return &Comparer{tables: newTables(), sounds: newSounds(), weights: readWeights(), rules: newRules()}
})

// New returns a Comparer. The first call in a process reads its tables, which takes some milliseconds.
func New() *Comparer { return comparer() }

// Batch returns a Comparer that remembers the tokens of the names that it parses, for
// many names at once. It is not safe for concurrent use, and its tokens must not be
// changed.
func (c *Comparer) Batch() *Comparer {
	return &Comparer{tables: c.tables, sounds: c.sounds, weights: c.weights, rules: c.rules, known: map[tokenSource]*Token{}}
}

// Name is a name, split into the tokens that are compared.
type Name struct {
	Kind   Kind
	Tokens []*Token
	// Text is the text that was read, if it is not the one that was given; see Readings.
	Text string
	// Words are the tokens as the name writes them; nil for names that a Batch has parsed.
	Words []string
	// Forms are the legal forms of a company, and the generation of a person, such
	// as junior.
	Forms []string
	// Doubts say what of the text could not be read as a name, such as words after the
	// last one that is compared; empty if everything was.
	Doubts []string
	// written are the Forms of a company as it writes them, in one word each.
	written []string
}

// ReadAs returns the name as it was read: what a word means, which number it is, and which words were taken for a legal form and left out
// of the comparison.
func (n Name) ReadAs() string {
	words := make([]string, len(n.Tokens))
	for i, t := range n.Tokens {
		words[i] = n.word(i, 1)
		switch {
		case t.meaning != "":
			words[i] += " (means " + t.meaning + ")"
		case t.role == number && t.Text != words[i]:
			words[i] += " (number " + t.Text + ")"
		case t.written != t.Text:
			words[i] += " (means " + t.Text + ")"
		}
	}
	out := strings.Join(words, " ")
	for _, form := range n.written {
		out += "; legal form " + form
	}
	return out
}

// Token is one word of a name. Tokens are equal if their keys are.
type Token struct {
	Text string // ASCII lower-case letters and digits
	// Weight says how distinctive the token is in its list: 1 is usual, and rare tokens
	// have more. 0 outside a list.
	Weight float32

	sound string // the phonemes
	mode  mode
	role  role
	// lines are the lines of the table of known names that have the token. Two different
	// known names are never typing errors of each other.
	lines   []uint16
	key     string
	china   bool // written in syllables of Chinese names
	derived bool // made from other tokens, by Joined or Plain
	latin   bool // written in Latin letters
	code    bool // of a company: digits with a letter, such as A320
	// aspirated says that there is an apostrophe in the word, as in Ch'en.
	aspirated bool
	// written and writtenSound are the word as it is written and its sound. They differ
	// from Text and sound if many words have the same Text, such as trading.
	written, writtenSound string
	// meaning is the English word for a word of a company in another script; empty if there is none.
	meaning string
	// characters are the Han or Hangul characters of the word, in one form: two words of one
	// script with other characters are not the same, even if they have the same reading.
	characters string
}

// Key identifies the token among all tokens.
func (t *Token) Key() string { return t.key }

// Size returns the bytes of memory that the token takes, about.
func (t *Token) Size() int {
	texts := []string{t.key, t.Text, t.sound, t.characters, t.meaning}
	if t.written != t.Text {
		texts = append(texts, t.written, t.writtenSound)
	}
	n := int(reflect.TypeFor[Token]().Size())
	for _, text := range texts {
		n += (len(text) + 15) / 16 * 16 // as it is allocated
	}
	return n
}

// Distinctive reports whether the token alone can identify a name: it is not an initial, a
// particle, a title, a common word of companies, or a place in the name of a company.
func (t *Token) Distinctive() bool { return t.role == plain || t.role == number }

type role byte

const (
	plain    role = iota
	initial       // a single letter
	particle      // van, de, al
	title         // Dr, Sheikh
	generic       // a word of many companies: trading, industry
	filler        // a word without meaning for the comparison: group, international
	place         // a city or a country in the name of a company
	number
)
