// What one run is to its clients, one operation after the other.

package linear

import (
	"hash/maphash"
	"math"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

// state is a run between two operations. It is compared by its value.
type state struct {
	started  bool
	settled  bool   // a start has been answered, so that no other is in flight
	at       int    // the stop that the run has come to; len(Way) behind the last
	ended    string // the terminal status; empty while the run is live
	declined bool   // consent was refused
	past     bool   // the deadline has passed, of a run that is started now, too

	verdict  string // the newest one
	notes    string
	resolved span

	completed span
}

// span is a moment that is known to lie between two others; once it was seen,
// both are that moment. The zero span is no moment.
type span struct{ from, to int64 }

// ever is a moment that nobody has told anything of.
func ever() span { return span{1, math.MaxInt64} }

// shows tells whether a moment that is seen may be the one, and pins it down.
func (s *span) shows(seen int64) bool {
	if seen < s.from || seen > s.to {
		return false
	}
	if seen != 0 {
		*s = span{seen, seen}
	}
	return true
}

// Model is the plan as porcupine takes it.
func (p Plan) Model() porcupine.Model {
	seed := maphash.MakeSeed()
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{state{}} },
		Step: func(s, in, out any) (next []any) {
			for _, s := range p.unfold(s.(state)) { //nolint:errcheck,forcetypeassert // these are our own
				if p.step(&s, in.(Input), out.(Output)) { //nolint:errcheck,forcetypeassert // these are our own
					next = append(next, s)
				}
			}
			return next
		},
		Hash: func(s any) uint64 { return maphash.Comparable(seed, s) },
	}
	return m.ToModel()
}

// unfold lists what the run may have become by itself.
func (p Plan) unfold(s state) []state {
	all := []state{s}
	if !s.started || !s.live() || p.stop(s).Kind != Check {
		return all
	}
	if p.Fails {
		s.ended, s.completed = "failed", ever()
	} else {
		p.advance(&s, ever())
	}
	return append(all, s)
}

func (s *state) live() bool { return s.ended == "" }

// stop is where a run stands that has not come behind the last one.
func (p Plan) stop(s state) Stop {
	if s.at == len(p.Way) {
		return Stop{}
	}
	return p.Way[s.at]
}

// advance takes the run to its next stop, or completes it at a moment.
func (p Plan) advance(s *state, at span) {
	if s.at++; s.at == len(p.Way) {
		s.ended, s.completed = "completed", at
	}
}

// step does one operation, and reports whether the answer is right.
func (p Plan) step(s *state, in Input, out Output) bool {
	switch in.Op {
	case OpStart:
		return p.start(s, out)
	case OpSettled:
		s.settled = true
		return s.started
	case OpTurn:
		if s.past = s.past || p.Deadline <= out.To; s.started {
			p.expire(s)
		}
		return out.Answer == Done
	case OpSweep, OpNap: // nothing that a client could see
		return out.Answer == Done
	case OpList:
		if !s.started {
			return out.Answer == Done && !out.Listed
		}
	case OpShown, OpSubmit, OpVerdict, OpCancel, OpRead, OpReport:
		if !s.started {
			return out.Answer == NotFound
		}
	}
	return p.ask(s, in, out)
}

// start: the first one creates the run, which has expired if the deadline has
// passed in between. A start that finds another unanswered may be refused.
func (p Plan) start(s *state, out Output) bool {
	if out.Answer == InFlight {
		return !s.settled
	}
	if !s.started {
		s.started = true
		p.expire(s)
	}
	return out.Answer == Done && out.Started+ttl.Microseconds() == p.Deadline
}

// expire ends a live run whose deadline has passed.
func (p Plan) expire(s *state) {
	if s.past && s.live() {
		s.ended, s.completed = "expired", span{p.Deadline, p.Deadline}
	}
}

// ask does an operation on a run that has been started.
func (p Plan) ask(s *state, in Input, out Output) bool {
	switch in.Op {
	case OpSubmit:
		return p.submit(s, in, out)
	case OpVerdict:
		return p.verdict(s, in, out)
	case OpCancel:
		return p.cancel(s, out)
	case OpRead, OpReport, OpShown:
		return out.Answer == Done && p.shows(s, in.Op, out)
	case OpList:
		return out.Answer == Done && p.lists(s, in, out)
	case OpStart, OpSettled, OpSweep, OpNap, OpTurn: // not about the run, or done by step
	}
	return false
}

// submit: a customer's signal lets the run go on that waits for it.
func (p Plan) submit(s *state, in Input, out Output) bool {
	at := p.stop(*s)
	switch {
	case !s.live() || !at.customer() || at.Signal() != in.Signal:
		return out.Answer == NotOpen
	case in.Payload == Bad:
		return out.Answer == Invalid
	}
	s.declined = s.declined || at.Kind == Consent && in.Payload == Declined
	p.advance(s, span{out.From, out.To})
	return out.Answer == Delivered
}

