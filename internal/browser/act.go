// How a step in a tab is taken: bounded in time, and with a picture of what was
// there when it fails.

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

// try takes one step. The first one opens the tab, which then lives as long as
// the context of that call: so the time is bounded from outside.
func (t *Tab) try(what string, step func(ctx context.Context) error) {
	t.tb.Helper()
	if err := chromedp.Do(t.ctx); err != nil {
		t.tb.Fatalf("%s: %v", what, err)
	}
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	err := step(ctx)
	if err == nil {
		return
	}
	look, done := context.WithTimeout(t.ctx, patience/10)
	defer done()
	seen, _ := chromedp.Run(look, chromedp.Evaluate[string]("location.href + '\\n' + document.body.innerText"))
	t.tb.Fatalf("%s: %v; the page is %s", what, err, seen)
}

func call[P, R any](ctx context.Context, c cdp.Command[P, R], params P) error {
	_, err := chromedp.Call(ctx, c, params)
	return err
}
