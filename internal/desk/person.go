// A person's file: all that is kept about one person, as a ZIP.

package desk

import (
	"archive/zip"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// MaxPersonRuns is the maximum number of runs in a person's file.
const MaxPersonRuns = 1000

// PersonQuery says whose file is made, and what it has.
type PersonQuery struct {
	// Run selects one run. If it is empty, ReferenceID selects all runs with this reference id.
	Run         verification.RunID
	ReferenceID string
	// Element is the element of Run whom the file is about, such as owners[2]. It is empty for the person of the runs.
	Element verification.NodeID
	By      string // who makes the file, for its index
	// ScreeningReason is why the file has what may tip a person off: screening, and what
	// reviewers wrote. It is in the index. If it is empty, the file has nothing of that.
	ScreeningReason string
	// RestrictedReason is why the file has what is hidden of a restricted run. It is in the index. If it is
	// empty, the file has what rules.Shown returns.
	RestrictedReason string
	// ScreeningChecks are the keys of checks that screen, beside those whose provider says
	// so, such as checks of a vendor.
	ScreeningChecks []string
	// Documents has the uploads of the runs. It may be nil if WithoutDocuments is set.
	Documents        verification.DocumentStore
	WithoutDocuments bool
	// RunJSON and ReportJSON return what is written of a run and a report, as the API shows them.
	RunJSON    func(rules.RunDetail) any
	ReportJSON func(rules.Report) any
}

// PersonFile says what a person's file has.
type PersonFile struct {
	Runs, Documents int
	// Missing counts the documents that runs name and the document store does not have.
	Missing int
	// Differ says that the runs name different people: their names or birth dates do not agree.
	Differ bool
}

// WritePersonFile writes a ZIP with all that is kept about a person. It changes nothing but the audit trail, which
// has the export of each run before any is written. What it has
// written is of no use after an error.
//
// Errors: ErrNotFound if no run is selected; ErrInvalid for RedactedReference, which runs of several
// people have, for more than MaxPersonRuns runs, for a key that is of no check, and for an element that has no name; ErrUnavailable if
// q has no document store and a run has documents.
func (d *Desk) WritePersonFile(ctx context.Context, t verification.TenantID, q PersonQuery, to io.Writer) (PersonFile, error) {
	ids, err := d.personRuns(ctx, t, q)
	if err != nil {
		return PersonFile{}, err
	}
	tenant, err := store.Tables{RowStore: d.store}.Tenant(ctx, t)
	if err != nil && !errors.Is(err, verification.ErrNotFound) {
		return PersonFile{}, err
	}
	if err := d.auditExport(ctx, t, q, ids); err != nil {
		return PersonFile{}, err
	}
	w := personWriter{PersonQuery: q, zip: zip.NewWriter(to), at: d.time(), keys: map[string]bool{}}
	for _, id := range ids {
		history, err := d.store.Load(ctx, t, id, 0)
		if err != nil {
			return PersonFile{}, err
		}
		if q.RestrictedReason == "" {
			history = rules.Shown(history)
		}
		if len(ids) > 1 {
			if err := w.names(ctx, d.engine, t, id); err != nil {
				return PersonFile{}, err
			}
		}
		started := rules.Fold(id, history).Started
		version, err := d.store.Version(ctx, t, started.Workflow, started.VersionHash)
		if err != nil {
			return PersonFile{}, fmt.Errorf("read the workflow of run %s: %w", id, err)
		}
		r := newPersonRun(id, history, version.Definition, w.at, q)
		if q.Element != "" {
			if err := w.narrow(ctx, d.engine, t, &r); err != nil {
				return PersonFile{}, err
			}
		}
		if err := w.addRun(ctx, t, r); err != nil {
			return PersonFile{}, err
		}
	}
	for _, key := range q.ScreeningChecks {
		if !w.keys[key] {
			return PersonFile{}, verification.Invalid("check", fmt.Sprintf("no run of the person has a check with the key %q", key))
		}
	}
	if err := w.add("index.txt", []byte(w.index(verification.Tenant{ID: t, Name: tenant.Name}))); err != nil {
		return PersonFile{}, err
	}
	return w.PersonFile, w.zip.Close()
}

// auditExport adds the export of runs to the audit trail.
func (d *Desk) auditExport(ctx context.Context, t verification.TenantID, q PersonQuery, runs []verification.RunID) error {
	actor, known := verification.ActorOf(ctx)
	if !known {
		actor = verification.Actor{Kind: verification.ActorSystem, Name: q.By}
	}
	var with []string
	if q.ScreeningReason != "" {
		with = append(with, "with screening")
	}
	if q.RestrictedReason != "" {
		with = append(with, "with restricted data")
	}
	at := d.time().UTC().Truncate(time.Microsecond)
	entries := make([]store.AuditEntry, len(runs))
	for i, id := range runs {
		entries[i] = store.AuditEntry{
			Tenant: t, ID: store.AuditID(at, rand.Text()), At: at, Actor: actor, Action: store.AuditPersonExported, Run: id,
			Detail: strings.Join(with, ", "),
		}
	}
	if err := d.store.AppendAudit(ctx, entries); err != nil {
		return fmt.Errorf("add the export to the audit trail: %w", err)
	}
	return nil
}

// personRuns returns the runs of a person, oldest first.
func (d *Desk) personRuns(ctx context.Context, t verification.TenantID, q PersonQuery) ([]verification.RunID, error) {
	if q.Run != "" {
		return []verification.RunID{q.Run}, nil
	}
	if q.ReferenceID == rules.RedactedReference {
		return nil, verification.Invalid("reference", "redacted runs of several people have this reference id: select a run by its id")
	}
	var found []verification.RunID
	for total := 1; len(found) < total; {
		p, err := d.store.List(ctx, t, store.RunQuery{
			PageQuery: store.PageQuery{Limit: store.MaxLimit, Offset: len(found)}, ReferenceID: q.ReferenceID, Now: d.time(),
		})
		if total = p.Total; err != nil {
			return nil, err
		}
		if total > MaxPersonRuns {
			return nil, verification.Invalid("reference", fmt.Sprintf("%d runs have this reference id, and a file takes at most %d", total, MaxPersonRuns))
		}
		for _, s := range p.Data {
			if slices.Contains(found, s.ID) {
				return nil, verification.Conflict("reference", "a run was added while the runs were read; try again")
			}
			found = append(found, s.ID)
		}
		if len(p.Data) == 0 && len(found) < total {
			return nil, verification.Conflict("reference", "a run was redacted while the runs were read; try again")
		}
	}
	if len(found) == 0 {
		return nil, verification.NotFound("reference")
	}
	slices.Reverse(found)
	return found, nil
}

// personWriter writes the files of a ZIP.
type personWriter struct {
	PersonQuery
	PersonFile

	zip      *zip.Writer
	at       time.Time
	keys     map[string]bool // of all checks
	who      string          // the element whom the file is about; empty for none
	runs     []string        // what the index says of each run
	subjects []rules.Subject // whom each run is about
}

// names notes whom a run is about. The export of the run is in the audit trail, so that this read is not.
func (w *personWriter) names(ctx context.Context, e *engine.Engine, t verification.TenantID, id verification.RunID) error {
	h, err := e.History(verification.WithActor(ctx, verification.Actor{Kind: verification.ActorSystem}), t, id)
	if err != nil {
		return err
	}
	s := facts.SubjectOf(h.Program, h.Run)
	for _, other := range w.subjects {
		for _, pair := range [][2]string{{s.Name, other.Name}, {s.BirthDate, other.BirthDate}} {
			w.Differ = w.Differ || pair[0] != "" && pair[1] != "" && !facts.Agree(pair[0], pair[1])
		}
	}
	w.subjects = append(w.subjects, s)
	return nil
}

// narrow takes out of a run what is not about the element of the query.
func (w *personWriter) narrow(ctx context.Context, e *engine.Engine, t verification.TenantID, r *personRun) error {
	read := e.History
	if w.RestrictedReason != "" {
		read = e.HistoryInFull
	}
	h, err := read(verification.WithActor(ctx, verification.Actor{Kind: verification.ActorSystem}), t, r.run.ID)
	if err != nil {
		return err
	}
	p, err := elementOf(h, w.Element)
	if err != nil {
		return err
	}
	p.narrow(r)
	w.who = p.Title()
	return nil
}

// create begins a file of the ZIP.
func (w *personWriter) create(name string) (io.Writer, error) {
	return w.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: w.at})
}

