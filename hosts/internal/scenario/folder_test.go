// The conversations on a data folder, also with a host that restarts again and again.

package scenario_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/adapters/httpapi"
	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/hosts/internal/scenario"
	"github.com/verifyd/verifyd/internal/memory/journal"
	"github.com/verifyd/verifyd/internal/rig/openapitest"
)

func TestTheServiceOnAFolderKeepsToItsContract(t *testing.T) {
	converse(t, func(t testing.TB) scenario.Host { return newFolderHost(t) })
}

// Every second restart is a crash.
func TestARestartBeforeEachRequestChangesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("it restarts a host almost 900 times")
	}
	converse(t, func(t testing.TB) scenario.Host {
		f := newFolderHost(t)
		f.notifier.ids = true
		return &restarting{folderHost: f, t: t}
	})
}

// converse runs all conversations.
func converse(t *testing.T, host func(t testing.TB) scenario.Host) {
	t.Helper()
	contract, err := openapitest.NewContract(httpapi.OpenAPI())
	check(t, err)
	conversations, err := scenario.Conversations()
	check(t, err)
	(&scenario.Runner{Host: host, Contract: contract}).Run(t, conversations)
}

// folderHost is the service on a data folder.
type folderHost struct {
	*host
	folder  datadir.Folder
	opened  []io.Closer // the journal, and the documents
	service func(timeout time.Duration) error
}

func newFolderHost(t testing.TB) *folderHost {
	t.Helper()
	f := &folderHost{folder: datadir.Folder(t.TempDir())}
	raw, err := datadir.Keep(f.folder.SigningKeys(), cli.NewKeySet)
	check(t, err)
	keys, err := token.ReadKeys(raw)
	check(t, err)
	f.host = listen(t, keys)
	f.start(t)
	t.Cleanup(func() { check(t, f.stop(time.Minute)) })
	return f
}

// start opens the folder and serves it.
func (f *folderHost) start(t testing.TB) {
	t.Helper()
	store, err := journal.Open(t.Context(), f.folder.Journal(), journal.Options{})
	check(t, err)
	documents, err := blob.Folder(f.folder.Documents(), maxDocuments)
	check(t, err)
	f.opened = []io.Closer{store, documents}
	f.service = f.serve(t, store, documents)
}

// stop ends the service as SIGTERM does.
func (f *folderHost) stop(timeout time.Duration) error {
	return errors.Join(f.service(timeout), f.close())
}

// crash lets nothing reach the folder any more, and ends the service, which therefore can hand
// over nothing.
func (f *folderHost) crash() error {
	err := f.close()
	_ = f.service(0)
	return err
}

func (f *folderHost) close() (err error) {
	for _, c := range f.opened {
		err = errors.Join(err, c.Close())
	}
	return err
}

// restarting is a host that restarts before each request of a conversation, each advance of the clock,
// and the reads that compare all views of the runs. Work that an earlier request has begun is
// interrupted.
type restarting struct {
	*folderHost
	t     testing.TB
	crash bool // at the next restart
}

// Advance implements scenario.Host, whose client calls it before each request of a conversation.
func (r *restarting) Advance(ctx context.Context, d time.Duration) error {
	const patience = 20 * time.Millisecond // with work that sleeps until the clock is advanced
	var err error
	if r.crash {
		err = r.folderHost.crash()
	} else if err = r.stop(patience); errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	if err != nil {
		return err
	}
	r.crash = !r.crash
	r.start(r.t)
	return r.folderHost.Advance(ctx, d)
}