// verdict: it lets a run go on that is parked on a review, and is recorded on
// one that is over; the newest counts, with its notes and its moment.
func (p Plan) verdict(s *state, in Input, out Output) bool {
	want, when := Recorded, span{out.From, out.To}
	if s.live() {
		if p.stop(*s).Kind != Review {
			return out.Answer == NotOpen
		}
		want = Delivered
		p.advance(s, when)
	}
	s.verdict, s.notes, s.resolved = in.Decision, in.Notes, when
	return out.Answer == want && out.Decision == in.Decision
}

// cancel: it ends a live run, and changes no other. Twice is harmless.
func (p Plan) cancel(s *state, out Output) bool {
	if s.live() {
		s.ended, s.completed = "cancelled", span{out.From, out.To}
	}
	if s.ended != "cancelled" {
		return out.Answer == Conflict+s.ended
	}
	return out.Answer == Done && out.Seen.Status == "cancelled" && s.completed.shows(out.Seen.Completed)
}

// lists tells whether the list may have the run, or not have it. A list that was
// asked for when a change of the run was on its way past the deadline may miss
// what the change led to: unlike a read, it writes down no expiry of runs that
// it does not have.
func (p Plan) lists(s *state, in Input, out Output) bool {
	listed := (in.Status == "" || in.Status == p.status(*s)) && (in.Decision == "" || in.Decision == p.decision(*s))
	if listed && !out.Listed {
		return s.past && !p.Calm && in.Status+in.Decision != ""
	}
	return out.Listed == listed && (!listed || p.shows(s, in.Op, out))
}

// shows tells whether the run may be seen like this.
func (p Plan) shows(s *state, by Op, out Output) bool {
	got, want := out.Seen, Seen{Status: p.status(*s)}
	at := p.stop(*s)
	switch {
	case s.live() && by == OpReport: // it does not say whom the run waits on
	case s.live() && at.customer():
		want.Action, want.Signal, want.Linked = "customer_input", at.Signal(), true
	case s.live() && at.Kind == Review:
		want.Action, want.Signal = "review", at.Signal()
	case s.ended == "expired" && at.customer():
		want.Code = "LINK_EXPIRED"
	case s.ended == "expired":
		want.Code = "RUN_EXPIRED"
	case s.ended == "failed":
		want.Code, want.FailedOn = "CHECK_FAILED", at.Name
	}
	if by != OpList && by != OpShown {
		flags := p.flags(*s)
		want.Decision, want.Flags = p.decision(*s), strings.Join(flags, " ")
		settled := want.Decision == "approve" || want.Decision == "reject"
		if settled {
			want.Notes = s.notes
		}
		if by == OpReport && !settled {
			want.Owed = len(flags)
			if !s.live() && at.Kind == Review {
				want.Owed-- // the run ended before this step was finished
			}
		}
		if settled && !s.resolved.shows(got.Resolved) || !settled && got.Resolved != 0 {
			return false
		}
	}
	switch by {
	case OpRead:
		want.Check = p.check(*s)
		if want.Check == "running" && got.Check == "pending" && p.Flakes > 0 {
			want.Check = "pending" // between two dispatches
		}
	case OpReport:
		switch c := p.check(*s); {
		case c == "failed" && s.ended != "failed": // the run ended while the check was under way
			want.Dispatches = min(got.Dispatches, 1+p.Flakes)
		case c == "passed" || c == "failed":
			want.Dispatches = 1 + p.Flakes
		}
	case OpStart, OpSettled, OpShown, OpSubmit, OpVerdict, OpCancel, OpList, OpSweep, OpNap, OpTurn:
	}
	if max(got.Resolved, got.Completed) > max(out.To, p.Deadline) || !s.completed.shows(got.Completed) {
		return false
	}
	got.Resolved, got.Completed = 0, 0
	return got == want
}

func (p Plan) status(s state) string {
	if s.live() {
		return "in_progress"
	}
	return s.ended
}

// decision: parked on a review it is owed; else the newest verdict; else a
// completed run owes one when it is flagged.
func (p Plan) decision(s state) string {
	switch {
	case s.live() && p.stop(s).Kind == Review:
		return "review"
	case s.verdict != "":
		return s.verdict
	case s.ended == "completed" && len(p.flags(s)) > 0:
		return "review"
	}
	return ""
}

// flags lists what leaves the run open: a consent that was refused, a check
// that recovered, a review that was reached.
func (p Plan) flags(s state) (flags []string) {
	for i, stop := range p.Way {
		flagged := i <= s.at && stop.Kind == Review ||
			i < s.at && (stop.Kind == Consent && s.declined || stop.Kind == Check && p.Flakes > 0)
		if flagged {
			flags = append(flags, stop.Name)
		}
	}
	return flags
}

// check is the status of the check; empty before it is reached, if ever.
func (p Plan) check(s state) string {
	i := slices.IndexFunc(p.Way, func(stop Stop) bool { return stop.Kind == Check })
	switch {
	case i < 0 || s.at < i:
		return ""
	case s.at > i:
		return "passed"
	case !s.live():
		return "failed"
	}
	return "running"
}
