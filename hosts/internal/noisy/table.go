// The table of results.

package noisy

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// The targets of a row. The p99 during the attack has to meet one of the first three; of
// several runs, the median counts.
const (
	maxRatio = 3 // to the p99 alone
	// maxBusyRatio is the ratio to the p99 beside the control of the same run. The control
	// calls no host, so this part is the price of sharing the processors.
	maxBusyRatio = 1.5
	// maxScheduled is how long a goroutine may wait for a processor while each runs
	// another goroutine for 10 ms.
	maxScheduled = 30 * time.Millisecond
	maxTook      = time.Second // of any call
	maxRSS       = 1 << 30     // of a host on PostgreSQL
	// With a store in memory, a host may use this multiple of its data, or minKept.
	maxKeptRatio = 1.5
	minKept      = 512 << 20
)

// Row is the result of the bystander during one attack on one store, in one run.
type Row struct {
	Attack        string
	Control       bool // no host was called; the row has no targets
	Store         Store
	Alone, Beside Figures
	Busy          Figures  // beside the control of the same run and store; nil if it was not measured
	MaxRSS        int64    // the largest resident memory of a host, in bytes
	Kept          int64    // bytes of large bodies that hosts accepted from the attacker
	Crashes       []string // of hosts
	Requests      int      // of the attacker
	Answers       string   // to them, such as "30 accepted, 2 timed out"
	DeadEnds      int64    // requests to the receiver that never answers
}

// rowName returns the name of a row.
func rowName(attack string, store Store) string { return attack + ", " + string(store) }

// Misses returns the targets that the row does not meet; a control has none.
func (r Row) Misses() []string { return misses([]Row{r}) }

// misses returns the targets that several runs of a row do not meet.
func misses(runs []Row) (all []string) {
	if runs[0].Control {
		return nil
	}
	for _, c := range Calls() {
		p99 := median(runs, func(r Row) time.Duration { return r.Beside[c].p99() })
		alone, busy := ratios(runs, c)
		if p99 > maxScheduled && alone > maxRatio && (busy == 0 || busy > maxBusyRatio) {
			miss := fmt.Sprintf("%s: p99 %.1f times that alone", c, alone)
			if busy > 0 {
				miss += fmt.Sprintf(", %.1f times that of the control", busy)
			}
			all = append(all, miss)
		}
	}
	for _, r := range runs {
		all = append(all, r.failures()...)
	}
	return all
}

// failures returns the targets other than the p99 that a run does not meet.
func (r Row) failures() (all []string) {
	for _, c := range Calls() {
		if errs := r.errors(c); errs != "" {
			all = append(all, fmt.Sprintf("%s: %s", c, errs))
		}
		if slowest := r.Beside[c].Quantile(1); slowest > maxTook {
			all = append(all, fmt.Sprintf("%s: up to %.1f s", c, slowest.Seconds()))
		}
	}
	limit := int64(maxRSS)
	if r.Store == Memory {
		limit = max(minKept, int64(maxKeptRatio*float64(r.Kept)))
	}
	if r.MaxRSS > limit {
		all = append(all, fmt.Sprintf("a host used %d MiB", r.MaxRSS>>20))
	}
	return append(all, r.Crashes...)
}

// errors returns the errors of a call during the attack and alone.
func (r Row) errors(c Call) string {
	var parts []string
	for _, f := range []Figures{r.Alone, r.Beside} {
		for _, what := range slices.Sorted(maps.Keys(f[c].Errors)) {
			parts = append(parts, fmt.Sprintf("%d %s", f[c].Errors[what], what))
		}
	}
	return strings.Join(parts, ", ")
}

// Errors returns the number of failed calls of the bystander.
func (r Row) Errors() (n int) {
	for _, f := range []Figures{r.Alone, r.Beside} {
		for _, s := range f {
			for _, count := range s.Errors {
				n += count
			}
		}
	}
	return n
}

// Slowest returns the duration of the slowest call of the bystander during the
// attack.
func (r Row) Slowest() (d time.Duration) {
	for _, s := range r.Beside {
		d = max(d, s.Quantile(1))
	}
	return d
}

// String returns the row in one line.
func (r Row) String() string {
	line := fmt.Sprintf("%d errors, slowest %s, RSS %d MiB", r.Errors(), r.Slowest().Round(time.Millisecond), r.MaxRSS>>20)
	for _, c := range Calls() {
		line += fmt.Sprintf("; %s %s", c, cell([]Row{r}, c))
	}
	if misses := r.Misses(); len(misses) > 0 {
		line += "; misses " + strings.Join(misses, "; ")
	}
	return line + "; attacker: " + r.attacker()
}

