// JPEG: segments that make up the picture are copied, all others are dropped.

package media

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"slices"
)

// The markers that are handled.
const (
	jpegSOF0  = 0xc0 // baseline
	jpegSOF1  = 0xc1 // extended
	jpegSOF2  = 0xc2 // progressive
	jpegDHT   = 0xc4
	jpegRST0  = 0xd0
	jpegRST7  = 0xd7
	jpegSOI   = 0xd8
	jpegEOI   = 0xd9
	jpegSOS   = 0xda
	jpegDQT   = 0xdb
	jpegDNL   = 0xdc
	jpegDRI   = 0xdd
	jpegAPP0  = 0xe0
	jpegAPP1  = 0xe1
	jpegAPP2  = 0xe2
	jpegAPP14 = 0xee
	jpegAPP15 = 0xef
	jpegCOM   = 0xfe
	jpegTEM   = 0x01
)

// maxScans limits the scans of a picture. A progressive JPEG has about ten; a
// small file with thousands takes minutes to decode.
const maxScans = 100

// Lengths of the two application segments that are copied, in bytes. The rest of
// each, such as a thumbnail, is dropped.
const (
	jfifBytes  = 14
	adobeBytes = 12
)

type jpegFile struct {
	*stream
	framed   bool // the frame header was read
	oriented bool // an orientation was written
	scans    int
}

// sanitizeJPEG copies the picture, its colours and its orientation. Exif, XMP,
// IPTC, comments, previews and data after the end, such as the video of a live
// photo, are dropped: each of them may contain a location.
func sanitizeJPEG(s *stream) {
	j := &jpegFile{stream: s}
	s.write(s.read(2))
	marker := j.marker()
	for !s.failed() && marker != jpegEOI {
		j.segment(marker)
		if marker == jpegSOS {
			marker = j.scan()
		} else {
			marker = j.marker()
		}
	}
	if j.scans == 0 {
		s.fail(refuseImage)
	}
	s.writeByte(0xff)
	s.writeByte(jpegEOI)
}

// marker reads up to the next marker. Decoders ignore bytes between two
// segments.
func (j *jpegFile) marker() byte {
	for !j.failed() {
		if j.readByte() != 0xff {
			continue
		}
		marker := j.readByte()
		for marker == 0xff {
			marker = j.readByte()
		}
		if marker != 0 && marker != jpegTEM && (marker < jpegRST0 || marker > jpegRST7) {
			return marker
		}
	}
	return jpegEOI
}

func (j *jpegFile) segment(marker byte) {
	length := int(binary.BigEndian.Uint16(j.read(2))) - 2
	if length < 0 || marker == jpegSOI {
		j.fail(refuseImage)
		return
	}
	body := j.read(length)
	switch marker {
	case jpegSOF0, jpegSOF1, jpegSOF2:
		j.frame(marker, body)
	case jpegSOS:
		if j.scans++; !j.framed || j.scans > maxScans {
			j.fail(refuseImage)
		}
		j.writeSegment(marker, body)
	case jpegDQT, jpegDHT, jpegDRI, jpegDNL:
		j.writeSegment(marker, body)
	case jpegAPP0:
		j.jfif(body)
	case jpegAPP2:
		if bytes.HasPrefix(body, []byte("ICC_PROFILE\x00")) {
			j.writeSegment(marker, body)
		}
	case jpegAPP14:
		if len(body) >= adobeBytes && bytes.HasPrefix(body, []byte("Adobe")) {
			j.writeSegment(marker, body[:adobeBytes])
		}
	case jpegAPP1:
		j.exif(body)
	default:
		if marker != jpegCOM && (marker < jpegAPP0 || marker > jpegAPP15) {
			j.fail(refuseImage)
		}
	}
}

// frame checks the header of the picture and copies it.
func (j *jpegFile) frame(marker byte, body []byte) {
	if j.framed || !decodable(body) {
		j.fail(refuseImage)
		return
	}
	j.framed = true
	height, width := binary.BigEndian.Uint16(body[1:]), binary.BigEndian.Uint16(body[3:])
	j.checkSize(image.Config{Width: int(width), Height: int(height)}, nil)
	j.writeSegment(marker, body)
}

// decodable reports whether browsers decode a picture with this frame header (ITU-T T.81,
// B.2.2): 8 bits for each of one, three or four components, which are a whole part as wide
// and high as the largest. That is what libjpeg reads; the decoder of the standard library
// knows only the usual samplings, so it is not asked.
func decodable(body []byte) bool {
	const fixed, each, maxSampling, maxTable = 6, 3, 4, 3
	if len(body) < fixed || body[0] != 8 {
		return false
	}
	count := int(body[5])
	if count != 1 && count != 3 && count != 4 || len(body) != fixed+each*count {
		return false
	}
	var known [256]bool
	var wide, high byte
	for c := range slices.Chunk(body[fixed:], each) {
		h, v := c[1]>>4, c[1]&15
		if known[c[0]] || h < 1 || h > maxSampling || v < 1 || v > maxSampling || c[2] > maxTable {
			return false
		}
		known[c[0]] = true
		wide, high = max(wide, h), max(high, v)
	}
	for c := range slices.Chunk(body[fixed:], each) {
		if wide%(c[1]>>4) != 0 || high%(c[1]&15) != 0 {
			return false
		}
	}
	return true
}

// jfif copies the pixel density and drops the thumbnail, whose width and height
// are the last two bytes.
func (j *jpegFile) jfif(body []byte) {
	if len(body) >= jfifBytes && bytes.HasPrefix(body, []byte("JFIF\x00")) {
		body[jfifBytes-2], body[jfifBytes-1] = 0, 0
		j.writeSegment(jpegAPP0, body[:jfifBytes])
	}
}

// exif writes the orientation of the first Exif segment that has one.
func (j *jpegFile) exif(body []byte) {
	tiff, ok := bytes.CutPrefix(body, []byte(exifPrefix))
	if !ok || j.oriented {
		return
	}
	if o := orientation(tiff); o > 0 {
		j.oriented = true
		j.writeSegment(jpegAPP1, append([]byte(exifPrefix), orientationTIFF(o)...))
	}
}

func (j *jpegFile) writeSegment(marker byte, body []byte) {
	j.writeByte(0xff)
	j.writeByte(marker)
	j.writeByte(byte((len(body) + 2) >> 8))
	j.writeByte(byte(len(body) + 2))
	j.write(body)
}

// scan copies the entropy-coded data and returns the marker after it.
func (j *jpegFile) scan() byte {
	for !j.failed() {
		p, err := j.in.ReadSlice(0xff)
		if errors.Is(err, bufio.ErrBufferFull) {
			j.write(p)
			continue
		}
		if err != nil {
			j.fail(err)
			return jpegEOI
		}
		j.write(p[:len(p)-1])
		switch b := j.readByte(); {
		case b == 0xff: // a fill byte: the second 0xff may start a marker
			j.writeByte(0xff)
			j.fail(j.in.UnreadByte())
		case b == 0, b >= jpegRST0 && b <= jpegRST7:
			j.writeByte(0xff)
			j.writeByte(b)
		default:
			return b
		}
	}
	return jpegEOI
}
