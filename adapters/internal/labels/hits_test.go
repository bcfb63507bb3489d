// Tests of the customer beside the entry of a hit.

package labels_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/internal/labels"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// plainWords know one country and no topic.
func plainWords() labels.HitWords {
	return labels.HitWords{
		CountryCode: func(text string) string { return strings.Replace(text, "India", "in", 1) },
		CountryName: strings.ToUpper,
		Topic:       func(topic string) string { return topic },
	}
}

// marked returns the rows of a hit as lines, with the marked parts in brackets.
func marked(rows []labels.HitRow) string {
	var b strings.Builder
	side := func(parts []labels.Part) {
		for _, p := range parts {
			if p.Mark {
				p.Text = "[" + p.Text + "]"
			}
			b.WriteString(p.Text)
		}
	}
	for _, row := range rows {
		b.WriteString(string(row.Fact) + ": ")
		side(row.Customer)
		b.WriteString(" | ")
		side(row.Entry)
		b.WriteString("\n")
	}
	return b.String()
}

func TestTheCustomerIsWhoTheCheckWasAskedAbout(t *testing.T) {
	about := rules.Subject{Name: "Asha Rao", BirthDate: "1990-02-01", Number: "ABCDE1234F"}
	for _, row := range []struct{ name, asked, want string }{
		{
			"all in the request", `{"name":"Ravi","birth_date":"1961","countries":["ru",""],"identifiers":{"passport":"P1","tax":["T1","T2"]}}`,
			"name: Ravi | X\nborn: 1961 | \ncountries: RU | \nnumbers: P1, T1, T2 | \n",
		},
		{"the subject of the run", `{"name":" asha rao "}`, "name: asha rao | X\nborn: 1990-02-01 | \nnumbers: ABCDE1234F | \n"},
		{"another person than the subject", `{"name":"Ravi"}`, "name: Ravi | X\n"},
		{
			"other names of fields", `{"full_name":"Ravi","dob":"1961-01-02","country":"India","number":77}`,
			"name: Ravi | X\nborn: 1961-01-02 | \ncountries: IN | \nnumbers: 77 | \n",
		},
		{"a check that was asked nothing", ``, "name: Asha Rao | X\nborn: 1990-02-01 | \nnumbers: ABCDE1234F | \n"},
		{"values that are no texts", `{"name":{"first":"Ravi"},"birth_date":null,"countries":true}`, "name: Ravi | X\n"},
	} {
		got := marked(labels.HitRows(verification.Data(row.asked), about, verification.Hit{Name: "X"}, plainWords()))
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
}

func TestWhatCustomerAndEntryShareIsMarked(t *testing.T) {
	h := verification.Hit{
		Name: "Zamoyskov, Viktor", Alias: "Viktor Petrov", BirthDates: []string{"1961-03-14"}, Countries: []string{"ru", "by"}, Topics: []string{"sanction"},
	}
	got := marked(labels.HitRows(verification.Data(`{"name":"Petrov Viktor","birth_date":"1961-07-01","countries":["by"]}`), rules.Subject{}, h, plainWords()))
	const want = "name: [Petrov] [Viktor] | Zamoyskov, [Viktor]\nalias:  | [Viktor] [Petrov]\nborn: [1961]-07-01 | [1961]-03-14\n" +
		"countries: [BY] | RU, [BY]\ntopics:  | sanction\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestDatesAreMarkedAsFarAsTheyAgree(t *testing.T) {
	for _, row := range []struct {
		date   string
		others []string
		want   string
	}{
		{"1961-03-14", []string{"1961-03-14"}, "[1961-03-14]"},
		{"1961-03-14", []string{"1961-07-14"}, "[1961]-03-14"},
		{"1961-03-14", []string{"1999", "1961-03"}, "[1961-03]-14"},
		{"1961", []string{"1961-03-14"}, "[1961]"},
		{"1961-03-14", []string{"1916-03-14", "1961-1", "19"}, "[1961]-03-14"},
		{"1961", []string{"196", "19611"}, "1961"},
		{"~1965", []string{"1961"}, "~1965"},
		{"1961-03-14", nil, "1961-03-14"},
	} {
		got := marked(labels.HitRows(verification.DataOf(map[string]any{"name": "A", "dob": row.date}), rules.Subject{}, verification.Hit{BirthDates: row.others}, plainWords()))
		if want := "born: " + row.want + " | "; !strings.Contains(got, want) {
			t.Errorf("%s beside %v = %s, want %s", row.date, row.others, got, want)
		}
	}
}

func TestWordsFromRightToLeftAreIsolated(t *testing.T) {
	shown := strings.NewReplacer("\u2068", "<", "\u2069", ">")
	for text, want := range map[string]string{
		"عبد الرحمن is like محمد: 0.71":   "<عبد الرحمن> is like <محمد>: 0.71",
		"طارق is the same, علي is not in": "<طارق> is the same, <علي> is not in",
		"מֹשֶׁה בן־נון is the same":       "<מֹשֶׁה בן־נון> is the same",
		"علی\u200cرضا - x":                "<علی\u200cرضا> - x",
		"Asha Rao":                        "Asha Rao",
	} {
		if got := shown.Replace(labels.IsolateWords(text)); got != want {
			t.Errorf("IsolateWords(%q) = %q, want %q", text, got, want)
		}
	}
	if labels.FromRight("طارق is the same", "each name has a word that the other has not") || !labels.FromRight("محمد (IQ)") {
		t.Error("the direction is not the one of most letters")
	}
}
