// Dates of checks, and whole years between two of them.

package offline

import (
	"strings"
	"time"

	"github.com/verifyd/verifyd/internal/birthdate"
)

// parseDate parses YYYY-MM-DD.
func parseDate(s string) (time.Time, reason) {
	s = strings.TrimSpace(fold(s))
	if s == "" {
		return time.Time{}, reasonEmpty
	}
	date, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return time.Time{}, reasonDate
	}
	return date, ""
}

// parseBirth returns a birth date as YYYY-MM-DD, or as YYYY-MM or YYYY if its day or month is not known.
func parseBirth(s string) (string, reason) {
	s = strings.TrimSpace(fold(s))
	if len(s) < len(time.DateOnly) && birthdate.Is(s) {
		return s, ""
	}
	_, why := parseDate(s)
	return s, why
}

// dateIn returns the date of a time in a zone, as dates of checks are: at midnight in UTC,
// so that each day has 24 hours.
func dateIn(t time.Time, zone *time.Location) time.Time {
	year, month, day := t.In(zone).Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// days returns the number of days from one date to another.
func days(from, to time.Time) int { return int((to.Unix() - from.Unix()) / 86400) }

// yearsBetween returns the number of whole years from a birth date to another date.
// A person born on 29 February becomes a year older on 1 March in years without that
// day.
func yearsBetween(birth, date time.Time) int {
	years := date.Year() - birth.Year()
	if birth.AddDate(years, 0, 0).After(date) {
		years--
	}
	return years
}
