// When the document of a machine readable zone expires.

package offline

import (
	_ "embed"
	"strings"
	"time"
)

// mrz_endless.tsv has the dates that issuers write on documents without an end.
//
//go:embed mrz_endless.tsv
var mrzEndless string

// How the zone says when its document expires.
const (
	expiresDate     = "date"     // it has the date
	expiresComputed = "computed" // it has only the month of issue
	expiresNever    = "never"
)

// mrzExpiry is when a document expires. The date is zero if the document never does.
type mrzExpiry struct {
	how    string
	date   time.Time
	issued time.Time // the first day of the month of issue, if the date is computed
}

// expires returns when the document expires. A date is less than 50 years after now. ok
// is false if there is no such date.
func (z mrz) expires(now, birth time.Time, endless map[string]bool) (e mrzExpiry, ok bool) {
	switch {
	case z.format == formatIDFRA:
		return z.expiresIDFRA(birth)
	case z.undated(), z.format == formatTD1 && endless[z.issuer+z.expiry]:
		return mrzExpiry{how: expiresNever}, true
	}
	date, ok := z.date(z.expiry, now.AddDate(50, 0, 0))
	return mrzExpiry{how: expiresDate, date: date}, ok
}

// expiresIDFRA computes the date from the number, which begins with the year and the month
// of issue: 10 years, or 15 for adults whose card was issued from 2004 on (decree 2013-1188),
// until 3 August 2031 at the latest (Regulation (EU) 2019/1157, article 5). The day of issue
// is not in the zone, so the last day of the month counts.
func (z mrz) expiresIDFRA(birth time.Time) (e mrzExpiry, ok bool) {
	last := time.Date(2021, 12, 31, 0, 0, 0, 0, time.UTC)
	issued, ok := z.date(z.number[:4]+"01", last)
	if !ok {
		return mrzExpiry{how: expiresComputed}, false
	}
	years := 10
	if issued.Year() >= 2004 && !birth.IsZero() && yearsBetween(birth, issued) >= 18 {
		years = 15
	}
	date := issued.AddDate(years, 1, -1)
	if end := time.Date(2031, 8, 3, 0, 0, 0, 0, time.UTC); date.After(end) {
		date = end
	}
	return mrzExpiry{how: expiresComputed, date: date, issued: issued}, true
}

// is reports whether a date that the customer gave can be the one of the document. One
// without an end may have any date of the year 9999. A computed date has no day, and the
// one on the card may be without the five years by which the decree prolonged it.
func (e mrzExpiry) is(given time.Time) bool {
	switch e.how {
	case expiresNever:
		return given.Year() == 9999
	case expiresComputed:
		for _, years := range []int{10, 15} {
			if !given.Before(e.issued.AddDate(years, 0, -1)) && given.Before(e.issued.AddDate(years, 1, 0)) {
				return true
			}
		}
		return false
	}
	return given.Equal(e.date)
}

// readEndless returns the issuers with their dates, as a zone writes them.
func readEndless() map[string]bool {
	endless := map[string]bool{}
	for _, columns := range readTable(mrzEndless) {
		endless[strings.Join(columns[:2], "")] = true
	}
	return endless
}
