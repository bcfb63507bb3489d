// Package screened says whom a check has screened.
package screened

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/verifyd/verifyd/internal/fold"
)

// Subject is the person or company that a check has screened.
type Subject struct {
	Name                           string
	BirthDates, Countries, Numbers []string
}

// Of returns the person or company that a check has screened: as the check was asked and, if the run is about the same one,
// as the run says.
func Of(asked map[string]any, name, birthDate, number string) Subject {
	texts := func(keys ...string) (all []string) {
		for _, key := range keys {
			if all = Texts(asked[key]); len(all) > 0 {
				break
			}
		}
		return all
	}
	who := Subject{
		strings.Join(texts("name", "full_name"), " "), texts("birth_date", "date_of_birth", "dob"),
		texts("countries", "country", "nationality"), texts("identifiers", "number"),
	}
	if who.Name == "" || fold.Words(who.Name) == fold.Words(name) {
		who.Name = cmp.Or(who.Name, name)
		if len(who.BirthDates) == 0 {
			who.BirthDates = Texts(birthDate)
		}
		if len(who.Numbers) == 0 {
			who.Numbers = Texts(number)
		}
	}
	return who
}

// Texts returns the texts and numbers in a value; none if there are only blank ones.
func Texts(value any) (all []string) {
	switch v := value.(type) {
	case string:
		if v = strings.TrimSpace(v); v != "" {
			all = []string{v}
		}
	case json.Number:
		all = []string{v.String()}
	case float64:
		all = []string{strconv.FormatFloat(v, 'f', -1, 64)}
	case []any:
		for _, one := range v {
			all = append(all, Texts(one)...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = append(all, Texts(v[key])...)
		}
	}
	return all
}
