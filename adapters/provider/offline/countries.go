// Countries: the lists of countries that a with accepts.

package offline

import (
	"fmt"
	"slices"

	"github.com/verifyd/verifyd/internal/country"
)

// countries returns a function that reports whether a list of accepted countries
// has a country; an empty list has all of them.
func countries(check string, accepted []string) (func(string) bool, error) {
	for i, code := range accepted {
		if !country.IsAlpha2(code) {
			return nil, fmt.Errorf("%s: with.countries[%d] must be an ISO 3166-1 alpha-2 code in upper case, such as DE", check, i)
		}
	}
	return func(code string) bool { return len(accepted) == 0 || slices.Contains(accepted, code) }, nil
}
