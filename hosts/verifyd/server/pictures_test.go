// The pictures of the documentation.

package server_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/verifyd/verifyd/internal/browser"
)

// TestPicturesOfTheDocs takes the pictures of the console in docs, at twice the resolution, on
// the queue of varied runs:
//
//	VERIFYD_TEST_PICTURES=1 go test -run TestPicturesOfTheDocs ./hosts/verifyd/server
func TestPicturesOfTheDocs(t *testing.T) {
	if os.Getenv(browser.EnvPictures) == "" {
		t.Skip("set " + browser.EnvPictures + " to take the pictures of the docs")
	}
	keys, issuer := keyFile(t)
	s, _ := sightQueue(t, keys)
	folder := filepath.Join("..", "..", "..", "docs", "console")
	tab := s.reviewerTab(issuer, browser.Options{Wide: true, Width: 1200, Height: 800, Sharp: true})
	open := func(o browser.Options, path, file string) {
		t.Helper()
		tab.Emulate(o)
		tab.Go(s.api + "/console" + path)
		tab.See("main h1")
		tab.ShootWindow(filepath.Join(folder, file))
	}
	run := func(reference string) string {
		t.Helper()
		tab.Go(s.api + "/console/queue?search=" + reference)
		tab.See("[data-row]")
		return browser.Eval[string](tab, `new URL(document.querySelector("[data-row]").href).pathname.replace("/console", "")`)
	}
	desktop := browser.Options{Wide: true, Width: 1200, Height: 800, Sharp: true}
	dark := desktop
	dark.Dark = true
	listed, differs := run("CUST-20260000"), run("CUST-20260015")
	open(desktop, "/queue?order=due", "queue.png")
	open(desktop, listed, "run.png")
	open(dark, listed, "run-dark.png")
	open(desktop, differs, "run-differs.png")
	open(browser.Options{}, differs, "run-phone.png")
	open(desktop, "/numbers", "numbers.png")
	tab.Go(s.api + "/console/workflows")
	tab.Press("main table a")
	tab.See("svg")
	tab.ShootWindow(filepath.Join(folder, "workflow.png"))
}
