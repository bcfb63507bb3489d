// The hosts of a site: a host that stops is replaced.

package soak_test

import (
	"math/rand/v2"
	"sync"
	"testing"
)

// cluster is the hosts as clients see them. A slot is empty while its host is being
// replaced.
type cluster struct {
	site    *site
	roles   []string
	lacking int // the slot whose hosts lack a list; -1 for none

	mu    sync.Mutex
	hosts []*host
}

// newCluster starts a host for each role; they are killed with the test. The hosts in the
// slot lacking have another bootstrap file.
func newCluster(t *testing.T, s *site, lacking int, roles ...string) *cluster {
	t.Helper()
	f := &cluster{site: s, roles: roles, lacking: lacking, hosts: make([]*host, len(roles))}
	t.Cleanup(func() {
		for slot := range f.hosts {
			if h := f.take(slot); h != nil {
				retire(t, h)
			}
		}
	})
	var starting sync.WaitGroup
	for slot := range roles {
		starting.Go(func() {
			if err := f.fill(slot); err != nil {
				t.Error(err)
			}
		})
	}
	starting.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return f
}

// fill starts a host in a slot.
func (f *cluster) fill(slot int) error {
	var env []string
	if slot == f.lacking {
		env = append(env, "VERIFYD_BOOTSTRAP="+f.site.lesser)
	}
	h, err := f.site.start(f.roles[slot], env...)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hosts[slot] = h
	return nil
}

// at returns the host in a slot, or nil.
func (f *cluster) at(slot int) *host {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hosts[slot]
}

// take empties a slot and returns its host.
func (f *cluster) take(slot int) *host {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := f.hosts[slot]
	f.hosts[slot] = nil
	return h
}

// any returns one of the hosts that serve requests, or nil if there is none.
func (f *cluster) any() *host {
	f.mu.Lock()
	defer f.mu.Unlock()
	var serving []*host
	for _, h := range f.hosts {
		if h != nil && h.API != "" {
			serving = append(serving, h)
		}
	}
	if len(serving) == 0 {
		return nil
	}
	return serving[rand.IntN(len(serving))]
}
