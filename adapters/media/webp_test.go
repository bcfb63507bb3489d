package media_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	xwebp "golang.org/x/image/webp"
)

const (
	hasXMP, hasExif, hasAlpha, hasICC, animated = 0x04, 0x08, 0x10, 0x20, 0x02
)

func TestWebPLosesItsLocationAndKeepsItsOrientation(t *testing.T) {
	profile := riffChunk("ICCP", strings.Repeat("p", 50_001))
	exif := string(tiff(binary.LittleEndian, 6))
	nothing := func(n int) []byte { return riffChunk("JUNK", strings.Repeat("\x00", n)) }
	sent := join(webp(
		canvas(hasXMP|hasExif|hasICC, 1, 1), profile, lossy(),
		riffChunk("EXIF", exif), riffChunk("EXIF", "short"), riffChunk("XMP ", "<x>"+gpsWords+"</x>"), riffChunk("mine", gpsWords),
	), []byte("a film, taken at "+gpsWords))
	kept := accepted(t, sent)
	if bytes.Contains(kept, []byte(gpsWords)) || bytes.Contains(kept, []byte(gpsFractions)) {
		t.Error("the result contains the location")
	}
	small := turnedExif(6)[6:]
	want := webp(
		canvas(hasExif|hasICC, 1, 1), profile, lossy(),
		riffChunk("EXIF", small+strings.Repeat("\x00", len(exif)-len(small))), nothing(5), nothing(len(gpsWords)+7), nothing(len(gpsWords)),
	)
	if !bytes.Equal(kept, want) {
		t.Errorf("kept %q, want %q", kept[50_000:], want[50_000:])
	}
}

func TestWebPIsKeptAsItIs(t *testing.T) {
	for name, content := range map[string][]byte{
		"lossy":    webp(lossy()),
		"lossless": webp(lossless()),
		"extended": webp(canvas(hasAlpha, 1, 1), riffChunk("ALPH", "\x00\xff"), lossy()),
	} {
		t.Run(name, func(t *testing.T) {
			kept := accepted(t, content)
			if !bytes.Equal(kept, content) {
				t.Errorf("kept %q, want %q", kept, content)
			}
			if _, err := xwebp.Decode(bytes.NewReader(kept)); err != nil {
				t.Errorf("what is kept cannot be decoded: %v", err)
			}
		})
	}
}

func TestBrokenWebPIsRefused(t *testing.T) {
	clean := webp(canvas(0, 1, 1), lossless())
	for n := 12; n < len(clean); n++ {
		refused(t, "the image cannot be read", clean[:n])
	}
	longer := bytes.Clone(clean)
	longer[4] += 2
	odd := bytes.Clone(clean)
	odd[4]--
	for name, content := range map[string][]byte{
		"no picture":             webp(canvas(0, 1, 1)),
		"two pictures":           webp(canvas(0, 1, 1), lossy(), lossy()),
		"a picture after others": webp(riffChunk("ICCP", "xx"), lossy()),
		"a canvas too late":      webp(lossy(), canvas(0, 1, 1)),
		"a short canvas":         webp(riffChunk("VP8X", "xxxx"), lossy()),
		"a short picture":        webp(riffChunk("VP8L", "\x2f\x00\x00")),
		"a moving picture":       webp(canvas(animated, 1, 1), lossy()),
		"frames":                 webp(canvas(0, 1, 1), riffChunk("ANMF", "xx"), lossy()),
		"no key frame":           webp(bytes.Replace(lossy(), []byte{0x30}, []byte{0x31}, 1)),
		"a wrong start code":     webp(bytes.Replace(lossy(), []byte{0x9d}, []byte{0x9e}, 1)),
		"a longer file":          longer,
		"a chunk after the end":  odd,
		"nothing":                webp(),
	} {
		t.Run(name, func(t *testing.T) { refused(t, "the image cannot be read", content) })
	}
}
