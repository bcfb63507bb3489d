// Windows, which tabs of several tests use one after another.

package browser

import (
	"context"
	"fmt"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// window is a window of the browser with one tab and a profile of its own. A new one takes
// more processor time than most tests take in it, so the browser empties a window after a
// test and gives it to the next one.
type window struct {
	ctx   context.Context
	close func()
}

// window returns an empty window: one that an earlier test used, or a new one.
func (b *Browser) window() *window {
	b.mu.Lock()
	defer b.mu.Unlock()
	if last := len(b.free) - 1; last >= 0 {
		w := b.free[last]
		b.free = b.free[:last]
		return w
	}
	ctx, leave := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	return &window{ctx, leave}
}

// reuse empties a window for the next test, or closes it if that is not possible.
func (b *Browser) reuse(w *window) {
	ctx, cancel := context.WithTimeout(w.ctx, waitTimeout/6)
	defer cancel()
	if err := w.empty(ctx); err != nil {
		w.close()
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free = append(b.free, w)
}

// empty removes everything that the tab and its profile know.
func (w *window) empty(ctx context.Context) error {
	profile := chromedp.FromContext(w.ctx).BrowserContextID
	open, err := chromedp.CallBrowser(ctx, target.GetTargets, target.GetTargetsParams{})
	if err != nil {
		return err
	}
	tabs := 0
	for _, t := range open.TargetInfos {
		if t.BrowserContextID == profile && t.Type == "page" {
			tabs++
		}
	}
	if tabs != 1 {
		return fmt.Errorf("the test left %d tabs in the window", tabs)
	}
	// The page leaves itself: if the browser opened the empty page, it would start a new process.
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[string]("location.replace('about:blank'), ''")); err != nil {
		return err
	}
	if err := until(ctx, func() (bool, error) {
		return chromedp.Run(ctx, chromedp.Evaluate[bool]("location.href === 'about:blank' && document.readyState === 'complete'"))
	}); err != nil {
		return err
	}
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[string]("window.name = ''")); err != nil {
		return err
	}
	if err := call(ctx, storage.ClearDataForOrigin, storage.ClearDataForOriginParams{Origin: "*", StorageTypes: "all"}); err != nil {
		return err
	}
	for _, c := range []cdp.Command[cdp.Empty, cdp.Empty]{
		network.ClearBrowserCache, network.ClearBrowserCookies, emulation.ClearGeolocationOverride, page.ResetNavigationHistory, page.BringToFront,
	} {
		if err := call(ctx, c, cdp.Empty{}); err != nil {
			return err
		}
	}
	_, err = chromedp.CallBrowser(ctx, browser.ResetPermissions, browser.ResetPermissionsParams{BrowserContextID: profile})
	return err
}
