package media_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
)

func TestPNGLosesItsLocationAndKeepsItsOrientation(t *testing.T) {
	exif := pngChunk("eXIf", string(tiff(binary.BigEndian, 6)))
	colours := join(pngChunk("gAMA", "\x00\x00\xb1\x8f"), pngChunk("iCCP", "name\x00\x00"+strings.Repeat("p", 100_000)))
	sent := join(pngWith(
		exif, colours, exif,
		pngChunk("tEXt", "Comment\x00"+gpsWords),
		pngChunk("zTXt", "Raw profile type exif\x00\x00"+gpsWords),
		pngChunk("iTXt", "XML:com.adobe.xmp\x00\x00\x00\x00\x00"+gpsWords),
		pngChunk("fcTL", gpsWords), pngChunk("prVt", gpsWords),
	), []byte("PK\x03\x04"+gpsWords))
	kept := accepted(t, sent)
	if bytes.Contains(kept, []byte(gpsWords)) || bytes.Contains(kept, []byte(gpsFractions)) {
		t.Error("the result contains the location")
	}
	if want := pngWith(pngChunk("eXIf", turnedExif(6)[6:]), colours); !bytes.Equal(kept, want) {
		t.Errorf("kept %d bytes, want the %d that make up the picture", len(kept), len(want))
	}
}

func TestBrokenPNGIsRefused(t *testing.T) {
	clean := somePNG()
	const head = 8 + 25
	end := pngChunk("IEND", "")
	wrong := bytes.Clone(clean)
	wrong[len(wrong)-30] ^= 1
	for n := 8; n < len(clean); n += 7 {
		refused(t, "the image cannot be read", clean[:n])
	}
	for name, content := range map[string][]byte{
		"no header":             join(clean[:8], clean[head:]),
		"two headers":           pngWith(clean[8:head]),
		"no picture":            join(clean[:head], end),
		"a wrong checksum":      wrong,
		"an unknown need":       pngWith(pngChunk("NEED", "")),
		"a palette of a book":   pngWith(pngChunk("PLTE", strings.Repeat("x", 3*257))),
		"a palette too late":    join(clean[:len(clean)-12], pngChunk("PLTE", "abc"), end),
		"many small palettes":   pngWith(bytes.Repeat(pngChunk("tRNS", "abc"), 10_000)),
		"an end with something": join(clean[:len(clean)-12], pngChunk("IEND", "x")),
		"a chunk of 4 GiB":      pngWith([]byte("\xff\xff\xff\xfftEXt")),
		"seven bits a colour":   bytes.Replace(clean, []byte("\x00\x00\x00\x30\x08"), []byte("\x00\x00\x00\x30\x07"), 1),
		"no rows":               sizedPNG(64, 0),
	} {
		t.Run(name, func(t *testing.T) { refused(t, "the image cannot be read", content) })
	}
}
