// One case of a workflow, played by the engine in memory.

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/adapters/definition"
	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/adapters/memory"
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
	definition.Case
	history  []rules.Event
	run      rules.RunDetail
	waitsFor verification.NodeID // of a live run
	waiting  string              // what a live run waits for, and what to write so that it goes on
	problems []verification.FieldError
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
	def    workflow.Definition
	clock  *clock.Manual
	engine *engine.Engine
	id     verification.RunID
	script *script
	used   map[string]bool // the fields that were used
	taken  map[string]int  // how many lines were taken, by use and step
	turned map[int]bool    // the waits before which time has passed
}

// playCase plays a case. The error is internal; what is wrong with the case is in the result.
func playCase(ctx context.Context, def workflow.Definition, hosts tryHosts, c definition.Case, used map[string]bool) (*played, error) {
	p := &played{Case: c}
	s := &stage{played: p, def: def, clock: clock.NewManual(c.Start), used: used, taken: map[string]int{}, turned: map[int]bool{}}
	s.script = &script{stage: s, calls: map[string]int{}, late: map[string]lateResult{}}
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
	w := h.Run.Wait
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
	case w.Kind != rules.WaitResult && s.Cancel == w.Node && s.take("cancel", w.Node, 1):
		s.used[s.field("cancel")] = true
		_, err := s.engine.Cancel(ctx, tryTenant, s.id)
		return err == nil, err
	}
	switch w.Kind {
	case rules.WaitCustomer:
		if d, ok := s.turn(w); ok {
			return true, s.clock.Advance(ctx, d)
		}
		answers := s.Answers[w.Node]
		if s.take("answers", w.Node, len(answers)) {
			answer := answers[s.taken["answers "+string(w.Node)]-1]
			s.used[answer.Field] = true
			_, err := s.engine.Submit(ctx, tryTenant, s.id, engine.SubmitRequest{Signal: w.Signal, Payload: answer.Value})
			if err != nil {
				return false, s.refused(answer.Field, err)
			}
			return true, nil
		}
		s.waiting = s.missingAnswer(w.Node)
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
	case rules.WaitRetry:
		return true, s.clock.Advance(ctx, w.At.Sub(s.clock.Now()))
	case rules.WaitPoll:
		if !s.script.restsAt(w.Node) {
			return true, s.clock.Advance(ctx, max(w.At.Sub(s.clock.Now()), s.script.wakes().Sub(s.clock.Now())))
		}
		if d, ok := s.next(w.Node); ok {
			return true, s.clock.Advance(ctx, d)
		}
		s.waiting = fmt.Sprintf("the result of %s, which stays pending: let another result follow it in results, or let time pass with after.%s", w.Node, w.Node)
	case rules.WaitResult:
		if d := s.script.wakes().Sub(s.clock.Now()); d > 0 {
			return true, s.clock.Advance(ctx, d)
		}
	case rules.WaitNothing:
	}
	return false, nil
}

// missingAnswer says which answer the run waits for.
func (s *stage) missingAnswer(id verification.NodeID) string {
	n := s.def.Nodes[id]
	form := "success or declined"
	if n.Type == workflow.NodeCustomerInput {
		var names []string
		for _, f := range n.Fields {
			if f.Required {
				names = append(names, f.Name)
			}
		}
		form = "an object with at least " + strings.Join(names, ", ")
		if len(names) == 0 {
			form = "an object"
		}
	}
	if visits := s.taken["answers "+string(id)]; visits > 0 {
		return fmt.Sprintf("the customer's answer to %s, visit %d: give answers.%s a list with one answer for each visit", id, visits+1, id)
	}
	return fmt.Sprintf("the customer's answer to %s: give answers.%s (%s)", id, id, form)
}

// take counts one more line of a step, if there are lines left of n.
func (s *stage) take(use string, id verification.NodeID, n int) bool {
	key := use + " " + string(id)
	if s.taken[key] >= n {
		return false
	}
	s.taken[key]++
	return true
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
	if _, err := s.engine.GiveVerdict(ctx, tryTenant, s.id, line.Value, ""); err != nil {
		return false, s.refused(line.Field, err)
	}
	return true, nil
}

// tryLinks signs links that nobody opens.
type tryLinks struct{ unsupported }

// SignLink implements verification.LinkSigner.
func (tryLinks) SignLink(verification.Link) (string, error) { return "link", nil }
