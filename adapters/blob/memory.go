// Documents in the memory of one process.

package blob

import (
	"bytes"
	"context"
	"io"
	"sync"

	"github.com/verifyd/verifyd/verification"
)

// recordBytes is what a document takes beside its content, about.
const recordBytes = 1 << 10

// MemoryStore is a verification.DocumentStore that forgets all when the process
// ends. It is safe for concurrent use.
type MemoryStore struct {
	mu   sync.RWMutex
	free int64 // bytes that may still be taken
	held map[place]*held
}

var _ verification.DocumentStore = (*MemoryStore)(nil)

// held is a document that is kept; it does not change.
type held struct {
	document verification.Document
	pieces   [][]byte
}

// Memory makes an empty store that takes up to limit bytes, those on their way
// included. When it is full, saving is ErrUnavailable.
func Memory(limit int64) *MemoryStore {
	return &MemoryStore{free: limit, held: map[place]*held{}}
}

// SaveDocument keeps a document. ErrConflict when there is one of that id.
func (s *MemoryStore) SaveDocument(ctx context.Context, r verification.RunRef, d verification.Document, accept []string, content io.Reader) (verification.Document, error) {
	at, ok := placeOf(r, d.ID)
	if !ok {
		return verification.Document{}, misplaced(r, d.ID)
	}
	p := &pile{store: s}
	defer p.release()
	if err := p.reserve(recordBytes); err != nil {
		return verification.Document{}, err
	}
	d.ID, d.CreatedAt = at.document, d.CreatedAt.UTC()
	d, err := Intake(ctx, d, accept, content, p)
	if err != nil {
		return verification.Document{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return verification.Document{}, err
	}
	if s.held[at] != nil {
		return verification.Document{}, taken()
	}
	s.held[at] = &held{document: d, pieces: p.pieces}
	p.reserved = 0 // for good
	return d, nil
}

// Document returns what is known of a document.
func (s *MemoryStore) Document(ctx context.Context, r verification.RunRef, id string) (verification.Document, error) {
	h, err := s.find(ctx, r, id)
	if err != nil {
		return verification.Document{}, err
	}
	return h.document, nil
}

// OpenDocument reads a document.
func (s *MemoryStore) OpenDocument(ctx context.Context, r verification.RunRef, id string) (io.ReadCloser, error) {
	h, err := s.find(ctx, r, id)
	if err != nil {
		return nil, err
	}
	readers := make([]io.Reader, len(h.pieces))
	for i, p := range h.pieces {
		readers[i] = bytes.NewReader(p)
	}
	return io.NopCloser(io.MultiReader(readers...)), nil
}

func (s *MemoryStore) find(ctx context.Context, r verification.RunRef, id string) (*held, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	at, ok := placeOf(r, id)
	if !ok {
		return nil, notFound()
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	h := s.held[at]
	if h == nil {
		return nil, notFound()
	}
	return h, nil
}

// pile is a document on its way into memory.
type pile struct {
	store    *MemoryStore
	reserved int64
	pieces   [][]byte
}

// Write keeps a copy of what it is given, if there is room for it.
func (p *pile) Write(b []byte) (int, error) {
	if err := p.reserve(int64(len(b))); err != nil {
		return 0, err
	}
	p.pieces = append(p.pieces, bytes.Clone(b))
	return len(b), nil
}

func (p *pile) reserve(n int64) error {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	if n > p.store.free {
		return &verification.Error{
			Kind: verification.ErrUnavailable, Subject: "document", Message: "there is no room for more files",
		}
	}
	p.store.free -= n
	p.reserved += n
	return nil
}

// release gives back what was reserved.
func (p *pile) release() {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	p.store.free += p.reserved
	p.reserved = 0
}
