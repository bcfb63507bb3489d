// What lines of the timeline are made of: labels, flags, names and notes.

package runpage

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/facts"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// teller makes lines of events.
type teller struct {
	shell.Session
	rec desk.RunRecord

	steps    map[verification.NodeID]rules.Step // of the whole history, with the labels so far
	visits   map[verification.NodeID]int        // so far
	asked    map[verification.NodeID]string     // the provider that was called last
	hits     map[verification.ClearedHit]string // the names of the entries found so far
	branches []branchView
	told     int            // events
	elements facts.Elements // of the lists so far
}

// run returns a line about the run.
func (t *teller) run(tone web.Tone, key string, args ...any) timelineLine {
	return timelineLine{Tone: tone, Text: t.Say("timeline."+key, args...)}
}

// person returns a line about what a person did, or a program without a name.
func (t *teller) person(by string, tone web.Tone, key string, args ...any) timelineLine {
	return t.run(tone, key, append([]any{shell.Isolate(personName(t.Session, by))}, args...)...)
}

// step returns a line about a step, whose label comes first in the message.
func (t *teller) step(id verification.NodeID, tone web.Tone, key string, args ...any) timelineLine {
	l := t.run(tone, key, append([]any{shell.Isolate(t.label(id))}, args...)...)
	l.Depth = depthOf(id)
	return l
}

// count returns a line about a number of things at a step.
func (t *teller) count(id verification.NodeID, tone web.Tone, key string, n int) timelineLine {
	return timelineLine{Tone: tone, Text: t.Count("timeline."+key, n, shell.Isolate(t.label(id))), Depth: depthOf(id)}
}

// depthOf returns how deep the lines of a step are.
func depthOf(id verification.NodeID) (depth int) {
	_, element, member := id.Parts()
	if element > 0 {
		depth++
	}
	if member != "" {
		depth++
	}
	return depth
}

func (l timelineLine) saying(detail string) timelineLine {
	l.Detail = detail
	return l
}

func (l timelineLine) noting(notes ...string) timelineLine {
	l.Notes = append(l.Notes, notes...)
	return l
}

// arrived counts a visit of a step, and notes the number of a later visit.
func (t *teller) arrived(id verification.NodeID, l timelineLine) timelineLine {
	if t.visits[id]++; t.visits[id] > 1 {
		return l.noting(t.Say("timeline.visit", t.visits[id]))
	}
	return l
}

// next notes when the provider is called or polled next; zero for not at all.
func (t *teller) next(at time.Time, l timelineLine) timelineLine {
	if at.IsZero() {
		return l
	}
	return l.noting(t.Say("timeline.next", t.At(at).Text))
}

// because notes the reason of a verdict by its code, which may be empty.
func (t *teller) because(code string, l timelineLine) timelineLine {
	if reason := reasonOf(t.Session, t.rec.Definition, code); reason != "" {
		return l.noting(t.Say("timeline.reason", shell.Isolate(reason)))
	}
	return l
}

// cleared notes the hits that a screening left out.
func (t *teller) cleared(all []rules.Clearance, l timelineLine) timelineLine {
	for _, c := range all {
		l = l.noting(clearedBy(t.Session, c))
	}
	return l
}

// result returns the line of a result. A check that passed with hits has not cleared anybody.
func (t *teller) result(f rules.ResultRecorded) timelineLine {
	flags := t.flags(f.Node, f.Data, f.Screening)
	l := t.step(f.Node, web.Bad, "not_passed")
	no := rules.AnswerSentence(verification.OutcomeFailed, t.asked[f.Node], f.Data)
	if said := no.Worded(t.Describe); said.Key == "" {
		l = l.noting(shell.Isolate(said.Text))
	}
	if f.Passed {
		l = t.step(f.Node, web.Good, "passed")
		if len(rules.CausesIn(f.Data, f.Screening)) > 0 {
			l.Tone = web.Warning
		}
	}
	l.Detail = flags
	if f.Screening == nil {
		return l
	}
	found := t.found(f.Screening.List, f.Screening.Hits)
	if n := len(f.Screening.Hits); f.Passed && n > 0 {
		l = t.count(f.Node, web.Warning, "matches", n).saying(cmp.Or(flags, found))
	}
	return t.cleared(f.Screening.Cleared, l)
}

