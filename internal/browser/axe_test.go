// Tests of the problems of accessibility that are found.

package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/verifyd/verifyd/internal/browser"
)

const inaccessible = `<!doctype html><html lang="en"><title>Page</title><meta name="viewport" content="width=device-width">
<main><h1>Page</h1><p style="color: #999; background: #aaa">Pale</p><img src="data:,"></main>`

func TestColoursAreCheckedOnALightAndADarkScreenAndAllElseInEveryWidth(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, inaccessible) }))
	defer s.Close()
	for _, tt := range []struct {
		name            string
		colours, images bool
		browser.Options
	}{
		{name: "a phone", colours: true, images: true},
		{name: "a desktop", colours: true, images: true, Options: browser.Options{Wide: true}},
		{name: "a dark screen", colours: true, Options: browser.Options{Dark: true}},
		{name: "a narrow screen", images: true, Options: browser.Options{Width: 320}},
		{name: "another language", images: true, Options: browser.Options{Language: "hi-IN"}},
	} {
		tab := browser.Start(t).Open(t, tt.Options)
		tab.Go(s.URL)
		found := tab.Violations()
		if colours, images := strings.Contains(found, "color-contrast:"), strings.Contains(found, "image-alt:"); colours != tt.colours || images != tt.images {
			t.Errorf("on %s axe finds the colours: %v, want %v; the image: %v, want %v; all:\n%s", tt.name, colours, tt.colours, images, tt.images, found)
		}
	}
}
