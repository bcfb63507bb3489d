package media_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/media"
	"github.com/verifyd/verifyd/verification"
)

// The place where the samples were taken. No sanitized file may contain it.
const (
	gpsFractions = "\x00\x00\x00\x13\x00\x00\x00\x01" + "\x00\x00\x00\x04\x00\x00\x00\x01" + "\x00\x00\x0d\x20\x00\x00\x00\x64"
	gpsWords     = "19.0760 N 72.8777 E"
)

// tiff returns an Exif with an orientation, a location and a camera.
func tiff(order binary.AppendByteOrder, orientation uint16) []byte {
	b := []byte("MM")
	if order == binary.AppendByteOrder(binary.LittleEndian) {
		b = []byte("II")
	}
	entry := func(tag, kind uint16, count, value uint32) {
		b = order.AppendUint16(order.AppendUint16(b, tag), kind)
		b = order.AppendUint32(b, count)
		if kind == 3 {
			b = order.AppendUint16(order.AppendUint16(b, uint16(value)), 0)
		} else {
			b = order.AppendUint32(b, value)
		}
	}
	b = order.AppendUint16(b, 42)
	b = order.AppendUint32(b, 8)
	b = order.AppendUint16(b, 3)
	entry(0x010f, 2, uint32(len(gpsWords)), 100)    // who made the camera
	entry(0x0112, 3, 1, uint32(orientation))        // how to turn it
	entry(0x8825, 4, 1, 50)                         // where the GPS directory is
	b = append(order.AppendUint32(b, 0), "    "...) // up to 54
	b = order.AppendUint16(b[:50], 1)
	entry(0x0002, 5, 3, 76)
	for len(b) < 76 {
		b = append(b, 0)
	}
	b = append(b, gpsFractions...)
	return append(b, gpsWords...)
}

func segment(marker byte, body string) []byte {
	b := binary.BigEndian.AppendUint16([]byte{0xff, marker}, uint16(len(body)+2))
	return append(b, body...)
}

// join makes one file of parts.
func join[T string | []byte](parts ...T) []byte {
	var b []byte
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

func picture(width, height int) image.Image {
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for i := range width * height {
		m.Set(i%width, i/width, color.RGBA{uint8(i * 5), uint8(i / 7), uint8(i * i), 255})
	}
	return m
}

func someJPEG() []byte {
	var b bytes.Buffer
	_ = jpeg.Encode(&b, picture(64, 48), nil) // a buffer takes everything
	return b.Bytes()
}

func somePNG() []byte {
	var b bytes.Buffer
	_ = png.Encode(&b, picture(64, 48))
	return b.Bytes()
}

// sizedJPEG returns a JPEG whose header has this size.
func sizedJPEG(width, height uint16) []byte {
	b := someJPEG()
	frame := b[bytes.Index(b, []byte{0xff, 0xc0}):]
	binary.BigEndian.PutUint16(frame[5:], height)
	binary.BigEndian.PutUint16(frame[7:], width)
	return b
}

// greyJPEG returns a grey picture whose components have these samplings, as H<<4 | V. Each block
// is two bits: no difference to the one before, and its end.
func greyJPEG(width, height int, samplings ...byte) []byte {
	count, blocks := byte(len(samplings)), 0
	frame, scan := []byte{8, byte(height >> 8), byte(height), byte(width >> 8), byte(width), count}, []byte{count}
	wide, high := 0, 0
	for i, s := range samplings {
		frame, scan = append(frame, byte(i+1), s, 0), append(scan, byte(i+1), 0)
		wide, high, blocks = max(wide, int(s>>4)), max(high, int(s&15)), blocks+int(s>>4)*int(s&15)
	}
	blocks *= ((width + 8*wide - 1) / (8 * wide)) * ((height + 8*high - 1) / (8 * high))
	oneCode := "\x01" + strings.Repeat("\x00", 16) // a code of one bit, for the value 0
	return join(
		[]byte("\xff\xd8"), segment(0xdb, "\x00"+strings.Repeat("\x01", 64)), segment(0xc0, string(frame)),
		segment(0xc4, "\x00"+oneCode), segment(0xc4, "\x10"+oneCode), segment(0xda, string(scan)+"\x00\x3f\x00"),
		make([]byte, (2*blocks+7)/8), []byte("\xff\xd9"),
	)
}

// sizeOfJPEG returns the size in the frame header of a JPEG that was kept.
func sizeOfJPEG(kept []byte) image.Config {
	for at := 2; at+9 <= len(kept); at += 2 + int(binary.BigEndian.Uint16(kept[at+2:])) {
		if kept[at+1] >= 0xc0 && kept[at+1] <= 0xc2 {
			return image.Config{Height: int(binary.BigEndian.Uint16(kept[at+5:])), Width: int(binary.BigEndian.Uint16(kept[at+7:]))}
		}
	}
	return image.Config{}
}

// sizedPNG returns a PNG whose header has this size.
func sizedPNG(width, height uint32) []byte {
	b := somePNG()
	binary.BigEndian.PutUint32(b[16:], width)
	binary.BigEndian.PutUint32(b[20:], height)
	binary.BigEndian.PutUint32(b[29:], crc32.ChecksumIEEE(b[12:29]))
	return b
}

func pngChunk(name, body string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	b = append(b, name+body...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[4:]))
}

// pngWith puts chunks between the first chunk and the rest.
func pngWith(chunks ...[]byte) []byte {
	b := somePNG()
	const head = 8 + 25
	return join(b[:head], join(chunks...), b[head:])
}

func riffChunk(name, body string) []byte {
	b := binary.LittleEndian.AppendUint32([]byte(name), uint32(len(body)))
	b = append(b, body...)
	if len(body)%2 == 1 {
		b = append(b, 0)
	}
	return b
}

func webp(chunks ...[]byte) []byte {
	body := join(chunks...)
	return join([]byte("RIFF"), binary.LittleEndian.AppendUint32(nil, uint32(len(body)+4)), []byte("WEBP"), body)
}

// lossless is the chunk of a picture of one pixel.
func lossless() []byte { return someWebP("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==")[12:] }

// lossy is the chunk of a picture of one pixel.
func lossy() []byte {
	return someWebP("UklGRiQAAABXRUJQVlA4IBgAAAAwAQCdASoBAAEAAwA0JaQAA3AA/vuUAAA=")[12:]
}

func someWebP(encoded string) []byte {
	b, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		panic(err) // the text is a few lines above
	}
	return b
}

// canvas returns the VP8X chunk of a WebP of that size.
func canvas(flags byte, width, height int) []byte {
	w, h := width-1, height-1
	return riffChunk("VP8X", string([]byte{
		flags, 0, 0, 0, byte(w), byte(w >> 8), byte(w >> 16), byte(h), byte(h >> 8), byte(h >> 16),
	}))
}

// somePDF returns a PDF of a size.
func somePDF(length int) []byte {
	const head, tail = "%PDF-1.7\n%", "\n%%EOF\n"
	return []byte(head + strings.Repeat("x", max(0, length-len(head)-len(tail))) + tail)
}

// sanitize returns what media.Sanitize keeps of a file.
func sanitize(ctx context.Context, content io.Reader, accept ...string) (mediaType string, kept []byte, err error) {
	mediaType, r, err := media.Sanitize(ctx, content, accept)
	if err != nil {
		return "", nil, err
	}
	kept, err = io.ReadAll(r)
	return mediaType, kept, errors.Join(err, r.Close())
}

// accepted returns what is kept of a file that must be accepted.
func accepted(t *testing.T, content []byte, accept ...string) []byte {
	t.Helper()
	_, kept, err := sanitize(t.Context(), bytes.NewReader(content), accept...)
	if err != nil {
		t.Fatalf("Sanitize of %.12q: %v, want no error", content, err)
	}
	return kept
}

// refused checks that a file is refused with a message.
func refused(t *testing.T, want string, content []byte, accept ...string) {
	t.Helper()
	_, _, err := sanitize(t.Context(), bytes.NewReader(content), accept...)
	var expected *verification.Error
	if !errors.As(err, &expected) || !errors.Is(err, verification.ErrInvalid) || expected.Message != want {
		t.Errorf("Sanitize of %.12q: %v, want %q", content, err, want)
	}
}
