// PNG: chunks that make up the picture are kept, all others are left out.

package blob

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image/png"
)

const (
	pngSignature = "\x89PNG\r\n\x1a\n"
	// maxPNGHead is the longest of the chunks that tell what an image is
	// like: 256 colours of three bytes.
	maxPNGHead = 3 * 256
)

// pngFile is a PNG that streams by.
type pngFile struct {
	*stream
	header []byte // what a decoder asks for before it knows the size
	pixels bool   // the picture has begun
	turned bool   // its orientation was kept
}

// keepPNG keeps the picture, its colours and its orientation. Texts, Exif, XMP,
// frames of an animation and whatever follows the end are left out.
func keepPNG(s *stream) {
	f := &pngFile{stream: s, header: []byte(pngSignature)}
	s.keep(s.take(len(pngSignature)))
	for first := true; !s.over(); first = false {
		head := [8]byte(s.take(8))
		if first != (string(head[4:]) == "IHDR") {
			s.fail(refuseImage)
		}
		f.chunk(head)
		if string(head[4:]) == "IEND" {
			return
		}
	}
}

// chunk keeps one chunk or leaves it out.
func (f *pngFile) chunk(head [8]byte) {
	length := int64(binary.BigEndian.Uint32(head[:4]))
	if length > 1<<31-1 {
		f.fail(refuseImage)
		return
	}
	switch string(head[4:]) {
	case "IHDR", "PLTE", "tRNS":
		f.head(head, length)
	case "IDAT":
		if !f.pixels {
			f.measure(png.DecodeConfig(bytes.NewReader(append(f.header, head[:]...))))
		}
		f.pixels = true
		f.whole(head, length)
	case "IEND":
		if !f.pixels || length != 0 {
			f.fail(refuseImage)
		}
		f.whole(head, length)
	case "cHRM", "gAMA", "iCCP", "sRGB", "sBIT", "cICP", "mDCV", "cLLI", "bKGD", "hIST", "pHYs":
		f.whole(head, length)
	case "eXIf":
		f.turn(length)
	default:
		if head[4]&0x20 == 0 { // an upper-case letter: no decoder may do without
			f.fail(refuseImage)
		}
		f.drop(length + 4)
	}
}

// head keeps a chunk that stands before the picture and tells what it is like.
func (f *pngFile) head(head [8]byte, length int64) {
	if f.pixels || length > maxPNGHead {
		f.fail(refuseImage)
		return
	}
	body := f.take(int(length) + 4)
	f.header = append(append(f.header, head[:]...), body...)
	if len(f.header) > 4*maxPNGHead {
		f.fail(refuseImage)
	}
	f.checksum(crc32.Update(crc32.ChecksumIEEE(head[4:]), crc32.IEEETable, body[:length]), body[length:])
	f.keep(head[:])
	f.keep(body)
}

// whole keeps a chunk as it is.
func (f *pngFile) whole(head [8]byte, length int64) {
	f.keep(head[:])
	sum := crc32.ChecksumIEEE(head[4:])
	for p := range f.parts(length) {
		sum = crc32.Update(sum, crc32.IEEETable, p)
		f.keep(p)
	}
	tail := f.take(4)
	f.checksum(sum, tail)
	f.keep(tail)
}

func (f *pngFile) checksum(sum uint32, said []byte) {
	if binary.BigEndian.Uint32(said) != sum {
		f.fail(refuseImage)
	}
}

// turn keeps the orientation of the first Exif that has one.
func (f *pngFile) turn(length int64) {
	read := min(length, window)
	o := orientation(f.take(int(read)))
	f.drop(length - read + 4)
	if o == 0 || f.turned {
		return
	}
	f.turned = true
	chunk := append([]byte{0, 0, 0, minimalTIFF, 'e', 'X', 'I', 'f'}, turned(o)...)
	f.keep(binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk[4:])))
}
