// Documents in a folder.

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
	"time"

	"github.com/verifyd/verifyd/verification"
)

// What stands in the folder: a folder for each document, of two files, at
// <tenant>/<run>/<document>, and those on their way in .incoming. One that is
// complete comes to its place in one step.
const (
	incoming    = ".incoming"
	contentFile = "content"
	recordFile  = "document.json"
)

// Only who runs the host reads what customers upload.
const (
	fileMode   = 0o600
	folderMode = 0o700
)

// FolderStore is a verification.DocumentStore below one folder. It is safe for
// concurrent use, by several processes, too.
type FolderStore struct {
	root   *os.Root // nothing outside of it is reached, links included
	quota  *quota
	counts counts
}

var _ verification.DocumentStore = (*FolderStore)(nil)

// Folder opens a folder, makes it if it is missing, and removes what was on its
// way there when a process died. One tenant may hold up to tenantLimit bytes of
// documents, those on their way included; 0 stands for no limit. Beyond it, and
// on a full disk, saving is ErrUnavailable. Where several processes share the
// folder, each counts anew every five minutes what the others saved.
func Folder(dir string, tenantLimit int64) (*FolderStore, error) {
	if err := os.MkdirAll(dir, folderMode); err != nil {
		return nil, fmt.Errorf("make the folder of documents: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the folder of documents: %w", err)
	}
	s := &FolderStore{root: root, quota: newQuota(0, tenantLimit)}
	if err := s.sweep(); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return s, nil
}

// Close lets go of the folder. Documents that are open stay open.
func (s *FolderStore) Close() error { return s.root.Close() }

// SaveDocument keeps a document; once it returns, no loss of power takes it
// away. ErrConflict when there is one of that id.
func (s *FolderStore) SaveDocument(ctx context.Context, r verification.RunRef, d verification.Document, accept []string, content io.Reader) (verification.Document, error) {
	at, ok := placeOf(r, d.ID)
	if !ok {
		return verification.Document{}, misplaced(r, d.ID)
	}
	if err := ctx.Err(); err != nil {
		return verification.Document{}, err
	}
	room, err := s.reserve(at.tenant)
	defer room.release()
	if err != nil {
		return verification.Document{}, err
	}
	d.ID, d.CreatedAt = at.document, d.CreatedAt.UTC()
	draft := s.draft(at)
	defer draft.discard()
	d, err = draft.fill(func(to io.Writer) (verification.Document, error) {
		return Intake(ctx, d, accept, content, metered{to, room})
	})
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = draft.settle()
	}
	if err != nil {
		return verification.Document{}, err
	}
	room.keep()
	return d, nil
}

// Document returns what is known of a document.
func (s *FolderStore) Document(ctx context.Context, r verification.RunRef, id string) (verification.Document, error) {
	f, err := s.open(ctx, r, id, recordFile)
	if err != nil {
		return verification.Document{}, err
	}
	defer func() { _ = f.Close() }() // it was only read
	var rec record
	if err := json.NewDecoder(f).Decode(&rec); err != nil {
		return verification.Document{}, fmt.Errorf("read what is known of document %s: %w", id, err)
	}
	return rec.document(), nil
}

// OpenDocument reads a document; the caller closes it.
func (s *FolderStore) OpenDocument(ctx context.Context, r verification.RunRef, id string) (io.ReadCloser, error) {
	f, err := s.open(ctx, r, id, contentFile)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// RemoveDocument removes a document in one step; once it returns, no loss of
// power brings it back. Those who read it go on reading.
func (s *FolderStore) RemoveDocument(ctx context.Context, r verification.RunRef, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	at, ok := placeOf(r, id)
	if !ok {
		return nil
	}
	info, err := s.root.Stat(path.Join(at.String(), contentFile))
	if err == nil {
		err = s.draft(at).withdraw()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist): // another caller may have been faster
		return nil
	case err != nil:
		return fmt.Errorf("remove document %s: %w", at, err)
	}
	s.quota.free(at.tenant, info.Size()+recordBytes)
	return nil
}

func (s *FolderStore) open(ctx context.Context, r verification.RunRef, id, file string) (*os.File, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	at, ok := placeOf(r, id)
	if !ok {
		return nil, notFound()
	}
	f, err := s.root.Open(path.Join(at.String(), file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, notFound()
	}
	if err != nil {
		return nil, fmt.Errorf("open document %s: %w", id, err)
	}
	return f, nil
}

// record is a verification.Document as it is written beside the content.
type record struct {
	ID        string    `json:"id"`
	Field     string    `json:"field"`
	MediaType string    `json:"media_type"`
	Size      int64     `json:"size"`
	SHA256    string    `json:"sha256"`
	CreatedAt time.Time `json:"created_at"`
}

func recordOf(d verification.Document) record {
	return record{d.ID, d.Field, d.MediaType, d.Size, d.SHA256, d.CreatedAt}
}

func (r record) document() verification.Document {
	return verification.Document{
		ID: r.ID, Field: r.Field, MediaType: r.MediaType, Size: r.Size, SHA256: r.SHA256, CreatedAt: r.CreatedAt,
	}
}
