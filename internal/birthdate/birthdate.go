// Package birthdate says which dates can be the birth date of a person, and compares dates of which a part is not known.
package birthdate

import (
	"strconv"
	"strings"
	"time"
)

// MaxAge is the age in years above which a birth date is taken for a mistake. The oldest
// person on record became 122.
const MaxAge = 130

// Is reports whether a text is YYYY, YYYY-MM or YYYY-MM-DD.
func Is(s string) bool {
	if len(s) != 4 && len(s) != 7 && len(s) != 10 {
		return false
	}
	for i := range len(s) {
		if dash := i == 4 || i == 7; dash != (s[i] == '-') || !dash && (s[i] < '0' || s[i] > '9') {
			return false
		}
	}
	if len(s) >= 7 && (s[5:7] < "01" || s[5:7] > "12") {
		return false
	}
	return len(s) < 10 || s[8:] >= "01" && s[8:] <= "31"
}

// Plausible reports whether a date, as Is accepts it, can be the birth date of a person on a day: it is Past, and no more than MaxAge
// years ago. A year of another calendar is either. Of a date without a day or a month, one possible day is enough.
func Plausible(date string, today time.Time) bool {
	return Past(date, today) && date != "1899-12-31" && date != "1900-01-01" && last(date) > today.AddDate(-MaxAge-1, 0, 0).Format(time.DateOnly)
}

// Past reports whether a date, as Is accepts it, can be the day on which a company was founded: it is not after a day, and not the date
// that a system writes for none: the first one of Go, Java and .NET (0001-01-01), of SQL Server (1753-01-01) or of spreadsheets
// (1899-12-30). Nobody who lives was born on two more of them, 1899-12-31 and 1900-01-01, but companies were founded then.
func Past(date string, today time.Time) bool {
	return date > "0001" && date[:4] != "0001" && date != "1753-01-01" && date != "1899-12-30" && first(date) <= today.Format(time.DateOnly)
}

// Agree reports whether two dates, as Is accepts them, can be the same: the year, the month and the day are, as far as both have them.
func Agree(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }

// Range returns the first and the last day that a date, as Is accepts it, can be.
func Range(date string) (earliest, latest time.Time) {
	day := first(date)
	year, _ := strconv.Atoi(day[:4])
	month, _ := strconv.Atoi(day[5:7])
	of, _ := strconv.Atoi(day[8:])
	earliest = time.Date(year, time.Month(month), of, 0, 0, 0, 0, time.UTC)
	switch len(date) {
	case len("YYYY"):
		return earliest, earliest.AddDate(1, 0, -1)
	case len("YYYY-MM"):
		return earliest, earliest.AddDate(0, 1, -1)
	}
	return earliest, earliest
}

// first returns the first day that a date can be, and last the last one, as text.
func first(date string) string { return date + "-01-01"[len(date)-4:] }
func last(date string) string  { return date + "-12-31"[len(date)-4:] }