func (w *personWriter) add(name string, content []byte) error {
	f, err := w.create(name)
	if err == nil {
		_, err = f.Write(content)
	}
	return err
}

func (w *personWriter) addJSON(name string, value any) error {
	f, err := w.create(name)
	if err != nil {
		return err
	}
	out := json.NewEncoder(f)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(value)
}

// addRun adds the folder of a run.
func (w *personWriter) addRun(ctx context.Context, t verification.TenantID, r personRun) error {
	folder, entries := string(r.run.ID)+"/", r.data()
	type file struct {
		name  string
		value any
	}
	files := []file{{"report.json", w.ReportJSON(r.report())}, {"data.json", entries}}
	if r.element == nil { // the run and its consents are those of another person
		files = append(slices.Insert(files, 0, file{"run.json", w.RunJSON(r.detail())}), file{"consents.json", r.consents()})
	}
	if r.all {
		files = append(files, file{"review.json", r.review()})
	}
	for _, f := range files {
		if err := w.addJSON(folder+f.name, f.value); err != nil {
			return err
		}
	}
	if at := r.run.RedactedAt; !at.IsZero() {
		text := "The personal data of this run was removed at " + at.Format(time.RFC3339) + ". What is left is here.\n"
		if err := w.add(folder+"redacted.txt", []byte(text)); err != nil {
			return err
		}
	}
	if restricted := w.restricted(r.run); restricted != "" {
		if err := w.add(folder+"restricted.txt", []byte(restricted+"\n")); err != nil {
			return err
		}
	}
	missing, err := w.addDocuments(ctx, folder+"documents/", verification.RunRef{Tenant: t, Run: r.run.ID}, r.documents)
	if err != nil {
		return err
	}
	w.Runs++
	for _, s := range r.run.Steps {
		w.keys[s.Key] = true
	}
	w.runs = append(w.runs, r.index(entries, missing, w.restricted(r.run)))
	return nil
}

