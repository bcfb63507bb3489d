package media_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/verifyd/verifyd/adapters/media"
	"github.com/verifyd/verifyd/verification"
)

// samples are files of every format, each with something that is not kept.
func samples() map[string][]byte {
	clean, exif := someJPEG(), string(tiff(binary.BigEndian, 5))
	return map[string][]byte{
		"image/jpeg":      join(clean[:2], segment(0xe1, "Exif\x00\x00"+exif), clean[2:], []byte("more")),
		"image/png":       pngWith(pngChunk("eXIf", exif), pngChunk("tEXt", "x")),
		"image/webp":      webp(canvas(hasXMP|hasExif, 1, 1), lossless(), riffChunk("EXIF", exif), riffChunk("XMP ", "x")),
		"application/pdf": somePDF(100_000),
	}
}

func TestTheMediaTypeIsFoundInTheContent(t *testing.T) {
	for want, content := range samples() {
		if got, _, err := sanitize(t.Context(), bytes.NewReader(content)); err != nil || got != want {
			t.Errorf("Sanitize = %q, %v, want %q", got, err, want)
		}
	}
}

func TestAFileThatIsNotReadToItsEndIsReleased(t *testing.T) {
	_, kept, err := media.Sanitize(t.Context(), bytes.NewReader(somePDF(100_000)), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(kept, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	if err := kept.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if n, err := io.Copy(io.Discard, kept); n > 64<<10 || err == nil {
		t.Errorf("reading after Close: %d bytes, %v, want an error", n, err)
	}
}

func TestSanitizingTwiceChangesNothing(t *testing.T) {
	for mediaType, content := range samples() {
		once := accepted(t, content)
		if twice := accepted(t, once); !bytes.Equal(once, twice) {
			t.Errorf("%s: the second time %d bytes are kept of %d, want the same", mediaType, len(twice), len(once))
		}
	}
}

func TestTheResultDoesNotDependOnTheSizeOfReads(t *testing.T) {
	ways := map[string]func(io.Reader) io.Reader{
		"one byte at a time": iotest.OneByteReader, "in halves": iotest.HalfReader, "with the end": iotest.DataErrReader,
	}
	for mediaType, content := range samples() {
		want := accepted(t, content)
		for name, way := range ways {
			_, kept, err := sanitize(t.Context(), way(bytes.NewReader(content)))
			if err != nil {
				t.Errorf("%s %s: %v", mediaType, name, err)
			}
			if !bytes.Equal(kept, want) {
				t.Errorf("%s %s: other bytes are kept", mediaType, name)
			}
		}
	}
}

func TestTheSizeLimitCountsEveryByte(t *testing.T) {
	const limit = verification.MaxDocumentBytes
	filled := func(content []byte, length int) []byte { return join(content, make([]byte, length-len(content))) }
	inside := join(someJPEG()[:2], bytes.Repeat(segment(0xfe, strings.Repeat("x", 65_000)), 162), someJPEG()[2:])
	for name, content := range map[string][]byte{
		"a PDF":                       somePDF(limit + 1),
		"after the end of a JPEG":     filled(someJPEG(), limit+1),
		"after the end of a PNG":      filled(somePNG(), limit+1),
		"after the end of a WebP":     filled(webp(lossy()), limit+1),
		"in comments":                 inside,
		"in a scan":                   join(someJPEG()[:len(someJPEG())-2], make([]byte, limit)),
		"in a chunk that is dropped":  pngWith(pngChunk("tEXt", strings.Repeat("x", limit))),
		"in a chunk that is kept":     pngWith(pngChunk("iCCP", strings.Repeat("x", limit))),
		"in a chunk that is blanked":  webp(canvas(0, 1, 1), lossy(), riffChunk("more", strings.Repeat("x", limit))),
		"in an Exif of a WebP":        webp(canvas(0, 1, 1), lossy(), riffChunk("EXIF", strings.Repeat("x", limit))),
		"in fillers between segments": join(someJPEG()[:2], bytes.Repeat([]byte{0xff}, limit)),
	} {
		t.Run(name, func(t *testing.T) { refused(t, "must be at most 10 MiB", content) })
	}
	for _, content := range [][]byte{somePDF(limit), filled(someJPEG(), limit), filled(somePNG(), limit)} {
		accepted(t, content)
	}
}

func TestSanitizeStopsReadingARefusedFile(t *testing.T) {
	for name, c := range map[string]struct {
		head  []byte
		limit int64
	}{
		"an unknown type":       {[]byte("<html>"), 64 << 10},
		"an image out of order": {join([]byte("\x89PNG\r\n\x1a\n"), pngChunk("IDAT", "")), 64 << 10},
		"an endless PDF":        {somePDF(0), verification.MaxDocumentBytes + 64<<10},
		"an endless JPEG":       {someJPEG(), verification.MaxDocumentBytes + 64<<10},
	} {
		endless := &io.LimitedReader{R: io.MultiReader(bytes.NewReader(c.head), zeros{}), N: 100 << 20}
		if _, _, err := sanitize(t.Context(), endless); !errors.Is(err, verification.ErrInvalid) {
			t.Errorf("%s: %v, want invalid", name, err)
		}
		if read := 100<<20 - endless.N; read > c.limit {
			t.Errorf("%s: %d bytes were read, want at most %d", name, read, c.limit)
		}
	}
}

// zeros is an endless reader.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestErrorsOfTheUploadAreNotRefusals(t *testing.T) {
	broken := errors.New("broken")
	for mediaType, content := range samples() {
		for _, came := range []int{0, 1, 20, len(content) / 2, len(content)} {
			// A broken connection and a truncated file may give the same error.
			for _, err := range []error{broken, io.ErrUnexpectedEOF} {
				line := io.MultiReader(bytes.NewReader(content[:came]), iotest.ErrReader(err))
				_, _, got := sanitize(t.Context(), line)
				if !errors.Is(got, err) || errors.Is(got, verification.ErrInvalid) {
					t.Errorf("%s, broken after %d bytes: %v, want %v", mediaType, came, got, err)
				}
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := sanitize(ctx, bytes.NewReader(content)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, given up: %v, want %v", mediaType, err, context.Canceled)
		}
	}
}
