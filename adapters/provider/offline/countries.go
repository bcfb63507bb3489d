// Countries: the lists of countries that a with accepts.

package offline

import (
	"slices"

	"github.com/verifyd/verifyd/internal/country"
)

// accepted reports whether a list of countries has a country, by its alpha-2 code. An empty list has
// all of them; a text that is no country, which only a template can give, accepts none.
func accepted(countries []string, code string) bool {
	return len(countries) == 0 || slices.ContainsFunc(countries, func(text string) bool {
		one, _ := country.Alpha2(text)
		return one == code
	})
}