// submission returns the line of a customer's answer.
func (t *teller) submission(f rules.CustomerSubmitted) timelineLine {
	causes, consent := rules.CausesIn(f.Data, nil), t.steps[f.Node].Type == workflow.NodeConsent
	l := t.step(f.Node, web.Neutral, "submitted")
	switch {
	case consent && slices.Contains(causes, rules.CauseConsent):
		l = t.step(f.Node, web.Warning, "declined")
	case consent:
		l = t.step(f.Node, web.Good, "consented")
	case slices.Contains(causes, rules.CauseOptedOut):
		l = t.step(f.Node, web.Warning, "opted_out")
	}
	return l.saying(t.flags(f.Node, f.Data, nil))
}

// decided returns the line of a group that was decided.
func (t *teller) decided(f rules.GroupDecided, at time.Time) timelineLine {
	switch {
	case f.Passed:
		visit := func(g rules.ReportGroup) bool { return g.NodeID == f.Node && g.DecidedAt.Equal(at) }
		groups := t.rec.Report.Groups
		if !slices.ContainsFunc(groups, visit) { // an earlier visit, as it was decided
			groups = rules.Fold("", t.rec.History[:t.told]).ReportGroups(t.rec.Definition)
		}
		if slices.ContainsFunc(groups, func(g rules.ReportGroup) bool { return visit(g) && g.Status == rules.GroupFlagged }) {
			return t.step(f.Node, web.Warning, "met")
		}
		return t.step(f.Node, web.Good, "met")
	case f.Unavailable:
		return t.step(f.Node, web.Bad, "unanswered")
	}
	return t.step(f.Node, web.Bad, "not_met")
}

// hit returns the line of a decision on a hit.
func (t *teller) hit(f rules.HitDecided) timelineLine {
	tone, key := web.Neutral, "hit_unsure"
	switch f.Match {
	case rules.MatchSame:
		tone, key = web.Bad, "hit_same"
	case rules.MatchOther:
		key = "hit_other"
	case rules.MatchUnsure:
	}
	entry := cmp.Or(t.hits[verification.ClearedHit{List: f.List, Entry: f.Entry, Digest: f.Digest}], f.Entry)
	return t.step(f.Node, tone, key, shell.Isolate(personName(t.Session, f.By)), shell.Isolate(entryName(t.Session, entry))).saying(f.Reason)
}

// found keeps the names of hits, and returns them as one text.
func (t *teller) found(list string, hits []verification.Hit) string {
	var names []string
	for _, h := range hits {
		if h.Name != "" { // a redacted hit has none
			names = append(names, h.Name)
		}
		t.hits[verification.ClearedHit{List: list, Entry: h.ID, Digest: h.Digest}] = h.Name
	}
	return strings.Join(names, ", ")
}

// flags returns what the data of a visit flags, if the step was visited more than once, or only on earlier visits of its node;
// else its card says it.
func (t *teller) flags(id verification.NodeID, d verification.Data, s *rules.Screening) string {
	if t.steps[id].Visits < 2 && !t.steps[id].Gone {
		return ""
	}
	var all []rules.Sentence
	for _, c := range rules.CausesIn(d, s) {
		all = append(all, c.Sentence())
	}
	return t.Sentences(all)
}

// relabel keeps the label that a step has from a visit on.
func (t *teller) relabel(id verification.NodeID, label string) {
	s := t.steps[id]
	s.Label = label
	t.steps[id] = s
}

// label returns the label of a step with the name of its element.
func (t *teller) label(id verification.NodeID) string { return t.elements.Label(id, t.plainLabel(id)) }

// plainLabel returns the label of a step: in the history, or else in the definition, or else its node.
func (t *teller) plainLabel(id verification.NodeID) string {
	n, _ := t.rec.Definition.Node(id)
	of, element, member := id.Parts()
	switch label := t.steps[id].Label; {
	case label != "" && label != string(id):
		return label
	case n.Label == "":
		return string(id)
	case member == "":
		return n.Label
	case element > 0:
		return t.plainLabel(of.Element(element)) + ": " + n.Label
	}
	return t.rec.Definition.Label(id)
}

// field returns the label of a field of a step, or else its name.
func (t *teller) field(id verification.NodeID, name string) string {
	n, _ := t.rec.Definition.Node(id)
	return cmp.Or(n.Fields.LabelAt(name, ""), name)
}

// hostOf returns the host of a URL, which alone is shown: the rest may be the customer's.
func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Host
}

// personName returns the name of a reviewer, or words for a verdict of a program.
func personName(s shell.Session, name string) string {
	return cmp.Or(name, s.Say("verdict.program"))
}
