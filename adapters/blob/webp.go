// WebP: chunks that make up the picture are kept, all others are blanked.

package blob

import (
	"bytes"
	"encoding/binary"
	"image"

	"golang.org/x/image/vp8"
	"golang.org/x/image/vp8l"
)

const (
	webpAnimated = 0x02
	webpXMP      = 0x04
)

// webpFile is a WebP that streams by.
type webpFile struct {
	*stream
	left  int64 // bytes up to the end that its head tells
	first bool  // no chunk was read yet
	extra bool  // its first chunk is VP8X
	frame bool  // the picture was read
}

// keepWebP keeps the picture, its colours and its orientation. The head of the
// file tells its length before the rest is known, so what is not kept is
// replaced by as many zeros; what follows the end is left out.
func keepWebP(s *stream) {
	head := s.take(12)
	f := &webpFile{stream: s, left: int64(binary.LittleEndian.Uint32(head[4:])) - 4, first: true}
	s.keep(head)
	for f.left > 0 && !s.over() {
		f.chunk([8]byte(s.take(8)))
		f.first = false
	}
	if !f.frame || f.left != 0 {
		s.fail(refuseImage)
	}
}

// chunk keeps one chunk or blanks it.
func (f *webpFile) chunk(head [8]byte) {
	length := int64(binary.LittleEndian.Uint32(head[4:]))
	padded := length + length&1
	if f.left -= 8 + padded; f.left < 0 {
		f.fail(refuseImage)
		return
	}
	switch name := string(head[:4]); name {
	case "VP8X":
		f.canvas(head, length, padded)
	case "VP8 ", "VP8L":
		f.picture(name, length)
		f.keep(head[:])
		f.pass(padded)
	case "ICCP", "ALPH":
		f.keep(head[:])
		f.pass(padded)
	case "EXIF":
		f.turn(head, length, padded)
	case "ANIM", "ANMF": // only still pictures show what they show
		f.fail(refuseImage)
	default:
		copy(head[:], "JUNK") // decoders pass over what they do not know
		f.keep(head[:])
		f.blank(padded)
	}
}

// canvas keeps the chunk that tells what else there is, but for XMP.
func (f *webpFile) canvas(head [8]byte, length, padded int64) {
	const known = 10
	if !f.first || length < known {
		f.fail(refuseImage)
		return
	}
	f.extra = true
	body := f.take(known)
	if body[0]&webpAnimated != 0 {
		f.fail(refuseImage)
	}
	body[0] &^= webpXMP
	f.measure(image.Config{Width: 1 + uint24(body[4:]), Height: 1 + uint24(body[7:])}, nil)
	f.keep(head[:])
	f.keep(body)
	f.blank(padded - known)
}

// picture measures the picture, which may be another size than the canvas says.
func (f *webpFile) picture(name string, length int64) {
	const lossy, lossless = 10, 5 // lengths of the two headers
	if f.frame || !f.first && !f.extra || length < lossless || name == "VP8 " && length < lossy {
		f.fail(refuseImage)
		return
	}
	f.frame = true
	if name == "VP8L" {
		f.measure(vp8l.DecodeConfig(bytes.NewReader(f.peek(lossless))))
		return
	}
	d := vp8.NewDecoder()
	d.Init(bytes.NewReader(f.peek(lossy)), lossy)
	h, err := d.DecodeFrameHeader()
	if !h.KeyFrame {
		f.fail(refuseImage)
	}
	f.measure(image.Config{Width: h.Width, Height: h.Height}, err)
}

// turn keeps the orientation and blanks the rest of an Exif.
func (f *webpFile) turn(head [8]byte, length, padded int64) {
	if length < minimalTIFF {
		copy(head[:], "JUNK")
		f.keep(head[:])
		f.blank(padded)
		return
	}
	read := min(length, window)
	tiff := bytes.TrimPrefix(f.take(int(read)), []byte(exifPrefix))
	f.keep(head[:])
	f.keep(turned(max(1, orientation(tiff)))) // 1 is as it is
	f.keep(make([]byte, read-minimalTIFF))
	f.blank(padded - read)
}

func uint24(p []byte) int { return int(p[0]) | int(p[1])<<8 | int(p[2])<<16 }
