// Tests of ports that are missing or fail.

package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/internal/rig/mock"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/report"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

var errDisk = errors.New("the disk is gone")

func TestNewNamesThePortThatIsMissing(t *testing.T) {
	_, err := engine.New(engine.Ports{}, engine.Options{})
	if err == nil || err.Error() != "engine: the port Store is required" {
		t.Errorf("New without ports = %v, want it to name Store", err)
	}
}

func TestDocumentsNeedASanitizer(t *testing.T) {
	k := enginetest.New(t)
	_, err := engine.New(engine.Ports{
		Store: k.Store, Expressions: expression.New(), Links: enginetest.Links(), Clock: k.Clock, NewID: k.IDs, Documents: newDocuments(),
	}, engine.Options{})
	if err == nil || err.Error() != "engine: the port Sanitize is required" {
		t.Errorf("New with Documents alone = %v, want it to name Sanitize", err)
	}
}

func TestWrongKeysAndUnknownClientsHaveTheSameError(t *testing.T) {
	const key = "a key of at least twenty characters"
	k := enginetest.New(t)
	account := verification.Account{ClientID: "acme", Tenant: enginetest.Tenant, KeyHash: verification.HashAPIKey(key)}
	if err := k.Store.SaveAccount(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	if a, err := k.Engine.Authenticate(t.Context(), "acme", key); err != nil || a.Tenant != enginetest.Tenant {
		t.Errorf("right credentials = %+v, %v; want the account", a, err)
	}
	_, wrong := k.Engine.Authenticate(t.Context(), "acme", key+"!")
	_, unknown := k.Engine.Authenticate(t.Context(), "nobody", key)
	_, empty := k.Engine.Authenticate(t.Context(), "nobody", "")
	for _, err := range []error{wrong, unknown, empty} {
		if !errors.Is(err, verification.ErrUnauthenticated) || err.Error() != wrong.Error() {
			t.Errorf("refusal = %v, want ErrUnauthenticated with the same message", err)
		}
	}
}

func TestWrongCredentialsDoNotDelayRightOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const key = "a key of at least twenty characters"
		account := verification.Account{ClientID: "acme", Tenant: enginetest.Tenant, KeyHash: verification.HashAPIKey(key)}
		var mu sync.Mutex
		lookups, busy, busiest := 0, 0, 0
		tenants := &mock.RowStoreMock{
			RowFunc: func(_ context.Context, _ store.RecordKind, client string) (store.Record, error) {
				if client == "acme" {
					return store.AccountRecord{Account: account}, nil
				}
				mu.Lock()
				lookups, busy = lookups+1, busy+1
				busiest = max(busiest, busy)
				mu.Unlock()
				<-time.After(time.Millisecond)
				mu.Lock()
				busy--
				mu.Unlock()
				return nil, verification.NotFound("account")
			},
			ChangeFunc: func(context.Context, []store.Record) error { return nil },
		}
		k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) {
			p.Store = replace(p.Store, func(s *ports) { s.RowStore = tenants })
		})
		if _, err := k.Engine.Authenticate(t.Context(), "acme", key); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		var refused, unavailable atomic.Int32
		var all sync.WaitGroup
		for n := range 5000 {
			all.Go(func() {
				_, err := k.Engine.Authenticate(t.Context(), fmt.Sprintf("nobody-%d", n), key)
				switch {
				case errors.Is(err, verification.ErrUnauthenticated):
					refused.Add(1)
				case errors.Is(err, verification.ErrUnavailable):
					unavailable.Add(1)
				default:
					t.Errorf("wrong credentials = %v", err)
				}
			})
		}
		synctest.Wait()
		if _, err := k.Engine.Authenticate(t.Context(), "acme", key); err != nil || time.Since(began) > 0 {
			t.Errorf("right credentials during a flood of wrong ones = %v after %s, want no delay", err, time.Since(began))
		}
		all.Wait()
		took := time.Since(began)
		if rate := float64(lookups) / took.Seconds(); busiest > 4 || rate > 800 || took > 6*time.Second {
			t.Errorf("%d lookups in %s, %d at once; want at most 800 a second and 4 at once", lookups, took, busiest)
		}
		if refused.Load() == 0 || unavailable.Load() == 0 {
			t.Errorf("%d refused, %d unavailable, want some of each", refused.Load(), unavailable.Load())
		}
	})
}

func TestANewClientIsLookedUpOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const key = "a key of at least twenty characters"
		account := verification.Account{ClientID: "acme", Tenant: enginetest.Tenant, KeyHash: verification.HashAPIKey(key)}
		tenants := &mock.RowStoreMock{
			RowFunc: func(context.Context, store.RecordKind, string) (store.Record, error) {
				<-time.After(time.Second)
				return store.AccountRecord{Account: account}, nil
			},
			ChangeFunc: func(context.Context, []store.Record) error { return nil },
		}
		k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) {
			p.Store = replace(p.Store, func(s *ports) { s.RowStore = tenants })
		})
		began := time.Now()
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if _, err := k.Engine.Authenticate(t.Context(), "acme", key); err != nil {
					t.Errorf("right credentials = %v", err)
				}
			})
		}
		all.Wait()
		if lookups := len(tenants.RowCalls()); lookups != 1 || time.Since(began) != time.Second {
			t.Errorf("100 requests made %d lookups and took %s, want one lookup of a second", lookups, time.Since(began))
		}
	})
}

func TestAFailureOfTheAccountStoreIsNotARefusal(t *testing.T) {
	tenants := &mock.RowStoreMock{
		RowFunc:    func(context.Context, store.RecordKind, string) (store.Record, error) { return nil, errDisk },
		ChangeFunc: func(context.Context, []store.Record) error { return nil },
	}
	k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) {
		p.Store = replace(p.Store, func(s *ports) { s.RowStore = tenants })
	})
	if _, err := k.Engine.Authenticate(t.Context(), "acme", "x"); !errors.Is(err, errDisk) {
		t.Errorf("authenticate = %v, want the store's error", err)
	}
}

func TestAQueueThatFailsIsCalledAgainAfterASecond(t *testing.T) {
	calls := 0
	queue := &mock.WorkQueueMock{
		TakeFunc: func(_ context.Context, r store.TakeRequest) ([]store.Work, time.Time, error) {
			if r.Kind != store.WorkAdvance {
				return nil, time.Time{}, nil
			}
			if calls++; calls == 1 {
				return nil, time.Time{}, errDisk
			}
			return nil, time.Time{}, nil
		},
	}
	var log strings.Builder
	k := enginetest.New(t, func(p *engine.Ports, o *engine.Options) {
		p.Store = replace(p.Store, func(s *ports) { s.WorkQueue = queue })
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	k.Settle()
	k.Advance(999 * time.Millisecond)
	if calls != 1 {
		t.Fatalf("calls within a second = %d, want 1", calls)
	}
	k.Advance(time.Millisecond)
	if calls != 2 {
		t.Errorf("calls = %d after a second, want 2", calls)
	}
	if !strings.Contains(log.String(), "the disk is gone") {
		t.Errorf("log = %q, want the error", log.String())
	}
}

func TestReportsAreUnavailableWithoutAPrinter(t *testing.T) {
	k := enginetest.New(t)
	run := start(k, chain("a"))
	_, err := k.Engine.PrintReport(t.Context(), enginetest.Tenant, run.ID)
	if !errors.Is(err, verification.ErrUnavailable) {
		t.Errorf("print without a printer = %v, want ErrUnavailable", err)
	}
}

func TestAReportIsPrintedOnceTheRunIsOver(t *testing.T) {
	printer := &mock.ReportPrinterMock{
		PrintReportFunc: func(_ context.Context, _ verification.TenantID, r report.Print) ([]byte, error) {
			return []byte(r.Run.Status), nil
		},
	}
	k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) { p.Printer = printer })
	run := start(k, onboarding())
	if _, err := k.Engine.PrintReport(t.Context(), enginetest.Tenant, run.ID); !errors.Is(err, verification.ErrConflict) ||
		!strings.Contains(err.Error(), "in_progress") {
		t.Errorf("print of a live run = %v, want ErrConflict naming in_progress", err)
	}
	k.Submit(run.ID, "consent_submitted", consent())
	k.GiveVerdict(run.ID, rules.DecisionApprove)
	if raw, err := k.Engine.PrintReport(t.Context(), enginetest.Tenant, run.ID); err != nil || string(raw) != "completed" {
		t.Errorf("print = %s, %v; want the printer's bytes", raw, err)
	}
	calls := printer.PrintReportCalls()
	if len(calls) != 1 {
		t.Fatalf("the printer was called %d times, want 1", len(calls))
	}
	if r := calls[0].P; r.Decision != rules.DecisionNone || r.Flags != nil || r.Summary.NeedsReview == 0 || !r.ResolvedAt.IsZero() {
		t.Errorf("the printer gets the verdict %q, %+v, %+v", r.Decision, r.Flags, r.Summary)
	}
}

