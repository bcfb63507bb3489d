// Gaps: times in which runs did not progress although work was due.

package soak_test

import (
	"fmt"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// stuckAfter is the maximum gap after the last failure that affected a run: three leases.
const stuckAfter = time.Minute

// hostFailure is a failure of one host.
type hostFailure struct {
	host     string
	from, to time.Time
}

// outage is a time in which the database was down.
type outage struct{ from, to time.Time }

// failures are those that occurred.
type failures struct {
	hosts   []hostFailure
	outages []outage
}

// gap is a time in which a run was due and did not progress.
type gap struct {
	run      string
	what     string // the work that was due
	due, end time.Time
	deadline bool // its expiry was due, which no particular host records
	open     bool // it never progressed
}

// gaps returns the times between due work of a run and the next append; now is the
// end of open ones.
func (h *history) gaps(now time.Time) (gaps []gap) {
	run := rules.Run{ID: verification.RunID(h.run)}
	for i, a := range h.appends {
		at := h.appendedAt(a.upto)
		for _, e := range a.events {
			run = run.Evolve(e)
		}
		g := gap{run: h.run, end: now, open: true}
		if i+1 < len(h.appends) {
			g.end, g.open = h.appendedAt(h.appends[i+1].upto), false
		}
		due := true
		switch task := run.Task(at); task.Kind {
		case rules.TaskNone:
			// It has ended, or waits for a person, so that only its deadline is due.
			g.what, g.due, g.deadline = "expiry", run.Deadline(), true
			due = run.Ended == "" && !g.due.IsZero()
		case rules.TaskWait:
			g.what, g.due = string(run.Wait().Kind), task.At
		case rules.TaskCheck:
			step, _ := run.Step(run.Wait().Node)
			g.what, g.due = "the answer of "+step.Key, at.Add(slowness(run.Started.Input, step.Key))
		case rules.TaskPoll, rules.TaskRedispatch:
			g.what, g.due = string(task.Kind), at
		}
		if due && g.end.After(g.due) {
			gaps = append(gaps, g)
		}
	}
	return gaps
}

// log describes a gap and the hosts that held the run.
func (g gap) log(h *history) string {
	const clock = "15:04:05.000"
	line := fmt.Sprintf("run %s was due for %s at %s and went on at %s", g.run, g.what, g.due.Format(clock), g.end.Format(clock))
	if g.open {
		line = fmt.Sprintf("run %s was due for %s at %s and never went on", g.run, g.what, g.due.Format(clock))
	}
	for _, m := range h.marks {
		line += fmt.Sprintf(" [%s %s %d]", m.at.Format(clock), m.host, m.upto)
	}
	return line
}

// appendedAt returns the time of the append that led to a length.
func (h *history) appendedAt(upto int) time.Time {
	for _, m := range h.marks {
		if m.upto == upto {
			return m.at
		}
	}
	return time.Time{}
}

// holder returns the host that held a run at a time.
func (h *history) holder(at time.Time) (name string) {
	for _, m := range h.marks {
		if m.at.After(at) {
			break
		}
		name = m.host
	}
	return name
}

// stood returns the duration of a gap without the outages of the database.
func (s failures) stood(g gap) time.Duration {
	length := g.end.Sub(g.due)
	for _, o := range s.outages {
		from, to := latest(o.from, g.due), earliest(o.to, g.end)
		if to.After(from) {
			length -= to.Sub(from)
		}
	}
	return length
}

// stuck returns the duration of the gap after the last failure that affected the run:
// an outage of the database, or a failure of the host that held it.
func (s failures) stuck(h *history, g gap) time.Duration {
	since := g.due
	count := func(at time.Time) {
		if at.After(since) && at.Before(g.end) {
			since = at
		}
	}
	for _, o := range s.outages {
		if o.from.Before(g.end) && o.to.After(g.due) {
			count(earliest(o.to, g.end.Add(-1)))
		}
	}
	for _, f := range s.hosts {
		if g.deadline || h.holder(f.from) == f.host {
			count(f.from)
		}
		for _, m := range h.marks { // it took the run during the failure
			if m.host == f.host && m.at.After(f.from) && !m.at.After(f.to) {
				count(m.at)
			}
		}
	}
	return g.end.Sub(since)
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
