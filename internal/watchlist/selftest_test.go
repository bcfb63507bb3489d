// Tests of the self-test of a list.

package watchlist_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/internal/watchlist"
)

func TestASelfTestSearchesEveryName(t *testing.T) {
	raw, err := os.ReadFile("../../hosts/verifyd/demo/fictional-list.csv")
	if err != nil {
		t.Fatal(err)
	}
	l, err := watchlist.Read(t.Context(), strings.NewReader(string(raw)), watchlist.Format{Type: watchlist.OpenSanctions})
	if err != nil {
		t.Fatal(err)
	}
	all, err := l.SelfTest(t.Context(), 0, time.Now)
	if err != nil || all.Names != l.Names || len(all.Lost) > 0 || all.P99 <= 0 || all.P50 > all.P99 {
		t.Errorf("%+v, %v, want all of %d names, found", all, err, l.Names)
	}
	some, err := l.SelfTest(t.Context(), 10, time.Now)
	if err != nil || some.Names < 10 || some.Names > 12 {
		t.Errorf("%+v, %v, want a sample of 10 names", some, err)
	}
	l.ForgetExactNames()
	if some, err = l.SelfTest(t.Context(), 0, time.Now); err != nil || some.OnlyExact != 0 || len(some.Lost) > 0 {
		t.Errorf("without the exact lookup: %+v, %v, want each name found by the index", some, err)
	}
	l.ForgetKeys()
	some, err = l.SelfTest(t.Context(), 0, time.Now)
	if err != nil || len(some.Lost) != l.Names || some.Lost[0].Entry == "" || some.Lost[0].Name == "" {
		t.Errorf("without any lookup: %+v, %v, want each name lost", some, err)
	}
	problem := some.Problem()
	if problem == nil || !strings.Contains(problem.Error(), some.Lost[0].Entry) || strings.Contains(problem.Error(), some.Lost[0].Name) {
		t.Errorf("problem %v, want the entry %s but not its name", problem, some.Lost[0].Entry)
	}
}
