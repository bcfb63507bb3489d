package operator_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/hosts/internal/operator"
	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// served serves ports on the socket of a folder until the test ends.
func served(t *testing.T, folder datadir.Folder, p operator.Ports) {
	t.Helper()
	stop, err := operator.ServePorts(context.WithoutCancel(t.Context()), folder, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
}

// onlyStore is a store without the other calls of operators.
type onlyStore struct {
	*memory.Store
	operator.Others
}

func TestNothingGetsLostOnTheSocket(t *testing.T) {
	storetest.All(t, func(t *testing.T) store.Store {
		folder := datadir.Folder(t.TempDir())
		served(t, folder, onlyStore{Store: memory.New()})
		c := operator.NewClient(folder)
		t.Cleanup(func() { _ = c.Close() })
		return c
	})
}

func TestTheSocketIsOnlyForTheUserOfTheHost(t *testing.T) {
	long := filepath.Join(t.TempDir(), "a-folder-with-a-name-that-is-far-too-long-for-the-address-of-a-socket-of-any-system-there-is")
	if err := os.Mkdir(long, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []datadir.Folder{datadir.Folder(t.TempDir()), datadir.Folder(long)} {
		served(t, folder, onlyStore{Store: memory.New()})
		c := operator.NewClient(folder)
		if _, err := c.Tenants(t.Context()); err != nil {
			t.Error(err)
		}
		info, err := os.Stat(folder.Socket())
		if err != nil {
			t.Fatal(err)
		}
		if got, want := info.Mode(), os.ModeSocket|0o600; got != want {
			t.Errorf("the mode of the socket is %v, want %v", got, want)
		}
		_ = c.Close()
	}
}

// answering is a store whose Rows answers with an error, or waits for the end of its context.
type answering struct {
	onlyStore

	err   error
	ended chan struct{}
}

func (a answering) Rows(ctx context.Context, _ store.RowQuery) (none store.Page[store.Record], err error) {
	if a.err != nil {
		return none, a.err
	}
	<-ctx.Done()
	close(a.ended)
	return none, ctx.Err()
}

func TestErrorsKeepAllThatTheySay(t *testing.T) {
	for _, want := range []*verification.Error{
		verification.NotFound("run"),
		verification.Conflict("workflow", "another request has changed it"),
		{
			Kind: verification.ErrInvalid, Subject: "definition",
			Fields: []verification.FieldError{{Name: "nodes.a", Message: "is missing", Character: 7}, {Name: "b", Message: "<&>"}},
		},
		{Kind: verification.ErrUnavailable, Subject: "store", Cause: errors.New("no space left on device")},
	} {
		folder := datadir.Folder(t.TempDir())
		served(t, folder, answering{err: want})
		c := operator.NewClient(folder)
		_, err := c.Tenants(t.Context())
		_ = c.Close()
		got, ok := errors.AsType[*verification.Error](err)
		if !ok {
			t.Errorf("Tenants = %v, want a verification.Error", err)
			continue
		}
		if want.Cause != nil && (got.Cause == nil || got.Cause.Error() != want.Cause.Error()) {
			t.Errorf("the cause is %v, want %v", got.Cause, want.Cause)
		}
		if !errors.Is(got, want.Kind) || got.Error() != want.Error() || !cmp.Equal(got.Fields, want.Fields) {
			t.Errorf("Tenants = %+v, want %+v", got, want)
		}
	}
	folder := datadir.Folder(t.TempDir())
	served(t, folder, answering{err: io.ErrUnexpectedEOF})
	c := operator.NewClient(folder)
	defer func() { _ = c.Close() }()
	if _, err := c.Tenants(t.Context()); err == nil || err.Error() != io.ErrUnexpectedEOF.Error() {
		t.Errorf("Tenants = %v, want the text of an internal error", err)
	}
}

func TestACallEndsWhenItsCallerHasGone(t *testing.T) {
	folder, ended := datadir.Folder(t.TempDir()), make(chan struct{})
	served(t, folder, answering{ended: ended})
	c := operator.NewClient(folder)
	defer func() { _ = c.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Tenants(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Tenants = %v, want DeadlineExceeded", err)
	}
	<-ended
}

func TestABackupThatFailsIsNoticed(t *testing.T) {
	folder := datadir.Folder(t.TempDir())
	served(t, folder, onlyStore{Store: memory.New()})
	c := operator.NewClient(folder)
	defer func() { _ = c.Close() }()
	var got strings.Builder
	if err := c.Backup(t.Context(), &got); err == nil || !strings.Contains(err.Error(), "the backup is incomplete") {
		t.Errorf("Backup = %v after %d bytes, want an error", err, got.Len())
	}
}

func TestAnOperatorsWorkWakesTheHost(t *testing.T) {
	_, held, documents, _ := started(t)
	if hosts, err := held.Hosts(t.Context()); err != nil || len(hosts) != 0 {
		t.Errorf("Hosts = %v, %v, want none", hosts, err)
	}
	woken := 0
	hosted := operator.Hold("", held.Store, operator.Host{
		Describe: func(context.Context) pgadmin.Host { return pgadmin.Host{Alive: true} },
		Wake:     func() { woken++ },
	})
	if err := startRun(t.Context(), hosted, documents, 1); err != nil {
		t.Fatal(err)
	}
	if err := hosted.Release(t.Context(), nil, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if woken != 2 {
		t.Errorf("the host was woken %d times, want twice", woken)
	}
	if hosts, err := hosted.Hosts(t.Context()); err != nil || len(hosts) != 1 || !hosts[0].Alive {
		t.Errorf("Hosts = %v, %v, want one that is alive", hosts, err)
	}
}

func TestBadRequestsAreRefused(t *testing.T) {
	folder := datadir.Folder(t.TempDir())
	served(t, folder, onlyStore{Store: memory.New()})
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", folder.Socket())
	}}
	defer transport.CloseIdleConnections()
	for _, tt := range []struct {
		path, body string
		want       int
	}{
		{"Rows", `[{"Kind": "tenants"}]`, http.StatusOK},
		{"Rows", "", http.StatusBadRequest},
		{"Rows", `[{"Kind": 1}]`, http.StatusBadRequest},
		{"Row", "[]", http.StatusBadRequest},
		{"Change", `[[{"tenants": {"Tenant": {"Unknown": 1}}}]]`, http.StatusBadRequest},
		{"Nothing", "[]", http.StatusNotFound},
		{"Row", `["tenants", "` + strings.Repeat("x", 64<<20) + `"]`, http.StatusRequestEntityTooLarge},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://host/call/"+tt.path, strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		response, err := transport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != tt.want {
			t.Errorf("%s %.20s = %d, want %d", tt.path, tt.body, response.StatusCode, tt.want)
		}
	}
}

func TestASocketOfADeadProcessIsReplaced(t *testing.T) {
	folder := datadir.Folder(t.TempDir())
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: folder.Socket(), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	_ = l.Close()
	served(t, folder, onlyStore{Store: memory.New()})
	c := operator.NewClient(folder)
	defer func() { _ = c.Close() }()
	if _, err := c.Tenants(t.Context()); err != nil {
		t.Error(err)
	}
	other := datadir.Folder(t.TempDir())
	if err := os.WriteFile(other.Socket(), []byte("no socket"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := operator.ServePorts(t.Context(), other, onlyStore{}); err == nil {
		t.Error("Serve replaced a file that is no socket")
	}
}

func TestAFolderOfAnotherUserIsNotOpened(t *testing.T) {
	folder, held, _, stop := started(t)
	stop()
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	const other = 54321
	if err := os.Chown(folder.Journal(), other, other); err != nil {
		t.Skipf("only root can give a folder to another user: %v", err)
	}
	if _, err := operator.Open(t.Context(), folder, operator.Options{}); err == nil || !strings.Contains(err.Error(), "belongs to the user with the id 54321") {
		t.Errorf("Open = %v, want the owner of the folder", err)
	}
	if _, err := operator.Repair(t.Context(), folder, time.Time{}, true); err == nil || !strings.Contains(err.Error(), "belongs to the user with the id 54321") {
		t.Errorf("Repair = %v, want the owner of the folder", err)
	}
}
