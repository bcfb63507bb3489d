// Comparison of the birth dates of a subject and an entry.

package watchlist

import (
	"strconv"
	"strings"

	"github.com/verifyd/verifyd/internal/birthdate"
)

// birth is the result of comparing birth dates, the worst first.
type birth int

const (
	birthUnknown birth = iota // there is nothing to compare
	birthOther
	birthNear
	birthAbout // an approximate date may be the same
	birthYear
	birthSame
)

// Lists often have approximate dates. The years that one may be off:
const (
	nearYears  = 1 // any date; the birth date then differs a little
	yearAlone  = 2 // a listed year without month and day, before it clears a name
	aboutYears = 5 // a date that the list calls approximate, such as ~1965
)

// unreadMark is before a text of Entry.BirthDates that could not be read as a date.
const unreadMark = "?"

// unreadDate returns a text that could not be read as a date, for Entry.BirthDates.
func unreadDate(text string) string {
	const most = 60 // bytes
	return unreadMark + strings.ToValidUTF8(withoutControls(text[:min(len(text), most)]), "")
}

// unreadDates returns the texts among birth dates that could not be read.
func unreadDates(listed []string) (texts []string) {
	for _, date := range listed {
		if text, ok := strings.CutPrefix(date, unreadMark); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

// listedBirth is a birth date of a list: the years from and to, and the date if it is exact.
type listedBirth struct {
	from, to int
	about    bool   // the list says that the date is approximate
	date     string // YYYY, YYYY-MM or YYYY-MM-DD; empty for several years
	// first and last are the two ends of a range, or the date.
	first, last string
}

// readBirth reads YYYY, YYYY-MM or YYYY-MM-DD, one of these after ~ for an approximate
// date, and two of these with .. between them for any date from the first to the last.
func readBirth(listed string) (b listedBirth, ok bool) {
	listed, b.about = strings.CutPrefix(listed, "~")
	first, last, several := strings.Cut(listed, "..")
	if !several {
		b.date, last = first, first
	}
	if !birthdate.Is(first) || !birthdate.Is(last) {
		return listedBirth{}, false
	}
	b.first, b.last = first, last
	b.from, _ = strconv.Atoi(first[:4])
	b.to, _ = strconv.Atoi(last[:4])
	return b, true
}

// off returns how many years a year is from the listed ones.
func (b listedBirth) off(year int) int { return max(b.from-year, year-b.to, 0) }

// compareBirth compares a birth date with the birth dates of an entry and returns the best
// result. A date may be a year, or a year and a month. Day and month that are swapped
// count as the same.
func compareBirth(date string, listed []string) birth {
	best := birthUnknown
	for _, other := range listed {
		if b, ok := readBirth(other); ok {
			best = max(best, b.compare(date))
		}
	}
	return best
}

func (b listedBirth) compare(date string) birth {
	year, _ := strconv.Atoi(date[:4])
	off := b.off(year)
	switch other := b.date; {
	case b.about && off <= aboutYears, off == 0 && other == "":
		return birthAbout
	case off > nearYears:
		return birthOther
	case off > 0:
		return birthNear
	case len(date) < 10 || len(other) < 10:
		if len(date) >= 7 && len(other) >= 7 && date[:7] != other[:7] {
			return birthNear
		}
		return birthYear
	case date == other || date[5:7] == other[8:10] && date[8:10] == other[5:7]:
		return birthSame
	}
	return birthNear
}

// Clears reports whether every birth date of an entry differs from a date by more than
// approximate dates explain.
func Clears(date string, listed []string) bool {
	if !birthdate.Is(date) || len(listed) == 0 {
		return false
	}
	for _, other := range listed {
		b, ok := readBirth(other)
		year, _ := strconv.Atoi(date[:4])
		explained := nearYears
		switch {
		case b.about:
			explained = aboutYears
		case len(b.date) < len("YYYY-MM"):
			explained = yearAlone
		}
		if !ok || b.off(year) <= explained {
			return false
		}
	}
	return true
}
