// Documents: what a customer uploads, and when it is removed again.

package engine

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// removeTimeout bounds the removal of documents that a run no longer needs.
const removeTimeout = 10 * time.Second

// UploadDocument keeps a file for one field of the wait of that number. It
// replaces the file that was sent for the field before, which is removed; the
// same content again is the document that is there already. An answer names it
// as {"document_id": Document.ID}. UploadDocument returns ErrNotOpen when that
// wait is over, ErrInvalid naming the field when the file is refused, and
// ErrUnavailable when there is no room for it.
func (e *Engine) UploadDocument(ctx context.Context, token string, wait int, field string, content io.Reader) (verification.Document, error) {
	link, err := e.openLink(token)
	if err != nil {
		return verification.Document{}, err
	}
	if e.ports.Documents == nil {
		return verification.Document{}, &verification.Error{
			Kind: verification.ErrUnavailable, Subject: "document", Message: "files are not taken here",
		}
	}
	d := verification.Document{ID: e.ports.NewID(), Field: field, CreatedAt: e.now()}
	accept, err := e.accepts(ctx, link.RunRef, verification.Upload{Wait: wait, Document: d})
	if err != nil {
		return verification.Document{}, err
	}
	mediaType, kept, err := e.ports.Sanitize(ctx, content, accept)
	if err != nil {
		return verification.Document{}, refusedUpload(field, err)
	}
	defer func() { _ = kept.Close() }() // it was only read
	d.MediaType = mediaType
	saved, err := e.ports.Documents.SaveDocument(ctx, link.RunRef, d, kept)
	if err != nil {
		// An invalid file is not stored. After a conflict, the document of that
		// id is another one.
		if !errors.Is(err, verification.ErrInvalid) && !errors.Is(err, verification.ErrConflict) {
			e.removeDocument(ctx, link.RunRef, d.ID)
		}
		return verification.Document{}, refusedUpload(field, err)
	}
	return e.recordUpload(ctx, link.RunRef, verification.Upload{Wait: wait, Document: saved})
}

// accepts returns the media types that the field of an upload accepts, or the
// error that recording the upload would return now.
func (e *Engine) accepts(ctx context.Context, ref verification.RunRef, u verification.Upload) ([]string, error) {
	run, now, err := e.seen(ctx, ref)
	if err != nil {
		return nil, err
	}
	program, err := e.programOf(ctx, ref.Tenant, run)
	if err != nil {
		return nil, err
	}
	if _, _, err := verification.Decide(program, run, u, now); err != nil {
		return nil, err
	}
	n, _ := program.Node(run.Wait.Node)
	f, _ := n.Fields.ByName(u.Document.Field)
	if len(f.Accept) == 0 && f.Type == verification.FieldImage {
		return []string{"image/*"}, nil
	}
	return f.Accept, nil
}

// recordUpload writes a saved document into the history, and removes what it
// replaces. A document that the history does not take is removed itself.
func (e *Engine) recordUpload(ctx context.Context, ref verification.RunRef, u verification.Upload) (verification.Document, error) {
	c, err := e.command(context.WithoutCancel(ctx), ref, u)
	var refused *verification.Error
	switch {
	case err == nil:
	case errors.As(err, &refused) && !errors.Is(err, verification.ErrUnavailable):
		e.removeDocument(ctx, ref, u.Document.ID)
		return verification.Document{}, err
	default:
		return verification.Document{}, err // it may be in the history
	}
	e.removeDropped(ctx, ref, c)
	for _, d := range c.after.Wait.Uploads {
		if d.Field == u.Document.Field && d.ID != u.Document.ID { // the same content was there already
			e.removeDocument(ctx, ref, u.Document.ID)
			return d, nil
		}
	}
	return u.Document, nil
}

// removeDropped removes the documents that no answer can name after a change.
// Inside a transaction of the caller they stay, since it may be rolled back.
func (e *Engine) removeDropped(ctx context.Context, ref verification.RunRef, c change) {
	if e.ports.Documents == nil || e.external {
		return
	}
	for _, d := range c.before.Dropped(c.after) {
		e.removeDocument(ctx, ref, d.ID)
	}
}

// removeDocument removes a document, also for a client that has gone. One that
// cannot be removed is logged and stays.
func (e *Engine) removeDocument(ctx context.Context, ref verification.RunRef, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTimeout)
	defer cancel()
	if err := e.ports.Documents.RemoveDocument(ctx, ref, id); err != nil {
		e.log.WarnContext(ctx, "document not removed", "tenant", ref.Tenant, "run", ref.Run, "document", id, "error", err)
	}
}

// refusedUpload names the field of a file that the sanitizer refuses.
func refusedUpload(field string, err error) error {
	var refused *verification.Error
	if !errors.As(err, &refused) || !errors.Is(refused.Kind, verification.ErrInvalid) {
		return err
	}
	return &verification.Error{
		Kind: verification.ErrInvalid, Subject: "document",
		Fields: []verification.FieldError{{Name: "payload." + field, Message: refused.Message}},
	}
}
