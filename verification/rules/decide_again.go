// Decide for what a run leaves out, and for customers who are asked again.

package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/internal/texts"
	"github.com/verifyd/verifyd/verification/workflow"
)

// ErrNoRounds is returned if a customer was asked as often as the workflow allows. It is an ErrConflict.
var ErrNoRounds error = verification.ConflictFor("no_rounds_left", "run", "the customer was asked again as often as the workflow allows")

// leftOut reports whether the run goes past a step, and where to: its condition does not hold, or its answer of before
// stays. ok is false if the run has failed.
func (d *decision) leftOut(id verification.NodeID, n workflow.Node) (next verification.NodeID, past, ok bool) {
	visits, ok := d.visits(id, n.Next)
	if ok && visits {
		if seen, out := d.withoutMembers(id, n); out {
			d.skip(id, n.Next, seen)
			visits = false
		}
	}
	if !ok || !visits {
		d.comparedAnew(id, n.Next)
		return n.Next, true, ok
	}
	on, stays := d.stays(id, n)
	if !stays {
		return "", false, true
	}
	next = n.Next
	for _, r := range n.Routes() {
		if r.On == on {
			next = r.To
		}
	}
	d.add(Skipped{Node: id, Next: next, Kept: true, On: on})
	d.comparedAnew(id, next)
	return next, true, true
}

// visits reports whether the condition of a step or a member holds, and records that it is left out if not. ok is false if the
// run has failed.
func (d *decision) visits(id, next verification.NodeID) (visits, ok bool) {
	condition := d.program.When(id)
	if condition == nil {
		return true, true
	}
	holds, seen, err := condition.Holds(d.run.scopeAt(id))
	switch {
	case err != nil:
		d.abort(id, fmt.Sprintf("when: %v", err))
		return false, false
	case !holds:
		d.skip(id, next, seen)
	}
	return holds, true
}

// stays reports whether the answer of a step stays in the present round: nothing that its texts read was asked again. on is the
// way by which the run left it.
func (d *decision) stays(id verification.NodeID, n workflow.Node) (on string, stays bool) {
	began := d.run.round.began
	if began == 0 || n.Type == workflow.NodeReview || id == d.run.round.step {
		return "", false
	}
	g, isGroup := d.run.Group(id)
	s := d.run.step(id)
	switch {
	case isGroup && g.began < began && g.Status != StepRunning:
		on = GroupDecided{Type: g.Type, Passed: g.Status == StepPassed, Unavailable: g.Unavailable}.route()
	case !isGroup && s != nil && s.reached <= began && s.finished():
		on = s.route()
	default:
		return "", false
	}
	return on, !slices.ContainsFunc(d.program.Reads(id), func(read verification.NodeID) bool { return d.run.since(read, began) })
}

// since reports whether the run has come to a node since its history had a length.
func (r *Run) since(node verification.NodeID, length int) bool {
	return slices.ContainsFunc(r.Steps, func(s Step) bool {
		of, _, _ := s.Node.Parts()
		return of == node && s.reached > length
	}) || slices.ContainsFunc(r.Groups, func(g Group) bool { return g.Node == node && g.began > length })
}

// route returns the way out of a step that is finished, as Transition.On.
func (s *Step) route() string {
	switch {
	case s.Status == StepPassed, s.Type == workflow.NodeCustomerInput:
		return "next"
	case s.Type == workflow.NodeConsent:
		return "declined"
	case s.unavailable:
		return "unavailable"
	}
	return "failed"
}

// askAgain sends the run back to a step of its customer.
func (d *decision) askAgain(c AskAgain) error {
	if _, delivered := d.run.Receipt(c.Request); delivered {
		return nil
	}
	w := d.run.Wait()
	if w.Kind != WaitReview {
		return notOpen(workflow.ResubmitSignal)
	}
	by := verification.Person{Identity: clean(c.Identity), Name: clean(c.By)}
	if err := d.checkClaim(c.Claim, by); err != nil {
		return err
	}
	if err := d.checkSeq(c.Seq); err != nil {
		return err
	}
	f := AskedAgain{
		Node: d.askedStep(c), From: w.Node, Reasons: c.Reasons, Fields: c.Fields, Note: strings.TrimSpace(c.Note),
		By: by.Name, Identity: by.Identity, Request: c.Request,
	}
	f.Since, _ = d.run.InReview()
	if problems := d.checkAsked(f); len(problems) > 0 {
		return &verification.Error{Kind: verification.ErrInvalid, Subject: "signal", Fields: problems}
	}
	if d.run.FourEyes() && by.Identity == "" { // it would end the proposal of a person
		return ErrNoPerson
	}
	if f.Round = d.run.step(f.Node).rounds() + 1; f.Round > d.maxRounds(f.Node) {
		return ErrNoRounds
	}
	d.again(f)
	return nil
}

