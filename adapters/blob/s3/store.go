// Documents in a bucket.

package s3

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/verifyd/verifyd/verification"
)

// Store has documents, and the ledger of erasures, in a bucket. It is safe for concurrent
// use, also by several processes.
type Store interface {
	verification.DocumentStore
	verification.IdentifiedStore
	verification.ErasureLedger
	// PutFile writes a file beside the documents, of any size, in place of one with its name. It is there completely or
	// not at all.
	PutFile(ctx context.Context, name string, content io.Reader) error
	// OpenFile opens such a file, which can be read until the context ends; ErrNotFound if there is none.
	OpenFile(ctx context.Context, name string) (io.ReadCloser, error)
}

type store struct {
	client *minio.Core
	bucket string
	prefix string // empty, or without a slash at either end
	limit  time.Duration
}

// request calls the object store, for at most the limit.
func (s *store) request(ctx context.Context, call func(ctx context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	return translate(ctx, call(limited))
}

// recordKey is the user metadata with the record of a document: JSON in base64.
// It is in canonical header form, in which it is returned.
const recordKey = "Document"

// saved is a document and the call of SaveDocument that wrote it.
type saved struct {
	verification.Document
	Save string `json:"save"`
}

// SaveDocument implements verification.DocumentStore. ErrUnavailable is returned
// when the object store does not respond; then, and when the context ends during
// the request, the document may have been stored.
func (s *store) SaveDocument(ctx context.Context, r verification.RunRef, d verification.Document, content io.Reader) (verification.Document, error) {
	name, err := verification.DocumentPath(r, d.ID)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return verification.Document{}, fmt.Errorf("save a document: %w", err)
	}
	d.ID, d.CreatedAt = path.Base(name), d.CreatedAt.UTC()
	spool, err := newSpool()
	if err != nil {
		return verification.Document{}, wrap("save", name, err)
	}
	defer spool.remove()
	digest := sha256.New()
	if d.Size, err = io.Copy(io.MultiWriter(spool, digest), content); err != nil {
		return verification.Document{}, wrap("save", name, err)
	}
	d.SHA256 = hex.EncodeToString(digest.Sum(nil))
	if err := s.put(ctx, name, saved{d, rand.Text()}, io.NewSectionReader(spool, 0, d.Size)); err != nil {
		return verification.Document{}, wrap("save", name, err)
	}
	return d, nil
}

// spool is a temporary file.
type spool struct{ *os.File }

func newSpool() (spool, error) {
	f, err := os.CreateTemp("", "document-*")
	if err == nil {
		_ = os.Remove(f.Name()) // if the system allows it now, even a crash leaves no file
	}
	return spool{f}, err
}

func (s spool) remove() { _, _ = s.Close(), os.Remove(s.Name()) }

// Document implements verification.DocumentStore.
func (s *store) Document(ctx context.Context, r verification.RunRef, id string) (verification.Document, error) {
	name, err := s.find(ctx, r, id)
	if err != nil {
		return verification.Document{}, err
	}
	found, err := s.stat(ctx, name)
	if err != nil {
		return verification.Document{}, wrap("load", name, err)
	}
	return found.Document, nil
}

// OpenDocument implements verification.DocumentStore. The content can be read
// until the context ends.
func (s *store) OpenDocument(ctx context.Context, r verification.RunRef, id string) (io.ReadCloser, error) {
	name, err := s.find(ctx, r, id)
	if err != nil {
		return nil, err
	}
	return s.read(ctx, name, s.key(name))
}

// RemoveDocument implements verification.DocumentStore. A bucket with versioning
// keeps the document as an earlier version.
func (s *store) RemoveDocument(ctx context.Context, r verification.RunRef, id string) error {
	name, err := s.find(ctx, r, id)
	if err == nil {
		err = s.request(ctx, func(ctx context.Context) error {
			return s.client.RemoveObject(ctx, s.bucket, s.key(name), minio.RemoveObjectOptions{})
		})
	}
	if errors.Is(err, verification.ErrNotFound) {
		return nil
	}
	return wrap("remove", name, err)
}

