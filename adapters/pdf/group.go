// Groups: the headings of cards, and the times at which a customer was asked again.

package pdf

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/johnfercher/maroto/v2/pkg/core"

	"github.com/verifyd/verifyd/internal/typeset"
	"github.com/verifyd/verifyd/verification/report"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// cards returns the cards of a report under the headings of their groups. It checks the context between cards.
func (l *layout) cards(ctx context.Context, r report.Print) (sections []section, err error) {
	n := 0
	var add func(all []report.Section, in *rules.ReportGroup) error
	add = func(all []report.Section, in *rules.ReportGroup) error {
		for _, s := range all {
			switch {
			case n == limitCards:
				return nil
			case s.Group != nil:
				sections = append(sections, l.group(*s.Group, len(s.Under) > 0))
				if err := add(s.Under, s.Group); err != nil {
					return err
				}
			case ctx.Err() != nil:
				return ctx.Err()
			default:
				n++
				sections = append(sections, l.card(n, *s.Card, r, in))
			}
		}
		return nil
	}
	if err := add(report.Sections(r.Report), nil); err != nil {
		return nil, err
	}
	if more := len(r.Cards) - n; more > 0 {
		sections = append(sections, l.note(typeset.Thousands(more)+" more steps are not printed here. The report that the API returns has them."))
	}
	return sections, nil
}

// inOrder adds the cards of sections in the order in which they are printed.
func inOrder(cards []rules.Card, all []report.Section) []rules.Card {
	for _, s := range all {
		if s.Card != nil {
			cards = append(cards, *s.Card)
		}
		cards = inOrder(cards, s.Under)
	}
	return cards
}

// group is the heading of a group: what is needed, how it was decided, and what each member answered. It stays with what is under
// it, if there is anything.
func (l *layout) group(g rules.ReportGroup, under bool) section {
	const badgeWidth, top = 46.0, 2.2
	st := styleHeading()
	st.ink = inkAccent
	title := g.Label
	if g.Each {
		title = fmt.Sprintf(fromLeft+"%s: %d", g.Label, len(g.Members))
	}
	word, t := groupStatus(g)
	name := newParagraph(0, top, st, l.name(title, st, contentWidth-badgeWidth, limitNameLines)...)
	text := newParagraph(0, 0.4, styleKey(), l.set(l.groupText(g), limitValue, styleKey(), contentWidth)...)
	blocks := []block{
		newBlock(name.bottom()+0.6,
			column(contentWidth-badgeWidth, name), column(badgeWidth, l.newBadge(badgeWidth, top+(st.Leading()-5)/2, word, t, 1))),
		newBlock(hairline, filled(contentWidth, inkAccent)),
		newBlock(text.bottom()+0.8, column(contentWidth, text)),
	}
	for i, m := range g.Members {
		if g.Each {
			break // each has a heading or a card
		}
		label := newParagraph(0, 0, styleCell(), l.name(m.Label, styleCell(), cardKeyWidth-2, limitNameLines)...)
		answer := newParagraph(0, 0, styleCell(), l.set(answerText(g, i), limitValue, styleCell(), contentWidth-cardKeyWidth)...)
		blocks = append(blocks, newBlock(max(label.bottom(), answer.bottom())+0.5, column(cardKeyWidth, label), column(contentWidth-cardKeyWidth, answer)))
	}
	blocks = append(blocks, space(2.5))
	for i := range blocks {
		blocks[i].keep = under || i < len(blocks)-1
	}
	return section{blocks: blocks}
}

func groupStatus(g rules.ReportGroup) (string, tone) {
	switch g.Status {
	case rules.GroupMet:
		if g.Each {
			return cardStatus(rules.CardOK)
		}
		return "MET", toneGood()
	case rules.GroupFlagged:
		word := "MET"
		if g.Each {
			word = "PASSED"
		}
		return word + strings.ToUpper(flaggedFor(g.Hits())), toneCaution()
	case rules.GroupNotMet:
		if g.Each {
			return cardStatus(rules.CardFailed)
		}
		return "NOT MET", toneBad()
	case rules.GroupUnavailable:
		return "TOO FEW ANSWERS", toneBad()
	case rules.GroupUnfinished:
		return "UNFINISHED", toneBad()
	case rules.GroupOpen:
	}
	return "OPEN", toneNeutral()
}

// groupText says what a group needs, and how it was decided.
func (l *layout) groupText(g rules.ReportGroup) string {
	confirmed, flagged, verb := g.Count(rules.AnswerConfirmed), g.Count(rules.AnswerFlagged), ""
	text := fmt.Sprintf("%d of %d sources confirmed, %d needed.", confirmed, g.Asked(), int(g.Need))
	switch {
	case g.Each && g.Type == workflow.NodeCustomerInput:
		text, verb = "The customer is asked for each element.", "answered"
	case g.Each:
		text, verb = "Made for each element.", "passed"
	case g.Need == workflow.NeedAll:
		text = fmt.Sprintf("%d of %d sources confirmed, all needed.", confirmed, g.Asked())
	}
	if g.DecidedAt.IsZero() {
		return text
	}
	var said []string
	if g.Type == workflow.NodeCustomerInput {
		confirmed, flagged = confirmed+flagged, 0
	}
	if g.Each {
		said = append(said, fmt.Sprintf("%d %s", confirmed, verb))
	}
	if flagged > 0 {
		said = append(said, fmt.Sprintf("%d answered and flagged for review", flagged))
	}
	if len(said) == 0 {
		return text + " Decided " + l.time(g.DecidedAt) + "."
	}
	return text + " " + strings.Join(said, ", ") + "; decided " + l.time(g.DecidedAt) + "."
}

