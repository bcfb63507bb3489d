// Tests of processes that are killed while they redact and delete runs, or export a person's file. Nothing is half done
// after the next pass, and nothing is lost that was not to go. The hosts are processes of this test.

package soak_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/internal/rig/process"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

// What the process of the test does, and where the uploads are.
const (
	forgetTask  = "VERIFYD_SOAK_FORGET"
	forgetBlobs = "VERIFYD_SOAK_BLOBS"

	taskMake   = "make"   // runs, some of them under a hold
	taskChurn  = "churn"  // make and redact runs without end
	taskRedact = "redact" // all that may be redacted
	taskRetain = "retain" // make runs, and carry out retention, without end
	taskDelete = "delete" // all that retention deletes
)

const (
	forgetRuns = 24
	personal   = "Kanarina" // in each run, with its number
)

// forgetPolicy is the policy of the runs, of which only engines with a later clock see something due.
var forgetPolicy = verification.Retention{RedactAfterDays: 1, DeleteAfterDays: 2}

var forgetBy = verification.Person{Name: "root", Identity: "operator#root"}

// forgetting is a host that redacts runs.
type forgetting struct {
	store     engineStore
	engine    *engine.Engine
	documents blob.FolderStore
	ledger    verification.ErasureLedger
	blobs     string
}

// laterClock is ahead of the clock of the system.
type laterClock struct {
	clock.System
	by time.Duration
}

// Now returns the time.
func (c laterClock) Now() time.Time { return c.System.Now().Add(c.by) }

