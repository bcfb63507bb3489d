// PNG: chunks that make up the picture are copied, all others are dropped.

package media

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image/png"
)

const (
	pngSignature = "\x89PNG\r\n\x1a\n"
	// maxPNGHead is the maximum length of the chunks before the picture that are
	// copied: a palette of 256 colours of three bytes.
	maxPNGHead = 3 * 256
)

type pngFile struct {
	*stream
	header   []byte // what the decoder needs to return the size
	pixels   bool   // the picture has started
	oriented bool   // an orientation was written
}

// sanitizePNG copies the picture, its colours and its orientation. Texts, Exif,
// XMP, frames of an animation and data after the end are dropped.
func sanitizePNG(s *stream) {
	f := &pngFile{stream: s, header: []byte(pngSignature)}
	s.write(s.read(len(pngSignature)))
	for first := true; !s.failed(); first = false {
		head := [8]byte(s.read(8))
		if first != (string(head[4:]) == "IHDR") {
			s.fail(refuseImage)
		}
		f.chunk(head)
		if string(head[4:]) == "IEND" {
			return
		}
	}
}

func (f *pngFile) chunk(head [8]byte) {
	length := int64(binary.BigEndian.Uint32(head[:4]))
	if length > 1<<31-1 {
		f.fail(refuseImage)
		return
	}
	switch string(head[4:]) {
	case "IHDR", "PLTE", "tRNS":
		f.copyHead(head, length)
	case "IDAT":
		if !f.pixels {
			f.checkSize(png.DecodeConfig(bytes.NewReader(append(f.header, head[:]...))))
		}
		f.pixels = true
		f.copyChunk(head, length)
	case "IEND":
		if !f.pixels || length != 0 {
			f.fail(refuseImage)
		}
		f.copyChunk(head, length)
	case "cHRM", "gAMA", "iCCP", "sRGB", "sBIT", "cICP", "mDCV", "cLLI", "bKGD", "hIST", "pHYs":
		f.copyChunk(head, length)
	case "eXIf":
		f.exif(length)
	default:
		if head[4]&0x20 == 0 { // upper case: a critical chunk
			f.fail(refuseImage)
		}
		f.skip(length + 4)
	}
}

// copyHead copies a chunk that precedes the picture and describes it.
func (f *pngFile) copyHead(head [8]byte, length int64) {
	if f.pixels || length > maxPNGHead {
		f.fail(refuseImage)
		return
	}
	body := f.read(int(length) + 4)
	f.header = append(append(f.header, head[:]...), body...)
	if len(f.header) > 4*maxPNGHead {
		f.fail(refuseImage)
	}
	f.checksum(crc32.Update(crc32.ChecksumIEEE(head[4:]), crc32.IEEETable, body[:length]), body[length:])
	f.write(head[:])
	f.write(body)
}

func (f *pngFile) copyChunk(head [8]byte, length int64) {
	f.write(head[:])
	sum := crc32.ChecksumIEEE(head[4:])
	for p := range f.chunks(length) {
		sum = crc32.Update(sum, crc32.IEEETable, p)
		f.write(p)
	}
	tail := f.read(4)
	f.checksum(sum, tail)
	f.write(tail)
}

func (f *pngFile) checksum(sum uint32, want []byte) {
	if binary.BigEndian.Uint32(want) != sum {
		f.fail(refuseImage)
	}
}

// exif writes the orientation of the first eXIf chunk that has one.
func (f *pngFile) exif(length int64) {
	head := min(length, window)
	o := orientation(f.read(int(head)))
	f.skip(length - head + 4)
	if o == 0 || f.oriented {
		return
	}
	f.oriented = true
	chunk := append([]byte{0, 0, 0, minimalTIFF, 'e', 'X', 'I', 'f'}, orientationTIFF(o)...)
	f.write(binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk[4:])))
}
