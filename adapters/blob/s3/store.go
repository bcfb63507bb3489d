// Documents in a bucket.

package s3

import (
	"context"
	"crypto/rand"
	"errors"
	"io"

	"github.com/minio/minio-go/v7"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/verification"
)

// Store is a verification.DocumentStore in a bucket. It is safe for concurrent
// use, by several processes, too.
type Store struct {
	client *minio.Core
	bucket string
	prefix string // empty, or without a slash at either end
}

var _ verification.DocumentStore = (*Store)(nil)

// SaveDocument keeps a document. ErrConflict when there is one of that id,
// ErrUnavailable when the object store does not answer; then, and when the
// context ends while it is being sent, the document may be there all the same.
func (s *Store) SaveDocument(ctx context.Context, r verification.RunRef, d verification.Document, accept []string, content io.Reader) (verification.Document, error) {
	at, err := placeOf(r, d.ID)
	if err != nil {
		return verification.Document{}, err
	}
	if err := ctx.Err(); err != nil {
		return verification.Document{}, err
	}
	d.ID, d.CreatedAt = at.document(), d.CreatedAt.UTC()
	d, err = s.send(ctx, at, func(to io.Writer) (verification.Document, error) {
		return blob.Intake(ctx, d, accept, content, to)
	})
	if err != nil {
		return verification.Document{}, at.fault("save", err)
	}
	return d, nil
}

// Document returns what is known of a document.
func (s *Store) Document(ctx context.Context, r verification.RunRef, id string) (verification.Document, error) {
	at, err := find(ctx, r, id)
	if err != nil {
		return verification.Document{}, err
	}
	rec, err := s.record(ctx, at)
	if err != nil {
		return verification.Document{}, at.fault("load", err)
	}
	return rec.document(), nil
}

// OpenDocument reads a document while the context lasts; the caller closes it.
func (s *Store) OpenDocument(ctx context.Context, r verification.RunRef, id string) (io.ReadCloser, error) {
	at, err := find(ctx, r, id)
	if err != nil {
		return nil, err
	}
	body, _, _, err := s.client.GetObject(ctx, s.bucket, at.key(s.prefix), minio.GetObjectOptions{})
	if err != nil {
		return nil, at.fault("open", translate(ctx, err))
	}
	return &download{ctx: ctx, body: body}, nil
}

// RemoveDocument removes a document. A bucket that keeps versions keeps it as an
// earlier version.
func (s *Store) RemoveDocument(ctx context.Context, r verification.RunRef, id string) error {
	at, err := find(ctx, r, id)
	if errors.Is(err, verification.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = translate(ctx, s.client.RemoveObject(ctx, s.bucket, at.key(s.prefix), minio.RemoveObjectOptions{}))
	}
	if err == nil || errors.Is(err, verification.ErrNotFound) {
		return nil
	}
	return at.fault("remove", err)
}

// find tells where a document would be.
func find(ctx context.Context, r verification.RunRef, id string) (place, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	at, err := placeOf(r, id)
	if err != nil {
		return "", notFound()
	}
	return at, nil
}

// send fills a spool and puts what is in it into the bucket.
func (s *Store) send(ctx context.Context, at place, fill func(io.Writer) (verification.Document, error)) (verification.Document, error) {
	spool, err := newSpool()
	if err != nil {
		return verification.Document{}, err
	}
	defer spool.discard()
	d, err := fill(spool)
	if err != nil {
		return verification.Document{}, err
	}
	rec := recordOf(d)
	rec.Save = rand.Text()
	if err := s.put(ctx, at, rec, spool.content()); err != nil {
		return verification.Document{}, err
	}
	return d, nil
}

// put makes an object of a document, unless there is one. A request is made
// again when its answer was lost, and then finds its own object.
func (s *Store) put(ctx context.Context, at place, rec record, content io.Reader) error {
	metadata, err := rec.metadata()
	if err != nil {
		return err
	}
	options := minio.PutObjectOptions{
		ContentType:          rec.MediaType,
		UserMetadata:         metadata,
		DisableContentSha256: true, // the digest is known: it stands in for one of each chunk
	}
	options.SetMatchETagExcept("*")
	_, err = s.client.PutObject(ctx, s.bucket, at.key(s.prefix), content, rec.Size, "", rec.SHA256, options)
	err = translate(ctx, err)
	switch {
	case errors.Is(err, verification.ErrConflict):
		return s.settle(ctx, at, rec, err)
	case errors.Is(err, verification.ErrNotFound):
		return errors.New("the object store takes nothing there")
	}
	return err
}

// settle tells whether the object that stood in the way is our own.
func (s *Store) settle(ctx context.Context, at place, rec record, conflict error) error {
	there, err := s.record(ctx, at)
	switch {
	case err == nil && there.Save == rec.Save:
		return nil
	case err != nil && ctx.Err() != nil, errors.Is(err, verification.ErrUnavailable):
		return err
	default:
		return conflict
	}
}

func (s *Store) record(ctx context.Context, at place) (record, error) {
	info, err := s.client.StatObject(ctx, s.bucket, at.key(s.prefix), minio.StatObjectOptions{})
	if err != nil {
		return record{}, translate(ctx, err)
	}
	return readRecord(info.UserMetadata)
}

// download is the content of a document on its way here.
type download struct {
	ctx  context.Context
	body io.ReadCloser
}

// Read reads on, as io.Reader wants.
func (d *download) Read(p []byte) (int, error) {
	n, err := d.body.Read(p)
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return n, err
	case d.ctx.Err() != nil:
		return n, d.ctx.Err()
	default:
		return n, unavailable(err)
	}
}

// Close gives the document up.
func (d *download) Close() error { return d.body.Close() }
