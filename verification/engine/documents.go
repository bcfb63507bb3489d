// Documents: the uploads of customers, and their removal.

package engine

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// removeTimeout bounds the removal of documents that a run no longer needs.
const removeTimeout = 10 * time.Second

// UploadDocument saves a file for one field of the wait with that number. An earlier
// file of the field is removed; the same content again returns the earlier document.
// An answer refers to it as {"document_id": Document.ID}. ErrNotOpen is returned
// when that wait is over, ErrInvalid with the field when the file is refused, and
// ErrUnavailable when the store is full.
func (e *Engine) UploadDocument(ctx context.Context, j Journey, wait int, field string, content io.Reader) (verification.Document, error) {
	return j.of(e).upload(ctx, wait, field, content)
}

// UploadForSignal saves a file for one field of the step that the run waits on, as
// UploadDocument does for a customer on a journey page. The payload of the step's signal
// refers to it as {"document_id": Document.ID}. ErrNotFound is returned for an unknown
// run, ErrConflict when the run does not wait for a file of that field, or no longer does
// when the file has arrived, ErrInvalid with the field when the file is refused, and
// ErrUnavailable when the store is full.
func (e *Engine) UploadForSignal(
	ctx context.Context, t verification.TenantID, id verification.RunID, field string, content io.Reader,
) (verification.Document, error) {
	s, err := e.open(ctx, verification.RunRef{Tenant: t, Run: id})
	if err == nil {
		err = s.loadProgram(ctx)
	}
	if err != nil {
		return verification.Document{}, err
	}
	n, _ := s.program.Node(s.run.Wait().Node)
	if f, ok := n.Fields.At(field); !ok || !f.Upload() || s.run.Wait().Kind != rules.WaitCustomer {
		return verification.Document{}, errNoFileAwaited
	}
	d, err := s.upload(ctx, s.run.Wait().Number, field, content)
	if errors.Is(err, verification.ErrNotOpen) {
		err = errNoFileAwaited
	}
	return d, err
}

// errNoFileAwaited is returned for an upload that no field of the open step takes.
var errNoFileAwaited error = verification.ConflictFor("no_file_awaited", "run", "the run does not wait for a file of this field")

// upload saves a file for a field of the wait with that number.
func (s *session) upload(ctx context.Context, wait int, field string, content io.Reader) (verification.Document, error) {
	if s.ports.Documents == nil {
		return verification.Document{}, verification.Unavailable("document", "uploads are not accepted here")
	}
	d := verification.Document{ID: s.ports.NewID(), Field: field, CreatedAt: s.now()}
	accept, err := s.accepts(ctx, rules.Upload{WaitNumber: wait, Document: d})
	if err != nil {
		return verification.Document{}, err
	}
	mediaType, clean, err := s.ports.Sanitize(ctx, s.uploads.Reader(ctx, string(s.ref.Tenant), content), accept)
	if err != nil {
		return verification.Document{}, refusedUpload(field, err)
	}
	defer func() { _ = clean.Close() }() // it was only read
	d.MediaType = mediaType
	saved, err := s.ports.Documents.SaveDocument(ctx, s.ref, d, clean)
	if err != nil {
		// An invalid file is not saved. After a conflict, the document with that ID is
		// another one.
		if !errors.Is(err, verification.ErrInvalid) && !errors.Is(err, verification.ErrConflict) {
			s.removeDocument(ctx, s.ref, d.ID)
		}
		return verification.Document{}, refusedUpload(field, err)
	}
	s.fresh = false // the content may have taken long to arrive
	return s.recordUpload(ctx, rules.Upload{WaitNumber: wait, Document: saved})
}

// OpenDocument returns a document that an accepted answer of the run names, and its
// content, which the caller closes. ErrNotFound is returned for any other, and for those of a restricted run.
func (e *Engine) OpenDocument(
	ctx context.Context, t verification.TenantID, id verification.RunID, document string,
) (verification.Document, io.ReadCloser, error) {
	ref := verification.RunRef{Tenant: t, Run: id}
	run, err := e.load(ctx, ref)
	if err != nil {
		return verification.Document{}, nil, err
	}
	return e.openDocument(ctx, ref, run, document)
}

