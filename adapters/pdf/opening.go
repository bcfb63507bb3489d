// The first page: letterhead, who was verified, the run, and the decision in a report for
// the file.

package pdf

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/johnfercher/maroto/v2/pkg/consts/border"
	"github.com/johnfercher/maroto/v2/pkg/core"

	"github.com/verifyd/verifyd/verification/report"
	"github.com/verifyd/verifyd/verification/rules"
)

// decisionHeight is how much of the first page is kept for the newest verdict and its notes, in millimetres.
const decisionHeight = 60.0

// opening returns the sections of the first page: the blocks up to the title of the document, and the rest. What is bounded stands
// before the notes of reviewers, which may be long.
func (l *layout) opening(r report.Print) (title []block, rest []section) {
	title = slices.Concat(l.letterhead(r.Letterhead), l.title(r))
	known := slices.Concat(l.subject(r.Subject), l.facts(r))
	open, decision := append(l.unscreened(r.Unscreened), l.again(r)...), []block(nil)
	if r.ForFile {
		decision = append(l.decision(r), l.remarks(r.Remarks)...)
	}
	room := bodyHeight - height(title) - height(known) - height(open) - min(height(decision), decisionHeight)
	rest = append([]section{{blocks: known}}, l.screening(r, room)...)
	if more := append(open, decision...); len(more) > 0 {
		rest = append(rest, section{blocks: more})
	}
	for _, e := range r.Elements {
		rest = append(rest, l.elements(e))
	}
	blocks := []block{l.summary(r.Summary), space(4)}
	if r.ForFile && len(r.Run.Data) > 0 {
		blocks = append(blocks, l.panel(endData(r.Run.Data), 2.6, 5)...)
	}
	if r.Error != nil {
		blocks = append(blocks, l.failure(r.Run.Status, *r.Error)...)
	}
	return title, append(rest, section{blocks: blocks})
}

// letterhead is the logo and the name of the tenant, above a line.
func (l *layout) letterhead(h report.Letterhead) []block {
	if strings.TrimSpace(h.Name) == "" && h.Logo.Name == "" {
		return nil
	}
	const gap, below = 5.0, 2.4
	left, height := 0.0, 0.0
	var parts []core.Component
	if h.Logo.Name != "" {
		if logo, err := l.pictures.logo(h.Logo); err == nil {
			parts, left, height = append(parts, logo), logo.width+gap, logo.height
		}
	}
	st := styleLetterhead()
	name := newParagraph(left, 0, st, l.name(h.Name, st, contentWidth-left, limitNameLines)...)
	name.top = max(0, (height-name.bottom())/2)
	return []block{
		newBlock(max(height, name.bottom())+below, column(contentWidth, append(parts, name)...)),
		newBlock(hairline, filled(contentWidth, inkLine)), space(4),
	}
}

// title is the name of the document, of the workflow, and the status; in a report for the file
// the decision instead of the status. For a redacted run it also says when data was removed.
func (l *layout) title(r report.Print) []block {
	const badgeWidth = 46.0
	name := fmt.Sprintf(fromLeft+"%s, version %d", r.Workflow.Name, r.Workflow.Version)
	if strings.TrimSpace(r.Workflow.Name) == "" {
		name = fmt.Sprintf("Version %d", r.Workflow.Version)
	}
	word, t := runStatus(r.Run.Status)
	if r.ForFile && r.Decision != rules.DecisionNone {
		word, t = decisionWord(r.Decision)
		word = strings.ToUpper(word)
	}
	lines := l.name(name, styleSubtitle(), contentWidth-badgeWidth, limitNameLines)
	workflow := newParagraph(0, 0, styleSubtitle(), lines...)
	parts, end := []core.Component{workflow}, workflow.bottom()
	hidden := ""
	switch {
	case !r.Run.RedactedAt.IsZero():
		hidden = "Personal data was removed from this run on " + l.time(r.Run.RedactedAt) + "."
	case !r.Run.RestrictedAt.IsZero():
		hidden = "This run has been restricted since " + l.time(r.Run.RestrictedAt) + ": its personal data is kept, and not shown."
	case !r.Run.DocumentsRemovedAt.IsZero():
		hidden = "The uploaded files were removed from this run on " + l.time(r.Run.DocumentsRemovedAt) + "."
	}
	if hidden != "" {
		st := styleCaption()
		note := newParagraph(0, end+0.6, st, l.word(hidden, st))
		parts, end = append(parts, note), note.bottom()
	}
	return []block{
		newBlock(12.5,
			column(contentWidth-badgeWidth, newParagraph(0, 1, styleTitle(), l.word("Verification report", styleTitle()))),
			column(badgeWidth, l.newBadge(badgeWidth, 4.2, word, t, 1.25))),
		newBlock(end+4, column(contentWidth, parts...)),
	}
}

// subject is who was verified, on a panel; nothing if nothing is known.
func (l *layout) subject(s rules.Subject) []block {
	if s == (rules.Subject{}) {
		return nil
	}
	const pad = 4.5
	st := styleName()
	caption := newParagraph(0, 2.6, styleCaption(), l.word("Who was verified", styleCaption()))
	name := newParagraph(0, caption.bottom(), st, l.name(cmp.Or(s.Name, "–"), st, contentWidth-2*pad, limitNameLines)...)
	blocks := []block{newBlock(name.bottom()+1.2, filled(pad, inkPanel), filled(contentWidth-pad, inkPanel, caption, name))}
	blocks[0].keep = true
	return append(blocks, l.panel([][2][2]string{{{"Date of birth", l.formatter.text(s.BirthDate)}, {"Number", s.Number}}}, 0, 2)...)
}

