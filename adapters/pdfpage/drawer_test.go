// Tests of what is drawn of good and hostile files, and in which order.

package pdfpage_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"image"
	"image/jpeg"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/phpdave11/gofpdf"

	"github.com/verifyd/verifyd/adapters/pdfpage"
	"github.com/verifyd/verifyd/verification"
)

const tenant verification.TenantID = "00000000-0000-7000-8000-0000000000aa"

const (
	timeout = 6 * time.Second
	maxWait = 300 * time.Millisecond
)

// shared is the drawer of most tests.
var shared = sync.OnceValue(func() *pdfpage.Drawer { return pdfpage.NewShared(pdfpage.Options{Timeout: timeout, MaxWait: maxWait}) })

// patient is a drawer for pages that are drawn in the end, also on a machine that has much else to do.
var patient = sync.OnceValue(func() *pdfpage.Drawer { return pdfpage.NewShared(pdfpage.Options{Timeout: 2 * time.Minute}) })

// drawn draws a file.
func drawn(t testing.TB, d *pdfpage.Drawer, raw []byte) (image.Image, error) {
	t.Helper()
	page, err := d.DrawPage(t.Context(), tenant, document(raw), bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	if len(page) > 4<<20 {
		t.Errorf("the picture has %d bytes", len(page))
	}
	i, err := jpeg.Decode(bytes.NewReader(page))
	if err != nil {
		t.Fatalf("the picture cannot be read: %v", err)
	}
	return i, nil
}

// document returns the document that a content has.
func document(raw []byte) verification.Document {
	sum := sha256.Sum256(raw)
	return verification.Document{ID: "one", SHA256: hex.EncodeToString(sum[:])}
}

// dark returns how many of 1,000 pixels of a part of an image are dark. The part is given
// in percent.
func dark(i image.Image, left, top, right, bottom int) int {
	w, h, n, all := i.Bounds().Dx(), i.Bounds().Dy(), 0, 0
	for y := top * h / 100; y < bottom*h/100; y++ {
		for x := left * w / 100; x < right*w/100; x++ {
			if r, g, b, _ := i.At(x, y).RGBA(); r+g+b < 3*0x6000 {
				n++
			}
			all++
		}
	}
	return n * 1000 / max(all, 1)
}

func TestAPageIsDrawnWithItsTextInItsPlace(t *testing.T) {
	for name, c := range map[string]struct {
		raw    []byte
		darkIn [4]int // the part of the page with everything that is dark
		least  int    // dark pixels of 1,000 there
	}{
		"text":                {printed(t, heading), [4]int{0, 0, 100, 25}, 30},
		"scan":                {scan(t, 1240, 1754), [4]int{0, 0, 100, 26}, 900},
		"large scan":          {scan(t, 4960, 7016), [4]int{0, 0, 100, 26}, 900},
		"transparent":         {printed(t, func(p *gofpdf.Fpdf) { p.SetAlpha(0.95, "Normal"); heading(p) }), [4]int{0, 0, 100, 25}, 30},
		"owner's lock":        {printed(t, func(p *gofpdf.Fpdf) { p.SetProtection(0, "", "secret"); heading(p) }), [4]int{0, 0, 100, 25}, 30},
		"turned":              {paged(a4+"/Rotate 90", top), [4]int{74, 0, 100, 100}, 900},
		"cropped":             {paged(a4+"/CropBox [0 421 595 842]", top), [4]int{0, 0, 100, 51}, 900},
		"filled form":         {form(), [4]int{0, 0, 100, 26}, 900},
		"100,000 pages":       {pages(100_000), [4]int{0, 0, 100, 26}, 900},
		"by Chromium":         {produced(t, "chromium"), [4]int{0, 0, 100, 30}, 200},
		"by cairo":            {produced(t, "cairo"), [4]int{0, 0, 100, 30}, 200},
		"by Ghostscript":      {produced(t, "ghostscript"), [4]int{0, 0, 100, 30}, 200},
		"by qpdf":             {produced(t, "qpdf"), [4]int{0, 0, 100, 30}, 200},
		"no cross-references": {bytes.ReplaceAll(paged(a4, top), []byte("xref\n"), nil), [4]int{0, 0, 100, 26}, 900},
	} {
		t.Run(name, func(t *testing.T) {
			i, err := drawn(t, patient(), c.raw)
			if err != nil {
				t.Fatal(err, errors.Unwrap(err))
			}
			if size := i.Bounds().Size(); max(size.X, size.Y) != pdfpage.MaxSide {
				t.Errorf("the picture has %s pixels, want %d on the long side", size, pdfpage.MaxSide)
			}
			in := dark(i, c.darkIn[0], c.darkIn[1], c.darkIn[2], c.darkIn[3])
			area := (c.darkIn[2] - c.darkIn[0]) * (c.darkIn[3] - c.darkIn[1])
			if all := dark(i, 0, 0, 100, 100); in < c.least || all > in*area/10_000+5 {
				t.Errorf("of 1,000 pixels %d are dark in the part, want at least %d, and %d of all", in, c.least, all)
			}
		})
	}
}

func TestAHostileFileIsDrawnInBoundsOrRefused(t *testing.T) {
	text := printed(t, heading)
	const bomb = 64 << 20
	for name, raw := range map[string][]byte{
		"nothing":                   []byte("%PDF-1.4\n%%EOF\n"),
		"no PDF":                    []byte("<html><script>alert(1)</script>"),
		"password":                  printed(t, func(p *gofpdf.Fpdf) { p.SetProtection(0, "secret", "secret"); heading(p) }),
		"no page":                   made("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [] /Count 0 >>"),
		"page of no size (drawn)":   paged("/MediaBox [0 0 0 0]", top), // the library takes US Letter
		"page of 14 km (drawn)":     paged("/MediaBox [0 0 40000000 40000000]", "0 0 9 9 re f"),
		"sliver (drawn)":            paged("/MediaBox [0 0 14400 1]", "0 0 9 9 re f"),
		"tree in itself":            made("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [2 0 R] /Count 1 >>"),
		"form in itself (stopped)":  paged(a4+"/Resources << /XObject << /X 5 0 R >> >>", "/X Do", stream("/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 5 0 R >> >>", "/X Do /X Do")),
		"endless drawing (stopped)": paged(a4, strings.Repeat("0 0 m 595 842 l 0 842 l 595 0 l f* ", bomb/36)),
		"huge image (drawn)": paged(a4+"/Resources << /XObject << /X 5 0 R >> >>", "595 0 0 842 0 0 cm /X Do",
			stream("/Type /XObject /Subtype /Image /Width 100000 /Height 100000 /BitsPerComponent 8 /ColorSpace /DeviceRGB", strings.Repeat("\x00", bomb))),
		"a script (drawn)":         paged(a4+"/AA << /O << /S /JavaScript /JS (while (true) {}) >> >>", top),
		"half of the file":         text[:len(text)/2],
		"most of the file (drawn)": text[:len(text)-20],
		"10 MiB of nothing":        make([]byte, verification.MaxDocumentBytes),
	} {
		t.Run(name, func(t *testing.T) {
			d := patient()
			if strings.HasSuffix(name, "(stopped)") {
				d = shared()
			}
			i, err := drawn(t, d, raw)
			if !strings.HasSuffix(name, "(drawn)") {
				wantsRefusal(t, err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if size := i.Bounds().Size(); max(size.X, size.Y) > pdfpage.MaxSide {
				t.Errorf("the picture has %s pixels, want at most %d on each side", size, pdfpage.MaxSide)
			}
		})
	}
}

// wantsRefusal fails the test unless an error says in one line that a file has no picture.
func wantsRefusal(t *testing.T, err error) {
	t.Helper()
	refused, ok := errors.AsType[*verification.Error](err)
	if !ok || !errors.Is(refused.Kind, verification.ErrInvalid) || refused.Cause == nil || strings.Contains(refused.Cause.Error(), "\n") {
		t.Fatalf("DrawPage = %v, want a refusal with a cause of one line", err)
	}
}

// held is a reader that says when it is read for the first time, and then waits.
type held struct {
	io.Reader
	read chan<- struct{}
	wait <-chan struct{}
}

func (h held) Read(p []byte) (int, error) {
	select {
	case h.read <- struct{}{}:
		<-h.wait
	default:
	}
	return h.Reader.Read(p)
}

func TestPagesAreDrawnOneAtATimeAndRemembered(t *testing.T) {
	known, slow := paged(a4, top), paged(a4, top)[:100] // refused once it is read
	if _, err := drawn(t, shared(), known); err != nil {
		t.Fatal(err)
	}
	read, wait, done := make(chan struct{}, 1), make(chan struct{}), make(chan error, 1)
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		_, err := shared().DrawPage(ctx, tenant, document(slow), held{bytes.NewReader(slow), read, wait})
		done <- err
	}()
	<-read // it has the slot
	leave()
	if _, err := drawn(t, shared(), known); err != nil {
		t.Errorf("a page that is known = %v while another one is drawn, want the picture", err)
	}
	other := paged(a4+"/Rotate 180", top)
	if _, err := shared().DrawPage(ctx, tenant, document(other), bytes.NewReader(other)); !errors.Is(err, context.Canceled) {
		t.Errorf("a page whose reader has left = %v, want it not waited for", err)
	}
	if _, err := drawn(t, shared(), other); !errors.Is(err, verification.ErrUnavailable) {
		t.Errorf("a page after %s of waiting = %v, want it unavailable", maxWait, err)
	}
	close(wait)
	wantsRefusal(t, <-done)
	if _, err := drawn(t, shared(), other); err != nil {
		t.Errorf("the page that had to wait = %v afterwards, want the picture", err)
	}
	_, err := shared().DrawPage(t.Context(), tenant, document(slow), iotest.ErrReader(errors.New("it is read again")))
	wantsRefusal(t, err)
	if _, err := shared().DrawPage(t.Context(), "another tenant", document(known), strings.NewReader("")); !errors.Is(err, verification.ErrInvalid) {
		t.Errorf("another tenant gets %v for a content that it does not have, want what it has", err)
	}
}

// TestDamagedFilesAreDrawnInBoundsOrRefused is no fuzz test: a library that is instrumented for
// one is compiled for minutes in each of its processes.
func TestDamagedFilesAreDrawnInBoundsOrRefused(t *testing.T) {
	const files = 30
	samples := [][]byte{paged(a4, top), form(), printed(t, heading), scan(t, 124, 175)}
	random := rand.New(rand.NewPCG(58, 1))
	refused := 0
	for n := range files {
		raw := bytes.Clone(samples[n%len(samples)])
		for range 1 + random.IntN(20) {
			switch at := random.IntN(len(raw) - 1); random.IntN(3) {
			case 0:
				raw[at] = byte(random.Uint32())
			case 1:
				raw[at] = "0123456789<>[]/"[random.IntN(15)]
			case 2:
				raw = slices.Delete(raw, at, at+1)
			}
		}
		switch i, err := drawn(t, shared(), raw); {
		case err != nil:
			wantsRefusal(t, err)
			refused++
		case i.Bounds().Dx() > pdfpage.MaxSide || i.Bounds().Dy() > pdfpage.MaxSide:
			t.Errorf("the picture of file %d has %s pixels", n, i.Bounds().Size())
		}
	}
	if refused == files {
		t.Error("no file was drawn: the damage is too large to test anything")
	}
}