// OpenDocumentInFull is OpenDocument, also for a restricted run.
func (e *Engine) OpenDocumentInFull(
	ctx context.Context, t verification.TenantID, id verification.RunID, document string,
) (verification.Document, io.ReadCloser, error) {
	ref := verification.RunRef{Tenant: t, Run: id}
	h, err := e.history(ctx, ref, true)
	if err != nil {
		return verification.Document{}, nil, err
	}
	return e.openDocument(ctx, ref, h.run, document)
}

func (e *Engine) openDocument(
	ctx context.Context, ref verification.RunRef, run rules.Run, document string,
) (verification.Document, io.ReadCloser, error) {
	i := slices.IndexFunc(run.Documents, func(d verification.Document) bool { return d.ID == strings.ToLower(document) })
	if i < 0 || e.ports.Documents == nil {
		return verification.Document{}, nil, verification.NotFound("document")
	}
	entry := store.AuditEntry{Tenant: ref.Tenant, Action: store.AuditDocumentRead, Run: ref.Run, Document: run.Documents[i].ID}
	if err := e.auditRead(ctx, entry, run.StartedAt); err != nil {
		return verification.Document{}, nil, err
	}
	content, err := e.ports.Documents.OpenDocument(ctx, ref, run.Documents[i].ID)
	return run.Documents[i], content, err
}

// accepts returns the media types that the field of an upload accepts, or the
// error that recording the upload would return now.
func (s *session) accepts(ctx context.Context, u rules.Upload) ([]string, error) {
	if err := s.expireIfOverdue(ctx); err != nil {
		return nil, err
	}
	if _, _, err := rules.Decide(s.program, s.run, u, s.at.In(s.location(s.run.Started.Zone))); err != nil {
		return nil, err
	}
	n, _ := s.program.Node(s.run.Wait().Node)
	f, _ := n.Fields.At(u.Document.Field)
	if len(f.Accept) == 0 && f.Type == workflow.FieldImage {
		return []string{"image/*"}, nil
	}
	return f.Accept, nil
}

// recordUpload adds a saved document to the history, and removes the document that
// it replaces. If the upload is refused, the saved document itself is removed.
func (s *session) recordUpload(ctx context.Context, u rules.Upload) (verification.Document, error) {
	before, err := s.command(context.WithoutCancel(ctx), u)
	switch {
	case err == nil:
	case refused(err):
		s.removeDocument(ctx, s.ref, u.Document.ID)
		return verification.Document{}, err
	default:
		return verification.Document{}, err // it may be in the history
	}
	s.removeDropped(ctx, before)
	for _, d := range s.run.Wait().Uploads {
		if d.Field == u.Document.Field && d.ID != u.Document.ID { // the field has the same content already
			s.removeDocument(ctx, s.ref, u.Document.ID)
			return d, nil
		}
	}
	return u.Document, nil
}

// removeDropped removes the documents that no answer can refer to after a change.
// Inside a transaction of the caller they stay, since it may be rolled back.
func (s *session) removeDropped(ctx context.Context, before rules.Run) {
	if s.ports.Documents == nil || s.external {
		return
	}
	for _, d := range before.Dropped(s.run) {
		s.removeDocument(ctx, s.ref, d.ID)
	}
}

// removeDocument removes a document, even if ctx has ended. A failure is logged, and
// the document stays.
func (e *Engine) removeDocument(ctx context.Context, ref verification.RunRef, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTimeout)
	defer cancel()
	if err := e.ports.Documents.RemoveDocument(ctx, ref, id); err != nil {
		e.log.WarnContext(ctx, "document not removed", "tenant", ref.Tenant, "run", ref.Run, "document", id, "error", err)
	}
}

// refusedUpload adds the name of the field to the error of an invalid file.
func refusedUpload(field string, err error) error {
	var refused *verification.Error
	if !errors.As(err, &refused) || !errors.Is(refused.Kind, verification.ErrInvalid) {
		return err
	}
	return verification.InvalidField("document", "payload."+field, refused.Message)
}
