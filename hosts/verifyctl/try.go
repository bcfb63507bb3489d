// The command that plays workflow files, and compares the runs with what is expected.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/adapters/provider/screening"
	"github.com/verifyd/verifyd/hosts/internal/bootstrap"
	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

type workflowTry struct {
	File    string   `arg:"" help:"Workflow file, in YAML or JSON."`
	Cases   string   `placeholder:"FILE" help:"File of cases, in YAML or JSON. Without it, a run without answers is played."`
	Case    []string `placeholder:"NAME" sep:"none" help:"Play only this case, and print it step by step; may be repeated."`
	NeedAll bool     `help:"A node or an edge that no case reaches is a problem."`
	hostsFlags
	jsonFlag
}

// tryJSON is the output of try --json.
type tryJSON struct {
	Cases     []triedJSON   `json:"cases"`
	Problems  []problemJSON `json:"problems"`  // of the files
	Unreached []edgeJSON    `json:"unreached"` // null if only some cases were played
}

type triedJSON struct {
	Case       string                `json:"case"`
	OK         bool                  `json:"ok"`
	Problems   []problemJSON         `json:"problems"`
	Status     rules.Status          `json:"status"`
	Outcome    string                `json:"outcome"`
	Data       verification.Data     `json:"data,omitzero"` // of the end
	Decision   string                `json:"decision"`
	Error      string                `json:"error"`
	Flags      []verification.NodeID `json:"flags"`
	Unscreened []verification.NodeID `json:"unscreened,omitempty"` // see rules.Unscreened
	WaitsFor   verification.NodeID   `json:"waits_for"`
	Path       []verification.NodeID `json:"path"`
	Events     []json.RawMessage     `json:"events"`
}

// edgeJSON is an edge, or a node without To and On.
type edgeJSON struct {
	Node verification.NodeID `json:"node"`
	On   string              `json:"on,omitempty"`
	To   verification.NodeID `json:"to,omitempty"`
}

func (e edgeJSON) String() string {
	if e.To == "" {
		return fmt.Sprintf("no case reaches %s", e.Node)
	}
	return fmt.Sprintf("no case goes from %s to %s (%s)", e.Node, e.To, e.On)
}

// Run plays the cases and prints those that fail, or the only run step by step.
func (w workflowTry) Run(ctx context.Context, s *session) error {
	switch {
	case w.Cases == "" && len(w.Case) > 0:
		return errors.New("--case: requires --cases")
	case w.NeedAll && (w.Cases == "" || len(w.Case) > 0):
		return errors.New("--need-all: requires --cases without --case")
	}
	known, err := w.hosts(ctx, s)
	if err != nil {
		return w.problems(s, err)
	}
	checked, err := compile(ctx, w.File, known)
	if err != nil {
		return w.problems(s, err)
	}
	def := checked.definition
	def.Publish, def.Retired, def.LifecycleWebhookURL = nil, false, ""
	for id, n := range def.Nodes {
		n.Rescreen = nil // no case screens a completed run again
		for i := range n.Members {
			n.Members[i].Rescreen = nil
		}
		def.Nodes[id] = n
	}
	file, err := w.read(def)
	if err != nil {
		return w.problems(s, err)
	}
	hosts, err := s.tryHosts(ctx, def, known)
	if err != nil {
		return err
	}
	var all []*played
	used, reached := map[string]bool{}, map[edgeJSON]bool{}
	for _, c := range file.List {
		if len(w.Case) > 0 && !slices.Contains(w.Case, c.Name) {
			continue
		}
		p, err := playCase(ctx, def, hosts, c, used)
		if err != nil {
			return fmt.Errorf("case %s: %w", c.Name, err)
		}
		if w.Cases != "" {
			p.compare(used)
		}
		p.reach(reached)
		all = append(all, p)
	}
	return w.print(s, file, all, used, unreached(def, reached))
}

// problems prints the problems of a file.
func (w workflowTry) problems(s *session, err error) error {
	if !w.JSON {
		return s.printProblems(err)
	}
	found, failed := problemsIn(err)
	if failed != nil {
		return failed
	}
	return errors.Join(s.json(tryJSON{Cases: []triedJSON{}, Problems: found}), errProblems)
}

// read returns the cases of the file; without a file, one without answers.
func (w workflowTry) read(def workflow.Definition) (definitions.Cases, error) {
	name, raw := w.Cases, []byte("cases: {try: {}}")
	if name != "" {
		var err error
		if raw, err = os.ReadFile(name); err != nil {
			return definitions.Cases{}, err
		}
	}
	file, err := definitions.ReadCases(name, raw, def)
	if err != nil {
		return file, err
	}
	for _, c := range w.Case {
		names := mapSlice(file.List, func(c definitions.Case) string { return c.Name })
		if !slices.Contains(names, c) {
			return file, fmt.Errorf("--case: %s has no case %q%s", name, c, workflow.DidYouMean(c, names))
		}
	}
	return file, nil
}

