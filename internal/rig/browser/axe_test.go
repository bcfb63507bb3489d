// Tests that each set of rules finds its problems of accessibility.

package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/internal/rig/browser"
)

const inaccessible = `<!doctype html><html lang="en"><title>Page</title><meta name="viewport" content="width=device-width">
<main><h1>Page</h1><p style="color: #999; background: #aaa">Pale</p><img src="data:,">
<div style="overflow: scroll; height: 3rem"><p style="margin-block-start: 9rem">Below</p></div></main>`

func TestEachSetOfRulesFindsItsProblems(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, inaccessible) }))
	defer s.Close()
	tab := browser.Start(t).Open(t, browser.Options{})
	tab.Go(s.URL)
	for _, tt := range []struct {
		rules browser.Rules
		want  []string
	}{
		{browser.AllRules, []string{"color-contrast", "image-alt", "scrollable-region-focusable"}},
		{browser.AllButContrast, []string{"image-alt", "scrollable-region-focusable"}},
		{browser.ColourRules, []string{"color-contrast", "scrollable-region-focusable"}},
		{browser.LayoutRules, []string{"scrollable-region-focusable"}},
	} {
		var found []string
		for line := range strings.Lines(tab.Violations(tt.rules)) {
			if name, _, ok := strings.Cut(line, ": "); ok && !strings.HasPrefix(line, " ") {
				found = append(found, name)
			}
		}
		slices.Sort(found)
		if diff := cmp.Diff(tt.want, found); diff != "" {
			t.Errorf("%s finds (-want +got):\n%s", tt.rules, diff)
		}
	}
}
