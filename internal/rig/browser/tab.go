// One tab of the browser and a person's actions in it.

package browser

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Options describe the person who uses the tab. The zero value is a person with a
// phone, JavaScript and a light screen, who speaks English.
type Options struct {
	Wide     bool      // a desktop window instead of a phone
	Width    int       // of the window in CSS pixels; 0 means 390 on a phone and 1200 on a desktop
	Height   int       // 0 means 844 on a phone and 900 on a desktop
	Sharp    bool      // two pixels of the screen for one of CSS on a desktop, as a phone has
	Dark     bool      // prefers a dark screen
	Print    bool      // sees the page as on paper
	NoScript bool      // JavaScript is switched off
	Language string    // the Accept-Language header; empty means en
	Location *Location // the location that pages get; nil denies it
	NoCamera bool      // denies the camera; otherwise pages get a test picture
}

// Location is a position on the earth.
type Location struct{ Latitude, Longitude, Accuracy float64 }

// Tab is one tab. Its methods fail the test on errors.
type Tab struct {
	ctx     context.Context
	tb      testing.TB
	width   int64 // of the window in CSS pixels
	options Options
}

// Open opens an empty tab, whose profile is empty, too. The test must not use it after its end.
func (b *Browser) Open(tb testing.TB, o Options) *Tab {
	tb.Helper()
	w, once := b.window(), b.program.shell && o.NoCamera
	tb.Cleanup(func() {
		if once || tb.Failed() {
			w.close()
			return
		}
		b.reuse(w)
	})
	t := &Tab{ctx: w.ctx, tb: tb}
	t.Emulate(o)
	if once { // no later test gets the window: the script stays in it
		t.try("deny the camera", func(ctx context.Context) error {
			return call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: refuseCamera})
		})
	}
	return t
}

// Emulate changes the person who uses the tab. The page stays, at the new size and with
// the new colours; a new language applies to the pages that are opened next.
func (t *Tab) Emulate(o Options) {
	t.tb.Helper()
	width, height, scale, mobile := int64(390), int64(844), 2.0, true
	if o.Wide {
		width, height, scale, mobile = 1200, 900, 1.0, false
		if o.Sharp {
			scale = 2
		}
	}
	if o.Width > 0 {
		width = int64(o.Width)
	}
	if o.Height > 0 {
		height = int64(o.Height)
	}
	t.width, t.options = width, o
	language, scheme := "en", "light"
	if o.Language != "" {
		language = o.Language
	}
	if o.Dark {
		scheme = "dark"
	}
	place := browser.PermissionSettingDenied
	if o.Location != nil {
		place = browser.PermissionSettingGranted
	}
	camera := browser.PermissionSettingGranted
	if o.NoCamera {
		camera = browser.PermissionSettingDenied
	}
	t.try("set up the tab", func(ctx context.Context) error {
		if err := call(ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: width, Height: height, DeviceScaleFactor: scale, Mobile: mobile,
		}); err != nil {
			return err
		}
		if err := call(ctx, emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: mobile}); err != nil {
			return err
		}
		if err := call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Media: map[bool]string{true: "print"}[o.Print],
			Features: []*emulation.MediaFeature{
				{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
			},
		}); err != nil {
			return err
		}
		if err := call(ctx, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{
			Headers: network.Headers{"Accept-Language": language},
		}); err != nil {
			return err
		}
		if err := call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: o.NoScript}); err != nil {
			return err
		}
		if o.Location != nil {
			if err := call(ctx, emulation.SetGeolocationOverride, emulation.SetGeolocationOverrideParams{
				Latitude: &o.Location.Latitude, Longitude: &o.Location.Longitude, Accuracy: &o.Location.Accuracy,
			}); err != nil {
				return err
			}
		}
		for name, setting := range map[string]browser.PermissionSetting{"geolocation": place, "camera": camera} {
			if _, err := chromedp.CallBrowser(ctx, browser.SetPermission, browser.SetPermissionParams{
				Permission: &browser.PermissionDescriptor{Name: name}, Setting: setting,
				BrowserContextID: chromedp.FromContext(ctx).BrowserContextID,
			}); err != nil {
				return err
			}
		}
		return nil
	})
	t.try("wait for the size and the colours", func(ctx context.Context) error {
		// A page without a viewport, such as an empty one, may have another width.
		adapted := fmt.Sprintf(`matchMedia("(prefers-color-scheme: %s)").matches &&
			(document.documentElement.clientWidth === %d || !document.querySelector("meta[name=viewport]"))`, scheme, width)
		return until(ctx, func() (bool, error) { return chromedp.Run(ctx, chromedp.Evaluate[bool](adapted)) })
	})
}

// refuseCamera denies the camera as a browser does when its user denies it. A
// headless shell always grants it.
const refuseCamera = `navigator.mediaDevices.getUserMedia = async () => {
	throw new DOMException("Permission denied", "NotAllowedError");
};`

// SetCookies gives the tab the cookies of a URL.
func (t *Tab) SetCookies(url string, cookies []*http.Cookie) {
	t.tb.Helper()
	t.try("set the cookies of "+url, func(ctx context.Context) error {
		for _, c := range cookies {
			if err := call(ctx, network.SetCookie, network.SetCookieParams{
				Name: c.Name, Value: c.Value, URL: url, HTTPOnly: new(true), SameSite: network.CookieSameSiteLax,
			}); err != nil {
				return err
			}
		}
		return nil
	})
}

// Go opens an address.
func (t *Tab) Go(url string) {
	t.tb.Helper()
	t.do("open the page", chromedp.Navigate(url))
}

// Back presses the back button.
func (t *Tab) Back() {
	t.tb.Helper()
	t.do("go back", chromedp.NavigateBack())
}

