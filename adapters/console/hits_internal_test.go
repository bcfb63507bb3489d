// Tests of the two columns of a hit.

package console

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification"
)

func TestTheCustomerIsWhoTheCheckWasAskedAbout(t *testing.T) {
	about := verification.Subject{Name: "Asha Rao", BirthDate: "1990-02-01", Number: "ABCDE1234F"}
	for _, row := range []struct {
		name, asked string
		want        screened
	}{
		{"all in the request", `{"name":"Ravi","birth_date":"1961","countries":["ru",""],"identifiers":{"passport":"P1","tax":["T1","T2"]}}`, screened{"Ravi", []string{"1961"}, []string{"ru"}, []string{"P1", "T1", "T2"}}},
		{"the subject of the run", `{"name":" asha rao "}`, screened{"asha rao", []string{"1990-02-01"}, nil, []string{"ABCDE1234F"}}},
		{"another person than the subject", `{"name":"Ravi"}`, screened{name: "Ravi"}},
		{"other names of fields", `{"full_name":"Ravi","dob":"1961-01-02","country":"India","number":77}`, screened{"Ravi", []string{"1961-01-02"}, []string{"in"}, []string{"77"}}},
		{"a check that was asked nothing", ``, screened{"Asha Rao", []string{"1990-02-01"}, nil, []string{"ABCDE1234F"}}},
		{"values that are no texts", `{"name":{"first":"Ravi"},"birth_date":null,"countries":true}`, screened{name: "Ravi"}},
	} {
		got := screenedOf(verification.Data(row.asked), about)
		if diff := cmp.Diff(row.want, got, cmp.AllowUnexported(screened{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
}

func TestDatesAreMarkedAsFarAsTheyAgree(t *testing.T) {
	for _, row := range []struct {
		dates, others []string
		want          string
	}{
		{[]string{"1961-03-14"}, []string{"1961-03-14"}, "[1961-03-14]"},
		{[]string{"1961-03-14"}, []string{"1961-07-14"}, "[1961]-03-14"},
		{[]string{"1961-03-14"}, []string{"1999", "1961-03"}, "[1961-03]-14"},
		{[]string{"1961"}, []string{"1961-03-14"}, "[1961]"},
		{[]string{"1961-03-14", "~1965"}, []string{"1961-03-15"}, "[1961-03]-14, ~1965"},
		{[]string{"1961-03-14"}, []string{"1916-03-14", "1961-1", "19"}, "[1961]-03-14"},
		{[]string{"1961"}, []string{"196", "19611"}, "1961"},
		{[]string{"1961-03-14"}, nil, "1961-03-14"},
		{nil, []string{"1961"}, ""},
	} {
		got := ""
		for _, p := range equalDates(row.dates, row.others) {
			if p.Mark {
				p.Text = "[" + p.Text + "]"
			}
			got += p.Text
		}
		if got != row.want {
			t.Errorf("%s beside %v = %s, want %s", row.dates, row.others, got, row.want)
		}
	}
}
