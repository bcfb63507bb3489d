// Records of snapshots: what the store has, and not what changed it.

package journal

import (
	"context"
	"errors"
	"iter"

	"github.com/verifyd/verifyd/internal/memory/memstore"
)

// entry is a record with its kind.
type entry struct {
	kind   kind
	record record
	wrote  func(offset int64, size int) // gets the place of the frame once it is written; nil calls nothing
}

// entries returns the records of a snapshot without the first and the last.
func entries(d *memstore.Dump, partBytes int, moved *movedAudit) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		for e, err := range moved.entries(d) {
			if !yield(e, err) || err != nil {
				return
			}
		}
		for r := range d.Records() {
			for e, err := range entriesOf(r, partBytes) {
				if !yield(e, err) {
					return
				}
			}
		}
		for r := range d.Runs() {
			for e, err := range entriesOfRun(r, partBytes) {
				if !yield(e, err) {
					return
				}
			}
		}
	}
}

// snapshotBegun begins a snapshot.
type snapshotBegun struct {
	Segments int      `json:"segments"` // up to which segment the snapshot replaces them
	After    position `json:"after"`    // the end of that segment
	Level    int      `json:"level"`    // of the journal; 0 is 1
}

// completed ends a snapshot.
type completed struct {
	Records int `json:"records"` // of the whole snapshot
}

// order checks that the records of the snapshot that replaces the segments up to a number are
// complete and in order.
type order struct {
	number   int
	trail    *trail
	records  int // so far
	sum      sum // their running checksum
	whole    whole
	complete bool
}

// next reports whether the next record, which is in a frame, is to be restored.
func (o *order) next(f frame, r record) (restore bool, err error) {
	o.records++
	head, isHead := r.(snapshotBegun)
	end, isEnd := r.(completed)
	follows := f.previous == o.sum
	o.sum = follow(f.previous, f.checksum)
	if err := o.whole.next(r); err != nil {
		return false, err
	}
	switch {
	case o.complete:
		return false, errPosition
	case o.records == 1 && (!isHead || head.Segments != o.number):
		return false, errors.New("it does not begin this snapshot")
	case o.records == 1:
		return false, o.trail.snapshot(head, o.number)
	case !follows:
		return false, errChain
	case isEnd && end.Records == o.records:
		o.complete = true
		return false, nil
	}
	return true, nil
}

// errNoEnd is why a snapshot that is not complete cannot be used.
var errNoEnd = errors.New("the end is missing")

var errPosition = errors.New("only the first and the last record of a snapshot may have its kind")

func (snapshotBegun) apply(context.Context, *memstore.Store) error { return errPosition }
func (completed) apply(context.Context, *memstore.Store) error     { return errPosition }
