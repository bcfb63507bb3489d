// Where the lists of a file come from.

package bootstrap

import (
	"github.com/verifyd/verifyd/adapters/provider/screening"
	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/internal/names"
	"github.com/verifyd/verifyd/internal/watchlist"
)

// ListSource returns the source of a list.
func ListSource(l definitions.List) screening.Source {
	return screening.Source{
		Name: l.Name, Path: l.Path, MaxAge: l.MaxAge,
		Format: screening.Format{
			Type: watchlist.FormatType(l.Format), Kind: names.Kind(l.Kind), Columns: l.Columns, Delimiter: l.Delimiter, Encoding: l.Encoding,
		},
	}
}
