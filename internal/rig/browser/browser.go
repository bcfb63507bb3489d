// Package browser drives a headless Chromium in tests of pages.
//
// It uses the installed Chromium, or installs one: with apt as root, otherwise
// from npm. If that is not possible, the tests fail and say what to do. Tests are
// skipped only under -short. The browser can reach only this machine.
//
// The tests of a package share one browser process. Each tab has its own profile, and its
// window is emptied for the next test:
//
//	func TestMain(m *testing.M) { os.Exit(browser.Tests{M: m}.Run()) }
//
//	func TestThePageShowsAForm(t *testing.T) {
//		tab := browser.Start(t).Open(t, browser.Options{})
package browser

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// Browser is one browser process. Its tabs share no data.
type Browser struct {
	program program
	ctx     context.Context
	release func()

	mu   sync.Mutex
	free []*window // emptied, the last one first
}

// waitTimeout bounds everything that a test waits for in a page.
const waitTimeout = time.Minute

// startTimeout is long because starting a process is slow on a busy machine.
const startTimeout = 2 * time.Minute

// shared is the browser of a test binary, started when it is first used.
type shared struct {
	once    sync.Once
	browser *Browser
	err     error
}

var current *shared //nolint:gochecknoglobals // a test reaches the browser of its test binary without being handed it

// Tests are the tests of a package that share one browser.
type Tests struct{ *testing.M }

// Run runs the tests, stops the browser, and returns the exit code.
func (t Tests) Run() int {
	current = &shared{}
	code := t.M.Run()
	if b := current.browser; b != nil {
		if err := b.close(); err != nil {
			fmt.Fprintf(os.Stderr, "stop the browser of the tests: %v\n", err)
			return max(code, 1)
		}
	}
	return code
}

// Start returns the browser of the test binary. Under -short it skips the test.
func Start(tb testing.TB) *Browser {
	tb.Helper()
	if testing.Short() {
		tb.Skip("needs a browser, and -short leaves such tests out")
	}
	if current == nil {
		tb.Fatal("no browser for this test: its package has no TestMain that runs browser.Tests")
	}
	current.once.Do(func() { current.browser, current.err = start(context.WithoutCancel(tb.Context())) })
	if current.err != nil {
		tb.Fatal(current.err)
	}
	return current.browser
}

// unneeded are features of Chromium that no test needs and that take processor time: a
// process in reserve for the next site, another one for menus, and services that start with
// each profile.
const unneeded = "SpareRendererForSitePerProcess,PreloadTopChromeWebUI,Translate,OptimizationHints,MediaRouter"

func start(ctx context.Context) (*Browser, error) {
	p, err := find(ctx)
	if err != nil {
		return nil, err
	}
	allocator, release := chromedp.NewExecAllocator(ctx,
		chromedp.ExecPath(p.path),
		chromedp.Env(p.env...),
		chromedp.Flag("headless", true),
		chromedp.Flag("no-sandbox", true),
		chromedp.Flag("disable-gpu", true),
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("no-first-run", true),
		chromedp.Flag("no-default-browser-check", true),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("disable-extensions", true),
		chromedp.Flag("disable-component-extensions-with-background-pages", true),
		chromedp.Flag("disable-field-trial-config", true),
		chromedp.Flag("disable-back-forward-cache", true), // chromedp loses a page that is shown again from it
		chromedp.Flag("disable-features", unneeded),
		chromedp.Flag("disable-breakpad", true),
		chromedp.Flag("hide-scrollbars", true),
		chromedp.Flag("window-size", "400,300"), // the frame around the page, which nobody sees
		chromedp.Flag("force-color-profile", "srgb"),
		chromedp.Flag("password-store", "basic"),
		chromedp.Flag("use-fake-device-for-media-stream", true),
		chromedp.Flag("use-fake-ui-for-media-stream", p.shell),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"),
		chromedp.WSURLReadTimeout(startTimeout),
	)
	first, leave := chromedp.NewContext(allocator)
	b := &Browser{program: p, ctx: first, release: func() { leave(); release() }}
	if err := chromedp.Do(first); err != nil {
		b.release()
		return nil, fmt.Errorf("start %s: %w", p.path, err)
	}
	return b, nil
}

// close waits until the process has ended and its profile is removed.
func (b *Browser) close() error {
	defer b.release()
	return chromedp.Cancel(b.ctx)
}
