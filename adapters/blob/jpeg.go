// JPEG: segments that make up the picture are kept, all others are left out.

package blob

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"image/jpeg"
)

// The markers that mean something here.
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

// maxScans is the most passes over a picture. A progressive one has about ten;
// with thousands, a small file takes minutes to decode.
const maxScans = 100

// Lengths of the two application segments that are kept, in bytes. What comes
// behind them, such as a thumbnail, is left out.
const (
	jfifBytes  = 14
	adobeBytes = 12
)

// jpegFile is a JPEG that streams by.
type jpegFile struct {
	*stream
	framed bool // its size is known
	turned bool // its orientation was kept
	scans  int
}

// keepJPEG keeps the picture, its colours and its orientation. Exif, XMP, IPTC,
// comments, previews and whatever follows the end, such as the film of a moving
// photo, are left out: each of them may say where it was taken.
func keepJPEG(s *stream) {
	j := &jpegFile{stream: s}
	s.keep(s.take(2))
	marker := j.marker()
	for !s.over() && marker != jpegEOI {
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
	s.put(0xff)
	s.put(jpegEOI)
}

// marker reads up to the next marker. What stands between two segments is
// nothing, to any decoder.
func (j *jpegFile) marker() byte {
	for !j.over() {
		if j.next() != 0xff {
			continue
		}
		marker := j.next()
		for marker == 0xff {
			marker = j.next()
		}
		if marker != 0 && marker != jpegTEM && (marker < jpegRST0 || marker > jpegRST7) {
			return marker
		}
	}
	return jpegEOI
}

// segment keeps one segment or leaves it out.
func (j *jpegFile) segment(marker byte) {
	length := int(binary.BigEndian.Uint16(j.take(2))) - 2
	if length < 0 || marker == jpegSOI {
		j.fail(refuseImage)
		return
	}
	body := j.take(length)
	switch marker {
	case jpegSOF0, jpegSOF1, jpegSOF2:
		j.frame(marker, body)
	case jpegSOS:
		if j.scans++; !j.framed || j.scans > maxScans {
			j.fail(refuseImage)
		}
		j.write(marker, body)
	case jpegDQT, jpegDHT, jpegDRI, jpegDNL:
		j.write(marker, body)
	case jpegAPP0:
		j.jfif(body)
	case jpegAPP2:
		if bytes.HasPrefix(body, []byte("ICC_PROFILE\x00")) {
			j.write(marker, body)
		}
	case jpegAPP14:
		if len(body) >= adobeBytes && bytes.HasPrefix(body, []byte("Adobe")) {
			j.write(marker, body[:adobeBytes])
		}
	case jpegAPP1:
		j.turn(body)
	default:
		if marker != jpegCOM && (marker < jpegAPP0 || marker > jpegAPP15) {
			j.fail(refuseImage)
		}
	}
}

// frame measures the picture.
func (j *jpegFile) frame(marker byte, body []byte) {
	if j.framed {
		j.fail(refuseImage)
	}
	j.framed = true
	// All that a decoder asks for before it knows the size.
	header := []byte{0xff, jpegSOI, 0xff, marker}
	header = binary.BigEndian.AppendUint16(header, uint16(len(body)+2))
	header = append(header, body...)
	header = append(header, 0xff, jpegSOS, 0, 2)
	j.measure(jpeg.DecodeConfig(bytes.NewReader(header)))
	j.write(marker, body)
}

// jfif keeps the density of the picture and leaves out its thumbnail, whose
// width and height are the last two bytes.
func (j *jpegFile) jfif(body []byte) {
	if len(body) >= jfifBytes && bytes.HasPrefix(body, []byte("JFIF\x00")) {
		body[jfifBytes-2], body[jfifBytes-1] = 0, 0
		j.write(jpegAPP0, body[:jfifBytes])
	}
}

// turn keeps the orientation of the first Exif that has one.
func (j *jpegFile) turn(body []byte) {
	tiff, ok := bytes.CutPrefix(body, []byte(exifPrefix))
	if !ok || j.turned {
		return
	}
	if o := orientation(tiff); o > 0 {
		j.turned = true
		j.write(jpegAPP1, append([]byte(exifPrefix), turned(o)...))
	}
}

func (j *jpegFile) write(marker byte, body []byte) {
	j.put(0xff)
	j.put(marker)
	j.put(byte((len(body) + 2) >> 8))
	j.put(byte(len(body) + 2))
	j.keep(body)
}

// scan keeps the coded picture, byte for byte, and reads the marker after it.
func (j *jpegFile) scan() byte {
	for !j.over() {
		p, err := j.in.ReadSlice(0xff)
		if errors.Is(err, bufio.ErrBufferFull) {
			j.keep(p)
			continue
		}
		if err != nil {
			j.fail(err)
			return jpegEOI
		}
		j.keep(p[:len(p)-1])
		switch b := j.next(); {
		case b == 0xff: // a filler; the byte it stands before is looked at next
			j.put(0xff)
			j.fail(j.in.UnreadByte())
		case b == 0, b >= jpegRST0 && b <= jpegRST7:
			j.put(0xff)
			j.put(b)
		default:
			return b
		}
	}
	return jpegEOI
}
