// Lays a report out: what stands above the cards and below them.

package pdf

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/adapters/pdf/typeset"
	"github.com/verifyd/verifyd/verification"
)

// layout turns a report into groups of blocks.
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

// group is a row of blocks that belong together, such as a card. A group that
// does not fit goes on over the page: seam closes it there, and heading opens
// it again.
type group struct {
	blocks  []block
	heading *drawing
	seam    *drawing
}

// block is a drawing that is not divided. One that holds on is never the last
// of a page before the one that follows it.
type block struct {
	drawing
	holds bool
}

// report lays out the whole report. It looks at the context between cards.
func (l *layout) report(ctx context.Context, r verification.Report) ([]group, error) {
	groups := []group{l.opening(r)}
	for i, c := range r.Cards {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if i == limitCards {
			groups = append(groups, l.note(fmt.Sprintf(
				"%s more steps are not printed here. They stand in the report that the API returns.",
				typeset.Thousands(len(r.Cards)-limitCards))))
			break
		}
		groups = append(groups, l.card(i+1, c))
	}
	if len(r.Cards) == 0 {
		groups = append(groups, l.note("The run finished no step."))
	}
	// The digest does not stand on a page alone.
	last := groups[len(groups)-1].blocks
	last[len(last)-1].holds = true
	return append(groups, l.closing(r)), nil
}

func (l *layout) opening(r verification.Report) group {
	blocks := append([]block{l.title(r)}, l.facts(r)...)
	blocks = append(blocks, l.summary(r.Summary))
	if r.Error != nil {
		blocks = append(blocks, l.failure(r.Run.Status, *r.Error)...)
	}
	heading := block{drawing: drawing{height: 11}, holds: true}
	heading.line(l.word("Steps", styleSection()), 0, 3+styleSection().Ascent(), styleSection())
	return group{blocks: append(blocks, heading)}
}

// title is the name of the document, of the workflow, and the status.
func (l *layout) title(r verification.Report) block {
	var d drawing
	const badgeRoom = 46
	d.line(l.word("Verification report", styleTitle()), 0, 1+styleTitle().Ascent(), styleTitle())
	name := fmt.Sprintf("%s, version %d", r.Workflow.Name, r.Workflow.Version)
	if strings.TrimSpace(r.Workflow.Name) == "" {
		name = fmt.Sprintf("Version %d", r.Workflow.Version)
	}
	bottom := d.lines(l.name(name, styleSubtitle(), contentWidth-badgeRoom, limitNameLines), 0, 12.5, styleSubtitle())
	word, t := runStatus(r.Run.Status)
	l.badge(&d, contentWidth, 4.2, word, t, 1.25)
	d.height = bottom + 4
	return block{drawing: d}
}

// facts are two columns of captions and values on a panel.
func (l *layout) facts(r verification.Report) []block {
	const pad, gap, above, below = 4.5, 6.0, 2.6, 3.6
	column := (contentWidth - 2*pad - gap) / 2
	pairs := [][2][2]string{
		{{"Reference ID", r.Run.ReferenceID}, {"Run ID", string(r.Run.ID)}},
		{{"Started", moment(r.Run.StartedAt)}, {"Completed", moment(r.Run.CompletedAt)}},
		{{"Workflow", r.Workflow.Name}, {"Workflow ID", string(r.Workflow.ID)}},
		{{"Workflow version", fmt.Sprint(r.Workflow.Version)}, {"Version hash", shortHash(r.Workflow.VersionHash)}},
	}
	blocks := make([]block, len(pairs))
	for i, pair := range pairs {
		d := &blocks[i].drawing
		top := 0.0
		if i == 0 {
			top = above
		}
		d.height = max(
			l.fact(d, pair[0][0], pair[0][1], pad, top, column),
			l.fact(d, pair[1][0], pair[1][1], pad+column+gap, top, column)) + 1.4
		if i == len(pairs)-1 {
			d.height += below - 1.4
		}
		d.fill(0, 0, contentWidth, d.height, inkPanel)
	}
	return append(blocks, block{drawing: drawing{height: 5}})
}

// fact puts a value below its caption, and returns where it ends.
func (l *layout) fact(d *drawing, caption, value string, x, y, width float64) float64 {
	d.line(l.word(caption, styleCaption()), x, y+styleCaption().Ascent(), styleCaption())
	y += styleCaption().Leading()
	st := styleBody()
	if strings.TrimSpace(value) == "" {
		value, st.ink = "–", inkMuted
	}
	return d.lines(l.name(value, st, width, limitNameLines), x, y-0.3, st)
}