// addDocuments adds the uploads of a run, and returns the names of those that are missing.
func (w *personWriter) addDocuments(
	ctx context.Context, folder string, ref verification.RunRef, documents []verification.Document,
) (missing []string, err error) {
	if w.WithoutDocuments {
		return nil, nil
	}
	for i, d := range documents {
		if w.PersonQuery.Documents == nil {
			return nil, verification.Unavailable("document", "the uploads of customers are not at hand")
		}
		content, err := w.PersonQuery.Documents.OpenDocument(ctx, ref, d.ID)
		if errors.Is(err, verification.ErrNotFound) {
			missing = append(missing, d.Field+" ("+d.ID+")")
			w.Missing++
			continue
		}
		if err != nil {
			return nil, err
		}
		f, err := w.create(folder + documentName(i, d))
		if err == nil {
			_, err = io.Copy(f, content)
		}
		if err = errors.Join(err, content.Close(), ctx.Err()); err != nil {
			return nil, fmt.Errorf("add document %s of run %s: %w", d.ID, ref.Run, err)
		}
		w.PersonFile.Documents++
	}
	return missing, nil
}

// documentName returns the name of the file of a document, such as 1-front.jpg.
func documentName(i int, d verification.Document) string {
	kind, _ := verification.FileTypeOf(d.MediaType)
	field := strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z') {
			return r
		}
		return '_'
	}, d.Field)
	return fmt.Sprintf("%d-%s%s", i+1, field, kind.Extension)
}
