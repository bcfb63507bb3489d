// Decide: commands become events.

package rules

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/internal/texts"
	"github.com/verifyd/verifyd/verification/workflow"
)

const (
	maxReferenceID = 255 // characters
	maxCause       = 500 // bytes of a cause, which is for the operator
	// maxHops bounds the branches between two steps. A validated definition has
	// no loop of branches alone, so only a damaged one reaches it.
	maxHops = 10000
)

// Decide applies command c to run r under program p at time now. It returns the
// events to append and the run after them, or an *Error if the state of r or the
// fields of c forbid it. No events and no error mean that c changes nothing. A
// deadline that has passed is recorded first. The times of events are in UTC, to the
// microsecond. The dates of an answer are judged by the day of now in its location, which
// is the zone of the tenant.
//
// The error is verification.ErrInvalid if a field of c breaks a rule, verification.ErrConflict if the state
// of the run forbids c, verification.ErrNotOpen if no such signal is open, and verification.ErrNotFound if
// the run has no history and c does not start it. See docs/state-machine.md for
// the whole table.
func Decide(p workflow.Program, r Run, c Command, now time.Time) ([]Event, Run, error) {
	after := r // only this part of a decision is allocated
	d := &decision{program: p, run: &after, now: now.UTC().Truncate(time.Microsecond), today: now}
	var err error
	d.run.inPlace(func() {
		if e, overdue := r.expiry(now); overdue {
			d.events = append(d.events, e)
			d.run.evolve(e)
		}
		if err = d.decide(c); err == nil && d.goes {
			d.goTo(d.next)
		}
	})
	if err != nil {
		return nil, r, err
	}
	return d.events, after, nil
}

// decision collects the events of one command.
type decision struct {
	program workflow.Program
	run     *Run
	now     time.Time
	today   time.Time // now in the zone of the tenant
	events  []Event
	next    verification.NodeID // where the run goes on after the command, if goes is set
	goes    bool
}

// goesTo says where the run goes on once the command is decided.
func goesTo(d *decision, id verification.NodeID) { d.next, d.goes = id, true }

func (d *decision) decide(c Command) error {
	if _, begins := c.(Start); !begins && d.run.Seq == 0 {
		return &verification.Error{Kind: verification.ErrNotFound, Subject: "run", Message: "the run has not started"}
	}
	if !d.run.RedactedAt.IsZero() {
		switch c.(type) {
		case RecordHits, DecideHit, AddNote, Correct, Assign, HoldRun, EndHold:
			return ErrRedacted
		case Start, RecordResult, RecordFailure, RecordCallback, RecordReturn, Redispatch, Abort, OpenJourney, Submit, Upload,
			GiveVerdict, ReturnProposal, AskAgain, Remind, Cancel, Expire:
		}
	}
	if !d.run.RestrictedAt.IsZero() {
		switch c.(type) {
		case RecordHits, DecideHit, AddNote, Correct, Assign:
			return ErrRestricted
		case Start, RecordResult, RecordFailure, RecordCallback, RecordReturn, Redispatch, Abort, OpenJourney, Submit, Upload,
			GiveVerdict, ReturnProposal, AskAgain, HoldRun, EndHold, Remind, Cancel, Expire:
		}
	}
	switch c := c.(type) {
	case Start:
		return d.start(c)
	case RecordResult:
		d.result(c)
	case RecordFailure:
		d.failure(c)
	case RecordCallback:
		d.callback(c)
	case RecordReturn:
		d.returned(c)
	case Redispatch:
		d.redispatch()
	case Abort:
		if _, waits := d.run.WaitAt(c.Node); d.live() && waits {
			d.abort(c.Node, c.Cause)
		}
	case OpenJourney:
		return d.openJourney(c)
	case Submit:
		return d.submit(c)
	case Upload:
		return d.upload(c)
	case GiveVerdict:
		return d.verdict(c)
	case ReturnProposal:
		return d.returnProposal(c)
	case AskAgain:
		return d.askAgain(c)
	case RecordHits:
		return d.recordHits(c)
	case DecideHit:
		return d.decideHit(c)
	case AddNote:
		return d.addNote(c)
	case Correct:
		return d.correct(c)
	case Assign:
		return d.assign(c)
	case HoldRun:
		return d.hold(c)
	case EndHold:
		return d.endHold(c)
	case Remind:
		d.remind()
	case Cancel:
		return d.cancel()
	case Expire:
	}
	return nil
}

func (d *decision) live() bool { return d.run.Ended == "" }

// add appends a fact at the time of the decision and folds it.
func (d *decision) add(f Fact) {
	if len(d.events) == 0 {
		d.events = make([]Event, 0, 2) // most commands lead to two events
	}
	e := Event{At: d.now, Fact: f}
	d.events = append(d.events, e)
	d.run.evolve(e)
}

