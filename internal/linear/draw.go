// Plans and operations, drawn at random.

package linear

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Trial is a plan and what the clients will do about it, the operations of each
// in their order.
type Trial struct {
	Plan    Plan
	Clients [][]Input
}

// Draw draws a trial for so many hosts. The clients together go on about as
// fast as the run can.
func Draw(r *rand.Rand, hosts int) Trial {
	ways := Ways()
	t := Trial{Plan: Plan{Way: ways[r.IntN(len(ways))], Calm: r.IntN(3) == 0}}
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
	d := drawer{Rand: r, plan: t.Plan, hosts: hosts, cancel: 2, turn: 2}
	if r.IntN(2) == 0 {
		d.cancel = 0.2 + 0.8*r.Float64()
	}
	if r.IntN(2) == 0 {
		d.turn = 0.2 + 0.8*r.Float64()
	}
	clients := 6 + r.IntN(5)
	each := 40 / clients
	for c := range clients {
		var ops []Input
		if c < 2 { // at the same time; the first of them turns the clock later
			ops = append(ops, d.start())
		}
		for i := range each {
			done := float64(i) / float64(each)
			if c == 0 && d.turn <= done {
				ops, d.turn = append(ops, Input{Op: OpTurn}), 2
			}
			ops = append(ops, d.draw(done))
		}
		t.Clients = append(t.Clients, ops)
	}
	return t
}

// Last is what is asked once the clients have gone: every host is to show the
// same run, and a verdict can still be given.
func (t Trial) Last(hosts int) []Input {
	ops := []Input{{Op: OpRead}, {Op: OpTurn}}
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
		Input{Op: OpSweep, Host: last}, Input{Op: OpCancel, Host: last},
		Input{Op: OpVerdict, Host: last, Decision: "approve", Notes: "the last word"})
	look()
	return ops
}

// longest is how long a client pauses at most between two operations.
const longest = 2 * time.Millisecond

// drawer draws operations.
type drawer struct {
	*rand.Rand
	plan         Plan
	hosts        int
	cancel, turn float64 // from which part of the trial on
	verdicts     int
}

// draw draws an operation for a client that has done a part of its own.
func (d *drawer) draw(done float64) Input {
	in := Input{Host: d.IntN(d.hosts), Pause: time.Duration(d.Int64N(int64(longest)))}
	switch n := d.IntN(100); {
	case n < 30:
		d.signal(&in, done)
	case n < 40:
		d.verdict(&in)
	case n < 62:
		in.Op = OpRead
	case n < 70:
		in.Op = OpReport
	case n < 84:
		in.Op = OpList
		in.Status = pick(d.Rand, "", "", "in_progress", "abandoned", "completed", "failed", "expired", "cancelled")
		in.Decision = pick(d.Rand, "", "", "review", "review", "approve", "reject")
	case n < 85:
		in.Op = OpSweep
	case n < 86:
		return d.start()
	case n < 88:
		in.Op = OpNap
	case done >= d.cancel:
		in.Op = OpCancel
	default:
		d.signal(&in, done)
	}
	return in
}

// start draws a start. Half of them wait, most not for long enough.
func (d *drawer) start() Input {
	return Input{
		Op: OpStart, Host: d.IntN(d.hosts), Pause: time.Duration(d.Int64N(int64(longest))),
		Wait: pick(d.Rand, 0, 0, time.Millisecond, 5*time.Millisecond),
	}
}

// signal draws the signal of a stop that the run may have come to by then.
func (d *drawer) signal(in *Input, done float64) {
	way := d.plan.Way
	at := int(done*float64(len(way))) + d.IntN(3) - 1
	switch s := way[min(max(at, 0), len(way)-1)]; s.Kind {
	case Review:
		d.verdict(in)
	case Check:
		in.Op = OpRead
	case Consent, Details:
		in.Op, in.Signal = OpSubmit, s.Signal()
		in.Payload = pick(d.Rand, Good, Good, Declined, Bad)
	}
}

// verdict draws a verdict that no other is like, if it has notes.
func (d *drawer) verdict(in *Input) {
	in.Op, in.Decision = OpVerdict, pick(d.Rand, "approve", "reject")
	if d.verdicts++; d.IntN(3) > 0 {
		in.Notes = fmt.Sprintf("note %d", d.verdicts)
	}
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }
