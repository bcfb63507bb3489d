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

// maxAge is the age in years above which a birth date is taken for a mistake. The oldest
// person on record became 122.
const maxAge = 130

func judgeAge(w ageWith, today time.Time) (map[string]any, reason, error) {
	if w.MinYears == nil && w.MaxYears == nil {
		return nil, "", errors.New("offline.age: with.min_years or with.max_years is required")
	}
	birth, why := parseDate(w.BirthDate)
	if why != "" {
		return nil, why, nil
	}
	age := yearsBetween(birth, today)
	if birth.After(today) || age > maxAge {
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
