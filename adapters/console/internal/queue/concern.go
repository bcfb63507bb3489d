// Why a run needs a verdict, in words: hits with their facts, failed checks with what they found.

package queue

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/adapters/internal/labels"
	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/internal/country"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// Concern is one thing that a reviewer should look at.
type Concern struct {
	Node  verification.NodeID
	Step  string
	Badge *web.Badge // in place of Step in the queue; nil for none
	Text  string
	// Hit says that it is a hit of a list. The text then has the direction of the page, whatever
	// the script of the listed name.
	Hit bool
	// Linked says that the page of the run shows the step: a review step without a verdict
	// has nothing to show, nor has a check that was not called.
	Linked, Unscreened bool
}

// ConcernOf returns a concern in the language of the reader.
func ConcernOf(s shell.Session, c rules.Concern) Concern {
	v := Concern{Node: c.NodeID, Step: c.Label, Text: s.Sentences(c.Sentences), Linked: c.Kind != rules.ConcernReview && c.Kind != rules.ConcernUnscreened}
	if c.Hit != nil && c.Hit.ID == "" { // redacted
		v.Badge, v.Text = &web.Badge{Icon: "flag", Text: s.Say("concern.redacted")}, s.Count("card.hits", 1+c.MoreHits)
		return v
	}
	switch c.Kind {
	case rules.ConcernHit:
		v.Badge = &web.Badge{Tone: web.Warning, Icon: "flag", Text: s.Say("concern.redacted")}
		if c.List != "" {
			v.Badge.Text = shell.Isolate(labels.InWords(c.List))
		}
		if c.Likeness != nil && c.Likeness.Close() {
			v.Badge.Tone = web.Bad
		}
		v.Text, v.Hit = hitText(s, *c.Hit, c.Likeness), true
		if c.MoreHits > 0 {
			v.Text += " " + s.Count("queue.more", c.MoreHits)
		}
		left := c.OpenHits()
		switch {
		case c.SameHits > 0:
			v.Badge, v.Text = &web.Badge{Tone: web.Bad, Icon: "flag", Text: s.Say("hit.same")}, v.Badge.Text+" · "+v.Text
		case left > 0 && left == c.UnsureHits:
			v.Badge = &web.Badge{Tone: web.Warning, Icon: "flag", Text: s.Count("concern.unsure", c.UnsureHits)}
		case left == 0:
			v.Badge = &web.Badge{Icon: "tick", Text: s.Count("concern.decided", c.DecidedHits)}
		}
		if left > 0 && c.DecidedHits > 0 {
			v.Text += " · " + s.Say("concern.left", left, left+c.DecidedHits)
		}
		if c.UnsureHits > 0 && (c.SameHits > 0 || left > c.UnsureHits) {
			v.Text += " · " + s.Count("concern.unsure", c.UnsureHits)
		}
	case rules.ConcernFailed:
		v.Badge = &web.Badge{Tone: web.Warning, Text: c.Label}
		if c.Sources > 0 {
			v.Text = s.Count("group.sources", c.Sources, c.Confirmed)
			break
		}
		worded := slices.ContainsFunc(c.Sentences, func(one rules.Sentence) bool { return one.Worded(s.Describe).Key != one.Key })
		var found []string
		if c.Finding != "" && !worded {
			found = append(found, capital(labels.InWords(c.Finding)))
		}
		if c.Score != nil && *c.Score != 0 {
			found = append(found, s.Say("concern.score", strconv.FormatFloat(*c.Score, 'f', -1, 64)))
		}
		switch {
		case worded && len(found) > 0:
			v.Text += " " + found[0]
		case len(found) > 0:
			v.Text = strings.Join(found, ", ")
		}
	case rules.ConcernUnscreened:
		v.Badge, v.Unscreened = &web.Badge{Tone: web.Warning, Text: c.Label}, true
	case rules.ConcernFlag, rules.ConcernReview:
	}
	return v
}

// hitText returns who the entry of a hit is: name, how it is like the person, why it is listed, countries.
func hitText(s shell.Session, h verification.Hit, l *rules.Likeness) string {
	parts := append([]string{shell.Isolate(h.Name)}, AlikeOf(s, l)...)
	if l == nil && len(h.BirthDates) > 0 {
		parts = append(parts, s.Say("concern.born", shell.Isolate(h.BirthDates[0])))
	}
	var listed, names []string
	for _, topic := range h.Topics {
		listed = append(listed, shell.Isolate(TopicOf(s, topic)))
	}
	for _, code := range h.Countries {
		names = append(names, shell.Isolate(country.Name(code, s.Lang())))
	}
	for _, all := range [][]string{listed, names} {
		if len(all) > 0 {
			parts = append(parts, strings.Join(all, ", "))
		}
	}
	return strings.Join(parts, " · ")
}

// TopicOf returns why an entry is on a list in words.
func TopicOf(s shell.Session, topic string) string {
	return cmp.Or(s.Message("topic."+topic), labels.InWords(strings.ReplaceAll(topic, ".", "_")))
}

// AlikeOf returns in words how an entry is like the person or company: the name, then the birth date.
func AlikeOf(s shell.Session, l *rules.Likeness) (parts []string) {
	if l == nil || l.Name == "" {
		return nil
	}
	parts = append(parts, NameOf(s, l, "like."))
	if born := BornOf(s, l, "like.born."); born != "" {
		parts = append(parts, born)
	}
	return parts
}

// NameOf returns in words how the name of an entry is like that of the person or company. key is the beginning of the keys
// of the messages.
func NameOf(s shell.Session, l *rules.Likeness, key string) string {
	switch {
	case l.Name != rules.NameAlike:
		return s.Say(key + string(l.Name))
	case l.Words[0] != "" && l.Words[1] != "":
		return s.Say("like.words", shell.Isolate(l.Words[0]), shell.Isolate(l.Words[1]))
	case l.Words[0] != "" || l.Words[1] != "":
		return s.Say(key+"but", shell.Isolate(l.Words[0]+l.Words[1]))
	}
	return s.Say(key + "alike")
}

// BornOf returns in words how the birth date of an entry is like the birth date of the person; empty for a company. key is
// the beginning of the keys of the messages.
func BornOf(s shell.Session, l *rules.Likeness, key string) string {
	switch date := shell.Isolate(l.Date); {
	case l.Born == "": // a company
		return ""
	case l.Born == rules.BornNotGiven && l.Date == "":
		return s.Say(key + "none")
	case l.Born == rules.BornApart:
		return s.Count(key+"apart", l.Years, date)
	case l.Born == rules.BornSameDay || l.Date == "":
		return s.Say(key + string(l.Born))
	default:
		return s.Say(key+string(l.Born), date)
	}
}

// Percent returns a score of 0 to 1 in percent.
func Percent(score float64) int { return int(math.Round(100 * score)) }

// capital returns a text with a capital letter in front: the finding of a check may be a sentence.
func capital(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

// differingOf returns a fact that does not match, in the language of the reader.
func differingOf(s shell.Session, d rules.Differing) Concern {
	return Concern{
		Badge: &web.Badge{Tone: web.Warning, Text: s.Say("concern.fact", shell.Isolate(labels.InWords(d.Fact)))},
		Text:  shell.Isolate(cmp.Or(d.Source, s.Say("run.input"))) + ": " + shell.Isolate(d.Value),
	}
}
