// Tests of birth dates.

package birthdate_test

import (
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/birthdate"
)

var today = time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)

func TestADateThatNobodyHasIsImplausible(t *testing.T) {
	for date, want := range map[string]struct{ person, company bool }{
		"1957-05-15": {true, true}, "1957-05": {true, true}, "1957": {true, true},
		"2026-11-28": {true, true}, "2026-11": {true, true}, "2026": {true, true}, "2026-11-29": {}, "2026-12": {}, "2027": {},
		"1895-11-29": {true, true}, "1895-11-28": {false, true}, "1895-11": {true, true}, "1895-10": {false, true}, "1895": {true, true}, "1894": {false, true},
		// other calendars
		"2500-05-15": {}, "2569": {}, "1376-10-24": {false, true}, "1336-02": {false, true}, "5787": {}, "0115-05-15": {false, true},
		// what systems write for none
		"0001-01-01": {}, "0001": {}, "0000-00-00": {}, "1753-01-01": {}, "1899-12-30": {}, "1899-12-31": {false, true}, "1900-01-01": {false, true}, "9999-12-31": {},
		"1900-01-02": {true, true}, "1900": {true, true}, "1970-01-01": {true, true}, "1753-01-02": {false, true},
	} {
		if got := birthdate.Plausible(date, today); got != want.person {
			t.Errorf("Plausible(%s) = %t, want %t", date, got, want.person)
		}
		if got := birthdate.Past(date, today); got != want.company {
			t.Errorf("Past(%s) = %t, want %t", date, got, want.company)
		}
	}
}

func TestPartsOfADateAreComparedAsFarAsTheyGo(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"1960", "1960-07-05", true},
		{"1960-07", "1960-07-05", true},
		{"1960-07-05", "1960-07-05", true},
		{"1960", "1961-07-05", false},
		{"1960-07", "1960-08-05", false},
		{"1960-07", "1960-08", false},
	} {
		if birthdate.Agree(tt.a, tt.b) != tt.want || birthdate.Agree(tt.b, tt.a) != tt.want {
			t.Errorf("%s and %s agree: want %t", tt.a, tt.b, tt.want)
		}
	}
	for date, want := range map[string]string{
		"1960": "1960-01-01 1960-12-31", "1960-02": "1960-02-01 1960-02-29", "1961-12": "1961-12-01 1961-12-31", "1960-07-05": "1960-07-05 1960-07-05",
	} {
		from, to := birthdate.Range(date)
		if got := from.Format(time.DateOnly) + " " + to.Format(time.DateOnly); got != want {
			t.Errorf("Range(%s) = %s, want %s", date, got, want)
		}
	}
}
