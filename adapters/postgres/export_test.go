package postgres

import (
	"context"
	"io/fs"
	"time"

	"github.com/uptrace/bun"

	"github.com/verifyd/verifyd/verification"
)

// Refile files the runs of a tenant as they read at a moment.
func (s *Store) Refile(ctx context.Context, t verification.TenantID, now time.Time) error {
	_, err := s.refile(ctx, t, now)
	return err
}

// TakeWork is the statement of Take.
const TakeWork = takeWork

// ListQueries are the texts of what List asks, by name.
func (s *Store) ListQueries(t verification.TenantID, q verification.RunQuery) map[string]string {
	texts := map[string]string{}
	for name, query := range map[string]*bun.SelectQuery{
		"strays": straysQuery(s.db, t, q.Now),
		"total":  totalQuery(s.db, t, q),
		"page":   pageQuery(s.db, t, q, q.Offset, q.Limit),
	} {
		texts[name] = query.String()
	}
	return texts
}

// MigrateFrom migrates by other files.
func MigrateFrom(ctx context.Context, url string, files fs.FS) error {
	_, err := migrate(ctx, url, files)
	return err
}

// MigrationFiles are the embedded ones.
func MigrationFiles() fs.FS { return migrations }
