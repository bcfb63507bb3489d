// Birth dates, as official lists write them.

package watchlist

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/verifyd/verifyd/internal/birthdate"
)

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
	text, said := remarked(strings.Trim(text, " .,;:"))
	if said == remarkCalendar {
		return "", false
	}
	text, about := aboutDate(strings.Trim(text, " .,;:()"))
	about = about || said == remarkAbout
	if decade, ok := strings.CutSuffix(strings.ReplaceAll(text, "'s", "s"), "0s"); ok && len(decade) == 3 && birthdate.Is(decade+"0") && isYear(decade) {
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
	first, _ = aboutDate(strings.TrimSpace(first)) // a range is approximate as it is
	last, _ = aboutDate(strings.TrimSpace(last))
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

// remarked returns a date in lower case without what stands in brackets around it, and what the brackets say. Brackets with digits are
// part of the date.
func remarked(text string) (date string, said remark) {
	for _, pair := range []string{"()", "[]"} {
		for {
			from := strings.IndexByte(text, pair[0])
			if from < 0 {
				break
			}
			inside, behind, _ := strings.Cut(text[from+1:], pair[1:])
			if strings.ContainsFunc(inside, unicode.IsDigit) {
				return text, said
			}
			said = max(said, remarkOf(inside))
			text = strings.TrimSpace(strings.TrimSpace(text[:from]) + " " + strings.TrimSpace(behind))
		}
	}
	return text, said
}

// remark is what stands in brackets beside a date.
type remark int

const (
	remarkExact    remark = iota
	remarkAbout           // the date is approximate
	remarkCalendar        // the date is one of another calendar
)

// remarkOf returns what a remark in lower case says: a calendar, or a source of the date. Any other remark is a doubt about the date.
func remarkOf(text string) remark {
	words := strings.FieldsFunc(strings.ReplaceAll(text, ".", ""), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) })
	has := func(known string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return isOneOf(known, word) })
	}
	switch {
	case has("gregorian"), text == "":
		return remarkExact
	case has("calendar"):
		return remarkCalendar
	case has(sourceWords):
		if strings.Contains(text, "?") || slices.ContainsFunc(words, func(word string) bool { return !isOneOf(sourceWords+plainWords+calendarWords, word) }) {
			return remarkAbout
		}
		return remarkExact
	case has(calendarWords), len(words) == 1 && isOneOf(calendarShort, words[0]):
		return remarkCalendar
	}
	return remarkAbout
}

// The words of remarks. A word stands for those that it begins, too, if it has five letters or more. Nationalities are calendars, but not of a
// passport.
const (
	calendarWords = " ethiop amete geez nepal bikram vikram sambat samvat saka shaka shalivahana hijra hijri hegira islamic muslim solar lunar" +
		" qamari shamsi jalali persia irania afghan buddhi thai hebrew jewish coptic julian minguo taiwan showa heisei taisho meiji bangla bengali fasli rumi chines juche "
	calendarShort = " ec am bs vs ah hs sh be os roc "
	sourceWords   = " passport document identity id card certificate visa licence license register registry "
	plainWords    = " national birth according to as in per by from of the his her their stated given "
)

func isOneOf(words, word string) bool {
	for known := range strings.FieldsSeq(words) {
		if word == known || len(known) >= 5 && strings.HasPrefix(word, known) {
			return true
		}
	}
	return false
}

// oneDate reads a date that is not a range.
func oneDate(text string) (string, bool) {
	text = strings.TrimSpace(text)
	if day, _, ok := strings.Cut(text, "t"); ok && len(day) == len(time.DateOnly) && birthdate.Is(day) { // before a time of day
		text = day
	}
	for _, unknown := range []string{"dd/", "mm/", "00/", "00/", "00.", "00.", "00-", "00-"} {
		text = strings.TrimPrefix(text, unknown)
	}
	text = strings.TrimSuffix(strings.TrimSuffix(text, "-00"), "-00")
	if birthdate.Is(text) {
		return text, isYear(text)
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
			return date, isYear(date)
		}
	}
	return "", false
}

// isYear reports whether a text begins as a year does that is no number of something else.
func isYear(date string) bool { return date >= "18" && date < "21" }

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
