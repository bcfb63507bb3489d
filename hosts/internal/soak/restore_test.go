// Tests of stores that are restored to a time before erasures, while the restore is disturbed: a host that is ready
// shows nobody who was erased, or no host is ready.

package soak_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// erasedRuns is how many runs are erased after the backup, unless VERIFYD_SOAK_ERASED says so.
func erasedRuns() int {
	if n, err := strconv.Atoi(os.Getenv("VERIFYD_SOAK_ERASED")); err == nil {
		return n
	}
	return 20
}

// erasures are a store of before the erasures, the uploads of then, and the ledger of afterwards.
type erasures struct {
	fresh   func(t *testing.T) string // makes an empty store
	records [][]store.Record
	uploads string
	ledger  []byte
	end     []byte
	runs    []verification.RunID
}

// copied returns a host on a store with the records, and the uploads, as they were, and with a ledger; nil for none.
func (e *erasures) copied(t *testing.T, ledger []byte) *forgetting {
	t.Helper()
	blobs := filepath.Join(t.TempDir(), "uploads")
	if err := os.CopyFS(blobs, os.DirFS(e.uploads)); err != nil {
		t.Fatal(err)
	}
	f, err := openForgetting(t.Context(), e.fresh(t), blobs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.close(context.WithoutCancel(t.Context())) })
	copies, _ := f.store.(store.CopyStore)
	for _, some := range e.records {
		if err := copies.SaveRecords(t.Context(), some); err != nil {
			t.Fatal(err)
		}
	}
	e.keep(t, f, ledger)
	return f
}

// keep gives a host the ledger; nil for none.
func (e *erasures) keep(t *testing.T, f *forgetting, ledger []byte) {
	t.Helper()
	file := f.ledgerFile()
	if ledger == nil {
		_ = os.Remove(file)
		_ = os.Remove(file + ".end")
		return
	}
	if err := errors.Join(os.WriteFile(file, ledger, 0o600), os.WriteFile(file+".end", e.end, 0o600)); err != nil {
		t.Fatal(err)
	}
}

func (f *forgetting) ledgerFile() string { return filepath.Join(f.blobs, "ledger") }

// another returns another host on the same store and uploads.
func (f *forgetting) another(t *testing.T, s engineStore) *engine.Engine {
	t.Helper()
	other := *f
	other.store = s
	e, err := other.later(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(context.WithoutCancel(t.Context())) })
	return e
}

// readable counts the erased runs that have personal data, and the uploads.
func (e *erasures) readable(t *testing.T, f *forgetting) (runs, uploads int) {
	t.Helper()
	for _, id := range e.runs {
		events, err := f.store.Load(t.Context(), tenant, id, 0)
		if err != nil && !errors.Is(err, verification.ErrNotFound) {
			t.Fatal(err)
		}
		raw, err := rules.EncodeEvents(events)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(raw, []byte(personal)) {
			runs++
		}
	}
	return runs, uploadsIn(f.blobs)
}

