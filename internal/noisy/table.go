// The table of results.

package noisy

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// The targets of a row.
const (
	maxRatio = 3 // of the p99 during the attack to that alone
	// A p99 within maxScheduled always meets the target: a goroutine may wait that
	// long for a processor while each runs another goroutine for 10 ms. A
	// p99 that is not above that beside the control meets it too: the control calls no
	// host.
	maxScheduled = 30 * time.Millisecond
	maxTook      = time.Second // of any call
	maxRSS       = 1 << 30     // of a host on PostgreSQL
	// With a store in memory, a host may use this multiple of its data, or minKept.
	maxKeptRatio = 1.5
	minKept      = 512 << 20
)

// Row is the result of the bystander during one attack on one store.
type Row struct {
	Attack        string
	Control       bool // no host was called; the row has no targets
	Store         Store
	Alone, Beside Figures
	Busy          Figures  // beside the control on the same store; nil if it was not measured
	MaxRSS        int64    // the largest resident memory of a host, in bytes
	Kept          int64    // bytes of large bodies that hosts accepted from the attacker
	Crashes       []string // of hosts
	Requests      int      // of the attacker
	Answers       string   // to them, such as "30 accepted, 2 timed out"
	DeadEnds      int64    // requests to the receiver that never answers
}

// Misses returns the targets that the row does not meet; a control has none.
func (r Row) Misses() (all []string) {
	if r.Control {
		return nil
	}
	for _, c := range Calls() {
		alone, beside := r.Alone[c], r.Beside[c]
		if errs := r.errors(c); errs != "" {
			all = append(all, fmt.Sprintf("%s: %s", c, errs))
		}
		if beside.p99() > max(maxRatio*alone.p99(), maxScheduled, r.Busy[c].p99()) {
			all = append(all, fmt.Sprintf("%s: p99 %.1f times that alone", c, ratio(alone, beside)))
		}
		if slowest := beside.Quantile(1); slowest > maxTook {
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
		line += fmt.Sprintf("; %s %s", c, cell(r.Alone[c], r.Beside[c]))
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

// ratio returns the ratio of the p99 during an attack to that alone. Durations below
// a millisecond are noise and count as one.
func ratio(alone, beside *Samples) float64 {
	const least = time.Millisecond
	return float64(max(least, beside.p99())) / float64(max(least, alone.p99()))
}

// cell returns p50 and p99, alone and during the attack, in milliseconds, and the
// ratio of the p99.
func cell(alone, beside *Samples) string {
	return fmt.Sprintf("%s → %s (%.1f)", quantiles(alone), quantiles(beside), ratio(alone, beside))
}

func quantiles(s *Samples) string {
	if s.Count() == 0 {
		return "none"
	}
	return milliseconds(s.Quantile(0.5)) + "/" + milliseconds(s.p99())
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
	for _, row := range r.Rows {
		fmt.Fprintf(w, "| %s | %s |", row.Attack, row.Store)
		for _, c := range Calls() {
			fmt.Fprintf(w, " %s |", cell(row.Alone[c], row.Beside[c]))
		}
		aim := "reached"
		switch misses := row.Misses(); {
		case row.Control:
			aim = "control"
		case len(misses) > 0:
			aim = "**missed**: " + strings.Join(misses, "; ")
		}
		fmt.Fprintf(w, " %d | %d MiB | %s |\n", row.Errors(), row.MaxRSS>>20, aim)
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
