// The lists of a bootstrap file, as they are read.

package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/verifyd/verifyd/adapters/provider/rest"
	"github.com/verifyd/verifyd/adapters/provider/screening"
	"github.com/verifyd/verifyd/hosts/internal/bootstrap"
	"github.com/verifyd/verifyd/internal/watchlist"
)

type screeningList struct {
	Lists []string `arg:"" optional:"" name:"list" help:"List files, or names of lists in the bootstrap file (default: all lists of the bootstrap file)."`
	listFlags
	jsonFlag
}

type listJSON struct {
	Name       string `json:"name"`
	Format     string `json:"format,omitempty"`
	Entries    int    `json:"entries"`
	Names      int    `json:"names"`
	Uncompared int    `json:"uncompared"` // names that are compared in part or not at all
	Bytes      int64  `json:"bytes"`      // of memory that a host needs for the list
	// Unread are the values of the file that its entries lack.
	Unread  []watchlist.Unread `json:"unread,omitempty"`
	Columns []watchlist.Column `json:"columns,omitempty"`
	Date    string             `json:"date,omitempty"`
	Version string             `json:"version,omitempty"`
	Error   string             `json:"error,omitempty"`
}

// Run loads each list and prints what was read. A list that cannot be loaded is reported
// after the others, with exit code 1.
func (c screeningList) Run(ctx context.Context, s *session) error {
	lists, err := c.sources(ctx, s)
	if err != nil {
		return s.printProblems(err)
	}
	rows, failed := []listJSON{}, false
	for _, source := range lists {
		row := listJSON{Name: source.Name}
		source.Today = s.clock.Now()
		l, err := watchlist.Load(ctx, source)
		if err != nil {
			row.Error, failed = err.Error(), true
			s.note(fmt.Sprintf("list %s: %v", source.Name, err))
		} else {
			row.Format, row.Entries, row.Names, row.Uncompared, row.Bytes = l.Format, l.Entries, l.Names, l.Uncompared, l.Bytes
			for _, u := range l.Unread {
				s.note(fmt.Sprintf("list %s: not read: %v", source.Name, u))
			}
			row.Unread, row.Columns = l.Unread, l.Columns
			row.Date, row.Version = l.Date.Format(time.RFC3339), l.Version
		}
		rows = append(rows, row)
	}
	if err := printList(s, c.JSON, rows, "NAME FORMAT ENTRIES NAMES UNCOMPARED BYTES DATE VERSION"); err != nil {
		return err
	}
	if err := c.printColumns(s, rows); err != nil {
		return err
	}
	if failed {
		return errProblems
	}
	return nil
}

// printColumns prints what was read of each column of the lists.
func (c screeningList) printColumns(s *session, lists []listJSON) error {
	var rows [][]string
	for _, l := range lists {
		for _, column := range l.Columns {
			rows = append(rows, []string{
				l.Name, column.Name, column.ReadAs, strconv.Itoa(column.Read), strconv.Itoa(column.Unread), strings.Join(column.Examples, "; "),
			})
		}
	}
	if c.JSON || len(rows) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(s.stdout); err != nil {
		return err
	}
	return s.table([]string{"LIST", "COLUMN", "READ_AS", "READ", "NOT_READ", "EXAMPLES"}, rows)
}

func (c screeningList) sources(ctx context.Context, s *session) ([]screening.Source, error) {
	var out []screening.Source
	for _, name := range c.Lists {
		source, err := c.source(ctx, s, name)
		if err != nil {
			return nil, err
		}
		out = append(out, source)
	}
	if len(c.Lists) > 0 {
		return out, nil
	}
	b, _, err := s.readProviders(ctx, c.Bootstrap, rest.Options{})
	if err != nil {
		return nil, err
	}
	for _, l := range b.Lists {
		out = append(out, bootstrap.ListSource(l))
	}
	return out, nil
}
