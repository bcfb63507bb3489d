// Pieces of work without their leases, which a journal of the store keeps.

package memstore

import (
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// Piece is the state of a piece of work without its lease.
type Piece struct {
	Run verification.RunRef
	Key store.WorkKey
	// Due is when the work is due; zero if it is not in the queue. Of leased work it is the time at
	// which it was taken: a piece is read after a restart, when the host with the lease is dead. Work
	// that has lost a lease before is due when its lease ends. Otherwise hosts that die one after the
	// other would lose five leases within seconds.
	Due time.Time
	// Attempt, Lost, Alone and LeftAt are those of store.Work.
	Attempt, Lost, Alone int
	LeftAt               time.Time
	// Taken reports whether a host has the work: the next Take counts a lost lease.
	Taken bool
}

// PieceOf returns the state of a piece of work.
func PieceOf(s *Store, run verification.RunRef, key store.WorkKey) Piece {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	if p := s.queue.pieces[pieceKey{key, run}]; p != nil {
		return p.state()
	}
	return Piece{Run: run, Key: key}
}

func (p *piece) state() Piece {
	due := p.due
	if p.leased {
		due = p.again
	}
	return Piece{p.run, p.WorkKey, due, p.attempt, p.lost, p.alone, p.left, p.leased}
}

// set changes everything but the due time.
func (p *piece) set(state Piece) {
	p.attempt, p.lost, p.alone, p.left = state.Attempt, state.Lost, state.Alone, state.LeftAt
	p.leased, p.again, p.lease = state.Taken, state.Due, ""
}

// SetPiece changes the state of a piece of work, and removes the piece if it is never due.
// No lease of it is valid any more. SetPiece returns ErrNotFound if the piece is not in the
// queue.
func SetPiece(s *Store, state Piece) error {
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
	p.set(state)
	s.queue.put(p, state.Due)
	return nil
}
