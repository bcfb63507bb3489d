package journey_test

import (
	"net/http"
	"strings"
	"testing"
)

// A document may lack the day, or the day and the month, of birth. The answer has what is known, and no invented day.
func TestABirthDateMayLackItsDayAndMonth(t *testing.T) {
	for _, row := range [][4]string{
		{"", "", "1960", "1960"},
		{"", "7", "1960", "1960-07"},
		{"00", "07", "1960", "1960-07"},
		{"XX", "XX", "1960", "1960"},
		{"x", "0", "१९६०", "1960"},
		{"?", "12", "1960", "1960-12"},
		{"5", "7", "1960", "1960-07-05"},
	} {
		s := serve(t)
		c := s.begin(onboarding(), "")
		onward(t, c.post("consent", "success"))
		onward(t, c.post(append(details(), "f.dob", "", "f.dob.day", row[0], "f.dob.month", row[1], "f.dob.year", row[2])...))
		if got := s.data(c, "details"); !strings.Contains(got, `"dob":"`+row[3]+`"`) {
			t.Errorf("day %q, month %q, year %q: %s, want %s", row[0], row[1], row[2], got, row[3])
		}
	}
}

func TestThePageSaysHowToGiveAPartOfABirthDate(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	onward(t, c.post("consent", "success"))
	page := c.get()
	wants(t, page, http.StatusOK, "leave it empty", `aria-describedby="f-dob-partial"`)
	for part, required := range map[string]bool{"day": false, "month": false, "year": true} {
		_, input, _ := strings.Cut(page.body, `name="f.dob.`+part+`"`)
		input, _, _ = strings.Cut(input, ">")
		if strings.Contains(input, " required") != required {
			t.Errorf("the %s: %s, want required %t", part, input, required)
		}
	}
	c.language = "hi"
	wants(t, c.get(), http.StatusOK, "खाली छोड़ दें")
	page = c.post(append(details(), "f.dob", "", "f.dob.day", "31", "f.dob.month", "", "f.dob.year", "1960")...)
	wants(t, page, http.StatusUnprocessableEntity, "पूरी तारीख़")
	wants(t, c.post(append(details(), "f.dob", "", "f.dob.day", "5", "f.dob.month", "7", "f.dob.year", "1376")...), http.StatusUnprocessableEntity, "जन्म की तारीख़ नहीं हो सकती")
}
