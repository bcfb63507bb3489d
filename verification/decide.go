// Commands become events: the state machine.

package verification

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// MaxReferenceID is the longest reference_id, in characters.
const MaxReferenceID = 255

// maxHops bounds the branches between two steps. Validated definitions have no
// loop of branches alone, so only damage gets there.
const maxHops = 10000

// maxCause is the longest cause that is kept for the operator, in bytes.
const maxCause = 500

// Decide answers what command c makes of run r under program p, as of now: the
// events to append, or an *Error when c cannot happen to r. No events and no
// error mean that c changes nothing. A deadline that has passed is written
// down first.
//
// Errors: ErrInvalid when c breaks a rule of its fields, ErrConflict when the
// run is in a state that forbids it, ErrNotOpen when no such signal is open,
// ErrNotFound when the run has no history and c does not start one. Moments
// are written down in UTC, to the microsecond.
// See docs/state-machine.md for the whole table.
func Decide(p Program, r Run, c Command, now time.Time) ([]Event, error) {
	events, _, err := DecideAndFold(p, r, c, now)
	return events, err
}

// DecideAndFold is Decide for those who want to know, too, what the run is
// after the events.
func DecideAndFold(p Program, r Run, c Command, now time.Time) ([]Event, Run, error) {
	d := &decision{program: p, run: r, now: now.UTC().Truncate(time.Microsecond)}
	if e, overdue := r.expiry(now); overdue {
		d.events, d.run = append(d.events, e), r.Evolve(e)
	}
	if err := d.decide(c); err != nil {
		return nil, r, err
	}
	return d.events, d.run, nil
}

// decision collects the events of one command.
type decision struct {
	program Program
	run     Run
	now     time.Time
	events  []Event
}

func (d *decision) decide(c Command) error {
	if _, begins := c.(Start); !begins && d.run.Seq == 0 {
		return &Error{Kind: ErrNotFound, Subject: "run", Message: "the run has not started"}
	}
	switch c := c.(type) {
	case Start:
		return d.start(c)
	case RecordResult:
		d.result(c)
	case RecordFailure:
		d.failure(c)
	case Redispatch:
		d.redispatch()
	case Abort:
		if d.live() && d.run.Wait.Node == c.Node {
			d.broken(c.Node, c.Cause)
		}
	case CustomerArrives:
		return d.arrive(c)
	case Submit:
		return d.submit(c)
	case Upload:
		return d.upload(c)
	case GiveVerdict:
		return d.verdict(c)
	case Cancel:
		return d.cancel()
	case Expire:
	}
	return nil
}

func (d *decision) live() bool { return d.run.Ended == "" }

// add appends a fact of this moment and folds it.
func (d *decision) add(f Fact) {
	e := Event{At: d.now, Fact: f}
	d.events = append(d.events, e)
	d.run = d.run.Evolve(e)
}

func (d *decision) start(c Start) error {
	if d.run.Seq > 0 {
		return &Error{Kind: ErrConflict, Subject: "run", Message: "the run has already started"}
	}
	var faults []FieldError
	if message := refuseReference(c.ReferenceID); message != "" {
		faults = append(faults, FieldError{Name: "reference_id", Message: message})
	}
	if d.program.input != nil {
		for _, f := range d.program.input.Check(c.Input) {
			f.Name = joinPath("input", f.Name)
			faults = append(faults, f)
		}
	}
	if len(faults) > 0 {
		return &Error{Kind: ErrInvalid, Subject: "run", Fields: faults}
	}
	def := d.program.Version.Definition
	d.add(Started{
		Workflow: d.program.Workflow, WorkflowName: def.Name,
		Version: d.program.Version.Number, VersionHash: d.program.Version.Hash,
		ReferenceID: c.ReferenceID, Input: c.Input, RedirectURI: c.RedirectURI,
		RunTTLSeconds: def.RunTTLSeconds, AbandonTimeoutSeconds: def.AbandonTimeoutSeconds,
	})
	d.goTo(def.Start)
	return nil
}

func refuseReference(s string) string {
	switch n := utf8.RuneCountInString(s); {
	case n == 0:
		return "is required"
	case n > MaxReferenceID:
		return fmt.Sprintf("must be at most %d characters", MaxReferenceID)
	case !utf8.ValidString(s) || strings.ContainsFunc(s, isControl):
		return "must not hold control characters"
	}
	return ""
}

// isControl tells whether r is a C0 or C1 control character, or delete.
func isControl(r rune) bool { return r < ' ' || r >= 0x7f && r <= 0x9f }

func joinPath(base, rest string) string {
	if rest == "" || strings.HasPrefix(rest, "[") {
		return base + rest
	}
	return base + "." + rest
}

// goTo leads the run to a node, and on through branches, until it waits or ends.
func (d *decision) goTo(id NodeID) {
	for range maxHops {
		n, ok := d.program.Node(id)
		if !ok {
			d.broken(id, "the workflow has no such node")
			return
		}
		switch n.Type {
		case NodeBranch:
			next, ok := d.branch(id, n)
			if !ok {
				return
			}
			id = next
			continue
		case NodeCheck:
			d.dispatch(id, n, n.Provider, true)
		case NodeConsent, NodeCustomerInput:
			d.add(CustomerAwaited{Node: id, Type: n.Type, Label: n.label(id), Signal: n.signal(id)})
		case NodeReview:
			d.add(ReviewAsked{Node: id, Label: n.label(id), Reason: n.Reason})
		case NodeEnd:
			d.add(Completed{Node: id})
		default:
			d.broken(id, fmt.Sprintf("the node has the unknown type %q", n.Type))
		}
		return
	}
	d.broken(id, "the workflow does not come to a step")
}

