package media_test

import (
	"bytes"
	"errors"
	"image"
	"image/jpeg"
	"image/png"
	"testing"
	"testing/iotest"

	xwebp "golang.org/x/image/webp"

	"github.com/verifyd/verifyd/verification"
)

func FuzzSanitize(f *testing.F) {
	small := samples()
	small["application/pdf"] = somePDF(0) // the long one makes the fuzzer slow
	for _, content := range small {
		f.Add(content)
		f.Add(content[:len(content)/2])
		f.Add(join([]byte("\n"), content))
	}
	for _, locked := range []string{"", "secret"} {
		f.Add(encrypted(f, true, 128, locked))
		f.Add(revision6(f, locked))
		f.Add(encrypted(f, false, 128, locked))
	}
	f.Add(revision5("secret"))
	f.Add(join([]byte("\ufeff"), plainPage(f), []byte("behind it")))
	for _, content := range [][]byte{
		nil, []byte("<html>"), []byte("\xff\xd8\xff"), []byte("\x89PNG\r\n\x1a\n"), []byte("RIFF\xff\xff\xff\xffWEBP"), []byte("%PDF-1.4%%EOF"),
		webp(lossy()), webp(canvas(hasAlpha, 1, 1), riffChunk("ALPH", "x"), lossy()), sizedJPEG(65535, 65535), sizedPNG(1<<31-1, 1),
		join(someJPEG()[:2], segment(0xe1, "Exif\x00\x00II*\x00\xff\xff\xff\x7f"), someJPEG()[2:]),
	} {
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		mediaType, kept, err := sanitize(t.Context(), bytes.NewReader(content))
		if err != nil {
			var expected *verification.Error
			if !errors.As(err, &expected) || !errors.Is(err, verification.ErrInvalid) || expected.Message == "" {
				t.Fatalf("Sanitize: %v, want invalid, with a message", err)
			}
			return
		}
		known(t, mediaType, kept)
		if len(kept) > len(content) {
			t.Errorf("Sanitize keeps %d bytes of %d", len(kept), len(content))
		}
		again, same, err := sanitize(t.Context(), iotest.HalfReader(bytes.NewReader(kept)), mediaType)
		if err != nil || again != mediaType || !bytes.Equal(same, kept) {
			t.Errorf("Sanitize of its own output = %q, %d bytes, %v, want %q, %d bytes", again, len(same), err, mediaType, len(kept))
		}
	})
}

// known fails the test unless the kept content has a known type and, for an image, a
// header that decoders can read, with a size within the limits.
func known(t *testing.T, mediaType string, kept []byte) {
	t.Helper()
	var c image.Config
	var err error
	switch mediaType {
	case "image/jpeg":
		c, err = jpeg.DecodeConfig(bytes.NewReader(kept))
		if _, rare := errors.AsType[jpeg.UnsupportedError](err); rare {
			c, err = sizeOfJPEG(kept), nil // of a sampling that only other decoders know
		}
	case "image/png":
		c, err = png.DecodeConfig(bytes.NewReader(kept))
	case "image/webp":
		c, err = xwebp.DecodeConfig(bytes.NewReader(kept))
	case "application/pdf":
		if !bytes.HasPrefix(kept, []byte("%PDF-")) {
			t.Errorf("%.20q was kept as a PDF", kept)
		}
		return
	default:
		t.Fatalf("%.20q is kept as %q", kept, mediaType)
	}
	if err != nil || c.Width < 1 || c.Height < 1 || c.Width > 10_000 || c.Height > 10_000 || c.Width*c.Height > 50_000_000 {
		t.Errorf("what is kept as %s has %d by %d pixels, %v", mediaType, c.Width, c.Height, err)
	}
}
