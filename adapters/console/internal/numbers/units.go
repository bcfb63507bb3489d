// Units: durations, shares and days as texts.

package numbers

import (
	"math"
	"strconv"
	"time"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/verification/store"
)

// duration returns a duration below a day in its largest unit with about three digits, such
// as 2.5 h, and 0 without one. The keys of the messages are "unit." and the unit. From a day
// on, it is in whole days or hours, such as 31 h or 3 days 7 h.
func duration(s shell.Session, d time.Duration) (string, error) {
	switch {
	case d == 0:
		return "0", nil
	case d >= 24*time.Hour:
		return days(s, d)
	}
	for _, unit := range []struct {
		key  string
		size time.Duration
	}{{"h", time.Hour}, {"min", time.Minute}, {"s", time.Second}} {
		if d >= unit.size {
			return s.T("unit."+unit.key, digits(float64(d)/float64(unit.size)))
		}
	}
	return s.T("unit.ms", digits(float64(d)/float64(time.Millisecond)))
}

// days returns a duration of at least a day: hours below three days unless they are whole
// days, days and hours below ten, else days.
func days(s shell.Session, d time.Duration) (string, error) {
	const day = 24
	hours := int(d.Round(time.Hour) / time.Hour)
	switch {
	case hours >= 10*day:
		return s.N("duration.days", (hours+day/2)/day)
	case hours%day == 0:
		return s.N("duration.days", hours/day)
	case hours < 3*day:
		return s.T("unit.h", strconv.Itoa(hours))
	}
	whole, err := s.N("duration.days", hours/day)
	if err != nil {
		return "", err
	}
	rest, err := s.T("unit.h", strconv.Itoa(hours%day))
	return whole + " " + rest, err
}

// digits returns a number of at least 0 with about three digits.
func digits(v float64) string {
	scale := 1.0
	for v*scale < 100 && scale < 100 {
		scale *= 10
	}
	return strconv.FormatFloat(math.Round(v*scale)/scale, 'f', -1, 64)
}

// share returns a part of a whole as a percentage; 0 of 0 is 0.
func share(s shell.Session, part, whole int) (string, error) {
	if whole == 0 {
		return s.T("unit.percent", "0")
	}
	return s.T("unit.percent", digits(100*float64(part)/float64(whole)))
}

// shortDay returns a day without its year, such as 22 Nov.
func shortDay(s shell.Session, d store.Day) (string, error) {
	date := d.Date()
	month, err := s.T("month." + strconv.Itoa(int(date.Month())))
	if err != nil {
		return "", err
	}
	return s.T("unit.day", date.Day(), month)
}