// flaggedFor says why a member, an element or a group is flagged: it has so many open hits or, for 0, another reason.
func flaggedFor(hits int) string {
	switch hits {
	case 0:
		return ", flagged"
	case 1:
		return ", 1 hit"
	}
	return fmt.Sprintf(", %d hits", hits)
}

// answerText says what a member answered and, in a waterfall, why it was asked.
func answerText(g rules.ReportGroup, i int) string {
	text := map[rules.MemberAnswer]string{
		rules.AnswerConfirmed: "Confirmed.", rules.AnswerFlagged: "Answered, flagged for review.", rules.AnswerNotConfirmed: "Did not confirm.",
		rules.AnswerNoCoverage: "Does not cover this person or company.", rules.AnswerInconclusive: "What it found decides nothing.",
		rules.AnswerNone: "Gave no answer.", rules.AnswerNotNeeded: "Its answer was not needed.", rules.AnswerNotCalled: "Not asked.",
		rules.AnswerLeftOut: "Left out: its condition does not hold.", rules.AnswerOpen: "No answer yet.",
		rules.AnswerUnfinished: "The run ended before it was finished.",
	}
	because := map[rules.MemberAnswer]string{
		rules.AnswerConfirmed: "confirmed, and more must", rules.AnswerFlagged: "counts as confirmed, and more must confirm",
		rules.AnswerNotConfirmed: "did not confirm",
		rules.AnswerNoCoverage:   "does not cover this person or company", rules.AnswerInconclusive: "found nothing that decides",
		rules.AnswerNone: "gave no answer",
	}
	m := g.Members[i]
	said := text[m.Answer]
	switch {
	case m.Answer == rules.AnswerFlagged && m.Hits > 0:
		said = "Answered" + flaggedFor(m.Hits) + "."
	case m.Hits > 0:
		said = strings.TrimSuffix(said, ".") + flaggedFor(m.Hits) + "."
	}
	if before, ok := g.Before(i); ok && because[before.Answer] != "" {
		said += " Asked because " + before.Label + " " + because[before.Answer] + "."
	}
	return said
}

// badgeOf returns the badge of a card. A member of a group that was called has what its answer says, unless a flag or a verdict says
// something else.
func badgeOf(c rules.Card, g *rules.ReportGroup) (string, tone) {
	if c.Gone && c.Status == rules.CardOK {
		return "EARLIER VISIT", toneNeutral()
	}
	if g == nil {
		return cardStatus(c.Status)
	}
	i := slices.IndexFunc(g.Members, func(m rules.GroupMember) bool { return m.NodeID == c.NodeID && m.Called() })
	if i < 0 {
		return cardStatus(c.Status)
	}
	m, flagged := g.Members[i], len(c.Causes) > 0 && c.Status != rules.CardOK
	if m.Answer == rules.AnswerFlagged && c.Status != rules.CardFailed || !flagged && !g.Each {
		return answerWord(m.Answer, m.Hits)
	}
	return cardStatus(c.Status)
}

// visitBadge returns the badge of an earlier visit.
func visitBadge(c rules.Card, v rules.CardVisit) (string, tone) {
	if why := c.Lacks(v); why != "" {
		return answerWord(why, 0)
	}
	return cardStatus(v.Status)
}

func answerWord(a rules.MemberAnswer, hits int) (string, tone) {
	t := toneNeutral()
	switch a {
	case rules.AnswerConfirmed:
		t = toneGood()
	case rules.AnswerFlagged:
		return "ANSWERED" + strings.ToUpper(flaggedFor(hits)), toneCaution()
	case rules.AnswerNotConfirmed, rules.AnswerUnfinished:
		t = toneBad()
	case rules.AnswerNone:
		return "NO ANSWER", t
	case rules.AnswerOpen:
		return "NO ANSWER YET", t
	case rules.AnswerNoCoverage, rules.AnswerInconclusive, rules.AnswerNotNeeded, rules.AnswerNotCalled, rules.AnswerLeftOut:
	}
	return strings.ToUpper(strings.ReplaceAll(string(a), "_", " ")), t
}

// cardRounds are the rounds that asked about the answer of a visit.
func (l *layout) cardRounds(all []report.Round, visit int, t tone) (blocks []block) {
	for _, r := range all {
		if r.Visit != visit {
			continue
		}
		text := l.roundAsked(r, "\n")
		if r.Note != "" {
			text += "\nNote to the customer: " + r.Note
		}
		if text += "\nThe customer did not answer."; !r.AnsweredAt.IsZero() {
			text = strings.TrimSuffix(text, "did not answer.") + "answered on " + l.time(r.AnsweredAt) + "."
		}
		above := cardRow(t, 2.4, []core.Col{column(cardWidth)}...)
		above.keep = true
		box := cardBox(l.paragraphs(text, limitValue, styleBody(), cardWidth-6), tone{t.dark, toneCaution().pale})
		box[len(box)-1].keep = true
		blocks = append(append(blocks, above), box...)
	}
	return blocks
}

// roundAsked says when a customer was asked again, by whom, why and about what.
func (l *layout) roundAsked(r report.Round, between string) string {
	text := fmt.Sprintf("Round %d: the customer was asked again on %s", r.Round.Round, l.time(r.At))
	if r.By != "" {
		text += " by " + r.By
	}
	text += "." + between + "Why: " + strings.Join(r.ReasonLabels, " ")
	if len(r.FieldLabels) > 0 {
		text += between + "Fields: " + strings.Join(r.FieldLabels, ", ")
	}
	return text
}
