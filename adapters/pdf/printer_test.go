package pdf_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/verifyd/verifyd/adapters/pdf"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/report"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestNotesReviewsAndDecisionAreNotPrinted(t *testing.T) {
	p := plain(t)
	r := sample()
	doc := bytes.ReplaceAll(render(t, p, r), []byte("www.w3.org/1999/"), nil)
	for _, secret := range []string{"SECRET", "1999", "approve "} {
		if strings.Contains(text(t, doc), secret) || strings.Contains(string(doc), secret) {
			t.Errorf("the document contains %q", secret)
		}
	}
	r.Notes, r.Flags, r.Decision, r.ResolvedAt = "", nil, rules.DecisionReject, at(9)
	if other := render(t, p, r); !bytes.Equal(bytes.ReplaceAll(other, []byte("www.w3.org/1999/"), nil), doc) {
		t.Error("the document depends on notes, reviews or decision")
	}
}

func TestAReviewCardShowsNothingOfItsVerdict(t *testing.T) {
	p := plain(t)
	r := sample()
	r.Cards[3].Type = workflow.NodeReview
	r.Cards[3].CompletedAt, r.Cards[3].Data = at(5000), verification.Data(`{"decision":"SECRET"}`)
	doc := render(t, p, r)
	for _, secret := range []string{"SECRET", "20 Nov 2026, 10:37:23 UTC", "Completed\n–"} {
		if strings.Contains(text(t, doc), secret) {
			t.Errorf("the document contains %q", secret)
		}
	}
	r.Cards[3].CompletedAt, r.Cards[3].Data = time.Time{}, nil
	if other := render(t, p, r); string(other) != string(doc) {
		t.Error("the document depends on the completion time or the data of a review card")
	}
}

func TestAllElseIsPrinted(t *testing.T) {
	p := plain(t)
	before := render(t, p, sample())
	failed := &rules.RunError{Code: rules.CodeCheckFailed, Check: "pan_check", Message: "The check did not pass."}
	for _, tt := range []struct {
		name   string
		change func(*report.Print)
		want   string
	}{
		{"run id", func(r *report.Print) { r.Run.ID = "0191-other" }, "Run 0191-other"},
		{"reference", func(r *report.Print) { r.Run.ReferenceID = "REF (1)\\2" }, "REF (1)\\2"},
		{"status", func(r *report.Print) { r.Run.Status = rules.StatusExpired }, "EXPIRED"},
		{"started", func(r *report.Print) { r.Run.StartedAt = at(-60).In(time.FixedZone("IST", 19800)) }, "Started\n20 Nov 2026, 09:13:03 UTC"},
		{"completed", func(r *report.Print) { r.Run.CompletedAt = at(3600) }, "Completed\n20 Nov 2026, 10:14:03 UTC"},
		{"workflow", func(r *report.Print) { r.Workflow.Name = "Other name" }, "Other name, version 3"},
		{"workflow id", func(r *report.Print) { r.Workflow.ID = "wf-2" }, "wf-2"},
		{"version", func(r *report.Print) { r.Workflow.Version = 77 }, "Individual onboarding, version 77"},
		{"version hash", func(r *report.Print) { r.Workflow.VersionHash = "abcdefabcdefabcdef" }, "abcdefabcdefabcdef\n"},
		{"ok", func(r *report.Print) { r.Summary.OK = 4711 }, "4711\nOK"},
		{"failed", func(r *report.Print) { r.Summary.Failed = 4711 }, "4711\nFailed"},
		{"needs review", func(r *report.Print) { r.Summary.NeedsReview = 4711 }, "4711\nFlagged"},
		{"error code", func(r *report.Print) { r.Error = failed }, "CHECK_FAILED"},
		{"error check", func(r *report.Print) { r.Error = failed }, "pan_check"},
		{"error message", func(r *report.Print) { r.Error = failed }, "The check did not pass."},
		{"node", func(r *report.Print) { r.Cards[2].NodeID = "node_x" }, "node_x"},
		{"type", func(r *report.Print) { r.Cards[2].Type = workflow.NodeReview }, "pan\nReview\n"},
		{"key", func(r *report.Print) { r.Cards[2].Key = "key_x" }, "key_x"},
		{"label", func(r *report.Print) { r.Cards[2].Label = "Label x" }, "3.\nLabel x"},
		{"card status", func(r *report.Print) { r.Cards[2].Status = rules.CardNeedsReview }, "FLAGGED"},
		{"reason", func(r *report.Print) { r.Cards[2].Reason = "Reason x." }, "Reason x."},
		{"card started", func(r *report.Print) { r.Cards[2].StartedAt = at(59 - 3) }, "20 Nov 2026, 09:14:59 UTC"},
		{"card completed", func(r *report.Print) { r.Cards[2].CompletedAt = at(7200) }, "20 Nov 2026, 11:14:03 UTC"},
		{"dispatches", func(r *report.Print) { r.Cards[2].Dispatches = 99 }, "Requests\n99"},
		{"data", func(r *report.Print) {
			r.Cards[2].Data = verification.Data(`{"a":{"b":1.2345678901234568e+16}}`)
		}, "A › B\n12345678901234568"},
		{"digest", func(r *report.Print) { r.Digest = "0123456789abcdef" }, "digest 0123456789ab\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := sample()
			tt.change(&r)
			doc := render(t, p, r)
			if got := text(t, doc); !strings.Contains(got, tt.want) {
				t.Errorf("the document does not contain %q:\n%s", tt.want, got)
			}
			if string(doc) == string(before) {
				t.Error("the change changed nothing")
			}
		})
	}
}

