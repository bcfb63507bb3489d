// Layout: the parts of a report above and below its cards.

package pdf

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/johnfercher/maroto/v2/pkg/consts/border"
	"github.com/johnfercher/maroto/v2/pkg/core"

	"github.com/verifyd/verifyd/internal/typeset"
	"github.com/verifyd/verifyd/verification"
)

type layout struct {
	text      *typeset.Typesetter
	linesLeft int // of data, in the whole document
}

// set breaks a text into lines of a width. It returns at least one.
func (l *layout) set(text string, limit int, st style, width float64) []typeset.Line {
	return l.text.Lines(text, limit, st.Style, width)
}

// name sets at most limitName characters in at most so many lines.
func (l *layout) name(text string, st style, width float64, maxLines int) []typeset.Line {
	return l.text.Truncated(text, limitName, st.Style, width, maxLines)
}

// word sets a short text of the report itself in one line.
func (l *layout) word(text string, st style) typeset.Line {
	return l.set(text, limitName, st, contentWidth)[0]
}

// report returns the sections of a report. It checks the context between cards.
func (l *layout) report(ctx context.Context, r verification.Report) ([]section, error) {
	sections := []section{l.opening(r)}
	for i, c := range r.Cards {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if i == limitCards {
			sections = append(sections, l.note(fmt.Sprintf(
				"%s more steps are not printed here. The report that the API returns has them.",
				typeset.Thousands(len(r.Cards)-limitCards))))
			break
		}
		sections = append(sections, l.card(i+1, c))
	}
	if len(r.Cards) == 0 {
		sections = append(sections, l.note("The run finished no step."))
	}
	// The digest is not alone on a page.
	last := sections[len(sections)-1].blocks
	last[len(last)-1].keep = true
	return append(sections, l.closing(r)), nil
}

func (l *layout) opening(r verification.Report) section {
	blocks := slices.Concat(l.title(r), l.facts(r), []block{l.summary(r.Summary), space(4)})
	if r.Error != nil {
		blocks = append(blocks, l.failure(r.Run.Status, *r.Error)...)
	}
	heading := newBlock(11, column(contentWidth, newParagraph(0, 3, styleSection(), l.word("Steps", styleSection()))))
	heading.keep = true
	return section{blocks: append(blocks, heading)}
}

// title is the name of the document, of the workflow, and the status.
func (l *layout) title(r verification.Report) []block {
	const badgeWidth = 46.0
	name := fmt.Sprintf("%s, version %d", r.Workflow.Name, r.Workflow.Version)
	if strings.TrimSpace(r.Workflow.Name) == "" {
		name = fmt.Sprintf("Version %d", r.Workflow.Version)
	}
	status, t := runStatus(r.Run.Status)
	lines := l.name(name, styleSubtitle(), contentWidth-badgeWidth, limitNameLines)
	workflow := newParagraph(0, 0, styleSubtitle(), lines...)
	return []block{
		newBlock(12.5,
			column(contentWidth-badgeWidth, newParagraph(0, 1, styleTitle(), l.word("Verification report", styleTitle()))),
			column(badgeWidth, l.newBadge(badgeWidth, 4.2, status, t, 1.25))),
		newBlock(workflow.bottom()+4, column(contentWidth, workflow)),
	}
}

