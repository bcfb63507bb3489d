// Printed reports: a run as a document on paper.

package rules

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/internal/jsontext"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Print is what a printed report shows. It depends on the history, on the version that the
// run executed, on the descriptions of providers, and on the tenant's letterhead.
type Print struct {
	// Report is of MakePrint or, for the file, of MakeReport. The fields of the data of its
	// cards are in the order of the form or of the description of the provider.
	Report
	// ForFile says that the report is for the file of the tenant: it has the decision.
	ForFile bool
	// AllowMissing prints a report for the file also if some of its text cannot be printed.
	AllowMissing bool
	// Letterhead is whose report it is.
	Letterhead Letterhead
	// Zone is the tenant's time zone when the run started; nil means UTC.
	Zone *time.Location
	// Subject is who was verified, as far as it is known: see facts.SubjectOf.
	Subject Subject
	// Input is the input of the start, described by InputSchema; nil for none.
	Input       verification.Data
	InputSchema workflow.DataSchema
	// Consents are the customer's answers to consents, oldest first.
	Consents []Consent
	// Sources say for each check which provider was asked, and what.
	Sources map[verification.NodeID]Source
	// Rounds are, for each step, the times at which its customer was asked again, oldest first.
	Rounds map[verification.NodeID][]PrintedRound
	// Documents are the uploads that accepted answers name, in order.
	Documents []PrintedDocument
	// Judgements are the verdicts and proposals, oldest first. Only a report for the file
	// has them.
	Judgements []Judgement
	// Remarks are the notes apart from verdicts, oldest first. Only a report for the file has
	// them.
	Remarks []Remark
}

