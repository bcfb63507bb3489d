// Steps in a tab: each has a timeout and leaves a screenshot when it fails.

package browser

import (
	"context"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
)

func (t *Tab) do(what string, step chromedp.Action[chromedp.Void]) {
	t.tb.Helper()
	t.try(what, func(ctx context.Context) error { return chromedp.Do(ctx, step) })
}

// try runs one step. The first step opens the tab, which lives as long as the
// context of that call, so the timeout is enforced from outside.
func (t *Tab) try(what string, step func(ctx context.Context) error) {
	t.tb.Helper()
	if err := chromedp.Do(t.ctx); err != nil {
		t.tb.Fatalf("%s: %v", what, err)
	}
	ctx, cancel := context.WithTimeout(t.ctx, waitTimeout)
	defer cancel()
	err := step(ctx)
	if err == nil {
		return
	}
	look, done := context.WithTimeout(t.ctx, waitTimeout/10)
	defer done()
	seen, _ := chromedp.Run(look, chromedp.Evaluate[string]("location.href + '\\n' + document.body.innerText"))
	t.tb.Fatalf("%s: %v; the page is %s", what, err, seen)
}

func call[P, R any](ctx context.Context, c cdp.Command[P, R], params P) error {
	_, err := chromedp.Call(ctx, c, params)
	return err
}
