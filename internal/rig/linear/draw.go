// Random plans and operations.

package linear

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Trial is a plan and the operations of each client, in order.
type Trial struct {
	Plan    Plan
	Clients [][]Input
}

// Draw returns a random trial for a number of hosts. Its clients progress about as
// fast as the run.
func Draw(r *rand.Rand, hosts int) Trial {
	paths := Paths()
	t := Trial{Plan: Plan{Path: paths[r.IntN(len(paths))], Quiescent: r.IntN(3) == 0}}
	switch script := r.IntN(6); script {
	case 0:
		t.Plan.Script, t.Plan.Fails = "fail", true
	case 1:
		t.Plan.Script, t.Plan.Flakes = "flaky:1", 1
	case 2:
		t.Plan.Script = "pending:2"
	case 3:
		t.Plan.Script = "slow:3ms"
	default:
		t.Plan.Script = "pass"
	}
	if t.Plan.Flakes == 0 {
		t.Plan.Shape = pick(r, Single, Single, Group, Elements)
		details := t.Plan.index(func(s Step) bool { return s.Kind == Details })
		t.Plan.Depends = details >= 0 && details < t.Plan.index(func(s Step) bool { return s.Kind == Check }) && r.IntN(3) > 0
	}
	d := drawer{Rand: r, plan: t.Plan, hosts: hosts, cancel: 2, turn: 2, asks: t.Plan.asks() && r.IntN(4) > 0}
	if r.IntN(2) == 0 && !d.asks {
		d.cancel = 0.2 + 0.8*r.Float64()
	}
	if r.IntN(2) == 0 {
		d.turn = 0.2 + 0.8*r.Float64()
	}
	clients := 6 + r.IntN(5)
	each := 40 / clients
	if d.asks { // the run lasts longer
		each = 64 / clients
	}
	for c := range clients {
		var ops []Input
		if c < 2 { // at the same time; the first of them advances the clock later
			ops = append(ops, d.start())
		}
		for i := range each {
			done := float64(i) / float64(each)
			if c == 0 && d.turn <= done {
				ops, d.turn = append(ops, Input{Op: OpAdvance}), 2
			}
			ops = append(ops, d.draw(done))
		}
		t.Clients = append(t.Clients, ops)
	}
	return t
}

// Last returns the operations after those of the clients: every host must show the
// same run, and a verdict is still possible.
func (t Trial) Last(hosts int) []Input {
	ops := []Input{{Op: OpRead}, {Op: OpAdvance}}
	look := func() {
		for h := range hosts {
			for _, op := range []Op{OpRead, OpReport, OpList} {
				ops = append(ops, Input{Op: op, Host: h})
			}
		}
	}
	look()
	last := hosts - 1
	ops = append(ops,
		Input{Op: OpWake, Host: last}, Input{Op: OpCancel, Host: last},
		Input{Op: OpVerdict, Host: last, Decision: "approve", Notes: "the last word"})
	look()
	return ops
}

// maxPause bounds the pause of a client between two operations.
const maxPause = 2 * time.Millisecond

// drawer draws random operations.
type drawer struct {
	*rand.Rand
	plan         Plan
	hosts        int
	cancel, turn float64 // the fraction of the trial after which they may be drawn
	asks         bool    // a reviewer mostly asks the customer again
	verdicts     int
}

// draw returns an operation of a client that has done a fraction of its operations.
func (d *drawer) draw(done float64) Input {
	in := Input{Host: d.IntN(d.hosts), Pause: time.Duration(d.Int64N(int64(maxPause)))}
	switch n := d.IntN(100); {
	case n < 30:
		d.signal(&in, done)
	case n < 40 && (!d.asks || d.IntN(5) == 0):
		d.verdict(&in)
	case n < 45 && d.asks:
		d.ask(&in)
	case n < 62:
		in.Op = OpRead
	case n < 70:
		in.Op = OpReport
	case n < 84:
		in.Op = OpList
		in.Status = pick(d.Rand, "", "", "in_progress", "abandoned", "completed", "failed", "expired", "cancelled")
		in.Decision = pick(d.Rand, "", "", "review", "review", "approve", "reject")
	case n < 85:
		in.Op = OpWake
	case n < 86:
		return d.start()
	case n < 88:
		in.Op = OpPassLease
	case done >= d.cancel:
		in.Op = OpCancel
	default:
		d.signal(&in, done)
	}
	return in
}

// start returns a start. Half of them wait, most of these not long enough.
func (d *drawer) start() Input {
	return Input{
		Op: OpStart, Host: d.IntN(d.hosts), Pause: time.Duration(d.Int64N(int64(maxPause))),
		Wait: pick(d.Rand, 0, 0, time.Millisecond, 5*time.Millisecond),
	}
}

// signal draws the signal of a step that the run may have reached by then.
func (d *drawer) signal(in *Input, done float64) {
	path := d.plan.Path
	at := int(done*float64(len(path))) + d.IntN(3) - 1
	if d.asks && d.IntN(2) == 0 { // of a customer who is asked again
		at = d.IntN(len(path))
	}
	switch s := path[min(max(at, 0), len(path)-1)]; s.Kind {
	case Review:
		if d.asks && d.IntN(4) > 0 {
			d.ask(in)
		} else {
			d.verdict(in)
		}
	case Check:
		in.Op = OpRead
	case Consent, Details:
		in.Op, in.Signal = OpSubmit, s.Signal()
		in.Payload = pick(d.Rand, Good, Good, Declined, Bad)
	}
}

// ask asks the customer again: mostly for a step of his.
func (d *drawer) ask(in *Input) {
	in.Op = OpAskAgain
	if steps := slices.DeleteFunc(slices.Clone(d.plan.Path), func(s Step) bool { return !s.customer() }); len(steps) > 0 {
		in.Step = pick(d.Rand, steps...).Name
	}
	if d.IntN(3) == 0 {
		in.Step = pick(d.Rand, "", "pan", "nothing")
	}
}

// verdict draws a verdict. Its notes, if any, are unique.
func (d *drawer) verdict(in *Input) {
	in.Op, in.Decision = OpVerdict, pick(d.Rand, "approve", "reject")
	if d.verdicts++; d.IntN(3) > 0 {
		in.Notes = fmt.Sprintf("note %d", d.verdicts)
	}
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }
