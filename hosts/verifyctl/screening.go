// The commands about screening against lists.

package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/verifyd/verifyd/internal/birthdate"
	"github.com/verifyd/verifyd/internal/names"
	"github.com/verifyd/verifyd/internal/watchlist"
	"github.com/verifyd/verifyd/verification"
)

type screeningCommands struct {
	List    screeningList    `cmd:"" help:"List the lists of a bootstrap file, and what could not be read in them." see:"screening.md#trying-names"`
	Search  screeningSearch  `cmd:"" help:"Search a list for a name." see:"screening.md#trying-names"`
	Test    screeningTest    `cmd:"" help:"Search every name of a list in the list itself, and report those that are not found." see:"screening.md#trying-names"`
	Compare screeningCompare `cmd:"" help:"Compare two names, or pairs of names from stdin." see:"screening.md#trying-names"`
	Accept  screeningAccept  `cmd:"" help:"Accept a version of a list that lost more than half of the entries, for all hosts of a store." see:"screening.md"`
	Diff    screeningDiff    `cmd:"" help:"Report which names match a new version of a list, but not the old one." see:"screening.md#trying-names"`
}

const dateRule = "must be YYYY, YYYY-MM or YYYY-MM-DD, and a date on which a person can have been born"

// possibleBirth reports whether a text is a birth date that a search compares: of a company, no date is.
func possibleBirth(s *session, kind names.Kind, date string) bool {
	return birthdate.Is(date) && (kind == names.Company || birthdate.Plausible(date, s.clock.Now()))
}

type screeningSearch struct {
	List      string   `arg:"" help:"List file, or the name of a list in the bootstrap file."`
	Name      string   `arg:"" help:"Name of a person or a company."`
	Kind      string   `enum:"person,company" default:"person" placeholder:"KIND" help:"Kind of the name: person or company (default person)."`
	BirthDate string   `placeholder:"DATE" help:"Birth date, as YYYY, YYYY-MM or YYYY-MM-DD."`
	Country   []string `placeholder:"CODE" help:"Countries: names or codes."`
	listFlags
	reviewFlag
	jsonFlag
}

type searchJSON struct {
	Version string          `json:"list_version"`
	Date    string          `json:"list_date"`
	Entries int             `json:"list_entries"`
	Hits    []watchlist.Hit `json:"hits"`
}

// Run prints the entries that are like the name, and why.
func (c screeningSearch) Run(ctx context.Context, s *session) error {
	if c.BirthDate != "" && !possibleBirth(s, names.Kind(c.Kind), c.BirthDate) {
		return errors.New("--birth-date: " + dateRule)
	}
	countries, err := countryCodes(c.Country)
	if err != nil {
		return fmt.Errorf("--country: %w", err)
	}
	if err := c.reviewFlag.check(); err != nil {
		return err
	}
	list, err := c.load(ctx, s, c.List)
	if err != nil {
		return err
	}
	found, err := list.Search(watchlist.Subject{Kind: names.Kind(c.Kind), Name: c.Name, BirthDate: c.BirthDate, Countries: countries}, c.ReviewAt)
	hits := found.Hits
	if err != nil {
		return fmt.Errorf("NAME: %w", err)
	}
	if c.JSON {
		return s.json(searchJSON{list.Version, list.Date.Format("2006-01-02T15:04:05Z"), list.Entries, hits})
	}
	return s.table([]string{"SCORE", "ID", "NAME", "ALIAS", "REASONS"}, mapSlice(hits, func(h watchlist.Hit) []string {
		return []string{scoreText(h.Score), h.ID, h.Name, h.Alias, strings.Join(h.Reasons, "; ")}
	}))
}

func scoreText(score float64) string { return strconv.FormatFloat(score, 'f', 3, 64) }

type screeningCompare struct {
	Kind  string   `enum:"person,company" default:"person" placeholder:"KIND" help:"Kind of the names: person or company (default person)."`
	Names []string `arg:"" optional:"" name:"name" help:"Two names."`
	CSV   bool     `name:"csv" help:"Read rows of kind,name1,name2 from stdin, and write them with a score."`
	jsonFlag
}

// Run prints the score of two names, and what it is made of.
func (c screeningCompare) Run(ctx context.Context, s *session) error {
	match := names.New()
	switch {
	case c.CSV && len(c.Names) == 0:
		return comparePairs(ctx, s, match)
	case c.CSV || len(c.Names) != 2:
		return errors.New("give two names, or --csv and pairs on stdin")
	}
	compared, err := watchlist.Compare(match, names.Kind(c.Kind), c.Names[0], c.Names[1])
	if err != nil {
		return err
	}
	if c.JSON {
		return s.json(compared)
	}
	rows := [][2]string{{"score", scoreText(compared.Score)}, {"reasons", strings.Join(compared.Reasons, "; ")}}
	for i, read := range compared.ReadAs {
		if rows = append(rows, [2]string{fmt.Sprintf("name %d read as", i+1), read}); len(compared.Parts[i]) > 0 {
			rows = append(rows, [2]string{"also searched as", strings.Join(compared.Parts[i], "; ")})
		}
	}
	return s.attributes(rows...)
}

