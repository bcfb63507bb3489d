// Tests of the way of the demo's customer, in a real browser.

package server_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/browser"
)

// onto is the button that goes on from a form.
const onto = "form:not(.optout) > .buttons button:not(.quiet)"

// clientSite is where the client wants its customers back; its page shows what
// it was told.
func clientSite(t *testing.T) (url string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprintf(w, "<!doctype html><title>Back</title><p id=back>%s %s</p>", r.URL.Path, r.URL.RawQuery)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// demoWithClient is a copy of the demo that may send customers to that site.
func demoWithClient(t *testing.T, site string) (bootstrap string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../demo")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "bootstrap.yaml")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const there = "http://localhost:3000"
	if !strings.Contains(string(raw), there) {
		t.Fatalf("the demo does not allow %s", there)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(raw), there, site, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// selfie is a photo to upload.
func selfie(t *testing.T) (path string) {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, 480, 640))
	for i := range 480 * 640 {
		m.Set(i%480, i/480, color.RGBA{uint8(i), uint8(i / 480), uint8(i / 7), 255})
	}
	path = filepath.Join(t.TempDir(), "me.jpg")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := jpeg.Encode(f, m, nil); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// consentAndDetails goes from the link to the filled form, which is not sent.
func consentAndDetails(t *testing.T, tab *browser.Tab, link string) {
	t.Helper()
	tab.Go(link)
	if text := tab.Text(); !strings.Contains(text, "Acme Demo") || !strings.Contains(text, "We will check your identity") {
		t.Errorf("consent page = %s", text)
	}
	tab.Press("button[value=success]")
	tab.See("#f-name")
	tab.Fill("#f-name", "Asha Rao")
	tab.Fill("#f-pan", "ABCDE1234F")
	tab.Set("#f-dob", "1990-04-01")
	tab.Choose("#f-photo", selfie(t))
}

func TestTheDemosCustomerGoesFromTheLinkBackToTheClient(t *testing.T) {
	site, blobs := clientSite(t), t.TempDir()
	s := serveHost(t, map[string]string{"VERIFYD_BOOTSTRAP": demoWithClient(t, site), "VERIFYD_BLOB_DIR": blobs})
	r := s.run("POST", s.api+onboarding, `{"reference_id":"person-20","redirect_uri":"`+site+`/done?case=7"}`)
	tab := browser.Start(t).Open(t, browser.Options{Location: &browser.Location{Latitude: 19.076, Longitude: 72.877, Accuracy: 15}})
	consentAndDetails(t, tab, r.Action.URL)
	tab.Press("[data-share] button")
	tab.Wait(`document.querySelector("input[name='f.location.latitude']").value !== ""`)
	tab.Press(onto)
	tab.See("#back")
	if told, want := tab.Text(), "/done case=7&run_id="+r.ID+"&status=completed"; strings.TrimSpace(told) != want {
		t.Errorf("the client is told %q, want %q", told, want)
	}
	if r = s.run("GET", s.api+"/v1/runs/"+r.ID, ""); r.Status != "completed" || r.Decision != nil {
		t.Errorf("run = %+v, want it completed with nothing to review: the location is inside the area", r)
	}
	wantOnePhoto(t, blobs)
}

func TestTheDemosCustomerNeedsNoJavaScript(t *testing.T) {
	blobs := t.TempDir()
	s := serveHost(t, map[string]string{"VERIFYD_BLOB_DIR": blobs})
	r := s.run("POST", s.api+onboarding, `{"reference_id":"person-21"}`)
	tab := browser.Start(t).Open(t, browser.Options{NoScript: true})
	consentAndDetails(t, tab, r.Action.URL)
	tab.Press(`input[name="f.location.denied"]`)
	tab.Press(onto)
	tab.See(".tick")
	if text := tab.Text(); !strings.Contains(text, "Thank you") {
		t.Errorf("last page = %s, want thanks", text)
	}
	if r = s.run("GET", s.api+"/v1/runs/"+r.ID, ""); r.Status != "completed" || r.Decision == nil || *r.Decision != "review" {
		t.Errorf("run = %+v, want it completed and up for review: the location was not shared", r)
	}
	wantOnePhoto(t, blobs)
}

// wantOnePhoto looks for JPEGs in the folder of uploads.
func wantOnePhoto(t *testing.T, blobs string) {
	t.Helper()
	photos := 0
	err := filepath.WalkDir(blobs, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if bytes.HasPrefix(raw, []byte("\xff\xd8\xff")) {
			photos++
		}
		return err
	})
	if err != nil || photos != 1 {
		t.Errorf("%d photos are kept, %v; want 1", photos, err)
	}
}
