// Marks: which host appended to a run, or leased it, and when. Triggers that only
// these tests install record them, so that a failure of a host excuses only the runs
// that it held.

package soak_test

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

const keepMarks = `
CREATE SCHEMA soak;
CREATE TABLE soak.marks (
    id bigint GENERATED ALWAYS AS IDENTITY, run_id uuid NOT NULL, host text NOT NULL, upto integer NOT NULL,
    lost integer NOT NULL DEFAULT 0, at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE FUNCTION soak.appended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO soak.marks (run_id, host, upto) VALUES (NEW.run_id, current_setting('application_name'), NEW.next_seq);
    RETURN NULL;
END
$$;
CREATE FUNCTION soak.leased() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO soak.marks (run_id, host, upto, lost) VALUES (NEW.run_id, current_setting('application_name'), 0, NEW.lost_leases);
    RETURN NULL;
END
$$;
CREATE TRIGGER appended AFTER INSERT ON verifyd.run_events FOR EACH ROW EXECUTE FUNCTION soak.appended();
CREATE TRIGGER leased AFTER INSERT OR UPDATE ON verifyd.work FOR EACH ROW WHEN (NEW.kind = 'advance') EXECUTE FUNCTION soak.leased();
`

// mark says that a host held a run at a time.
type mark struct {
	host string
	upto int // the length of the history after an append; 0 for a lease
	at   time.Time
}

// readMarks returns the marks of all runs, oldest first.
func readMarks(ctx context.Context, c *pgx.Conn) (map[string][]mark, error) {
	rows, err := c.Query(ctx, "SELECT run_id::text AS run, host, upto, at FROM soak.marks ORDER BY run_id, at, id")
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[struct {
		Run, Host string
		Upto      int
		At        time.Time
	}])
	marks := map[string][]mark{}
	for _, m := range found {
		marks[m.Run] = append(marks[m.Run], mark{m.Host, m.Upto, m.At})
	}
	return marks, err
}
