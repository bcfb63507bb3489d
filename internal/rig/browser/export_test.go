// What the tests see of a tab.

package browser

import "github.com/chromedp/chromedp"

// Window names the window that a tab is in.
func (t *Tab) Window() string { return string(chromedp.FromContext(t.ctx).Target.TargetID) }
