// Policy: what a check does with its hits, by the topics of the entries.

package screening

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/verifyd/verifyd/internal/watchlist"
)

// treatment is what a check does with a hit.
type treatment int

const (
	ignored  treatment = iota // the score is too low
	noted                     // shown, and nothing else
	reviewed                  // a reviewer decides
	failed                    // the check fails
)

// thresholds are the scores from which a check treats a hit; 0 means never.
type thresholds struct {
	NoteAt   float64 `json:"-"`
	ReviewAt float64 `json:"review_at"`
	FailAt   float64 `json:"fail_at"`
}

// treat returns what to do with a match. A match that differs in something never fails.
func (t thresholds) treat(m *watchlist.Match) treatment {
	from := func(at float64) bool { return at > 0 && m.Score >= at }
	switch {
	case from(t.FailAt) && !m.Differs():
		return failed
	case from(t.FailAt) || from(t.ReviewAt):
		return reviewed
	case from(t.NoteAt):
		return noted
	}
	return ignored
}

// lowest returns the lowest score that matters.
func (t thresholds) lowest() float64 {
	least := 1.0
	for _, at := range []float64{t.NoteAt, t.ReviewAt, t.FailAt} {
		if at > 0 {
			least = min(least, at)
		}
	}
	return least
}

// policy has the thresholds by topic.
type policy map[string]thresholds

// anyTopic is the key of a policy for entries whose topic has no key of its own, or that
// have no topic.
const anyTopic = "*"

// shortTopics are short names of topics in a policy.
func shortTopics() map[string]string {
	return map[string]string{"pep": "role.pep", "relative": "role.rca"}
}

// readPolicy reads the policy of a check. What it does not say is as in otherwise.
func readPolicy(raw map[string]json.RawMessage, otherwise thresholds) (policy, error) {
	p, short := policy{}, shortTopics()
	for _, key := range slices.Sorted(maps.Keys(raw)) {
		t, word := otherwise, ""
		if json.Unmarshal(raw[key], &word) != nil {
			if err := json.Unmarshal(raw[key], &t); err != nil {
				return nil, fmt.Errorf("with.policy.%s cannot be read", key)
			}
		}
		switch word {
		case "fail":
			t = thresholds{ReviewAt: otherwise.ReviewAt, FailAt: otherwise.ReviewAt}
		case "review":
			t = thresholds{ReviewAt: otherwise.ReviewAt}
		case "note":
			t = thresholds{NoteAt: otherwise.ReviewAt}
		}
		if t.FailAt > 0 && t.FailAt < t.ReviewAt {
			return nil, fmt.Errorf("with.policy.%s.fail_at must not be below review_at", key)
		}
		topic := key
		if long, ok := short[key]; ok {
			topic = long
		}
		if _, twice := p[topic]; twice {
			return nil, fmt.Errorf("with.policy has %s twice: as %s and under its short name", topic, topic)
		}
		p[topic] = t
	}
	if _, ok := p[anyTopic]; !ok {
		p[anyTopic] = otherwise
	}
	return p, nil
}

// of returns the thresholds for a topic: those of the topic or of the nearest family that has
// some, or else those for any topic.
func (p policy) of(topic string) thresholds {
	for topic != "" {
		if t, ok := p[topic]; ok {
			return t
		}
		topic = topic[:max(0, strings.LastIndexByte(topic, '.'))]
	}
	return p[anyTopic]
}

// treat returns what to do with a match: of its topics the strictest one counts.
func (p policy) treat(m *watchlist.Match) treatment {
	if len(m.Topics) == 0 {
		return p[anyTopic].treat(m)
	}
	strictest := ignored
	for _, topic := range m.Topics {
		strictest = max(strictest, p.of(topic).treat(m))
	}
	return strictest
}

// lowest returns the lowest score that matters.
func (p policy) lowest() float64 {
	least := 1.0
	for _, t := range p {
		least = min(least, t.lowest())
	}
	return least
}