// later returns an engine on the same store, whose clock is ahead.
func (f *forgetting) later(by time.Duration) (*engine.Engine, error) {
	return engine.New(engine.Ports{
		Store: f.store, Expressions: expression.New(), Links: enginetest.Links(), Clock: laterClock{by: by}, NewID: uuid.NewString,
		Documents: f.documents, Sanitize: asItIs, Ledger: f.ledger,
	}, engine.Options{Lease: engineLease, StartWait: -1, QueueInterval: 20 * time.Millisecond, Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
}

// openForgetting opens the store and the uploads.
func openForgetting(ctx context.Context, at, blobs string) (*forgetting, error) {
	f := &forgetting{blobs: blobs}
	var err error
	if f.store, err = openEngineStore(ctx, at); err != nil {
		return nil, err
	}
	if f.documents, err = blob.Folder(blobs, 0); err != nil {
		return nil, err
	}
	f.ledger = blob.LedgerFile(filepath.Join(blobs, "ledger"))
	f.engine, err = f.later(0)
	return f, err
}

// asItIs is a sanitizer that changes nothing.
func asItIs(_ context.Context, content io.Reader, _ []string) (string, io.ReadCloser, error) {
	return "image/png", io.NopCloser(content), nil
}

func (f *forgetting) close(ctx context.Context) error {
	return errors.Join(f.engine.Close(ctx), f.store.Close(), f.documents.Close())
}

// serveForget does a task, and returns once it is done.
func serveForget(at, task string) error {
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Minute)
	defer stop()
	f, err := openForgetting(ctx, at, os.Getenv(forgetBlobs))
	if err != nil {
		return err
	}
	if task != taskRetain && task != taskDelete {
		go f.engine.Serve(ctx)
	}
	switch task {
	case taskMake:
		err = f.makeRuns(ctx)
	case taskChurn:
		err = f.churn(ctx)
	case taskRedact:
		err = f.redactAll(ctx)
	case taskRetain:
		err = f.retain(ctx)
	case taskDelete:
		err = f.deleteAll(ctx)
	default:
		err = fmt.Errorf("there is no task %s", task)
	}
	return errors.Join(err, f.close(ctx))
}

// makeRuns makes runs that are completed, each with an upload. Every sixth is under a hold.
func (f *forgetting) makeRuns(ctx context.Context) error {
	if err := (store.Tables{RowStore: f.store}).SaveTenant(ctx, verification.Tenant{ID: tenant, Name: "Test"}); err != nil {
		return err
	}
	applied, err := f.engine.Apply(ctx, tenant, workflow.Definition{
		Workflow: "portrait", Name: "Portrait", Start: "photo", Retention: forgetPolicy, Nodes: map[verification.NodeID]workflow.Node{
			"photo": {Type: workflow.NodeCustomerInput, Next: "done", Fields: workflow.InputFields{
				{Name: "face", Type: workflow.FieldImage, Required: true}, {Name: "name", Type: workflow.FieldText},
			}},
			"done": {Type: workflow.NodeEnd},
		},
	})
	if err != nil {
		return err
	}
	for n := range forgetRuns {
		if err := f.makeRun(ctx, applied.Workflow.ID, fmt.Sprintf("%s-%d", personal, n), n%6 == 0); err != nil {
			return err
		}
	}
	return nil
}

func (f *forgetting) makeRun(ctx context.Context, w verification.WorkflowID, name string, held bool) error {
	run, err := f.engine.Start(ctx, tenant, w, engine.StartRequest{ReferenceID: name})
	if err != nil {
		return err
	}
	detail, err := f.engine.Run(ctx, tenant, run.ID)
	if err != nil {
		return err
	}
	j, err := f.engine.OpenJourney(ctx, strings.TrimPrefix(detail.Action.URL, "/journey/"))
	if err != nil {
		return err
	}
	d, err := f.engine.UploadDocument(ctx, j, j.Step.WaitNumber, "face", strings.NewReader(name))
	if err != nil {
		return err
	}
	payload, err := verification.NewData(map[string]any{"name": name, "face": map[string]any{"document_id": d.ID}})
	if err == nil {
		_, err = f.engine.Submit(ctx, tenant, run.ID, engine.SubmitRequest{Signal: "photo_submitted", Payload: payload})
	}
	if err == nil && held {
		err = f.engine.HoldRun(ctx, tenant, run.ID, rules.HoldRun{Reason: "in dispute", By: forgetBy.Name, Identity: forgetBy.Identity})
	}
	return err
}

// churn makes a run and redacts one, again and again.
func (f *forgetting) churn(ctx context.Context) error {
	all, err := engineRunsOf(ctx, f.store)
	for n := 0; err == nil && ctx.Err() == nil; n++ {
		if err = f.makeRun(ctx, all[0].Workflow, fmt.Sprintf("%s-churn-%d", personal, n), false); err == nil {
			_, _, err = f.redactRuns(ctx, 1)
		}
		err = errors.Join(err, f.begun())
	}
	return err
}

// redactAll redacts all runs that may be, and waits until the uploads are gone.
func (f *forgetting) redactAll(ctx context.Context) error {
	redacted, kept, err := f.redactRuns(ctx, forgetRuns*1000)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "redacted", redacted, "kept", kept)
	for uploadsIn(os.Getenv(forgetBlobs)) > kept {
		if err := sleep(ctx); err != nil {
			return err
		}
	}
	return nil
}

// sleep waits a moment.
func sleep(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(20 * time.Millisecond):
		return nil
	}
}

// redactRuns redacts up to a number of runs. kept counts those under a hold, and those that are live because
// the host was killed while it made them.
func (f *forgetting) redactRuns(ctx context.Context, most int) (redacted, kept int, err error) {
	all, err := engineRunsOf(ctx, f.store)
	if err != nil {
		return 0, 0, err
	}
	for _, r := range all {
		if !r.RedactedAt.IsZero() || redacted == most {
			continue
		}
		switch _, err := f.engine.Redact(ctx, tenant, r.ID, "", forgetBy); {
		case err == nil:
			redacted++
		case errors.Is(err, verification.ErrConflict):
			kept++
		default:
			return redacted, kept, err
		}
	}
	return redacted, kept, nil
}

