package verification_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/store"
)

const (
	tenantID   verification.TenantID   = "0191f3c0-0000-7000-8000-00000000000a"
	workflowID verification.WorkflowID = "0191f3c0-0000-7000-8000-000000000001"
	runID      verification.RunID      = "0191f3c0-0000-7000-8000-00000000000b"
)

// noon is when every run of these tests starts.
func noon() time.Time { return time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC) }

// language is an ExpressionCompiler whose texts are names of functions.
type language struct {
	conditions map[string]condition
	templates  map[string]template
	schemas    map[string]schema
}

type (
	condition func(verification.Scope) (bool, map[string]any, error)
	template  func(verification.Scope) (map[string]any, error)
	schema    func(verification.Data) []verification.FieldError
)

func (c condition) Holds(s verification.Scope) (bool, map[string]any, error) { return c(s) }
func (t template) Render(s verification.Scope) (map[string]any, error)       { return t(s) }
func (s schema) Check(d verification.Data) []verification.FieldError         { return s(d) }
func (l language) Pattern(text string) (verification.Pattern, error)         { return regexp.Compile(text) }

func (l language) Schema(text verification.Data) (verification.Schema, error) {
	return named(l.schemas, text.String())
}

func (l language) Condition(text string, d verification.Declarations) (verification.Condition, error) {
	if node, ok := strings.CutPrefix(text, "reads "); ok && !d.Steps[verification.NodeID(node)].MayPrecede {
		return nil, fmt.Errorf("the step %s cannot have run", node)
	}
	c, err := named(l.conditions, text)
	if node, ok := strings.CutPrefix(text, "reads "); ok && err == nil {
		return reading{c, "steps." + node + ".data.a"}, nil
	}
	return c, err
}

// reading is a condition that says what it reads.
type reading struct {
	condition
	path string
}

func (r reading) ReadPaths() []string { return []string{r.path} }

func (l language) Values(texts []string, d verification.Declarations) (verification.Values, []error) {
	v, problems := values{}, make([]error, len(texts))
	for i, text := range texts {
		step, field, _ := strings.Cut(strings.TrimPrefix(text, "steps."), ".data.")
		problem := error(nil)
		if _, ok := d.Steps[verification.NodeID(step)]; !ok && !strings.HasPrefix(text, "input.") {
			problem = fmt.Errorf("there is no step %s", step)
		}
		v, problems[i] = append(v, value{verification.NodeID(step), field, text}), problem
	}
	return v, problems
}

// values are paths such as steps.details.data.name or input.name.
type values []value

type value struct {
	step        verification.NodeID
	field, text string
}

func (v values) Evaluate(s verification.Scope) []any {
	all := make([]any, len(v))
	for i, p := range v {
		if name, ok := strings.CutPrefix(p.text, "input."); ok {
			all[i] = s.Input.Map()[name]
		}
		for _, step := range s.Steps {
			if step.Node == p.step {
				all[i] = step.Data.Map()[p.field]
			}
		}
	}
	return all
}

func (v values) Reads(i int) []string { return []string{v[i].text} }
func (v values) Agree(kind verification.FactKind, a, b any) bool {
	return facts.Agree(a, b) || kind == verification.FactPerson && fmt.Sprint(a)[0] == fmt.Sprint(b)[0] // initials
}
func (v values) Findings(i int) []verification.Finding { return nil }

func (v values) Types(i int) []string {
	if v[i].field == "place" || v[i].field == "photo" {
		return []string{"object"}
	}
	if v[i].field == "pan" {
		return []string{"string"}
	}
	return nil
}

func (l language) Template(object verification.Data, _ verification.Declarations) (verification.Template, error) {
	return named(l.templates, object.String())
}

// named returns a function, or an error if there is none.
func named[F any](functions map[string]F, text string) (F, error) {
	f, ok := functions[text]
	if !ok {
		return f, fmt.Errorf("there is no function %q", text)
	}
	return f, nil
}

