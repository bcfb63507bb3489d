// Cards: the status and the data of a step.

package pdf

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/johnfercher/maroto/v2/pkg/consts/border"
	"github.com/johnfercher/maroto/v2/pkg/core"
	"github.com/johnfercher/maroto/v2/pkg/props"
	"golang.org/x/text/language"
	"golang.org/x/text/language/display"

	"github.com/verifyd/verifyd/internal/typeset"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/report"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// Measures of a card, in millimetres. From the left: the bar in the colour of the
// status, padding, the content, padding, and a line.
const (
	cardBar      = 1.3
	cardLeft     = 3.7
	cardWidth    = 165.0
	cardRight    = contentWidth - cardBar - cardLeft - cardWidth - hairline
	cardKeyWidth = 56.0
	// foundTitle is the title of what a source found that could not tell.
	foundTitle = "Found, which decides nothing"
	// chunkLines is how many lines of one value stay together.
	chunkLines = 12
)

// card is the card of a step, which stands under a group or, for nil, alone.
func (l *layout) card(n int, c rules.Card, r report.Print, g *rules.ReportGroup) section {
	word, t := badgeOf(c, g)
	facts := l.cardFacts(c, r.Sources[c.NodeID], t, r.ForFile)
	for i := range facts {
		facts[i].keep = true
	}
	body := append(facts, l.cardRounds(r.Rounds[c.NodeID], c.VisitCount(), t)...)
	if strings.TrimSpace(c.Reason) != "" {
		body = append(body, l.cardReason(c.Reason, t)...)
	}
	consents := l.cardConsents(c.NodeID, r.Consents, t)
	body = attach(body, consents)
	if s := r.Sources[c.NodeID]; len(s.Asked) > 0 {
		body = attach(body, l.cardData("Asked", s.Asked, s.AskedSchema, nil, t))
	}
	if c.Type != workflow.NodeReview && len(consents) == 0 { // the data of a review is its verdict, which is not printed
		body = attach(body, l.cardData(dataTitle(c.Type), c.Data, c.DataSchema, c.Corrections, t, hitFields(c)...))
		body = attach(body, l.cardData(foundTitle, c.Found, c.DataSchema, nil, t))
	} else {
		body = attach(body, l.cardData("Corrections", nil, nil, c.Corrections, t))
	}
	body = append(body, l.cardHits(c, r, t)...)
	body = append(body, l.cardVisits(c, r.Rounds[c.NodeID], t)...)
	return l.framed(n, c.Label, word, t, body)
}

// input is a card of what the run was started with.
func (l *layout) input(r report.Print) section {
	t := toneNeutral()
	return l.framed(0, "What the run was started with", "", t, l.cardData("Input", r.Input, r.InputSchema, r.InputCorrections, t))
}

// framed returns a card with a heading.
func (l *layout) framed(n int, label, word string, t tone, body []block) section {
	continued := l.cardHeading(n, label, word, t, "(continued)")
	ending := l.cardEnding(t)
	blocks := append([]block{l.cardHeading(n, label, word, t, "")}, body...)
	blocks[0].keep = true
	blocks[len(blocks)-1].keep = true
	foot := newBlock(2, filled(cardBar, t.dark), bordered(contentWidth-cardBar-hairline, border.Bottom, inkLine), filled(hairline, inkLine))
	foot.keep = true
	return section{blocks: append(blocks, foot, space(4.5)), heading: &continued, ending: &ending}
}

// attach adds a table to the blocks of a card, and keeps its head with them.
func attach(blocks, table []block) []block {
	if len(table) > 0 && len(blocks) > 0 {
		blocks[len(blocks)-1].keep = true
	}
	return append(blocks, table...)
}

// dataTitle is the head of the data of a step.
func dataTitle(t workflow.NodeType) string {
	if t == workflow.NodeCustomerInput {
		return "Answers"
	}
	return "Answer"
}

// cardRow returns a row of columns that add up to cardWidth, with the edges of a
// card.
func cardRow(t tone, height float64, cols ...core.Col) block {
	edges := slices.Concat([]core.Col{filled(cardBar, t.dark), column(cardLeft)}, cols,
		[]core.Col{column(cardRight), filled(hairline, inkLine)})
	return newBlock(height, edges...)
}