// facts are two columns of captions and values on a panel.
func (l *layout) facts(r verification.Report) []block {
	const pad, gap, above, below = 4.5, 6.0, 2.6, 3.6
	width := (contentWidth - 2*pad - gap) / 2
	pairs := [][2][2]string{
		{{"Reference ID", r.Run.ReferenceID}, {"Run ID", string(r.Run.ID)}},
		{{"Started", timestamp(r.Run.StartedAt)}, {"Completed", timestamp(r.Run.CompletedAt)}},
		{{"Workflow", r.Workflow.Name}, {"Workflow ID", string(r.Workflow.ID)}},
		{{"Workflow version", fmt.Sprint(r.Workflow.Version)}, {"Version hash", shortHash(r.Workflow.VersionHash)}},
	}
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
		blocks[i] = newBlock(max(leftEnd, rightEnd)+bottom,
			filled(pad, inkPanel), filled(width+gap, inkPanel, left...), filled(width+pad, inkPanel, right...))
	}
	return append(blocks, space(5))
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
func (l *layout) summary(s verification.ReportSummary) block {
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

func (l *layout) failure(s verification.Status, e verification.RunError) []block {
	const pad = 3.7
	title := "The run did not complete"
	switch s {
	case verification.StatusFailed:
		title = "The run failed"
	case verification.StatusExpired:
		title = "The run expired"
	case verification.StatusCompleted, verification.StatusCancelled, verification.StatusInProgress, verification.StatusAbandoned:
	}
	st, t := styleHeading(), toneBad()
	st.ink = t.dark
	panel := func(height float64, parts ...core.Component) block {
		return newBlock(height, filled(cardBar, t.dark), filled(contentWidth-cardBar, t.pale, parts...))
	}
	heading := newParagraph(pad, 2.6, st, l.word(title, st))
	blocks := []block{panel(heading.bottom()+0.4, heading)}
	blocks[0].keep = true
	for lines := range slices.Chunk(l.set(e.Message, limitValue, styleBody(), contentWidth-cardBar-2*pad), chunkLines) {
		message := newParagraph(pad, 0, styleBody(), lines...)
		blocks = append(blocks, panel(message.bottom(), message))
	}
	blocks[len(blocks)-1].keep = true
	width := contentWidth/2 - 2*pad
	parts, end := l.fact("Error code", string(e.Code), pad, 0.8, width)
	if e.Check != "" {
		check, checkEnd := l.fact("Check", e.Check, contentWidth/2+pad, 0.8, width)
		parts, end = append(parts, check...), max(end, checkEnd)
	}
	return append(blocks, panel(end+2.6, parts...), space(3.5))
}

// note is a sentence in place of a card.
func (l *layout) note(sentence string) section {
	st := styleBody()
	st.ink = inkMuted
	p := newParagraph(0, 0, st, l.set(sentence, limitValue, st, contentWidth)...)
	return section{blocks: []block{newBlock(p.bottom()+4, column(contentWidth, p))}}
}

func (l *layout) closing(r verification.Report) section {
	caption := newParagraph(0, 1.8, styleCaption(), l.word("Digest of the history (SHA-256)", styleCaption()))
	digest := newParagraph(0, caption.bottom()-0.2, styleStrong(), l.name(r.Digest, styleStrong(), contentWidth, limitNameLines)...)
	meaning := newParagraph(0, digest.bottom()+0.8, styleCaption(),
		l.set("It identifies the recorded history of the run that this report was printed from. "+
			"The report that the API returns for the run carries the same digest for as long as nothing was added to that history. "+
			"All times are UTC.", limitValue, styleCaption(), contentWidth)...)
	blocks := []block{
		space(3), newBlock(hairline, filled(contentWidth, inkLine)),
		newBlock(meaning.bottom(), column(contentWidth, caption, digest, meaning)),
	}
	blocks[0].keep, blocks[1].keep = true, true
	return section{blocks: blocks}
}

func runStatus(s verification.Status) (string, tone) {
	switch s {
	case verification.StatusCompleted:
		return "COMPLETED", toneNeutral() // also for a refused customer
	case verification.StatusFailed:
		return "FAILED", toneBad()
	case verification.StatusExpired:
		return "EXPIRED", toneBad()
	case verification.StatusCancelled:
		return "CANCELLED", toneNeutral()
	case verification.StatusInProgress:
		return "IN PROGRESS", toneNeutral()
	case verification.StatusAbandoned:
		return "ABANDONED", toneNeutral()
	}
	return "UNKNOWN", toneNeutral()
}

// timestamp formats a time in whole seconds UTC; empty for the zero time.
func timestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Truncate(time.Second).Format(time.RFC3339)
}

// shortHash returns enough of a hash to distinguish versions.
func shortHash(hash string) string {
	const enough = 12
	if r := []rune(hash); len(r) > enough {
		return string(r[:enough])
	}
	return hash
}