// summary counts the cards: a tile for each status.
func (l *layout) summary(s verification.ReportSummary) block {
	const gap, height = 4.0, 16.5
	width := (contentWidth - 2*gap) / 3
	d := drawing{height: height + 4}
	for i, tile := range []struct {
		count int
		word  string
		tone  tone
	}{{s.OK, "OK", toneGood()}, {s.Failed, "Failed", toneBad()}, {s.NeedsReview, "Needs review", toneCaution()}} {
		x := float64(i) * (width + gap)
		d.frame(x, 0, width, height, hairline, inkLine)
		d.fill(x, 0, 1.3, height, tile.tone.dark)
		count := l.word(fmt.Sprint(tile.count), styleFigure())
		d.line(count, x+6, 10.9, styleFigure())
		st := styleBody()
		st.ink = inkMuted
		d.line(l.word(tile.word, st), x+6+max(count.Width, 6)+3, 10.9, st)
	}
	return block{drawing: d}
}

// failure says what the run ended on.
func (l *layout) failure(s verification.Status, e verification.RunError) []block {
	const pad = 5.0
	title := "The run did not complete"
	switch s {
	case verification.StatusFailed:
		title = "The run failed"
	case verification.StatusExpired:
		title = "The run expired"
	case verification.StatusCompleted, verification.StatusCancelled, verification.StatusInProgress, verification.StatusAbandoned:
	}
	st, tone := styleHeading(), toneBad()
	st.ink = tone.dark
	head := block{drawing: drawing{height: 2.6 + st.Leading() + 0.4}, holds: true}
	head.line(l.word(title, st), pad, 2.6+st.Ascent(), st)
	foot := block{}
	foot.height = l.fact(&foot.drawing, "Error code", string(e.Code), pad, 0.8, contentWidth/2-2*pad)
	if e.Check != "" {
		foot.height = max(foot.height, l.fact(&foot.drawing, "Check", e.Check, contentWidth/2+pad, 0.8, contentWidth/2-2*pad))
	}
	foot.height += 2.6
	blocks := append([]block{head}, l.chunks(e.Message, styleBody(), pad, contentWidth-2*pad)...)
	blocks[len(blocks)-1].holds = true
	blocks = append(blocks, foot)
	for i := range blocks {
		h := blocks[i].height
		blocks[i].boxes = []box{{0, 0, contentWidth, h, tone.pale}, {0, 0, cardBar, h, tone.dark}}
	}
	return append(blocks, block{drawing: drawing{height: 3.5}})
}

// chunks set a long text into blocks that may part at the end of a page.
func (l *layout) chunks(text string, st style, x, width float64) []block {
	var blocks []block
	for lines := range slices.Chunk(l.set(text, limitValue, st, width), chunkLines) {
		var d drawing
		d.height = d.lines(lines, x, 0, st)
		blocks = append(blocks, block{drawing: d})
	}
	return blocks
}

// note is a sentence in place of a card.
func (l *layout) note(sentence string) group {
	var d drawing
	st := styleBody()
	st.ink = inkMuted
	d.height = d.lines(l.set(sentence, limitValue, st, contentWidth), 0, 0, st) + 4
	return group{blocks: []block{{drawing: d}}}
}

// closing carries the digest.
func (l *layout) closing(r verification.Report) group {
	d := drawing{}
	d.fill(0, 3, contentWidth, hairline, inkLine)
	y := d.lines([]typeset.Line{l.word("Digest of the history (SHA-256)", styleCaption())}, 0, 5, styleCaption())
	y = d.lines(l.name(r.Digest, styleStrong(), contentWidth, limitNameLines), 0, y-0.2, styleStrong())
	d.height = d.lines(l.set("It identifies the recorded history of the run that this report was printed from. "+
		"The report that the API returns for the run carries the same digest for as long as nothing was added to that history. "+
		"All times are UTC.", limitValue, styleCaption(), contentWidth), 0, y+0.8, styleCaption())
	return group{blocks: []block{{drawing: d}}}
}

// badge draws a status that ends at the right edge x.
func (l *layout) badge(d *drawing, right, top float64, word string, t tone, scale float64) {
	st := styleBadge()
	st.Size *= scale
	st.ink = t.dark
	text := l.word(word, st)
	w, h := text.Width+5*scale, 5*scale
	d.fill(right-w, top, w, h, t.pale)
	d.frame(right-w, top, w, h, 0.3, t.dark)
	d.line(text, right-w+2.5*scale, top+h/2+typeset.Millimetres(st.Size*0.357), st)
}

func runStatus(s verification.Status) (string, tone) {
	switch s {
	case verification.StatusCompleted:
		return "COMPLETED", toneGood()
	case verification.StatusFailed:
		return "FAILED", toneBad()
	case verification.StatusExpired:
		return "EXPIRED", toneBad()
	case verification.StatusCancelled:
		return "CANCELLED", toneNeutral()
	case verification.StatusInProgress:
		return "IN PROGRESS", toneCaution()
	case verification.StatusAbandoned:
		return "ABANDONED", toneCaution()
	}
	return "UNKNOWN", toneNeutral()
}

// moment writes a time in whole seconds UTC; empty for none.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Truncate(time.Second).Format(time.RFC3339)
}

// shortHash is enough of a hash to tell versions apart.
func shortHash(hash string) string {
	const enough = 12
	if r := []rune(hash); len(r) > enough {
		return string(r[:enough])
	}
	return hash
}