func TestARedactedReportSaysWhenDataWasRemoved(t *testing.T) {
	p := plain(t)
	before := text(t, render(t, p, sample()))
	r := sample()
	r.Run.ReferenceID, r.Run.RedactedAt = rules.RedactedReference, time.Date(2026, 3, 9, 8, 30, 0, 0, time.UTC)
	after := text(t, render(t, p, r)) // the digest is the same
	const want = "Personal data was removed from this run on 9 Mar 2026, 08:30:00 UTC."
	if strings.Contains(before, "Personal data") || !strings.Contains(after, want) {
		t.Errorf("the document of the redacted run says\n%s\nwant %q, and nothing of that before", after, want)
	}
}

func TestACachedReportIsThatOfItsHistoryAndStatus(t *testing.T) {
	p := printer(t, pdf.Plain(pdf.Options{}))
	render(t, p, sample())
	for _, c := range []struct {
		name   string
		change func(*report.Print)
		want   string
	}{
		{"digest", func(r *report.Print) { r.Digest = "0123456789abcdef" }, "digest 0123456789ab\n"},
		{"status", func(r *report.Print) { r.Run.Status = rules.StatusExpired }, "EXPIRED"},
		{"run", func(r *report.Print) { r.Run.ID = "0191-other" }, "Run 0191-other"},
		{"redaction", func(r *report.Print) { r.Run.RedactedAt, r.Run.ReferenceID = time.Unix(1, 0), rules.RedactedReference }, rules.RedactedReference},
	} {
		r := sample()
		c.change(&r)
		if got := text(t, render(t, p, r)); !strings.Contains(got, c.want) {
			t.Errorf("%s: the document does not contain %q", c.name, c.want)
		}
	}
}

func TestTheSameReportHasTheSameBytes(t *testing.T) {
	r := with("Latin, देवनागरी, عربي, ไทย, 😀")
	var mu sync.Mutex
	seen := map[[32]byte]int{}
	var wg sync.WaitGroup
	for range 2 {
		p := printer(t, pdf.Options{CacheBytes: -1, Concurrent: 4})
		for range 10 {
			wg.Go(func() {
				out, err := p.PrintReport(t.Context(), "tenant", r)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				seen[sha256.Sum256(out)]++
				mu.Unlock()
			})
		}
	}
	wg.Wait()
	if len(seen) != 1 {
		t.Errorf("20 documents have %d hashes, want 1", len(seen))
	}
}

func TestTheDatesAreTheReports(t *testing.T) {
	p := plain(t)
	r := sample()
	running := sample()
	running.Run.CompletedAt = time.Time{}
	for _, tt := range []struct {
		report report.Print
		want   string
	}{{r, "20261120092055"}, {running, "20261120091403"}, {report.Print{}, "19700101000000"}} {
		doc := string(render(t, p, tt.report))
		for _, date := range []string{"/CreationDate (D:", "/ModDate (D:"} {
			if !strings.Contains(doc, date+tt.want+")") {
				t.Errorf("the document has no %s%s)", date, tt.want)
			}
		}
	}
}

func TestACallerMayChangeTheResult(t *testing.T) {
	p := printer(t, pdf.Options{})
	first := render(t, p, sample())
	want := string(first)
	for range 2 {
		clear(first)
		if first = render(t, p, sample()); string(first) != want {
			t.Fatal("a change of the bytes came back")
		}
	}
}

// gate is a context that blocks when its error is read for the second time, which
// is when the report has a slot.
type gate struct {
	context.Context
	calls   atomic.Int32
	entered chan<- struct{}
	leave   <-chan struct{}
}

func (g *gate) Err() error {
	if g.calls.Add(1) == 2 {
		g.entered <- struct{}{}
		<-g.leave
	}
	return nil
}

