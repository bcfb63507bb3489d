// A population: people and companies with the names of all locales.

package realnames

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/mozillazg/go-unidecode"
)

// Name is the name of a person or a company.
type Name struct {
	Company bool
	Locale  *Locale
	// Given and Family are the words of the name of a person in groups; Given has middle
	// names too. The words of a company are in Family.
	Given, Family []string
	Legal         string // of a company
	familyFirst   bool
}

// Population makes names. Some names are common and most are rare, in each locale; a locale
// with more names has more people.
type Population struct {
	rand    *rand.Rand
	locales []Locale
	upTo    []float64 // the weights of the locales, added up
}

// New returns a population. Populations with the same seed make the same names.
func New(locales []Locale, seed uint64) *Population {
	p := &Population{rand: rand.New(rand.NewPCG(seed, 1)), locales: slices.Clone(locales)} //nolint:gosec // G404: the same names at each run
	order := rand.New(rand.NewPCG(1, 1))                                                   //nolint:gosec // G404: which names are common does not depend on the seed
	total := 0.0
	for i := range p.locales {
		l := &p.locales[i]
		for _, names := range []*[]string{&l.Given, &l.Family, &l.Middle} {
			*names = slices.Clone(*names)
			order.Shuffle(len(*names), func(a, b int) { (*names)[a], (*names)[b] = (*names)[b], (*names)[a] })
		}
		total += math.Sqrt(float64(len(l.Given) * len(l.Family)))
		p.upTo = append(p.upTo, total)
	}
	return p
}

// N returns a number from 0 to n-1.
func (p *Population) N(n int) int { return p.rand.IntN(n) }

// common returns one of the names, the first ones more often.
func (p *Population) common(names []string) string {
	u := p.rand.Float64()
	return strings.TrimSpace(names[int(u*u*float64(len(names)))])
}

func (p *Population) pick(names []string) string { return names[p.N(len(names))] }

func (p *Population) locale() *Locale {
	at, _ := slices.BinarySearch(p.upTo, p.rand.Float64()*p.upTo[len(p.upTo)-1])
	return &p.locales[at]
}

// Person returns a person.
func (p *Population) Person() Name {
	l := p.locale()
	n := Name{Locale: l, Given: []string{p.common(l.Given)}, Family: []string{p.common(l.Family)}}
	switch language, _, _ := strings.Cut(l.Code, "_"); {
	case language == "zh" || language == "ja" || language == "ko" || language == "hu" || language == "vi":
		n.familyFirst = true
	case language == "es" || language == "pt" && p.N(2) == 0:
		n.Family = append(n.Family, p.common(l.Family))
	case len(l.Middle) > 0 && p.N(2) == 0:
		n.Given = append(n.Given, p.common(l.Middle))
	case p.N(5) == 0:
		n.Given = append(n.Given, p.common(l.Given))
	}
	return n
}

// Company returns a company: with a family name, a place or a noun, a word of its business
// and a legal form.
func (p *Population) Company() Name {
	l := p.locale()
	n := Name{Company: true, Locale: l, Family: []string{p.common(l.Family)}, Legal: "Ltd"}
	if len(l.Legal) > 0 {
		n.Legal = p.pick(l.Legal)
	}
	switch p.N(6) {
	case 0:
		n.Family = append(n.Family, "&", p.common(l.Family))
	case 1:
		n.Family = append(n.Family, p.common(l.Given))
	case 2:
		if len(l.City) > 0 {
			n.Family = append(n.Family, p.pick(l.City))
		}
	case 3:
		if len(l.City) > 0 {
			n.Family = []string{p.pick(l.City)}
		}
	}
	if business := strings.Fields("Trading Shipping Technologies Holding Construction Energy International Logistics Steel Pharma Textile Motors Foods Marine Capital Resources"); p.N(3) > 0 {
		n.Family = append(n.Family, business[p.N(len(business))])
	}
	return n
}

// String returns the name in the order of its locale.
func (n Name) String() string {
	if n.Company {
		return strings.Join(append(slices.Clone(n.Family), n.Legal), " ")
	}
	space := " "
	if n.Locale.Script == "Hans" || n.Locale.Script == "Hant" || n.Locale.Script == "Jpan" || n.Locale.Script == "Kore" {
		space = ""
	}
	words := append(slices.Clone(n.Given), n.Family...)
	if n.familyFirst {
		words = append(slices.Clone(n.Family), n.Given...)
	}
	return strings.Join(words, space)
}

// Latin returns the name in ASCII letters.
func (n Name) Latin() Name {
	n.Given, n.Family, n.Legal = latin(n.Given), latin(n.Family), unidecode.Unidecode(n.Legal)
	l := *n.Locale
	l.Script = "Latn"
	n.Locale = &l
	return n
}

func latin(words []string) []string {
	var out []string
	for _, w := range words {
		var latin []string
		for _, part := range strings.Fields(w) {
			text := strings.ReplaceAll(unidecode.Unidecode(part), " ", "")
			if text != "" {
				latin = append(latin, strings.ToUpper(text[:1])+strings.ToLower(text[1:]))
			}
		}
		out = append(out, strings.Join(latin, " "))
	}
	return out
}
