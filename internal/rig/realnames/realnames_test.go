package realnames_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/verifyd/verifyd/internal/rig/realnames"
)

func TestNamesHaveManyScripts(t *testing.T) {
	locales := realnames.For(t)
	p := realnames.New(locales, 1)
	scripts := map[string]bool{}
	for range 5000 {
		for _, r := range p.Person().String() {
			for name, script := range unicode.Scripts {
				if r > unicode.MaxASCII && unicode.Is(script, r) {
					scripts[name] = true
				}
			}
		}
	}
	for _, want := range strings.Fields("Arabic Armenian Cyrillic Devanagari Georgian Greek Han Hangul Hebrew Hiragana Latin Thai") {
		if !scripts[want] {
			t.Errorf("no name is written in %s", want)
		}
	}
}

func TestOneSeedMakesTheSameNames(t *testing.T) {
	locales := realnames.For(t)
	a, b, other := realnames.New(locales, 1), realnames.New(locales, 1), realnames.New(locales, 2)
	differs := false
	for range 100 {
		person, company := a.Person().String(), a.Company().String()
		if got := b.Person().String(); got != person {
			t.Errorf("the same seed makes %q and %q", person, got)
		}
		if got := b.Company().String(); got != company {
			t.Errorf("the same seed makes %q and %q", company, got)
		}
		differs = differs || other.Person().String() != person
		other.Company()
	}
	if !differs {
		t.Error("another seed makes the same names")
	}
}

func TestEveryClassAltersNames(t *testing.T) {
	locales := realnames.For(t)
	p := realnames.New(locales, 1)
	for _, class := range realnames.Classes() {
		altered := 0
		for i := range 200 {
			n := p.Person()
			if i%2 == 1 {
				n = p.Company()
			}
			text, ok := p.Alter(class, n)
			if !ok {
				continue
			}
			altered++
			if same := text == n.String(); same != (class == realnames.Exact) {
				t.Errorf("%s: %q becomes %q", class, n, text)
			}
		}
		if altered < 20 {
			t.Errorf("%s alters %d of 200 names, want 20 at least", class, altered)
		}
	}
}
