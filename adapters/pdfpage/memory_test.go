// Tests that a page is drawn in bounded memory.

package pdfpage_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/pdfpage"
	"github.com/verifyd/verifyd/verification"
)

// resident returns the memory of the process and its peak since the last call, as Linux counts
// them. It returns false on another system.
func resident(t *testing.T) (now, peak int, ok bool) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil || os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) != nil {
		t.Log("the memory is not measured: this needs Linux")
		return 0, 0, false
	}
	for line := range strings.Lines(string(status)) {
		_, _ = fmt.Sscanf(line, "VmRSS: %d", &now)
		_, _ = fmt.Sscanf(line, "VmHWM: %d", &peak)
	}
	return now << 10, peak << 10, true
}

// inBounds fails the test if draw takes more memory than a page may.
func inBounds(t *testing.T, draw func()) {
	t.Helper()
	if _, err := drawn(t, shared(), paged(a4, top)); err != nil { // compiles the library
		t.Fatal(err)
	}
	debug.FreeOSMemory()
	before, _, measured := resident(t)
	draw()
	_, peak, _ := resident(t)
	if measured && peak-before > pdfpage.DrawBytes {
		t.Errorf("drawing takes %d MiB, want at most 64 for the instance and 40 for the file and its picture", (peak-before)>>20)
	}
}

// xobject draws the object 5 on a page.
func xobject(content string, objects ...string) []byte {
	return paged(a4+"/Resources << /XObject << /X 5 0 R >> >>", content, objects...)
}

// picture returns a page that is one black image in colour.
func picture(width, height int) []byte {
	return xobject("595 0 0 842 0 0 cm /X Do", stream(
		fmt.Sprintf("/Type /XObject /Subtype /Image /Width %d /Height %d /BitsPerComponent 8 /ColorSpace /DeviceRGB", width, height),
		strings.Repeat("\x00", 3*width*height)))
}

// nested returns a page with forms in forms, each of which draws the next one ten times.
func nested(depth int, group string) []byte {
	const form = "/Type /XObject /Subtype /Form /BBox [0 0 595 842] "
	var objects []string
	for i := range depth {
		objects = append(objects, stream(form+group+fmt.Sprintf("/Resources << /XObject << /X %d 0 R >> >>", 6+i), strings.Repeat("/X Do ", 10)))
	}
	return xobject("/X Do", append(objects, stream(form, strings.Repeat("0 0 9 9 re f ", 200)))...)
}

