// Tests of the photo that is taken on the page itself.

package journey_test

import (
	"bytes"
	"encoding/json"
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/rig/browser"
)

// watched keeps every stream that the page gets, to see that it is stopped.
const watched = `(() => {
	window.streams = [];
	const real = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
	navigator.mediaDevices.getUserMedia = async (wish) => { const s = await real(wish); window.streams.push(s); return s; };
	return true;
})()`

// ways counts the buttons of the form that send it.
const ways = `[...document.querySelectorAll("form:not(.optout) > .buttons button")].filter((b) => b.checkVisibility()).length`

// running counts the cameras that are on.
const running = `window.streams.flatMap((s) => s.getTracks()).filter((t) => t.readyState === "live").length`

func TestAPhotoIsTakenOnThePage(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	reach(c, "uploads")
	tab := browser.Start(t).Open(t, browser.Options{})
	tab.Go(c.link)
	browser.Eval[bool](tab, watched)

	tab.Press("[data-open]")
	tab.See("[data-shoot]:focus")
	if found := tab.Violations(browser.AllRules); found != "" {
		t.Errorf("axe finds:\n%s", found)
	}
	tab.Press("[data-cancel]")
	tab.See("[data-open]:focus")
	if n := browser.Eval[int](tab, running); n != 0 {
		t.Errorf("%d cameras run after Cancel", n)
	}

	tab.Press("[data-open]")
	tab.See("[data-shoot]:focus")
	if n := browser.Eval[int](tab, running); n != 1 {
		t.Errorf("%d cameras run before the photo, want 1", n)
	}
	if n := browser.Eval[int](tab, ways); n != 0 {
		t.Errorf("%d buttons of the form are shown while the camera is on", n)
	}
	tab.Press("[data-shoot]")
	tab.See("[data-preview]:not([hidden]) canvas")
	tab.See("[data-judge] [data-use]:focus")
	if text := tab.Text(); !strings.Contains(text, "Is everything sharp and readable?") || !strings.Contains(text, "Use this photo") || !strings.Contains(text, "Try again") {
		t.Errorf("page = %s", text)
	}
	if n := browser.Eval[int](tab, ways); n != 0 {
		t.Errorf("%d buttons of the form are shown before the photo is used", n)
	}
	tab.Press("[data-redo]")
	tab.See("[data-shoot]:focus")
	tab.Press("[data-shoot]")
	tab.See("[data-judge] [data-use]:focus")
	tab.Press("[data-use]")
	tab.See("[data-open]:focus")
	if n := browser.Eval[int](tab, ways); n != 1 {
		t.Errorf("%d buttons of the form are shown, want Continue", n)
	}
	if text := tab.Text(); !strings.Contains(text, "Your photo is ready.") || !strings.Contains(text, "Take another photo") {
		t.Errorf("page = %s", text)
	}
	if n := browser.Eval[int](tab, running); n != 0 {
		t.Errorf("%d cameras run after the photo", n)
	}
	if long := browser.Eval[int](tab, `(() => { const c = document.querySelector("[data-preview]:not([hidden]) canvas"); return Math.max(c.width, c.height); })()`); long == 0 || long > 1600 {
		t.Errorf("the photo is %d pixels long", long)
	}
	if found := tab.Violations(browser.AllRules); found != "" {
		t.Errorf("axe finds:\n%s", found)
	}
	tab.Shoot(filepath.Join(shots, "camera-taken.png"))

	tab.Choose("#f-front", photo(t))
	tab.Press(`input[name="f.where.denied"]`)
	tab.Press(onto)
	tab.See(".sign.good")
	var extra struct {
		Documents map[string]struct {
			MediaType string `json:"media_type"`
			Size      int    `json:"size"`
		} `json:"documents"`
	}
	data := s.data(c, "extra")
	if err := json.Unmarshal([]byte(data), &extra); err != nil {
		t.Fatal(err)
	}
	if kept := extra.Documents["selfie"]; kept.MediaType != "image/jpeg" || kept.Size <= 1<<10 {
		t.Errorf("extra = %s, want a JPEG of more than 1 KB", data)
	}
}

func TestSendingTheFormTurnsTheCameraOff(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	reach(c, "uploads")
	tab := browser.Start(t).Open(t, browser.Options{})
	tab.Go(c.link)
	browser.Eval[bool](tab, watched)
	for _, event := range []string{
		`document.querySelector("form").dispatchEvent(new Event("submit", {bubbles: true, cancelable: true}))`,
		`dispatchEvent(new Event("pagehide"))`,
	} {
		tab.Press("[data-open]")
		tab.See("[data-shoot]:focus")
		browser.Eval[bool](tab, event)
		if n := browser.Eval[int](tab, running); n != 0 {
			t.Errorf("%d cameras run after %s", n, event)
		}
	}
}