// RemoveDocuments implements verification.DocumentStore.
func (s *store) RemoveDocuments(ctx context.Context, r verification.RunRef) error {
	const anyDocument = "00000000-0000-0000-0000-000000000000"
	name, err := verification.DocumentPath(r, anyDocument)
	if err != nil {
		return nil //nolint:nilerr // such a run never had a document
	}
	var ids []string
	err = s.request(ctx, func(ctx context.Context) error {
		ids = nil
		folder := path.Join(s.prefix, path.Dir(name)) + "/"
		for object := range s.client.Client.ListObjects(ctx, s.bucket, minio.ListObjectsOptions{Prefix: folder, Recursive: true}) {
			if object.Err != nil {
				return object.Err
			}
			ids = append(ids, path.Base(path.Dir(object.Key)))
		}
		return nil
	})
	if err != nil {
		return wrap("list", path.Dir(name), err)
	}
	for _, id := range ids {
		if err := s.RemoveDocument(ctx, r, id); err != nil {
			return err
		}
	}
	return nil
}

// Identity returns a text that identifies the bucket and the path in it: every process that
// uses them gets the same. The first call writes it there.
func (s *store) Identity(ctx context.Context) (string, error) {
	name := path.Join(s.prefix, ".identity")
	read := func() (identity string, err error) {
		err = s.request(ctx, func(ctx context.Context) error {
			body, _, _, err := s.client.GetObject(ctx, s.bucket, name, minio.GetObjectOptions{})
			if err != nil {
				return err
			}
			raw, err := io.ReadAll(io.LimitReader(body, maxIdentity))
			identity = string(raw)
			return errors.Join(err, body.Close())
		})
		return identity, err
	}
	identity, err := read()
	if errors.Is(err, verification.ErrNotFound) {
		fresh := "bucket-" + rand.Text()
		options := minio.PutObjectOptions{ContentType: "text/plain"}
		options.SetMatchETagExcept("*")
		err = s.request(ctx, func(ctx context.Context) error {
			_, err := s.client.PutObject(ctx, s.bucket, name, strings.NewReader(fresh), int64(len(fresh)), "", "", options)
			return err
		})
		if err == nil || errors.Is(err, verification.ErrConflict) { // another process was first
			identity, err = read()
		}
	}
	return identity, wrap("read", ".identity", err)
}

// maxIdentity bounds the bytes of an identity that are read.
const maxIdentity = 1000

// find returns the path of a document.
func (s *store) find(ctx context.Context, r verification.RunRef, id string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	name, err := verification.DocumentPath(r, id)
	if err != nil {
		return "", verification.NotFound("document")
	}
	return name, nil
}

func (s *store) key(name string) string { return path.Join(s.prefix, name, "content") }

// put creates an object; ErrConflict when it exists. The client repeats a request
// whose response was lost, and the repeated request then conflicts with its own
// object, which counts as success.
func (s *store) put(ctx context.Context, name string, d saved, content io.Reader) error {
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}
	options := minio.PutObjectOptions{
		ContentType:          d.MediaType,
		UserMetadata:         map[string]string{recordKey: base64.RawURLEncoding.EncodeToString(text)},
		DisableContentSha256: true, // do not hash each chunk: the digest is known
	}
	options.SetMatchETagExcept("*")
	err = s.request(ctx, func(ctx context.Context) error {
		_, err := s.client.PutObject(ctx, s.bucket, s.key(name), content, d.Size, "", d.SHA256, options)
		return err
	})
	switch {
	case errors.Is(err, verification.ErrNotFound):
		return unavailable(errors.New("the object store has no such bucket or path"))
	case !errors.Is(err, verification.ErrConflict):
		return err
	}
	found, statErr := s.stat(ctx, name)
	switch {
	case statErr == nil && found.Save == d.Save:
		return nil
	case statErr != nil && ctx.Err() != nil, errors.Is(statErr, verification.ErrUnavailable):
		return statErr
	default:
		return err
	}
}

func (s *store) stat(ctx context.Context, name string) (d saved, err error) {
	var info minio.ObjectInfo
	err = s.request(ctx, func(ctx context.Context) (err error) {
		info, err = s.client.StatObject(ctx, s.bucket, s.key(name), minio.StatObjectOptions{})
		return err
	})
	if err != nil {
		return d, err
	}
	text, err := base64.RawURLEncoding.DecodeString(info.UserMetadata[recordKey])
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil {
		return d, fmt.Errorf("read the record of the object: %w", err)
	}
	return d, nil
}

type download struct {
	io.ReadCloser
	ctx    context.Context // of the caller
	cancel context.CancelFunc
}

// Close implements io.Closer.
func (d *download) Close() error {
	defer d.cancel()
	return d.ReadCloser.Close()
}

// Read implements io.Reader. An interrupted response is ErrUnavailable.
func (d *download) Read(p []byte) (int, error) {
	n, err := d.ReadCloser.Read(p)
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return n, err
	case d.ctx.Err() != nil:
		return n, d.ctx.Err()
	default:
		return n, unavailable(err)
	}
}
