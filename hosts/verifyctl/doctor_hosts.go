// What the doctor says about hosts.

package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/internal/cli"
	"github.com/verifyd/verifyd/internal/pgadmin"
)

// alive reports whether hosts answer requests and drive runs.
func alive(all []pgadmin.Host) finding {
	living := slices.DeleteFunc(slices.Clone(all), func(h pgadmin.Host) bool { return !h.Alive })
	has := func(role string) bool {
		return slices.ContainsFunc(living, func(h pgadmin.Host) bool { return slices.Contains(h.Roles, role) })
	}
	message := fmt.Sprintf("%d alive", len(living))
	late := slices.DeleteFunc(slices.Clone(living), func(h pgadmin.Host) bool { return h.SeenAgo < lateHeartbeat.Seconds() })
	for _, h := range late {
		message += fmt.Sprintf(", %s last seen %s", labelOf(h), seenAgo(h))
	}
	if died := len(all) - len(living); died > 0 {
		message += fmt.Sprintf(", %d died in the last day", died)
	}
	switch {
	case len(living) == 0:
		return failed("hosts", message, "start one with verifyd serve, or find the last one with verifyctl host list and read its log")
	case !has("worker"):
		return failed("hosts", message+", none with the role worker", "start one with it (VERIFYD_ROLES): runs do not advance")
	case !has("api"):
		return warning("hosts", message+", none with the role api", "start one with it (VERIFYD_ROLES): the API does not answer")
	}
	if len(late) > 0 {
		return warning("hosts", message, "it has died, or cannot reach the database: read its log; other hosts continue its runs")
	}
	return ok("hosts", message)
}

// lateHeartbeat is the age of a heartbeat at which the next two are late.
const lateHeartbeat = 25 * time.Second

func labelOf(h pgadmin.Host) string {
	if h.Address == "" {
		return h.Name
	}
	return h.Name + " (" + h.Address + ")"
}

// hostDifferences compares the live hosts with each other, and their clocks with the clock of
// the database.
func hostDifferences(all []pgadmin.Host) (found []finding) {
	const check = "differences"
	var compared []cli.ComparedHost
	for _, h := range all {
		facts, err := cli.ParseHostFacts(h.Facts)
		switch {
		case !h.Alive || h.Facts == "":
			continue
		case err != nil:
			found = append(found, warning(check, labelOf(h)+" says about itself what this verifyctl cannot read", "use the verifyctl of its build"))
			continue
		}
		compared = append(compared, cli.ComparedHost{Label: labelOf(h), Worker: slices.Contains(h.Roles, "worker"), HostFacts: facts})
		if by := facts.ClockAhead.Round(time.Millisecond); by.Abs() >= cli.MaxClockSkew {
			direction := "ahead of"
			if by < 0 {
				direction = "behind"
			}
			judge := warning
			if by.Abs() >= failSkew {
				judge = failed
			}
			found = append(found, judge("clock", fmt.Sprintf("the clock of %s is %s %s the clock of the database", labelOf(h), by.Abs(), direction),
				"synchronize the clocks of the hosts and of the database"))
		}
	}
	if i := slices.IndexFunc(compared, func(h cli.ComparedHost) bool { return len(h.Scripts) > 0 }); i >= 0 {
		found = append(found, ok("fonts", "reports are printed in "+strings.Join(compared[i].Scripts, ", ")))
	}
	different := cli.Differences(compared)
	for _, d := range different {
		found = append(found, warning(check, d.Message, d.Advice))
	}
	if len(compared) > 1 && len(different) == 0 {
		found = append(found, ok(check, fmt.Sprintf("the %d live hosts have the same providers, lists, keys and settings", len(compared))))
	}
	return found
}

// searching reports whether the console finds the runs of a person. Hosts with different keys
// are a difference.
func searching(all []pgadmin.Host) []finding {
	const check = "search"
	living, with, replaced, without := 0, 0, 0, 0
	for _, h := range all {
		facts, err := cli.ParseHostFacts(h.Facts)
		if !h.Alive || h.Facts == "" || err != nil {
			continue
		}
		if living++; facts.SearchKey != "" {
			with++
		}
		switch {
		case facts.SearchKeyReplaced && facts.SearchKey == "":
			without++
		case facts.SearchKeyReplaced:
			replaced++
		}
	}
	switch {
	case living == 0:
		return nil
	case without > 0:
		return []finding{warning(check, fmt.Sprintf("%d live hosts have no search key, but this database was first used with one", without),
			"set VERIFYD_SEARCH_KEY to the first key: the console finds no run by a person, and runs of this time stay unfindable")}
	case replaced > 0:
		return []finding{warning(check, fmt.Sprintf("%d live hosts have another search key than the one that this database was first used with", replaced),
			"set VERIFYD_SEARCH_KEY to the first key: the console does not find the runs from before by a person")}
	case with == 0:
		return []finding{ok(check, "off: the console finds no run by a person (VERIFYD_SEARCH_KEY)")}
	}
	return []finding{ok(check, "the console finds runs by a person")}
}
