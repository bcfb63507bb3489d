// Dates of checks, and whole years between two of them.

package offline

import (
	"strings"
	"time"
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

// today returns the date of a time, in UTC.
func today(now time.Time) time.Time { return now.UTC().Truncate(24 * time.Hour) }

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