// forgottenRuns makes runs, backs them up, and erases them: every third is deleted as well.
func forgottenRuns(t *testing.T, fresh func(t *testing.T) string) *erasures {
	t.Helper()
	ctx := t.Context()
	e := &erasures{fresh: fresh, uploads: filepath.Join(t.TempDir(), "uploads")}
	blobs := filepath.Join(t.TempDir(), "uploads")
	f, err := openForgetting(ctx, fresh(t), blobs)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.close(context.WithoutCancel(ctx)) }()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err = f.engine.ApplyErasures(ctx, "")
	must(err)
	must(f.makeRuns(ctx)) // some of which stay as they are
	workflow := f.workflow(t)
	for n := range erasedRuns() + 1 {
		must(f.makeRun(ctx, workflow, fmt.Sprintf("%s-erased-%d", personal, n), false))
	}
	page, err := f.store.List(ctx, tenant, store.RunQuery{PageQuery: store.PageQuery{Limit: store.MaxLimit}})
	for err == nil && len(e.runs) <= erasedRuns() {
		for _, r := range page.Data {
			if strings.Contains(r.ReferenceID, "-erased-") {
				e.runs = append(e.runs, r.ID)
			}
		}
		page, err = f.store.List(ctx, tenant, store.RunQuery{PageQuery: store.PageQuery{Limit: store.MaxLimit, Offset: page.Offset + store.MaxLimit}})
	}
	must(err)
	first := e.runs[0]
	_, err = f.engine.Redact(ctx, tenant, first, "", forgetBy)
	must(err)
	must(f.documents.RemoveDocuments(ctx, verification.RunRef{Tenant: tenant, Run: first}))
	e.runs = e.runs[1:]
	ids := map[verification.RunID]bool{}
	for _, id := range e.runs {
		ids[id] = true
	}
	copies, _ := f.store.(store.CopyStore)
	for _, kind := range store.RecordKinds() { // without the runs that nobody erases, so that every upload is of one that is
		var all []store.Record
		for r, err := range copies.Records(ctx, kind) {
			must(err)
			if run, ok := r.(store.RunRecord); !ok || ids[run.Run.Run] {
				all = append(all, r)
			} else if run.Run.Run != first {
				must(f.documents.RemoveDocuments(ctx, run.Run))
			}
		}
		e.records = append(e.records, all)
	}
	must(os.CopyFS(e.uploads, os.DirFS(blobs)))
	for _, name := range []string{"ledger", "ledger.end"} {
		must(os.Remove(filepath.Join(e.uploads, name)))
	}
	for n, id := range e.runs {
		_, err := f.engine.Redact(ctx, tenant, id, "", forgetBy)
		must(err)
		if n%3 == 0 {
			events, err := f.store.Load(ctx, tenant, id, 0)
			must(err)
			must(f.store.Append(ctx, tenant, id, len(events), store.Commit{Delete: true, Erasure: &verification.Erasure{
				Tenant: tenant, Run: id, Kind: verification.ErasureDeleted, At: events[0].At, StartedAt: events[0].At,
			}}))
		}
	}
	must(f.engine.NoteErasures(ctx))
	before, err := os.ReadFile(f.ledgerFile())
	must(err)
	for range erasedRuns() { // a client that repeats a redaction adds nothing
		_, err := f.engine.Redact(ctx, tenant, e.runs[1], "", forgetBy)
		must(err)
	}
	e.ledger, err = os.ReadFile(f.ledgerFile())
	must(err)
	if !bytes.Equal(before, e.ledger) {
		t.Errorf("the ledger grew from %d to %d bytes although nothing was removed", len(before), len(e.ledger))
	}
	e.end, err = os.ReadFile(f.ledgerFile() + ".end")
	must(err)
	return e
}

// emptyDatabases returns a function that makes databases without rows.
func emptyDatabases(t *testing.T) func(t *testing.T) string {
	t.Helper()
	server, template := steady.get(t), "restore_"+strings.ToLower(rand.Text())
	err := server.CreateDatabase(t.Context(), template, "")
	if err == nil {
		_, err = postgres.Migrate(t.Context(), server.URL(template))
	}
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	return func(t *testing.T) string {
		t.Helper()
		made++
		name := fmt.Sprintf("%s_%d", template, made)
		if err := server.CreateDatabase(t.Context(), name, template); err != nil {
			t.Fatal(err)
		}
		return server.URL(name)
	}
}

// killedStore stops everything after some appends, as the death of its host does.
type killedStore struct {
	engineStore
	left atomic.Int64
	kill context.CancelFunc
}

func (k *killedStore) Append(ctx context.Context, t verification.TenantID, id verification.RunID, seq int, c store.Commit) error {
	if k.left.Add(-1) < 0 {
		k.kill()
		return context.Canceled
	}
	return k.engineStore.Append(ctx, t, id, seq, c)
}

