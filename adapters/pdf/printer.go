// Package pdf prints a verification report with maroto: A4 pages with a card for
// each step, the same bytes for the same report, and nothing of its notes,
// reviews and decision.
//
// # Text
//
// A report holds what people typed, in any script. Text in Latin, Greek and
// Cyrillic is live. Any other is shaped by the rules of its script with a port of
// HarfBuzz, and each glyph is placed where the shaper put it. The glyphs that a
// document needs, of whichever font, are written into small TrueType fonts of
// that document: gofpdf crashes on characters beyond 16 bits, does not shape and
// cannot read the outlines of many fonts, and it orders pictures of text
// differently each time. A character that no font has prints as the replacement
// character. Controls and overrides of the writing direction print so too.
//
// Shaped text stays sharp and can be searched as far as a glyph stands for one
// character; a glyph made of several, such as a Devanagari conjunct, is copied
// as a character of the private use area.
//
// # Limits
//
// A value is cut after 2,000 characters, a name after 300, the table of a card
// after 500 rows, all tables together after 6,000 lines, and the cards after
// 1,000. The page says what was left out.
package pdf

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/verifyd/verifyd/adapters/pdf/typeset"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/fair"
)

// Options of a printer. The zero value is a good one.
type Options struct {
	// FontDir is a directory with more fonts (.ttf, .otf, .ttc; of a collection
	// the first), for scripts that the embedded ones lack, such as Chinese. They
	// are asked after the embedded ones, in the order of their names; bold text
	// asks the files that end in -Bold first. They are held in memory. Empty
	// for none.
	FontDir string
	// Concurrent is how many reports are printed at the same time; 0 means 2. One
	// tenant has all of them but one, so that its long reports delay those of
	// another by nothing. The others wait, and the tenants among them are served round robin. Each
	// takes some 20 MB, and the longest that the limits allow some 100 MB.
	Concurrent int
	// Clock makes a tenant rest after a report that took more than 100 ms, for three
	// times as long as the rest of it took, so that long reports of one tenant take
	// a quarter of a processor; nil for no rests.
	Clock fair.Clock
	// MaxWait bounds how long a report waits to be printed; 0 means 30 s.
	MaxWait time.Duration
	// CacheBytes bounds the printed reports that are kept for the next time;
	// 0 means 16 MiB, less than 0 means none.
	CacheBytes int
	// Uncompressed leaves the pages readable, for tests.
	Uncompressed bool
}

// Printer prints reports. It is safe for concurrent use.
type Printer struct {
	fonts    *typeset.Fonts
	slots    *fair.Limiter // one for each shaper, by tenant
	maxWait  time.Duration
	shapers  chan *typeset.Shaper // those that are free
	cache    *cache
	compress bool
}

var _ verification.ReportPrinter = (*Printer)(nil)

// New loads the fonts, which takes some 10 ms. It fails when a font of FontDir
// cannot be read.
func New(o Options) (*Printer, error) {
	if o.Concurrent <= 0 {
		o.Concurrent = 2
	}
	if o.MaxWait == 0 {
		o.MaxWait = 30 * time.Second
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = 16 << 20
	}
	fonts, err := typeset.LoadFonts(o.FontDir)
	if err != nil {
		return nil, err
	}
	p := &Printer{
		fonts: fonts, slots: fair.NewLimiter(o.Concurrent, max(1, o.Concurrent-1)), maxWait: o.MaxWait,
		shapers: make(chan *typeset.Shaper, o.Concurrent),
		cache:   newCache(o.CacheBytes), compress: !o.Uncompressed,
	}
	if o.Clock != nil {
		p.slots.Rest(3, restAfter, o.Clock)
	}
	for range o.Concurrent {
		p.shapers <- typeset.NewShaper(fonts)
	}
	sortCatalog()
	return p, nil
}

// restAfter is how long printing takes before a tenant rests for it.
const restAfter = 100 * time.Millisecond

// errBusy is returned when a report has waited for too long.
var errBusy = &verification.Error{
	Kind: verification.ErrUnavailable, Subject: "report", Message: "too many reports are being printed; try again",
}

// PrintReport prints a report of a tenant. The reports of a tenant delay those of
// another by one report, however many they are. PrintReport fails with
// ErrUnavailable when it waits for longer than MaxWait, and with the error of ctx
// when ctx ends before.
func (p *Printer) PrintReport(ctx context.Context, t verification.TenantID, r verification.Report) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("print the report of run %s: %w", r.Run.ID, err)
	}
	key := keyOf(t, r)
	if out, ok := p.cache.get(key); ok {
		return slices.Clone(out), nil
	}
	release, err := p.wait(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("wait to print the report of run %s: %w", r.Run.ID, err)
	}
	defer release()
	out, err := p.print(ctx, <-p.shapers, r)
	if err != nil {
		return nil, fmt.Errorf("print the report of run %s: %w", r.Run.ID, err)
	}
	p.cache.add(key, out)
	return slices.Clone(out), nil
}

func (p *Printer) wait(ctx context.Context, t verification.TenantID) (release func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, p.maxWait, errBusy)
	defer cancel()
	return p.slots.Acquire(ctx, string(t))
}

// print makes the document and returns the shaper. A panic of a library becomes an
// error, and its shaper is replaced.
func (p *Printer) print(ctx context.Context, s *typeset.Shaper, r verification.Report) (out []byte, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			out, err = nil, fmt.Errorf("the library failed: %v", fault)
			s = typeset.NewShaper(p.fonts)
		}
		p.shapers <- s
	}()
	l := &layout{text: s.New(), linesLeft: limitLines}
	groups, err := l.report(ctx, r)
	if err != nil {
		return nil, err
	}
	pages := l.dress(paginate(groups), r)
	return generate(r, pages, l.text.Subsets(), p.compress)
}
