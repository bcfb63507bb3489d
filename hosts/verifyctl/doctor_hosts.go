// What the doctor says about hosts.

package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/hosts/internal/bootstrap"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/internal/postgres/pgschema"
)

// deadAfter is the age of a heartbeat at which two more have been missed: the host counts as
// dead, also if the database lists it as alive for a minute.
const deadAfter = 25 * time.Second

// asDoctor returns the hosts as the doctor counts them: a host is alive if its last heartbeat is
// less than deadAfter old, and no host with its name and address has started since then. Hosts with
// the same name and address are told apart by the ends of their ids.
func asDoctor(all []pgadmin.Host) []pgadmin.Host {
	all = slices.Clone(all)
	for i := range all {
		h := &all[i]
		h.Alive = h.Alive && h.SeenAgo < deadAfter.Seconds() && !replaced(*h, all)
	}
	same := map[string]int{}
	for _, h := range all {
		if h.Alive {
			same[labelOf(h)]++
		}
	}
	for i := range all {
		if h := &all[i]; h.Alive && same[labelOf(*h)] > 1 {
			h.Address += ", id ..." + h.ID[max(0, len(h.ID)-6):]
		}
	}
	return all
}

// replaced reports whether a host with the name and address of h has started since h was last seen.
func replaced(h pgadmin.Host, all []pgadmin.Host) bool {
	return slices.ContainsFunc(all, func(o pgadmin.Host) bool {
		return o.ID != h.ID && o.Name == h.Name && o.Address == h.Address && o.StartedAt.After(h.SeenAt)
	})
}

// alive reports whether hosts answer requests and drive runs.
func alive(all []pgadmin.Host) finding {
	living := slices.DeleteFunc(slices.Clone(all), func(h pgadmin.Host) bool { return !h.Alive })
	has := func(role string) bool {
		return slices.ContainsFunc(living, func(h pgadmin.Host) bool { return slices.Contains(h.Roles, role) })
	}
	message, silent := fmt.Sprintf("%d alive", len(living)), 0
	for _, h := range all {
		if !h.Alive && h.SeenAgo < pgschema.HostTimeout.Seconds() && !replaced(h, all) {
			silent++
			message += fmt.Sprintf(", %s dead or silent (last heartbeat %s)", labelOf(h), seenAgo(h))
		}
	}
	if died := len(all) - len(living) - silent; died > 0 {
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
	if silent > 0 {
		return warning("hosts", message, "it has died, or cannot reach the database: read its log; other hosts continue its runs")
	}
	return ok("hosts", message)
}

// level reports whether the level of the store may be raised.
func level(st state) finding {
	const check = "level"
	message, reads := fmt.Sprintf("the store has level %d", st.Level), math.MaxInt
	for _, h := range st.hosts {
		if h.Alive {
			reads = min(reads, h.Level)
		}
	}
	if reads == math.MaxInt || reads <= st.Level {
		return ok(check, message)
	}
	return warning(check, fmt.Sprintf("%s, and every host reads level %d", message, reads),
		"run verifyctl store upgrade once you will not go back to the release before: until then, hosts do not use what is new")
}

// clients reports how many connections of clients each live host has.
func clients(all []pgadmin.Host) (found []finding) {
	for _, h := range all {
		facts, err := cli.ParseHostFacts(h.Facts)
		if !h.Alive || err != nil || facts.ConnectionLimit == 0 || 100*facts.Connections < 80*facts.ConnectionLimit {
			continue
		}
		found = append(found, warning("clients", fmt.Sprintf("%s has %d of at most %d connections of clients", labelOf(h), facts.Connections, facts.ConnectionLimit),
			"look for clients that keep too many connections, or raise the limit of open files of the process and VERIFYD_MAX_CONNECTIONS"))
	}
	return found
}

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
	living, with, replaced, without, unkeyed := 0, 0, 0, 0, 0
	for _, h := range all {
		facts, err := cli.ParseHostFacts(h.Facts)
		if !h.Alive || h.Facts == "" || err != nil {
			continue
		}
		if living++; facts.SearchKey != "" {
			with++
		}
		unkeyed = max(unkeyed, facts.Unkeyed)
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
	case unkeyed > 0:
		return []finding{warning(check, fmt.Sprintf("the runs of %d workflows are made findable by the words of this version: until then, some runs of before are not found by names with ı or with Arabic letters", unkeyed),
			"wait; if it does not end, read the log of the workers for \"search keys\"")}
	case with == 0:
		return []finding{ok(check, "off: the console finds no run by a person (VERIFYD_SEARCH_KEY)")}
	}
	return []finding{ok(check, "the console finds runs by a person")}
}

