// Tests of what operators do with a host on a data folder.

package server_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/hosts/internal/datadir"
	"github.com/verifyd/verifyd/hosts/internal/operator"
	"github.com/verifyd/verifyd/hosts/verifyd/internal/demovendor"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// operate opens a data folder as operators do.
func operate(t *testing.T, folder datadir.Folder) operator.Data {
	t.Helper()
	d, err := operator.Open(t.Context(), folder, operator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() }) // most tests have closed it
	return d
}

// within fails the test if a host does not do something in a time.
func within(t *testing.T, d time.Duration, what string, done func() bool) {
	t.Helper()
	tick, timeout := time.NewTicker(20*time.Millisecond), time.After(d)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("the host has not done it within %s: it %s", d, what)
		}
	}
}

func TestOperatorsReachARunningHost(t *testing.T) {
	t.Parallel()
	folder := newFolder(t)
	h, s := startOn(t, folder, "127.0.0.1:0")
	d := operate(t, folder)
	hosts, err := d.Hosts(t.Context())
	if err != nil || len(hosts) != 1 || !hosts[0].Alive || "http://"+hosts[0].Address != s.api {
		t.Fatalf("Hosts = %+v, %v, want the host at %s", hosts, err, s.api)
	}
	facts, err := cli.ParseHostFacts(hosts[0].Facts)
	if err != nil || facts.SearchKey == "" || len(facts.Keys) != 1 || facts.PublicURL != s.api {
		t.Errorf("the facts are %+v, %v", facts, err)
	}
	run := s.run("POST", s.api+onboarding, `{"reference_id":"person-1"}`)
	tenants, err := d.RunTenants(t.Context(), verification.RunID(run.ID))
	if err != nil || len(tenants) != 1 {
		t.Fatalf("RunTenants = %v, %v, want the tenant of the demo", tenants, err)
	}
	account, err := store.Tables{RowStore: d}.Accounts(t.Context(), tenants[0])
	if err != nil || len(account) != 1 {
		t.Fatalf("Accounts = %v, %v, want the account of the demo", account, err)
	}
	account[0].Disabled = true
	if err := (store.Tables{RowStore: d}).SaveAccount(t.Context(), account[0]); err != nil {
		t.Fatal(err)
	}
	within(t, 5*time.Second, "refuses an account that an operator has disabled", func() bool {
		status, _, _ := s.call("GET", s.api+"/v1/runs/"+run.ID, "")
		return status == http.StatusForbidden
	})
	if err := h.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(folder.Socket()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after a stop the socket is still there: %v", err)
	}
	if hosts, err := operate(t, folder).Hosts(t.Context()); err != nil || len(hosts) != 0 {
		t.Errorf("Hosts of a folder without a host = %v, %v", hosts, err)
	}
}

func TestABackupOfAHostThatIsKilledMeanwhile(t *testing.T) {
	t.Parallel()
	folder := newFolder(t)
	h, s := startOn(t, folder, "127.0.0.1:0")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var accepted atomic.Int64
	var clients sync.WaitGroup
	for c := range 3 {
		clients.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if startsRun(ctx, s.api, fmt.Sprintf("person-%d-%d", c, n)) {
					accepted.Add(1)
				}
			}
		})
	}
	wait := func(n int64) {
		t.Helper()
		within(t, 30*time.Second, "accepts more runs", func() bool { return accepted.Load() >= n })
	}
	wait(50)
	before := int(accepted.Load())
	var complete bytes.Buffer
	if err := operate(t, folder).Backup(t.Context(), &complete); err != nil {
		t.Fatal(err)
	}
	wait(int64(before) + 20)
	upload := make([]byte, 16<<20) // more than what is under way to a reader
	_, _ = rand.Read(upload)       // never fails
	if err := os.WriteFile(filepath.Join(folder.Documents(), "upload"), upload, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := operate(t, folder).Backup(t.Context(), &killer{host: h}); err == nil {
		t.Error("the backup of a host that was killed meanwhile succeeded")
	}
	stop()
	clients.Wait()
	acknowledged := int(accepted.Load())

	restored := datadir.Folder(t.TempDir())
	unpack := exec.CommandContext(t.Context(), "tar", "-xzf", "-", "-C", string(restored))
	unpack.Stdin = &complete
	if out, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("tar: %v: %s", err, out)
	}
	for _, of := range []func(datadir.Folder) string{datadir.Folder.Erasures, func(f datadir.Folder) string { return f.Erasures() + ".end" }} {
		ledger, err := os.ReadFile(of(folder)) // as it is now: no backup has it
		if err == nil {
			err = os.WriteFile(of(restored), ledger, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for folder, least := range map[datadir.Folder]int{restored: before, folder: acknowledged} {
		r, err := operator.Check(t.Context(), folder)
		if err != nil || len(r.Damage) > 0 || r.Runs < least {
			t.Errorf("Check of %s = %+v, %v; want no damage and %d runs", folder, r, err, least)
		}
		startOn(t, folder, "127.0.0.1:0") // also where a dead process has left its socket
		d := operate(t, folder)
		if hosts, err := d.Hosts(t.Context()); err != nil || len(hosts) != 1 {
			t.Errorf("Hosts = %v, %v, want the new host", hosts, err)
		}
		page, err := d.List(t.Context(), demovendor.Tenant, store.RunQuery{PageQuery: store.PageQuery{Limit: 1}, Now: time.Now()})
		if err != nil || page.Total < least {
			t.Errorf("a host on %s has %d runs, %v; want %d", folder, page.Total, err, least)
		}
	}
}

// startsRun reports whether a host accepted a run.
func startsRun(ctx context.Context, api, reference string) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, api+onboarding, strings.NewReader(`{"reference_id":"`+reference+`"}`))
	if err != nil {
		return false
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("client-id", demovendor.ClientID)
	r.Header.Set("x-api-key", "demo-key-for-local-use-only")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusAccepted
}

// killer kills a host when it is written to.
type killer struct {
	io.Writer

	host interface{ Kill() error }
	once sync.Once
}

func (k *killer) Write(b []byte) (int, error) {
	var err error
	k.once.Do(func() { err = k.host.Kill() })
	return len(b), err
}
