// Tests of how files are sent: with progress, and again after a broken connection.

package journey_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/internal/rig/browser"
)

// breaking makes the server cut off every post until it is told to stop. The browser
// repeats some by itself.
func breaking(s *site) (stop func()) {
	var broken atomic.Bool
	broken.Store(true)
	next := s.server.Config.Handler
	s.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && broken.Load() {
			_, _ = r.Body.Read(make([]byte, 100))
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, r)
	})
	return func() { broken.Store(false) }
}

func TestAnUploadIsRepeatedAfterABrokenConnection(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	reach(c, "uploads")
	mend := breaking(s)
	tab := browser.Start(t).Open(t, browser.Options{})
	tab.Go(c.link)
	tab.Choose("#f-front", photo(t))
	tab.Press(`input[name="f.where.denied"]`)
	tab.Press(onto)
	for i := range 2 {
		tab.See("[data-retry]:not([hidden]):focus")
		if text := tab.Text(); !strings.Contains(text, "The connection broke off. What you wrote and chose is kept.") {
			t.Errorf("page = %s", text)
		}
		if shown := browser.Eval[string](tab, `document.querySelector("[data-sending] progress").hidden + document.querySelector("[data-sending] [role=status]").className`); shown != "trueerror" {
			t.Errorf("the bar is hidden and the text is an error: %s", shown)
		}
		if kept := browser.Eval[bool](tab, `document.querySelector("input[name='f.where.denied']").checked`); !kept {
			t.Error("an answer is lost")
		}
		inspect(t, tab, "upload broken", browser.AllRules)
		if i == 1 {
			mend()
		}
		tab.Press("[data-retry]")
	}
	tab.See(".sign.good")
	if extra := s.data(c, "extra"); strings.Count(extra, `"media_type":"image/jpeg"`) != 1 || !strings.Contains(extra, `"denied":true`) {
		t.Errorf("extra = %s, want the file and the answer", extra)
	}
}

func TestAFileThatIsRefusedAheadCanBeReplaced(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	reach(c, "uploads")
	tab := browser.Start(t).Open(t, browser.Options{})
	tab.Go(c.link)
	bad := filepath.Join(t.TempDir(), "pass.jpg")
	if err := os.WriteFile(bad, []byte("no picture"), 0o600); err != nil {
		t.Fatal(err)
	}
	tab.Choose("#f-front", bad)
	tab.Press(`input[name="f.where.denied"]`)
	tab.Press(onto)
	tab.See("#f-front-large")
	tab.See("#f-front:focus")
	if text := tab.Text(); !strings.Contains(text, "We cannot use this kind of file.") {
		t.Errorf("page = %s", text)
	}
	tab.Choose("#f-front", photo(t))
	tab.Press(onto)
	tab.See(".sign.good")
}

func TestAnUploadAheadOfAStaleAnswerGoesNowhere(t *testing.T) {
	c, l := atPhotos(t, blob.Memory(64<<20, 0))
	page := c.send([]file{{"front", "pass.jpg", picture(t, 5)}}, "do", "upload")
	wants(t, page, http.StatusOK, `{"files":{"front":{"id":"`, `"name":"pass.jpg"}},"problems":{}}`)
	if got := page.header.Get("Content-Type"); got != "application/json" || l.count() != 1 {
		t.Errorf("%s, %d documents", got, l.count())
	}
	if got := c.data(c, "extra"); got != "" {
		t.Errorf("extra = %s after an upload, want none", got)
	}
	wants(t, c.sendTo("1", []file{{"front", "pass.jpg", picture(t, 6)}}, "do", "upload"), http.StatusSeeOther)
}

func TestAnOfflinePageKeepsWhatWasTyped(t *testing.T) {
	s := serve(t)
	c := s.begin(onboarding(), "")
	onward(t, c.post("consent", "success"))
	tab := browser.Start(t).Open(t, browser.Options{})
	tab.Go(c.link)
	tab.Set("#f-name", "Asha Rao")
	browser.Eval[bool](tab, `Object.defineProperty(navigator, "onLine", {get: () => window.online ?? false, configurable: true}), true`)
	tab.Press(onto)
	tab.Wait(`document.querySelector("[data-offline]").textContent.startsWith("You are offline.")`)
	if name := browser.Eval[string](tab, `document.querySelector("#f-name").value`); name != "Asha Rao" {
		t.Errorf("name = %q, want it kept", name)
	}
	inspect(t, tab, "offline", browser.AllRules)
	browser.Eval[bool](tab, `window.online = true`)
	tab.Press(onto)
	tab.See(".problems")
}
