// One case of a workflow, played by the engine in memory.

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

const (
	tryTenant verification.TenantID = "00000000-0000-7000-8000-0000000000aa"
	// maxMoves bounds what one case does.
	maxMoves = 10_000
)

// played is a case and what became of it.
type played struct {
	definitions.Case
	def        workflow.Definition
	history    []rules.Event
	run        rules.RunDetail
	unscreened []verification.NodeID
	waitsFor   verification.NodeID // of a live run
	waiting    string              // what a live run waits for, and what to write so that it goes on
	problems   []verification.FieldError
}

// path returns the nodes at which the run arrived.
func (p played) path() []verification.NodeID {
	return mapSlice(rules.Transitions("", p.history), func(t rules.Transition) verification.NodeID { return t.To })
}

// problem adds a problem of a field of the cases, or of the case itself.
func (p *played) problem(field, format string, args ...any) {
	p.problems = append(p.problems, verification.FieldError{Name: cmp.Or(field, p.field("")), Message: fmt.Sprintf(format, args...)})
}

// field returns the name of a field of the case.
func (p *played) field(name string) string {
	return strings.TrimSuffix("cases."+p.Name+"."+name, ".")
}

// stage is where one case is played.
type stage struct {
	*played
	clock  *clock.Manual
	engine *engine.Engine
	id     verification.RunID
	script *script
	used   map[string]bool // the fields that were used
	taken  map[string]int  // how many lines were taken, by use and step
	turned map[int]bool    // the waits before which time has passed
}

// playCase plays a case. The error is internal; what is wrong with the case is in the result.
func playCase(ctx context.Context, def workflow.Definition, hosts tryHosts, c definitions.Case, used map[string]bool) (*played, error) {
	p := &played{Case: c, def: def}
	s := &stage{played: p, clock: clock.NewManual(c.Start), used: used, taken: map[string]int{}, turned: map[int]bool{}}
	s.script = &script{
		stage: s, calls: map[string]int{}, late: map[string]lateResult{},
		rests: map[verification.NodeID]bool{}, away: map[verification.NodeID]scriptLine{}, polls: map[verification.NodeID]time.Time{}, replies: map[int]time.Time{},
	}
	store, made := memory.New(), 0
	var err error
	s.engine, err = engine.New(engine.Ports{
		Store: store, Providers: s.script.providers(hosts), Expressions: expression.New(), Links: tryLinks{}, Clock: s.clock,
		NewID: func() string { made++; return fmt.Sprintf("00000000-0000-7000-8000-%012x", made) },
	}, engine.Options{PublicURL: "http://journey.invalid", StartWait: -1})
	if err != nil {
		return p, err
	}
	if err := store.SaveTenant(ctx, verification.Tenant{ID: tryTenant, Name: "Try", Zone: c.Zone}); err != nil {
		return p, err
	}
	stop := s.serve(ctx)
	err = s.play(ctx)
	return p, errors.Join(err, stop())
}

// serve serves the engine until stop is called.
func (s *stage) serve(ctx context.Context) (stop func() error) {
	served, cancel := context.WithCancel(ctx)
	done, serving := make(chan struct{}), s.engine.Serving()
	go func() {
		defer close(done)
		s.engine.Serve(served)
	}()
	<-serving
	return func() error {
		cancel()
		<-done
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		return s.engine.Close(closing)
	}
}

func (s *stage) play(ctx context.Context) error {
	applied, err := s.engine.Apply(ctx, tryTenant, s.def)
	if err != nil {
		return err
	}
	view, err := s.engine.Start(ctx, tryTenant, applied.Workflow.ID, engine.StartRequest{ReferenceID: s.ReferenceID, Input: s.Input})
	if err != nil {
		return s.refused(s.field("input"), err)
	}
	s.id = view.ID
	for range maxMoves {
		h, err := s.read(ctx)
		if err != nil || len(s.problems) > 0 {
			return err
		}
		moved, err := s.move(ctx, h)
		if err != nil || !moved {
			return err
		}
	}
	s.problem("", "the run does not come to rest: %d answers, results and turns of the clock did not end it", maxMoves)
	return nil
}

