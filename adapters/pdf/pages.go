// Fills pages with blocks, and puts a header and a footer on each.

package pdf

import (
	"fmt"

	"github.com/verifyd/verifyd/verification"
)

// paginate divides the groups over pages. A block that is higher than a page
// gets a page of its own and runs off it; the limits see to it that there is
// none.
func paginate(groups []group) [][]*drawing {
	p := pager{pages: [][]*drawing{nil}}
	for i := range groups {
		p.group(&groups[i], following(groups[i+1:]))
	}
	return p.pages
}

type pager struct {
	pages [][]*drawing
	used  float64 // of the last page
}

func (p *pager) put(d *drawing) {
	last := len(p.pages) - 1
	p.pages[last] = append(p.pages[last], d)
	p.used += d.height
}

func (p *pager) turn() {
	p.pages = append(p.pages, nil)
	p.used = 0
}

// group puts the blocks of a group. next is the height that a last block which
// holds on needs behind it.
func (p *pager) group(g *group, next float64) {
	for i := 0; i < len(g.blocks); {
		end := i + g.together(i)
		need := height(g.blocks[i:end])
		switch {
		case end < len(g.blocks) && g.seam != nil:
			need += g.seam.height
		case end == len(g.blocks) && g.blocks[end-1].holds:
			need += next
		}
		if p.used > 0 && p.used+need > bodyHeight {
			if i > 0 && g.seam != nil {
				p.put(g.seam)
			}
			p.turn()
			if i > 0 && g.heading != nil {
				p.put(g.heading)
			}
		}
		for ; i < end; i++ {
			p.put(&g.blocks[i].drawing)
		}
	}
}

// together is how many blocks from block i on stay together: as many as hold
// on to the next, and fit one page below the heading.
func (g *group) together(i int) int {
	room := bodyHeight
	if g.heading != nil {
		room -= g.heading.height + g.seam.height
	}
	n := 1
	for used := g.blocks[i].height; i+n < len(g.blocks) && g.blocks[i+n-1].holds; n++ {
		if used += g.blocks[i+n].height; used > room {
			break
		}
	}
	return n
}

// following is the height of the blocks that the next group starts with.
func following(groups []group) float64 {
	if len(groups) == 0 {
		return 0
	}
	g := groups[0]
	need := height(g.blocks[:g.together(0)])
	if g.seam != nil {
		need += g.seam.height
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

// dress puts the header above each page, and below it a footer that ends where
// the page does.
func (l *layout) dress(pages [][]*drawing, r verification.Report) [][]*drawing {
	out := make([][]*drawing, len(pages))
	for i, blocks := range pages {
		used := 0.0
		for _, b := range blocks {
			used += b.height
		}
		filler := max(bodyHeight-used, 0)
		page := append([]*drawing{l.header(r)}, blocks...)
		if filler > 0 {
			page = append(page, &drawing{height: filler})
		}
		out[i] = append(page, l.footer(r, i+1, len(pages)))
	}
	return out
}

func (l *layout) header(r verification.Report) *drawing {
	d := drawing{height: headHeight}
	st := styleCaption()
	run := l.name("Run "+string(r.Run.ID), st, contentWidth/2, 1)[0]
	d.line(run, contentWidth-run.Width, 3.4, st)
	d.line(l.name(r.Workflow.Name, st, contentWidth-run.Width-8, 1)[0], 0, 3.4, st)
	d.fill(0, 5.6, contentWidth, 0.6, inkAccent)
	return &d
}

func (l *layout) footer(r verification.Report, page, pages int) *drawing {
	d := drawing{height: footHeight}
	st := styleCaption()
	d.fill(0, 3, contentWidth, hairline, inkLine)
	number := l.word(fmt.Sprintf("Page %d of %d", page, pages), st)
	d.line(number, contentWidth-number.Width, 7, st)
	d.line(l.name("Verification report, digest "+shortHash(r.Digest), st, contentWidth-number.Width-8, 1)[0], 0, 7, st)
	return &d
}