// newLanguage has the conditions that the definitions of these tests use.
func newLanguage() language {
	asks := func(name string) condition {
		return func(s verification.Scope) (bool, map[string]any, error) {
			v := s.Input.Map()[name]
			return v == true, map[string]any{"input." + name: v}, nil
		}
	}
	passed := func(node verification.NodeID, want bool) condition {
		return func(s verification.Scope) (bool, map[string]any, error) {
			for _, step := range s.Steps {
				if step.Node == node {
					is := step.Passed
					return is == want, map[string]any{"steps." + string(node) + ".passed": is}, nil
				}
			}
			return false, nil, fmt.Errorf("the step %s has not run", node)
		}
	}
	more := func(node verification.NodeID) condition { // of its last visit
		return func(s verification.Scope) (bool, map[string]any, error) {
			i := slices.IndexFunc(s.Steps, func(step verification.StepValues) bool { return step.Node == node })
			is := s.Steps[i].Data.Map()["more"] == true
			return is, map[string]any{"more": is}, nil
		}
	}
	l := language{
		conditions: map[string]condition{
			"review wanted": asks("review"),
			"again wanted":  asks("again"),
			"pan failed":    passed("pan", false),
			"pan passed":    passed("pan", true),
			"reads pan":     passed("pan", true),
			"reads face":    passed("face", true),
			"breaks": func(verification.Scope) (bool, map[string]any, error) {
				return false, nil, errors.New("the value is not there")
			},
			"seen too deep": func(verification.Scope) (bool, map[string]any, error) {
				return true, map[string]any{"a": func() {}}, nil
			},
		},
		templates: map[string]template{
			`{"number":"${pan}"}`: func(s verification.Scope) (map[string]any, error) {
				return map[string]any{"number": "ABCDE1234F", "reference": s.ReferenceID, "run": string(s.RunID)}, nil
			},
			`{"number":"${breaks}"}`: func(verification.Scope) (map[string]any, error) {
				return nil, errors.New("the value is not there")
			},
		},
		schemas: map[string]schema{
			`{"properties":{"z":{"title":"Zed"},"a":{}}}`: func(verification.Data) []verification.FieldError { return nil },
			`{"required":["name"]}`: func(d verification.Data) []verification.FieldError {
				if _, ok := d.Map()["name"]; ok {
					return nil
				}
				return []verification.FieldError{{Name: "name", Message: "is required"}}
			},
			`{"type":"object"}`: func(d verification.Data) []verification.FieldError {
				if len(d.Map()) > 3 {
					return []verification.FieldError{{Message: "has too many fields"}}
				}
				return nil
			},
		},
	}
	for _, node := range []verification.NodeID{"owner", "n0", "n1", "n2", "n3"} {
		l.conditions["more at "+string(node)] = more(node)
	}
	return l
}

// tester is the part of testing.T that rapid.T has, too.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// compile returns the program of a valid definition.
func compile(t tester, d verification.Definition) verification.Program {
	t.Helper()
	v := verification.Version{Number: 3, Hash: d.VersionHash(), Definition: d}
	p, err := verification.Compile(context.Background(), workflowID, v, newLanguage(), nil, nil)
	if err != nil {
		t.Fatalf("Compile: %v", err)
	}
	return p
}

// journey is one run under a clock that the test advances.
type journey struct {
	t       tester
	program verification.Program
	run     verification.Run
	history []verification.Event
	now     time.Time
	// measured are the measures of all commits of the history.
	measured []store.Measure
}

// unstarted is a run without history.
func unstarted(t tester, d verification.Definition) *journey {
	t.Helper()
	return &journey{t: t, program: compile(t, d), run: verification.Run{ID: runID}, now: noon()}
}

// begin starts a run at noon.
func begin(t tester, d verification.Definition, input string) *journey {
	t.Helper()
	return unstarted(t, d).do(verification.Start{ReferenceID: "customer-1", Input: data(t, input)})
}

// try decides a command and changes nothing.
func (j *journey) try(c verification.Command) ([]verification.Event, error) {
	events, _, err := verification.Decide(j.program, j.run, c, j.now)
	return events, err
}

