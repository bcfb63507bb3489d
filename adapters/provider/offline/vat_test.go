package offline_test

import (
	"os"
	"strings"
	"testing"
)

// table returns the columns of the lines of a table, without those that begin with #.
func table(t *testing.T, path string) (lines [][]string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
		}
	}
	return lines
}

func TestVATNumbersOfEveryMemberStatePass(t *testing.T) {
	prefixes := map[string]bool{}
	for _, e := range table(t, "testdata/vat_examples.tsv") {
		prefix := e[0][:2]
		prefixes[prefix] = true
		country := map[string]string{"EL": "GR", "XI": "GB"}[prefix]
		if country == "" {
			country = prefix
		}
		run(t, "offline.vat", []row{{with{"number": e[0]}, `passed {"country":"` + country + `","number":"` + e[0] + `","prefix":"` + prefix + `"}`}})
		if len(e) > 1 {
			run(t, "offline.vat", []row{{with{"number": e[1]}, `failed check_digit {"country":"` + country + `","number":"` + e[1] + `","prefix":"` + prefix + `"}`}})
		}
	}
	for _, line := range table(t, "vat_numbers.tsv") {
		if !prefixes[line[0]] {
			t.Errorf("there is no example of %s", line[0])
		}
	}
	if len(prefixes) != 28 {
		t.Errorf("there are examples of %d prefixes, want the 27 member states and XI", len(prefixes))
	}
}

func TestVAT(t *testing.T) {
	const german = `{"country":"DE","number":"DE136695976","prefix":"DE"}`
	run(t, "offline.vat", []row{
		{with{"number": "de 136 695-976"}, "passed " + german},
		{with{"number": "BE 0428.759.497"}, `passed {"country":"BE","number":"BE0428759497","prefix":"BE"}`},
		{with{"number": "DE136695976", "countries": []any{"DE", "GR"}}, "passed " + german},
		{with{"number": "EL094259216", "countries": []any{"DE", "GR"}}, `passed {"country":"GR","number":"EL094259216","prefix":"EL"}`},
		{with{"number": "DE136695976", "countries": []any{"FR"}}, "failed country " + german},
		{with{"number": "FR84404833048"}, `failed check_digit {"country":"FR","number":"FR84404833048","prefix":"FR"}`},
		// The key is right, but not the number of the company.
		{with{"number": "FR30299306407"}, `passed {"country":"FR","number":"FR30299306407","prefix":"FR"}`},
		{with{"number": "FR42299306411"}, `failed check_digit {"country":"FR","number":"FR42299306411","prefix":"FR"}`},
		{with{"number": "IE1+23456W"}, `passed {"country":"IE","number":"IE1+23456W","prefix":"IE"}`},
		{with{"number": "IE2+23456W"}, `failed check_digit {"country":"IE","number":"IE2+23456W","prefix":"IE"}`},
		{with{"number": ""}, "failed empty"},
		{with{"number": "D"}, "failed country"},
		{with{"number": "GB980780684"}, "failed country"},
		{with{"number": "GR094259216"}, "failed country"},
		{with{"number": "136695976"}, "failed country"},
		{with{"number": "DE13669597"}, "failed structure"},
		{with{"number": "DE036695976"}, "failed structure"},
		{with{"number": "ATX13585627"}, "failed structure"},
		{with{"number": "SE123456789700"}, "failed structure"},
		{with{"number": "XIGD500"}, "failed structure"},
		{with{"number": "XIHA499"}, "failed structure"},
		{with{"number": "IT00743110007"}, "failed structure"},
		{with{"number": "DE/136695976"}, "failed characters"},
	})
}
