// Formats of ours: what a JSON Schema may require of a text beside the formats of the standard.

package schematext

import (
	"errors"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/verifyd/verifyd/internal/country"
)

// The names of the formats of ours.
const (
	// formatCountry is a country or territory of today: its name or its code, as
	// country.Alpha2 reads it.
	formatCountry = "country"
	// formatNationality is also a state that is no more, and what travel documents write
	// in place of a country, as country.Parse reads it.
	formatNationality = "nationality"
)

// errFormat is the error of a text that does not have a format. Message says what the
// format requires.
var errFormat = errors.New("does not have the format")

// Formats returns the formats of ours, for a compiler of schemas. They may be used by
// several goroutines.
func Formats() []*jsonschema.Format {
	format := func(name string, has func(text string) bool) *jsonschema.Format {
		return &jsonschema.Format{Name: name, Validate: func(v any) error {
			if text, ok := v.(string); ok && !has(text) {
				return errFormat
			}
			return nil
		}}
	}
	return []*jsonschema.Format{
		format(formatCountry, func(text string) bool {
			_, ok := country.Alpha2(text)
			return ok
		}),
		format(formatNationality, func(text string) bool {
			_, ok := country.Parse(text)
			return ok
		}),
	}
}

// Values returns texts of a format of ours, of which one may be meant by a text that does
// not have it; nil for any other format.
func Values(format string) []string {
	if format != formatCountry && format != formatNationality {
		return nil
	}
	return slices.Collect(country.Names())
}
