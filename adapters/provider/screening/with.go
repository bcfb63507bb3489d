// The with of offline.screening: what a check searches for, and how.

package screening

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/internal/birthdate"
	"github.com/verifyd/verifyd/internal/country"
	"github.com/verifyd/verifyd/internal/names"
	"github.com/verifyd/verifyd/internal/watchlist"
	"github.com/verifyd/verifyd/verification"
)

type searchWith struct {
	List        string                             `json:"list"`
	Name        string                             `json:"name"`
	Kind        names.Kind                         `json:"kind"`
	BirthDate   string                             `json:"birth_date"`
	Countries   texts                              `json:"countries"`
	Identifiers map[watchlist.IdentifierType]texts `json:"identifiers"`
	ReviewAt    float64                            `json:"review_at"`
	FailAt      *float64                           `json:"fail_at"`
	Topics      map[string]json.RawMessage         `json:"policy"`
	ClearOn     []string                           `json:"clear_on"`
	Cleared     string                             `json:"cleared"` // "flag" or empty

	policy policy
	kinds  []names.Kind // as which the subject is searched
	doubts []string     // values that cannot be compared
}

// texts is a list of texts; a single one may stand alone.
type texts []string

// UnmarshalJSON implements json.Unmarshaler.
func (t *texts) UnmarshalJSON(raw []byte) error {
	if raw[0] == '[' {
		return json.Unmarshal(raw, (*[]string)(t))
	}
	var one string
	err := json.Unmarshal(raw, &one)
	if one != "" {
		*t = []string{one}
	}
	return err
}

func (p *provider) read(r verification.CheckRequest) (w searchWith, err error) {
	w.ReviewAt = watchlist.ReviewAt
	if err := p.with.Read(r.With, &w); err != nil {
		return w, err
	}
	otherwise := thresholds{ReviewAt: w.ReviewAt}
	if w.FailAt != nil {
		otherwise.FailAt = *w.FailAt
	}
	switch {
	case w.FailAt != nil && *w.FailAt < w.ReviewAt:
		err = errors.New("with.fail_at must not be below review_at")
	default:
		w.policy, err = readPolicy(w.Topics, otherwise)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", ProviderName, err)
	}
	p.readValues(&w, p.day(r))
	return w, err
}

// day returns the day by which the birth date of a check is judged: that on which its run started, in the zone of the tenant.
func (p *provider) day(r verification.CheckRequest) time.Time {
	started := r.StartedAt
	if started.IsZero() {
		started = p.now()
	}
	if zone, err := time.LoadLocation(r.Zone); err == nil {
		started = started.In(zone)
	}
	return started
}

// readValues reads what a customer may have written. A value that cannot be compared is a
// doubt, and the search does without it.
func (p *provider) readValues(w *searchWith, today time.Time) {
	w.kinds = []names.Kind{w.Kind}
	if w.Kind != names.Person && w.Kind != names.Company {
		w.kinds = []names.Kind{names.Person, names.Company}
		w.doubts = append(w.doubts, "the kind is neither person nor company: both were searched")
	}
	switch {
	case w.BirthDate == "":
	case !birthdate.Is(w.BirthDate):
		w.BirthDate = ""
		w.doubts = append(w.doubts, "the birth date is not YYYY, YYYY-MM or YYYY-MM-DD: it was not compared")
	case w.Kind != names.Company && !birthdate.Plausible(w.BirthDate, today):
		w.BirthDate = ""
		w.doubts = append(w.doubts, fmt.Sprintf(
			"the birth date is in the future, more than %d years ago or a date that a system writes for none: it was not compared", birthdate.MaxAge))
	}
	var codes []string
	unknown := 0
	for _, text := range w.Countries {
		code, ok := country.Parse(text)
		switch {
		case code != "":
			codes = append(codes, code)
		case !ok && strings.TrimSpace(text) != "":
			unknown++
		}
	}
	switch {
	case unknown == 1:
		w.doubts = append(w.doubts, "a country is not known by its name or code: it was not compared")
	case unknown > 1:
		w.doubts = append(w.doubts, fmt.Sprintf("%d countries are not known by their names or codes: they were not compared", unknown))
	}
	w.Countries = codes
}

func (w searchWith) subject(kind names.Kind) watchlist.Subject {
	s := watchlist.Subject{Kind: kind, Name: w.Name, BirthDate: w.BirthDate, Countries: w.Countries}
	for _, kind := range slices.Sorted(maps.Keys(w.Identifiers)) {
		for _, value := range w.Identifiers[kind] {
			s.Identifiers = append(s.Identifiers, watchlist.Identifier{Type: kind, Value: value})
		}
	}
	return s
}
