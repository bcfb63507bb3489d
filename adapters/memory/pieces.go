// Pieces of work without their leases, which a journal of the store keeps.

package memory

import (
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// Piece is the state of a piece of work without its lease.
type Piece struct {
	Run verification.RunRef
	Key store.WorkKey
	// Due is when the work is due; zero if it is not in the queue. Leased work is due when
	// its lease ends.
	Due time.Time
	// Attempt, Lost and LeftAt are those of store.Work.
	Attempt, Lost int
	LeftAt        time.Time
	// Taken reports whether a host has the work: the next Take counts a lost lease.
	Taken bool
}

// Piece returns the state of a piece of work.
func (s *Store) Piece(run verification.RunRef, key store.WorkKey) Piece {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	state := Piece{Run: run, Key: key}
	if p := s.queue.pieces[pieceKey{key, run}]; p != nil {
		state.Due, state.Attempt, state.Lost, state.LeftAt, state.Taken = p.due, p.attempt, p.lost, p.left, p.leased
	}
	return state
}

// SetPiece changes the state of a piece of work, and removes the piece if it is never due.
// No lease of it is valid any more. SetPiece returns ErrNotFound if the piece is not in the
// queue.
func (s *Store) SetPiece(state Piece) error {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	p := s.queue.pieces[pieceKey{state.Key, state.Run}]
	if p == nil {
		return verification.NotFound("work")
	}
	if state.Due.IsZero() {
		s.queue.remove(p.pieceKey)
		return nil
	}
	p.attempt, p.lost, p.left, p.leased, p.lease = state.Attempt, state.Lost, state.LeftAt, state.Taken, ""
	s.queue.put(p, state.Due)
	return nil
}
