// Uploads: where they are stored, and the removal of those that were never completed.

package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/adapters/blob/s3"
	"github.com/verifyd/verifyd/verification"
)

// openDocuments opens the object store or the folder of uploads; without one they are in memory.
func (o *opened) openDocuments(s settings, p *problems) verification.DocumentStore {
	if s.S3Endpoint != "" {
		bucket, err := s3.New(s3.Options{
			Endpoint: s.S3Endpoint, Bucket: s.S3Bucket, Region: s.S3Region,
			AccessKey: s.S3AccessKey, SecretKey: s.S3SecretKey, Secure: true, Timeout: s.S3Timeout,
		})
		p.wrap("s3-endpoint", err)
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
	documents, err := blob.Folder(dir, s.TenantDocumentBytes)
	if flag == "data-dir" {
		err = advise(folder, err)
	}
	p.wrap(flag, err)
	return documents
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