// retain makes runs, redacts those of a day and a half before, and deletes those of two and a half, again and again.
func (f *forgetting) retain(ctx context.Context) error {
	all, err := engineRunsOf(ctx, f.store)
	redacts, err1 := f.later(36 * time.Hour)
	deletes, err2 := f.later(60 * time.Hour)
	if err := errors.Join(err, err1, err2); err != nil {
		return err
	}
	go deletes.Serve(ctx)
	for n := 0; err == nil && ctx.Err() == nil; n++ {
		if err = f.makeRun(ctx, all[0].Workflow, fmt.Sprintf("%s-churn-%d", personal, n), false); err == nil {
			_, err = redacts.Retain(ctx)
		}
		if err == nil {
			_, err = deletes.Retain(ctx)
		}
		err = errors.Join(err, f.begun())
	}
	return err
}

// begunSuffix ends the name of the file beside the uploads that says that a host has made runs.
const begunSuffix = ".begun"

// begun says that the host has made a run, and redacted one.
func (f *forgetting) begun() error { return os.WriteFile(f.blobs+begunSuffix, nil, 0o600) }

// killSome starts hosts for a task and kills them: every other one up to a time after it has begun,
// and the others up to that time after 100 ms, which may be while they start.
func killSome(t *testing.T, at, blobs, task string, kills int, rng *rand.Rand, upTo time.Duration) {
	t.Helper()
	begun := blobs + begunSuffix
	for n := range kills {
		_ = os.Remove(begun) // there is none before the first host
		p := forgetHost(t, at, blobs, task)
		wait := func(d time.Duration) {
			t.Helper()
			select {
			case <-p.Ended():
				t.Fatal(p.Err())
			case <-time.After(d):
			}
		}
		if n%2 != 0 {
			wait(100 * time.Millisecond)
		}
		for ; n%2 == 0; wait(5 * time.Millisecond) { // a host ends by itself, after minutes
			if _, err := os.Stat(begun); err == nil {
				break
			}
		}
		wait(time.Duration(rng.Int64N(int64(upTo))))
		_ = p.Cmd.Process.Kill()
		<-p.Ended()
	}
}

// deleteAll deletes all runs that are over and under no hold.
func (f *forgetting) deleteAll(ctx context.Context) error {
	for _, by := range []time.Duration{84 * time.Hour, 108 * time.Hour} { // the first engine redacts what is left
		e, err := f.later(by)
		if err != nil {
			return err
		}
		serving, stop := context.WithCancel(ctx)
		go e.Serve(serving)
		all, err := engineRunsOf(ctx, f.store)
		for _, r := range all { // which has the host look at what is to be erased now, and not within a minute
			if err == nil && !r.RedactedAt.IsZero() {
				_, err = e.Redact(ctx, tenant, r.ID, "", forgetBy)
			}
		}
		// A run whose redaction is not complete when retention reaches it is looked at again after a quarter of an hour.
		for err == nil && f.left(ctx, func(r rules.Run) bool { return !r.RedactedAt.IsZero() && r.ErasedAt.IsZero() }) > 0 {
			err = sleep(ctx)
		}
		if err != nil {
			stop()
			return err
		}
		for more := true; more || by > 100*time.Hour && f.left(ctx, func(r rules.Run) bool { return r.Ended != "" && r.Hold == (rules.Hold{}) }) > 0; {
			if more, err = e.Retain(ctx); err != nil {
				stop()
				return err
			}
			if err := sleep(ctx); err != nil {
				stop()
				return err
			}
		}
		stop()
		if err := e.Close(ctx); err != nil {
			return err
		}
	}
	return nil
}

// left returns how many runs are as a function says.
func (f *forgetting) left(ctx context.Context, is func(rules.Run) bool) (n int) {
	all, err := engineRunsOf(ctx, f.store)
	if err != nil {
		return 1
	}
	for _, r := range all {
		events, err := f.store.Load(ctx, tenant, r.ID, 0)
		if run := rules.Fold(r.ID, events); err == nil && is(run) {
			n++
		}
	}
	return n
}

