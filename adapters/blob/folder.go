// Package blob stores uploaded documents in memory or in a folder.
//
// A document that cannot be stored completely is not stored at all. One tenant
// can be limited to a share of the space; a store that is full returns
// verification.ErrUnavailable.
package blob

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"sync"

	"github.com/verifyd/verifyd/verification"
)

// A document is a folder TENANT/RUN/DOCUMENT of two files. It is written to
// .incoming and moved to its path when it is complete.
const (
	incoming    = ".incoming"
	contentFile = "content"
	recordFile  = "document.json"
)

// Only the user that runs the process may read uploads.
const (
	fileMode   = 0o600
	folderMode = 0o700
)

// anyDocument stands for a document in a path whose folder is meant.
const anyDocument = "00000000-0000-0000-0000-000000000000"

// FolderStore is a verification.DocumentStore in a folder. It is safe for
// concurrent use, also by several processes.
type FolderStore interface {
	verification.DocumentStore
	verification.IdentifiedStore
	verification.IncompleteRemover
	// Share bounds what one tenant uses of the disk to part of what the documents of others and all
	// other files leave. left returns the bytes that the disk has left for documents; while it
	// returns an error, nothing is bounded. Share must be called before documents are saved.
	Share(part func(context.Context) float64, left func() (int64, error))
	// Close closes the folder. Open documents stay readable.
	Close() error
}

type folderStore struct {
	root   *os.Root // no path or link leaves it
	quota  *quota
	counts sync.Map // of *counted, by tenant
}

// Folder opens a folder, creates it if it is missing, and deletes incomplete
// documents of processes that died, as RemoveIncomplete does. tenantLimit bounds the bytes of one tenant's
// documents, including those that are being saved; 0 means no limit. Saving beyond
// the limit, or on a full disk, is ErrUnavailable. If several processes share the
// folder, each counts again what the others have saved, at most every five minutes.
func Folder(dir string, tenantLimit int64) (FolderStore, error) {
	if err := os.MkdirAll(dir, folderMode); err != nil {
		return nil, fmt.Errorf("create the folder of documents: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the folder of documents: %w", err)
	}
	s := &folderStore{root: root, quota: newQuota(0, tenantLimit)}
	if _, err := s.RemoveIncomplete(context.Background()); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return s, nil
}

func (s *folderStore) Share(part func(context.Context) float64, left func() (int64, error)) {
	s.quota.part, s.quota.left = part, left
}

func (s *folderStore) Close() error { return s.root.Close() }

// SaveDocument implements verification.DocumentStore. Once it returns, the
// document survives a loss of power.
func (s *folderStore) SaveDocument(ctx context.Context, r verification.RunRef, d verification.Document, content io.Reader) (verification.Document, error) {
	name, err := verification.DocumentPath(r, d.ID)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return verification.Document{}, fmt.Errorf("save a document: %w", err)
	}
	reserved, err := s.reserve(ctx, tenantOf(name))
	defer reserved.release()
	if err != nil {
		return verification.Document{}, err
	}
	d.ID, d.CreatedAt = path.Base(name), d.CreatedAt.UTC()
	p := s.pending(name)
	defer p.discard()
	d, err = p.write(func(w io.Writer) (verification.Document, error) { return copyContent(d, content, reserved, w) })
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = p.commit()
	}
	if err != nil {
		return verification.Document{}, err
	}
	reserved.commit()
	return d, nil
}

// Document implements verification.DocumentStore.
func (s *folderStore) Document(ctx context.Context, r verification.RunRef, id string) (verification.Document, error) {
	f, err := s.open(ctx, r, id, recordFile)
	if err != nil {
		return verification.Document{}, err
	}
	defer func() { _ = f.Close() }() // it was only read
	var d verification.Document
	if err := json.NewDecoder(f).Decode(&d); err != nil {
		return verification.Document{}, fmt.Errorf("read the record of document %s: %w", id, err)
	}
	return d, nil
}

// OpenDocument implements verification.DocumentStore.
func (s *folderStore) OpenDocument(ctx context.Context, r verification.RunRef, id string) (io.ReadCloser, error) {
	f, err := s.open(ctx, r, id, contentFile)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// RemoveDocument implements verification.DocumentStore. Once it returns, the
// document stays removed after a loss of power. Open readers stay valid.
func (s *folderStore) RemoveDocument(ctx context.Context, r verification.RunRef, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	name, err := verification.DocumentPath(r, id)
	if err != nil {
		return nil //nolint:nilerr // such an id never had a document
	}
	info, err := s.root.Stat(path.Join(name, contentFile))
	if err == nil {
		err = s.pending(name).remove()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist): // also when another caller has removed it
		return nil
	case err != nil:
		return fmt.Errorf("remove document %s: %w", name, err)
	}
	s.quota.free(tenantOf(name), info.Size()+recordBytes)
	return nil
}

// RemoveDocuments implements verification.DocumentStore.
func (s *folderStore) RemoveDocuments(ctx context.Context, r verification.RunRef) error {
	name, err := verification.DocumentPath(r, anyDocument)
	if err != nil {
		return nil //nolint:nilerr // such a run never had a document
	}
	dir := path.Dir(name)
	if err := s.removeLeaving(ctx); err != nil {
		return fmt.Errorf("remove what is left of removed documents: %w", err)
	}
	entries, err := fs.ReadDir(s.root.FS(), dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the documents of run %s: %w", r.Run, err)
	}
	for _, entry := range entries {
		if err := s.RemoveDocument(ctx, r, entry.Name()); err != nil {
			return err
		}
	}
	if err := s.root.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the folder of run %s: %w", r.Run, err)
	}
	return nil
}

func (s *folderStore) open(ctx context.Context, r verification.RunRef, id, file string) (*os.File, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	name, err := verification.DocumentPath(r, id)
	if err != nil {
		return nil, verification.NotFound("document")
	}
	f, err := s.root.Open(path.Join(name, file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, verification.NotFound("document")
	}
	if err != nil {
		return nil, fmt.Errorf("open document %s: %w", id, err)
	}
	return f, nil
}
