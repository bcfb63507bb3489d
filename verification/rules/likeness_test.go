package rules_test

import (
	"cmp"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

func TestAHitIsComparedInNameAndBirthDate(t *testing.T) {
	asked := verification.Data(`{"name":"Victor Zamoyskov","birth_date":"1961-03-14","number":"AB 12345"}`)
	for _, row := range []struct {
		name  string
		hit   verification.Hit
		asked verification.Data
		want  rules.Likeness
	}{
		{"the same", verification.Hit{Name: "ZAMOYSKOV, Victor", BirthDates: []string{"1961-03-14"}}, asked, rules.Likeness{Name: "same", Born: "day", Date: "1961-03-14"}},
		{"an alias", verification.Hit{Name: "V. Z.", Alias: "Victor Zamoyskov", BirthDates: []string{"1961-03"}}, asked, rules.Likeness{Name: "alias", Born: "month", Date: "1961-03"}},
		{"two words alike", verification.Hit{Name: "Viktor Zamoyskov", BirthDates: []string{"~1961"}}, asked, rules.Likeness{Name: "alike", Words: [2]string{"Victor", "Viktor"}, Born: "year", Date: "~1961"}},
		{"a name more", verification.Hit{Name: "Victor Aleksandrovich Zamoyskov"}, asked, rules.Likeness{Name: "alike", Words: [2]string{"", "Aleksandrovich"}, Born: "unlisted"}},
		{"another script", verification.Hit{Name: "Виктор Замойсков", Score: 1, BirthDates: []string{"1974-01-01", "1948-05-05"}}, asked, rules.Likeness{Name: "script", Born: "apart", Years: 13, Date: "1974-01-01"}},
		{"another spelling", verification.Hit{Name: "Zamoiskov Viktor", Score: 1, BirthDates: []string{"1961-09-01"}}, asked, rules.Likeness{Name: "spelt", Born: "other", Date: "1961-09-01"}},
		{"a number", verification.Hit{Name: "Igor", Reasons: []string{"the passport number is the same: AB12345"}, BirthDates: []string{"in youth"}}, asked, rules.Likeness{Name: "number", Born: "unread", Date: "in youth"}},
		{"no birth date given", verification.Hit{Name: "Victor", BirthDates: []string{"1961"}}, verification.Data(`{"name":"Victor"}`), rules.Likeness{Name: "same", Born: "unknown", Date: "1961"}},
		{"a company", verification.Hit{Name: "Acme Ltd"}, verification.Data(`{"name":"Acme Ltd","kind":"company"}`), rules.Likeness{Name: "same"}},
		{"a company with dates", verification.Hit{Name: "Acme Ltd", BirthDates: []string{"1990"}}, verification.Data(`{"name":"Acme Ltd","kind":"company","birth_date":"1980"}`), rules.Likeness{Name: "same", Born: "apart", Years: 10, Date: "1990"}},
		{"asked in other words, a full score", verification.Hit{Name: "Victor", Score: 1}, verification.Data(`{"applicant":"Victor"}`), rules.Likeness{Name: "same", Born: "unknown"}},
	} {
		if got := rules.LikenessOf(row.hit, row.asked, rules.Subject{}); got != row.want {
			t.Errorf("%s: %s", row.name, gocmp.Diff(row.want, got))
		}
	}
}

// The closest is the first that a reviewer should look at, in the order of a list written by hand.
func TestTheClosestHitIsFirst(t *testing.T) {
	order := []rules.Likeness{
		{Name: "alias", Born: "day"},
		{Name: "same", Born: "month"},
		{Name: "script", Born: "year"},
		{Name: "same", Born: "other"},
		{Name: "same", Born: "unknown"},
		{Name: "number", Born: "unlisted"},

		{Name: "same", Born: "apart", Years: 2},
		{Name: "same", Born: "apart", Years: 13},
		{Name: "alike", Born: "day"},
		{Name: "alike", Born: "apart", Years: 1},
	}
	for i, a := range order {
		for j, b := range order {
			if got := a.Compare(b); got != cmp.Compare(i, j) {
				t.Errorf("%v before %v: %d", a, b, got)
			}
		}
	}
	shuffled := slices.Clone(order)
	slices.Reverse(shuffled)
	slices.SortFunc(shuffled, rules.Likeness.Compare)
	if diff := gocmp.Diff(order, shuffled); diff != "" {
		t.Error(diff)
	}
}

func TestAConcernHasTheClosestOpenHit(t *testing.T) {
	j := equalHit(t)
	about := rules.Subject{Name: "Ivan Testov", BirthDate: "1961-07-02"}
	first := func() (entry, list string, like rules.Likeness) {
		review, _ := j.run.Review()
		for _, c := range j.run.Compared(review.Concerns, j.program, about) {
			if c.Hit != nil {
				return c.Hit.ID, c.List, *c.Likeness
			}
		}
		t.Fatal("there is no concern with a hit")
		return "", "", rules.Likeness{}
	}
	if entry, list, like := first(); entry != "equal" || list != "sanctions" || !like.Close() {
		t.Errorf("the first hit is %s of %s, %v", entry, list, like)
	}
	j.do(says("asha", "equal", rules.MatchOther, "Another mother."))
	if entry, _, like := first(); entry != "near" || like.Close() || like.Years != 14 {
		t.Errorf("once it is cleared, the first hit is %s, %v", entry, like)
	}
}
