// Package pdfpage draws the first page of a PDF from a stranger as a picture.
//
// The library is PDFium as WebAssembly, without cgo. A file is drawn in an instance of
// its own, which reaches no file, network or clock of the host, has a bounded memory and
// is dropped afterwards. See docs/decisions/0058-a-page-is-drawn-in-a-sandbox.md.
package pdfpage

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/enums"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/verifyd/verifyd/internal/fair"
	"github.com/verifyd/verifyd/internal/lru"
	"github.com/verifyd/verifyd/verification"
)

const (
	// MaxSide is the length of the longer side of a picture, in pixels: 170 dpi for A4.
	MaxSide = 2000

	quality     = 85              // of the JPEG
	memoryPages = 192 << 20 >> 16 // of 64 KiB: 192 MiB for one file
	restAfter   = 100 * time.Millisecond
	refusedSize = 256 // bytes that a file without a picture counts in the cache
)

// Options have defaults that suit a small host.
type Options struct {
	// Timeout is how long a page may take; 0 means 10 s. The first page after a start also
	// waits until the library is compiled, which does not count.
	Timeout time.Duration
	// MaxWait is how long a page waits for others; 0 means 30 s.
	MaxWait time.Duration
	// CacheBytes bounds the pictures that are kept in memory; 0 means 16 MiB.
	CacheBytes int
	// Clock makes a tenant pause after pages that took long; with nil there are no pauses.
	Clock fair.Clock
}

// Drawer draws first pages, one at a time. Make one with New; it is safe for concurrent use.
type Drawer struct {
	timeout, maxWait time.Duration
	slots            *fair.Limiter // one, by tenant
	cache            *lru.Cache[key, drawn]
	compiled         func() wazero.CompilationCache
}

// key is the key of the cache: the content of a file of a tenant.
type key struct {
	tenant verification.TenantID
	sha256 string
}

// drawn is a picture, or why there is none.
type drawn struct {
	picture []byte
	err     error
}

// New returns a Drawer. The library is compiled for the first page.
func New(o Options) *Drawer {
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	o.MaxWait = cmp.Or(o.MaxWait, 30*time.Second)
	o.CacheBytes = cmp.Or(o.CacheBytes, 16<<20)
	d := &Drawer{
		timeout: o.Timeout, maxWait: o.MaxWait, slots: fair.NewLimiter(1, 1),
		cache:    lru.New[key](o.CacheBytes, o.CacheBytes, func(d drawn) int { return len(d.picture) + refusedSize }),
		compiled: sync.OnceValue(wazero.NewCompilationCache),
	}
	if o.Clock != nil {
		d.slots.Rest(3, restAfter, o.Clock)
	}
	return d
}

// errBusy is returned for a page that has waited for too long.
var errBusy = &verification.Error{
	Kind: verification.ErrUnavailable, Subject: "document", Message: "too many documents are being drawn; try again",
}

// notDrawn is the error of a file that has no picture.
func notDrawn(cause error) error {
	text, _, _ := strings.Cut(cause.Error(), "\n") // without the stack of the library
	return &verification.Error{
		Kind: verification.ErrInvalid, Subject: "document", Message: "the first page cannot be drawn", Cause: errors.New(text),
	}
}

// DrawPage returns the first page of a PDF of a tenant as a JPEG with at most MaxSide pixels
// on each side. It reads at most verification.MaxDocumentBytes. ErrInvalid means that the file
// is damaged, encrypted or takes too long or too much memory; this is remembered, too. The
// pages of one tenant delay those of another by at most one page. DrawPage returns
// ErrUnavailable if it waits longer than MaxWait, and the error of ctx if ctx ends meanwhile. A
// page that is being drawn is completed even if ctx ends.
func (d *Drawer) DrawPage(ctx context.Context, t verification.TenantID, document verification.Document, content io.Reader) ([]byte, error) {
	k := key{t, document.SHA256}
	if page, ok := d.cache.Get(k); ok {
		return page.picture, page.err
	}
	release, err := d.wait(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("wait to draw the document %s: %w", document.ID, err)
	}
	defer release()
	if page, ok := d.cache.Get(k); ok { // it was drawn meanwhile
		return page.picture, page.err
	}
	raw, err := io.ReadAll(io.LimitReader(content, verification.MaxDocumentBytes))
	if err != nil {
		return nil, fmt.Errorf("read the document %s: %w", document.ID, err)
	}
	var page drawn
	if page.picture, err = d.draw(context.WithoutCancel(ctx), raw); err != nil {
		page.err = notDrawn(err)
	}
	d.cache.Put(k, page)
	return page.picture, page.err
}

func (d *Drawer) wait(ctx context.Context, t verification.TenantID) (release func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d.maxWait, errBusy)
	defer cancel()
	return d.slots.Acquire(ctx, string(t))
}

// draw draws a file in a new instance of the library. The end of its context stops the
// instance, whatever it does.
func (d *Drawer) draw(ctx context.Context, raw []byte) ([]byte, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	config := wazero.NewRuntimeConfig().
		WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling).
		WithCloseOnContextDone(true).WithMemoryLimitPages(memoryPages).WithCompilationCache(d.compiled())
	pool, err := webassembly.Init(webassembly.Config{
		Context: ctx, MaxTotal: 1, RuntimeConfig: config, FSConfig: wazero.NewFSConfig(), Stdout: io.Discard, Stderr: io.Discard,
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		stop(nil) // what the instance still does ends here
		_ = pool.Close()
	}()
	late := time.AfterFunc(d.timeout, func() { stop(fmt.Errorf("it takes longer than %s", d.timeout)) })
	defer late.Stop()
	picture, err := drawIn(ctx, pool, raw)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return picture, err
}

func drawIn(ctx context.Context, pool pdfium.Pool, raw []byte) ([]byte, error) {
	instance, err := pool.GetInstanceWithContext(ctx)
	if err != nil {
		return nil, err
	}
	file, err := instance.OpenDocument(&requests.OpenDocument{File: &raw})
	if err != nil {
		return nil, err
	}
	page, err := instance.RenderPageInPixels(&requests.RenderPageInPixels{
		Page:  requests.Page{ByIndex: &requests.PageByIndex{Document: file.Document}},
		Width: MaxSide, Height: MaxSide, RenderFlags: enums.FPDF_RENDER_FLAG_ANNOT,
		RenderForm: true, Document: &file.Document, // what was typed into a form
	})
	if err != nil {
		return nil, err
	}
	drawn, ok := page.Result.RenderedImage.(*image.RGBA)
	if !ok {
		return nil, fmt.Errorf("the library draws a %T", page.Result.RenderedImage)
	}
	return encode(drawn)
}

// encode puts a page on white paper. The library does not multiply colours by their opacity,
// unlike image.RGBA, and fills a page that has transparent parts with transparent black.
func encode(page *image.RGBA) ([]byte, error) {
	paper := image.NewRGBA(page.Rect)
	draw.Draw(paper, paper.Rect, image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(paper, paper.Rect, &image.NRGBA{Pix: page.Pix, Stride: page.Stride, Rect: page.Rect}, page.Rect.Min, draw.Over)
	var b bytes.Buffer
	if err := jpeg.Encode(&b, paper, &jpeg.Options{Quality: quality}); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
