// The hosts of a site by their places: who goes is replaced.

package soak_test

import (
	"math/rand/v2"
	"sync"
	"testing"
)

// fleet is what clients see of the hosts. A place is empty while its host is
// being replaced.
type fleet struct {
	site  *site
	roles []string

	mu    sync.Mutex
	hosts []*host
}

// newFleet starts a host for each of the roles; they end with the test.
func newFleet(t *testing.T, s *site, roles ...string) *fleet {
	t.Helper()
	f := &fleet{site: s, roles: roles, hosts: make([]*host, len(roles))}
	t.Cleanup(func() {
		for place := range f.hosts {
			if h := f.take(place); h != nil {
				retire(t, h)
			}
		}
	})
	var starting sync.WaitGroup
	for place := range roles {
		starting.Go(func() {
			if err := f.fill(place); err != nil {
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

// fill starts a host at a place.
func (f *fleet) fill(place int) error {
	h, err := f.site.start(f.roles[place])
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hosts[place] = h
	return nil
}

// at is the host at a place, or nil.
func (f *fleet) at(place int) *host {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hosts[place]
}

// take empties a place.
func (f *fleet) take(place int) *host {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := f.hosts[place]
	f.hosts[place] = nil
	return h
}

// any is one of the hosts that answer requests, or nil when there is none now.
func (f *fleet) any() *host {
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
