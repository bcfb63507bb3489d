package rules_test

import (
	"errors"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/rig/flows"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestWhichEntriesAgree(t *testing.T) {
	asked := func(text string) verification.Data { return verification.Data(text) }
	ivan := asked(`{"name":"Ivan Testov","birth_date":"1961-07-02","identifiers":[{"type":"passport","value":"AB 12-345"}]}`)
	hit := func(name string, score float64, born ...string) verification.Hit {
		return verification.Hit{ID: "e", Name: name, Score: score, BirthDates: born}
	}
	numbered := func(reason string) verification.Hit {
		return verification.Hit{ID: "e", Name: "Igor", Score: 0.9, BirthDates: []string{"1961"}, Reasons: []string{reason}}
	}
	for _, row := range []struct {
		name  string
		hit   verification.Hit
		asked verification.Data
		about rules.Subject
		want  bool
	}{
		{"the same name and day", hit("TESTOV, Ivan", 0.9, "1961-07-02"), ivan, rules.Subject{}, true},
		{"one day of several", hit("TESTOV, Ivan", 0.9, "1950", "1961-07-02"), ivan, rules.Subject{}, true},
		{"the same name and year", hit("Ivan Testov", 0.9, "1961"), ivan, rules.Subject{}, true},
		{"about the same year", hit("Ivan Testov", 0.9, "~1961"), ivan, rules.Subject{}, true},
		{"an estimated year", hit("Ivan Testov", 0.9, "1961 (estimated)"), ivan, rules.Subject{}, true},
		{"the same month", hit("Ivan Testov", 0.9, "1961-07"), ivan, rules.Subject{}, true},
		{"another month", hit("Ivan Testov", 0.9, "1961-08"), ivan, rules.Subject{}, false},
		{"another day", hit("Ivan Testov", 1, "1961-07-03"), ivan, rules.Subject{}, false},
		{"another year", hit("Ivan Testov", 1, "1960"), ivan, rules.Subject{}, false},
		{"no birth date", hit("Ivan Testov", 1), ivan, rules.Subject{}, false},
		{"not a date", hit("Ivan Testov", 1, "unknown"), ivan, rules.Subject{}, false},
		{"another name on the same day", hit("Igor Testov", 0.93, "1961-07-02"), ivan, rules.Subject{}, false},
		{"the same name in another script", hit("Иван Тестов", 1, "1961-07-02"), ivan, rules.Subject{}, true},
		{"an alias", verification.Hit{Name: "Igor", Alias: "Testov Ivan", Score: 0.9, BirthDates: []string{"1961-07-02"}}, ivan, rules.Subject{}, true},
		{
			"the same number on the same day",
			verification.Hit{Name: "Igor", Score: 0.9, BirthDates: []string{"1961-07-02"}, Reasons: []string{"the passport number is the same: AB12345"}},
			ivan,
			rules.Subject{},
			true,
		},
		{"what the run says of the same name", hit("Ivan Testov", 1, "1961-07-02"), asked(`{"name":"ivan testov"}`), rules.Subject{Name: "Ivan Testov", BirthDate: "1961-07-02"}, true},
		{"what the run says of another name", hit("Ivan Testov", 1, "1961-07-02"), asked(`{"name":"Ivan Testov"}`), rules.Subject{Name: "Olga", BirthDate: "1961-07-02"}, false},
		{"what the run alone says", hit("Ivan Testov", 1, "1961-07-02"), asked(`{}`), rules.Subject{Name: "Ivan Testov", BirthDate: "1961-07-02"}, true},
		{"nothing asked", hit("Ivan Testov", 1, "1961-07-02"), nil, rules.Subject{}, false},
		{"a blank birth date beside one", hit("Ivan Testov", 1, "1961-07-02"), asked(`{"name":"Ivan Testov","birth_date":" ","dob":"1961-07-02"}`), rules.Subject{}, true},
		{"a blank birth date, and what the run says", hit("Ivan Testov", 1, "1961-07-02"), asked(`{"name":"Ivan Testov","birth_date":""}`), rules.Subject{Name: "Ivan Testov", BirthDate: "1961-07-02"}, true},
		{"a year that is a number", hit("Ivan Testov", 1, "1961"), asked(`{"name":"Ivan Testov","birth_date":1961}`), rules.Subject{}, true},
		{"the same number, as a number", numbered("the tax number is the same: 1234567"), asked(`{"name":"Ivan","birth_date":"1961","number":1234567}`), rules.Subject{}, true},
		{
			"the same number of more digits than a float has", numbered("the tax number is the same: 12345678901234567891"),
			asked(`{"name":"Ivan","birth_date":"1961","number":12345678901234567891}`),
			rules.Subject{},
			true,
		},
		{"a name that is composed otherwise", hit("Jose\u0301 Nuñez", 0.9, "1961"), asked(`{"name":"NUN\u0303EZ JOSÉ","birth_date":"1961"}`), rules.Subject{}, true},
		{"other spaces and punctuation", hit("Testov,\u00a0Ivan\u3000", 0.9, "1961"), asked(`{"name":"  ivan – TESTOV ","birth_date":"1961"}`), rules.Subject{}, true},
		{"what the run says of a name that is composed otherwise", hit("José", 1, "1961"), asked(`{"name":"Jose\u0301"}`), rules.Subject{Name: "José", BirthDate: "1961"}, true},
	} {
		if got := rules.LikenessOf(row.hit, row.asked, row.about).Close(); got != row.want {
			t.Errorf("%s: Close = %t, want %t", row.name, got, row.want)
		}
	}
}

