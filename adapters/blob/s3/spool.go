// A document on its way into a bucket.

package s3

import (
	"fmt"
	"io"
	"os"
)

// spool is a file that holds a document until all of it has been looked at. It
// is as long as a document may be, at most.
type spool struct {
	file *os.File
	size int64
	left bool // its name must still be removed
}

// newSpool makes a spool that only this process reads. Where the system lets
// it, its name is gone at once, so that not even a crash leaves it behind.
func newSpool() (*spool, error) {
	f, err := os.CreateTemp("", "document-*")
	if err != nil {
		return nil, fmt.Errorf("make a spool: %w", err)
	}
	return &spool{file: f, left: os.Remove(f.Name()) != nil}, nil
}

// Write writes on, as io.Writer wants.
func (s *spool) Write(p []byte) (int, error) {
	n, err := s.file.Write(p)
	s.size += int64(n)
	return n, err
}

// content reads what was written, from its beginning. It has no Close, so that
// whoever sends it leaves the file open.
func (s *spool) content() io.ReadSeeker { return io.NewSectionReader(s.file, 0, s.size) }

// discard lets go of the spool. Nobody waits for it any more, so what cannot be
// removed is left to the system.
func (s *spool) discard() {
	_ = s.file.Close()
	if s.left {
		_ = os.Remove(s.file.Name())
	}
}
