// The command that looks for what is wrong.

package main

import (
	"context"
	"time"

	"github.com/verifyd/verifyd/adapters/postgres"
)

type doctor struct {
	databaseFlag
	Counts bool `help:"Also count all runs, and compare with the counts that lists show. This reads every run."`
	jsonFlag
}

// Help is shown below the usage.
func (doctor) Help() string {
	return `Each line is ok, warn or fail, and says what to do. It exits with 1 when something failed.
It changes nothing, and can run beside the hosts.

Examples:

    verifyctl doctor
    verifyctl doctor --counts
    verifyctl doctor --json`
}

// withTimeout bounds how long the database may take for one answer.
const patience = 10 * time.Second

// Run prints what it found.
func (c doctor) Run(ctx context.Context, s *session) error {
	url, err := c.url()
	if err != nil {
		return err
	}
	found := s.examine(ctx, url, c.Counts)
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.JSON {
		err = s.json(found)
	} else {
		err = s.table([]string{"STATUS", "CHECK", "MESSAGE"}, shapes(found, finding.row))
	}
	if err != nil {
		return err
	}
	for _, f := range found {
		if f.Status == healthFail {
			return errFaults
		}
	}
	return nil
}

// examine goes on as long as what comes next can be asked at all.
func (s *session) examine(ctx context.Context, url string, counts bool) []finding {
	known, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	steps, err := s.server.migrations(known, url)
	if err != nil {
		return []finding{unreachable(err)}
	}
	schema := migrated(steps)
	if schema.Status == healthFail {
		return []finding{fine("connection", "the database answers"), schema}
	}
	opening, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	db, err := s.server.open(opening, url)
	if err != nil {
		return []finding{unreachable(err), schema}
	}
	defer db.close()
	h, err := db.Health(ctx, s.clock.Now)
	if err != nil {
		return []finding{unreachable(err), schema}
	}
	hosts, err := db.Hosts(ctx)
	if err != nil {
		return []finding{unreachable(err), schema}
	}
	found := []finding{
		fine("connection", "PostgreSQL "+h.ServerVersion), schema, living(hosts), role(h), skew(h), connections(h),
		stuck(h, s.clock.Now()), losing(h), expired(h), deliveries(h),
	}
	if counts {
		found = append(found, compared(ctx, db)...)
	}
	return found
}

// compared counts every run, however long that takes.
func compared(ctx context.Context, db *database) []finding {
	differences, err := db.CheckCounts(ctx)
	if err != nil {
		return []finding{failed("counts", postgres.Explain(err).Error(), "try again")}
	}
	if len(differences) == 0 {
		return []finding{fine("counts", "all are right")}
	}
	return shapes(differences, func(line string) finding {
		return failed("counts", line, "report it: totals of lists are wrong, and nothing else")
	})
}
