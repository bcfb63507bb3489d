// Tests of the targets of a row, with made-up figures that miss each of them.

package noisy_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/hosts/internal/noisy"
)

const mib = 1 << 20

// wellBehaved returns a row that meets its targets.
func wellBehaved() noisy.Row {
	return noisy.Row{
		Attack: "none", Store: noisy.Postgres, MaxRSS: 100 * mib, Requests: 1, Answers: "1 accepted",
		Alone: noisy.MakeFigures(20 * time.Millisecond), Beside: noisy.MakeFigures(50 * time.Millisecond),
	}
}

func TestARowThatReachesItsAimMissesNothing(t *testing.T) {
	if got := wellBehaved().Misses(); len(got) > 0 {
		t.Errorf("misses %q, want none", got)
	}
}

func TestARowTellsWhatItMisses(t *testing.T) {
	for name, row := range map[string]struct {
		spoil func(r *noisy.Row)
		want  string
	}{
		"a p99 over three times that alone": {func(r *noisy.Row) {
			r.Beside = noisy.MakeFigures(61 * time.Millisecond)
		}, "list: p99 3.0 times that alone"},
		"a p99 over 30 ms beside a very small one": {func(r *noisy.Row) {
			r.Alone, r.Beside = noisy.MakeFigures(time.Millisecond), noisy.MakeFigures(31*time.Millisecond)
		}, "start: p99 31.0 times that alone"},
		"a call over a second": {func(r *noisy.Row) {
			r.Alone, r.Beside = noisy.MakeFigures(time.Second), noisy.MakeFigures(1100*time.Millisecond)
		}, "PDF: up to 1.1 s"},
		"an error": {func(r *noisy.Row) {
			r.Beside = noisy.MakeFigures(time.Millisecond, errors.New("no"))
		}, "report: 1 no"},
		"an error alone": {func(r *noisy.Row) {
			r.Alone = noisy.MakeFigures(20*time.Millisecond, errors.New("no"))
		}, "report: 1 no"},
		"a timeout": {func(r *noisy.Row) {
			r.Beside = noisy.MakeFigures(time.Millisecond, context.DeadlineExceeded)
		}, "notice: 1 timed out"},
		"more than 1 GiB on PostgreSQL":                {func(r *noisy.Row) { r.MaxRSS = 1025 * mib }, "a host used 1025 MiB"},
		"more than 512 MiB in memory with little kept": {func(r *noisy.Row) { r.Store, r.MaxRSS = noisy.Memory, 513*mib }, "a host used 513 MiB"},
		"more than 1.5 times what is to be kept":       {func(r *noisy.Row) { r.Store, r.Kept, r.MaxRSS = noisy.Memory, 600*mib, 901*mib }, "a host used 901 MiB"},
		"a crash":                                      {func(r *noisy.Row) { r.Crashes = []string{"host-1 ended: fatal error: out of memory"} }, "host-1 ended"},
	} {
		r := wellBehaved()
		row.spoil(&r)
		if got := strings.Join(r.Misses(), "; "); !strings.Contains(got, row.want) {
			t.Errorf("%s: misses %q, want %q", name, got, row.want)
		}
	}
}

func TestMemoryMayGrowWithWhatIsKept(t *testing.T) {
	r := wellBehaved()
	r.Store, r.Kept, r.MaxRSS = noisy.Memory, 600*mib, 899*mib
	if got := r.Misses(); len(got) > 0 {
		t.Errorf("misses %q, want none", got)
	}
}

func TestAControlHasNoTargets(t *testing.T) {
	r := wellBehaved()
	r.Control, r.Beside = true, noisy.MakeFigures(2*time.Second)
	if got := r.Misses(); len(got) > 0 {
		t.Errorf("misses %q, want none", got)
	}
	var out strings.Builder
	noisy.Result{Rows: []noisy.Row{r}}.Write(&out)
	if !strings.Contains(out.String(), "| control |\n") {
		t.Errorf("the table does not name the control:\n%s", out.String())
	}
}