// cardHeading is the strip with the number, the label and the status.
func (l *layout) cardHeading(n int, label, word string, t tone, remark string) block {
	const badgeWidth, top = 36.0, 1.6
	st := styleHeading()
	number := st
	number.ink = inkMuted
	indent := cardLeft
	var parts []core.Component
	if n > 0 {
		figure := l.word(fmt.Sprintf("%d.", n), number)
		indent += max(figure.Width, 4.5) + 1.8
		parts = append(parts, newParagraph(cardLeft, top, number, figure))
	}
	if strings.TrimSpace(label) == "" {
		label = "Step"
	}
	width := contentWidth - cardBar - badgeWidth - hairline
	lines := l.name(label, st, width-indent, limitNameLines)
	text := newParagraph(indent, top, st, lines...)
	parts = append(parts, text)
	if remark != "" {
		line := l.word(remark, styleKey())
		baseline := text.bottom() - st.Leading() + st.Ascent()
		parts = append(parts, newParagraph(indent+lines[len(lines)-1].Width+1.6, baseline-styleKey().Ascent(), styleKey(), line))
	}
	strip := func(width float64, parts ...core.Component) core.Col {
		return column(width, parts...).WithStyle(&props.Cell{
			BackgroundColor: inkPanel.color(), BorderType: border.Top, BorderColor: inkLine.color(), BorderThickness: hairline,
		})
	}
	var badges []core.Component
	if word != "" {
		badges = append(badges, l.newBadge(badgeWidth-4+hairline, top+(st.Leading()-5)/2, word, t, 1))
	}
	return newBlock(text.bottom()+top,
		filled(cardBar, t.dark), strip(width, parts...), strip(badgeWidth, badges...), filled(hairline, inkLine))
}

// cardFacts are captions and values in three columns.
func (l *layout) cardFacts(c rules.Card, src report.Source, t tone, forFile bool) []block {
	facts := [][2]string{{"Started", l.time(c.StartedAt)}}
	if c.Type != workflow.NodeReview || forFile { // a review is completed at the time of its verdict
		facts = append(facts, [2]string{"Completed", l.time(c.CompletedAt)})
	}
	if len(src.Providers) > 0 {
		facts = append(facts, [2]string{"Source", strings.Join(src.Providers, ", then ")})
	}
	if src.List != "" {
		facts = append(facts, [2]string{"List", src.List})
	}
	if c.Dispatches > 1 {
		facts = append(facts, [2]string{"Requests", typeset.Thousands(c.Dispatches)})
	}
	switch last := typeset.Thousands(c.VisitCount()); {
	case c.Gone:
		facts = append(facts, [2]string{"Visits", last + ", all earlier"})
	case c.VisitCount() > 1:
		facts = append(facts, [2]string{"Visits", last + "; here is visit " + last})
	}
	const columns, gap = 3, 3.0
	width := cardWidth / columns
	blocks := []block{}
	for row := range slices.Chunk(facts, columns) {
		var cols []core.Col
		top, bottom := 0.0, 0.0
		if len(blocks) == 0 {
			top = 1.8
		}
		for _, fact := range row {
			parts, end := l.fact(fact[0], fact[1], 0, top, width-gap)
			cols, bottom = append(cols, column(width, parts...)), max(bottom, end)
		}
		for len(cols) < columns {
			cols = append(cols, column(width))
		}
		blocks = append(blocks, cardRow(t, bottom+1.3, cols...))
	}
	return blocks
}

// cardReason is the reason for the status, on a background of its colour.
func (l *layout) cardReason(reason string, t tone) []block {
	return cardBox(l.set(reason, limitValue, styleBody(), cardWidth-6), t)
}

