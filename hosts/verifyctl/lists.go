// The lists that commands load: list files, and the lists of a bootstrap file.

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/verifyd/verifyd/adapters/provider/rest"
	"github.com/verifyd/verifyd/adapters/provider/screening"
	"github.com/verifyd/verifyd/hosts/internal/bootstrap"
	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/internal/watchlist"
)

// listFlags say how to read a list file.
type listFlags struct {
	bootstrapFlag
	Format  string            `enum:",opensanctions,ftm,ofac,un,eu,uk,csl,csv" default:"" placeholder:"FORMAT" help:"Format of a list file: opensanctions, ftm, ofac, un, eu, uk, csl or csv (default: recognized by its content)."`
	Columns map[string]string `mapsep:"," placeholder:"USE=NAME,..." help:"Columns of a file in the format csv by their use, such as name=full_name,aliases=aka."`
}

// reviewFlag is the lowest score of a match.
type reviewFlag struct {
	ReviewAt float64 `placeholder:"SCORE" default:"0.85" help:"Lowest score of a match, 0.5 to 1 (default 0.85)."`
}

func (f reviewFlag) check() error {
	if f.ReviewAt < 0.5 || f.ReviewAt > 1 {
		return errors.New("--review-at: must be 0.5 to 1")
	}
	return nil
}

// load loads a list file, or the list of the bootstrap file with this name. A file is read
// as the bootstrap file declares the first of the lists as that it has.
func (f listFlags) load(ctx context.Context, s *session, list string, as ...string) (*watchlist.List, error) {
	source, err := f.source(ctx, s, list, as...)
	if err != nil {
		return nil, err
	}
	source.Today = s.clock.Now()
	return watchlist.Load(ctx, source)
}

// source returns where a list comes from and how it is read.
func (f listFlags) source(ctx context.Context, s *session, list string, as ...string) (screening.Source, error) {
	if f.Bootstrap != "" {
		b, _, err := s.readProviders(ctx, f.Bootstrap, rest.Options{})
		if err != nil {
			return screening.Source{}, err
		}
		for _, name := range append([]string{list}, as...) {
			i := slices.IndexFunc(b.Lists, func(l definitions.List) bool { return l.Name == name })
			if i < 0 {
				continue
			}
			source := bootstrap.ListSource(b.Lists[i])
			if name != list {
				source.Name, source.Path = list, list
			}
			return source, nil
		}
	}
	source := screening.Source{Name: list, Path: list, Format: screening.Format{Type: watchlist.FormatType(f.Format), Columns: f.Columns}}
	_, err := os.Stat(list)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("there is no file %s, and no list of this name in a bootstrap file: give the path of a file, or --bootstrap and the name of a list", list)
	}
	return source, err
}
