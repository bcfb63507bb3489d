// Versions of lists that lost more than half of the entries: who waits for them, and accepting one.

package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/hosts/internal/storecopy"
)

type screeningAccept struct {
	List    string `arg:"" help:"Name of a list."`
	Version string `arg:"" help:"Version of the list: the SHA-256 of its file, as verifyctl doctor and the log of the host have it."`
	databaseFlag
}

// Run accepts a version. A host looks for it when it next looks at the file.
func (c screeningAccept) Run(ctx context.Context, s *session) error {
	if raw, err := hex.DecodeString(c.Version); err != nil || len(raw) != 32 {
		return errors.New("VERSION: must be the 64 hexadecimal digits of a SHA-256: verifyctl doctor prints them")
	}
	return c.with(ctx, s, func(db *database) error {
		known, err := db.AcceptedLists(ctx)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(known, func(l pgadmin.AcceptedList) bool { return l.List == c.List })
		if i < 0 {
			return notFound("list", "no host has loaded a list of this name yet")
		}
		hosts, err := db.Hosts(ctx)
		if err != nil {
			return err
		}
		if err := db.SaveAcceptedList(ctx, pgadmin.AcceptedList{List: c.List, Versions: []string{c.Version}}); err != nil {
			return err
		}
		for _, w := range waitingLists(asDoctor(hosts)) {
			if w.list == c.List && w.Version == c.Version {
				return s.say(false, nil, "%s: accepted with %d entries, in place of %d; hosts use it within 20 s", c.List, w.Entries, w.Accepted)
			}
		}
		s.note("no live host says that this version waits: compare it with the log of the host")
		return s.say(false, nil, "%s: accepted in place of %d entries, from the first host on that loads it", c.List, known[i].Entries)
	})
}

// copyAccepted copies what was accepted of lists, and appends its row.
func copyAccepted(ctx context.Context, from, to *copySide, rows []copyRow) ([]copyRow, error) {
	lists, err := from.files.AcceptedLists(ctx)
	if err != nil || len(lists) == 0 {
		return rows, err
	}
	for _, l := range lists {
		if err := to.files.SaveAcceptedList(ctx, l); err != nil {
			return nil, err
		}
	}
	kept, err := to.files.AcceptedLists(ctx)
	if err != nil {
		return nil, err
	}
	sum := func(all []pgadmin.AcceptedList) storecopy.Sum {
		sum := sumOf(fmt.Appendf(nil, "%+v", all))
		sum.Count = len(all)
		return sum
	}
	row := storecopy.Row{Kind: "accepted lists", Source: sum(lists), Target: sum(kept)}
	if row.Source != row.Target {
		row.Difference = "not the same in both"
	}
	return append(rows, newCopyRow(row)), nil
}

// waitingList is a version of a list that waits on a host.
type waitingList struct {
	host, list string
	cli.ShrunkList
}

// waitingLists returns the versions of lists that wait on live hosts.
func waitingLists(all []pgadmin.Host) (waiting []waitingList) {
	for _, h := range all {
		facts, err := cli.ParseHostFacts(h.Facts)
		if err != nil || !h.Alive {
			continue
		}
		for _, list := range slices.Sorted(maps.Keys(facts.ShrunkLists)) {
			waiting = append(waiting, waitingList{labelOf(h), list, facts.ShrunkLists[list]})
		}
	}
	return waiting
}

// screeningLists reports the versions of lists that wait to be accepted.
func screeningLists(all []pgadmin.Host) (found []finding) {
	for _, w := range waitingLists(all) {
		instead := "its last version stays in use"
		if w.InUse {
			instead = "it is in use, and every check against it needs a reviewer"
		}
		found = append(found, failed("lists", fmt.Sprintf("%s has a version of the list %s with %d entries, in place of %d: %s", w.host, w.list, w.Entries, w.Accepted, instead),
			fmt.Sprintf("look at the file; if it is right: verifyctl screening accept %s %s", w.list, w.Version)))
	}
	return found
}
