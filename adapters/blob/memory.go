// Documents in memory.

package blob

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"path"
	"sync"

	"github.com/verifyd/verifyd/verification"
)

// MemoryStore is a verification.DocumentStore whose content is lost when the
// process ends. It is safe for concurrent use.
type MemoryStore interface {
	verification.DocumentStore
	verification.IdentifiedStore
	// Share bounds what one tenant uses of the limit to part of what other tenants leave. It must be
	// called before documents are saved.
	Share(part func(context.Context) float64)
}

type memoryStore struct {
	quota     *quota
	mu        sync.RWMutex
	documents map[string]*stored // by path
	identity  string
}

// stored is a document in memory. It is immutable.
type stored struct {
	document verification.Document
	content  chunks
}

// Memory returns an empty store of up to limit bytes, 0 for no limit, and up to
// tenantLimit bytes of one tenant, 0 for a quarter of limit. Documents that are being
// saved count. Saving beyond a limit is ErrUnavailable.
func Memory(limit, tenantLimit int64) MemoryStore {
	if tenantLimit == 0 {
		tenantLimit = limit / 4
	}
	return &memoryStore{quota: newQuota(limit, tenantLimit), documents: map[string]*stored{}, identity: "memory-" + rand.Text()}
}

func (s *memoryStore) Share(part func(context.Context) float64) {
	if s.quota.max > 0 {
		s.quota.part = part
	}
}

// SaveDocument implements verification.DocumentStore.
func (s *memoryStore) SaveDocument(ctx context.Context, r verification.RunRef, d verification.Document, content io.Reader) (verification.Document, error) {
	name, err := verification.DocumentPath(r, d.ID)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return verification.Document{}, fmt.Errorf("save a document: %w", err)
	}
	reserved, err := s.quota.reserve(ctx, tenantOf(name))
	defer reserved.release()
	if err != nil {
		return verification.Document{}, err
	}
	added := &stored{}
	d.ID, d.CreatedAt = path.Base(name), d.CreatedAt.UTC()
	if added.document, err = copyContent(d, content, reserved, &added.content); err != nil {
		return verification.Document{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return verification.Document{}, err
	}
	if s.documents[name] != nil {
		return verification.Document{}, errExists
	}
	s.documents[name] = added
	reserved.commit()
	return added.document, nil
}

// Document implements verification.DocumentStore.
func (s *memoryStore) Document(ctx context.Context, r verification.RunRef, id string) (verification.Document, error) {
	found, err := s.find(ctx, r, id)
	if err != nil {
		return verification.Document{}, err
	}
	return found.document, nil
}

// OpenDocument implements verification.DocumentStore.
func (s *memoryStore) OpenDocument(ctx context.Context, r verification.RunRef, id string) (io.ReadCloser, error) {
	found, err := s.find(ctx, r, id)
	if err != nil {
		return nil, err
	}
	readers := make([]io.Reader, len(found.content))
	for i, p := range found.content {
		readers[i] = bytes.NewReader(p)
	}
	return io.NopCloser(io.MultiReader(readers...)), nil
}

// RemoveDocument implements verification.DocumentStore. Open readers stay valid.
func (s *memoryStore) RemoveDocument(ctx context.Context, r verification.RunRef, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	name, err := verification.DocumentPath(r, id)
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.documents[name]; found != nil {
		delete(s.documents, name)
		s.quota.free(tenantOf(name), found.document.Size+recordBytes)
	}
	return nil
}

// RemoveDocuments implements verification.DocumentStore.
func (s *memoryStore) RemoveDocuments(ctx context.Context, r verification.RunRef) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	name, err := verification.DocumentPath(r, anyDocument)
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for other, found := range s.documents {
		if path.Dir(other) == path.Dir(name) {
			delete(s.documents, other)
			s.quota.free(tenantOf(other), found.document.Size+recordBytes)
		}
	}
	return nil
}

func (s *memoryStore) find(ctx context.Context, r verification.RunRef, id string) (*stored, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	name, err := verification.DocumentPath(r, id)
	if err != nil {
		return nil, verification.NotFound("document")
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	found := s.documents[name]
	if found == nil {
		return nil, verification.NotFound("document")
	}
	return found, nil
}

// chunks is content in pieces, so that it never has to be moved when it grows.
type chunks [][]byte

// Write appends a copy of p.
func (c *chunks) Write(p []byte) (int, error) {
	*c = append(*c, bytes.Clone(p))
	return len(p), nil
}