// cardBox is lines on a background.
func cardBox(lines []typeset.Line, t tone) []block {
	const pad = 1.3
	var blocks []block
	chunks := slices.Collect(slices.Chunk(lines, chunkLines))
	for i, lines := range chunks {
		text := newParagraph(3, 0, styleBody(), lines...)
		if i == 0 {
			text.top = pad
		}
		height := text.bottom()
		if i == len(chunks)-1 {
			height += pad
		}
		blocks = append(blocks, cardRow(t, height, filled(cardWidth, t.pale, text)))
	}
	blocks[len(blocks)-1].keep = true
	return append(blocks, cardRow(t, 1.6, column(cardWidth)))
}

// visitLines is how many lines of data a visit without data counts as.
const visitLines = 4

// cardVisits are the earlier visits of a step, the newest first: the number, status and
// times of each, its reason and its data. Above each is the round that asked about it.
func (l *layout) cardVisits(c rules.Card, rounds []report.Round, t tone) []block {
	var blocks []block
	more := c.VisitsOmitted
	for i, v := range slices.Backward(c.Visits) {
		if l.linesLeft -= visitLines; l.linesLeft <= 0 {
			more += i + 1
			break
		}
		blocks = append(blocks, l.cardRounds(rounds, v.Number, t)...)
		blocks = append(blocks, l.visitHeading(c, v, t))
		if strings.TrimSpace(v.Reason) != "" {
			_, own := visitBadge(c, v)
			blocks = append(blocks, l.cardReason(v.Reason, tone{t.dark, own.pale})...)
		}
		if table := l.cardData(dataTitle(c.Type), v.Data, c.DataSchema, nil, t); c.Type != workflow.NodeReview && len(table) > 0 {
			blocks[len(blocks)-1].keep = true
			blocks = append(blocks, table...)
		}
		blocks = append(blocks, l.cardData(foundTitle, v.Found, c.DataSchema, nil, t)...)
	}
	if more > 0 {
		text := newParagraph(0, 1.6, styleKey(), l.set(typeset.Thousands(more)+
			" more earlier visits of this step are not printed here.", limitName, styleKey(), cardWidth)...)
		blocks = append(blocks, cardRow(t, text.bottom()+1, column(cardWidth, text)))
	}
	return blocks
}

// visitHeading is the strip with the number, the times and the status of an earlier visit.
func (l *layout) visitHeading(c rules.Card, v rules.CardVisit, t tone) block {
	const above, height, badgeWidth = 2.4, 7.2, 36.0
	word, own := visitBadge(c, v)
	name := l.word("Visit "+typeset.Thousands(v.Number)+" of "+typeset.Thousands(c.VisitCount()), styleStrong())
	facts := "Started " + l.time(v.StartedAt)
	if !v.CompletedAt.IsZero() {
		facts += "   Completed " + l.time(v.CompletedAt)
	}
	if v.Dispatches > 1 {
		facts += fmt.Sprintf("   Requests %d", v.Dispatches)
	}
	baseline := above + height/2 + 1.1
	parts := []core.Component{
		newParagraph(0, baseline-styleStrong().Ascent(), styleStrong(), name),
		newParagraph(name.Width+3, baseline-styleKey().Ascent(), styleKey(), l.word(facts, styleKey())),
	}
	b := cardRow(t, above+height+1.2,
		bordered(cardWidth-badgeWidth, border.Top, inkMuted, parts...),
		bordered(badgeWidth, border.Top, inkMuted, l.newBadge(badgeWidth, above+(height-5)/2, word, own, 1)))
	b.keep = true
	return b
}

// cardConsents are the customer's answers to a consent, with the text that was shown.
func (l *layout) cardConsents(node verification.NodeID, all []report.Consent, t tone) (blocks []block) {
	for _, c := range all {
		if c.Node != node {
			continue
		}
		answer := "Declined"
		if c.Agreed {
			answer = "Agreed"
		}
		blocks = attach(blocks, l.cardHead("Consent", t))
		for _, e := range []entry{
			{key: "Answer", value: answer},
			{key: "Time", value: l.time(c.At)},
			{key: "Text", lines: l.marked(c.Text, styleCell(), cardWidth-cardKeyWidth)},
			{key: "Language", value: languageName(c.Language)},
			{key: "SHA-256 of the text", value: c.SHA256},
		} {
			blocks = append(blocks, l.cardEntry(e, t, limitText)...)
		}
		blocks[len(blocks)-2].keep = true // the hash is not alone on a page
	}
	return blocks
}

