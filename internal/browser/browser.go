// Package browser drives a headless Chromium in tests of pages.
//
// It takes the Chromium it finds; as root it installs one by apt. Where there
// is none the test fails and says so: a page that nobody looked at is not
// tested. The browser reaches this machine and nothing else.
package browser

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// Browser is one process with an empty profile.
type Browser struct {
	ctx context.Context
	tb  testing.TB
}

// patience bounds everything that a test waits for in a page.
const patience = 30 * time.Second

// Start starts a browser that lives until the test ends.
func Start(tb testing.TB) *Browser {
	tb.Helper()
	path, err := find(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	allocator, release := chromedp.NewExecAllocator(context.WithoutCancel(tb.Context()),
		chromedp.ExecPath(path), chromedp.UserDataDir(tb.TempDir()),
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
		chromedp.Flag("disable-breakpad", true),
		chromedp.Flag("hide-scrollbars", true),
		chromedp.Flag("force-color-profile", "srgb"),
		chromedp.Flag("password-store", "basic"),
		chromedp.Flag("use-fake-device-for-media-stream", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"),
	)
	ctx, leave := chromedp.NewContext(allocator)
	tb.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // waits until the process has gone, so that its profile can go, too
		leave()
		release()
	})
	if err := chromedp.Do(ctx); err != nil {
		tb.Fatalf("start %s: %v", path, err)
	}
	return &Browser{ctx: ctx, tb: tb}
}
