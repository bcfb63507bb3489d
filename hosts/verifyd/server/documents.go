// Uploads: where they are stored, and the removal of those that were never completed.

package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/adapters/blob/s3"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// openDocuments opens the object store or the folder of uploads; without one they are in memory.
func (o *opened) openDocuments(s Settings, p *problems) verification.DocumentStore {
	if s.S3Endpoint != "" {
		bucket, err := s3.New(s3.Options{
			Endpoint: s.S3Endpoint, Bucket: s.S3Bucket, Region: s.S3Region,
			AccessKey: s.S3AccessKey, SecretKey: s.S3SecretKey, Secure: true, Timeout: s.S3Timeout,
		})
		p.wrap("s3-endpoint", err)
		o.ledger = bucket
		return bucket
	}
	dir, flag := s.BlobDir, "blob-dir"
	folder := s.folder()
	if dir == "" && folder != "" {
		dir, flag = folder.Documents(), "data-dir"
	}
	if dir == "" {
		if s.DatabaseURL != "" {
			o.warnings = append(o.warnings, "uploaded documents are in the memory of this host only; set VERIFYD_BLOB_DIR or VERIFYD_S3_ENDPOINT to share them")
		}
		return blob.Memory(documentMemory(), s.TenantDocumentBytes)
	}
	ledger := filepath.Join(dir, ".erasures.jsonl")
	if flag == "data-dir" {
		ledger = folder.Erasures()
	}
	o.ledger = blob.LedgerFile(ledger)
	documents, err := openDocumentFolder(dir, s)
	if flag == "data-dir" {
		err = advise(folder, err)
	}
	p.wrap(flag, err)
	return documents
}

// documentFolder is a folder of uploads on a disk with a reserve.
type documentFolder struct {
	blob.FolderStore

	space  *space
	opened fs.FileInfo
}

// SaveDocument saves nothing while the free space is below the reserve. It returns ErrUnavailable if
// another folder is in the place of the one that was opened: the next start would not find the document.
func (d documentFolder) SaveDocument(
	ctx context.Context, r verification.RunRef, of verification.Document, content io.Reader,
) (verification.Document, error) {
	if err := d.space.room(); err != nil {
		return verification.Document{}, err
	}
	saved, err := d.FolderStore.SaveDocument(ctx, r, of, content)
	if err != nil {
		return verification.Document{}, err
	}
	if there, err := os.Stat(d.space.dir); err != nil || !os.SameFile(d.opened, there) {
		moved := verification.Unavailable("document", "the folder of documents was moved or replaced; restart the host")
		moved.Cause = err
		return verification.Document{}, moved
	}
	return saved, nil
}

// openDocumentFolder opens a folder of uploads, of which a tenant may use half of the disk unless the
// settings say otherwise.
func openDocumentFolder(dir string, s Settings) (verification.DocumentStore, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the folder of documents: %w", err)
	}
	limit := s.TenantDocumentBytes
	if disk, err := datadir.DiskOf(dir); err == nil && limit == 0 {
		limit = max(disk.All/2, minTenantDocumentBytes)
	}
	folder, err := blob.Folder(dir, limit)
	if err != nil {
		return nil, err
	}
	opened, err := os.Stat(dir)
	if err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	return documentFolder{folder, newSpace(dir, s.DiskReserve), opened}, nil
}

// shareDocuments makes each tenant use at most a share of the space for uploads.
func shareDocuments(documents verification.DocumentStore, part func(context.Context) float64) {
	switch d := documents.(type) {
	case documentFolder:
		d.Share(part, d.space.left)
	case blob.MemoryStore:
		d.Share(part)
	}
}

// tenantShare returns the part of what other tenants leave that one tenant may use: all of it
// while there is only one tenant. Tenants are never removed.
func (h *host) tenantShare() func(context.Context) float64 {
	var several atomic.Bool
	return func(ctx context.Context) float64 {
		if !several.Load() {
			if tenants, err := (store.Tables{RowStore: h.storage}).Tenants(ctx); err == nil && len(tenants) < 2 {
				return 1
			} else if err == nil {
				several.Store(true)
			}
		}
		return h.settings.TenantShare
	}
}

// incompleteEvery is how often a host looks for them. They are removed an hour after their
// last write.
const incompleteEvery = 10 * time.Minute

// removeIncomplete removes them until ctx ends.
func removeIncomplete(ctx context.Context, from verification.IncompleteRemover, log *slog.Logger) {
	tick := time.NewTicker(incompleteEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		switch removed, err := from.RemoveIncomplete(ctx); {
		case err != nil && ctx.Err() == nil:
			log.Warn("incomplete documents were not removed", "error", err)
		case removed > 0:
			log.Info("incomplete documents were removed", "documents", removed)
		}
	}
}
