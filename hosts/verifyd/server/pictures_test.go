// The pictures of the documentation.

package server_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/verifyd/verifyd/internal/rig/browser"
)

// TestPicturesOfTheDocs takes pictures of the console in docs, at twice the resolution, on the queue of varied runs; the
// test of the same name in adapters/console takes the others:
//
//	VERIFYD_TEST_PICTURES=1 go test -run TestPicturesOfTheDocs ./hosts/verifyd/server
func TestPicturesOfTheDocs(t *testing.T) {
	wantPictures(t)
	keys, issuer := keyFile(t)
	s := sightQueue(t, keys)
	folder := filepath.Join("..", "..", "..", "docs", "console")
	tab := s.reviewerTab(issuer, browser.Options{Wide: true, Width: 1200, Height: 800, Sharp: true})
	open := func(o browser.Options, path, file string) {
		t.Helper()
		tab.Emulate(o)
		tab.Go(s.api + "/console" + path)
		tab.See("main h1")
		tab.ShootWindow(filepath.Join(folder, file))
	}
	desktop := browser.Options{Wide: true, Width: 1200, Height: 800, Sharp: true}
	differs := "/runs/" + s.people[1]
	open(desktop, "/queue", "queue.png")
	open(desktop, differs, "run-differs.png")
	open(browser.Options{}, differs, "run-phone.png")
	s.decideSome()
	open(desktop, "/numbers", "numbers.png")
	tab.Go(s.api + "/console/workflows")
	tab.Press("main table a")
	tab.See("svg")
	tab.ShootWindow(filepath.Join(folder, "workflow.png"))
}

// decideSome lets some customers pass, and decides on some runs of the queue.
func (s *sightDesk) decideSome() {
	s.t.Helper()
	for i, name := range []string{"Asha Rao", "Kiran Desai", "Maria Santos", "Omar Haddad", "Yuki Tanaka", "Lena Fischer", "Samuel Okafor"} {
		id := s.onboard(fmt.Sprintf("CUST-2026%04d", 100+i), name, "1990-02-01", fmt.Sprintf("ABCPR%04dF", 1000+i))
		s.await(id, func(r runJSON) bool { return r.Status == "completed" })
	}
	for i, id := range s.people[:9] {
		decision := "approve"
		if i%3 == 0 {
			decision = "reject"
		}
		s.call("POST", s.api+"/v1/signals/"+id+"/human_review_decision", fmt.Sprintf(`{"payload":{"decision":%q}}`, decision))
	}
}
