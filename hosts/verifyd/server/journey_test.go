// Tests of the journey of the demo in a real browser.

package server_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/hosts/verifyd/internal/demovendor"
	"github.com/verifyd/verifyd/internal/rig/browser"
)

// onto is the button that continues.
const onto = "form:not(.optout) > .buttons button:not(.quiet)"

// clientSite returns the URL of a site of the client, the target of redirects. Its page
// shows the query.
func clientSite(t *testing.T) (url string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprintf(w, "<!doctype html><title>Back</title><p id=back>%s %s</p>", r.URL.Path, r.URL.RawQuery)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// demoFile writes a copy of the demo in which old is replaced by next, and serves its
// vendor. It returns the settings of a host with that copy.
func demoFile(t *testing.T, old, next string) map[string]string {
	t.Helper()
	const token, hook = "token-of-the-vendor", "key-of-the-hook"
	vendor := httptest.NewServer(&demovendor.Vendor{Token: token, Hook: hook, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(vendor.Close)
	dir := t.TempDir()
	for _, name := range []string{"bootstrap.yaml", "bank-account.yaml", "business-records.yaml", "individual-onboarding.yaml", "fictional-list.csv"} {
		raw, err := demovendor.Read(name, strings.TrimPrefix(vendor.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		if name == "bootstrap.yaml" && !strings.Contains(string(raw), old) {
			t.Fatalf("the bootstrap file of the demo has no %s", old)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.ReplaceAll(string(raw), old, next)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return map[string]string{
		"VERIFYD_BOOTSTRAP": filepath.Join(dir, "bootstrap.yaml"), "VERIFYD_ALLOW_PRIVATE_NETWORKS": "true",
		"VERIFYD_SECRET_REGISTRY_TOKEN": token, "VERIFYD_SECRET_REGISTRY_HOOK": hook,
	}
}

// selfie is a photo to upload.
func selfie(t *testing.T) (path string) {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, 720, 960))
	for i := range 720 * 960 {
		m.Set(i%720, i/720, color.RGBA{uint8(i), uint8(i / 720), uint8(i / 7), 255})
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

// consentAndDetails opens the link, agrees, and fills the form without sending it.
func consentAndDetails(t *testing.T, tab *browser.Tab, link string) {
	t.Helper()
	tab.Go(link)
	if text := tab.Text(); !strings.Contains(text, "Acme Demo") || !strings.Contains(text, "We will check your identity") {
		t.Errorf("consent page = %s", text)
	}
	tab.Press("button[value=success]")
	tab.See("#f-name")
	tab.Fill("#f-name", "Asha Rao")
	tab.Fill("#f-pan", "abcpr1234f")
	tab.Set("#f-dob-day", "1")
	tab.Set("#f-dob-month", "4")
	tab.Set("#f-dob-year", "1990")
	tab.Choose("#f-photo", selfie(t))
}

func TestTheDemosCustomerGoesFromTheLinkBackToTheClient(t *testing.T) {
	site, blobs := clientSite(t), t.TempDir()
	vars := demoFile(t, "http://localhost:3000", site)
	vars["VERIFYD_BLOB_DIR"] = blobs
	s := serveHost(t, vars)
	r := s.run("POST", s.api+onboarding, `{"reference_id":"person-20","redirect_uri":"`+site+`/done?case=7"}`)
	tab := browser.Start(t).Open(t, browser.Options{})
	consentAndDetails(t, tab, r.Action.URL)
	tab.Press(onto)
	tab.See("#back")
	if shown, want := tab.Text(), "/done case=7&run_id="+r.ID+"&status=completed"; strings.TrimSpace(shown) != want {
		t.Errorf("the page of the client shows %q, want %q", shown, want)
	}
	if r = s.run("GET", s.api+"/v1/runs/"+r.ID, ""); r.Status != "completed" || r.Decision != nil {
		t.Errorf("run = %+v, want it completed with nothing to review", r)
	}
	wantOnePhoto(t, blobs)
}

func TestTheDemosCustomerNeedsNoJavaScript(t *testing.T) {
	blobs := t.TempDir()
	s := serveHost(t, map[string]string{"VERIFYD_BLOB_DIR": blobs})
	r := s.run("POST", s.api+onboarding, `{"reference_id":"person-21","input":{"sandbox":{"face_match":"fail"}}}`)
	tab, link := browser.Start(t).Open(t, browser.Options{NoScript: true}), r.Action.URL
	consentAndDetails(t, tab, link)
	tab.Press(onto)
	r = s.await(r.ID, func(r runJSON) bool { return r.Decision != nil })
	if r.Status != "in_progress" || *r.Decision != "review" {
		t.Errorf("run = %+v, want it parked on review: the photo does not match", r)
	}
	if _, page, _ := s.call("GET", link, ""); !strings.Contains(string(page), "We are reviewing your answers") {
		t.Errorf("last page = %s, want that a person looks at the answers", page)
	}
	wantOnePhoto(t, blobs)
}

// The return URL and the link are secrets of the customer's browser: the log has neither.
func TestTheDemosCustomerSignsInAtABank(t *testing.T) {
	s := serveHost(t, map[string]string{"VERIFYD_LOG_LEVEL": "debug"})
	b := browser.Start(t)
	for press, outcome := range map[string]string{"share": "accepted", "cancel": "not_shared"} {
		r := s.run("POST", s.api+"/v1/workflows/0191f3c0-0000-7000-8000-000000000003/runs", `{"reference_id":"person-22"}`)
		tab := b.Open(t, browser.Options{})
		tab.Go(r.Action.URL)
		tab.Fill("#f-name", "Asha Rao")
		tab.Press(onto)
		tab.See("a.button[href*='/sign-in/']")
		if text := tab.Text(); !strings.Contains(text, "Sign in at your bank") || !strings.Contains(text, "127.0.0.1:") {
			t.Errorf("the page that leads to the bank = %s", text)
		}
		tab.Press("a.button[href*='/sign-in/']")
		tab.See("button[value=share]")
		tab.Shoot(filepath.Join("..", "..", "..", ".build", "journey", "bank.png"))
		if found := tab.Violations(browser.AllRules); found != "" {
			t.Errorf("axe finds on the bank's page:\n%s", found)
		}
		tab.Back()
		tab.Press("a.button[href*='/sign-in/']")
		tab.Press("button[value=" + press + "]")
		tab.See(".end")
		if text := tab.Text(); !strings.Contains(text, "Thank you, you are done") {
			t.Errorf("after the return the page = %s", text)
		}
		_, report, _ := s.call("GET", s.api+"/v1/runs/"+r.ID+"?view=report", "")
		if !strings.Contains(string(report), `"outcome":"`+outcome+`"`) {
			t.Errorf("after %s the report = %s", press, report)
		}
		link := r.Action.URL[strings.LastIndex(r.Action.URL, "/")+1:]
		if strings.Contains(s.stderr.String(), link) {
			t.Error("the log has the token of the link")
		}
	}
	log := s.stderr.String()
	_, log, _ = strings.Cut(log, "openapi.yaml.") // the end of what the demo prints
	if !strings.Contains(log, "route=/journey/back/{state}/done") {
		t.Error("the log has no line about a return")
	}
	if regexp.MustCompile(`/back/[^{]|sign-in/|return_to|access_denied|=shared`).MatchString(log) {
		t.Errorf("the log has a return: %s", log)
	}
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