func (d *decision) start(c Start) error {
	if d.run.Seq > 0 {
		return verification.Conflict("run", "the run has already started")
	}
	problems := fieldsOf(ValidateReferenceID(c.ReferenceID))
	if d.program.InputSchema() != nil {
		for _, f := range d.program.InputSchema().Check(c.Input) {
			f.Name = joinPath("input", f.Name)
			problems = append(problems, f)
		}
	}
	if len(problems) > 0 {
		return &verification.Error{Kind: verification.ErrInvalid, Subject: "run", Fields: problems}
	}
	def := d.program.Version.Definition
	d.add(Started{
		Workflow: d.program.Workflow, WorkflowName: def.Name,
		Version: d.program.Version.Number, VersionHash: d.program.Version.Hash,
		ReferenceID: c.ReferenceID, Input: c.Input, RedirectURI: c.RedirectURI, Zone: c.Zone,
		RunTTLSeconds: def.RunTTLSeconds, AbandonTimeoutSeconds: def.AbandonTimeoutSeconds,
		ReviewDueMinutes: def.ReviewDueMinutes, FourEyes: def.FourEyes,
		ReviewDueSoon: slices.Contains(def.Notify, workflow.NoticeReviewDueSoon),
	})
	goesTo(d, def.Start)
	return nil
}

// ValidateReferenceID returns verification.ErrInvalid unless a reference_id has 1 to 255
// characters and no control characters.
func ValidateReferenceID(s string) error {
	message := ""
	switch n := utf8.RuneCountInString(s); {
	case n == 0:
		message = "is required"
	case n > maxReferenceID:
		message = texts.TooLong(maxReferenceID)
	case !utf8.ValidString(s) || strings.ContainsFunc(s, texts.IsControl):
		message = "must not contain control characters"
	default:
		return nil
	}
	return verification.InvalidField("run", "reference_id", message)
}

func joinPath(base, rest string) string {
	if rest == "" || strings.HasPrefix(rest, "[") {
		return base + rest
	}
	return base + "." + rest
}

// goTo moves the run to a node, and through branches, until it waits or ends.
func (d *decision) goTo(id verification.NodeID) {
	for range maxHops {
		n, ok := d.program.Node(id)
		if !ok {
			d.abort(id, "the workflow has no such node")
			return
		}
		if cause := d.run.tooLong(); cause != "" && n.Type != workflow.NodeEnd {
			d.abort(id, cause)
			return
		}
		d.outdated(id)
		if n.IsStep() {
			next, past, ok := d.leftOut(id, n)
			if !ok {
				return
			}
			if past {
				id = next
				continue
			}
		}
		switch n.Type {
		case workflow.NodeBranch:
			next, ok := d.branch(id, n)
			if !ok {
				return
			}
			id = next
			continue
		case workflow.NodeCheck, workflow.NodeChecks, workflow.NodeConsent, workflow.NodeCustomerInput:
			next, ok := d.begin(id, n)
			if !ok {
				return
			}
			id = next
			continue
		case workflow.NodeReview:
			d.add(ReviewAsked{Node: id, Label: n.Title(id), Reason: n.Reason, FourEyes: n.FourEyes})
		case workflow.NodeEnd:
			d.complete(id, n)
		default:
			d.abort(id, fmt.Sprintf("the node has the unknown type %q", n.Type))
		}
		return
	}
	d.abort(id, "the workflow does not reach a step")
}

// complete ends a run with the data that the end declares. What cannot be computed is left out: the run has its verdicts by then.
func (d *decision) complete(id verification.NodeID, n workflow.Node) {
	f := Completed{Node: id, Outcome: n.Outcome}
	if t := d.program.Template(id); t != nil {
		values, lacking, err := renderKnown(t, d.run.scope())
		if len(values) > 0 || err == nil {
			var invalid error
			if f.Data, invalid = verification.NewData(values); invalid != nil {
				f.Data, lacking, err = nil, []string{dataField}, invalid
			}
		}
		if len(f.Data) > workflow.MaxEndData {
			err = fmt.Errorf("it has %d bytes, and an end keeps at most %d", len(f.Data), workflow.MaxEndData)
			f.Data, lacking = nil, []string{dataField}
		}
		if err != nil {
			f.Lacking, f.Cause = lacking, cut(fmt.Sprintf("data: %v", err))
		}
	}
	d.add(f)
}

// dataField stands for all fields of the data of an end.
const dataField = "data"

// renderKnown renders what a template can compute. lacking has the fields that are left out, and err says why the first one is.
func renderKnown(t workflow.Template, s workflow.Scope) (values map[string]any, lacking []string, err error) {
	if partial, ok := t.(workflow.PartialTemplate); ok {
		return partial.RenderKnown(s)
	}
	if values, err = t.Render(s); err != nil {
		return nil, []string{dataField}, err
	}
	return values, nil, nil
}

// skip records that a step is not visited, and the values that say so; next is empty for a member of a group.
func (d *decision) skip(id, next verification.NodeID, seen map[string]any) {
	data, err := verification.NewData(seen)
	if err != nil {
		data = nil // the values nest too deep; that the step was left out is still recorded
	}
	d.add(Skipped{Node: id, Next: next, Values: data})
}

