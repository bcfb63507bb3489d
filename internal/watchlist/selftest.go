// The self-test of a list: every name of a list has to be found in the list.

package watchlist

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/internal/names"
)

// SelfTest is the result of List.SelfTest.
type SelfTest struct {
	Names int // names that were searched as wholes
	Parts int // parts of names that were searched
	// Lost are the names whose search had no hit for their own entry.
	Lost []LostName
	// OnlyExact is the number of names that the exact lookup found and the index of similar
	// names did not.
	OnlyExact int
	P50, P99  time.Duration // of one search
}

// ErrNamesLost is returned for a list whose self-test lost names: it is not used.
var ErrNamesLost = errors.New("names of the list are not found by a search for them")

// problem returns an error for a list that loses names. It has no name, for the log.
func (t SelfTest) problem() error {
	if len(t.Lost) == 0 {
		return nil
	}
	var entries []string
	for _, lost := range t.Lost[:min(len(t.Lost), 5)] {
		entries = append(entries, lost.Entry)
	}
	return fmt.Errorf("%w: %d of %d, first those of the entries %s: report this problem", ErrNamesLost, len(t.Lost), t.Names+t.Parts, strings.Join(entries, ", "))
}

// LostName is a name that a search did not find.
type LostName struct {
	Entry string `json:"entry"` // the id
	Name  string `json:"name"`
	Kind  string `json:"kind"`
	Part  bool   `json:"part,omitempty"` // it is a part of a listed name
}

// SelfTest searches names of the list, and the parts of names, in the list itself, as people and companies are searched,
// with a lowest score of 0.85. It searches up to sample names, spread evenly; 0 means all,
// also those that are not compared. It measures the time of searches by now. The error is the
// error of ctx.
func (l *List) SelfTest(ctx context.Context, sample int, now func() time.Time) (SelfTest, error) {
	var result SelfTest
	var took []time.Duration
	step := 1.0
	if all := len(l.exact.names); sample > 0 && all > sample {
		step = float64(all) / float64(sample)
	}
	for at := 0.0; int(at) < len(l.exact.names); at += step {
		name := l.exact.names[int(at)].listed
		e := l.entry(name.entry)
		kinds := l.kinds(name.entry)
		if len(kinds) == 0 {
			kinds = []names.Kind{names.Person}
		}
		for _, kind := range kinds {
			if err := ctx.Err(); err != nil {
				return result, err
			}
			started := now()
			text, part := e.name(name.name), false
			found, _, err := l.like(Subject{Kind: kind, Name: text}, ReviewAt)
			took = append(took, now().Sub(started))
			runtime.Gosched() // searches of others do not wait for the test
			if part, _ = e.isPart(name.name); part {
				result.Parts++
			} else {
				result.Names++
			}
			switch m := found[name.entry]; {
			case err != nil || m == nil:
				result.Lost = append(result.Lost, LostName{e.ID, text, string(kind), part})
			case !m.indexed:
				result.OnlyExact++
			}
		}
	}
	slices.SortFunc(result.Lost, func(a, b LostName) int {
		return cmp.Or(strings.Compare(a.Entry, b.Entry), strings.Compare(a.Name, b.Name))
	})
	slices.Sort(took)
	if n := len(took); n > 0 {
		result.P50, result.P99 = took[n/2], took[n*99/100]
	}
	return result, nil
}
