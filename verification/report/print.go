// Prints: what a printed report shows, and who renders it.

package report

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/internal/jsontext"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Print is what a printed report shows. It depends on the history, on the version that the
// run executed, on the descriptions of providers, and on the tenant's letterhead.
type Print struct {
	// Report is of rules.MakePrint or, for the file, of rules.MakeReport. The fields of the data of its
	// cards are in the order of the form or of the description of the provider.
	rules.Report
	// ForFile says that the report is for the file of the tenant: it has the decision.
	ForFile bool
	// AllowMissing prints a report for the file also if some of its text cannot be printed.
	AllowMissing bool
	// Letterhead is whose report it is.
	Letterhead Letterhead
	// Zone is the tenant's time zone when the run started; nil means UTC.
	Zone *time.Location
	// Subject is who was verified, as far as it is known: see facts.SubjectOf.
	Subject rules.Subject
	// Input is the input of the start, described by InputSchema; nil for none.
	Input       verification.Data
	InputSchema workflow.DataSchema
	// Consents are the customer's answers to consents, oldest first.
	Consents []Consent
	// Sources say for each check which provider was asked, and what.
	Sources map[verification.NodeID]Source
	// Rounds are, for each step, the times at which its customer was asked again, oldest first.
	Rounds map[verification.NodeID][]Round
	// Elements are who the elements of lists are, by check. Only a report for the file has them.
	Elements []*ElementTable
	// Documents are the uploads that accepted answers name, in order.
	Documents []Document
	// Judgements are the verdicts and proposals, oldest first. Only a report for the file
	// has them.
	Judgements []Judgement
	// Remarks are the notes apart from verdicts, oldest first. Only a report for the file has
	// them.
	Remarks []Remark
}

// Letterhead is what a tenant's documents begin with.
type Letterhead struct {
	Name string            // of the tenant
	Logo verification.Logo // its Name is empty for none
}

// Consent is a customer's answer to a consent, and the text that it answers.
type Consent struct {
	Node  verification.NodeID
	Label string
	// Text is the text in Language or, if Language is empty, in the default language of the
	// workflow.
	Text     string
	Language string
	Agreed   bool
	At       time.Time
	SHA256   string // of Text, in hexadecimal
}

// Source says where a check got its result.
type Source struct {
	Providers []string // those that were called, in the order of their first call
	// List and ListVersion are of the last screening; empty for none.
	List, ListVersion string
	// Asked is the request of the last dispatch, described by AskedSchema: nil if the check
	// sends nothing. It is computed again from the steps of the run.
	Asked       verification.Data
	AskedSchema workflow.DataSchema
}

// Round is a round with the labels of its reasons and fields. Only a report for the file says who asked.
type Round struct {
	rules.Round
	ReasonLabels, FieldLabels []string
}

// Document is an upload on a printed report.
type Document struct {
	verification.Document
	Label string // of its field
	// Open returns the content, which the caller closes; nil if it is not at hand.
	Open func(ctx context.Context) (io.ReadCloser, error)
}

// WithoutVerdicts returns the run without what reviewers said at its review steps and of its hits, so that
// no expression over it, and no group, shows what they decided.
func WithoutVerdicts(r rules.Run) rules.Run {
	r.Steps = slices.Clone(r.Steps)
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.HitDecisions = nil; s.Type == workflow.NodeReview {
			s.Data = nil
		}
	}
	return r
}

