// The document: pages, header and footer, and reproducible bytes.

package pdf

import (
	"bytes"
	"errors"
	"sync"
	"time"

	"github.com/johnfercher/maroto/v2"
	"github.com/johnfercher/maroto/v2/pkg/components/page"
	"github.com/johnfercher/maroto/v2/pkg/components/row"
	"github.com/johnfercher/maroto/v2/pkg/config"
	"github.com/johnfercher/maroto/v2/pkg/core"
	"github.com/johnfercher/maroto/v2/pkg/core/entity"
	"github.com/johnfercher/maroto/v2/pkg/props"
	"github.com/phpdave11/gofpdf"

	"github.com/verifyd/verifyd/internal/typeset"
	"github.com/verifyd/verifyd/verification/report"
)

// sortCatalog makes gofpdf write fonts in the order of their names instead of the
// random order of a map. maroto has no such setting for one document.
//
//nolint:gochecknoglobals // a setting of the process, made once, before the first document
var sortCatalog = sync.OnceFunc(func() { gofpdf.SetDefaultCatalogSort(true) })

func (l *layout) document(r report.Print, sections []section, compress bool) ([]byte, error) {
	header, footer := l.header(r), l.footer(r)
	created := r.Run.CompletedAt
	if created.IsZero() {
		created = r.Run.StartedAt
	}
	if created.IsZero() {
		created = time.Unix(0, 0) // gofpdf replaces the zero time with the current one
	}
	created = created.UTC()
	caption := styleCaption()
	number := props.PageNumber{
		Pattern: "Page {current} of {total}", Place: props.RightBottom,
		Family: l.word("Page 0123456789 of", caption).Pieces[0].Font, Size: caption.Size, Color: caption.ink.color(),
	}
	subsets := l.text.Subsets() // all text is set by now
	fonts := make([]*entity.CustomFont, len(subsets))
	for i, s := range subsets {
		fonts[i] = &entity.CustomFont{Family: s.Name(), Bytes: s.TrueType()}
	}
	m := maroto.New(config.NewBuilder().
		WithDimensions(pageWidth, pageHeight).
		WithLeftMargin(marginSide).WithRightMargin(marginSide).
		WithTopMargin(marginTop).WithBottomMargin(marginBottom).
		WithMaxGridSize(contentWidth*gridPerMillimetre).
		WithCustomFonts(fonts).
		WithDefaultFont(&props.Font{Family: number.Family, Size: caption.Size}).
		WithPageNumber(number).
		WithCompression(compress).
		WithTitle(titleOf(r), true).
		WithSubject(plainText(r.Workflow.Name), true).
		WithAuthor(plainText(r.Letterhead.Name), true).
		WithCreator("verifyd", false).
		WithCreationDate(created).
		Build())
	if err := errors.Join(m.RegisterHeader(header...), m.RegisterFooter(footer...)); err != nil {
		return nil, err
	}
	p := &pager{maroto: m}
	for i := range sections {
		p.add(&sections[i], following(sections[i+1:]))
	}
	doc, err := m.Generate()
	if err != nil {
		return nil, err
	}
	if err := setModified(doc.GetBytes(), created); err != nil {
		return nil, err
	}
	return described(doc.GetBytes(), r, created, subsets, compress)
}

// section is a sequence of blocks, such as a card. If it continues on another
// page, ending is its last row on the page, and heading the first on the next.
type section struct {
	blocks          []block
	heading, ending *block
}

// pager adds sections to the document. maroto breaks pages where they are full;
// the pager breaks them earlier to keep blocks together.
type pager struct {
	maroto core.Maroto
	used   float64 // height on the current page, without header and footer
}

func (p *pager) put(b block) {
	p.maroto.AddRows(b.Row)
	p.used += b.height
}

// add adds a section. next is the height to reserve after the last block if that
// block must stay with the next section.
func (p *pager) add(s *section, next float64) {
	for i := 0; i < len(s.blocks); {
		end := i + s.together(i)
		need := height(s.blocks[i:end])
		switch {
		case end < len(s.blocks) && s.ending != nil:
			need += s.ending.height
		case end == len(s.blocks) && s.blocks[end-1].keep:
			need += next
		}
		if p.used > 0 && p.used+need > bodyHeight {
			continued := i > 0 && s.ending != nil
			if continued {
				p.put(*s.ending)
			}
			p.maroto.AddPages(page.New())
			p.used = 0
			if continued {
				p.put(*s.heading)
			}
			if head := s.blocks[i].head; head != nil {
				p.put(*head)
			}
		}
		for ; i < end; i++ {
			p.put(s.blocks[i])
		}
	}
}

// together returns how many blocks from block i on stay on one page: as many as
// are to be kept and fit on a page with the heading and the ending.
func (s *section) together(i int) int {
	free := bodyHeight
	if s.heading != nil {
		free -= s.heading.height + s.ending.height
	}
	if head := s.blocks[i].head; head != nil {
		free -= head.height
	}
	n := 1
	for used := s.blocks[i].height; i+n < len(s.blocks) && s.blocks[i+n-1].keep; n++ {
		if used += s.blocks[i+n].height; used > free {
			break
		}
	}
	return n
}

// following returns the height of the blocks that the next section starts with, and of what they must stay with.
func following(sections []section) float64 {
	if len(sections) == 0 {
		return 0
	}
	s := sections[0]
	n := s.together(0)
	need := height(s.blocks[:n])
	switch {
	case s.ending != nil:
		need += s.ending.height
	case n == len(s.blocks) && s.blocks[n-1].keep:
		need += following(sections[1:])
	}
	return need
}

func height(blocks []block) float64 {
	h := 0.0
	for _, b := range blocks {
		h += b.height
	}
	return h
}

func (l *layout) header(r report.Print) []core.Row {
	st := styleCaption()
	top := 3.4 - st.Ascent()
	run := l.name("Run "+string(r.Run.ID), st, contentWidth/2, 1)[0]
	name := l.name(r.Workflow.Name, st, contentWidth-run.Width-8, 1)[0]
	return []core.Row{
		newBlock(5.6, column(contentWidth, newParagraph(0, top, st, name), newParagraph(contentWidth-run.Width, top, st, run))).Row,
		newBlock(0.6, filled(contentWidth, inkAccent)).Row,
		row.New(headerHeight - 6.2).Add(column(contentWidth)), // not rounded
	}
}

// footer returns the line above the page number, and the digest beside the number,
// which maroto prints below the last row.
func (l *layout) footer(r report.Print) []core.Row {
	st := styleCaption()
	const numberWidth = 30
	baseline := 2 + typeset.Millimetres(st.Size)
	digest := l.name("Verification report, digest "+shortHash(r.Digest), st, contentWidth-numberWidth, 1)[0]
	return []core.Row{
		space(footerHeight - 2 - hairline).Row,
		newBlock(hairline, filled(contentWidth, inkLine)).Row,
		newBlock(2, column(contentWidth, newParagraph(0, baseline-st.Ascent(), st, digest))).Row,
	}
}

// setModified replaces the modification date, for which gofpdf has no setting per
// document, by a date of the same length.
func setModified(doc []byte, at time.Time) error {
	mark := []byte("/ModDate (D:")
	const form = "20060102150405"
	i := bytes.LastIndex(doc, mark)
	if i < 0 || i+len(mark)+len(form) > len(doc) {
		return errors.New("the document has no modification date")
	}
	copy(doc[i+len(mark):], at.Format(form))
	return nil
}