// do decides a command that must not be refused, and keeps the run after it.
func (j *journey) do(c verification.Command) *journey {
	j.t.Helper()
	events, err := j.try(c)
	if err != nil {
		j.t.Fatalf("%T = %v, want no error", c, err)
	}
	before := j.run
	for _, e := range events {
		j.run = j.run.Evolve(e)
	}
	commit := store.NewCommit(before, j.run, events, time.UTC)
	elsewhere := store.NewCommit(verification.Fold(j.run.ID, j.history), j.run, events, time.UTC)
	equal(j.t, "the measures of a host that has read the history", elsewhere.Measures, commit.Measures)
	j.measured = append(j.measured, commit.Measures...)
	j.history = append(j.history, events...)
	return j
}

// fork returns a copy of the journey so far.
func (j *journey) fork() *journey {
	other := *j
	other.history, other.measured = slices.Clone(j.history), slices.Clone(j.measured)
	return &other
}

// after advances the clock.
func (j *journey) after(d time.Duration) *journey {
	j.now = j.now.Add(d)
	return j
}

// result records a result of the outstanding check.
func (j *journey) result(o verification.CheckOutcome, object string) *journey {
	j.t.Helper()
	w := j.run.Wait
	return j.do(verification.RecordResult{Node: w.Node, Dispatch: w.Dispatch, Outcome: o, Data: data(j.t, object)})
}

// screened records that the outstanding check has screened somebody.
func (j *journey) screened(r verification.ScreeningResult) *journey {
	j.t.Helper()
	w := j.run.Wait
	return j.do(verification.RecordResult{Node: w.Node, Dispatch: w.Dispatch, Outcome: verification.OutcomePassed, Screening: &r})
}

func (j *journey) pass() *journey { j.t.Helper(); return j.result(verification.OutcomePassed, "") }
func (j *journey) fail() *journey { j.t.Helper(); return j.result(verification.OutcomeFailed, "") }

// pend records a pending result.
func (j *journey) pend(handle string) *journey {
	j.t.Helper()
	w := j.run.Wait
	return j.do(verification.RecordResult{
		Node: w.Node, Dispatch: w.Dispatch, Outcome: verification.OutcomePending, Handle: handle,
	})
}

// noResult records that the provider returned no result.
func (j *journey) noResult(permanent bool) *journey {
	j.t.Helper()
	w := j.run.Wait
	return j.do(verification.RecordFailure{Node: w.Node, Dispatch: w.Dispatch, Permanent: permanent, Cause: "timeout"})
}

// redispatch advances the clock to the retry and dispatches again.
func (j *journey) redispatch() *journey {
	j.t.Helper()
	j.now = j.run.Wait.At
	return j.do(verification.Redispatch{})
}

// submit delivers the customer's answer to the open signal.
func (j *journey) submit(payload string) *journey {
	j.t.Helper()
	return j.do(verification.Submit{Signal: j.run.Wait.Signal, Payload: data(j.t, payload)})
}

func (j *journey) approve(notes string) *journey {
	j.t.Helper()
	return j.do(verification.GiveVerdict{Decision: verification.DecisionApprove, Notes: notes, By: "asha"})
}

func (j *journey) reject(notes string) *journey {
	j.t.Helper()
	return j.do(verification.GiveVerdict{Decision: verification.DecisionReject, Notes: notes, By: "ravi"})
}

// verdictBy is a verdict of a person.
func verdictBy(who string, d verification.Decision) verification.GiveVerdict {
	return verification.GiveVerdict{Decision: d, By: who, Identity: who}
}

// atProvider is a verdict of a person at an identity provider.
func atProvider(subject string, d verification.Decision) verification.GiveVerdict {
	return verification.GiveVerdict{Decision: d, By: subject + "@id.example", Identity: verification.IssuedIdentity("https://id.example", subject)}
}

// found records a hit of a later version of a list for the PAN check.
func (j *journey) found(id string) *journey {
	j.t.Helper()
	return j.do(verification.RecordHits{
		Node: "pan", List: "sanctions", ListVersion: "v2", Hits: []verification.Hit{{ID: id, Name: "Ivan Testov", Score: 0.9}},
	})
}

