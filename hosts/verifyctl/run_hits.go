// Hits of screenings as run show prints them.

package main

import (
	"cmp"
	"fmt"

	"github.com/verifyd/verifyd/verification/rules"
)

// shownHit is a hit of a screening, and what the newest decision says of it.
type shownHit struct {
	Card  string `json:"card"` // and the visit, if it is an earlier one
	List  string `json:"list"`
	Entry string `json:"entry"`
	Match string `json:"match"` // same, other, unsure or open
	By    string `json:"by,omitempty"`
}

// hitsOf returns the hits of a report. Those of a redacted run are not known any more.
func hitsOf(r rules.Report) (all []shownHit) {
	add := func(card string, hits []rules.FoundHit) {
		for _, h := range hits {
			if h.ID != "" {
				all = append(all, shownHit{card, h.List, h.ID, cmp.Or(string(h.Decision.Match), "open"), h.Decision.By})
			}
		}
	}
	for _, c := range r.Cards {
		add(string(c.NodeID), c.Hits())
		for _, v := range c.Visits {
			add(fmt.Sprintf("%s, visit %d", c.NodeID, v.Number), v.Hits())
		}
	}
	return all
}

// row is the hit as a row of a table.
func (h shownHit) row() []string {
	words := map[string]string{string(rules.MatchSame): "same person", string(rules.MatchOther): "another person", string(rules.MatchUnsure): "not sure"}
	return []string{h.Card, h.List, h.Entry, cmp.Or(words[h.Match], h.Match), h.By}
}
