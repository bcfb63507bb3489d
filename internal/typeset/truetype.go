// TrueType files.

package typeset

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/font/opentype"
)

// unitsPerEm is twice that of most fonts, so that points halfway between two of
// theirs are integers, too.
const unitsPerEm = 2000

// TrueType returns the font as a file. gofpdf reads only this format, parses the file
// for each document, and crashes on many fonts. This file is small and has the tables
// that gofpdf reads.
func (s *Subset) TrueType() []byte {
	codes := slices.Sorted(maps.Keys(s.signs))
	converter := converter{faces: map[*fontFile]*font.Face{}}
	shapes := []shape{{advance: unitsPerEm / 2}} // glyph 0 is never used
	for _, code := range codes {
		shapes = append(shapes, converter.shape(s.signs[code]))
	}
	var glyf, loca, hmtx writer
	box := bounds{}
	maxPoints, maxContours, maxAdvance := 0, 0, 0
	for _, sh := range shapes {
		loca.u32(len(glyf))
		glyf = append(glyf, sh.encode()...)
		for len(glyf)%4 != 0 {
			glyf.u8(0)
		}
		b := sh.bounds()
		hmtx.u16(sh.advance)
		hmtx.u16(b.minX)
		box = box.with(b)
		maxPoints, maxContours = max(maxPoints, sh.points()), max(maxContours, len(sh.contours))
		maxAdvance = max(maxAdvance, sh.advance)
	}
	loca.u32(len(glyf))
	table := func(tag string, content writer) opentype.Table {
		return opentype.Table{Tag: opentype.MustNewTag(tag), Content: content}
	}
	return opentype.WriteTTF([]opentype.Table{ // sorted by tag
		table("OS/2", os2Table()), table("cmap", cmapTable(codes)), table("glyf", glyf), table("head", headTable(box)),
		table("hhea", hheaTable(box, maxAdvance, len(shapes))), table("hmtx", hmtx), table("loca", loca),
		table("maxp", maxpTable(len(shapes), maxPoints, maxContours)), table("name", nameTable(s.name)), table("post", postTable()),
	})
}

// writer appends big-endian numbers.
type writer []byte

func (w *writer) u8(v int)  { *w = append(*w, byte(v)) }
func (w *writer) u16(v int) { *w = binary.BigEndian.AppendUint16(*w, uint16(v)) }
func (w *writer) u32(v int) { *w = binary.BigEndian.AppendUint32(*w, uint32(v)) }

func (w *writer) u16s(vs ...int) {
	for _, v := range vs {
		w.u16(v)
	}
}

// Metrics of Noto Sans, in units of unitsPerEm.
const (
	fontAscent    = 2138
	fontDescent   = -586
	fontCapHeight = 1428
	fontXHeight   = 1072
)

func headTable(b bounds) writer {
	var w writer
	w.u32(0x00010000) // version
	w.u32(0x00010000) // revision
	w.u32(0)          // checksum
	w.u32(0x5F0F3CF5) // magic
	w.u16s(3, unitsPerEm)
	w.u32(0) // created
	w.u32(0)
	w.u32(0) // modified
	w.u32(0)
	w.u16s(b.minX, b.minY, b.maxX, b.maxY)
	w.u16s(0, 8, 2, 1, 0) // style, smallest size, direction, long loca, glyph format
	return w
}

func hheaTable(b bounds, advance, glyphs int) writer {
	var w writer
	w.u32(0x00010000)
	w.u16s(fontAscent, fontDescent, 0, advance, b.minX, 0, b.maxX, 1, 0, 0, 0, 0, 0, 0, 0, glyphs)
	return w
}

func maxpTable(glyphs, points, contours int) writer {
	var w writer
	w.u32(0x00010000)
	w.u16s(glyphs, points, contours, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0)
	return w
}

func os2Table() writer {
	var w writer
	w.u16s(3, unitsPerEm/2, 400, 5, 0)                       // version, average width, weight, width class, may be embedded
	w.u16s(1300, 1200, 0, 150, 1300, 1200, 0, 700, 100, 600) // subscripts, superscripts, strikeout
	w.u16s(0, 0, 0, 0, 0, 0)                                 // family class, panose
	for range 4 {
		w.u32(0) // ranges of Unicode
	}
	w.u32(0x20202020) // vendor
	w.u16s(0x40, 0x20, 0xFFFD, fontAscent, fontDescent, 0, fontAscent, -fontDescent)
	w.u32(1) // code pages
	w.u32(0)
	w.u16s(fontXHeight, fontCapHeight, 0, 0x20, 1)
	return w
}

func postTable() writer {
	var w writer
	w.u32(0x00030000)
	w.u32(0)
	w.u16s(-200, 100)
	for range 5 {
		w.u32(0)
	}
	return w
}

func nameTable(family string) writer {
	texts := []string{1: family, 2: "Regular", 3: family, 4: family, 5: "Version 1.0", 6: family}
	var records, text writer
	for id, t := range texts {
		if t == "" {
			continue
		}
		records.u16s(3, 1, 0x409, id, 2*len(t), len(text))
		for _, c := range []byte(t) {
			text.u16(int(c))
		}
	}
	var w writer
	w.u16s(0, len(records)/12, 6+len(records))
	return append(append(w, records...), text...)
}

// cmapTable maps the sorted codes to the glyphs 1, 2, 3 ...
func cmapTable(codes []rune) writer {
	var starts, ends, deltas []int
	for i, code := range codes {
		if n := len(ends); n > 0 && ends[n-1] == int(code)-1 {
			ends[n-1]++
			continue
		}
		starts, ends, deltas = append(starts, int(code)), append(ends, int(code)), append(deltas, i+1-int(code))
	}
	starts, ends, deltas = append(starts, 0xFFFF), append(ends, 0xFFFF), append(deltas, 1)
	n := len(starts)
	entries := int(math.Log2(float64(n)))
	var w writer
	w.u16s(0, 1, 3, 1)
	w.u32(12)
	w.u16s(4, 16+8*n, 0, 2*n, 2<<entries, entries, 2*n-2<<entries)
	w.u16s(ends...)
	w.u16(0)
	w.u16s(starts...)
	w.u16s(deltas...)
	for range n {
		w.u16(0)
	}
	return w
}
