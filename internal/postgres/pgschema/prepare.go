// The schema itself, and the table of the content of the migrations.

package pgschema

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/verifyd/verifyd/verification"
)

// prepare creates the schema, and records the content of the migrations that are not
// applied. A process that dies before it applies them leaves nothing that matters.
func (m *migrator) prepare(ctx context.Context) error {
	before, err := m.applied(ctx)
	if err != nil {
		return err
	}
	ours := false
	for _, f := range m.files {
		sum, ok := before[f.Version]
		if ok && sum != f.sum {
			return errDiffers(f)
		}
		ours = ours || ok
	}
	tx, err := m.conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing is left of a refusal
	if err := createSchema(ctx, tx, ours); err != nil {
		return err
	}
	for _, f := range m.files {
		if _, ok := before[f.Version]; ok {
			continue
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO "+sumTable+" VALUES ($1, $2) ON CONFLICT (version) DO UPDATE SET sha256 = excluded.sha256", f.Version, f.sum)
		if err != nil {
			return err
		}
	}
	return tx.Commit()
}

// foreign selects what another program has in the schema, without the parts of an extension.
const foreign = `
SELECT coalesce(min(name), '') FROM (
    SELECT oid, relname::text AS name FROM pg_class WHERE relnamespace = to_regnamespace('` + Name + `') AND relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
        AND relname NOT IN ('migrations', 'migrations_id_seq', 'migration_files')
    UNION ALL SELECT oid, proname::text FROM pg_proc WHERE pronamespace = to_regnamespace('` + Name + `')
    UNION ALL SELECT oid, typname::text FROM pg_type WHERE typnamespace = to_regnamespace('` + Name + `') AND typtype IN ('e', 'd', 'r')
) AS there WHERE NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = there.oid AND d.deptype = 'e')`

// createSchema creates the schema and the table of the content of the migrations, unless they are there: a role that
// may not create a schema can use one that is there. It returns ErrConflict for a schema of another program.
func createSchema(ctx context.Context, tx *sql.Tx, ours bool) error {
	var there bool
	var other string
	if err := tx.QueryRowContext(ctx, "SELECT to_regnamespace($1) IS NOT NULL, ("+foreign+")", Name).Scan(&there, &other); err != nil {
		return err
	}
	if !ours && other != "" {
		return verification.Conflict("database", fmt.Sprintf(
			"its schema %s is of another program: it has %q, and no migration of verifyd; use another database, or rename that schema", Name, other))
	}
	var statements []string
	if !there {
		statements = append(statements, "CREATE SCHEMA "+Name)
	}
	for _, statement := range append(statements, "CREATE TABLE IF NOT EXISTS "+sumTable+" (version bigint PRIMARY KEY, sha256 text NOT NULL)") {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// dropSchema drops the schema, or only what is left in it if the role could not create it again.
func (m *migrator) dropSchema(ctx context.Context) error {
	const query = `
SELECT pg_has_role(nspowner, 'USAGE') AND has_database_privilege(current_database(), 'CREATE') FROM pg_namespace WHERE nspname = $1`
	var may bool
	err := m.conn.QueryRowContext(ctx, query, Name).Scan(&may)
	if err != nil {
		return err
	}
	statement := "DROP TABLE IF EXISTS " + versionTable + ", " + sumTable
	if may {
		statement = "DROP SCHEMA " + Name + " CASCADE"
	}
	_, err = m.conn.ExecContext(ctx, statement)
	return err
}