// maxRetentionLate is how late retention may be: it looks at a run up to an hour late, and again after a day if
// something kept it.
const maxRetentionLate = 24 * time.Hour

// retaining reports hosts on which retention is late, and policies that have changed and do not count in full yet.
func (s *session) retaining(ctx context.Context, db *database, all []pgadmin.Host) (found []finding) {
	const check = "retention"
	for _, h := range all {
		if facts, err := cli.ParseHostFacts(h.Facts); err == nil && h.Alive && facts.RetentionLate > maxRetentionLate {
			found = append(found, warning(check, fmt.Sprintf("runs are due to be removed for %s", facts.RetentionLate.Round(time.Hour)),
				"read the log of the workers for \"retention\""))
			break
		}
	}
	changes, err := s.changedPolicies(ctx, db)
	if err != nil {
		return append(found, failed(check, pgerror.Explain(err).Error(), "retry"))
	}
	for _, c := range changes[:min(len(changes), maxChangedPolicies)] {
		found = append(found, warning(check, c.Text(), "to take it back, apply the file with the earlier policy before that time"))
	}
	if more := len(changes) - maxChangedPolicies; more > 0 {
		found = append(found, warning(check, fmt.Sprintf("the policies of %d other workflows change, too", more), "see verifyctl retention plan"))
	}
	if len(found) == 0 {
		found = append(found, ok(check, "nothing is late"))
	}
	return found
}

// maxChangedPolicies bounds the lines of the doctor about policies.
const maxChangedPolicies = 10

// changedPolicies returns the policies of all tenants that do not count in full yet.
func (s *session) changedPolicies(ctx context.Context, db *database) (all []bootstrap.RetentionChange, err error) {
	e, err := s.engineOfHosts(ctx, db, bootstrap.Providers{})
	if err != nil {
		return nil, err
	}
	tenants, err := db.tables().Tenants(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range tenants {
		changes, err := e.RetentionChanges(ctx, t.ID, nil)
		if err != nil {
			return nil, err
		}
		for _, c := range changes {
			all = append(all, bootstrap.RetentionChange{Tenant: t.ID, RetentionChange: c})
		}
	}
	return all, nil
}

// erasing reports redactions that are not complete in time, and hosts without a ledger of erasures.
func erasing(all []pgadmin.Host) (found []finding) {
	const check = "redactions"
	pending := 0
	for _, h := range all {
		facts, err := cli.ParseHostFacts(h.Facts)
		if err != nil || !h.Alive {
			continue
		}
		pending += facts.RedactionsPending
		if facts.ErasuresFailed > 0 {
			found = append(found, failed(check, fmt.Sprintf("the store was restored, and %s could not erase %d runs again", labelOf(h), facts.ErasuresFailed),
				"its log names them: redact them with verifyctl run redact"))
		}
		// It begins to count when caches have aged, and attempts are a minute apart.
		if late := facts.RedactionPending - facts.EraseWithin; facts.EraseWithin > 0 && late > 20*time.Minute {
			found = append(found, warning(check, fmt.Sprintf("%s has %d redactions that are not complete, the oldest for %s",
				labelOf(h), facts.RedactionsPending, facts.RedactionPending.Round(time.Minute)),
				"read its log: documents, the ledger of erasures, a snapshot or a vacuum cannot be written, or a transaction is open for long"))
		}
		if facts.LedgerProblem != "" {
			found = append(found, failed(check, fmt.Sprintf("%s found the ledger of erasures damaged: %s", labelOf(h), facts.LedgerProblem),
				"look for the whole ledger before a host starts again, or before the store is restored"))
		}
		if facts.LedgerOwed > 0 {
			found = append(found, warning(check, fmt.Sprintf("%s cannot write %d entries to the ledger of erasures", labelOf(h), facts.LedgerOwed),
				"read its log for \"ledger of erasures\""))
		}
		if facts.NoLedger {
			found = append(found, warning(check, labelOf(h)+" has no ledger of erasures: a restored database has again what was redacted since",
				"set VERIFYD_BLOB_DIR or VERIFYD_S3_ENDPOINT on all hosts"))
		}
	}
	if len(found) == 0 {
		found = append(found, ok(check, fmt.Sprintf("%d are not complete yet, none is late", pending)))
	}
	return found
}