func TestAPrintHasTheLetterheadAndTheDocuments(t *testing.T) {
	printer := &mock.ReportPrinterMock{
		PrintReportFunc: func(context.Context, verification.TenantID, report.Print) ([]byte, error) { return nil, nil },
	}
	k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) {
		p.Printer, p.Documents, p.Sanitize = printer, newDocuments(), unchanged
	})
	logo := verification.NewLogo("image/png", []byte("pixels of a logo"))
	if err := k.Store.SaveTenant(t.Context(), verification.Tenant{ID: enginetest.Tenant, Name: "Acme Bank", Zone: "Asia/Kolkata", Logo: logo}); err != nil {
		t.Fatal(err)
	}
	run := start(k, portrait())
	j := openJourney(t, k, run)
	d, err := k.Engine.UploadDocument(t.Context(), j, j.Step.WaitNumber, "face", strings.NewReader("pixels"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Engine.AnswerJourney(t.Context(), j, j.Step.WaitNumber, verification.Data(`{"face":{"document_id":"`+d.ID+`"}}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Engine.PrintReport(t.Context(), enginetest.Tenant, run.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Engine.PrintFile(t.Context(), enginetest.Tenant, run.ID, true); err != nil {
		t.Fatal(err)
	}
	calls := printer.PrintReportCalls()
	p := calls[0].P
	if p.Letterhead.Name != "Acme Bank" || !bytes.Equal(p.Letterhead.Logo.Content, logo.Content) || p.Zone.String() != "Asia/Kolkata" {
		t.Errorf("the letterhead is %+v in %v", p.Letterhead, p.Zone)
	}
	if len(p.Documents) != 1 || p.Documents[0].ID != d.ID {
		t.Fatalf("the documents are %+v", p.Documents)
	}
	content, err := p.Documents[0].Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	if raw, err := io.ReadAll(content); err != nil || string(raw) != "pixels" {
		t.Errorf("the document has the content %q, %v", raw, err)
	}
	if p.ForFile || !calls[1].P.ForFile {
		t.Errorf("ForFile is %t, then %t", p.ForFile, calls[1].P.ForFile)
	}
}

// observed records what an Observer receives.
type observed struct {
	engine.Observer
	mu  sync.Mutex
	got []string
}

func (o *observed) add(what ...string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.got = append(o.got, strings.Join(what, " "))
}

func (o *observed) Counted(found []store.Measure) {
	for _, m := range found {
		o.add(strings.TrimSpace(string(m.Name) + " " + m.Key))
	}
}

func (o *observed) ProviderCalled(p, outcome string, _ time.Duration) { o.add("called", p, outcome) }
func (o *observed) NoticeSent(outcome string)                         { o.add("notice", outcome) }

func (o *observed) RunRescreened(list, outcome string) { o.add("rescreened", list, outcome) }
func (o *observed) RunRechecked(outcome string)        { o.add("rechecked", outcome) }

func TestAnObserverReceivesEachThingOnce(t *testing.T) {
	s, o := newScreener("v1"), &observed{}
	k := enginetest.New(t, s.screens, func(_ *engine.Ports, opt *engine.Options) { opt.Observer = o })
	down := errors.New("down")
	k.Notices.FailWith(down, &verification.RetryError{Cause: down})
	d := screened()
	d.LifecycleWebhookURL = hooks
	run := start(k, d)
	k.Advance(time.Minute)
	if err := k.Engine.Redeliver(t.Context(), enginetest.Tenant, rules.NoticeRef{Run: run.ID}); err != nil {
		t.Fatal(err)
	}
	k.Settle()
	s.change("v2", "e-1")
	k.Advance(2 * time.Minute)
	k.Advance(time.Hour)
	k.GiveVerdict(run.ID, rules.DecisionApprove)
	s.before = func(verification.RunID) error { return down }
	s.change("v3")
	k.Advance(2 * time.Minute)
	want := []string{
		"started", "transition :a", "called screen passed", "dispatch_time 0:screen", "checked a:passed", "transition a:done",
		"ended completed", "decided :",
		"notice retried", "notice dropped", "notice delivered",
		"hits a", "run_hits", "rescreened sanctions flagged",
		"verdict approve", "verdict_time 88", "decided approve", // 1h1m; no verdict_by, which names people
		"rescreened sanctions failed",
	}
	if diff := cmp.Diff(want, o.got); diff != "" {
		t.Errorf("the observer (-want +got):\n%s", diff)
	}
}

func TestAReportForTheFileHasTheNamesOfElements(t *testing.T) {
	var printed []report.Print
	k := enginetest.New(t, func(p *engine.Ports, _ *engine.Options) {
		p.Printer = &mock.ReportPrinterMock{PrintReportFunc: func(_ context.Context, _ verification.TenantID, r report.Print) ([]byte, error) {
			printed = append(printed, r)
			return nil, nil
		}}
	})
	run := k.Start(k.Apply(ownedFlow()).ID, engine.StartRequest{ReferenceID: "one", Input: verification.Data(`{"owners":[{"name":"Asha Rao"},{"name":"Meera Iyer"}]}`)}).ID
	k.Settle()
	if _, err := k.Engine.GiveVerdict(t.Context(), enginetest.Tenant, run, rules.GiveVerdict{Decision: rules.DecisionApprove}, ""); err != nil {
		t.Fatal(err)
	}
	k.Settle()
	for _, write := range []func(context.Context) ([]byte, error){
		func(ctx context.Context) ([]byte, error) { return k.Engine.PrintReport(ctx, enginetest.Tenant, run) },
		func(ctx context.Context) ([]byte, error) {
			return k.Engine.PrintFile(ctx, enginetest.Tenant, run, true)
		},
	} {
		if _, err := write(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []string{"Owner 2 of 2", "Owner · Meera Iyer"} {
		if card, member := printed[i].Cards[1].Label, printed[i].Groups[0].Members[1].Label; card != want || member != want {
			t.Errorf("report %d labels the second owner %q and %q, want %q", i, card, member, want)
		}
	}
	if file, other := printed[1].Elements, printed[0].Elements; other != nil || len(file) != 1 || file[0].Rows[1].Name != "Meera Iyer" || file[0].Named != 2 {
		t.Errorf("the tables of owners are %+v and %+v, want one in the report for the file alone", other, file)
	}
	stored, err := k.Engine.Report(t.Context(), enginetest.Tenant, run)
	if err != nil || stored.Cards[1].Label != "Owner 2 of 2" {
		t.Errorf("the report of the API = %+v, %v", stored.Cards, err)
	}
}
