// Package pdf prints a verification report: A4 pages with a letterhead, who was
// verified, a card for each step, the documents, and an annex of ids and hashes. The same
// print has the same bytes. It has nothing of notes, reviews and the decision unless it is
// for the file of the tenant. maroto lays the rows and pages out, see
// docs/decisions/0023-maroto-lays-the-report-out.md; package typeset shapes the
// text, which may be in any script, see docs/decisions/0013-report-text-is-shaped-into-fonts-of-the-document.md.
//
// # Limits
//
// A value is cut after 2,000 characters, a name after 300, the table of a card
// after 500 rows, all tables together after 6,000 lines, and the cards after
// 1,000. At most 24 documents have a picture, none of which has more than 25
// megapixels. The page says what was cut.
package pdf

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/verifyd/verifyd/internal/fair"
	"github.com/verifyd/verifyd/internal/lru"
	"github.com/verifyd/verifyd/internal/typeset"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/report"
	"github.com/verifyd/verifyd/verification/rules"
)

// Options configure New. The zero value is valid.
type Options struct {
	// FontDir is a directory with more fonts, see typeset.LoadFonts, for scripts
	// that the embedded fonts lack, such as Chinese. They are held in memory. Empty
	// for none.
	FontDir string
	// InstalledFonts also uses the font for Chinese, Japanese and Korean that a package of
	// the system has installed, see typeset.InstalledFonts.
	InstalledFonts bool
	// Log receives which scripts a report lacks a font for; nil discards it.
	Log *slog.Logger
	// Concurrent is how many reports are printed at the same time; 0 means 2. One
	// tenant uses at most all but one of the slots, and waiting tenants take turns.
	// A report takes about 20 MB, the largest one about 100 MB.
	Concurrent int
	// Clock measures a pause of the tenant after each report that took more than 100 ms:
	// three times the excess, at most 5 s. So the long reports of one tenant take about a
	// quarter of the time of a slot. It also ages the cache: a report that nobody reads for ten minutes is
	// dropped. nil does neither.
	Clock fair.Clock
	// MaxWait bounds how long a report waits for a slot; 0 means 30 s.
	MaxWait time.Duration
	// CacheBytes bounds the cache of printed reports; 0 means 16 MiB, a negative
	// number means no cache.
	CacheBytes int

	uncompressed bool // by tests, which read the page
}

// Printer prints reports. It is safe for concurrent use.
type Printer interface {
	report.Printer
	// Scripts returns the names of the scripts that the printer has fonts for, and of some that it lacks.
	Scripts() (has, lacks []string)
}

type printer struct {
	log      *slog.Logger
	fonts    *typeset.Fonts
	slots    *fair.Limiter // one for each shaper, by tenant
	maxWait  time.Duration
	shapers  chan *typeset.Shaper // those that are free
	cache    *lru.Cache[key, []byte]
	compress bool
}

// New loads the fonts, which takes about 10 ms. It returns an error if a font of
// FontDir cannot be read.
func New(o Options) (Printer, error) {
	if o.Concurrent <= 0 {
		o.Concurrent = 2
	}
	o.MaxWait = cmp.Or(o.MaxWait, 30*time.Second)
	o.CacheBytes = cmp.Or(o.CacheBytes, 16<<20)
	fonts, err := typeset.LoadFonts(o.FontDir)
	if err != nil {
		return nil, err
	}
	if o.InstalledFonts {
		fonts = fonts.WithInstalled(typeset.InstalledFonts())
	}
	p := &printer{
		log:   cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		fonts: fonts, slots: fair.NewLimiter(o.Concurrent, max(1, o.Concurrent-1)), maxWait: o.MaxWait,
		shapers: make(chan *typeset.Shaper, o.Concurrent),
		cache:   lru.New[key](o.CacheBytes, o.CacheBytes, func(out []byte) int { return len(out) }), compress: !o.uncompressed,
	}
	if o.Clock != nil {
		p.slots.Rest(3, restAfter, o.Clock)
		p.cache.Aging(o.Clock.AfterFunc)
	}
	for range o.Concurrent {
		p.shapers <- typeset.NewShaper(fonts)
	}
	sortCatalog()
	return p, nil
}

// key is the key of the cache: the digest identifies the recorded history of
// the run, the status may change with time alone, and a redaction keeps the digest.
type key struct {
	tenant     verification.TenantID
	run        verification.RunID
	digest     string
	redacted   int64 // in microseconds
	restricted int64 // in microseconds
	status     rules.Status
	file       bool
	lacks      bool   // it may lack text
	name       string // of the tenant
	logo       string
}

func keyOf(t verification.TenantID, p report.Print) key {
	return key{
		t, p.Run.ID, p.Digest, p.Run.RedactedAt.UnixMicro(), p.Run.RestrictedAt.UnixMicro(), p.Run.Status, p.ForFile, p.AllowMissing,
		p.Letterhead.Name, p.Letterhead.Logo.Name,
	}
}

// restAfter is how long a report may take without a pause of its tenant.
const restAfter = 100 * time.Millisecond

// errBusy is returned for a report that has waited for too long.
var errBusy = &verification.Error{
	Kind: verification.ErrUnavailable, Subject: "report", Message: "too many reports are being printed; try again",
}

// lacks is returned for a report for the file with characters that no font has.
func lacks(missing []rune) error {
	named := naming(missing)
	return &verification.Error{
		Kind: verification.ErrConflict, Subject: "report",
		Message: "the report would lack text: no font of this service has the characters " + named,
		Fields:  []verification.FieldError{{Name: "allow_missing", Message: "must be 1 to print the report without these characters"}},
	}
}

// PrintReport prints a report of a tenant. The reports of one tenant delay those of
// another by at most one report. PrintReport returns ErrUnavailable if it waits
// longer than MaxWait, ErrConflict for a report for the file with characters that no font has,
// unless AllowMissing is set, and the error of ctx if ctx ends first.
func (p *printer) PrintReport(ctx context.Context, t verification.TenantID, r report.Print) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("print the report of run %s: %w", r.Run.ID, err)
	}
	key := keyOf(t, r)
	if out, ok := p.cache.Get(key); ok {
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
	p.cache.Put(key, out)
	return slices.Clone(out), nil
}

func (p *printer) wait(ctx context.Context, t verification.TenantID) (release func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, p.maxWait, errBusy)
	defer cancel()
	return p.slots.Acquire(ctx, string(t))
}

// print makes the document and returns the shaper. A panic of a library becomes an
// error, and its shaper is replaced.
func (p *printer) print(ctx context.Context, s *typeset.Shaper, r report.Print) (out []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, fmt.Errorf("the library failed: %v", r)
			s = typeset.NewShaper(p.fonts)
		}
		p.shapers <- s
	}()
	l := newLayout(s.New(), r)
	sections, err := l.report(ctx, r)
	if err != nil {
		return nil, err
	}
	if missing := l.text.Missing(); len(missing) > 0 { // the characters may be of a name
		p.log.WarnContext(ctx, "characters not printed: no font has them", "run", r.Run.ID,
			"characters", len(missing), "scripts", typeset.ScriptsOf(missing))
		if r.ForFile && !r.AllowMissing {
			return nil, lacks(missing)
		}
	}
	return l.document(r, sections, p.compress)
}

func (p *printer) Scripts() (has, lacks []string) { return p.fonts.Scripts() }