// jpx returns an image that says that it has many components, in JPEG 2000.
func jpx(components int) string {
	size := func(n ...int) (s string) {
		for _, n := range n {
			s += string([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
		}
		return s
	}
	short := func(n int) string { return string([]byte{byte(n >> 8), byte(n)}) }
	dimensions := short(0) + size(2000, 2000, 0, 0, 2000, 2000, 0, 0) + short(components) + strings.Repeat("\x07\x01\x01", components)
	content := "\xff\x4f\xff\x51" + short(len(dimensions)+2) + dimensions +
		"\xff\x52\x00\x0c\x00\x00\x00\x01\x00\x05\x04\x04\x00\x01" + // coding style
		"\xff\x5c\x00\x13\x40" + strings.Repeat("\x48", 16) + // quantization
		"\xff\x90\x00\x0a\x00\x00\x00\x00\x00\x00\x00\x01\xff\x93" + strings.Repeat("\x00", 64) + "\xff\xd9"
	return fmt.Sprintf("<< /Type /XObject /Subtype /Image /Width 2000 /Height 2000 /BitsPerComponent 8 /ColorSpace /DeviceRGB"+
		" /Filter /JPXDecode /Length %d >>\nstream\n%s\nendstream", len(content), content)
}

// jbig2 returns a bilevel image that is 20,000 pixels wide and high, and has 20 bytes.
func jbig2() string {
	const side = "\x00\x00\x4e\x20"
	content := "\x00\x00\x00\x00\x30\x00\x01\x00\x00\x00\x13" + side + side + strings.Repeat("\x00", 11) +
		"\x00\x00\x00\x01\x26\x00\x01\x00\x00\x00\x2e" + side + side + strings.Repeat("\x00", 10) +
		"\x03\xff\xfd\xff\x02\xfe\xfe\xfe" + strings.Repeat("\x00", 20)
	return fmt.Sprintf("<< /Type /XObject /Subtype /Image /Width 20000 /Height 20000 /BitsPerComponent 1 /ColorSpace /DeviceGray"+
		" /Filter /JBIG2Decode /Length %d >>\nstream\n%s\nendstream", len(content), content)
}

func TestAHostileFileTakesBoundedMemory(t *testing.T) {
	for name, raw := range map[string][]byte{
		"forms in forms":      nested(6, ""),
		"groups in groups":    nested(6, "/Group << /S /Transparency /I true /K true >> "),
		"long path":           paged(a4, strings.Repeat("1 1 l ", 4<<20)),
		"saved states":        paged(a4, strings.Repeat("q ", 8<<20)),
		"many components":     xobject("595 0 0 842 0 0 cm /X Do", jpx(500)),
		"image of 20 bytes":   xobject("595 0 0 842 0 0 cm /X Do", jbig2()),
		"picture of 13.5 MP":  picture(3000, 4500),
		"100,000 empty pages": pages(100_000),
	} {
		t.Run(name, func(t *testing.T) {
			inBounds(t, func() {
				if _, err := drawn(t, shared(), raw); err != nil {
					wantsRefusal(t, err)
				}
			})
		})
	}
}

func TestAPictureThatIsTooLargeIsDrawnSmaller(t *testing.T) {
	page, err := drawn(t, patient(), picture(3307, 4677)) // A4 at 400 dpi
	if err != nil {
		t.Fatal(err)
	}
	if size := page.Bounds().Size(); size.Y != 1200 || dark(page, 0, 0, 100, 100) < 990 {
		t.Errorf("the picture has %s pixels, %d of 1,000 are dark, want 1200 on the long side, all of them dark", size, dark(page, 0, 0, 100, 100))
	}
}

// TestAPageWithoutItsPictureIsRefused exists because the library leaves out what it has no memory for.
func TestAPageWithoutItsPictureIsRefused(t *testing.T) {
	_, err := drawn(t, patient(), picture(3720, 5262)) // A4 at 450 dpi
	wantsRefusal(t, err)
	if refused, _ := errors.AsType[*verification.Error](err); !strings.Contains(refused.Cause.Error(), "memory") {
		t.Errorf("the cause is %q, want the memory", refused.Cause)
	}
}

func TestAPageIsNotDrawnWithoutFreeMemory(t *testing.T) {
	d, raw := patient(), paged(a4+"/Rotate 270", top)
	if _, err := drawn(t, d, paged(a4, top)); err != nil { // compiles the library
		t.Fatal(err)
	}
	limit := debug.SetMemoryLimit(120 << 20)
	defer debug.SetMemoryLimit(limit)
	_, err := d.DrawPage(t.Context(), tenant, document(raw), bytes.NewReader(raw))
	refused, _ := errors.AsType[*verification.Error](err)
	if refused == nil || !errors.Is(err, verification.ErrUnavailable) || refused.Cause == nil {
		t.Fatalf("DrawPage = %v, want unavailable with a cause", err)
	}
	debug.SetMemoryLimit(limit)
	if _, err := drawn(t, d, raw); err != nil {
		t.Errorf("DrawPage = %v once there is memory, want the picture", err)
	}
}

// TestTheRuntimeLeavesRoomForAPage exists because the limit of the runtime does not count an instance.
func TestTheRuntimeLeavesRoomForAPage(t *testing.T) {
	const limit, code, instance = 8 << 30, 48 << 20, 64 << 20
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(limit))
	ended := make(chan error)
	go func() {
		_, err := drawn(t, pdfpage.NewShared(pdfpage.Options{}), paged(a4, top))
		ended <- err
	}()
	tick := time.NewTicker(time.Millisecond) // a page takes longer
	defer tick.Stop()
	least := int64(limit)
	for drawing := true; drawing; {
		select {
		case err := <-ended:
			if drawing = false; err != nil {
				t.Fatal(err)
			}
		case <-tick.C:
			least = min(least, debug.SetMemoryLimit(-1))
		}
	}
	if least != limit-code-instance {
		t.Errorf("the limit is %d MiB lower while a page is drawn, want 112", (limit-least)>>20)
	}
	if now := debug.SetMemoryLimit(-1); now != limit-code {
		t.Errorf("the limit is %d MiB lower after a page, want 48", (limit-now)>>20)
	}
}
