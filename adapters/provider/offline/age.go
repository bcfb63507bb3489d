// offline.age: how old the customer is.

package offline

import (
	"errors"
	"time"

	"github.com/verifyd/verifyd/internal/birthdate"
)

type ageWith struct {
	BirthDate string   `json:"birth_date"`
	MinYears  *float64 `json:"min_years"`
	MaxYears  *float64 `json:"max_years"`
}

func judgeAge(w ageWith, today time.Time) (map[string]any, reason, error) {
	if w.MinYears == nil && w.MaxYears == nil {
		return nil, "", errors.New("offline.age: with.min_years or with.max_years is required")
	}
	birth, why := parseBirth(w.BirthDate)
	if why != "" {
		return nil, why, nil
	}
	if !birthdate.Plausible(birth, today) {
		return nil, "implausible", nil
	}
	first, last := birthdate.Range(birth)
	if last.After(today) {
		last = today
	}
	youngest, oldest := yearsBetween(last, today), yearsBetween(first, today)
	data := map[string]any{"age": youngest}
	switch {
	case w.MinYears != nil && float64(oldest) < *w.MinYears:
		return data, "too_young", nil
	case w.MaxYears != nil && float64(youngest) > *w.MaxYears:
		return data, "too_old", nil
	case w.MinYears != nil && float64(youngest) < *w.MinYears, w.MaxYears != nil && float64(oldest) > *w.MaxYears:
		return data, "incomplete", nil
	}
	return data, "", nil
}
