// A file on its way from who sends it to where it is kept.

package blob

import (
	"bufio"
	"errors"
	"io"
	"iter"
)

// stream keeps the first error. After it, every call does nothing and reads
// zeros, so that a format reads straight down; only loops have to ask.
type stream struct {
	in      *bufio.Reader
	out     *bufio.Writer
	scratch []byte
	err     error
}

// over tells whether there was an error.
func (s *stream) over() bool { return s.err != nil }

// fail ends the stream. Content that ends too early is an image that cannot be
// read; only images read what must be there.
func (s *stream) fail(err error) {
	if s.err != nil || err == nil {
		return
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = refuseImage
	}
	s.err = err
}

// next reads one byte.
func (s *stream) next() byte {
	if s.over() {
		return 0
	}
	b, err := s.in.ReadByte()
	s.fail(err)
	return b
}

// take reads n bytes, which stay as they are until the next take. n is at most
// 64 KiB.
func (s *stream) take(n int) []byte {
	if cap(s.scratch) < n {
		s.scratch = make([]byte, n)
	}
	p := s.scratch[:n]
	if s.over() {
		clear(p)
		return p
	}
	_, err := io.ReadFull(s.in, p)
	s.fail(err)
	return p
}

// peek looks n bytes ahead; n is far less than the window.
func (s *stream) peek(n int) []byte {
	if s.over() {
		return make([]byte, n)
	}
	p, err := s.in.Peek(n)
	if err != nil {
		s.fail(err)
		return make([]byte, n)
	}
	return p
}

// parts reads n bytes, piece by piece. A piece is only good until the next.
func (s *stream) parts(n int64) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for n > 0 && !s.over() {
			if _, err := s.in.Peek(1); err != nil {
				s.fail(err)
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

// rest reads to the end, piece by piece. A piece is only good until the next.
func (s *stream) rest() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for !s.over() {
			_, err := s.in.Peek(1)
			if errors.Is(err, io.EOF) {
				return
			}
			s.fail(err)
			p, _ := s.in.Peek(s.in.Buffered())
			if s.over() || !yield(p) {
				return
			}
			_, _ = s.in.Discard(len(p))
		}
	}
}

// keep writes what is kept.
func (s *stream) keep(p []byte) {
	if !s.over() {
		_, err := s.out.Write(p)
		s.fail(err)
	}
}

// put keeps one byte.
func (s *stream) put(b byte) {
	if !s.over() {
		s.fail(s.out.WriteByte(b))
	}
}

// pass keeps the next n bytes.
func (s *stream) pass(n int64) {
	for p := range s.parts(n) {
		s.keep(p)
	}
}

// drop leaves out the next n bytes.
func (s *stream) drop(n int64) {
	for range s.parts(n) {
		continue
	}
}

// blank keeps zeros instead of the next n bytes.
func (s *stream) blank(n int64) {
	for p := range s.parts(n) {
		for range p {
			s.put(0)
		}
	}
}

// drain leaves out all that is left.
func (s *stream) drain() {
	for range s.rest() {
		continue
	}
}

func (s *stream) flush() {
	if !s.over() {
		s.fail(s.out.Flush())
	}
}
