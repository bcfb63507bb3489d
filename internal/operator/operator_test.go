package operator_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/internal/datadir"
	"github.com/verifyd/verifyd/internal/operator"
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
