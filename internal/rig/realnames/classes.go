// Classes of alterations: how the name of one person or company is written otherwise.

package realnames

import (
	"slices"
	"strings"
	"unicode"
)

// Class is a way in which a name is altered.
type Class string

// The classes.
const (
	Exact         Class = "exact"
	Typo          Class = "typing error"
	Swapped       Class = "swapped letters"
	Initials      Class = "initials"
	MiddleMissing Class = "middle name missing"
	MiddleAdded   Class = "middle name added"
	Order         Class = "order"
	Comma         Class = "Family, Given"
	Latinized     Class = "transliteration"
	Glued         Class = "glued words"
	Split         Class = "split word"
	OtherLegal    Class = "other legal form"
)

// Classes returns all classes.
func Classes() []Class {
	return []Class{Exact, Typo, Swapped, Initials, MiddleMissing, MiddleAdded, Order, Comma, Latinized, Glued, Split, OtherLegal}
}

// Alter returns a name as it is written in a class. ok is false if the class has nothing to
// alter in the name.
func (p *Population) Alter(class Class, n Name) (text string, ok bool) {
	n.Given, n.Family = slices.Clone(n.Given), slices.Clone(n.Family)
	text = n.String()
	switch class {
	case Exact:
		return text, true
	case Typo, Swapped, Split:
		return p.alterWord(class, text)
	case Glued:
		return p.glue(text)
	case Latinized:
		latin := n.Latin().String()
		return latin, latin != text && latin != ""
	case OtherLegal:
		if !n.Company || len(n.Locale.Legal) < 2 {
			return "", false
		}
		before := n.Legal
		n.Legal = p.pick(n.Locale.Legal)
		return n.String(), n.Legal != before
	case Initials, MiddleMissing, MiddleAdded, Order, Comma:
	}
	if n.Company {
		return "", false
	}
	spaced := strings.Contains(text, " ")
	switch class {
	case Initials:
		for i, g := range n.Given {
			n.Given[i] = string([]rune(g)[:1]) + "."
		}
		return n.String(), spaced && n.alphabetic()
	case MiddleMissing:
		ok = len(n.Given) > 1
		n.Given = n.Given[:1]
	case MiddleAdded:
		n.Given, ok = append(n.Given, p.common(n.Locale.Given)), spaced
	case Order:
		n.familyFirst, ok = !n.familyFirst, spaced
	case Comma:
		return strings.Join(n.Family, " ") + ", " + strings.Join(n.Given, " "), spaced
	case Exact, Typo, Swapped, Split, Glued, Latinized, OtherLegal:
	}
	return n.String(), ok
}

// alphabetic reports whether the script of the name has letters that are used as initials.
func (n Name) alphabetic() bool {
	return slices.Contains([]string{"Latn", "Cyrl", "Grek", "Armn", "Geor"}, n.Locale.Script)
}

// alterWord alters one of the longer words of a text.
func (p *Population) alterWord(class Class, text string) (string, bool) {
	least := 4
	if class == Split {
		least = 6
	}
	words := strings.Fields(text)
	var long []int
	for i, w := range words {
		if runes := []rune(w); len(runes) >= least && !slices.ContainsFunc(runes, func(r rune) bool { return !unicode.IsLetter(r) }) {
			long = append(long, i)
		}
	}
	if len(long) == 0 {
		return "", false
	}
	at := long[p.N(len(long))]
	w := []rune(words[at])
	i := p.N(len(w) - 1)
	switch class {
	case Swapped:
		if unicode.ToLower(w[i]) == unicode.ToLower(w[i+1]) {
			return "", false
		}
		w[i], w[i+1] = w[i+1], w[i]
	case Split:
		i = 2 + p.N(len(w)-3)
		w = slices.Insert(w, i, ' ')
	case Exact, Typo, Initials, MiddleMissing, MiddleAdded, Order, Comma, Latinized, Glued, OtherLegal:
		all := []rune(strings.ToLower(strings.ReplaceAll(text, " ", "")))
		letter := all[p.N(len(all))]
		switch p.N(3) {
		case 0:
			w = slices.Delete(w, i, i+1)
		case 1:
			w = slices.Insert(w, i, letter)
		default:
			w[i] = letter
		}
	}
	words[at] = string(w)
	altered := strings.Join(words, " ")
	return altered, altered != text
}

// glue writes two neighbouring words as one.
func (p *Population) glue(text string) (string, bool) {
	words := strings.Fields(text)
	if len(words) < 2 {
		return "", false
	}
	at := p.N(len(words) - 1)
	words[at] += strings.ToLower(words[at+1])
	return strings.Join(slices.Delete(words, at+1, at+2), " "), true
}
