// Tests of the photo that is taken on the page itself.

package journey_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/browser"
)

// watched keeps every stream that the page gets, to see that it is stopped.
const watched = `(() => {
	window.streams = [];
	const real = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
	navigator.mediaDevices.getUserMedia = async (wish) => { const s = await real(wish); window.streams.push(s); return s; };
	return true;
})()`

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
	tab.See("[data-use]:focus")
	if found := tab.Violations(browser.AllRules); found != "" {
		t.Errorf("axe finds:\n%s", found)
	}
	tab.Press("[data-cancel]")
	tab.See("[data-open]:focus")
	if n := browser.Eval[int](tab, running); n != 0 {
		t.Errorf("%d cameras run after Cancel", n)
	}

	tab.Press("[data-open]")
	tab.See("[data-use]:focus")
	if n := browser.Eval[int](tab, running); n != 1 {
		t.Errorf("%d cameras run before the photo, want 1", n)
	}
	tab.Press("[data-use]")
	tab.See("[data-preview]:not([hidden]) canvas")
	tab.See("[data-open]:focus")
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
		tab.See("[data-use]:focus")
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
	tab.Choose("#f-selfie", photo(t))
	tab.Choose("#f-front", photo(t))
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
	tab.See("[data-use]:focus")
	tab.Press("[data-turn]")
	tab.Wait(`window.facings.length === 2`)
	tab.See("video.mirrored")
	tab.See("[data-use]:focus")
	if got := browser.Eval[string](tab, "window.facings.join()"); got != "environment,user" {
		t.Errorf("the cameras face %s, want environment,user", got)
	}
	if n := browser.Eval[int](tab, running); n != 1 {
		t.Errorf("%d cameras run after the turn, want 1", n)
	}
	tab.Press("[data-use]")
	tab.See("[data-preview]:not([hidden]) canvas")
	tab.Press("[data-remove]:not([hidden])")
	tab.Wait(`document.querySelector("#f-selfie").files.length === 0`)
	tab.Wait(`document.querySelector("[data-upload]:has([data-open]) [data-preview]").hidden`)
}
