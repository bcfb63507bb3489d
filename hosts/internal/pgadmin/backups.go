// The last backup, for hosts and the doctor.

package pgadmin

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
)

const lastBackupName = "last-backup"

// LastBackup returns the moment of the last backup; zero for none.
func (d Database) LastBackup(ctx context.Context) (at time.Time, err error) {
	err = d.bounded(ctx, noTenant, pgx.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
		rows, err := collect[acceptedRow](ctx, tx, "SELECT name, value FROM verifyd.shared_values WHERE name = $1", lastBackupName)
		if err == nil && len(rows) > 0 {
			at, err = time.Parse(time.RFC3339, rows[0].Value)
		}
		return err
	})
	return at, pgerror.Translate("read when the database was backed up", err)
}

// SaveBackup saves the moment of the last backup.
func (d Database) SaveBackup(ctx context.Context, at time.Time) error {
	const save = "INSERT INTO verifyd.shared_values (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
	err := d.bounded(ctx, noTenant, pgx.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, save, lastBackupName, at.UTC().Format(time.RFC3339))
		return err
	})
	return pgerror.Translate("save when the database was backed up", err)
}