func TestACustomerWhoDeniesTheCameraCanChooseAPhoto(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	reach(c, "uploads")
	tab := browser.Start(t).Open(t, browser.Options{NoCamera: true})
	tab.Go(c.link)
	tab.Press("[data-open]")
	tab.Wait(`document.querySelector("[data-upload]:has([data-open]) .status").textContent.includes("does not let this page use the camera")`)
	if open := browser.Eval[bool](tab, `!document.querySelector("[data-live]").hidden`); open {
		t.Error("the preview is open without a camera")
	}
	if found := tab.Violations(browser.AllRules); found != "" {
		t.Errorf("axe finds:\n%s", found)
	}
	tab.Choose("#f-front", photo(t))
	tab.Choose("#f-selfie", photo(t)) // a small one
	tab.See("[data-judge] [data-redo]:focus")
	tab.Press("[data-use]")
	tab.Press(`input[name="f.where.denied"]`)
	tab.Press(onto)
	tab.See(".sign.good")
	if extra := s.data(c, "extra"); strings.Count(extra, `"media_type":"image/jpeg"`) != 2 {
		t.Errorf("extra = %s, want both photos", extra)
	}
}

func TestWithoutACameraNoneIsOffered(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	reach(c, "uploads")
	tab := browser.Start(t).Open(t, browser.Options{NoScript: true})
	tab.Go(c.link)
	tab.See("#f-selfie")
	if text := tab.Text(); strings.Contains(text, "Take a photo") {
		t.Errorf("page without JavaScript = %s", text)
	}
	if body := c.get().body; strings.Count(body, "data-open hidden") != 1 {
		t.Errorf("the page offers the camera for more than the photo, or shows it at once: %s", body)
	}
}

// twoCameras makes the page see two cameras, and keeps which way each stream faces.
const twoCameras = `(() => {
	window.facings = [];
	const devices = navigator.mediaDevices, real = devices.getUserMedia.bind(devices);
	devices.getUserMedia = (wish) => { window.facings.push(wish.video.facingMode.ideal); return real(wish); };
	devices.enumerateDevices = async () => [{kind: "videoinput"}, {kind: "videoinput"}];
	return true;
})()`

func TestTheCameraCanBeTurned(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	reach(c, "uploads")
	tab := browser.Start(t).Open(t, browser.Options{})
	tab.Go(c.link)
	browser.Eval[bool](tab, watched)
	browser.Eval[bool](tab, twoCameras)
	tab.Press("[data-open]")
	tab.See("[data-shoot]:focus")
	tab.Press("[data-turn]")
	tab.Wait(`window.facings.length === 2`)
	tab.See("video.mirrored")
	tab.See("[data-shoot]:focus")
	if got := browser.Eval[string](tab, "window.facings.join()"); got != "environment,user" {
		t.Errorf("the cameras face %s, want environment,user", got)
	}
	if n := browser.Eval[int](tab, running); n != 1 {
		t.Errorf("%d cameras run after the turn, want 1", n)
	}
	tab.Press("[data-shoot]")
	tab.See("[data-judge] [data-use]:focus")
	tab.Press("[data-use]")
	tab.Press("[data-remove]:not([hidden])")
	tab.Wait(`document.querySelector("#f-selfie").files.length === 0`)
	tab.Wait(`document.querySelector("[data-upload]:has([data-open]) [data-preview]").hidden`)
}

// drawn is a JPEG file of a chessboard of the given size. It is blurred if soft.
func drawn(t *testing.T, width, height int, soft bool) string {
	t.Helper()
	m := image.NewGray(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			shade := 255.0 * float64((x/40+y/40)%2)
			if soft {
				shade = 128 + 60*math.Sin(float64(x)/90)*math.Cos(float64(y)/90)
			}
			m.SetGray(x, y, color.Gray{Y: uint8(shade)})
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, nil); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "card.jpg")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAChosenPhotoIsCheckedForSizeAndSharpness(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	reach(c, "uploads")
	tab := browser.Start(t).Open(t, browser.Options{})
	tab.Go(c.link)
	tab.Choose("#f-front", photo(t))
	for _, tt := range []struct {
		name, path, want string
	}{
		{"small", drawn(t, 900, 500, false), "This photo is small"},
		{"blurred", drawn(t, 1200, 900, true), "This photo looks blurred."},
		{"sharp", drawn(t, 900, 600, false), ""},
		{"blurred again", drawn(t, 1300, 900, true), "This photo looks blurred."},
	} {
		tab.Choose("#f-selfie", tt.path)
		if tt.want == "" {
			tab.Wait(`document.querySelector("[data-judge]").hidden`)
			continue
		}
		tab.Wait(`(document.querySelector("[data-judge]:not([hidden]) p")?.textContent ?? "").includes("` + tt.want + `")`)
		tab.See("[data-redo]:focus")
		if text := tab.Text(); strings.Count(text, "is ready. It is sent") != 1 { // the front of the document
			t.Errorf("a %s photo in doubt is said to be ready: %s", tt.name, text)
		}
		inspect(t, tab, "photo "+tt.name, browser.AllRules)
		sent := browser.Eval[bool](tab, `document.querySelector("form:not(.optout)").dispatchEvent(new SubmitEvent("submit", {cancelable: true}))`)
		if focus := browser.Eval[string](tab, `document.activeElement.textContent`); sent || focus != "Use it anyway" {
			t.Errorf("%s: the form was sent %v with the focus on %q, want the question first", tt.name, sent, focus)
		}
	}
	tab.Press("[data-use]")
	tab.Press(`input[name="f.where.denied"]`)
	tab.Press(onto)
	tab.See(".sign.good")
	if extra := s.data(c, "extra"); strings.Count(extra, `"media_type":"image/jpeg"`) != 2 {
		t.Errorf("extra = %s, want the photo that was used anyway", extra)
	}
}