// Subject is whom a run is about. A field that is not given is empty.
type Subject struct {
	Name, BirthDate, Number string
	Portrait                string // the id of a document of the run that is an image
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

// PrintedRound is a round with the labels of its reasons and fields. Only a report for the file says who asked.
type PrintedRound struct {
	Round
	ReasonLabels, FieldLabels []string
}

// PrintedDocument is an upload on a printed report.
type PrintedDocument struct {
	verification.Document
	Label string // of its field
	// Open returns the content, which the caller closes; nil if it is not at hand.
	Open func(ctx context.Context) (io.ReadCloser, error)
}

// Remark is a note of a reviewer.
type Remark struct {
	Notes, By   string
	At          time.Time
	EscalatedTo string // the team that was asked; empty for a note on its own
}

// Judgement is what a reviewer said about a run.
type Judgement struct {
	Kind JudgementKind
	Verdict
	// ReasonLabel is the label of the reject reason, or its code if the workflow has none of
	// that code; empty for no reason.
	ReasonLabel string
}

// JudgementKind says what a reviewer did.
type JudgementKind string

// The kinds of judgements.
const (
	JudgementVerdict  JudgementKind = "verdict"  // the verdict on the run
	JudgementProposal JudgementKind = "proposal" // a verdict that another reviewer must confirm
	JudgementReturn   JudgementKind = "return"   // a proposal was sent back; its Decision may be empty
)

// MakePrint returns the report of a history as it is printed: of a verdict it shows only
// that the run went on, and of corrections not who recorded them. Its cards are as on a run without a verdict, a card of a review
// has no completion time, and the fields that are never printed are zero.
func MakePrint(id verification.RunID, history []Event, now time.Time) Report {
	r := makeReport(id, history, now, func(Run) Decision { return DecisionNone })
	r.Flags, r.Unscreened, r.Concerns, r.Notes, r.ResolvedAt, r.Proposal, r.Run.Outcome, r.Run.Data = nil, nil, nil, "", time.Time{}, Verdict{}, "", nil
	nameless(r.InputCorrections)
	for i := range r.Cards {
		c := &r.Cards[i]
		nameless(c.Corrections)
		c.Rounds = slices.Clone(c.Rounds)
		for j := range c.Rounds {
			c.Rounds[j].By, c.Rounds[j].Identity = "", ""
		}
		for j := range c.Visits {
			c.Visits[j].Rescreened, c.Visits[j].HitDecisions = nil, nil
		}
		if c.Rescreened, c.HitDecisions, c.Cleared = nil, nil, nil; c.Type != workflow.NodeReview {
			continue
		}
		c.CompletedAt = time.Time{}
		for j := range c.Visits {
			c.Visits[j].CompletedAt = time.Time{}
		}
	}
	return r
}

// nameless removes who recorded the corrections.
func nameless(all []Correction) {
	for i := range all {
		all[i].By = ""
	}
}

// WithoutVerdicts returns the run without what reviewers said at its review steps and of its hits, so that
// no expression over it, and no group, shows what they decided.
func (r Run) WithoutVerdicts() Run {
	r.Steps = slices.Clone(r.Steps)
	for i := range r.Steps {
		r.Steps[i].Data, r.Steps[i].HitDecisions = r.Steps[i].shown(), nil
	}
	return r
}

// Print returns the printed report of the run, which is of the program: for the file of the tenant, or,
// of a run WithoutVerdicts, with nothing of a verdict. describe returns the description of a
// provider by its name. The caller adds Letterhead, Zone, Subject and the content of documents.
func (r Run) Print(
	p workflow.Program, history []Event, now time.Time, t verification.TenantID, describe func(name string) verification.ProviderDescription, forFile bool,
) Print {
	out := Print{
		ForFile: forFile, Report: MakePrint(r.ID, history, now), Input: r.Started.Input,
		Sources: map[verification.NodeID]Source{}, Rounds: map[verification.NodeID][]PrintedRound{},
	}
	if forFile {
		out.Report = MakeReport(r.ID, history, now)
		out.Judgements, out.Remarks = judgements(p, history), remarks(history)
	}
	def := p.Version.Definition
	out.Groups = r.ReportGroups(def)
	schema := def.InputSchema
	out.InputSchema = schema.Map()
	out.Input = ordered(out.Input, fieldNames(schema, "properties"))
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
			schemas, order = append(schemas, d.Map()), append(order, fieldNames(d, "properties")...)
		}
		c.DataSchema = workflow.MergeSchemas(schemas...)
		c.Data = ordered(c.Data, order)
		for j := range c.Visits {
			c.Visits[j].Data = ordered(c.Visits[j].Data, order)
		}
		for _, round := range c.Rounds {
			out.Rounds[c.NodeID] = append(out.Rounds[c.NodeID], printedRound(def, n, round))
		}
		if c.Type == workflow.NodeCheck {
			out.Sources[c.NodeID] = r.source(p, history, t, n, *c, describe)
		}
	}
	for _, d := range r.Documents {
		out.Documents = append(out.Documents, PrintedDocument{Document: d, Label: labels[d.Field]})
	}
	return out
}

