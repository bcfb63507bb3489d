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
	maxSide     = 2000 // the length of the longer side of a picture, in pixels: 170 dpi for A4
	lessSide    = 1200 // of a page that takes too much memory otherwise: 100 dpi for A4
	quality     = 85   // of the JPEG
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
	// Clock makes a tenant pause after pages that took long, and drops pictures that nobody saw for ten minutes; nil
	// does neither.
	Clock fair.Clock
}

// Drawer draws first pages, one at a time. Make one with New; it is safe for concurrent use. It lowers
// the memory limit of the Go runtime by what it needs outside of the runtime, so a process has one.
type Drawer struct {
	timeout, maxWait time.Duration
	slots            *fair.Limiter // one, by tenant
	cache            *lru.Cache[key, drawn]
	cacheOfCode      func() wazero.CompilationCache
	compiled         bool // of the holder of the slot
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
		cache:       lru.New[key](o.CacheBytes, o.CacheBytes, func(d drawn) int { return len(d.picture) + refusedSize }),
		cacheOfCode: sync.OnceValue(wazero.NewCompilationCache),
	}
	if o.Clock != nil {
		d.slots.Rest(3, restAfter, o.Clock)
		d.cache.Aging(o.Clock.AfterFunc)
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

// DrawPage returns the first page of a PDF of a tenant as a JPEG with at most 2,000 pixels
// on each side. It reads at most verification.MaxDocumentBytes. ErrInvalid means that the file
// is damaged, encrypted or takes too long or too much memory; this is remembered, too. The
// pages of one tenant delay those of another by at most one page. DrawPage returns
// ErrUnavailable if it waits longer than MaxWait, or if the memory limit of the process leaves
// no room, and the error of ctx if ctx ends meanwhile. A page that is being drawn is completed
// even if ctx ends.
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
	if err = d.room(); err != nil {
		return nil, err
	}
	var raw bytes.Buffer
	raw.Grow(int(min(max(document.Size, 0), verification.MaxDocumentBytes)) + bytes.MinRead)
	if _, err = raw.ReadFrom(io.LimitReader(content, verification.MaxDocumentBytes)); err != nil {
		return nil, fmt.Errorf("read the document %s: %w", document.ID, err)
	}
	var page drawn
	page.picture, err = d.draw(context.WithoutCancel(ctx), raw.Bytes())
	if errors.Is(err, verification.ErrUnavailable) {
		return nil, err
	}
	if err != nil {
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

// room returns ErrUnavailable unless there is memory for a page.
func (d *Drawer) room() error {
	if d.compiled {
		return room(DrawBytes)
	}
	return room(compileBytes)
}

// draw draws a file, each time in a new instance of the library: with less detail if the memory
// of the first one is full. The end of its context stops an instance, whatever it does.
func (d *Drawer) draw(ctx context.Context, raw []byte) (picture []byte, err error) {
	var m memory
	defer m.release()
	ctx, stop := context.WithCancelCause(experimental.WithMemoryAllocator(ctx, &m))
	defer stop(nil)
	config := wazero.NewRuntimeConfig().
		WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling).
		WithCloseOnContextDone(true).WithCompilationCache(d.cacheOfCode())
	pool, err := webassembly.Init(webassembly.Config{
		Context: ctx, MaxTotal: 1, RuntimeConfig: config, FSConfig: wazero.NewFSConfig(), Stdout: io.Discard, Stderr: io.Discard,
	})
	if err != nil {
		return nil, err
	}
	if !d.compiled {
		d.compiled = true
		setAside(codeBytes)
	}
	defer func() {
		stop(nil) // what an instance still does ends here
		_ = pool.Close()
	}()
	late := time.AfterFunc(d.timeout, func() { stop(fmt.Errorf("it takes longer than %s", d.timeout)) })
	defer late.Stop()
	for _, side := range []int{maxSide, lessSide} {
		if err = m.renew(); err != nil {
			return nil, err
		}
		picture, err = drawIn(ctx, pool, raw, side)
		switch {
		case ctx.Err() != nil && err != nil:
			return nil, context.Cause(ctx)
		case !m.full:
			return picture, err
		}
	}
	return nil, errFull
}

// drawIn draws a file with at most side pixels on each side.
func drawIn(ctx context.Context, pool pdfium.Pool, raw []byte, side int) ([]byte, error) {
	instance, err := pool.GetInstanceWithContext(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = instance.Kill() }() // it may be in any state
	content := bytes.NewReader(raw)
	defer content.Reset(nil) // the library keeps the readers of files that it could not open
	file, err := instance.OpenDocument(&requests.OpenDocument{FileReader: content, FileReaderSize: int64(len(raw))})
	if err != nil {
		return nil, err
	}
	page, err := instance.RenderPageInPixels(&requests.RenderPageInPixels{
		Page:  requests.Page{ByIndex: &requests.PageByIndex{Document: file.Document}},
		Width: side, Height: side, RenderFlags: enums.FPDF_RENDER_FLAG_ANNOT,
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

// encode puts a page on white paper, in place. The library does not multiply colours by their
// opacity, unlike image.RGBA, and fills a page that has transparent parts with transparent black.
func encode(page *image.RGBA) ([]byte, error) {
	for p := page.Pix; len(p) >= 4; p = p[4:] {
		opacity := uint32(p[3])
		for i, colour := range p[:3] {
			p[i] = byte((uint32(colour)*opacity + 255*(255-opacity)) / 255)
		}
		p[3] = 255
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, page, &jpeg.Options{Quality: quality}); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
