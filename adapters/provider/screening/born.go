// Birth dates, as official lists write them.

package screening

import (
	"fmt"
	"strings"
	"time"
)

// IsDate reports whether a text is YYYY, YYYY-MM or YYYY-MM-DD.
func IsDate(s string) bool {
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

// isoDate reads a birth date of a file that we define: one that Entry.BirthDates may have,
// or one with a time of day.
func isoDate(text string) (string, bool) {
	text = strings.TrimSpace(text)
	if from, to, ok := strings.Cut(text, ".."); ok {
		return text, IsDate(from) && IsDate(to) && from <= to
	}
	text, _, _ = strings.Cut(text, "T")
	return text, IsDate(strings.TrimPrefix(text, "~"))
}

// writtenDate reads a birth date as official lists write it, such as 14 Mar 1961,
// 00/00/1961, circa 1961, or 1960 to 1962. Days come before months.
func writtenDate(text string) (string, bool) {
	text = strings.ToLower(strings.Trim(text, " ."))
	for _, word := range []string{"circa ", "approximately ", "approx. ", "about ", "c. ", "ca. ", "early ", "mid ", "late ", "~"} {
		if rest, ok := strings.CutPrefix(text, word); ok {
			text, ok = writtenDate(rest)
			if !strings.ContainsAny(text, "~.") {
				text = "~" + text
			}
			return text, ok
		}
	}
	if decade, ok := strings.CutSuffix(text, "0s"); ok && len(decade) == 3 && IsDate(decade+"0") {
		return decade + "0.." + decade + "9", true
	}
	text = strings.TrimPrefix(text, "between ")
	for _, between := range []string{" to ", " and ", " - ", " – ", "-", "–", "/"} {
		from, to, ok := strings.Cut(text, between)
		if from, one := oneDate(from); ok && one {
			if to, two := oneDate(to); two && len(from) == len(to) && from <= to {
				return span(from, to), true
			}
		}
	}
	return oneDate(text)
}

// oneDate reads a date that is not a range.
func oneDate(text string) (string, bool) {
	text = strings.TrimSpace(text)
	text, _, _ = strings.Cut(text, "t0") // a time of day
	if IsDate(text) {
		return text, true
	}
	text = strings.NewReplacer("dd/", "", "mm/", "", "00/", "").Replace(text)
	for _, layout := range [][2]string{
		{"2006", "2006"},
		{"1/2006", "2006-01"},
		{"2/1/2006", time.DateOnly},
		{"2.1.2006", time.DateOnly},
		{"2 Jan 2006", time.DateOnly},
		{"2 January 2006", time.DateOnly},
		{"Jan 2006", "2006-01"},
		{"January 2006", "2006-01"},
		{"Jan 2, 2006", time.DateOnly},
		{"January 2, 2006", time.DateOnly},
	} {
		if t, err := time.Parse(layout[0], text); err == nil {
			return t.Format(layout[1]), true
		}
	}
	return "", false
}

// span returns the birth date for a range of days: a day, a month or a year, if it is one.
func span(from, to string) string {
	switch {
	case from == to:
		return from
	case len(from) < 10 || len(to) < 10:
	case from[4:] == "-01-01" && to[4:] == "-12-31":
		if from[:4] == to[:4] {
			return from[:4]
		}
		return from[:4] + ".." + to[:4]
	case from[:7] == to[:7] && from[7:] == "-01" && lastDay(to):
		return from[:7]
	}
	return from + ".." + to
}

// lastDay reports whether a day is the last one of its month.
func lastDay(date string) bool {
	t, err := time.Parse(time.DateOnly, date)
	return err == nil && t.AddDate(0, 0, 1).Day() == 1
}

// ymd returns the date of a year, a month and a day, of which the last ones may be empty or
// 0.
func ymd(year, month, day string) string {
	year, month, day = strings.TrimLeft(year, "0"), strings.TrimLeft(month, "0"), strings.TrimLeft(day, "0")
	switch {
	case month == "":
		return year
	case day == "":
		return fmt.Sprintf("%s-%02s", year, month)
	}
	return fmt.Sprintf("%s-%02s-%02s", year, month, day)
}
