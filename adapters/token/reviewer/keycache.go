// The cache of an OpenID Connect issuer's keys.

package reviewer

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	minFresh     = 5 * time.Minute // even if the max-age is shorter
	defaultFresh = time.Hour       // without a max-age
	maxFresh     = 24 * time.Hour  // even if the max-age is longer
	maxStale     = 24 * time.Hour  // for which expired keys are used while no fetch succeeds
	fetchEvery   = time.Minute     // the shortest time between the starts of two fetches
)

// keyCache caches an issuer's keys by the caller's clock. It does not use jwk.Cache,
// which refreshes on the wall clock even when no token is verified, and uses expired
// keys indefinitely. See decision 25.
type keyCache struct {
	source  *keySource
	now     func() time.Time
	observe func(keys int, err error)
	ctx     context.Context // of the fetches; close cancels it
	cancel  context.CancelFunc
	fetches sync.WaitGroup

	mu         sync.Mutex
	keys       publicKeys
	freshUntil time.Time     // zero before the first successful fetch
	fetchedAt  time.Time     // when the latest fetch began
	err        error         // of the latest fetch
	fetching   chan struct{} // closed at the end of the fetch in progress; nil without one
}

func newKeyCache(o OIDCOptions) *keyCache {
	c := &keyCache{source: newKeySource(o), now: o.Now, observe: o.Observe}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// find returns the key for a kid, and fetches the keys if it has to.
func (c *keyCache) find(ctx context.Context, kid string) (publicKey, error) {
	k, fetch, err := c.lookup(kid, true)
	if fetch == nil {
		return k, err
	}
	select {
	case <-fetch:
		k, _, err = c.lookup(kid, false)
		return k, err
	case <-ctx.Done():
		return publicKey{}, unavailable(ctx.Err())
	}
}

// lookup returns a key of the cache, or a channel that is closed at the end of the
// fetch that the caller has to wait for. With mayFetch, it starts a fetch if the key is
// missing or the keys have expired. If the last fetch failed, a caller whose key is
// cached does not wait for the next one.
func (c *keyCache) lookup(kid string, mayFetch bool) (k publicKey, fetch <-chan struct{}, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	usable, found := now.Before(c.freshUntil.Add(maxStale)), false
	if usable {
		k, found = c.keys.find(kid)
	}
	complete := now.Before(c.freshUntil) && (found || kid == "")
	if !complete && mayFetch {
		c.startFetch(now)
		if c.fetching != nil && (!found || c.err == nil) {
			return publicKey{}, c.fetching, nil
		}
	}
	switch {
	case found:
		return k, nil, nil
	case !usable || !complete && c.err != nil: // the token may be valid
		return publicKey{}, nil, unavailable(c.err)
	}
	return publicKey{}, nil, refused(notOfIssuer, errors.New("its key is unknown"))
}

// startFetch starts a fetch, unless one is in progress or began less than a
// minute ago. The caller holds mu.
func (c *keyCache) startFetch(now time.Time) {
	if c.fetching != nil || c.ctx.Err() != nil || !c.fetchedAt.IsZero() && now.Sub(c.fetchedAt) < fetchEvery {
		return
	}
	c.fetchedAt, c.fetching = now, make(chan struct{})
	c.fetches.Go(func() {
		keys, fresh, err := c.source.fetch(c.ctx, now)
		c.mu.Lock()
		ended := c.fetching
		c.err, c.fetching = err, nil
		if err == nil {
			c.keys, c.freshUntil = keys, now.Add(fresh)
		}
		c.mu.Unlock()
		c.observe(len(keys), err)
		close(ended)
	})
}

func (c *keyCache) close() {
	c.mu.Lock()
	c.cancel()
	c.mu.Unlock()
	c.fetches.Wait()
}
