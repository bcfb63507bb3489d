// Date limits: the min and max of a date field.

package workflow

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/verifyd/verifyd/internal/birthdate"
)

// DateLimitForm says what the min and max of a date field look like.
const DateLimitForm = "must be a date as YYYY-MM-DD, today, or a number of years, months or days such as -18y, +6m or -30d"

// maxDateOffset is the largest number of years, months or days in a date limit.
const maxDateOffset = 100_000

// dateLimit returns the date of a limit on a day, the calendar day in the location of day: a date as YYYY-MM-DD, today, or a
// signed number of years, months or days from the day, such as -18y, +6m or -30d.
// If the month of the result has no such day, it is the last day of the month.
func dateLimit(limit string, day time.Time) (date time.Time, ok bool) {
	if date, err := time.Parse(time.DateOnly, limit); err == nil {
		return date, true
	}
	year, month, dayOfMonth := day.Date()
	day = time.Date(year, month, dayOfMonth, 0, 0, 0, 0, time.UTC)
	if limit == "today" {
		return day, true
	}
	if len(limit) < 3 || !strings.Contains("+-", limit[:1]) {
		return time.Time{}, false
	}
	n, err := strconv.ParseUint(limit[1:len(limit)-1], 10, 32)
	if err != nil || n > maxDateOffset {
		return time.Time{}, false
	}
	offset := int(n)
	if limit[0] == '-' {
		offset = -offset
	}
	switch limit[len(limit)-1] {
	case 'y':
		date = time.Date(year+offset, month, 1, 0, 0, 0, 0, time.UTC)
	case 'm':
		date = time.Date(year, month+time.Month(offset), 1, 0, 0, 0, 0, time.UTC)
	case 'd':
		date = day.AddDate(0, 0, offset)
		return date, date.Year() >= 1 && date.Year() <= 9999
	default:
		return time.Time{}, false
	}
	date = date.AddDate(0, 0, min(dayOfMonth, date.AddDate(0, 1, -1).Day())-1)
	return date, date.Year() >= 1 && date.Year() <= 9999
}

// checkDate returns what is wrong with a date on a day, as dateLimit takes it; empty if it is valid.
func (f InputField) checkDate(s string, day time.Time) string {
	date, err := time.Parse(time.DateOnly, s)
	first, last := date, date
	switch {
	case err == nil:
	case f.BirthOf == FactPerson && len(s) < len(time.DateOnly) && birthdate.Is(s):
		first, last = birthdate.Range(s)
	case f.BirthOf == FactPerson:
		return "must be a date, as YYYY-MM-DD, or as YYYY-MM or YYYY if the day or the month is not known"
	default:
		return "must be a date, as YYYY-MM-DD"
	}
	if limit, ok := dateLimit(f.MinDate, day); ok && first.Before(limit) {
		return "must not be before " + limit.Format(time.DateOnly)
	}
	if limit, ok := dateLimit(f.MaxDate, day); ok && last.After(limit) {
		return "must not be after " + limit.Format(time.DateOnly)
	}
	switch {
	case f.BirthOf == FactPerson && !birthdate.Plausible(s, day):
		return BirthProblem
	case f.BirthOf == FactCompany && !birthdate.Past(s, day):
		return FoundedProblem
	}
	return ""
}

// On returns the fields as they are on a day, the calendar day in the location of day: the limits of
// dates as YYYY-MM-DD.
func (fs InputFields) On(day time.Time) InputFields {
	fs = slices.Clone(fs)
	for i := range fs {
		for _, limit := range []*string{&fs[i].MinDate, &fs[i].MaxDate} {
			if date, ok := dateLimit(*limit, day); ok {
				*limit = date.Format(time.DateOnly)
			}
		}
		fs[i].Fields = fs[i].Fields.On(day)
	}
	return fs
}