func printedRound(d workflow.Definition, n workflow.Node, r Round) PrintedRound {
	p := PrintedRound{Round: r}
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
func Consents(d workflow.Definition, history []Event) (all []Consent) {
	for _, e := range history {
		f, ok := e.Fact.(CustomerSubmitted)
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

// source returns where a check got its result.
func (r Run) source(
	p workflow.Program, history []Event, t verification.TenantID, n workflow.Node, c Card, describe func(name string) verification.ProviderDescription,
) Source {
	var s Source
	for _, e := range history {
		if f, ok := e.Fact.(Dispatched); ok && f.Node == c.NodeID && !slices.Contains(s.Providers, f.Provider) {
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

// Asked returns what a check of a run was asked: its `with`, in the order of the definition,
// with the values of the run as they are now. It is nil if the check has none, or if it cannot
// be rendered.
func (r Run) Asked(p workflow.Program, t verification.TenantID, node verification.NodeID) verification.Data {
	request, err := r.RequestAgain(p, t, node)
	if err != nil {
		return nil // its values were of an earlier visit, or of a verdict
	}
	asked, err := verification.NewData(request.With)
	if err != nil {
		return nil
	}
	n, _ := p.Node(node)
	return ordered(asked, fieldNames(n.With))
}

// judgements returns what reviewers said, oldest first.
func judgements(p workflow.Program, history []Event) (all []Judgement) {
	for _, e := range history {
		j := Judgement{}
		switch f := e.Fact.(type) { //nolint:gochecksumtype // only these are judgements
		case VerdictRecorded:
			j.Kind, j.Verdict = JudgementVerdict, verdictOf(f, e.At)
		case VerdictProposed:
			j.Kind, j.Verdict = JudgementProposal, verdictOf(VerdictRecorded(f), e.At)
		case ProposalReturned:
			j.Kind, j.Verdict = JudgementReturn, Verdict{
				Node: f.Node, Decision: f.Decision, Reason: f.Reason, Notes: f.Notes, By: f.By, Identity: f.Identity, At: e.At,
			}
		default:
			continue
		}
		reason, _ := p.Version.Definition.RejectReason(j.Reason)
		j.ReasonLabel = cmp.Or(reason.Label, j.Reason)
		all = append(all, j)
	}
	return all
}

// remarks returns the notes apart from verdicts, oldest first.
func remarks(history []Event) (all []Remark) {
	for _, e := range history {
		switch f := e.Fact.(type) { //nolint:gochecksumtype // only these are remarks
		case NoteAdded:
			all = append(all, Remark{Notes: f.Notes, By: f.By, At: e.At})
		case Assigned:
			if f.Notes != "" {
				all = append(all, Remark{Notes: f.Notes, By: f.By, At: e.At, EscalatedTo: f.To.Team})
			}
		}
	}
	return all
}

// namesOf returns the names of the fields, in order.
func namesOf(fs workflow.InputFields) []string {
	names := make([]string, len(fs))
	for i, f := range fs {
		names[i] = f.Name
	}
	return names
}

// fieldNames returns the names of the fields of the object at a path, in their order.
func fieldNames(d verification.Data, path ...string) (names []string) {
	jsontext.Each(d, func(name, value []byte) {
		switch {
		case len(path) == 0:
			names = append(names, string(name))
		case string(name) == path[0] && strings.HasPrefix(string(value), "{"):
			names = fieldNames(verification.Data(value), path[1:]...)
		}
	})
	return names
}

// ordered returns the object with the fields of those names first, in their order.
func ordered(d verification.Data, names []string) verification.Data {
	if len(d) == 0 || len(names) == 0 || !json.Valid(d) || d[0] != '{' {
		return d
	}
	values, rest := map[string]string{}, []string(nil)
	jsontext.Each(d, func(name, value []byte) {
		if _, twice := values[string(name)]; !twice && !slices.Contains(names, string(name)) {
			rest = append(rest, string(name))
		}
		values[string(name)] = string(value)
	})
	var fields []string
	for _, name := range slices.Concat(names, rest) {
		value, ok := values[name]
		if !ok {
			continue
		}
		delete(values, name)
		key, err := jsontext.Encode(name)
		if err != nil {
			return d // texts always encode
		}
		fields = append(fields, string(key)+":"+value)
	}
	return verification.Data("{" + strings.Join(fields, ",") + "}")
}

// ReportPrinter renders a report as a document. The same print, with documents of the same
// content, always gives the same bytes. Flags, Decision, Notes, ResolvedAt, Proposal and the
// outcome are left out unless the print is for the file.
type ReportPrinter interface {
	// PrintReport prints a report of a tenant. One tenant must not delay another
	// by more than one report. It returns verification.ErrUnavailable if the report would take
	// too long.
	//
	// A print ForFile with text that the printer cannot print is an verification.ErrConflict whose subject is
	// the report, unless AllowMissing is set.
	PrintReport(ctx context.Context, t verification.TenantID, p Print) ([]byte, error)
}