// print prints what became of the cases. It returns errProblems if something is wrong with one.
func (w workflowTry) print(s *session, file definitions.Cases, all []*played, used map[string]bool, unreached []edgeJSON) error {
	out := tryJSON{Cases: []triedJSON{}, Problems: []problemJSON{}}
	failed := 0
	for _, p := range all {
		problems := file.ExplainFields(p.problems)
		if len(p.problems) > 0 {
			failed++
		}
		out.Cases = append(out.Cases, p.json(problems))
		if !w.JSON {
			w.printCase(s, p, problems)
		}
	}
	whole := w.Cases != "" && len(w.Case) == 0
	if whole {
		out.Unreached = append([]edgeJSON{}, unreached...)
		var idle []verification.FieldError
		for _, name := range file.Defaults {
			if !usedBelow(used, name) {
				idle = append(idle, verification.FieldError{Name: name, Message: "no case used it"})
			}
		}
		out.Problems = append(out.Problems, problemsOf(file.ExplainFields(idle))...)
	}
	if w.JSON {
		if err := s.json(out); err != nil {
			return err
		}
	} else if whole {
		for _, e := range unreached {
			printWrapped(s.stdout, "", e.String())
		}
		for _, p := range out.Problems {
			fmt.Fprintln(s.stdout, definitions.Diagnostic{File: p.File, Line: p.Line, Column: p.Column, Path: p.Field, Message: p.Message})
		}
		fmt.Fprintf(s.stdout, "%s: %d ok, %d failed; nodes and edges not reached: %d\n", counted(len(all), "case"), len(all)-failed, failed, len(unreached))
	}
	if failed > 0 || len(out.Problems) > 0 || w.NeedAll && len(unreached) > 0 {
		return errProblems
	}
	return nil
}

// usedBelow reports whether a field of the defaults, or a part of it, was used.
func usedBelow(used map[string]bool, name string) bool {
	for field := range used {
		if rest, ok := strings.CutPrefix(field, name); ok && (rest == "" || rest[0] == '[') {
			return true
		}
	}
	return false
}

// json returns the case as JSON.
func (p *played) json(problems *definitions.Diagnostics) triedJSON {
	return triedJSON{
		Case: p.Name, OK: len(p.problems) == 0, Problems: append([]problemJSON{}, problemsOf(problems)...),
		Status: p.run.Status, Outcome: p.run.Outcome, Data: p.run.Data, Decision: string(p.run.Decision), Error: errorCode(p.run.Error),
		Flags: p.flags(), Unscreened: p.unscreened, WaitsFor: p.waitsFor, Path: p.path(), Events: mapSlice(p.history, eventOf),
	}
}

func (p *played) flags() []verification.NodeID {
	return mapSlice(p.run.Flags, func(f rules.Flag) verification.NodeID { return f.NodeID })
}

func errorCode(e *rules.RunError) string {
	if e == nil {
		return ""
	}
	return string(e.Code)
}

// tryHosts is what the hosts of a workflow have, as far as a case may use it: no check calls a
// network.
type tryHosts struct {
	described map[string]verification.ProviderDescription
	lists     *screening.Lists // those of the bootstrap file that are there; nil for none
	names     map[string]bool  // the providers of the workflow
}

// tryHosts returns what the workflow needs of its hosts. It loads lists only if a check searches them.
func (s *session) tryHosts(ctx context.Context, def workflow.Definition, known knownHosts) (tryHosts, error) {
	h := tryHosts{described: known.described, names: map[string]bool{}}
	def.EachCheck(func(_ verification.NodeID, n workflow.Node) {
		for _, name := range []string{n.Provider, n.Fallback} {
			if name != "" {
				h.names[name] = true
			}
		}
	})
	var sources []screening.Source
	for _, l := range known.file.Lists {
		if !h.names[screening.ProviderName] {
			break
		}
		if _, err := os.Stat(l.Path); err != nil {
			s.note(fmt.Sprintf("the list %s is not searched, a screening passes without hits: %v", l.Name, err))
			continue
		}
		sources = append(sources, bootstrap.ListSource(l))
	}
	if len(sources) == 0 {
		return h, nil
	}
	var err error
	h.lists, err = screening.Open(ctx, sources, screening.Options{Log: s.warnings(), Now: s.clock.Now})
	return h, err
}