func TestAnAttackMayCostHalfMoreThanBusyProcessors(t *testing.T) {
	r := wellBehaved()
	r.Beside, r.Busy = noisy.MakeFigures(81*time.Millisecond), noisy.MakeFigures(54*time.Millisecond)
	if got := r.Misses(); len(got) > 0 {
		t.Errorf("misses %q, want none", got)
	}
	r.Busy = noisy.MakeFigures(50 * time.Millisecond)
	got := r.Misses()
	if len(got) != len(noisy.Calls()) || got[0] != "start: p99 4.0 times that alone, 1.6 times that of the control" {
		t.Errorf("misses %q, want one target for each call", got)
	}
}

func TestTheTableHasTheMediansOfSeveralRuns(t *testing.T) {
	var result noisy.Result
	for _, run := range []struct{ alone, beside, busy int }{{10, 80, 40}, {20, 50, 100}, {10, 40, 20}} {
		r := wellBehaved()
		r.Alone = noisy.MakeFigures(time.Duration(run.alone) * time.Millisecond)
		r.Beside = noisy.MakeFigures(time.Duration(run.beside) * time.Millisecond)
		r.Busy = noisy.MakeFigures(time.Duration(run.busy) * time.Millisecond)
		result.Rows = append(result.Rows, r)
	}
	const missed = "start: p99 4.0 times that alone, 2.0 times that of the control;"
	const cells = "\n| none | postgres | 10/10 → 50/50 (4.0, 2.0) |"
	if got := written(result); strings.Count(got, "| none |") != 1 || !strings.Contains(got, cells) || !strings.Contains(got, missed) {
		t.Errorf("the table has other figures:\n%s", got)
	}
	result.Rows[1].Crashes = []string{"host-1 ended"}
	result.Rows[2].Alone = noisy.MakeFigures(14 * time.Millisecond)
	if got := written(result); !strings.Contains(got, "| **missed**: host-1 ended |\n") {
		t.Errorf("the table does not name the crash in one of three runs:\n%s", got)
	}
}

func written(r noisy.Result) string {
	var out strings.Builder
	r.Write(&out)
	return out.String()
}

func TestSmallTimesAreNotCompared(t *testing.T) {
	r := wellBehaved()
	r.Alone, r.Beside = noisy.MakeFigures(time.Millisecond), noisy.MakeFigures(30*time.Millisecond)
	if got := r.Misses(); len(got) > 0 {
		t.Errorf("misses %q, want none: a goroutine may wait that long for a processor", got)
	}
}

func TestTheTableHasARowForEachAttackAndStore(t *testing.T) {
	var out strings.Builder
	bad := wellBehaved()
	bad.Attack, bad.MaxRSS, bad.DeadEnds = "some", 2000*mib, 7
	result := noisy.Result{
		Rows:        []noisy.Row{wellBehaved(), bad},
		Definitions: []noisy.Definition{{Name: "bomb", Result: noisy.Refused, Reason: "a|b", Took: 2 * time.Millisecond}},
	}
	result.Write(&out)
	const cell = " 20/20 → 50/50 (2.5) |"
	for _, want := range []string{
		"| attack | store | start | notice | list | report | PDF | errors | RSS | target |\n| --- |",
		"\n| none | postgres |" + strings.Repeat(cell, 5) + " 0 | 100 MiB | reached |\n",
		"\n| some | postgres |" + strings.Repeat(cell, 5) + " 0 | 2000 MiB | **missed**: a host used 2000 MiB |\n",
		"\n- some, postgres: 1 accepted; the dead receiver was called 7 times\n",
		"\n| bomb | refused | 2 ms | a\\|b |\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
}

func TestQuantiles(t *testing.T) {
	f := noisy.MakeFigures(2 * time.Millisecond)
	s := f[noisy.CallList]
	if s.Quantile(0.5) != 2*time.Millisecond || s.Quantile(0.99) != 2*time.Millisecond || s.Count() != 100 {
		t.Errorf("p50 %s, p99 %s of %d, want 2ms and 2ms of 100", s.Quantile(0.5), s.Quantile(0.99), s.Count())
	}
	slow := noisy.MakeFigures(2*time.Millisecond, context.DeadlineExceeded)[noisy.CallList]
	if slow.Count() != 101 || slow.Errors["timed out"] != 1 {
		t.Errorf("%d calls and errors %v, want a timeout to count with its time", slow.Count(), slow.Errors)
	}
}
