// Why a run needs a verdict, in words: hits with their facts, failed checks with what they found.

package console

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/internal/country"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// concernView is one thing that a reviewer should look at.
type concernView struct {
	Node  verification.NodeID
	Step  string
	Badge *web.Badge // in place of Step in the queue; nil for none
	Text  string
	// Hit says that it is a hit of a list. The text then has the direction of the page, whatever
	// the script of the listed name.
	Hit bool
	// Linked says that the page of the run shows the step: a review step without a verdict
	// has nothing to show.
	Linked bool
}

// concernView returns a concern in the language of the reader.
func (s session) concernView(c rules.Concern) concernView {
	v := concernView{Node: c.NodeID, Step: c.Label, Text: s.sentences(c.Sentences), Linked: c.Kind != rules.ConcernReview}
	switch c.Kind {
	case rules.ConcernHit:
		v.Badge = &web.Badge{Tone: web.Bad, Icon: "flag", Text: s.say("concern.hit", percent(c.Hit.Score))}
		v.Text, v.Hit = s.hitText(*c.Hit), true
		if c.MoreHits > 0 {
			v.Text += " " + s.count("queue.more", c.MoreHits)
		}
		left := c.OpenHits()
		switch {
		case c.SameHits > 0:
			v.Badge = &web.Badge{Tone: web.Bad, Icon: "flag", Text: s.say("hit.same")}
		case left == 0:
			v.Badge = &web.Badge{Icon: "tick", Text: s.count("concern.decided", c.DecidedHits)}
		}
		if left > 0 && c.DecidedHits > 0 {
			v.Text += " · " + s.say("concern.left", left, left+c.DecidedHits)
		}
	case rules.ConcernFailed:
		v.Badge = &web.Badge{Tone: web.Warning, Text: c.Label}
		var found []string
		if c.Finding != "" {
			found = append(found, inWords(c.Finding))
		}
		if c.Score != nil {
			found = append(found, s.say("concern.score", strconv.FormatFloat(*c.Score, 'f', -1, 64)))
		}
		if len(found) > 0 {
			v.Text = strings.Join(found, ", ")
		}
	case rules.ConcernFlag, rules.ConcernReview:
	}
	return v
}

// hitText returns who the entry of a hit is: name, birth date, countries.
func (s session) hitText(h verification.Hit) string {
	parts := []string{isolate(h.Name)}
	if len(h.BirthDates) > 0 {
		parts = append(parts, s.say("concern.born", isolate(h.BirthDates[0])))
	}
	if len(h.Countries) > 0 {
		var names []string
		for _, code := range h.Countries {
			names = append(names, isolate(country.Name(code, s.Lang())))
		}
		parts = append(parts, strings.Join(names, ", "))
	}
	return strings.Join(parts, ", ")
}

// percent returns a score of 0 to 1 in percent.
func percent(score float64) int { return int(math.Round(100 * score)) }

// differing returns a fact that does not match, in the language of the reader.
func (s session) differing(d rules.Differing) concernView {
	return concernView{
		Badge: &web.Badge{Tone: web.Warning, Text: s.say("concern.fact", isolate(inWords(d.Fact)))},
		Text:  isolate(cmp.Or(d.Source, s.say("run.input"))) + ": " + isolate(d.Value),
	}
}