// read waits until the engine has done what it can do now, and reads the run.
func (s *stage) read(ctx context.Context) (engine.History, error) {
	if err := s.clock.Settle(ctx); err != nil {
		return engine.History{}, err
	}
	h, err := s.engine.History(ctx, tryTenant, s.id)
	if err == nil {
		s.history, s.run = h.Events, h.Run.Detail(h.At)
		s.unscreened = mapSlice(h.Report.Unscreened, func(u rules.Unscreened) verification.NodeID { return u.NodeID })
	}
	s.script.takeProblems()
	return h, err
}

// refused makes a problem of an error of the engine that a client would see, and returns any other.
func (s *stage) refused(field string, err error) error {
	expected, ok := errors.AsType[*verification.Error](err)
	if !ok {
		return err
	}
	for _, f := range expected.Fields {
		name, message := strings.TrimPrefix(f.Name, "payload"), f.Message
		if name == f.Name { // a field of the request
			name = strings.TrimPrefix(f.Name, "input")
		}
		s.problem(field+name, "%s", message)
	}
	if len(expected.Fields) == 0 {
		s.problem(field, "%s", cmp.Or(expected.Message, err.Error()))
	}
	return nil
}

// move makes the next move of the case. It returns false if there is none.
func (s *stage) move(ctx context.Context, h engine.History) (moved bool, err error) {
	w := h.Run.Wait()
	s.waitsFor, s.waiting = w.Node, ""
	if w.Node != "" {
		s.waiting = fmt.Sprintf("%s at %s", w.Kind, w.Node)
	}
	switch {
	case h.Run.Ended != "":
		if h.Run.Decision() != rules.DecisionReview {
			return false, nil
		}
		return s.verdict(ctx)
	case slices.ContainsFunc(h.Run.Waits, s.cancels) && s.take("cancel", s.Cancel, 1):
		s.used[s.field("cancel")] = true
		_, err := s.engine.Cancel(ctx, tryTenant, s.id)
		return err == nil, err
	}
	switch w.Kind {
	case rules.WaitCustomer:
		if d, ok := s.turn(w); ok {
			return true, s.clock.Advance(ctx, d)
		}
		step := lineOf(s.Answers, w.Node)
		answers := s.Answers[step]
		if s.take("answers", step, len(answers)) {
			answer := answers[s.taken["answers "+string(step)]-1]
			s.used[answer.Field] = true
			_, err := s.engine.Submit(ctx, tryTenant, s.id, engine.SubmitRequest{Signal: w.Signal, Payload: answer.Value})
			if err != nil {
				return false, s.refused(answer.Field, err)
			}
			return true, nil
		}
		if w.Away() && !s.script.restsAt(w.Node) {
			return s.pass(ctx, h.Run.Waits)
		}
		s.waiting = s.missingAnswer(step)
	case rules.WaitReview:
		if d, ok := s.turn(w); ok {
			return true, s.clock.Advance(ctx, d)
		}
		if moved, err := s.verdict(ctx); moved || err != nil || len(s.problems) > 0 {
			return moved, err
		}
		s.waiting = fmt.Sprintf("a reviewer's verdict at %s: give verdicts", w.Node)
		if h.Run.Proposal.Decision.Verdict() {
			s.waiting = fmt.Sprintf("the verdict of a second reviewer at %s: give one more of verdicts, with another name in by", w.Node)
		}
	case rules.WaitRetry, rules.WaitPoll, rules.WaitResult:
		return s.pass(ctx, h.Run.Waits)
	case rules.WaitNothing:
	}
	return false, nil
}

// cancels reports whether the case cancels the run while it waits there.
func (s *stage) cancels(w rules.Wait) bool { return w.Kind != rules.WaitResult && s.Cancel == w.Node }

