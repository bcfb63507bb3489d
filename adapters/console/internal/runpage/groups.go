// The parts of the page of a run: cards, and groups with the cards of their members and elements.

package runpage

import (
	"slices"

	"github.com/verifyd/verifyd/adapters/console/internal/shell"
	"github.com/verifyd/verifyd/adapters/internal/web"
	"github.com/verifyd/verifyd/internal/desk"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/report"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// partView is a card that stands alone, or a group.
type partView struct {
	Card  *cardView
	Group *groupView
}

// groupView is the heading of a group, and what stands under it.
type groupView struct {
	Node    verification.NodeID
	Title   string
	Badge   web.Badge
	Text    string // what is needed
	Decided string // how it was decided, and when
	Under   []partView
	Absent  []string // the members without a card, and why
	Inner   bool     // it is an element of another group

	of    workflow.NodeType
	look  bool // a person should look at it
	faces bool // a card under it has pictures to look at
}

// partsOf puts the cards under their groups. A card under a group has a badge that says what its answer says.
func partsOf(s shell.Session, rec desk.RunRecord, cards []cardView) (parts []partView) {
	views := map[verification.NodeID]*cardView{}
	for i := range cards {
		views[cards[i].Node] = &cards[i]
	}
	for _, section := range report.Sections(rec.Report) {
		parts = append(parts, partOf(s, section, nil, views))
	}
	return parts
}

// sort puts each part in its place on the page. The card of a review has no data: it is left
// out until it has a verdict.
func (v *runView) sort(parts []partView) {
	for _, part := range parts {
		c, g := part.Card, part.Group
		switch {
		case c != nil && c.of == workflow.NodeReview && c.status == rules.CardNeedsReview:
		case c != nil && c.look && c.Faces != nil, g != nil && g.faces:
			v.Faces = append(v.Faces, part)
		case c != nil && c.look, g != nil && g.look:
			v.Problems = append(v.Problems, part)
		case c != nil && c.of == workflow.NodeCustomerInput, g != nil && g.of == workflow.NodeCustomerInput:
			v.Given = append(v.Given, part)
		default:
			v.Passed = append(v.Passed, part)
		}
	}
}

func partOf(s shell.Session, section report.Section, in *rules.ReportGroup, views map[verification.NodeID]*cardView) partView {
	if section.Card != nil {
		card := views[section.Card.NodeID]
		if in != nil {
			card.stand(s, in, *section.Card)
		}
		return partView{Card: card}
	}
	g := section.Group
	v := &groupView{
		Node: g.NodeID, Title: g.Label, Badge: groupBadge(s, *g), Inner: in != nil, Decided: decided(s, *g), of: g.Type,
		look: slices.Contains([]rules.GroupStatus{rules.GroupNotMet, rules.GroupUnavailable, rules.GroupUnfinished}, g.Status),
	}
	switch {
	case g.Each:
		v.Title = s.Say("group.title", shell.Isolate(g.Label), len(g.Members))
		v.Text = s.Count("group.each", len(g.Members))
	case g.Need == workflow.NeedAll:
		v.Text = s.Count("group.sources", g.Asked(), g.Count(rules.AnswerConfirmed)) + s.Say("group.need.all")
	default:
		v.Text = s.Count("group.sources", g.Asked(), g.Count(rules.AnswerConfirmed)) + s.Count("group.need", int(g.Need))
	}
	shown := map[verification.NodeID]bool{}
	for _, under := range section.Under {
		part := partOf(s, under, g, views)
		v.Under = append(v.Under, part)
		switch {
		case part.Group != nil:
			shown[part.Group.Node] = true
			v.look, v.faces = v.look || part.Group.look, v.faces || part.Group.faces
		default:
			shown[part.Card.Node] = true
			v.look, v.faces = v.look || part.Card.look, v.faces || part.Card.look && part.Card.Faces != nil
		}
	}
	for _, m := range g.Members {
		if !shown[m.NodeID] && (m.Answer == rules.AnswerOpen || !m.Called()) { // any other one has a card
			v.Absent = append(v.Absent, s.Say("group.absent."+string(m.Answer), shell.Isolate(m.Label)))
		}
	}
	return partView{Group: v}
}

// stand puts a card under a group: with what its answer says, and in a waterfall why it was asked.
func (v *cardView) stand(s shell.Session, g *rules.ReportGroup, c rules.Card) {
	v.Label = g.Under(c)
	flagged := len(c.Causes) > 0 && c.Status != rules.CardOK
	v.look = flagged || g.Each && c.Status != rules.CardOK
	v.Open = g.Type == workflow.NodeCustomerInput || v.look && (len(v.Hits) == 0 || len(withoutHits(c.Sentences)) > 0) // hits have rows
	i := slices.IndexFunc(g.Members, func(m rules.GroupMember) bool { return m.NodeID == c.NodeID })
	if i < 0 || !g.Members[i].Called() { // the card is of an earlier visit
		return
	}
	m := g.Members[i]
	if m.Answer == rules.AnswerFlagged && c.Status != rules.CardFailed || !flagged && !g.Each {
		v.Badge = answerBadge(s, m.Answer, m.Hits)
	}
	if before, ok := g.Before(i); ok {
		v.Why = s.Say("group.after."+string(before.Answer), shell.Isolate(before.Label))
	}
}

// decided says how a group was decided, and when.
func decided(s shell.Session, g rules.ReportGroup) string {
	if g.DecidedAt.IsZero() || len(g.Members) == 0 {
		return ""
	}
	confirmed, flagged, at := g.Count(rules.AnswerConfirmed), g.Count(rules.AnswerFlagged), s.At(g.DecidedAt).Text
	switch {
	case g.Type == workflow.NodeCustomerInput:
		return s.Count("group.answered", confirmed+flagged, at)
	case !g.Each && flagged > 0:
		return s.Say("group.decided.flagged", at, flagged)
	case !g.Each:
		return s.Say("group.decided", at)
	case flagged > 0:
		return s.Count("group.passed.flagged", confirmed, at, flagged)
	}
	return s.Count("group.passed", confirmed, at)
}

func groupBadge(s shell.Session, g rules.ReportGroup) web.Badge {
	b := web.Badge{Text: s.Say("group." + string(g.Status))}
	switch g.Status {
	case rules.GroupMet:
		b.Tone, b.Icon = web.Good, "tick"
		if g.Each {
			b.Text = s.Say("card.ok")
		}
	case rules.GroupFlagged:
		key := "group.flagged"
		if g.Each {
			key = "group.passed_flagged"
		}
		return flaggedBadge(s, key, g.Hits())
	case rules.GroupNotMet, rules.GroupUnavailable, rules.GroupUnfinished:
		b.Tone, b.Icon = web.Bad, "cross"
		if g.Each && g.Status == rules.GroupNotMet {
			b.Text = s.Say("card.failed")
		}
	case rules.GroupOpen:
	}
	return b
}

// flaggedBadge returns the badge of what counts although something is open at it.
func flaggedBadge(s shell.Session, key string, hits int) web.Badge {
	b := web.Badge{Tone: web.Warning, Icon: "flag", Text: s.Say(key)}
	if hits > 0 {
		b.Text = s.Count(key+".hits", hits)
	}
	return b
}

// answerBadge returns the badge of a member that was called, with the hits that are open at it.
func answerBadge(s shell.Session, a rules.MemberAnswer, hits int) web.Badge {
	b := web.Badge{Text: s.Say("answer." + string(a))}
	switch a {
	case rules.AnswerConfirmed:
		b.Tone, b.Icon = web.Good, "tick"
	case rules.AnswerFlagged:
		return flaggedBadge(s, "answer.flagged", hits)
	case rules.AnswerNotConfirmed, rules.AnswerUnfinished:
		b.Tone, b.Icon = web.Bad, "cross"
	case rules.AnswerNoCoverage, rules.AnswerInconclusive, rules.AnswerNone, rules.AnswerNotNeeded, rules.AnswerNotCalled,
		rules.AnswerLeftOut, rules.AnswerOpen:
	}
	return b
}

// roundView is a time at which the customer was asked again: it stands above the answer that was asked about.
type roundView struct {
	timelineLine
	Came string // says whether the customer answered, and when
}

// roundsOf returns the rounds of a step by the visit before them.
func roundsOf(s shell.Session, rec desk.RunRecord, c rules.Card) map[int]*roundView {
	all := map[int]*roundView{}
	for _, r := range c.Rounds {
		by := s.Say("round.workflow", r.Round)
		if rec.Definition.Nodes[r.From].Type == workflow.NodeReview {
			by = s.Say("round.reviewer", r.Round, shell.Isolate(personName(s, r.By)))
		}
		v := &roundView{timelineLine: timelineLine{At: s.At(r.At), Text: by, Detail: r.Note, Notes: askedFor(s, rec, c.NodeID, r.Reasons, r.Fields)}}
		switch {
		case !r.AnsweredAt.IsZero():
			v.Came = s.Say("round.answered", s.At(r.AnsweredAt).Text)
		case rec.Report.Run.Status.Terminal():
			v.Came = s.Say("round.unanswered")
		default:
			v.Came = s.Say("round.open")
		}
		all[r.Visit] = v
	}
	return all
}
