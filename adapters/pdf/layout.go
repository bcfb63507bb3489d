// Layout: the sections of a report, and its text.

package pdf

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/verifyd/verifyd/adapters/internal/labels"
	"github.com/verifyd/verifyd/internal/markdown"
	"github.com/verifyd/verifyd/internal/typeset"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/report"
	"github.com/verifyd/verifyd/verification/rules"
)

type layout struct {
	formatter
	text      *typeset.Typesetter
	markdown  markdown.Converter
	linesLeft int // of data, in the whole document
	pictures  pictures
}

func newLayout(text *typeset.Typesetter, r report.Print) *layout {
	l := &layout{text: text, markdown: markdown.New(), linesLeft: limitLines, formatter: formatter{zone: r.Zone, documents: map[string]string{}}}
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
	return l.text.Lines(directed(text), limit, st.Style, width)
}

// fromLeft marks a text of the report that begins with a value: it runs from left to right,
// whatever the value is.
const fromLeft = "\u200e"

// directed returns a text with marks of its direction, which is the direction of most of its letters.
// Names from right to left in it do not change the order of the words around them.
func directed(text string) string {
	if !strings.HasPrefix(text, fromLeft) && labels.FromRight(text) {
		return "\u200f" + text
	}
	return labels.IsolateWords(text)
}

// spans is set of a text with bold parts. All of it has one direction.
func (l *layout) spans(all []typeset.Span, limit int, st style, width float64) []typeset.Line {
	texts := make([]string, len(all))
	for i, s := range all {
		texts[i] = s.Text
	}
	if all = slices.Clone(all); labels.FromRight(texts...) {
		all = slices.Insert(all, 0, typeset.Span{Text: "\u200f"})
	} else {
		for i := range all {
			all[i].Text = labels.IsolateWords(all[i].Text)
		}
	}
	return l.text.Spans(all, limit, st.Style, width)
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
	return l.text.Truncated(directed(text), limitName, st.Style, width, maxLines)
}

// word sets a short text of the report itself in one line.
func (l *layout) word(text string, st style) typeset.Line {
	return l.set(text, limitName, st, contentWidth)[0]
}

// report returns the sections of a report. It checks the context between cards.
func (l *layout) report(ctx context.Context, r report.Print) ([]section, error) {
	title, rest := l.opening(r)
	sections := append([]section{{}}, rest...)
	if len(r.Input) > 0 {
		sections = append(sections, l.input(r))
	}
	sections = append(sections, section{blocks: []block{l.sectionHeading("Steps")}})
	r.Cards = inOrder(nil, report.Sections(r.Report)) // the annex numbers them alike
	cards, err := l.cards(ctx, r)
	if err != nil {
		return nil, err
	}
	sections = append(sections, cards...)
	if len(cards) == 0 {
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
	sections = append(sections, l.closing(r))
	sections[0].blocks = append(title, l.lacking()...) // all text is set by now
	return sections, nil
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

func (l *layout) closing(r report.Print) section {
	caption := newParagraph(0, 1.8, styleCaption(), l.word("Digest of the history (SHA-256)", styleCaption()))
	digest := newParagraph(0, caption.bottom()-0.2, styleStrong(), l.name(r.Digest, styleStrong(), contentWidth, limitNameLines)...)
	text := "It identifies the recorded history of the run that this report was printed from"
	switch {
	case !r.Run.RedactedAt.IsZero():
		text += ", as it was before personal data was removed"
	case !r.Run.RestrictedAt.IsZero():
		text += ", as it was before the run was restricted"
	}
	text += ". The report that the API returns for the run carries the same digest for as long as nothing was added to that history. " +
		"All times are in the time zone " + l.zone.String() + "."
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

// lacking says on the first page which characters no font has, and what to do; nothing if the
// fonts have all. It is called when all other text is set.
func (l *layout) lacking() []block {
	missing := l.text.Missing()
	if len(missing) == 0 {
		return nil
	}
	text := "No font of this service has these characters: " + naming(missing) + ". A question mark in a diamond stands for each of them. The report that the API returns has them.\n" +
		"To print them, the operator of the service installs the package of Noto Sans CJK, for Chinese, Japanese and Korean, or names a " +
		"folder with another font in --font-dir, and the report is printed again."
	return append(slices.Concat(l.toned(toneBad(), "Some text of this report is missing", nil), l.tonedText(toneBad(), text)), space(4))
}

// naming returns the codes and the scripts of characters.
func naming(missing []rune) string {
	var codes strings.Builder
	for i, r := range missing[:min(len(missing), limitMissing)] {
		if i > 0 {
			codes.WriteString(", ")
		}
		fmt.Fprintf(&codes, "U+%04X", r)
	}
	if more := len(missing) - limitMissing; more > 0 {
		codes.WriteString(" and " + typeset.Thousands(more) + " more")
	}
	return codes.String() + " (" + strings.Join(typeset.ScriptsOf(missing), ", ") + ")"
}

func runStatus(s rules.Status) (string, tone) {
	switch s {
	case rules.StatusCompleted:
		return "COMPLETED", toneNeutral() // also for a refused customer
	case rules.StatusFailed:
		return "FAILED", toneBad()
	case rules.StatusExpired:
		return "EXPIRED", toneBad()
	case rules.StatusCancelled:
		return "CANCELLED", toneNeutral()
	case rules.StatusInProgress:
		return "IN PROGRESS", toneNeutral()
	case rules.StatusAbandoned:
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
