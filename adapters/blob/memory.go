// Documents in the memory of one process.

package blob

import (
	"bytes"
	"context"
	"io"
	"sync"

	"github.com/verifyd/verifyd/verification"
)

// MemoryStore is a verification.DocumentStore that forgets all when the process
// ends. It is safe for concurrent use.
type MemoryStore struct {
	quota *quota
	mu    sync.RWMutex
	held  map[place]*held
}

var _ verification.DocumentStore = (*MemoryStore)(nil)

// held is a document that is kept; it does not change.
type held struct {
	document verification.Document
	pieces   [][]byte
}

// Memory returns an empty store that takes up to limit bytes, and of one tenant
// up to tenantLimit; 0 stands for a quarter of limit. Documents on their way
// count. Saving beyond a limit is ErrUnavailable.
func Memory(limit, tenantLimit int64) *MemoryStore {
	if tenantLimit == 0 {
		tenantLimit = limit / 4
	}
	return &MemoryStore{quota: newQuota(limit, tenantLimit), held: map[place]*held{}}
}

// SaveDocument keeps a document. ErrConflict when there is one of that id.
func (s *MemoryStore) SaveDocument(ctx context.Context, r verification.RunRef, d verification.Document, accept []string, content io.Reader) (verification.Document, error) {
	at, ok := placeOf(r, d.ID)
	if !ok {
		return verification.Document{}, misplaced(r, d.ID)
	}
	room, err := s.quota.reserve(at.tenant)
	defer room.release()
	if err != nil {
		return verification.Document{}, err
	}
	p := &pile{room: room}
	d.ID, d.CreatedAt = at.document, d.CreatedAt.UTC()
	d, err = Intake(ctx, d, accept, content, p)
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
	room.keep()
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

// RemoveDocument removes a document. Those who read it go on reading.
func (s *MemoryStore) RemoveDocument(ctx context.Context, r verification.RunRef, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	at, ok := placeOf(r, id)
	if !ok {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.held[at]; h != nil {
		delete(s.held, at)
		s.quota.free(at.tenant, h.document.Size+recordBytes)
	}
	return nil
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

// pile is the content of a document on its way into memory.
type pile struct {
	room   *reservation
	pieces [][]byte
}

// Write keeps a copy of b, if there is room for it.
func (p *pile) Write(b []byte) (int, error) {
	if err := p.room.grow(int64(len(b))); err != nil {
		return 0, err
	}
	p.pieces = append(p.pieces, bytes.Clone(b))
	return len(b), nil
}