// propose has Asha propose to approve.
func (j *journey) propose() *journey {
	j.t.Helper()
	return j.do(verification.GiveVerdict{Decision: verification.DecisionApprove, Notes: "seen", By: "asha", Identity: "asha"})
}

func (j *journey) cancel() *journey { j.t.Helper(); return j.do(verification.Cancel{}) }

func (j *journey) detail() verification.RunDetail { return j.run.Detail(j.now) }

func (j *journey) report() verification.Report {
	return verification.MakeReport(j.run.ID, j.history, j.now)
}

// status and decision are read the way a list reads them.
func (j *journey) status() verification.Status     { return j.run.Summary().StatusAt(j.now) }
func (j *journey) decision() verification.Decision { return j.run.Summary().DecisionAt(j.now) }

// card returns the card of a node.
func (j *journey) card(node verification.NodeID) verification.Card {
	j.t.Helper()
	for _, c := range j.report().Cards {
		if c.NodeID == node {
			return c
		}
	}
	j.t.Fatalf("the report has no card of %s", node)
	return verification.Card{}
}

// data parses a valid object; empty for none.
func data(t tester, object string) verification.Data {
	t.Helper()
	d, err := verification.ParseData([]byte(object))
	if err != nil {
		t.Fatalf("ParseData(%s): %v", object, err)
	}
	return d
}

// kinds names the types of events, in their order.
func kinds(events []verification.Event) string {
	names := make([]string, len(events))
	for i, e := range events {
		names[i] = e.Kind()
	}
	return strings.Join(names, ", ")
}

// outcome returns the result of a command as text.
func outcome(events []verification.Event, err error) string {
	for _, refusal := range []struct {
		kind error
		word string
	}{
		{verification.ErrNotFound, "not found"},
		{verification.ErrConflict, "conflict"},
		{verification.ErrInvalid, "invalid"},
		{verification.ErrNotOpen, "not open"},
	} {
		if errors.Is(err, refusal.kind) {
			return refusal.word
		}
	}
	switch {
	case err != nil:
		return "error: " + err.Error()
	case len(events) == 0:
		return "nothing"
	}
	return kinds(events)
}

// equal compares values with their unexported fields.
func equal(t tester, what string, got, want any) {
	t.Helper()
	all := cmp.Exporter(func(reflect.Type) bool { return true })
	if diff := cmp.Diff(want, got, all); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// fieldsOf returns the fields of an error.
func fieldsOf(t testing.TB, err error) []verification.FieldError {
	t.Helper()
	var e *verification.Error
	if !errors.As(err, &e) {
		t.Fatalf("error = %v, want a *verification.Error", err)
	}
	return e.Fields
}

// reasonsOnly compares flags and cards without their sentences, which properties compare
// with the reasons.
var reasonsOnly = cmp.Options{
	cmpopts.IgnoreFields(verification.Flag{}, "Sentences"), cmpopts.IgnoreFields(verification.Card{}, "Sentences"),
	cmpopts.IgnoreFields(verification.CardVisit{}, "Sentences"),
}

// sentencesSayTheReason: the sentences of flags, cards and visits are their reasons.
func sentencesSayTheReason(t tester, j *journey) {
	t.Helper()
	same := func(what, reason string, all []verification.Sentence) {
		texts := make([]string, len(all))
		for i, s := range all {
			if texts[i] = s.String(); texts[i] == "" || (s.Key == "") == (s.Text == "") || s.Key != "" && !slices.Contains(verification.SentenceKeys(), s.Key) {
				t.Errorf("%s has the sentence %+v, want a known key or a text", what, s)
			}
		}
		if said := strings.Join(texts, " "); said != reason {
			t.Errorf("%s says %q, and its sentences %q", what, reason, said)
		}
	}
	report := verification.MakeReport(j.run.ID, j.history, j.now)
	for _, f := range report.Flags {
		same("the flag of "+string(f.NodeID), f.Reason, f.Sentences)
	}
	for _, c := range report.Cards {
		same("the card of "+string(c.NodeID), c.Reason, c.Sentences)
		for _, v := range c.Visits {
			same("a visit of "+string(c.NodeID), v.Reason, v.Sentences)
		}
	}
}
