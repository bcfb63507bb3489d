package clock_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/verifyd/verifyd/adapters/clock"
)

// plan describes a timer, and the timers that are set when it fires.
type plan struct {
	ID    int
	After time.Duration // from when it is set
	Kind  string        // "call", "sleep" or "stopped"
	Next  []plan        // set when it fires
}

// firing is a timer that fired, and when: the time since noon.
type firing struct {
	ID int
	At time.Duration
}

func drawPlans(t *rapid.T, id *int, depth int) []plan {
	var plans []plan
	for range rapid.IntRange(0, 5).Draw(t, "timers") {
		*id++
		p := plan{
			ID:    *id,
			After: time.Duration(rapid.IntRange(1, 8).Draw(t, "after")),
			Kind:  rapid.SampledFrom([]string{"call", "call", "sleep", "stopped"}).Draw(t, "kind"),
		}
		if depth > 0 && p.Kind != "stopped" {
			p.Next = drawPlans(t, id, depth-1)
		}
		plans = append(plans, p)
	}
	return plans
}

// wanted returns the firings until end of plans that are set at from, sorted by byTime.
func wanted(plans []plan, from, end time.Duration) []firing {
	var out []firing
	for _, p := range plans {
		if at := from + p.After; at <= end && p.Kind != "stopped" {
			out = append(out, firing{p.ID, at})
			out = append(out, wanted(p.Next, at, end)...)
		}
	}
	byTime(out)
	return out
}

// byTime sorts by time, and by ID at the same time: the order in which goroutines fall
// asleep is random, and they wake in that order.
func byTime(f []firing) {
	slices.SortFunc(f, func(a, b firing) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.ID, b.ID))
	})
}

func TestRandomSchedulesFireInOrderAtTheirTimes(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		id := 0
		plans := drawPlans(r, &id, 2)
		c := clock.NewManual(noon())
		fired := make(chan firing, id)
		var set func([]plan)
		set = func(plans []plan) {
			for _, p := range plans {
				fire := func() {
					fired <- firing{p.ID, c.Now().Sub(noon())}
					set(p.Next)
				}
				switch p.Kind {
				case "call":
					c.AfterFunc(p.After, fire)
				case "stopped":
					if stop := c.AfterFunc(p.After, fire); !stop() {
						r.Errorf("stop of timer %d = false, want true", p.ID)
					}
				case "sleep":
					work(c, func() {
						if err := c.Sleep(t.Context(), p.After); err != nil {
							r.Errorf("Sleep(%v) = %v", p.After, err)
						}
						fire()
					})
				}
			}
		}
		set(plans)

		var end time.Duration
		var got []firing
		for _, d := range rapid.SliceOfN(rapid.IntRange(0, 9), 1, 6).Draw(r, "advances") {
			from := end
			end += time.Duration(d)
			if err := c.Advance(t.Context(), time.Duration(d)); err != nil {
				r.Fatalf("Advance(%v) = %v", d, err)
			}
			var batch []firing // of this advance
			for len(fired) > 0 {
				f := <-fired
				if f.At < from || f.At > end {
					r.Errorf("%+v fired between %v and %v", f, from, end)
				}
				batch = append(batch, f)
			}
			if !slices.IsSortedFunc(batch, func(a, b firing) int { return cmp.Compare(a.At, b.At) }) {
				r.Errorf("fired out of order: %+v", batch)
			}
			got = append(got, batch...)
		}
		byTime(got)
		if diff := gocmp.Diff(wanted(plans, 0, end), got); diff != "" {
			r.Errorf("firings by %v differ (-want +got):\n%s", end, diff)
		}
	})
}