// pass lets time pass until the first of the checks that the run waits for gets on.
func (s *stage) pass(ctx context.Context, waits []rules.Wait) (moved bool, err error) {
	var at time.Time
	var resting []verification.NodeID
	for _, w := range waits {
		wakes := s.script.wakes(w)
		switch {
		case w.Kind == rules.WaitPoll && s.script.restsAt(w.Node):
			resting = append(resting, w.Node)
		case w.Kind == rules.WaitResult && wakes.IsZero():
		case at.IsZero() || wakes.Before(at):
			at = wakes
		}
	}
	if !at.IsZero() {
		return true, s.clock.Advance(ctx, at.Sub(s.clock.Now()))
	}
	for _, id := range resting {
		if d, ok := s.next(id); ok {
			return true, s.clock.Advance(ctx, d)
		}
		s.waitsFor = id
		s.waiting = fmt.Sprintf("the result of %s, which stays pending: let another result follow it in results, or let time pass with after.%s", id, id)
	}
	return false, nil
}

// lineOf returns the name under which a case has lines for a step: its own, or the name without the number of the element.
func lineOf[T any](lines map[verification.NodeID]T, id verification.NodeID) verification.NodeID {
	if _, ok := lines[id]; ok {
		return id
	}
	return id.InDefinition()
}

// missingAnswer says which answer the run waits for.
func (s *stage) missingAnswer(id verification.NodeID) string {
	n, _ := s.def.Node(id)
	form := "success or declined"
	if n.Type == workflow.NodeCustomerInput {
		var names []string
		for _, f := range n.Fields {
			if least, _ := f.Rows(); f.Required || f.Type == workflow.FieldGroup && least > 0 {
				names = append(names, f.Name)
			}
		}
		form = "an object with at least " + strings.Join(names, ", ")
		if len(names) == 0 {
			form = "an object"
		}
	}
	if n.Type == workflow.NodeCheck {
		return missingReturn(id)
	}
	if visits := s.taken["answers "+string(id)]; visits > 0 {
		return fmt.Sprintf("the customer's answer to %s, visit %d: give answers.%s a list with one answer for each visit", id, visits+1, id)
	}
	return fmt.Sprintf("the customer's answer to %s: give answers.%s (%s)", id, id, form)
}

// take counts one more line of a step, if there are lines left of n.
func (s *stage) take(use string, id verification.NodeID, n int) bool {
	left := s.left(use, id, n)
	if left {
		s.taken[use+" "+string(id)]++
	}
	return left
}

func (s *stage) left(use string, id verification.NodeID, n int) bool {
	return s.taken[use+" "+string(id)] < n
}

// turn returns how much time passes before a wait ends.
func (s *stage) turn(w rules.Wait) (time.Duration, bool) {
	if s.turned[w.Number] {
		return 0, false
	}
	s.turned[w.Number] = true
	return s.next(w.Node)
}

func (s *stage) next(id verification.NodeID) (time.Duration, bool) {
	id = lineOf(s.After, id)
	all := s.After[id]
	if !s.take("after", id, len(all)) {
		return 0, false
	}
	line := all[s.taken["after "+string(id)]-1]
	s.used[line.Field] = true
	return line.Value, true
}

// verdict gives the next verdict, if there is one.
func (s *stage) verdict(ctx context.Context) (given bool, err error) {
	if !s.take("verdicts", "", len(s.Verdicts)) {
		return false, nil
	}
	line := s.Verdicts[s.taken["verdicts "]-1]
	s.used[line.Field] = true
	switch c := line.Value.(type) { //nolint:gochecksumtype // a case of a workflow has no other command
	case rules.GiveVerdict:
		_, err = s.engine.GiveVerdict(ctx, tryTenant, s.id, c, "")
	case rules.AskAgain:
		_, err = s.engine.AskAgain(ctx, tryTenant, s.id, c, "")
	}
	if err != nil {
		return false, s.refused(line.Field, err)
	}
	return true, nil
}

// tryLinks signs links that nobody opens.
type tryLinks struct{ unsupported }

// SignLink implements verification.LinkSigner.
func (tryLinks) SignLink(verification.Link) (string, error) { return "link", nil }
