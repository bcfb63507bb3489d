// Cases of a workflow: what customers, sources and reviewers say, and how runs must end.

package definitions

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// maxCases is the maximum number of cases in a file, and of items in one list of a case.
const maxCases = 1000

// Cases are the cases of a file in its order, for one workflow.
type Cases struct {
	List []Case
	// Defaults are the names of the values in defaults, such as defaults.results.pan.
	Defaults []string

	location
}

// Case is one run to play. What a case leaves out comes from the defaults of the file.
type Case struct {
	Name        string
	Start       time.Time
	Zone        string // empty for UTC
	ReferenceID string
	Input       verification.Data
	Answers     map[verification.NodeID][]Line[verification.Data]
	// Results are by the name of a check or by its key. The last one stays.
	Results map[string][]Line[Result]
	// Verdicts are what reviewers do: rules.GiveVerdict and rules.AskAgain.
	Verdicts []Line[rules.Command]
	After    map[verification.NodeID][]Line[time.Duration]
	Cancel   verification.NodeID // empty for no cancellation
	Expect   Expect
}

// Line is a value of a case, and the name of its field, such as cases.late.answers.details.
type Line[T any] struct {
	Field string
	Value T
}

// Result is what a source answers to one call.
type Result struct {
	// Outcome is passed, failed, no_coverage, inconclusive, redirect, pending, unavailable or error.
	Outcome string
	URL     string // where a redirect leads; empty for the first of the redirect_hosts
	Data    verification.Data
	After   time.Duration // until then the result is pending
}

// Expect is how a run must end. Zero values are not compared; Outcome, Decision and Error are
// none for an empty one.
type Expect struct {
	Status   rules.Status          `json:"status"`
	Outcome  string                `json:"outcome"`
	Data     verification.Data     `json:"data"` // of the end; its fields are compared, and others may follow
	Decision string                `json:"decision"`
	Path     []verification.NodeID `json:"path"`
	Flags    []verification.NodeID `json:"flags"` // nil is not compared, and empty is no flag
	// Unscreened are the checks that screen and that the run must not have called; nil is not compared, and empty is none.
	Unscreened []verification.NodeID `json:"unscreened"`
	Error      string                `json:"error"`
	WaitsFor   verification.NodeID   `json:"waits_for"`
}

// ReadCases reads a file of cases for a workflow that is valid. The error is a *Diagnostics that
// unwraps to an ErrInvalid: it has every name that the workflow does not have, too.
func ReadCases(file string, raw []byte, def workflow.Definition) (Cases, error) {
	d := &diagnostics{}
	r := caseReader{diagnostics: d, file: file, def: def}
	root := parse(file, raw, d)
	if root != nil {
		if casesForm().check(file, root, d); len(d.list) == 0 {
			r.read(root)
		}
	}
	if err := d.err("cases", file); err != nil {
		return Cases{}, err
	}
	r.found.location = location{file: file, root: root}
	return r.found, nil
}

type caseReader struct {
	*diagnostics
	file  string
	def   workflow.Definition
	found Cases
}

func (r *caseReader) problem(at position, p path, format string, args ...any) {
	r.add(r.file, at, p, fmt.Sprintf(format, args...))
}

func (r *caseReader) read(root *tree) {
	defaults := Case{
		Start: time.Date(2026, time.January, 5, 9, 0, 0, 0, time.UTC), ReferenceID: "case",
		Answers: map[verification.NodeID][]Line[verification.Data]{}, Results: map[string][]Line[Result]{}, After: map[verification.NodeID][]Line[time.Duration]{},
	}
	if e, ok := root.entry("defaults"); ok {
		defaults = r.fill(defaults, e.value, path{"defaults"})
	}
	cases, _ := root.entry("cases")
	if n := len(cases.value.entries); n < 1 || n > maxCases {
		r.problem(cases.value.at, path{"cases"}, "must have 1 to %d cases", maxCases)
		return
	}
	for _, e := range cases.value.entries {
		if e.name == "" || len(e.name) > 100 || strings.ContainsAny(e.name, ".[]\r\n") {
			r.add(r.file, e.at, path{"cases", e.name}, "the name of a case has 1 to 100 characters, without dots and brackets")
		}
		c := r.fill(defaults, e.value, path{"cases", e.name})
		c.Name = e.name
		r.found.List = append(r.found.List, c)
	}
}

// fill returns a case with the values of an object in place of those of c.
func (r *caseReader) fill(c Case, t *tree, p path) Case {
	c.Answers, c.Results, c.After = maps.Clone(c.Answers), maps.Clone(c.Results), maps.Clone(c.After)
	for _, e := range t.entries {
		at := append(slices.Clip(p), e.name)
		text, _ := e.value.scalar.(string)
		switch e.name {
		case "start":
			var err error
			if c.Start, err = time.Parse(time.RFC3339, text); err != nil {
				r.problem(e.value.at, at, "must be a time such as 2026-01-05T09:00:00Z")
			}
		case "zone":
			if _, err := time.LoadLocation(text); err != nil || text == "Local" {
				r.problem(e.value.at, at, "must be a time zone such as Asia/Kolkata")
			}
			c.Zone = text
		case "reference_id":
			c.ReferenceID = text
			if rules.ValidateReferenceID(text) != nil {
				r.problem(e.value.at, at, "must have 1 to 255 characters and no control characters")
			}
		case "input":
			all := c.Input.Map()
			if all == nil {
				all = map[string]any{}
			}
			maps.Copy(all, r.data(e.value, at).Map())
			c.Input, _ = verification.NewData(all)
		case "answers":
			r.each(e.value, at, func(e entry, at path) { r.answers(&c, e, at) })
		case "results":
			r.each(e.value, at, func(e entry, at path) { r.results(&c, e, at) })
		case "after":
			r.each(e.value, at, func(e entry, at path) { r.after(&c, e, at) })
		case "verdicts":
			c.Verdicts = lines(r, e.value, at, r.verdict)
			r.note(at)
		case "cancel":
			c.Cancel, _ = r.step(e.value.at, at, text, isStep)
		case "expect":
			c.Expect = r.expect(e.value, at)
		}
	}
	return c
}

// note keeps the name of a value in defaults.
func (r *caseReader) note(p path) {
	if p[0] == "defaults" {
		r.found.Defaults = append(r.found.Defaults, fieldOf(p))
	}
}

// each calls f with the fields of an object.
func (r *caseReader) each(t *tree, p path, f func(entry, path)) {
	for _, e := range t.entries {
		at := append(slices.Clip(p), e.name)
		r.note(at)
		f(e, at)
	}
}

// lines reads one value, or each value of a list.
func lines[T any](r *caseReader, t *tree, p path, read func(*tree, path) T) []Line[T] {
	if t.kind != yaml.SequenceNode {
		return []Line[T]{{fieldOf(p), read(t, p)}}
	}
	if len(t.items) > maxCases {
		r.problem(t.at, p, "must have at most %d items", maxCases)
		return nil
	}
	all := []Line[T]{}
	for i, item := range t.items {
		at := append(slices.Clip(p), i)
		if item.kind == yaml.SequenceNode {
			r.problem(item.at, at, "must not be a list inside a list")
			continue
		}
		all = append(all, Line[T]{fieldOf(at), read(item, at)})
	}
	return all
}

// fieldOf returns a path as names of fields have it, which location.ExplainFields finds.
func fieldOf(p path) string {
	var b strings.Builder
	for i, step := range p {
		switch step := step.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", step)
		case string:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(step)
		}
	}
	return b.String()
}