// branch returns the node that the first rule that holds leads to, or else Else.
func (d *decision) branch(id verification.NodeID, n workflow.Node) (next verification.NodeID, ok bool) {
	seen, scope := map[string]any{}, d.run.scope()
	take := func(when string, to verification.NodeID) (verification.NodeID, bool) {
		data, err := verification.NewData(seen)
		if err != nil {
			data = nil // the values nest too deep; the branch is still recorded
		}
		d.add(BranchTaken{Node: id, When: when, Next: to, Values: data})
		return to, true
	}
	conditions := d.program.Conditions(id)
	for i, rule := range n.Rules {
		if i >= len(conditions) || conditions[i] == nil {
			d.abort(id, "the condition was not compiled")
			return "", false
		}
		holds, read, err := conditions[i].Holds(scope)
		if err != nil {
			d.abort(id, fmt.Sprintf("rules[%d].when: %v", i, err))
			return "", false
		}
		maps.Copy(seen, read)
		switch {
		case !holds:
		case rule.AskAgain == nil:
			return take(rule.When, rule.Next)
		default:
			if asked, ok := d.branchAsks(id, *rule.AskAgain); ok {
				take(rule.When, asked.Node)
				d.again(asked)
				return "", false
			}
			if rule.WhenUsedUp != "" {
				return take(rule.When, rule.WhenUsedUp)
			}
		}
	}
	return take("", n.Else)
}

func (d *decision) openJourney(c OpenJourney) error {
	w := d.run.Wait()
	if w.Kind != WaitCustomer || (c.WaitNumber != 0 && c.WaitNumber != w.Number) {
		return notOpen("journey")
	}
	if d.now.Sub(w.Since) >= d.run.openInterval() && d.run.opened < maxAllOpenings {
		d.add(JourneyOpened{Node: w.Node})
	}
	return nil
}

// tenYears is longer than any run lives.
const tenYears = 10 * 366 * 24 * time.Hour

// openInterval returns the minimum time between two records of an opened journey. It
// bounds the history of a run whose page is reloaded all the time: one second,
// and less only where a second matters to the abandon timeout; after many records, a tenth of
// the abandon timeout.
func (r Run) openInterval() time.Duration {
	timeout := time.Duration(r.Started.AbandonTimeoutSeconds) * time.Second
	switch {
	case r.opened >= maxOpenings && timeout == 0: // it changes nothing
		return tenYears
	case r.opened >= maxOpenings:
		return timeout / 10
	case timeout == 0:
		return time.Second
	}
	return min(time.Second, timeout/10)
}

func (d *decision) submit(c Submit) error {
	if _, delivered := d.run.Receipt(c.Request); delivered {
		return nil
	}
	w := d.run.Wait()
	meant := c.Signal == w.Signal || c.Signal == "" && c.WaitNumber != 0
	if w.Kind != WaitCustomer || w.Away() || !meant || (c.WaitNumber != 0 && c.WaitNumber != w.Number) {
		return notOpen(c.Signal)
	}
	n, _ := d.program.Node(w.Node)
	data, to := verification.Data(nil), n.Next
	var problems []verification.FieldError
	if n.Type == workflow.NodeConsent {
		var declined bool
		data, declined, problems = acceptConsent(c.Payload)
		if declined && n.OnDeclined != "" && n.OnDeclined != workflow.TargetNext {
			to = n.OnDeclined
		}
	} else {
		upload := d.run.upload
		if !c.CheckDocuments {
			upload = nil
		}
		data, problems = acceptInput(n, d.program.Patterns(w.Node), c.Payload, d.today, upload)
		data, _ = d.compared(w.Node, StepPassed, data, to)
	}
	if len(problems) > 0 {
		return &verification.Error{Kind: verification.ErrInvalid, Subject: "signal", Fields: problems}
	}
	d.add(CustomerSubmitted{Node: w.Node, Data: data, Language: c.Language, Request: c.Request})
	if !alone(w.Node) {
		d.settled(w.Node)
		return nil
	}
	goesTo(d, to)
	return nil
}

func (d *decision) cancel() error {
	switch {
	case d.live():
		d.add(Cancelled{})
	case d.run.Ended != StatusCancelled:
		return verification.ConflictFor("run_over", "run", "the run is "+string(d.run.Ended)+" and can no longer be cancelled")
	}
	return nil
}

// abort fails a run whose workflow cannot continue.
func (d *decision) abort(id verification.NodeID, cause string) {
	failure := RunError{Code: CodeInternalError, Message: "The workflow could not go on at the node " + string(id) + "."}
	if n, ok := d.program.Node(id); ok && n.Type == workflow.NodeCheck {
		failure.Check = n.CheckKey(id.InDefinition())
	}
	d.add(Failed{Node: id, Error: failure, Cause: cut(cause)})
}

func notOpen(signal string) error {
	return &verification.Error{Kind: verification.ErrNotOpen, Subject: "signal", Message: signal}
}

// clean removes from a text what stores cannot keep.
func clean(s string) string { return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "") }

// cut bounds the length of a cause without splitting a character.
func cut(s string) string { return clean(s[:min(len(s), maxCause)]) }

// fieldsOf returns the fields of an *Error; none for nil.
func fieldsOf(err error) []verification.FieldError {
	var e *verification.Error
	if !errors.As(err, &e) {
		return nil
	}
	return e.Fields
}