// branch takes the first rule that holds.
func (d *decision) branch(id NodeID, n Node) (next NodeID, ok bool) {
	seen, scope := map[string]any{}, d.run.scope()
	take := func(when string, to NodeID) (NodeID, bool) {
		data, err := NewData(seen)
		if err != nil {
			data = nil // values too deep to keep; the way taken still is
		}
		d.add(BranchTaken{Node: id, When: when, Next: to, Seen: data})
		return to, true
	}
	conditions := d.program.conditions[id]
	for i, rule := range n.Rules {
		if i >= len(conditions) || conditions[i] == nil {
			d.broken(id, "the condition was not compiled")
			return "", false
		}
		holds, read, err := conditions[i].Holds(scope)
		if err != nil {
			d.broken(id, fmt.Sprintf("rules[%d].when: %v", i, err))
			return "", false
		}
		for path, v := range read {
			seen[path] = v
		}
		if holds {
			return take(rule.When, rule.Next)
		}
	}
	return take("", n.Else)
}

func (d *decision) arrive(c CustomerArrives) error {
	w := d.run.Wait
	if w.Kind != WaitCustomer || (c.Wait != 0 && c.Wait != w.Number) {
		return notOpen("journey")
	}
	if d.now.Sub(w.Since) >= d.run.arrivalInterval() {
		d.add(CustomerCame{Node: w.Node})
	}
	return nil
}

// arrivalInterval is how long after the last arrival another one is recorded.
// It bounds the history of a run whose page is reloaded all the time: at most
// once a second, and more often only where a second would matter to the abandon
// timeout.
func (r Run) arrivalInterval() time.Duration {
	timeout := time.Duration(r.Started.AbandonTimeoutSeconds) * time.Second
	if timeout == 0 {
		return time.Second
	}
	return min(time.Second, timeout/10)
}

func (d *decision) submit(c Submit) error {
	if _, again := d.run.Receipt(c.Request); again {
		return nil
	}
	w := d.run.Wait
	meant := c.Signal == w.Signal || c.Signal == "" && c.Wait != 0
	if w.Kind != WaitCustomer || !meant || (c.Wait != 0 && c.Wait != w.Number) {
		return notOpen(c.Signal)
	}
	n, _ := d.program.Node(w.Node)
	data, to := Data(nil), n.Next
	var faults []FieldError
	if n.Type == NodeConsent {
		var declined bool
		data, declined, faults = acceptConsent(c.Payload)
		if declined && n.OnDeclined != "" && n.OnDeclined != RouteNext {
			to = n.OnDeclined
		}
	} else {
		upload := d.run.upload
		if !c.CheckDocuments {
			upload = nil
		}
		data, faults = acceptInput(n, d.program.patterns[w.Node], c.Payload, upload)
	}
	if len(faults) > 0 {
		return &Error{Kind: ErrInvalid, Subject: "signal", Fields: faults}
	}
	d.add(CustomerSubmitted{Node: w.Node, Data: data, Request: c.Request})
	d.goTo(to)
	return nil
}

func (d *decision) verdict(c GiveVerdict) error {
	if _, again := d.run.Receipt(c.Request); again {
		return nil
	}
	if !c.Decision.Verdict() {
		return invalid("signal", "payload.decision", `must be "approve" or "reject"`)
	}
	if utf8.RuneCountInString(c.Notes) > MaxNotes {
		return invalid("signal", "payload.notes", fmt.Sprintf("must be at most %d characters", MaxNotes))
	}
	if !keepable(c.Notes) {
		return invalid("signal", "payload.notes", "must be valid UTF-8 without a NUL character")
	}
	w := d.run.Wait
	recorded := VerdictRecorded{Decision: c.Decision, Notes: c.Notes, By: clean(c.By), Request: c.Request}
	switch {
	case !d.live():
		d.add(recorded)
	case w.Kind == WaitReview:
		n, _ := d.program.Node(w.Node)
		to := n.Next
		if c.Decision == DecisionReject && n.OnReject != "" {
			to = n.OnReject
		}
		recorded.Node = w.Node
		d.add(recorded)
		d.goTo(to)
	default:
		return notOpen(ReviewSignal)
	}
	return nil
}

func (d *decision) cancel() error {
	switch {
	case d.live():
		d.add(Cancelled{})
	case d.run.Ended != StatusCancelled:
		return &Error{
			Kind: ErrConflict, Subject: "run",
			Message: "the run is " + string(d.run.Ended) + " and can no longer be cancelled",
		}
	}
	return nil
}

// broken ends the run on a fault of its workflow.
func (d *decision) broken(id NodeID, cause string) {
	failure := RunError{Code: CodeInternalError, Message: "The workflow could not go on at the node " + string(id) + "."}
	if n, ok := d.program.Node(id); ok && n.Type == NodeCheck {
		failure.Check = n.checkKey(id)
	}
	d.add(Failed{Node: id, Error: failure, Cause: cut(cause)})
}

func notOpen(signal string) error {
	return &Error{Kind: ErrNotOpen, Subject: "signal", Message: signal}
}

// keepable tells whether a text comes back from every store as it went in.
func keepable(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

// clean drops from a text what no store keeps.
func clean(s string) string { return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "") }

// cut bounds a cause without cutting a character.
func cut(s string) string { return clean(s[:min(len(s), maxCause)]) }
