// Explanation: the reasons for a score, and its change by birth date and country.

package watchlist

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/internal/birthdate"
	"github.com/verifyd/verifyd/internal/country"
	"github.com/verifyd/verifyd/internal/names"
)

// explain returns the reasons for a score of names, one for each part. other says which
// the other name is.
func explain(m names.Match, other string) []string {
	var out []string
	for _, p := range m.Parts {
		switch {
		case p.Other == "":
			out = append(out, fmt.Sprintf("%s is not in %s", p.Name, other))
		case p.Name == "":
			out = append(out, fmt.Sprintf("%s is only in %s", p.Other, other))
		case p.Similarity == 1 && p.Reason == names.SameMeaning:
			out = append(out, fmt.Sprintf("%s means the same as %s", p.Name, p.Other))
		case p.Similarity == 1 && strings.EqualFold(p.Name, p.Other):
			out = append(out, fmt.Sprintf("%s is the same", p.Name))
		case p.Similarity == 1:
			out = append(out, fmt.Sprintf("%s is the same as %s", p.Name, p.Other))
		default:
			out = append(out, fmt.Sprintf("%s is like %s: %.2f, %s", p.Name, p.Other, p.Similarity, p.Reason))
		}
	}
	return append(out, m.Notes...)
}

// explain returns the reasons for the score of a listed name, with the words as both names
// write them.
func (l *List) explain(query names.Name, listed string, m names.Match) []string {
	if other, err := l.comparer.Parse(query.Kind, listed); err == nil {
		m = m.Written(query, other)
	}
	return explain(m, "the listed name")
}

// The factors by which a birth date or a country changes a score.
const (
	sameBirthDate  = 0.5  // of what is missing to 1 is added
	sameCountry    = 0.2  // the same
	otherBirthYear = 0.8  // the score is multiplied
	otherBirthDate = 0.93 // the same year, or the year before or after
	otherCountry   = 0.95
	// lowest is how much of its score a name must have before it can be raised.
	lowest = 0.85
	// raisable is the lowest score of a name that other data raises.
	raisable = 0.75
)

// differences are what an entry has otherwise than the subject.
type differences struct {
	birth   birth
	country bool
	kind    bool
	name    bool // of an entry with an equal identifier
	short   bool // only a part of one short word is the same, such as an acronym
}

// Differs reports whether something differs.
func (d differences) Differs() bool {
	return d.birth == birthOther || d.birth == birthNear || d.country || d.kind || d.name || d.short
}

// sameIdentifiers returns a reason for each identifier that an entry has as well.
func sameIdentifiers(given, listed []Identifier) (reasons []string) {
	for _, id := range given {
		if i := slices.IndexFunc(listed, id.equal); i >= 0 {
			kind := id.Type
			if kind == OtherDocument {
				kind = listed[i].Type
			}
			reasons = append(reasons, fmt.Sprintf("the %s is the same: %s", kind.title(), listed[i].Value))
		}
	}
	return reasons
}

// adjust returns the score of an entry with the birth date and the countries of the
// subject, the reasons, and what differs.
func adjust(s Subject, e Entry, score float64) (_ float64, reasons []string, differs differences) {
	if birthdate.Is(s.BirthDate) && len(e.BirthDates) > 0 && s.Kind == names.Person {
		unread := unreadDates(e.BirthDates)
		listed := strings.Join(slices.DeleteFunc(slices.Clone(e.BirthDates), func(date string) bool { return strings.HasPrefix(date, unreadMark) }), ", ")
		differs.birth = compareBirth(s.BirthDate, e.BirthDates)
		near, other := float64(otherBirthDate), float64(otherBirthYear)
		if len(unread) > 0 { // it may be the same
			near, other = 1, 1
			reasons = append(reasons, "a listed birth date cannot be read: "+strings.Join(unread, ", "))
		}
		switch differs.birth {
		case birthUnknown:
		case birthSame:
			if score >= raisable {
				score += (1 - score) * sameBirthDate
			}
			reasons = append(reasons, "the birth date is the same: "+listed)
		case birthNear:
			score *= near
			reasons = append(reasons, fmt.Sprintf("the birth date differs a little: %s, listed %s", s.BirthDate, listed))
		case birthOther:
			score *= other
			reasons = append(reasons, fmt.Sprintf("the birth date differs: %s, listed %s", s.BirthDate, listed))
		case birthYear:
			reasons = append(reasons, "the year of birth is the same: "+listed)
		case birthAbout:
			reasons = append(reasons, "the year of birth may be the same: listed "+listed)
		}
	}
	if len(s.Countries) > 0 && len(e.Countries) > 0 {
		named := make([]string, len(e.Countries))
		for i, code := range e.Countries {
			named[i] = country.Name(code, "en")
		}
		listed := strings.Join(named, ", ")
		if slices.ContainsFunc(s.Countries, func(asked string) bool {
			return slices.ContainsFunc(e.Countries, func(other string) bool { return strings.EqualFold(asked, other) })
		}) {
			if score >= raisable {
				score += (1 - score) * sameCountry
			}
			reasons = append(reasons, "a country is the same: "+listed)
		} else {
			differs.country = true
			score *= otherCountry
			reasons = append(reasons, "no country is the same: listed "+listed)
		}
	}
	return score, reasons, differs
}

// round returns a score with three decimals, so that it reads the same everywhere.
func round(score float64) float64 { return math.Round(score*1000) / 1000 }