// uploadsIn returns the number of files with the content of uploads.
func uploadsIn(folder string) (n int) {
	_ = filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if raw, failed := os.ReadFile(path); err == nil && failed == nil && bytes.HasPrefix(raw, []byte(personal)) {
			n++
		}
		return nil // what was removed meanwhile is not there
	})
	return n
}

// forgetHost starts this program for a task.
func forgetHost(t *testing.T, at, blobs, task string) *process.Process {
	t.Helper()
	return engineHost(t, at, forgetTask+"="+task, forgetBlobs+"="+blobs)
}

// histories returns the JSON of the history of each run, by its reference id before.
func (f *forgetting) histories(ctx context.Context) (map[verification.RunID]string, error) {
	all, err := engineRunsOf(ctx, f.store)
	found := map[verification.RunID]string{}
	for _, r := range all {
		events, loadErr := f.store.Load(ctx, tenant, r.ID, 0)
		raw, jsonErr := json.Marshal(events)
		err = errors.Join(err, loadErr, jsonErr)
		found[r.ID] = r.ReferenceID + " " + string(raw)
	}
	return found, err
}

// stored reads the histories while no host has the store.
func stored(t *testing.T, at, blobs string) map[verification.RunID]string {
	t.Helper()
	f, err := openForgetting(t.Context(), at, blobs)
	if err != nil {
		t.Fatal(err)
	}
	all, err := f.histories(t.Context())
	if err := errors.Join(err, f.close(t.Context())); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestKillsLeaveNoRunHalfRedacted(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, at string) {
		blobs, seed, kills := t.TempDir(), seedOf(t), killsOf(t, fewKills)
		t.Logf("repeat with VERIFYD_SOAK_SEED=%d", seed)
		rng := rand.New(rand.NewPCG(seed, 4))
		if err := engineEnds(t, forgetHost(t, at, blobs, taskMake)); err != nil {
			t.Fatal(err)
		}
		before := stored(t, at, blobs)
		killSome(t, at, blobs, taskChurn, kills, rng, 300*time.Millisecond)
		middle := stored(t, at, blobs)
		if err := engineEnds(t, forgetHost(t, at, blobs, taskRedact)); err != nil {
			t.Fatal(err)
		}
		after, held, live, redacted := stored(t, at, blobs), 0, 0, 0
		for id, was := range middle {
			now := after[id]
			switch {
			case before[id] != "" && strings.Contains(before[id], `"held"`):
				if held++; now != before[id] {
					t.Errorf("the run %s under a hold was\n%s\nand is\n%s", id, before[id], now)
				}
			case !strings.Contains(now, `"completed"`):
				if live++; now != was {
					t.Errorf("the live run %s was\n%s\nand is\n%s", id, was, now)
				}
			case strings.Contains(now, personal) || strings.Count(now, `"redacted"`) != 2:
				t.Errorf("the run %s is %s, want it redacted once", id, now)
			default:
				redacted++
			}
		}
		t.Logf("%d kills: %d runs redacted, %d live, %d under a hold", kills, redacted, live, held)
		if len(after) != len(middle) || len(middle) <= len(before) || len(before) != forgetRuns || held == 0 {
			t.Errorf("%d, then %d and %d runs, %d of them under a hold", len(before), len(middle), len(after), held)
		}
		if n := uploadsIn(blobs); n < held || n > held+live {
			t.Errorf("%d uploads are there, want those of %d runs under a hold and of up to %d live ones", n, held, live)
		}
	})
}

