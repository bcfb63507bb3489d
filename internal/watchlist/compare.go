// The comparison of two names.

package watchlist

import (
	"fmt"

	"github.com/verifyd/verifyd/internal/names"
)

// ReviewAt is the score from which a reviewer decides, unless a check says otherwise.
const ReviewAt = 0.85

// Comparison is the result of comparing two names.
type Comparison struct {
	Score   float64  `json:"score"` // 0 to 1
	Reasons []string `json:"reasons"`
	// ReadAs says how the words of each name were read, and Parts which names each also has; see names.Comparer.Split.
	ReadAs []string   `json:"read_as,omitempty"`
	Parts  [][]string `json:"parts,omitempty"`
}

// ErrNoName is the error of a name without a letter and a digit.
var ErrNoName = names.ErrNoName

// Same scores whether two names are the name of one person or company, as offline.name_match does: a word
// that only one name has lowers the score, except one middle name. kind is person or company.
func Same(c *names.Comparer, kind names.Kind, a, b string) (Comparison, error) {
	first, err := c.ParseRegistered(kind, a)
	if err != nil {
		return Comparison{}, fmt.Errorf("name: %w", err)
	}
	second, err := c.ParseRegistered(kind, b)
	if err != nil {
		return Comparison{}, fmt.Errorf("other: %w", err)
	}
	m := c.Identify(first, second)
	return Comparison{Score: round(float64(m.Score)), Reasons: explain(m, "the other name")}, nil
}

// Compare compares two names as a search does, without a list: all words have the same
// weight, except those that very many people share. kind is person or company.
func Compare(c *names.Comparer, kind names.Kind, a, b string) (Comparison, error) {
	first, err := c.Parse(kind, a)
	if err != nil {
		return Comparison{}, fmt.Errorf("name: %w", err)
	}
	second, err := c.Parse(kind, b)
	if err != nil {
		return Comparison{}, fmt.Errorf("other: %w", err)
	}
	m := c.Compare(first, second)
	out := Comparison{Score: round(float64(m.Score)), Reasons: explain(m, "the other name"), ReadAs: []string{first.ReadAs(), second.ReadAs()}}
	for _, text := range []string{a, b} {
		parts, _ := c.Split(text)
		texts := make([]string, len(parts))
		for i, p := range parts {
			texts[i] = p.Text
		}
		out.Parts = append(out.Parts, texts)
	}
	return out, nil
}
