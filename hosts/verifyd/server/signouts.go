// Reviewers who were signed out.

package server

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/verifyd/verifyd/hosts/internal/pgadmin"
	"github.com/verifyd/verifyd/verification"
)

const (
	// signOutsFor is how long a host may use what it has read.
	signOutsFor    = time.Second
	signOutTimeout = 5 * time.Second
)

// signOuts are the reviewers who were signed out, as they were read last.
type signOuts struct {
	read func(context.Context) ([]pgadmin.SignOut, error) // nil for a host that keeps nothing

	mu      sync.Mutex
	at      time.Time
	all     []pgadmin.SignOut
	changes uint64
}

// signOuts returns the reviewers who were signed out, by the store.
func (h *host) signOuts() *signOuts {
	switch {
	case h.storage.database != nil:
		return &signOuts{read: pgadmin.Of(h.storage.database).SignOuts}
	case h.operators != nil:
		return &signOuts{read: h.operators.SignOuts}
	}
	return &signOuts{}
}

// refuse returns ErrUnauthenticated if a reviewer was signed out after a token was issued, and the error of the store if
// that is not known.
func (s *signOuts) refuse(r verification.Reviewer, issued time.Time) error {
	if s.read == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refreshLocked(); err != nil {
		return err
	}
	if slices.ContainsFunc(s.all, func(out pgadmin.SignOut) bool { return out.Hides(r, issued) }) {
		return &verification.Error{Kind: verification.ErrUnauthenticated, Subject: "bearer token", Message: "the reviewer was signed out since: sign in again"}
	}
	return nil
}

// generation returns another number once somebody was signed out, and at each call while that is not known: then what
// was verified before is verified again.
func (s *signOuts) generation() uint64 {
	if s.read == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refreshLocked(); err != nil {
		s.changes++
	}
	return s.changes
}

func (s *signOuts) refreshLocked() error {
	now := time.Now()
	if now.Sub(s.at) < signOutsFor {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), signOutTimeout)
	defer cancel()
	all, err := s.read(ctx)
	if err != nil {
		return err
	}
	if !slices.Equal(all, s.all) {
		s.changes++
	}
	s.at, s.all = now, all
	return nil
}
