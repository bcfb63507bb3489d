// WebP: chunks that make up the picture are copied, all others are zeroed.

package media

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

// webpFile is the state of one WebP.
type webpFile struct {
	*stream
	left  int64 // bytes up to the end that the header declares
	first bool  // no chunk has been read
	extra bool  // the first chunk is VP8X
	frame bool  // the picture was read
}

// sanitizeWebP copies the picture, its colours and its orientation. The header
// declares the length of the file, so other chunks are replaced by zeros of the
// same length. Data after the end is dropped.
func sanitizeWebP(s *stream) {
	head := s.read(12)
	f := &webpFile{stream: s, left: int64(binary.LittleEndian.Uint32(head[4:])) - 4, first: true}
	s.write(head)
	for f.left > 0 && !s.failed() {
		f.chunk([8]byte(s.read(8)))
		f.first = false
	}
	if !f.frame || f.left != 0 {
		s.fail(refuseImage)
	}
}

func (f *webpFile) chunk(head [8]byte) {
	length := int64(binary.LittleEndian.Uint32(head[4:]))
	padded := length + length&1
	if f.left -= 8 + padded; f.left < 0 {
		return // sanitizeWebP refuses it
	}
	switch name := string(head[:4]); name {
	case "VP8X":
		f.canvas(head, length, padded)
	case "VP8 ", "VP8L":
		f.picture(name, length)
		f.write(head[:])
		f.copy(padded)
	case "ICCP", "ALPH":
		f.write(head[:])
		f.copy(padded)
	case "EXIF":
		f.exif(head, length, padded)
	case "ANIM", "ANMF": // animations are refused
		f.fail(refuseImage)
	default:
		copy(head[:], "JUNK") // decoders skip unknown chunks
		f.write(head[:])
		f.zero(padded)
	}
}

// canvas copies the VP8X chunk without its XMP flag.
func (f *webpFile) canvas(head [8]byte, length, padded int64) {
	const known = 10
	if !f.first || length < known {
		f.fail(refuseImage)
		return
	}
	f.extra = true
	body := f.read(known)
	if body[0]&webpAnimated != 0 {
		f.fail(refuseImage)
	}
	body[0] &^= webpXMP
	f.checkSize(image.Config{Width: 1 + uint24(body[4:]), Height: 1 + uint24(body[7:])}, nil)
	f.write(head[:])
	f.write(body)
	f.zero(padded - known)
}

// picture checks the size of the picture, which may differ from the canvas.
func (f *webpFile) picture(name string, length int64) {
	const lossy, lossless = 10, 5 // header lengths
	if f.frame || !f.first && !f.extra || length < lossless || name == "VP8 " && length < lossy {
		f.fail(refuseImage)
		return
	}
	f.frame = true
	if name == "VP8L" {
		f.checkSize(vp8l.DecodeConfig(bytes.NewReader(f.peek(lossless))))
		return
	}
	d := vp8.NewDecoder()
	d.Init(bytes.NewReader(f.peek(lossy)), lossy)
	h, err := d.DecodeFrameHeader()
	if !h.KeyFrame {
		f.fail(refuseImage)
	}
	f.checkSize(image.Config{Width: h.Width, Height: h.Height}, err)
}

// exif writes the orientation and zeroes the rest of an EXIF chunk.
func (f *webpFile) exif(head [8]byte, length, padded int64) {
	if length < minimalTIFF {
		copy(head[:], "JUNK")
		f.write(head[:])
		f.zero(padded)
		return
	}
	read := min(length, window)
	tiff := bytes.TrimPrefix(f.read(int(read)), []byte(exifPrefix))
	f.write(head[:])
	f.write(orientationTIFF(max(1, orientation(tiff)))) // 1 is upright
	f.write(make([]byte, read-minimalTIFF))
	f.zero(padded - read)
}

func uint24(p []byte) int { return int(p[0]) | int(p[1])<<8 | int(p[2])<<16 }
