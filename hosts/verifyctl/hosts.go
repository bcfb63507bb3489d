// The commands about hosts.

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/adapters/postgres"
)

type hostCommands struct {
	List hostList `cmd:"" help:"List the hosts on the database."`
}

type hostList struct {
	databaseFlag
	jsonFlag
}

// Help is shown below the usage.
func (hostList) Help() string {
	return `A host that did not stop cleanly, and was not seen for a minute, is not alive. It leaves the
list after a day.

Examples:

    verifyctl host list
    verifyctl host list --json`
}

// Run prints every host by name.
func (c hostList) Run(ctx context.Context, s *session) error {
	return s.on(ctx, c.databaseFlag, func(db *database) error {
		all, err := db.Hosts(ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			return s.json(shapes(all, hostOf))
		}
		names := []string{"NAME", "ALIVE", "ROLES", "VERSION", "STARTED_AT", "SEEN_AT", "ID"}
		return s.table(names, shapes(all, func(h postgres.Host) []string {
			return []string{
				h.Name, yesNo(h.Alive), strings.Join(h.Roles, ","), h.Version,
				moment(h.StartedAt).String(), moment(h.SeenAt).String(), h.ID,
			}
		}))
	})
}

type hostJSON struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	Alive     bool     `json:"alive"`
	Roles     []string `json:"roles"`
	Version   string   `json:"version"`
	StartedAt moment   `json:"started_at"`
	SeenAt    moment   `json:"seen_at"`
}

func hostOf(h postgres.Host) hostJSON {
	return hostJSON{
		ID: h.ID, Name: h.Name, Alive: h.Alive, Roles: append([]string{}, h.Roles...), Version: h.Version,
		StartedAt: moment(h.StartedAt), SeenAt: moment(h.SeenAt),
	}
}

// living reports whether there are hosts that answer requests and drive runs.
func living(all []postgres.Host) finding {
	alive := slices.DeleteFunc(slices.Clone(all), func(h postgres.Host) bool { return !h.Alive })
	has := func(role string) bool {
		return slices.ContainsFunc(alive, func(h postgres.Host) bool { return slices.Contains(h.Roles, role) })
	}
	message := fmt.Sprintf("%d alive", len(alive))
	if died := len(all) - len(alive); died > 0 {
		message += fmt.Sprintf(", %d died within a day", died)
	}
	switch {
	case len(alive) == 0:
		return failed("hosts", message, "start one with verifyd serve, or see verifyctl host list and what the last one logged")
	case !has("worker"):
		return failed("hosts", message+", none with the role worker", "start one with it (VERIFYD_ROLES): runs do not go on")
	case !has("api"):
		return warned("hosts", message+", none with the role api", "start one with it (VERIFYD_ROLES): nobody answers requests")
	}
	return fine("hosts", message)
}
