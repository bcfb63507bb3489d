// Layout: the sections of a report, and its text.

package pdf

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/verifyd/verifyd/internal/typeset"
	"github.com/verifyd/verifyd/verification"
)

type layout struct {
	formatter
	text      *typeset.Typesetter
	linesLeft int // of data, in the whole document
	pictures  pictures
}

func newLayout(text *typeset.Typesetter, r verification.Print) *layout {
	l := &layout{text: text, linesLeft: limitLines, formatter: formatter{zone: r.Zone, documents: map[string]string{}}}
	if l.zone == nil {
		l.zone = time.UTC
	}
	for i, d := range r.Documents {
		l.documents[d.ID] = fmt.Sprintf("Document %d: %s, %s", i+1, typeOf(d.Document), sizeOf(d.Document))
	}
	return l
}

// set breaks a text into lines of a width. It returns at least one.
func (l *layout) set(text string, limit int, st style, width float64) []typeset.Line {
	return l.text.Lines(text, limit, st.Style, width)
}

// paragraphs is set with the line breaks of the text.
func (l *layout) paragraphs(text string, limit int, st style, width float64) (lines []typeset.Line) {
	if utf8.RuneCountInString(text) > limit {
		return l.set(text, limit, st, width)
	}
	for part := range strings.SplitSeq(strings.TrimRight(text, "\r\n"), "\n") {
		lines = append(lines, l.set(strings.TrimRight(part, "\r"), limit, st, width)...)
	}
	return lines
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
func (l *layout) report(ctx context.Context, r verification.Print) ([]section, error) {
	sections := []section{l.opening(r)}
	if len(r.Input) > 0 {
		sections = append(sections, l.input(r))
	}
	sections = append(sections, section{blocks: []block{l.sectionHeading("Steps")}})
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
		sections = append(sections, l.card(i+1, c, r))
	}
	if len(r.Cards) == 0 {
		sections = append(sections, l.note("The run finished no step."))
	}
	documents, err := l.documentSections(ctx, r.Documents)
	if err != nil {
		return nil, err
	}
	sections = append(sections, documents...)
	sections = append(sections, l.annex(r)...)
	// The digest is not alone on a page.
	last := sections[len(sections)-1].blocks
	last[len(last)-1].keep = true
	return append(sections, l.closing(r)), nil
}

// note is a sentence in place of a card.
func (l *layout) note(sentence string) section {
	st := styleBody()
	st.ink = inkMuted
	p := newParagraph(0, 0, st, l.set(sentence, limitValue, st, contentWidth)...)
	return section{blocks: []block{newBlock(p.bottom()+4, column(contentWidth, p))}}
}

// sectionHeading is the title of a part of the report, on the page of what follows.
func (l *layout) sectionHeading(title string) block {
	b := newBlock(11, column(contentWidth, newParagraph(0, 3, styleSection(), l.word(title, styleSection()))))
	b.keep = true
	return b
}

func (l *layout) closing(r verification.Print) section {
	caption := newParagraph(0, 1.8, styleCaption(), l.word("Digest of the history (SHA-256)", styleCaption()))
	digest := newParagraph(0, caption.bottom()-0.2, styleStrong(), l.name(r.Digest, styleStrong(), contentWidth, limitNameLines)...)
	text := "It identifies the recorded history of the run that this report was printed from. " +
		"The report that the API returns for the run carries the same digest for as long as nothing was added to that history. " +
		"All times are in the time zone " + l.zone.String() + "."
	if missing := l.text.Missing(); len(missing) > 0 {
		text += " " + missingNote(missing)
	}
	meaning := newParagraph(0, digest.bottom()+0.8, styleCaption(), l.set(text, limitValue, styleCaption(), contentWidth)...)
	blocks := []block{
		space(3), newBlock(hairline, filled(contentWidth, inkLine)),
		newBlock(meaning.bottom(), column(contentWidth, caption, digest, meaning)),
	}
	blocks[0].keep, blocks[1].keep = true, true
	return section{blocks: blocks}
}

// limitMissing is how many of the missing characters the report names.
const limitMissing = 40

// missingNote says which characters no font has.
func missingNote(missing []rune) string {
	note := "No font of this host has these characters:"
	for i, r := range missing {
		if i == limitMissing {
			note += fmt.Sprintf(" and %s more", typeset.Thousands(len(missing)-i))
			break
		}
		if i > 0 {
			note += ","
		}
		note += fmt.Sprintf(" U+%04X", r)
	}
	return note + " (" + strings.Join(typeset.ScriptsOf(missing), ", ") + "). Their text is in the report that the API returns."
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

// shortHash returns enough of a hash to distinguish versions.
func shortHash(hash string) string {
	const enough = 12
	if r := []rune(hash); len(r) > enough {
		return string(r[:enough])
	}
	return hash
}

// typeOf returns the type of a document for people, such as JPEG.
func typeOf(d verification.Document) string {
	if t, ok := verification.FileTypeOf(d.MediaType); ok {
		return t.Name
	}
	return d.MediaType
}

// sizeOf returns the size of a document, such as 1.2 MB.
func sizeOf(d verification.Document) string {
	switch {
	case d.Size < 1000:
		return fmt.Sprintf("%d bytes", d.Size)
	case d.Size < 1_000_000:
		return fmt.Sprintf("%.0f kB", float64(d.Size)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(d.Size)/1_000_000)
}
