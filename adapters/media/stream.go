// The stream that a sanitizer reads from and writes to.

package media

import (
	"bufio"
	"errors"
	"image"
	"io"
	"iter"
	"math"
)

const (
	maxSide   = 10_000     // width or height of an image, in pixels
	maxPixels = 50_000_000 // area of an image
)

// stream keeps the first error. After an error every method is a no-op and reads
// return zeros, so that only loops have to check failed.
type stream struct {
	source  *source
	in      *bufio.Reader
	out     *bufio.Writer
	scratch []byte
	err     error
}

// failed reports whether there was an error.
func (s *stream) failed() bool { return s.err != nil }

// fail records an error. An unexpected end of the input means a truncated image:
// only image formats read a fixed number of bytes.
func (s *stream) fail(err error) {
	if s.err != nil || err == nil {
		return
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = refuseImage
	}
	s.err = err
}

// checkSize refuses an image whose header cannot be decoded or whose size is out
// of bounds.
func (s *stream) checkSize(c image.Config, err error) {
	switch {
	case err != nil || c.Width < 1 || c.Height < 1:
		s.fail(refuseImage)
	case c.Width > maxSide || c.Height > maxSide || c.Width*c.Height > maxPixels:
		s.fail(refusePixels)
	}
}

func (s *stream) readByte() byte {
	if s.failed() {
		return 0
	}
	b, err := s.in.ReadByte()
	s.fail(err)
	return b
}

// read reads n bytes, at most 64 KiB. They are valid until the next read.
func (s *stream) read(n int) []byte {
	if cap(s.scratch) < n {
		s.scratch = make([]byte, n)
	}
	p := s.scratch[:n]
	if s.failed() {
		clear(p)
		return p
	}
	_, err := io.ReadFull(s.in, p)
	s.fail(err)
	return p
}

// peek returns the next n bytes without reading them; n is far below window.
func (s *stream) peek(n int) []byte {
	if s.failed() {
		return make([]byte, n)
	}
	p, err := s.in.Peek(n)
	if err != nil {
		s.fail(err)
		return make([]byte, n)
	}
	return p
}

// toEnd makes chunks read to the end of the input, whatever its length.
const toEnd = math.MaxInt64

// chunks reads n bytes in chunks, each valid until the next.
func (s *stream) chunks(n int64) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		open := n == toEnd
		for n > 0 && !s.failed() {
			if _, err := s.in.Peek(1); err != nil {
				if !open || !errors.Is(err, io.EOF) {
					s.fail(err)
				}
				return
			}
			p, _ := s.in.Peek(int(min(n, int64(s.in.Buffered()))))
			if !yield(p) {
				return
			}
			_, _ = s.in.Discard(len(p))
			n -= int64(len(p))
		}
	}
}

func (s *stream) write(p []byte) {
	if !s.failed() {
		_, err := s.out.Write(p)
		s.fail(err)
	}
}

func (s *stream) writeByte(b byte) {
	if !s.failed() {
		s.fail(s.out.WriteByte(b))
	}
}

// copy copies the next n bytes.
func (s *stream) copy(n int64) {
	for p := range s.chunks(n) {
		s.write(p)
	}
}

// skip drops the next n bytes.
func (s *stream) skip(n int64) {
	for range s.chunks(n) {
		continue
	}
}

// zero writes zeros in place of the next n bytes.
func (s *stream) zero(n int64) {
	for p := range s.chunks(n) {
		for range p {
			s.writeByte(0)
		}
	}
}

func (s *stream) flush() {
	if !s.failed() {
		s.fail(s.out.Flush())
	}
}