// TestARestoreThatIsDisturbedShowsNobody disturbs each restore in another way.
func TestARestoreThatIsDisturbedShowsNobody(t *testing.T) {
	for name, fresh := range map[string]func(t *testing.T) string{
		"folder": func(t *testing.T) string { t.Helper(); return t.TempDir() }, "postgres": emptyDatabases(t),
	} {
		t.Run(name, func(t *testing.T) {
			e := forgottenRuns(t, fresh)
			shows := func(t *testing.T, f *forgetting) {
				t.Helper()
				if runs, uploads := e.readable(t, f); runs+uploads > 0 {
					t.Errorf("a host is ready, and %d runs and %d uploads of %d are readable", runs, uploads, len(e.runs))
				}
			}
			apply := func(t *testing.T, f *forgetting, host *engine.Engine) {
				t.Helper()
				if _, err := host.ApplyErasures(t.Context(), ""); err != nil {
					t.Fatal(err)
				}
				shows(t, f)
			}
			kill := func(t *testing.T, f *forgetting, after int) error {
				t.Helper()
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				k := &killedStore{engineStore: f.store, kill: stop}
				k.left.Store(int64(after))
				_, err := f.another(t, k).ApplyErasures(ctx, "")
				return err
			}
			mustKill := func(t *testing.T, f *forgetting, after int) {
				t.Helper()
				if err := kill(t, f, after); err == nil {
					t.Fatal("the host that was killed is ready")
				}
			}
			all := len(e.runs) + (len(e.runs)+2)/3
			for fifth := 1; fifth < 5; fifth++ {
				t.Run(fmt.Sprintf("killed after %d fifths", fifth), func(t *testing.T) {
					f := e.copied(t, e.ledger)
					mustKill(t, f, all*fifth/5)
					if runs, _ := e.readable(t, f); runs == 0 {
						t.Error("nothing is left to do, so that nothing was disturbed")
					}
					apply(t, f, f.engine)
				})
			}
			t.Run("killed again and again", func(t *testing.T) {
				f := e.copied(t, e.ledger)
				for range 4 {
					mustKill(t, f, all/5)
				}
				apply(t, f, f.engine)
				apply(t, f, f.another(t, f.store))
			})
			for hosts := 2; hosts <= 3; hosts++ {
				t.Run(fmt.Sprintf("%d hosts, of which one is killed", hosts), func(t *testing.T) {
					f := e.copied(t, e.ledger)
					var starts sync.WaitGroup
					starts.Go(func() {
						if kill(t, f, all/5) == nil { // the others were faster, so that it had less to do than its death needs
							if runs, _ := e.readable(t, f); runs > 0 {
								t.Errorf("the host that was to be killed is ready, and %d runs are readable", runs)
							}
						}
					})
					for range hosts - 1 {
						host := f.another(t, f.store)
						starts.Go(func() {
							if _, err := host.ApplyErasures(t.Context(), ""); err != nil {
								t.Error(err)
							}
							if runs, _ := e.readable(t, f); runs > 0 { // another host may be removing an upload that this one does not find any more
								t.Errorf("a host is ready, and %d runs are readable", runs)
							}
						})
					}
					starts.Wait()
					shows(t, f)
				})
			}
			var packed bytes.Buffer
			zip := gzip.NewWriter(&packed)
			_, _ = zip.Write(e.ledger)
			_ = zip.Close()
			flipped, zeros := bytes.Clone(e.ledger), bytes.Clone(e.ledger)
			flipped[len(flipped)*2/3] ^= 4
			clear(zeros[len(zeros)/2 : len(zeros)/2+1000])
			lines := bytes.SplitAfter(e.ledger, []byte("\n"))
			for name, ledger := range map[string][]byte{
				"a flipped bit": flipped, "a page of zeros": zeros, "half the file": e.ledger[:len(e.ledger)/2], "no last line": bytes.Join(lines[:len(lines)-2], nil),
				"no third line": bytes.Join(append(append([][]byte{}, lines[:2]...), lines[3:]...), nil), "gzip": packed.Bytes(),
				"HTML": []byte("<html>\n<body>not found</body>\n"), "empty": {}, "forgotten": nil,
				"of another installation": forgedFor(t, e.ledger),
			} {
				t.Run(name, func(t *testing.T) {
					f := e.copied(t, ledger)
					_, err := f.engine.ApplyErasures(t.Context(), "")
					damaged := (*engine.LedgerError)(nil)
					if !errors.As(err, &damaged) || damaged.Name == "" {
						t.Fatalf("the start = %v, want a LedgerError", err)
					}
					if _, err := f.engine.ApplyErasures(t.Context(), "0"+damaged.Name); !errors.As(err, &damaged) {
						t.Errorf("accepted by another name: %v", err)
					}
					if _, err := f.engine.ApplyErasures(t.Context(), damaged.Name); err != nil {
						t.Errorf("accepted: %v", err)
					}
					for range 2 {
						if _, err := f.another(t, f.store).ApplyErasures(t.Context(), ""); err != nil {
							t.Errorf("after it was accepted: %v", err)
						}
					}
				})
			}
			t.Run("the whole ledger", func(t *testing.T) {
				f := e.copied(t, e.ledger)
				apply(t, f, f.engine)
			})
			t.Run("an unfinished last line", func(t *testing.T) {
				torn := bytes.Clone(e.ledger)
				torn = append(torn, lines[1][:len(lines[1])/2]...)
				f := e.copied(t, torn)
				apply(t, f, f.engine)
				if raw, err := os.ReadFile(f.ledgerFile()); err != nil || !bytes.HasPrefix(raw, torn) {
					t.Errorf("the file was changed before its end: %v", err)
				}
			})
		})
	}
}

// forgedFor returns the ledger as another installation would have it.
func forgedFor(t *testing.T, ledger []byte) (forged []byte) {
	t.Helper()
	for line := range bytes.Lines(ledger) {
		entry := verification.ParseErasure(bytes.TrimSuffix(line, []byte("\n")))
		entry.Ledger = "another"
		raw, err := entry.Line()
		if err != nil {
			t.Fatal(err)
		}
		forged = append(append(forged, raw...), '\n')
	}
	return forged
}

// workflow returns the id of the workflow of the runs.
func (f *forgetting) workflow(t *testing.T) verification.WorkflowID {
	t.Helper()
	page, err := f.store.Workflows(t.Context(), tenant, store.PageQuery{Limit: 1})
	if err != nil || len(page.Data) == 0 {
		t.Fatalf("no workflow: %v", err)
	}
	return page.Data[0].ID
}