// askedStep returns the step that a command names, or else the last form that the customer has answered and that has every field.
func (d *decision) askedStep(c AskAgain) verification.NodeID {
	if c.Step != "" {
		return c.Step
	}
	var last Step
	for _, s := range d.run.Steps {
		n, _ := d.program.Node(s.Node)
		has := func(field string) bool { _, ok := n.Fields.At(field); return ok }
		if s.Type == workflow.NodeCustomerInput && s.finished() && s.reached > last.reached && !slices.ContainsFunc(c.Fields, func(f string) bool { return !has(f) }) {
			last = s
		}
	}
	return last.Node
}

// checkAsked returns what is wrong with a request to a customer.
func (d *decision) checkAsked(f AskedAgain) (problems []verification.FieldError) {
	problem := func(name, format string, args ...any) {
		problems = append(problems, verification.FieldError{Name: "payload." + name, Message: fmt.Sprintf(format, args...)})
	}
	s := d.run.step(f.Node)
	n, known := d.program.Node(f.Node)
	switch {
	case f.Node == "" && len(f.Fields) > 0:
		problem("fields", "no form that the customer has answered has these fields")
	case f.Node == "":
		problem("step", "the customer has answered no form")
	case s == nil || !s.finished() || !known || !n.Asks():
		problem("step", "must be a form or a consent that the customer has answered")
	}
	for i, field := range f.Fields {
		if _, ok := n.Fields.At(field); !ok && len(problems) == 0 {
			problem(fmt.Sprintf("fields[%d]", i), "the form %s has no field %q", f.Node, field)
		}
	}
	if len(f.Reasons) == 0 {
		problem("reasons", "is required")
	}
	def := d.program.Version.Definition
	for i, code := range f.Reasons {
		switch _, ok := def.ResubmitReason(code); {
		case !ok:
			problem(fmt.Sprintf("reasons[%d]", i), "must be one of %s", strings.Join(def.ResubmitCodes(), ", "))
		case slices.Contains(f.Reasons[:i], code):
			problem(fmt.Sprintf("reasons[%d]", i), "is there twice")
		}
	}
	if n := utf8.RuneCountInString(f.Note); n > workflow.MaxNoteToCustomer {
		problem("note_to_customer", "%s", texts.TooLong(workflow.MaxNoteToCustomer))
	} else if !texts.Storable(f.Note) {
		problem("note_to_customer", "must be valid UTF-8 without a NUL character")
	}
	return problems
}

// maxRounds returns how often the customer may be asked again for a step.
func (d *decision) maxRounds(step verification.NodeID) int {
	n, _ := d.program.Node(step)
	return cmp.Or(max(0, n.MaxRounds), workflow.DefaultRounds)
}

// again begins a round.
func (d *decision) again(f AskedAgain) {
	d.add(f)
	n, _ := d.program.Node(f.Node)
	d.await(f.Node, n)
}

// rounds returns how often the customer was asked again for the step.
func (s *Step) rounds() int {
	if s == nil || len(s.Rounds) == 0 {
		return 0
	}
	return s.Rounds[len(s.Rounds)-1].Round
}

// WithEarlierAnswers returns the run in which each step whose customer is asked again still has its earlier answer, so that the
// run says whom it is about.
func (r Run) WithEarlierAnswers() Run {
	for i, s := range r.Steps {
		if n := len(s.Rounds); n > 0 && s.Data == nil && s.Rounds[n-1].AnsweredAt.IsZero() {
			r.Steps = slices.Clone(r.Steps)
			r.Steps[i].Data = s.Rounds[n-1].Earlier
		}
	}
	return r
}

// branchAsks returns the request of a rule that asks the customer again; ok is false if the customer has not answered the step,
// or was asked as often as the workflow allows.
func (d *decision) branchAsks(id verification.NodeID, a workflow.AskAgain) (f AskedAgain, ok bool) {
	s := d.run.step(a.Step)
	f = AskedAgain{Node: a.Step, From: id, Round: s.rounds() + 1, Reasons: a.Reasons, Fields: a.Fields, Note: a.Note}
	return f, s != nil && s.finished() && f.Round <= d.maxRounds(a.Step)
}
