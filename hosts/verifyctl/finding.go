// What the doctor found.

package main

import (
	"fmt"
	"time"

	"github.com/verifyd/verifyd/adapters/postgres"
)

// finding is what one look came to.
type finding struct {
	Check   string `json:"check"`
	Status  health `json:"status"`
	Message string `json:"message"`
	Advice  string `json:"advice,omitempty"` // what to do; empty when all is well
}

// health is how one thing is doing.
type health string

const (
	healthOK   health = "ok"
	healthWarn health = "warn"
	healthFail health = "fail"
)

func fine(check, message string) finding {
	return finding{Check: check, Status: healthOK, Message: message}
}

func warned(check, message, advice string) finding {
	return finding{Check: check, Status: healthWarn, Message: message, Advice: advice}
}

func failed(check, message, advice string) finding {
	return finding{Check: check, Status: healthFail, Message: message, Advice: advice}
}

// row is the finding as a line of a table.
func (f finding) row() []string {
	if f.Advice == "" {
		return []string{string(f.Status), f.Check, f.Message}
	}
	return []string{string(f.Status), f.Check, f.Message + "; " + f.Advice}
}

func unreachable(err error) finding {
	return failed("connection", postgres.Explain(err).Error(), "see that the server runs, and that address, role and password are right")
}

func migrated(steps []postgres.Migration) finding {
	lacking := missing(steps)
	if len(lacking) == 0 && len(steps) > 0 {
		return fine("migrations", "the newest is "+nameOf(steps[len(steps)-1]))
	}
	names := ""
	for i, m := range lacking {
		if i > 0 {
			names += ", "
		}
		names += nameOf(m)
	}
	return failed("migrations", "missing: "+names, "run verifyctl migrate up")
}

// role tells whether the database itself keeps tenants apart.
func role(h postgres.Health) finding {
	if h.Superuser {
		return warned("role", "row-level security does not hold the role of the hosts",
			"use a role without SUPERUSER and BYPASSRLS")
	}
	return fine("role", "row-level security holds")
}

// The clock of the database beyond which hosts get into each other's way: a
// lease lasts 20 s.
const (
	skewWarned = time.Second
	skewFailed = 10 * time.Second
)

func skew(h postgres.Health) finding {
	by := h.ClockSkew.Abs().Round(time.Millisecond)
	const advice = "synchronise the clocks of the hosts and of the database"
	direction := "ahead of"
	if h.ClockSkew < 0 {
		direction = "behind"
	}
	message := fmt.Sprintf("the clock of the database is %s %s ours", by, direction)
	switch {
	case by >= skewFailed:
		return failed("clock", message, advice)
	case by >= skewWarned:
		return warned("clock", message, advice)
	}
	return fine("clock", "less than a second apart")
}

func connections(h postgres.Health) finding {
	message := fmt.Sprintf("%d of %d are in use", h.Connections, h.MaxConnections)
	const advice = "give each host fewer (VERIFYD_DATABASE_CONNS), or raise max_connections of the server"
	switch used := 100 * h.Connections; {
	case used >= 95*h.MaxConnections:
		return failed("connections", message, advice)
	case used >= 80*h.MaxConnections:
		return warned("connections", message, advice)
	}
	return fine("connections", message)
}

func stuck(h postgres.Health, now time.Time) finding {
	if h.Overdue == 0 {
		return fine("work", "nothing is overdue")
	}
	message := fmt.Sprintf("%d overdue by more than %s, the oldest by %s",
		h.Overdue, postgres.OverdueAfter, now.Sub(h.OldestDue).Round(time.Second))
	return failed("work", message, "see that hosts with the role worker run, that they have room (VERIFYD_WORKERS), and what they log")
}

func losing(h postgres.Health) finding {
	if h.LosingLeases == 0 {
		return fine("leases", "no run keeps stopping its hosts")
	}
	return warned("leases", fmt.Sprintf("%d runs or notices lost two leases or more in a row", h.LosingLeases),
		"see whether hosts were killed or ran out of memory; a run that loses five ends with INTERNAL_ERROR")
}

func expired(h postgres.Health) finding {
	if h.Expired == 0 {
		return fine("expiry", "every deadline that passed is written down")
	}
	return failed("expiry", fmt.Sprintf("%d runs expired and their clients were not told", h.Expired),
		"see that hosts with the role worker run, and what they log")
}

func deliveries(h postgres.Health) finding {
	waiting := fmt.Sprintf("%d wait for another try", h.PendingDeliveries)
	if h.DeadDeliveries == 0 {
		return fine("deliveries", waiting)
	}
	return warned("deliveries", fmt.Sprintf("%d have no try left, %s", h.DeadDeliveries, waiting),
		"see verifyctl webhook list --state failed; then verifyctl webhook redeliver --all-failed")
}