// languageName returns the English name of a language, such as Hindi.
func languageName(code string) string {
	if code == "" {
		return "The text in the default language of the workflow"
	}
	return cmp.Or(display.English.Languages().Name(language.Make(code)), code)
}

// cardHead is the head of a table of labels and values.
func (l *layout) cardHead(title string, t tone) []block {
	st := styleCaption()
	st.Bold = true
	head := cardRow(t, 6.1, bordered(cardWidth, border.Bottom, inkMuted, newParagraph(0, 4.2-st.Ascent(), st, l.word(title, st))))
	head.keep = true
	return []block{head}
}

// cardData is a table of the data of a step, without the fields apart, and of corrections; nil without any.
func (l *layout) cardData(
	title string, d verification.Data, s workflow.DataSchema, corrections []rules.Correction, t tone, apart ...string,
) []block {
	entries, more := l.rowsOf(d, s, limitRows, apart...)
	if len(entries)+len(corrections) == 0 {
		return nil
	}
	blocks := l.cardHead(title, t)
	below, rest := beside(entries, corrections)
	for i, e := range entries {
		if l.linesLeft <= 0 {
			more += len(entries) - i
			break
		}
		if e.table != nil {
			more += e.table.more
			blocks = append(blocks, l.cardTable(e, t, &more)...)
		} else {
			blocks = append(blocks, l.cardEntry(e, t, limitValue)...)
		}
		blocks = attach(blocks, l.cardCorrections(e, below[i], t, &more))
	}
	blocks = append(blocks, l.cardCorrections(entry{}, rest, t, &more)...)
	if len(blocks) > 3 {
		blocks[len(blocks)-2].keep = true // the last row is not alone on a page
	}
	if more > 0 {
		text := newParagraph(0, 1.6, styleKey(), l.set(typeset.Thousands(more)+
			" more values are not printed here. The report that the API returns has them.", limitName, styleKey(), cardWidth)...)
		blocks = append(blocks, cardRow(t, text.bottom()+1, column(cardWidth, text)))
	}
	return blocks
}

// cardEntry is one row of the table, in chunks that may be on different pages.
func (l *layout) cardEntry(e entry, t tone, limit int) []block {
	const gap = 4.0
	st := styleCell()
	if e.empty {
		st.ink = inkMuted
	}
	lines := e.lines
	if lines == nil {
		lines = l.paragraphs(e.value, limit, st, cardWidth-cardKeyWidth)
	}
	return l.cells(t, nil,
		cell{width: cardKeyWidth, style: styleKey(), lines: l.set(e.key, limitName, styleKey(), cardKeyWidth-gap)},
		cell{width: cardWidth - cardKeyWidth, style: st, lines: lines})
}

// cardEnding is the last row of a card on a page if the card continues.
func (l *layout) cardEnding(t tone) block {
	line := l.word("Continued on the next page", styleCaption())
	width := contentWidth - cardBar - hairline
	return newBlock(5.4, filled(cardBar, t.dark),
		bordered(width, border.Bottom, inkLine, newParagraph(width-4+hairline-line.Width, 3.6-styleCaption().Ascent(), styleCaption(), line)),
		filled(hairline, inkLine))
}

func cardStatus(s rules.CardStatus) (string, tone) {
	switch s {
	case rules.CardOK:
		return "OK", toneGood()
	case rules.CardFailed:
		return "FAILED", toneBad()
	case rules.CardNeedsReview:
		return "FLAGGED", toneCaution() // also after a verdict, of which nothing is printed
	}
	return "UNKNOWN", toneNeutral()
}

func typeName(t workflow.NodeType) string {
	switch t {
	case workflow.NodeConsent:
		return "Consent"
	case workflow.NodeCustomerInput:
		return "Customer input"
	case workflow.NodeCheck:
		return "Check"
	case workflow.NodeReview:
		return "Review"
	case workflow.NodeChecks, workflow.NodeBranch, workflow.NodeEnd: // no cards
	}
	return string(t)
}
