// Birth dates, as official lists write them.

package watchlist

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
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

// writtenDates reads the birth dates of a text as lists write them, such as 14 Mar 1961, 00/00/1961,
// circa 1961, 1960 to 1962, between Aug. and Sep. 1977, or several of these. Days come before months. The
// dates are such as Entry.BirthDates may have; ok says that the whole text was read.
func writtenDates(text string) (dates []string, ok bool) {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	if date, ok := writtenDate(text); ok {
		return []string{date}, true
	}
	ok = true
	apart := strings.NewReplacer(";", "\x1f", ",", "\x1f", " or ", "\x1f", " and ", "\x1f", " also ", "\x1f")
	for part := range strings.FieldsFuncSeq(apart.Replace(text), func(r rune) bool { return r == '\x1f' }) {
		date, read := writtenDate(part)
		if ok = ok && read; read {
			dates = append(dates, date)
		}
	}
	return dates, ok
}

// writtenDate reads one date or one range in lower case.
func writtenDate(text string) (string, bool) {
	text, about := aboutDate(strings.Trim(text, " .,;:()"))
	if decade, ok := strings.CutSuffix(strings.TrimSuffix(text, "'s"), "0s"); ok && len(decade) == 3 && IsDate(decade+"0") && plausible(decade) {
		return decade + "0.." + decade + "9", true
	}
	if date, ok := oneDate(text); ok {
		return approximate(date, about), true
	}
	for _, word := range []string{"between ", "from "} {
		text = strings.TrimPrefix(text, word)
	}
	for _, between := range []string{"..", " to ", " and ", " - ", " – ", "-", "–", "/"} {
		first, last, found := strings.Cut(text, between)
		if !found {
			continue
		}
		if date, ok := dateRange(first, last); ok {
			return date, true
		}
	}
	return "", false
}

// dateRange reads the dates from the first to the last one, of which the first may lack the year, and
// the last the century.
func dateRange(first, last string) (string, bool) {
	first, last = strings.TrimSpace(first), strings.TrimSpace(last)
	if len(last) == 2 && len(first) == 4 && first[2:] < last {
		last = first[:2] + last
	}
	to, ok := oneDate(last)
	if !ok {
		return "", false
	}
	from, ok := oneDate(first)
	if !ok {
		from, ok = oneDate(first + " " + to[:4])
	}
	if !ok || from > to {
		return "", false
	}
	return span(from, to), true
}

// aboutDate returns a date without the words that say that it is approximate, and whether it has some.
func aboutDate(text string) (date string, about bool) {
	if date, remark, ok := strings.Cut(text, "("); ok && !strings.ContainsAny(remark, "0123456789") {
		text, about = strings.TrimSpace(date), strings.Contains(remark, "circa") || strings.Contains(remark, "appr")
	}
	if date, ok := strings.CutSuffix(text, "?"); ok {
		text, about = date, true
	}
	for {
		rest := ""
		for _, word := range []string{
			"circa", "approximately", "approximate", "approx", "about", "around", "abt", "estimated", "est", "possibly", "probably", "ca", "c", "early", "mid", "late", "year", "~",
		} {
			after, ok := strings.CutPrefix(text, word)
			if next, _ := utf8.DecodeRuneInString(after); ok && !unicode.IsLetter(next) {
				rest = strings.TrimLeft(after, " .:-")
				about = about || word != "year"
				break
			}
		}
		if rest == "" {
			return text, about
		}
		text = rest
	}
}

// oneDate reads a date that is not a range.
func oneDate(text string) (string, bool) {
	text = strings.TrimSpace(text)
	if day, _, ok := strings.Cut(text, "t"); ok && len(day) == len(time.DateOnly) && IsDate(day) { // before a time of day
		text = day
	}
	for _, unknown := range []string{"dd/", "mm/", "00/", "00/", "00.", "00.", "00-", "00-"} {
		text = strings.TrimPrefix(text, unknown)
	}
	text = strings.TrimSuffix(strings.TrimSuffix(text, "-00"), "-00")
	if IsDate(text) {
		return text, plausible(text)
	}
	text = strings.NewReplacer("sept.", "sep ", ".", " ", ",", " ", "/", " ", "-", " ", "sept ", "sep ", "1st ", "1 ", "2nd ", "2 ", "3rd ", "3 ", "th ", " ").Replace(text)
	text = strings.Join(strings.Fields(text), " ")
	for _, layout := range [][2]string{
		{"1 2006", "2006-01"},
		{"2006 1", "2006-01"},
		{"2 1 2006", time.DateOnly},
		{"1 2 2006", time.DateOnly}, // if the day is after the 12th
		{"2 Jan 2006", time.DateOnly},
		{"2 January 2006", time.DateOnly},
		{"Jan 2006", "2006-01"},
		{"January 2006", "2006-01"},
		{"Jan 2 2006", time.DateOnly},
		{"January 2 2006", time.DateOnly},
		{"2006 1 2", time.DateOnly},
		{"2006 Jan 2", time.DateOnly},
		{"20060102", time.DateOnly},
	} {
		if t, err := time.Parse(layout[0], text); err == nil {
			date := t.Format(layout[1])
			return date, plausible(date)
		}
	}
	return "", false
}

// plausible reports whether a date may be a birth date: a year of another calendar is none.
func plausible(date string) bool { return date >= "18" && date < "21" }

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
