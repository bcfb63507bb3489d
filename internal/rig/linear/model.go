// The model of a run under sequential operations.

package linear

import (
	"hash/maphash"
	"math"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

// state is the state of a run between two operations. It is comparable.
type state struct {
	started  bool
	settled  bool   // a start has returned, so that no other is in flight
	at       int    // the current step; len(Path) after the last one
	furthest int    // the last step that was reached so far
	round    int    // 1 and the step for which the customer was asked again last, until the run is in review again
	rounds   [5]int // how often he was asked again, by step
	checks   int    // how often the check was begun
	ended    string // the terminal status; empty while the run is live
	declined bool   // consent was refused
	past     bool   // the deadline has passed, also for a run that is started now

	verdict  string // the newest one
	notes    string
	resolved span

	completed span
}

// span is an unknown time between two others. Once it is observed, both are that
// time. The zero span is no time.
type span struct{ from, to int64 }

// ever is a time about which nothing is known.
func ever() span { return span{1, math.MaxInt64} }

// shows reports whether an observed time is in the span, and narrows the span to it.
func (s *span) shows(seen int64) bool {
	if seen < s.from || seen > s.to {
		return false
	}
	if seen != 0 {
		*s = span{seen, seen}
	}
	return true
}

// Model returns the porcupine model of the plan.
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

// unfold returns the states that the run may have reached without an operation.
func (p Plan) unfold(s state) []state {
	all := []state{s}
	if !s.started || !s.live() || p.current(s).Kind != Check {
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

// current returns the current step, or the zero step after the last.
func (p Plan) current(s state) Step {
	if s.at == len(p.Path) {
		return Step{}
	}
	return p.Path[s.at]
}

// advance moves the run to its next step, or completes it at a time.
func (p Plan) advance(s *state, at span) {
	for s.at++; p.stays(*s); s.at++ { // what was answered before is left as it is
	}
	if s.at == len(p.Path) {
		s.ended, s.completed = "completed", at
	}
	p.arrive(s)
}

// arrive: the run is at a step.
func (p Plan) arrive(s *state) {
	s.furthest = max(s.furthest, s.at)
	switch p.current(*s).Kind {
	case Check:
		s.checks++
	case Review:
		s.round = 0
	case Consent, Details:
	}
}

// stays reports whether the run goes past the current step in a round: it is finished, and does not depend on what the customer
// was asked again. Each review is asked again.
func (p Plan) stays(s state) bool {
	if s.round == 0 || s.at >= s.furthest {
		return false
	}
	asked := p.Path[s.round-1].Kind
	return p.Path[s.at].Kind != Review && (p.Path[s.at].Kind != Check || !p.Depends || asked != Details)
}

// ask: a reviewer sends a run that is in review back to a step that its customer has answered, as often as the workflow allows.
func (p Plan) ask(s *state, in Input, out Output) bool {
	if !s.live() || p.current(*s).Kind != Review {
		return out.Answer == NotOpen
	}
	i := p.index(func(step Step) bool { return step.Name == in.Step })
	if in.Step == "" { // the last form
		i = p.index(func(step Step) bool { return step.Kind == Details })
	}
	switch {
	case i < 0 || i >= s.furthest || !p.Path[i].customer():
		return out.Answer == Invalid
	case s.rounds[i] == maxRounds:
		return out.Answer == NoRounds
	}
	s.rounds[i]++
	s.round, s.at = i+1, i
	return out.Answer == Delivered
}

// step runs one operation on the model and reports whether the output is allowed.
func (p Plan) step(s *state, in Input, out Output) bool {
	switch in.Op {
	case OpStart:
		return p.start(s, out)
	case OpSettled:
		s.settled = true
		return s.started
	case OpAdvance:
		if s.past = s.past || p.Deadline <= out.To; s.started {
			p.expire(s)
		}
		return out.Answer == Done
	case OpWake, OpPassLease: // not visible to clients
		return out.Answer == Done
	case OpList:
		if !s.started {
			return out.Answer == Done && !out.Listed
		}
	case OpShown, OpSubmit, OpVerdict, OpAskAgain, OpCancel, OpRead, OpReport:
		if !s.started {
			return out.Answer == NotFound
		}
	}
	return p.operate(s, in, out)
}

// start: the first start creates the run, which is expired if the deadline has
// passed meanwhile. A start during another one may be refused.
func (p Plan) start(s *state, out Output) bool {
	if out.Answer == InFlight {
		return !s.settled
	}
	if !s.started {
		s.started = true
		p.arrive(s)
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

// operate runs an operation on a started run.
func (p Plan) operate(s *state, in Input, out Output) bool {
	switch in.Op {
	case OpSubmit:
		return p.submit(s, in, out)
	case OpVerdict:
		return p.verdict(s, in, out)
	case OpAskAgain:
		return p.ask(s, in, out)
	case OpCancel:
		return p.cancel(s, out)
	case OpRead, OpReport, OpShown:
		return out.Answer == Done && p.shows(s, in.Op, out)
	case OpList:
		return out.Answer == Done && p.lists(s, in, out)
	case OpStart, OpSettled, OpWake, OpPassLease, OpAdvance: // not about the run, or done by step
	}
	return false
}

// submit: a customer's signal continues a run that waits for it.
func (p Plan) submit(s *state, in Input, out Output) bool {
	at := p.current(*s)
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

// verdict: a verdict continues a run in review and is recorded on a run that has
// ended. The newest one counts, with its notes and its time.
func (p Plan) verdict(s *state, in Input, out Output) bool {
	want, when := Recorded, span{out.From, out.To}
	if s.live() {
		if p.current(*s).Kind != Review {
			return out.Answer == NotOpen
		}
		want = Delivered
		p.advance(s, when)
	}
	s.verdict, s.notes, s.resolved = in.Decision, in.Notes, when
	return out.Answer == want && out.Decision == in.Decision
}

// cancel: cancelling ends a live run and changes no other. It is idempotent.
func (p Plan) cancel(s *state, out Output) bool {
	if s.live() {
		s.ended, s.completed = "cancelled", span{out.From, out.To}
	}
	if s.ended != "cancelled" {
		return out.Answer == Conflict+s.ended
	}
	return out.Answer == Done && out.View.Status == "cancelled" && s.completed.shows(out.View.Completed)
}

// lists reports whether the list may have the run, or not have it. A list during a
// change of the run at the deadline may miss the result of the change: unlike a
// read, it does not record the expiry of runs that it does not have.
func (p Plan) lists(s *state, in Input, out Output) bool {
	listed := (in.Status == "" || in.Status == p.status(*s)) && (in.Decision == "" || in.Decision == p.decision(*s))
	if listed && !out.Listed {
		return s.past && !p.Quiescent && in.Status+in.Decision != ""
	}
	return out.Listed == listed && (!listed || p.shows(s, in.Op, out))
}

// shows reports whether an operation may show this run.
func (p Plan) shows(s *state, by Op, out Output) bool {
	got, want := out.View, View{Status: p.status(*s)}
	at := p.current(*s)
	switch {
	case s.live() && by == OpReport: // it has no action
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
		if p.Shape == Group {
			want.FailedOn = "b" // the member that the script is for
		}
	}
	if by != OpList && by != OpShown {
		flags := p.flags(*s)
		want.Decision, want.Flags = p.decision(*s), strings.Join(flags, " ")
		settled := want.Decision == "approve" || want.Decision == "reject"
		if settled {
			want.Notes = s.notes
		}
		if by == OpReport && !settled {
			want.NeedsReview = len(flags)
			if !s.live() && slices.Contains(flags, at.Name) {
				want.NeedsReview-- // the run ended during this step
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
		case c == "failed" && s.ended != "failed": // the run ended during the check
			want.Dispatches = min(got.Dispatches, p.parts()*s.checks+p.Flakes)
		case c == "passed" || c == "failed":
			want.Dispatches = p.parts()*s.checks + p.Flakes
		case c == "running" && s.checks == 1: // the cards of some parts
			want.Dispatches = min(got.Dispatches, p.parts()-1)
		case c == "running": // the cards of before, too
			want.Dispatches = max(p.parts()*(s.checks-1)+p.Flakes, min(got.Dispatches, p.parts()*s.checks+p.Flakes))
		}
	case OpStart, OpSettled, OpShown, OpSubmit, OpVerdict, OpAskAgain, OpCancel, OpList, OpWake, OpPassLease, OpAdvance:
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

// decision returns review for a run in review, otherwise the newest verdict,
// otherwise review for a completed run with flags.
func (p Plan) decision(s state) string {
	switch {
	case s.live() && p.current(s).Kind == Review:
		return "review"
	case s.verdict != "":
		return s.verdict
	case s.ended == "completed" && len(p.flags(s)) > 0:
		return "review"
	}
	return ""
}

// flags returns the flagged steps: a declined consent, a check that recovered, and a
// review.
func (p Plan) flags(s state) (flags []string) {
	for i, step := range p.Path {
		flagged := i <= s.furthest && step.Kind == Review ||
			i < s.furthest && (step.Kind == Consent && s.declined || step.Kind == Check && p.Flakes > 0)
		if flagged {
			flags = append(flags, step.Name)
		}
	}
	return flags
}

// check returns the status of the check, or "" before it.
func (p Plan) check(s state) string {
	i := p.index(func(step Step) bool { return step.Kind == Check })
	switch {
	case i < 0 || s.furthest < i:
		return ""
	case s.at != i:
		return "passed"
	case !s.live():
		return "failed"
	}
	return "running"
}
