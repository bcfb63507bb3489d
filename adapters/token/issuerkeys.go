// What is known of an issuer's keys: when they are fetched, and how long they are kept.

package token

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/verifyd/verifyd/verification"
)

const (
	minFresh   = 5 * time.Minute // however short a max-age is
	usualFresh = time.Hour       // without a max-age
	maxFresh   = 24 * time.Hour  // however long a max-age is
	maxStale   = 24 * time.Hour  // that keys are kept beyond that, while the issuer does not answer
	fetchEvery = time.Minute     // at most, whatever the tokens and the answers
)

// issuerKeys keep an issuer's keys. They are fetched by one goroutine at a time,
// which ends with its fetch; whoever needs the keys meanwhile waits for it.
type issuerKeys struct {
	source  *keySource
	now     func() time.Time
	observe func(keys int, err error)
	life    context.Context // ends with close
	end     context.CancelFunc
	fetches sync.WaitGroup

	mu         sync.Mutex
	known      publicKeys
	freshUntil time.Time     // zero before the first answer
	tried      time.Time     // when the last fetch began
	failure    error         // why the last fetch failed; nil if it did not
	flight     chan struct{} // closed when the fetch under way has ended; nil without one
}

func newIssuerKeys(o OIDCOptions) *issuerKeys {
	s := &issuerKeys{source: newKeySource(o), now: o.Now, observe: o.Observe}
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// find finds the key of a token, and fetches the keys if it is not there.
func (s *issuerKeys) find(ctx context.Context, kid string) (publicKey, error) {
	k, fetch, err := s.look(kid, true)
	if fetch == nil {
		return k, err
	}
	select {
	case <-fetch:
		k, _, err = s.look(kid, false)
		return k, err
	case <-ctx.Done():
		return publicKey{}, unavailable(ctx.Err())
	}
}

// look answers from what is known, or with a fetch to wait for. One is begun
// where keys are wanting or no longer fresh and none was begun in the last
// minute. Nobody waits for the next one after a failure while the key is known.
func (s *issuerKeys) look(kid string, wait bool) (k publicKey, fetch <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	usable := now.Before(s.freshUntil.Add(maxStale))
	found := false
	if usable {
		k, found = s.known.find(kid)
	}
	if now.Before(s.freshUntil) && (found || kid == "") {
		return answer(k, found)
	}
	if wait {
		s.begin(now)
		if s.flight != nil && (!found || s.failure == nil) {
			return publicKey{}, s.flight, nil
		}
	}
	// A token that may be good is not called wrong.
	if !usable || !found && s.failure != nil {
		return publicKey{}, nil, unavailable(s.failure)
	}
	return answer(k, found)
}

func answer(k publicKey, found bool) (publicKey, <-chan struct{}, error) {
	if !found {
		return publicKey{}, nil, refused("it was not issued by this issuer", errors.New("its key is not known"))
	}
	return k, nil, nil
}

// begin begins a fetch, unless one is under way or was begun a moment ago. It is
// called with mu held.
func (s *issuerKeys) begin(now time.Time) {
	if s.flight != nil || s.life.Err() != nil || !s.tried.IsZero() && now.Sub(s.tried) < fetchEvery {
		return
	}
	s.tried, s.flight = now, make(chan struct{})
	s.fetches.Go(func() { s.fetch(now) })
}

func (s *issuerKeys) fetch(now time.Time) {
	keys, fresh, err := s.source.fetch(s.life, now)
	s.mu.Lock()
	ended := s.flight
	s.failure, s.flight = err, nil
	if err == nil {
		s.known, s.freshUntil = keys, now.Add(fresh)
	}
	s.mu.Unlock()
	s.observe(len(keys), err)
	close(ended)
}

func (s *issuerKeys) close() {
	s.mu.Lock()
	s.end()
	s.mu.Unlock()
	s.fetches.Wait()
}

func unavailable(cause error) error {
	return &verification.Error{
		Kind: verification.ErrUnavailable, Subject: "bearer token",
		Message: "the keys of its issuer cannot be had now", Cause: cause,
	}
}
