// How much the store keeps.

package memory

import (
	"reflect"
	"unsafe"

	"github.com/verifyd/verifyd/verification"
)

// What one of each needs in the tables and lists of the store, in bytes.
const (
	sizeOfRun      = int(unsafe.Sizeof(record{})) + 600
	sizeOfPiece    = int(unsafe.Sizeof(piece{})) + 150
	sizeOfRequest  = 700
	sizeOfDelivery = 700
)

// Kept returns about how many bytes of memory the runs, their work, their deliveries and the
// idempotency keys need. The garbage collector needs some more.
func (s *Store) Kept() int64 {
	s.queue.mu.Lock()
	pieces := len(s.queue.pieces)
	s.queue.mu.Unlock()
	return s.kept.Load() + int64(pieces*sizeOfPiece+s.keys.len()*sizeOfRequest+s.deliveries.len()*sizeOfDelivery)
}

// len returns the number of rows.
func (t *table[K, V]) len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.rows)
}

// Limit makes the store refuse new runs with ErrUnavailable while it keeps as many bytes, see
// Kept. Runs that exist go on. 0 means no limit.
func (s *Store) Limit(bytes int64) { s.limit.Store(bytes) }

// Refused returns the number of runs that the store has refused because of the limit.
func (s *Store) Refused() int64 { return s.refused.Load() }

// full returns why no run can be added; nil if one can.
func (s *Store) full() error {
	if limit := s.limit.Load(); limit == 0 || s.Kept() < limit {
		return nil
	}
	s.refused.Add(1)
	return verification.Unavailable("store", "the service has no memory left for new runs; runs that have started go on")
}

// sizeOf returns about how many bytes a run needs; 0 for none.
func sizeOf(r *record) int {
	if r == nil {
		return 0
	}
	return sizeOfRun + r.history.size
}

// size returns about how many bytes the events need.
func size(events []verification.Event) int {
	n := len(events) * int(unsafe.Sizeof(verification.Event{}))
	for _, e := range events {
		fact := reflect.ValueOf(e.Fact)
		n += int(fact.Type().Size()) + behind(fact)
	}
	return n
}

// behind returns about how many bytes a value refers to.
func behind(v reflect.Value) (n int) {
	switch v.Kind() {
	case reflect.String:
		return v.Len()
	case reflect.Slice:
		n = v.Len() * int(v.Type().Elem().Size())
		if isPlain(v.Type().Elem().Kind()) {
			return n
		}
		for i := range v.Len() {
			n += behind(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			n += behind(v.Field(i))
		}
	case reflect.Map:
		for i := v.MapRange(); i.Next(); {
			n += 2*int(v.Type().Key().Size()+v.Type().Elem().Size()) + behind(i.Key()) + behind(i.Value())
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			n = int(v.Elem().Type().Size()) + behind(v.Elem())
		}
	}
	return n
}

// isPlain reports whether values of a kind refer to nothing.
func isPlain(k reflect.Kind) bool { return k >= reflect.Bool && k <= reflect.Complex128 }