// Press clicks the element that the selector finds. The browser clicks at a position, so
// Press waits until the page is loaded and the element stays where it is.
func (t *Tab) Press(selector string) {
	t.tb.Helper()
	t.See(selector)
	t.try("wait until "+selector+" stays where it is", func(ctx context.Context) error { return t.settle(ctx, selector) })
	t.do("press "+selector, chromedp.Click(chromedp.CSS(selector), patiently))
}

// settle waits until the page is loaded and the element has the same position in it
// twice, at least two frames apart. A page without JavaScript moves only while it loads.
func (t *Tab) settle(ctx context.Context, selector string) error {
	look := `(() => {
		const e = document.querySelector(` + strconv.Quote(selector) + `);
		if (document.readyState !== "complete" || !e) return "";
		const r = e.getBoundingClientRect();
		return [location.href, r.x + scrollX, r.y + scrollY, r.width, r.height].join(" ");
	})()`
	if !t.options.NoScript {
		look = `new Promise((found) => requestAnimationFrame(() => requestAnimationFrame(() => found(` + look + `))))`
	}
	last := ""
	return until(ctx, func() (bool, error) {
		now, err := chromedp.Run(ctx, chromedp.Evaluate[string](look, chromedp.EvalAwaitPromise))
		stays := err == nil && now != "" && now == last
		last = now
		return stays, err
	})
}

// patiently looks for an element every 50 ms. The default of chromedp is 5 ms, and each look takes
// processor time of three processes.
func patiently(s *chromedp.Selector) { chromedp.RetryInterval(50 * time.Millisecond)(s) }

// until waits until a condition is true: it looks often at first, and less and less often. It works
// without JavaScript and on a page that is not drawn.
func until(ctx context.Context, condition func() (bool, error)) error {
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for pause := 20 * time.Millisecond; ; pause = min(pause*5/4, 200*time.Millisecond) {
		again.Reset(pause)
		met, err := condition()
		if met {
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

// Fill types text into an input.
func (t *Tab) Fill(selector, text string) {
	t.tb.Helper()
	t.do("fill "+selector, chromedp.SendKeys(chromedp.CSS(selector), text, patiently))
}

// Key presses keys one after another: a letter, or a control character such as "\r"; "\n" is
// Ctrl+Enter. As with a keyboard, a key that a script takes writes nothing.
func (t *Tab) Key(keys string) {
	t.tb.Helper()
	t.try("press the keys "+strconv.Quote(keys), func(ctx context.Context) error {
		for _, r := range keys {
			events := kb.Encode(r)
			down, up := *events[0], *events[len(events)-1]
			if len(events) > 2 {
				down.Text, down.UnmodifiedText = events[1].Text, events[1].UnmodifiedText
			}
			if r == '\n' {
				down.Text, down.UnmodifiedText = "", ""
				down.Modifiers |= int64(chromedp.ModifierCtrl)
			}
			for _, event := range []input.DispatchKeyEventParams{down, up} {
				if err := call(ctx, input.DispatchKeyEvent, event); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// Set sets the value of an input that cannot be typed into.
func (t *Tab) Set(selector, value string) {
	t.tb.Helper()
	t.do("set "+selector, chromedp.SetValue(chromedp.CSS(selector), value, patiently))
}

// Choose picks a file. It waits until the page shows it, because what appears moves the
// buttons below.
func (t *Tab) Choose(selector, path string) {
	t.tb.Helper()
	t.do("choose a file for "+selector, chromedp.SetUploadFiles(chromedp.CSS(selector), []string{path}, patiently))
	upload := "document.querySelector(" + strconv.Quote(selector) + ").closest('[data-upload]')"
	if Eval[bool](t, upload+"?.querySelector('[data-choose]:not([hidden])') != null") {
		t.Wait(upload + ".querySelector('canvas:not([hidden]), [data-document]:not([hidden])') != null")
	}
}

// See waits until the selector finds a visible element.
func (t *Tab) See(selector string) {
	t.tb.Helper()
	t.do("see "+selector, chromedp.WaitVisible(chromedp.CSS(selector), patiently))
}

// Wait waits until a JavaScript expression is true, also on a page that is opened meanwhile.
func (t *Tab) Wait(expression string) {
	t.tb.Helper()
	t.try("wait for "+expression, func(ctx context.Context) error {
		return until(ctx, func() (bool, error) { return chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+expression+")")) })
	})
}

// Eval evaluates a JavaScript expression, which may be a promise, in the tab.
func Eval[T any](t *Tab, expression string) T {
	t.tb.Helper()
	var v T
	t.try("evaluate an expression", func(ctx context.Context) (err error) {
		v, err = chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
		return err
	})
	return v
}

// Text returns the visible text of the whole page.
func (t *Tab) Text() string {
	t.tb.Helper()
	return Eval[string](t, "document.body.innerText")
}

// EnvPictures makes Shoot write pictures. They are for people to look at, no test reads
// them, and taking them is slow.
const EnvPictures = "VERIFYD_TEST_PICTURES"

// Shoot writes a screenshot of the whole page as PNG if EnvPictures is set.
func (t *Tab) Shoot(path string) {
	t.tb.Helper()
	t.shoot(path, chromedp.FullScreenshot(100))
}

// ShootWindow writes a screenshot of what the window shows, as Shoot does.
func (t *Tab) ShootWindow(path string) {
	t.tb.Helper()
	t.shoot(path, chromedp.CaptureScreenshot())
}

func (t *Tab) shoot(path string, picture chromedp.Action[[]byte]) {
	t.tb.Helper()
	if os.Getenv(EnvPictures) == "" {
		return
	}
	t.try("take a picture", func(ctx context.Context) error {
		raw, err := chromedp.Run(ctx, picture)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			return err
		}
		return os.WriteFile(path, raw, 0o600)
	})
}
