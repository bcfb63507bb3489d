// Migrations of the schema.

package postgres

import (
	"context"
	"time"

	"github.com/verifyd/verifyd/internal/postgres/pgschema"
)

// Migration is one version of the schema.
type Migration struct {
	Version int64
	Name    string
	// AppliedAt is when it was applied.
	AppliedAt time.Time
}

// Migrate applies the missing migrations, each in a transaction, and returns them.
// Hosts that start together wait for each other. The role of the URL must own
// the database, or be allowed to create the schema "verifyd" in it. ErrConflict is
// returned, and nothing changes, if an applied migration differs from the one of this build.
func Migrate(ctx context.Context, url string) (applied []Migration, err error) {
	all, err := pgschema.Up(ctx, url)
	for _, m := range all {
		applied = append(applied, Migration{Version: m.Version, Name: m.Name, AppliedAt: m.AppliedAt})
	}
	return applied, err
}