// attacker returns the results of the attacker's requests.
func (r Row) attacker() string {
	if r.DeadEnds == 0 {
		return r.Answers
	}
	return fmt.Sprintf("%s; the dead receiver was called %d times", r.Answers, r.DeadEnds)
}

// ratios returns the ratio of the p99 of a call during the attack to the p99 alone, and to
// the p99 beside the control, or 0 if that was not measured.
func ratios(runs []Row, c Call) (alone, busy float64) {
	alone = median(runs, func(r Row) float64 { return ratio(r.Beside[c], r.Alone[c]) })
	if runs[0].Busy != nil {
		busy = median(runs, func(r Row) float64 { return ratio(r.Beside[c], r.Busy[c]) })
	}
	return alone, busy
}

// ratio returns the ratio of two p99. Durations below a millisecond are noise and count
// as one.
func ratio(of, to *Samples) float64 {
	const least = time.Millisecond
	return float64(max(least, of.p99())) / float64(max(least, to.p99()))
}

// median returns the median of a figure; of an even number of runs, the higher one of two.
func median[T cmp.Ordered](runs []Row, figure func(r Row) T) T {
	all := make([]T, 0, len(runs))
	for _, r := range runs {
		all = append(all, figure(r))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// cell returns p50 and p99, alone and during the attack, in milliseconds, and the
// ratios of the p99: to that alone, and to that beside the control.
func cell(runs []Row, c Call) string {
	alone, busy := ratios(runs, c)
	compared := fmt.Sprintf("%.1f", alone)
	if busy > 0 {
		compared += fmt.Sprintf(", %.1f", busy)
	}
	return fmt.Sprintf("%s → %s (%s)", quantiles(runs, func(r Row) *Samples { return r.Alone[c] }),
		quantiles(runs, func(r Row) *Samples { return r.Beside[c] }), compared)
}

func quantiles(runs []Row, of func(r Row) *Samples) string {
	if median(runs, func(r Row) int { return of(r).Count() }) == 0 {
		return "none"
	}
	at := func(q float64) string {
		return milliseconds(median(runs, func(r Row) time.Duration { return of(r).Quantile(q) }))
	}
	return at(0.5) + "/" + at(0.99)
}

func milliseconds(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	if ms < 10 {
		return fmt.Sprintf("%.1f", ms)
	}
	return fmt.Sprintf("%.0f", ms)
}

// Write writes the result in Markdown.
func (r Result) Write(w io.Writer) {
	calls := make([]string, 0, len(Calls()))
	for _, c := range Calls() {
		calls = append(calls, string(c))
	}
	fmt.Fprintf(w, "| attack | store | %s | errors | RSS | target |\n", strings.Join(calls, " | "))
	fmt.Fprintf(w, "|%s\n", strings.Repeat(" --- |", len(calls)+5))
	for _, runs := range r.runs() {
		fmt.Fprintf(w, "| %s | %s |", runs[0].Attack, runs[0].Store)
		for _, c := range Calls() {
			fmt.Fprintf(w, " %s |", cell(runs, c))
		}
		aim := "reached"
		switch misses := misses(runs); {
		case runs[0].Control:
			aim = "control"
		case len(misses) > 0:
			aim = "**missed**: " + strings.Join(misses, "; ")
		}
		errs, rss := 0, int64(0)
		for _, row := range runs {
			errs, rss = errs+row.Errors(), max(rss, row.MaxRSS)
		}
		fmt.Fprintf(w, " %d | %d MiB | %s |\n", errs, rss>>20, aim)
	}
	fmt.Fprintln(w, "\nResults of the attacker's requests:")
	fmt.Fprintln(w)
	for _, row := range r.Rows {
		fmt.Fprintf(w, "- %s, %s: %s\n", row.Attack, row.Store, row.attacker())
	}
	if len(r.Definitions) == 0 {
		return
	}
	fmt.Fprint(w, "\n| hostile definition | result | within | reason |\n| --- | --- | --- | --- |\n")
	for _, d := range r.Definitions {
		fmt.Fprintf(w, "| %s | %s | %d ms | %s |\n", d.Name, d.Result, d.Took.Milliseconds(), strings.ReplaceAll(d.Reason, "|", "\\|"))
	}
}

// runs groups the rows by attack and store, in the order in which they were first measured.
func (r Result) runs() (all [][]Row) {
	for _, row := range r.Rows {
		n := slices.IndexFunc(all, func(runs []Row) bool { return runs[0].Attack == row.Attack && runs[0].Store == row.Store })
		if n < 0 {
			all = append(all, []Row{row})
		} else {
			all[n] = append(all[n], row)
		}
	}
	return all
}