func TestKillsLeaveNoRunHalfDeleted(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, at string) {
		blobs, seed, kills := t.TempDir(), seedOf(t), killsOf(t, shortKills)
		t.Logf("repeat with VERIFYD_SOAK_SEED=%d", seed)
		rng := rand.New(rand.NewPCG(seed, 5))
		if err := engineEnds(t, forgetHost(t, at, blobs, taskMake)); err != nil {
			t.Fatal(err)
		}
		before := stored(t, at, blobs)
		killSome(t, at, blobs, taskRetain, kills, rng, 400*time.Millisecond)
		middle := stored(t, at, blobs)
		if err := engineEnds(t, forgetHost(t, at, blobs, taskDelete)); err != nil {
			t.Fatal(err)
		}
		after, held, live := stored(t, at, blobs), 0, 0
		for id, now := range after {
			switch {
			case strings.Contains(before[id], `"held"`):
				if held++; now != before[id] {
					t.Errorf("the run %s under a hold was\n%s\nand is\n%s", id, before[id], now)
				}
			case strings.Contains(now, `"completed"`):
				t.Errorf("the run %s is %s, want it deleted", id, now)
			default:
				if live++; now != middle[id] {
					t.Errorf("the live run %s was\n%s\nand is\n%s", id, middle[id], now)
				}
			}
		}
		t.Logf("%d kills: %d runs at the last one, %d live and %d under a hold afterwards", kills, len(middle), live, held)
		if held != forgetRuns/6 || len(middle) < held+live {
			t.Errorf("%d of %d runs are under a hold, want %d; %d of %d are left", held, len(before), forgetRuns/6, len(after), len(middle))
		}
		if n := uploadsIn(blobs); n < held || n > held+live {
			t.Errorf("%d uploads are there, want those of %d runs under a hold and of up to %d live ones", n, held, live)
		}
	})
}

func TestKillsLeaveNoHalfPersonsFile(t *testing.T) {
	t.Parallel()
	programs := t.TempDir()
	if err := process.Build(t.Context(), programs, "verifyctl"); err != nil {
		t.Fatal(err)
	}
	onBothStores(t, func(t *testing.T, at string) {
		blobs, out, seed, kills := t.TempDir(), t.TempDir(), seedOf(t), killsOf(t, shortKills)
		t.Logf("repeat with VERIFYD_SOAK_SEED=%d", seed)
		rng := rand.New(rand.NewPCG(seed, 6))
		flags := []string{"--database-url", at, "--blob-dir", blobs}
		if _, err := os.Stat(at); err == nil {
			folder := datadir.Folder(at)
			at, flags = folder.Journal(), []string{"--data-dir", string(folder), "--blob-dir", blobs}
			if err := os.Mkdir(at, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := engineEnds(t, forgetHost(t, at, blobs, taskMake)); err != nil {
			t.Fatal(err)
		}
		before, whole := stored(t, at, blobs), 0
		export := func(name string) *exec.Cmd {
			args := append([]string{"person", "export", "--tenant", tenant, "--reference", personal + "-1", "--out", name}, flags...)
			return exec.CommandContext(t.Context(), filepath.Join(programs, "verifyctl"), args...)
		}
		began := time.Now()
		if said, err := export(filepath.Join(out, "first.zip")).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		takes := time.Since(began)
		for n := range kills {
			name := filepath.Join(out, fmt.Sprintf("%d.zip", n))
			p, err := process.Start(export(name))
			if err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Duration(rng.Int64N(int64(takes) * 5 / 4)))
			_ = p.Cmd.Process.Kill()
			<-p.Ended()
			file, err := zip.OpenReader(name)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				continue
			case err != nil:
				t.Fatalf("the file of export %d: %v, want it whole or not there", n, err)
			}
			if whole++; len(file.File) < 5 {
				t.Errorf("the file of export %d has %d files", n, len(file.File))
			}
			_ = file.Close()
		}
		t.Logf("%d kills: %d files, each whole", kills, whole)
		if after := stored(t, at, blobs); !maps.Equal(after, before) {
			t.Error("the exports have changed runs")
		}
	})
}