// comparePairs writes each row of stdin with its score. A pair with a name that has no
// letter and no digit scores 0. A first row of column names is kept.
func comparePairs(ctx context.Context, s *session, match *names.Comparer) error {
	in, out := csv.NewReader(s.stdin), csv.NewWriter(s.stdout)
	in.FieldsPerRecord = -1
	in.LazyQuotes = true
	for line := 1; ; line++ {
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if len(row) < 3 {
			return fmt.Errorf("row %d: has %d fields; it must be kind,name1,name2", line, len(row))
		}
		row = row[:3:3]
		kind, err := names.ParseKind(strings.ToLower(strings.TrimSpace(row[0])))
		score := "score"
		switch {
		case err == nil:
			compared, err := watchlist.Compare(match, kind, row[1], row[2])
			if err != nil && !errors.Is(err, watchlist.ErrNoName) {
				return fmt.Errorf("row %d: %w", line, err)
			}
			score = scoreText(compared.Score)
		case line > 1 || strings.TrimPrefix(row[0], "\ufeff") != "kind":
			return fmt.Errorf("row %d: %w", line, err)
		}
		if err := out.Write(append(row, score)); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

type screeningDiff struct {
	Old   string `arg:"" help:"List file of the old version, or the name of a list in the bootstrap file."`
	New   string `arg:"" help:"List file of the new version, or the name of a list in the bootstrap file."`
	List  string `placeholder:"NAME" help:"With --bootstrap, read both files as it declares this list."`
	Names string `required:"" placeholder:"FILE" help:"CSV of the names to screen, with the columns kind, name and optionally id, birth_date and countries; - is stdin."`
	listFlags
	reviewFlag
	jsonFlag
}

// screened is a person or company of the file of names.
type screened struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
	Name string `json:"name"`

	numbered bool // the id is the number of a line
	subject  watchlist.Subject
}

type diffJSON struct {
	OldVersion string     `json:"old_version"`
	NewVersion string     `json:"new_version"`
	Screened   int        `json:"screened"`
	NewMatches []newMatch `json:"new_matches"`
}

type newMatch struct {
	screened
	Hits []watchlist.Hit `json:"hits"`
}

// Run prints the names that match an entry of the new version that they do not match in
// the old one. If there are any, the exit code is 1.
func (c screeningDiff) Run(ctx context.Context, s *session) error {
	if err := c.reviewFlag.check(); err != nil {
		return err
	}
	before, err := c.load(ctx, s, c.Old, c.List, c.New)
	if err != nil {
		return err
	}
	after, err := c.load(ctx, s, c.New, c.List, c.Old)
	if err != nil {
		return err
	}
	result := diffJSON{OldVersion: before.Version, NewVersion: after.Version, NewMatches: []newMatch{}}
	err = namesIn(s, c.Names, func(who screened) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		hits, err := newHits(before, after, who.subject, c.ReviewAt)
		if err != nil {
			return err
		}
		result.Screened++
		if len(hits) > 0 {
			result.NewMatches = append(result.NewMatches, newMatch{who, hits})
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := c.print(s, result); err != nil {
		return err
	}
	if len(result.NewMatches) > 0 {
		return errProblems
	}
	return nil
}

// newHits returns the hits in the new version whose entries are no hits in the old.
func newHits(before, after *watchlist.List, who watchlist.Subject, reviewAt float64) ([]watchlist.Hit, error) {
	found, err := after.Search(who, reviewAt)
	if errors.Is(err, watchlist.ErrNoName) || len(found.Hits) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	known, err := before.Search(who, reviewAt)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found.Hits, func(h watchlist.Hit) bool {
		return slices.ContainsFunc(known.Hits, func(k watchlist.Hit) bool { return k.ID == h.ID || verification.Hit(h).Was(k.ID, k.Digest) })
	}), nil
}

func (c screeningDiff) print(s *session, result diffJSON) error {
	if c.JSON {
		return s.json(result)
	}
	s.note(fmt.Sprintf("%d names were screened, %d of them match newly", result.Screened, len(result.NewMatches)))
	var rows [][]string
	for _, m := range result.NewMatches {
		for _, h := range m.Hits {
			rows = append(rows, []string{m.ID, scoreText(h.Score), h.ID, h.Name})
		}
	}
	return s.table([]string{"ID", "SCORE", "ENTRY", "LISTED_NAME"}, rows)
}
