// Values of facts: whether two of them say the same.

package expression

import (
	"math"

	"github.com/verifyd/verifyd/internal/names"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/workflow"
)

// sameName is the score from which two names agree: the threshold that offline.name_match has by default.
const sameName = 0.85

// Agree reports whether two values say the same.
func (v values) Agree(kind workflow.FactKind, a, b any) bool {
	return facts.Agree(a, b) || kind != workflow.FactText && sameNames(names.Kind(kind), a, b)
}

// sameNames reports whether a text of one value and a text of the other are one name.
func sameNames(kind names.Kind, a, b any) bool {
	for _, x := range namesIn(a) {
		for _, y := range namesIn(b) {
			if oneName(kind, x, y) {
				return true
			}
		}
	}
	return false
}

func oneName(kind names.Kind, a, b string) bool {
	c := names.New()
	first, err := c.ParseRegistered(kind, a)
	if err != nil {
		return false // a name without a letter
	}
	second, err := c.ParseRegistered(kind, b)
	if err != nil {
		return false
	}
	return math.Round(float64(c.Identify(first, second).Score)*1000)/1000 >= sameName
}

// maxNames bounds the names of a list.
const maxNames = 20

// namesIn returns the texts of a value.
func namesIn(v any) (all []string) {
	switch v := v.(type) {
	case string:
		all = append(all, v)
	case []any:
		for _, item := range v[:min(len(v), maxNames)] {
			if text, ok := item.(string); ok {
				all = append(all, text)
			}
		}
	}
	return all
}
