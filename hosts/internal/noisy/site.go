// A site: hosts, their store, and the receivers of webhooks.

package noisy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/verifyd/verifyd/adapters/client"
	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/hosts/internal/bench"
	"github.com/verifyd/verifyd/internal/rig/process"
	"github.com/verifyd/verifyd/verification"
)

// Store is the kind of store of the hosts.
type Store string

// The stores.
const (
	Memory   Store = "memory"   // one host
	Postgres Store = "postgres" // two hosts
)

// Stores lists all stores.
func Stores() []Store { return []Store{Memory, Postgres} }

// The limits of a host. The store in memory keeps everything, so its limit only
// protects the machine.
const (
	softLimit       = "800MiB" // GOMEMLIMIT
	maxPostgresData = 1 << 30
	maxMemoryData   = 3 << 30
)

// site is a number of hosts with two tenants.
type site struct {
	store     Store
	scale     Scale
	folder    string
	drop      func(ctx context.Context) error // removes the database
	hosts     []*process.Host
	receiver  *receiver
	deadEnd   *deadEnd
	bystander *bystander
	attacker  *attacker
	// definitions are the hostile ones that were published.
	definitions []Definition

	rss      atomic.Int64 // the largest resident memory of any host
	watching sync.WaitGroup
	stop     context.CancelFunc
	groups   []*client.Client // of the tenants with a group
}

// newSite starts hosts on an empty store, or on one with runs for the attack.
func (m *measurement) newSite(ctx context.Context, store Store, a attack) (s *site, err error) {
	s = &site{
		store: store, scale: m.Scale, receiver: newReceiver(), deadEnd: newDeadEnd(), drop: func(context.Context) error { return nil },
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close(ctx))
		}
	}()
	for _, d := range m.definitions {
		if d.Result == Accepted && (m.Scale.OneSite || a.name == "hostile definitions") {
			s.definitions = append(s.definitions, d)
		}
	}
	if s.folder, err = os.MkdirTemp(m.folder, "site-"); err != nil {
		return s, err
	}
	raw, err := json.Marshal(bootstrap(m.Scale.Cards, m.Scale.Groups, s.receiver.URL, s.deadEnd.URL, s.definitions))
	if err != nil {
		return s, err
	}
	file := filepath.Join(s.folder, "bootstrap.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		return s, err
	}
	options := process.HostOptions{Program: filepath.Join(m.folder, "verifyd"), MaxDataBytes: maxMemoryData, Env: []string{
		"GOMEMLIMIT=" + softLimit, "VERIFYD_ADDR=127.0.0.1:0", "VERIFYD_ADMIN_ADDR=127.0.0.1:0",
		"VERIFYD_BOOTSTRAP=" + file, "VERIFYD_ALLOW_PRIVATE_NETWORKS=true", "VERIFYD_LOG_LEVEL=warn",
	}}
	count := 1
	if store == Memory { // it keeps much, so it collects garbage earlier
		options.Env = append(options.Env, "GOGC=25", "VERIFYD_MEMORY=true")
	}
	if store == Postgres {
		database, err := m.newDatabase(ctx, s, a)
		if err != nil {
			return s, err
		}
		count = 2
		options.MaxDataBytes = maxPostgresData
		options.Env = append(options.Env, "VERIFYD_DATABASE_URL="+database, "VERIFYD_BLOB_DIR="+filepath.Join(s.folder, "documents"))
	}
	for n := range count {
		options.Name = fmt.Sprintf("host-%d", n+1)
		h, err := process.StartHost(options)
		if err != nil {
			return s, err
		}
		s.hosts = append(s.hosts, h)
	}
	bystanders, err := newClients(bystanderID, s.hosts)
	if err != nil {
		return s, err
	}
	attackers, err := newClients(attackerID, s.hosts)
	if err != nil {
		return s, err
	}
	for n := range m.Scale.Groups {
		clients, err := newClients(groupID(n), s.hosts)
		if err != nil {
			return s, err
		}
		s.groups = append(s.groups, clients[n%len(clients)])
	}
	s.bystander, s.attacker = &bystander{clients: bystanders, site: s}, &attacker{clients: attackers}
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	s.watching.Go(func() { s.watch(watching) })
	return s, nil
}

// newDatabase creates a database and fills it if the attack needs runs to skip.
func (m *measurement) newDatabase(ctx context.Context, s *site, a attack) (url string, err error) {
	server, err := m.database(ctx)
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("noisy_%d", m.sites.Add(1))
	if err := server.CreateDatabase(ctx, name, ""); err != nil {
		return "", err
	}
	s.drop = func(ctx context.Context) error { return server.DropDatabase(ctx, name) }
	url = server.URL(name)
	if !a.filled && !m.Scale.OneSite {
		return url, nil
	}
	if _, err := postgres.Migrate(ctx, url); err != nil {
		return "", err
	}
	store, err := postgres.Open(ctx, url, postgres.Options{})
	if err != nil {
		return "", err
	}
	defer store.Close()
	m.progress("  filling PostgreSQL with %d runs", m.Scale.FilledRuns)
	return url, bench.Fill(ctx, store, bench.FillOptions{
		Tenant: verification.TenantID(attackerTenant), Runs: m.Scale.FilledRuns, Now: time.Now(),
	})
}

// watch records the memory of the hosts, which cannot be read after a crash.
func (s *site) watch(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		for _, h := range s.hosts {
			if rss, err := h.MaxRSS(); err == nil {
				s.rss.Store(max(s.rss.Load(), rss))
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// crashes describes how hosts have crashed.
func (s *site) crashes() (all []string) {
	for _, h := range s.hosts {
		select {
		case <-h.Ended():
			all = append(all, fmt.Sprintf("%s ended: %s", h.Name, h.Log.Crash()))
		default:
		}
	}
	return all
}

// close stops everything that the site has started.
func (s *site) close(ctx context.Context) error {
	var err error
	if s.stop != nil {
		s.stop()
		s.watching.Wait()
	}
	for _, h := range s.hosts {
		err = errors.Join(err, h.Kill())
	}
	s.receiver.Close()
	s.deadEnd.Close()
	return errors.Join(err, s.drop(context.WithoutCancel(ctx)), os.RemoveAll(s.folder))
}
