// offline.age: how old the customer is.

package offline

import (
	"errors"
	"time"
)

type ageWith struct {
	BirthDate string   `json:"birth_date"`
	MinYears  *float64 `json:"min_years"`
	MaxYears  *float64 `json:"max_years"`
}

// maxAge is the age in years from which a birth date is taken for a mistake. Nobody
// has been known to become older than 122.
const maxAge = 130

func ageDescription() description {
	return description{
		summary:  "Whether a person has at least or at most a number of years at the time of the run.",
		required: []string{"birth_date"},
		with: `{
			"birth_date": {"type": "string", "format": "date", "title": "Date of birth"},
			"min_years": {"type": "integer", "minimum": 0, "title": "Minimum age", "x-unit": "years"},
			"max_years": {"type": "integer", "minimum": 0, "title": "Maximum age", "x-unit": "years"}
		}`,
		data: `{"age": {"type": "integer", "title": "Age", "x-unit": "years"}}`,
	}
}

func judgeAge(w ageWith, now time.Time) (map[string]any, reason, error) {
	if w.MinYears == nil && w.MaxYears == nil {
		return nil, "", errors.New("offline.age: with.min_years or with.max_years is required")
	}
	birth, why := parseDate(w.BirthDate)
	if why != "" {
		return nil, why, nil
	}
	age := yearsBetween(birth, today(now))
	if birth.After(now) || age > maxAge {
		return nil, "implausible", nil
	}
	data := map[string]any{"age": age}
	switch {
	case w.MinYears != nil && float64(age) < *w.MinYears:
		return data, "too_young", nil
	case w.MaxYears != nil && float64(age) > *w.MaxYears:
		return data, "too_old", nil
	}
	return data, "", nil
}
