// Lists of real names for the tests of recall and the benchmarks.

package watchlist_test

import (
	"encoding/csv"
	"fmt"
	"io"
	"testing"

	"github.com/verifyd/verifyd/internal/names"
	"github.com/verifyd/verifyd/internal/rig/realnames"
	"github.com/verifyd/verifyd/internal/watchlist"
)

// realEntry returns an entry with some 1.4 names: every fourth is a company, and half of the
// people have another name, in Latin letters if they can.
func realEntry(p *realnames.Population, number int) (name realnames.Name, row []string) {
	if number%4 == 3 {
		name = p.Company()
		return name, []string{fmt.Sprint(number), "Company", name.String(), "", "", "cy"}
	}
	name = p.Person()
	alias := ""
	if p.N(2) == 0 {
		other := name.Latin()
		if other.String() == name.String() {
			other = p.Person()
			other.Family = name.Family
		}
		alias = other.String()
	}
	return name, []string{fmt.Sprint(number), "Person", name.String(), alias, fmt.Sprint(1940+number%60, "-05-17"), "ru;by"}
}

// writeReal writes a list of n entries, and calls keep with the name of each.
func writeReal(w io.Writer, p *realnames.Population, n int, keep func(number uint32, name realnames.Name)) error {
	out := csv.NewWriter(w)
	if err := out.Write([]string{"id", "schema", "name", "aliases", "birth_date", "countries"}); err != nil {
		return err
	}
	for i := range n {
		name, row := realEntry(p, i)
		keep(uint32(i), name)
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// realList returns a list of n entries, and some of their names by the number of the entry.
func realList(tb testing.TB, n, some int) (*watchlist.List, map[uint32]realnames.Name) {
	tb.Helper()
	locales := realnames.For(tb)
	kept := map[uint32]realnames.Name{}
	read, write := io.Pipe()
	go func() {
		_ = write.CloseWithError(writeReal(write, realnames.New(locales, 1), n, func(number uint32, name realnames.Name) {
			if number%uint32(max(1, n/some)) < 2 || number%uint32(max(1, n/some)) == 3 {
				kept[number] = name
			}
		}))
	}()
	l, err := watchlist.Read(tb.Context(), read, watchlist.Format{Type: watchlist.OpenSanctions})
	if err != nil {
		tb.Fatal(err)
	}
	return l, kept
}

func kindOf(n realnames.Name) names.Kind {
	if n.Company {
		return names.Company
	}
	return names.Person
}
