// Countries: the lists of countries that a with accepts.

package offline

import (
	"slices"

	"github.com/verifyd/verifyd/internal/country"
)

// countries returns a function that reports whether a list of accepted countries has a
// country, by its alpha-2 code. An empty list has all of them; a text that is no country, which only a
// template can give, accepts none.
func countries(known country.Index, accepted []string) func(string) bool {
	codes := make([]string, len(accepted))
	for i, text := range accepted {
		codes[i], _ = known.Alpha2(text)
	}
	return func(code string) bool { return len(codes) == 0 || slices.Contains(codes, code) }
}
