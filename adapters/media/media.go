// Package media recognizes uploaded files by their content and removes what
// must not be kept of them.
//
// JPEG, PNG, WebP and PDF are recognized. HEIC, the format of some phones, is refused with
// a message of its own: browsers and vendors do not read it. An image is rebuilt from the
// segments or chunks that make up the picture: pixel data and colours are copied byte for
// byte. Of the metadata, only the orientation and the pixel density are kept. All other
// metadata, such as the location where a photo was taken, is dropped, and so is data
// between and after the segments; inside a WebP, it is overwritten with zeros. A PDF is
// copied unchanged from its header on; one that only a password opens, or that shows no page of its own, is
// refused.
//
// Files are streamed: memory use does not depend on their size.
package media

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/verifyd/verifyd/verification"
)

// window is the size of the read and write buffers, in bytes.
const window = 32 << 10

// Sanitize is a verification.Sanitizer.
func Sanitize(ctx context.Context, content io.Reader, accept []string) (mediaType string, kept io.ReadCloser, err error) {
	s := &stream{source: &source{ctx: ctx, content: content}}
	s.in = bufio.NewReaderSize(s.source, window)
	f := s.recognize(accept)
	if s.failed() {
		return "", nil, s.cause()
	}
	next, stop := iter.Pull(s.sanitize(f))
	return f.MediaType, &output{stream: s, next: next, stop: stop}, nil
}

// sanitize yields the bytes to keep. A chunk is valid until the next one.
func (s *stream) sanitize(f format) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		s.out = bufio.NewWriterSize(writerFunc(func(p []byte) (int, error) {
			if !yield(p) {
				return 0, io.ErrClosedPipe
			}
			return len(p), nil
		}), window)
		f.sanitize(s)
		s.skip(toEnd) // data after the end of an image counts towards the size limit
		s.flush()
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// output reads the sanitized file.
type output struct {
	stream *stream
	next   func() ([]byte, bool)
	stop   func()
	chunk  []byte
}

// Read implements io.Reader.
func (o *output) Read(p []byte) (int, error) {
	for len(o.chunk) == 0 {
		var more bool
		if o.chunk, more = o.next(); !more {
			if err := o.stream.cause(); err != nil {
				return 0, err
			}
			return 0, io.EOF
		}
	}
	n := copy(p, o.chunk)
	o.chunk = o.chunk[n:]
	return n, nil
}

// Close releases the reader. It does not close the upload.
func (o *output) Close() error {
	o.stop()
	return nil
}

// refusal is the message for a customer whose file is refused.
type refusal string

const (
	refuseEmpty     = refusal("the file is empty")
	refuseSize      = refusal("must be at most 10 MiB") // verification.MaxDocumentBytes
	refuseImage     = refusal("the image cannot be read")
	refusePixels    = refusal("the image is too large")
	refusePDF       = refusal("the PDF cannot be read")
	refusePassword  = refusal("the PDF has a password: send it without")
	refuseForm      = refusal("the PDF is a form that only Adobe Reader shows: print it as a PDF and send that")
	refusePortfolio = refusal("the PDF is a portfolio of other files: send each of them")
	refuseNoPage    = refusal("the PDF has no page")
	refuseHEIC      = refusal("must not be a HEIC image")
)

func (r refusal) Error() string { return string(r) }

// cause returns the error of the stream, with a refusal as ErrInvalid. An error
// of the source takes precedence, because a file that was cut off looks invalid.
func (s *stream) cause() error {
	err := s.source.err
	if err == nil {
		err = s.err
	}
	if r, ok := errors.AsType[refusal](err); ok {
		return &verification.Error{Kind: verification.ErrInvalid, Subject: "document", Message: string(r)}
	}
	return err
}

// source limits the size of the upload, stops at the end of the context, and
// records the first error other than io.EOF.
type source struct {
	ctx     context.Context
	content io.Reader
	size    int64
	err     error
}

// Read implements io.Reader.
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
		s.err = fmt.Errorf("read the upload: %w", err)
		return n, s.err
	}
	return n, err
}