// panel is two columns of captions and values. above is the space before the first row, and
// after the space below the panel.
func (l *layout) panel(pairs [][2][2]string, above, after float64) []block {
	const pad, gap, below = 4.5, 6.0, 3.6
	width := (contentWidth - 2*pad - gap) / 2
	blocks := make([]block, len(pairs))
	for i, pair := range pairs {
		top, bottom := 0.0, 1.4
		if i == 0 {
			top = above
		}
		if i == len(pairs)-1 {
			bottom = below
		}
		left, leftEnd := l.fact(pair[0][0], pair[0][1], 0, top, width)
		right, rightEnd := l.fact(pair[1][0], pair[1][1], 0, top, width)
		if pair[1][0] == "" {
			right, rightEnd = nil, 0
		}
		blocks[i] = newBlock(max(leftEnd, rightEnd)+bottom,
			filled(pad, inkPanel), filled(width+gap, inkPanel, left...), filled(width+pad, inkPanel, right...))
	}
	return append(blocks, space(after))
}

// fact returns a value below its caption, and where it ends.
func (l *layout) fact(caption, value string, left, top, width float64) (parts []core.Component, bottom float64) {
	st := styleBody()
	if strings.TrimSpace(value) == "" {
		value, st.ink = "–", inkMuted
	}
	head := newParagraph(left, top, styleCaption(), l.word(caption, styleCaption()))
	text := newParagraph(left, head.bottom()-0.3, st, l.name(value, st, width, limitNameLines)...)
	return []core.Component{head, text}, text.bottom()
}

// summary counts the cards: a tile for each status.
func (l *layout) summary(s rules.ReportSummary) block {
	const bar, tile, gap, baseline = cardBar, 54.0, 4.0, 10.9
	var cols []core.Col
	for i, c := range []struct {
		count int
		word  string
		tone  tone
	}{{s.OK, "OK", toneGood()}, {s.Failed, "Failed", toneBad()}, {s.NeedsReview, "Flagged", toneCaution()}} {
		if i > 0 {
			cols = append(cols, column(gap))
		}
		count := l.word(fmt.Sprint(c.count), styleFigure())
		st := styleBody()
		st.ink = inkMuted
		cols = append(cols, filled(bar, c.tone.dark), bordered(tile, border.Top|border.Right|border.Bottom, inkLine,
			newParagraph(4.7, baseline-styleFigure().Ascent(), styleFigure(), count),
			newParagraph(4.7+max(count.Width, 6)+3, baseline-st.Ascent(), st, l.word(c.word, st))))
	}
	return newBlock(16.5, append(cols, column(contentWidth-3*(bar+tile)-2*gap))...)
}

// toned is a heading and facts, two in a row, on the background of a tone.
func (l *layout) toned(t tone, title string, facts [][2]string) []block {
	const pad = 3.7
	st := styleHeading()
	st.ink = t.dark
	heading := newParagraph(pad, 2.6, st, l.name(title, st, contentWidth-cardBar-2*pad, limitNameLines)...)
	end, parts := heading.bottom(), []core.Component{heading}
	for pair := range slices.Chunk(facts, 2) {
		top, share := end+0.4, contentWidth/float64(len(pair))
		for i, f := range pair {
			more, bottom := l.fact(f[0], f[1], pad+float64(i)*share, top, share-2*pad)
			parts, end = append(parts, more...), max(end, bottom)
		}
	}
	b := newBlock(end+1.6, filled(cardBar, t.dark), filled(contentWidth-cardBar, t.pale, parts...))
	b.keep = true
	return []block{b}
}

// tonedText is a text below toned.
func (l *layout) tonedText(t tone, text string) (blocks []block) {
	const pad = 3.7
	for lines := range slices.Chunk(l.paragraphs(text, limitText, styleBody(), contentWidth-cardBar-2*pad), chunkLines) {
		p := newParagraph(pad, 0, styleBody(), lines...)
		blocks = append(blocks, newBlock(p.bottom(), filled(cardBar, t.dark), filled(contentWidth-cardBar, t.pale, p)))
	}
	blocks[len(blocks)-1].keep = true
	return append(blocks, newBlock(1.8, filled(cardBar, t.dark), filled(contentWidth-cardBar, t.pale)))
}

func (l *layout) failure(s rules.Status, e rules.RunError) []block {
	const pad = 3.7
	title := "The run did not complete"
	switch s {
	case rules.StatusFailed:
		title = "The run failed"
	case rules.StatusExpired:
		title = "The run expired"
	case rules.StatusCompleted, rules.StatusCancelled, rules.StatusInProgress, rules.StatusAbandoned:
	}
	t := toneBad()
	blocks := l.toned(t, title, nil)
	for lines := range slices.Chunk(l.set(e.Message, limitValue, styleBody(), contentWidth-cardBar-2*pad), chunkLines) {
		message := newParagraph(pad, 0, styleBody(), lines...)
		blocks = append(blocks, newBlock(message.bottom(), filled(cardBar, t.dark), filled(contentWidth-cardBar, t.pale, message)))
	}
	blocks[len(blocks)-1].keep = true
	width := contentWidth/2 - 2*pad
	parts, end := l.fact("Error code", string(e.Code), pad, 0.8, width)
	if e.Check != "" {
		check, checkEnd := l.fact("Check", e.Check, contentWidth/2+pad, 0.8, width)
		parts, end = append(parts, check...), max(end, checkEnd)
	}
	return append(blocks, newBlock(end+2.6, filled(cardBar, t.dark), filled(contentWidth-cardBar, t.pale, parts...)), space(3.5))
}