// Of returns the printed report of a run, which is of the program: for the file of the tenant, or,
// of a run WithoutVerdicts, with nothing of a verdict. describe returns the description of a
// provider by its name. The caller adds Letterhead, Zone, Subject and the content of documents.
func Of(
	r rules.Run, p workflow.Program, history []rules.Event, now time.Time, t verification.TenantID,
	describe func(name string) verification.ProviderDescription, forFile bool,
) Print {
	out := Print{
		ForFile: forFile, Report: rules.MakePrint(r.ID, history, now), Input: r.Started.Input,
		Sources: map[verification.NodeID]Source{}, Rounds: map[verification.NodeID][]Round{},
	}
	if forFile {
		out.Report = rules.MakeReport(r.ID, history, now)
		out.Judgements, out.Remarks = judgements(p, history), remarks(history)
	}
	def := p.Version.Definition
	out.Groups = r.ReportGroups(def)
	schema := def.InputSchema
	out.InputSchema = schema.Map()
	out.Input = jsontext.Ordered(out.Input, jsontext.Names(schema, "properties"))
	out.Consents = Consents(def, history)
	labels := map[string]string{}
	for i := range out.Cards {
		c := &out.Cards[i]
		n, _ := p.Node(c.NodeID)
		for _, d := range r.Documents {
			if label := n.Fields.LabelAt(d.Field, ""); label != "" {
				labels[d.Field] = label
			}
		}
		schemas, order := []workflow.DataSchema{n.Fields.DataSchema("")}, namesOf(n.Fields)
		for _, name := range []string{n.Provider, n.Fallback} {
			d := describe(name).Data
			schemas, order = append(schemas, d.Map()), append(order, jsontext.Names(d, "properties")...)
		}
		c.DataSchema = workflow.MergeSchemas(schemas...)
		if forFile {
			c.Reason = words(c.Sentences, describe)
			for j := range c.Visits {
				c.Visits[j].Reason = words(c.Visits[j].Sentences, describe)
			}
		}
		c.Data = jsontext.Ordered(c.Data, order)
		for j := range c.Visits {
			c.Visits[j].Data = jsontext.Ordered(c.Visits[j].Data, order)
		}
		for _, round := range c.Rounds {
			out.Rounds[c.NodeID] = append(out.Rounds[c.NodeID], printedRound(def, n, round))
		}
		if c.Type == workflow.NodeCheck {
			out.Sources[c.NodeID] = sourceOf(r, p, history, t, n, *c, describe)
		}
	}
	for _, d := range r.Documents {
		out.Documents = append(out.Documents, Document{Document: d, Label: labels[d.Field]})
	}
	return out
}

// words returns sentences in English as people read them, in the words of the providers.
func words(all []rules.Sentence, describe func(name string) verification.ProviderDescription) string {
	texts := make([]string, len(all))
	for i, s := range all {
		texts[i] = s.Worded(describe).Words()
	}
	return strings.Join(texts, " ")
}

func printedRound(d workflow.Definition, n workflow.Node, r rules.Round) Round {
	p := Round{Round: r}
	for _, code := range r.Reasons {
		reason, _ := d.ResubmitReason(code)
		p.ReasonLabels = append(p.ReasonLabels, cmp.Or(reason.Label, code))
	}
	for _, field := range r.Fields {
		p.FieldLabels = append(p.FieldLabels, cmp.Or(n.Fields.LabelAt(field, ""), field))
	}
	return p
}

// Consents returns the customer's answers to consents, oldest first, with the texts of the
// definition, which is of the version that the run executed.
func Consents(d workflow.Definition, history []rules.Event) (all []Consent) {
	for _, e := range history {
		f, ok := e.Fact.(rules.CustomerSubmitted)
		n := d.Nodes[f.Node]
		if !ok || n.Type != workflow.NodeConsent {
			continue
		}
		c := Consent{
			Node: f.Node, Label: n.LabelIn.In(f.Language, n.Label), Text: n.TextIn.In(f.Language, n.Text),
			Agreed: f.Data.Map()["consent_status"] == "success", At: e.At,
		}
		if _, translated := n.TextIn[f.Language]; translated {
			c.Language = f.Language
		}
		c.SHA256 = fmt.Sprintf("%x", sha256.Sum256([]byte(c.Text)))
		all = append(all, c)
	}
	return all
}

// sourceOf returns where a check got its result.
func sourceOf(
	r rules.Run, p workflow.Program, history []rules.Event, t verification.TenantID, n workflow.Node, c rules.Card,
	describe func(name string) verification.ProviderDescription,
) Source {
	var s Source
	for _, e := range history {
		if f, ok := e.Fact.(rules.Dispatched); ok && f.Node == c.NodeID && !slices.Contains(s.Providers, f.Provider) {
			s.Providers = append(s.Providers, f.Provider)
		}
	}
	if c.Screening != nil {
		s.List, s.ListVersion = c.Screening.List, c.Screening.ListVersion
	}
	s.Asked = r.Asked(p, t, c.NodeID)
	s.AskedSchema = describe(n.Provider).With.Map()
	return s
}

// namesOf returns the names of the fields, in order.
func namesOf(fs workflow.InputFields) []string {
	names := make([]string, len(fs))
	for i, f := range fs {
		names[i] = f.Name
	}
	return names
}

// Printer renders a report as a document. The same print, with documents of the same
// content, always gives the same bytes. Flags, Decision, Notes, ResolvedAt, Proposal and the
// outcome are left out unless the print is for the file.
type Printer interface {
	// PrintReport prints a report of a tenant. One tenant must not delay another
	// by more than one report. It returns verification.ErrUnavailable if the report would take
	// too long.
	//
	// A print ForFile with text that the printer cannot print is an verification.ErrConflict whose subject is
	// the report, unless AllowMissing is set.
	PrintReport(ctx context.Context, t verification.TenantID, p Print) ([]byte, error)
}
