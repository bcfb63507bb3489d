// The test of a list: a search for each of its names.

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/verifyd/verifyd/internal/names"
	"github.com/verifyd/verifyd/internal/watchlist"
)

type screeningTest struct {
	List   string `arg:"" help:"List file, or the name of a list in the bootstrap file."`
	Sample int    `placeholder:"N" help:"Search only N names of the list, spread evenly."`
	Names  string `placeholder:"FILE" help:"Search the names of a CSV with the columns kind, name and optionally id, birth_date and countries instead; each must match an entry, the one with its id if it has one. - is stdin."`
	listFlags
	reviewFlag
	jsonFlag
}

type testJSON struct {
	Version   string               `json:"list_version"`
	Format    string               `json:"format,omitempty"`
	Entries   int                  `json:"list_entries"`
	Searched  int                  `json:"searched"`                 // names as wholes
	Parts     int                  `json:"parts_searched,omitempty"` // parts of names
	Lost      []watchlist.LostName `json:"lost"`
	OnlyExact int                  `json:"only_exact,omitempty"`
	P50       float64              `json:"p50_ms"`
	P99       float64              `json:"p99_ms"`
}

// Run reports the names that are not found. If there are any, the exit code is 1.
func (c screeningTest) Run(ctx context.Context, s *session) error {
	if err := c.reviewFlag.check(); err != nil {
		return err
	}
	if c.Sample < 0 {
		return errors.New("--sample: must be at least 1")
	}
	list, err := c.load(ctx, s, c.List)
	if err != nil {
		return err
	}
	result := testJSON{Version: list.Version, Entries: list.Entries, Lost: []watchlist.LostName{}}
	if c.Names != "" {
		err = c.fromFile(ctx, s, list, &result)
	} else {
		var tested watchlist.SelfTest
		tested, err = list.SelfTest(ctx, c.Sample, s.clock.Now)
		result.Searched, result.Parts, result.Lost, result.OnlyExact = tested.Names, tested.Parts, append(result.Lost, tested.Lost...), tested.OnlyExact
		result.P50, result.P99 = milliseconds(tested.P50), milliseconds(tested.P99)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		err = s.json(result)
	} else {
		err = c.print(s, result)
	}
	if err == nil && len(result.Lost) > 0 {
		err = errProblems
	}
	return err
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// fromFile searches the names of a file.
func (c screeningTest) fromFile(ctx context.Context, s *session, list *watchlist.List, result *testJSON) error {
	return namesIn(s, c.Names, func(who screened) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		found, err := list.Search(who.subject, c.ReviewAt)
		if err != nil && !errors.Is(err, names.ErrNoName) {
			return err
		}
		result.Searched++
		if !who.matches(found) {
			result.Lost = append(result.Lost, watchlist.LostName{Entry: who.ID, Name: who.Name, Kind: who.Kind})
		}
		return nil
	})
}

// matches reports whether a search has found the entry with the id of the name, or any entry if
// the name has no id.
func (w screened) matches(found watchlist.Result) bool {
	if w.numbered {
		return len(found.Hits) > 0
	}
	for _, h := range found.Hits {
		if h.ID == w.ID {
			return true
		}
	}
	return false
}

func (c screeningTest) print(s *session, result testJSON) error {
	part := map[bool]string{true: ", part"}
	lostParts := 0
	for _, l := range result.Lost {
		if l.Part {
			lostParts++
		}
	}
	if len(result.Lost) > 0 {
		rows := mapSlice(result.Lost, func(l watchlist.LostName) []string { return []string{l.Entry, l.Kind + part[l.Part], l.Name} })
		if err := s.table([]string{"ID", "KIND", "NAME"}, rows); err != nil {
			return err
		}
	}
	line := fmt.Sprintf("%d names were searched, %d are not found", result.Searched, len(result.Lost)-lostParts)
	if result.Parts > 0 {
		line += fmt.Sprintf("; %d parts of names were searched, %d are not found", result.Parts, lostParts)
	}
	if result.P99 > 0 {
		line += fmt.Sprintf("; a search took %.1f ms (p99 %.1f ms)", result.P50, result.P99)
	}
	if result.OnlyExact > 0 {
		line += fmt.Sprintf("; found only as they are written: %d", result.OnlyExact)
	}
	s.note(line)
	return nil
}
