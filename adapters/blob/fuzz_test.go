package blob_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"image"
	"image/jpeg"
	"image/png"
	"testing"
	"testing/iotest"

	xwebp "golang.org/x/image/webp"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/verification"
)

func FuzzIntake(f *testing.F) {
	small := samples()
	small["application/pdf"] = somePDF(0) // the long one makes the fuzzer slow
	for _, content := range small {
		f.Add(content)
		f.Add(content[:len(content)/2])
		f.Add(join([]byte("\n"), content))
	}
	for _, content := range [][]byte{
		nil, []byte("<html>"), []byte("\xff\xd8\xff"), []byte("\x89PNG\r\n\x1a\n"), []byte("RIFF\xff\xff\xff\xffWEBP"), []byte("%PDF-1.4%%EOF"),
		webp(lossy()), webp(canvas(hasAlpha, 1, 1), riffChunk("ALPH", "x"), lossy()), sizedJPEG(65535, 65535), sizedPNG(1<<31-1, 1),
		join(someJPEG()[:2], segment(0xe1, "Exif\x00\x00II*\x00\xff\xff\xff\x7f"), someJPEG()[2:]),
	} {
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		var kept bytes.Buffer
		d, err := blob.Intake(t.Context(), upload(1), nil, bytes.NewReader(content), &kept)
		if err != nil {
			var expected *verification.Error
			if !errors.As(err, &expected) || !errors.Is(err, verification.ErrInvalid) || len(expected.Fields) != 1 ||
				expected.Fields[0].Name != "front" || expected.Fields[0].Message == "" {
				t.Fatalf("Intake: %v, want invalid, naming the field", err)
			}
			return
		}
		known(t, d.MediaType, kept.Bytes())
		sum := sha256.Sum256(kept.Bytes())
		if d.Size != int64(kept.Len()) || d.SHA256 != hex.EncodeToString(sum[:]) || kept.Len() > len(content) {
			t.Errorf("Intake = %d bytes, digest %s of %d bytes kept out of %d", d.Size, d.SHA256, kept.Len(), len(content))
		}
		var again bytes.Buffer
		if d2, err := blob.Intake(t.Context(), upload(1), []string{d.MediaType}, iotest.HalfReader(bytes.NewReader(kept.Bytes())), &again); err != nil || d2 != d {
			t.Errorf("Intake of what was kept = %+v, %v, want %+v", d2, err, d)
		}
	})
}

// known wants what is kept to be of a type that is known, and an image to have
// a header that decoders read, within bounds.
func known(t *testing.T, mediaType string, kept []byte) {
	t.Helper()
	var c image.Config
	var err error
	switch mediaType {
	case "image/jpeg":
		c, err = jpeg.DecodeConfig(bytes.NewReader(kept))
	case "image/png":
		c, err = png.DecodeConfig(bytes.NewReader(kept))
	case "image/webp":
		c, err = xwebp.DecodeConfig(bytes.NewReader(kept))
	case "application/pdf":
		if !bytes.HasPrefix(kept, []byte("%PDF-")) {
			t.Errorf("%.20q is kept as a PDF", kept)
		}
		return
	default:
		t.Fatalf("%.20q is kept as %q", kept, mediaType)
	}
	if err != nil || c.Width < 1 || c.Height < 1 || c.Width > 10_000 || c.Height > 10_000 || c.Width*c.Height > 50_000_000 {
		t.Errorf("what is kept as %s has %d by %d pixels, %v", mediaType, c.Width, c.Height, err)
	}
}