func TestConcurrentReportsAreLimited(t *testing.T) {
	const limit = 3
	p := printer(t, pdf.Options{Concurrent: limit, CacheBytes: -1, MaxWait: 10 * time.Minute})
	entered, leave := make(chan struct{}, 2*(limit+1)), make(chan struct{})
	var wg sync.WaitGroup
	printing := func(tenant verification.TenantID, want int) {
		t.Helper()
		for range limit + 1 {
			wg.Go(func() {
				if _, err := p.PrintReport(&gate{Context: t.Context(), entered: entered, leave: leave}, tenant, sample()); err != nil {
					t.Error(err)
				}
			})
		}
		for range want {
			select {
			case <-entered:
			case <-time.After(time.Minute):
				t.Fatalf("fewer than %d reports of tenant %s are being printed", want, tenant)
			}
		}
		select {
		case <-entered:
			t.Errorf("more than %d reports of tenant %s are being printed", want, tenant)
		case <-time.After(50 * time.Millisecond):
		}
	}
	printing("a", limit-1)
	printing("b", 1)
	close(leave)
	wg.Wait()
}

// busy is a printer whose only slot is in use until the test ends.
func busy(t *testing.T, o pdf.Options, before ...report.Print) pdf.Printer {
	o.Concurrent = 1
	p := printer(t, o)
	for _, r := range before {
		render(t, p, r)
	}
	entered, leave, done := make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		if _, err := p.PrintReport(&gate{Context: context.Background(), entered: entered, leave: leave}, "tenant", with("busy")); err != nil {
			t.Error(err)
		}
	}()
	select {
	case <-entered:
	case <-done:
		t.Fatal("the report that occupies the printer was not printed")
	}
	t.Cleanup(func() { close(leave); <-done })
	return p
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	p := busy(t, pdf.Options{CacheBytes: -1})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := p.PrintReport(ctx, "tenant", sample()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("PrintReport while busy = %v, want the deadline", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.PrintReport(gone, "tenant", sample()); !errors.Is(err, context.Canceled) {
		t.Errorf("PrintReport when cancelled = %v, want Canceled", err)
	}
}

func TestWaitingHasABound(t *testing.T) {
	p := busy(t, pdf.Options{CacheBytes: -1, MaxWait: 20 * time.Millisecond})
	if _, err := p.PrintReport(t.Context(), "tenant", sample()); !errors.Is(err, verification.ErrUnavailable) {
		t.Errorf("PrintReport while busy = %v, want ErrUnavailable", err)
	}
}

// tally is a context that calls printed when its error is read for the second
// time, which is when the report has a slot.
type tally struct {
	context.Context
	calls   atomic.Int32
	printed func()
}

func (c *tally) Err() error {
	if c.calls.Add(1) == 2 {
		c.printed()
	}
	return nil
}

func TestManyReportsOfOneTenantDelayAnotherByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := printer(t, pdf.Options{Concurrent: 1, CacheBytes: -1})
		var order []verification.TenantID
		entered, leave := make(chan struct{}, 1), make(chan struct{})
		var all sync.WaitGroup
		enter := func(ctx context.Context, tenant verification.TenantID) {
			all.Go(func() {
				if _, err := p.PrintReport(ctx, tenant, sample()); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		line := func(tenant verification.TenantID) {
			enter(&tally{Context: t.Context(), printed: func() { order = append(order, tenant) }}, tenant)
		}
		enter(&gate{Context: t.Context(), entered: entered, leave: leave}, "a")
		for range 20 {
			line("a")
		}
		line("b")
		close(leave)
		all.Wait()
		if at := slices.Index(order, "b"); at < 0 || at > 1 {
			t.Errorf("b was printed after %d of a, want at most 1: %v", at, order)
		}
	})
}

func TestACachedReportNeedsNoSlot(t *testing.T) {
	p := busy(t, pdf.Options{}, sample())
	render(t, p, sample())
}

func TestTheCacheIsBounded(t *testing.T) {
	one := len(render(t, printer(t, pdf.Options{}), sample()))
	p := busy(t, pdf.Options{CacheBytes: 2*one + one/2}, with("a"), with("b"), with("a"), with("c"))
	render(t, p, with("a"))
	render(t, p, with("c"))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := p.PrintReport(ctx, "tenant", with("b")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the least recently printed report is still kept: %v", err)
	}
}

// explosive panics while the pages are made, as a library could.
type explosive struct {
	context.Context
	calls atomic.Int32
}

func (e *explosive) Err() error {
	if e.calls.Add(1) == 2 {
		panic("boom")
	}
	return nil
}

func TestAPanicIsAnErrorAndTheNextReportPrints(t *testing.T) {
	p := printer(t, pdf.Options{Concurrent: 1, CacheBytes: -1})
	for range 3 {
		if _, err := p.PrintReport(&explosive{Context: t.Context()}, "tenant", sample()); err == nil || !strings.Contains(err.Error(), "boom") {
			t.Fatalf("PrintReport = %v, want an error that names the panic", err)
		}
		render(t, p, sample())
	}
}