// equalHit is a run under four eyes that needs a verdict, and whose check has an entry with the name
// and the birth date of the customer, and one with another day.
func equalHit(t *testing.T) *journey {
	t.Helper()
	d := flows.FourEyes()
	d.Subject = &workflow.SubjectFields{Name: "input.name", BirthDate: "input.born"}
	j := begin(t, d, `{"name":"Ivan Testov","born":"1961-07-02"}`).submit(consents)
	w := j.run.Wait()
	return j.do(rules.RecordResult{
		Node: w.Node, Dispatch: w.Dispatch, Outcome: verification.OutcomePassed, Data: flows.Data(t, `{"analysis_ok":false}`),
		Screening: &verification.ScreeningResult{List: "sanctions", ListVersion: "v1", Hits: []verification.Hit{
			{ID: "equal", Name: "TESTOV Ivan", Score: 1, BirthDates: []string{"1961-07-02"}}, {ID: "near", Name: "Ivan Testov", Score: 1, BirthDates: []string{"1975"}},
		}},
	})
}

// says is what a person says of a hit in the console.
func says(who, entry string, m rules.HitMatch, reason string) rules.DecideHit {
	return rules.DecideHit{Node: "pan", List: "sanctions", Entry: entry, Match: m, Reason: reason, Justified: true, By: who, Identity: "id-" + who}
}

// A hit that agrees is decided alone, whatever the decision and its reason; one that differs may be one of several.
func TestAnEqualEntryIsDecidedAlone(t *testing.T) {
	for _, m := range []rules.HitMatch{rules.MatchOther, rules.MatchSame, rules.MatchUnsure} {
		for entry, want := range map[string]string{"equal": "invalid", "near": "hit_decided"} {
			c := says("asha", entry, m, "Born elsewhere.")
			c.Together = true
			if got := flows.Outcome(equalHit(t).try(c)); got != want {
				t.Errorf("%s together with others, %s: %s, want %s", entry, m, got, want)
			}
		}
	}
}

