// Tests of the comparison of two names.

package watchlist_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/names"
	"github.com/verifyd/verifyd/internal/watchlist"
)

func TestReasonsNameEveryWord(t *testing.T) {
	match := names.New()
	for _, tc := range []struct {
		a, b string
		want []string
	}{
		{"Wang Xiao Ming", "Wang Xiaoming", []string{"Wang is the same", "Xiao Ming is like Xiaoming: 0.98, one word"}},
		{"Wang Xiaoming", "Wang Xiao Ming", []string{"Wang is the same", "Xiaoming is like Xiao Ming: 0.98, one word"}},
		{"Ivan Petrovich Testov", "Ivan Testov", []string{"Ivan is the same", "Testov is the same", "Petrovich is not in the other name"}},
		{"Ivan Testov", "Ivan Petrovich Testov", []string{"Ivan is the same", "Testov is the same", "Petrovich is only in the other name"}},
	} {
		m, err := watchlist.Compare(match, names.Person, tc.a, tc.b)
		if diff := cmp.Diff(tc.want, m.Reasons); diff != "" || err != nil {
			t.Errorf("%s and %s: %v (-want +got):\n%s", tc.a, tc.b, err, diff)
		}
	}
}

func TestNameMatchSaysWhyNamesAreNotOne(t *testing.T) {
	match := names.New()
	for _, tc := range []struct {
		kind names.Kind
		a, b string
		want []string
	}{
		{names.Person, "Asha Rao Ravi Kumar", "Ravi Kumar", []string{"Ravi is the same", "Kumar is the same", "Asha is not in the other name", "Rao is not in the other name", "2 words are only in one name: at most one middle name may be missing"}},
		{names.Person, "Kumar", "Ravi Kumar", []string{"Kumar is the same", "Ravi is only in the other name", "only one part of the name is the same"}},
		{names.Person, "Jan Petrov Jr", "Jan Petrov Sr", []string{"Jan is the same", "Petrov is the same", "another generation: jr and sr"}},
		{names.Person, "Ravi Kumar AshaRao", "Ravi Kumar", []string{"Ravi is the same", "Kumar is the same", "Asha is not in the other name", "Rao is not in the other name", "2 words are only in one name: at most one middle name may be missing"}},
		{names.Company, "Acme Trading Ltd", "Acme Trading LLP", []string{"Acme is the same", "Trading is the same", "another legal form: llp and ltd"}},
		{names.Company, "Acme Trading Ltd", "Acme Ltd", []string{"Acme is the same", "Trading is not in the other name", "a word of a company's name is only in one name"}},
	} {
		m, err := watchlist.Same(match, tc.kind, tc.a, tc.b)
		if diff := cmp.Diff(tc.want, m.Reasons); diff != "" || err != nil || m.Score >= 0.5 {
			t.Errorf("%s and %s: %.3f, %v (-want +got):\n%s", tc.a, tc.b, m.Score, err, diff)
		}
	}
}
