// Explanation: the reasons for a score, and its change by birth date and country.

package screening

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/verifyd/verifyd/adapters/provider/screening/names"
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
		case p.Similarity == 1 && p.Name != p.Other:
			out = append(out, fmt.Sprintf("%s means the same as %s", p.Name, p.Other))
		case p.Similarity == 1:
			out = append(out, fmt.Sprintf("%s is the same", p.Name))
		default:
			out = append(out, fmt.Sprintf("%s is like %s: %.2f, %s", p.Name, p.Other, p.Similarity, p.Reason))
		}
	}
	return append(out, m.Notes...)
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

// adjust returns the score of an entry with the birth date and the countries of the
// subject, and the reasons.
func adjust(s Subject, e Entry, score float64) (float64, []string) {
	var reasons []string
	if IsDate(s.BirthDate) && len(e.BirthDates) > 0 && s.Kind == names.Person {
		listed := strings.Join(e.BirthDates, ", ")
		switch compareBirth(s.BirthDate, e.BirthDates) {
		case birthSame:
			if score >= raisable {
				score += (1 - score) * sameBirthDate
			}
			reasons = append(reasons, "the birth date is the same: "+listed)
		case birthNear:
			score *= otherBirthDate
			reasons = append(reasons, fmt.Sprintf("the birth date differs a little: %s, listed %s", s.BirthDate, listed))
		case birthOther:
			score *= otherBirthYear
			reasons = append(reasons, fmt.Sprintf("the birth date differs: %s, listed %s", s.BirthDate, listed))
		case birthYear:
			reasons = append(reasons, "the year of birth is the same: "+listed)
		}
	}
	if len(s.Countries) > 0 && len(e.Countries) > 0 {
		listed := strings.Join(e.Countries, ", ")
		if slices.ContainsFunc(s.Countries, func(country string) bool {
			return slices.ContainsFunc(e.Countries, func(other string) bool { return strings.EqualFold(country, other) })
		}) {
			if score >= raisable {
				score += (1 - score) * sameCountry
			}
			reasons = append(reasons, "a country is the same: "+listed)
		} else {
			score *= otherCountry
			reasons = append(reasons, "no country is the same: listed "+listed)
		}
	}
	return score, reasons
}

type birth int

const (
	birthOther birth = iota
	birthNear
	birthYear
	birthSame
)

// compareBirth compares a birth date with those of an entry and returns the best
// result. A date may be a year, or a year and a month. Day and month that are swapped
// count as the same.
func compareBirth(date string, listed []string) birth {
	best := birthOther
	for _, other := range listed {
		best = max(best, compareDates(date, other))
	}
	return best
}

func compareDates(a, b string) birth {
	x, _ := strconv.Atoi(a[:4])
	y, _ := strconv.Atoi(b[:4])
	switch {
	case max(x-y, y-x) == 1:
		return birthNear
	case x != y:
		return birthOther
	}
	if len(a) < 10 || len(b) < 10 {
		if len(a) >= 7 && len(b) >= 7 && a[:7] != b[:7] {
			return birthNear
		}
		return birthYear
	}
	if a == b || a[5:7] == b[8:10] && a[8:10] == b[5:7] {
		return birthSame
	}
	return birthNear
}

// round returns a score with three decimals, so that it reads the same everywhere.
func round(score float64) float64 { return math.Round(score*1000) / 1000 }