func TestAnEqualEntryIsClearedWithAReason(t *testing.T) {
	for _, row := range []struct {
		name string
		c    rules.DecideHit
		want string
	}{
		{"another person, without a reason", says("asha", "equal", rules.MatchOther, " "), "invalid"},
		{"another person, with a reason", says("asha", "equal", rules.MatchOther, "Another mother."), "hit_decided"},
		{"the same person", says("asha", "equal", rules.MatchSame, ""), "hit_decided"},
		{"not sure", says("asha", "equal", rules.MatchUnsure, ""), "hit_decided"},
		{"another day of birth", says("asha", "near", rules.MatchOther, ""), "hit_decided"},
		{"by a program", decides("pan", "equal", "", rules.MatchOther), "hit_decided"},
	} {
		if got := flows.Outcome(equalHit(t).try(row.c)); got != row.want {
			t.Errorf("%s: %s, want %s", row.name, got, row.want)
		}
	}
	var e *verification.Error
	if _, err := equalHit(t).try(says("asha", "equal", rules.MatchOther, "")); !errors.As(err, &e) || len(e.Fields) != 1 || e.Fields[0].Name != "reason" {
		t.Errorf("the error names %+v, want the reason", e)
	}
}

func TestTheSecondPersonAnswersTheHits(t *testing.T) {
	const other, same, unsure = rules.MatchOther, rules.MatchSame, rules.MatchUnsure
	judge := func(who string, justified bool) rules.GiveVerdict {
		return rules.GiveVerdict{Decision: rules.DecisionApprove, Notes: "Fine.", Justified: justified, By: who, Identity: "id-" + who}
	}
	for _, row := range []struct {
		name          string
		first, second []rules.DecideHit // before and after the proposal of asha
		program       bool
		want          error
	}{
		{"nobody has decided", nil, nil, false, rules.ErrHitForSecond},
		{"a signal", nil, nil, true, nil},
		{"the first is not sure", []rules.DecideHit{says("asha", "equal", other, "x"), says("asha", "near", unsure, "")}, []rules.DecideHit{says("ravi", "equal", other, "x")}, false, rules.ErrHitForSecond},
		{"the second is not sure, too", []rules.DecideHit{says("asha", "near", unsure, ""), says("asha", "equal", same, "")}, []rules.DecideHit{says("ravi", "near", unsure, "")}, false, rules.ErrHitForSecond},
		{"the second answers", []rules.DecideHit{says("asha", "near", unsure, ""), says("asha", "equal", same, "")}, []rules.DecideHit{says("ravi", "near", other, "")}, false, nil},
		{"the first clears an equal entry", []rules.DecideHit{says("asha", "equal", other, "x"), says("asha", "near", other, "")}, nil, false, rules.ErrHitForSecond},
		{"both clear an equal entry", []rules.DecideHit{says("asha", "equal", other, "x"), says("asha", "near", other, "")}, []rules.DecideHit{says("ravi", "equal", other, "y")}, false, nil},
		{"a third one has cleared it", []rules.DecideHit{says("mira", "equal", other, "x"), says("asha", "near", other, "")}, nil, false, nil},
		{"the first clears it after the proposal", []rules.DecideHit{says("asha", "equal", same, ""), says("asha", "near", unsure, "")}, []rules.DecideHit{says("asha", "near", other, "")}, false, rules.ErrHitForSecond},
		{"entries with another birth date", []rules.DecideHit{says("asha", "equal", same, ""), says("asha", "near", other, "")}, nil, false, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			j := equalHit(t)
			for _, c := range row.first {
				j.do(c)
			}
			j.after(time.Minute).do(judge("asha", true)).after(time.Minute)
			for _, c := range row.second {
				j.do(c)
			}
			if _, err := j.try(judge("ravi", !row.program)); !errors.Is(err, row.want) {
				t.Errorf("the confirmation = %v, want %v", err, row.want)
			}
			if _, err := j.try(rules.GiveVerdict{Decision: rules.DecisionReject, Notes: "No.", Justified: true, Reason: "other", By: "ravi", Identity: "id-ravi"}); errors.Is(err, rules.ErrHitForSecond) {
				t.Errorf("sending it back = %v", err)
			}
		})
	}
}
