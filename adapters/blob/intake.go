// Intake: what every store here does with content before it keeps it.

package blob

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/verifyd/verifyd/verification"
)

// window is how much of a file is looked at at once, in bytes.
const window = 32 << 10

// Intake reads a document and writes what is kept of it, as
// verification.DocumentStore promises for SaveDocument. It returns d with its
// MediaType, Size and SHA256 filled in. After an error, what was written to
// kept is to be thrown away.
//
// It is for whoever writes another store; Memory and Folder call it themselves.
func Intake(ctx context.Context, d verification.Document, accept []string, content io.Reader, kept io.Writer) (verification.Document, error) {
	from := &source{ctx: ctx, content: content}
	to := &sink{kept: kept, digest: sha256.New()}
	s := &stream{in: bufio.NewReaderSize(from, window), out: bufio.NewWriterSize(to, window)}
	f := s.admit(accept)
	if !s.over() {
		f.keep(s)
	}
	s.drain() // what an image drops at its end counts as sent, too
	s.flush()
	// A source that broke off comes before what half a file looks like.
	for _, err := range []error{from.err, to.err, s.err} {
		if err != nil {
			return verification.Document{}, answer(d.Field, err)
		}
	}
	d.MediaType, d.Size, d.SHA256 = f.mediaType, to.size, hex.EncodeToString(to.digest.Sum(nil))
	return d, nil
}

// refusal is what the customer is told of a file that will not do.
type refusal string

const (
	refuseEmpty  = refusal("the file is empty")
	refuseSize   = refusal("must be at most 10 MiB") // verification.MaxDocumentBytes
	refuseImage  = refusal("the image cannot be read")
	refusePixels = refusal("the image is too large")
	refusePDF    = refusal("the PDF cannot be read")
)

func (r refusal) Error() string { return string(r) }

// answer makes a refusal an ErrInvalid and leaves any other error as it is.
func answer(field string, err error) error {
	var r refusal
	if !errors.As(err, &r) {
		return err
	}
	return &verification.Error{
		Kind: verification.ErrInvalid, Subject: "document",
		Fields: []verification.FieldError{{Name: field, Message: string(r)}},
	}
}

// source counts what comes in, stops when it is too much, and remembers why it
// stopped. It reads no more once the context is over.
type source struct {
	ctx     context.Context
	content io.Reader
	size    int64
	err     error // but for the end of the content
}

// Read reads on, as io.Reader wants.
func (s *source) Read(p []byte) (int, error) {
	if s.err == nil {
		s.err = s.ctx.Err()
	}
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.content.Read(p)
	s.size += int64(n)
	switch {
	case s.size > verification.MaxDocumentBytes:
		s.err = refuseSize
		return 0, s.err
	case err != nil && !errors.Is(err, io.EOF):
		s.err = fmt.Errorf("read what is uploaded: %w", err)
		return n, s.err
	}
	return n, err
}

// sink measures what is kept, and remembers why it could not be.
type sink struct {
	kept   io.Writer
	digest hash.Hash
	size   int64
	err    error
}

// Write writes on, as io.Writer wants.
func (s *sink) Write(p []byte) (int, error) {
	n, err := s.kept.Write(p)
	s.digest.Write(p[:n])
	s.size += int64(n)
	if err != nil {
		s.err = err
	}
	return n, err
}
