// How much the store keeps, by tenant.

package memstore

import (
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

// What one of each needs in the tables and lists of the store, in bytes, measured by
// TestKeptIsAboutWhatTheHeapHas.
const (
	sizeOfRun      = int(unsafe.Sizeof(record{})) + 350
	sizeOfKey      = int(unsafe.Sizeof(store.SearchKey{})) + 40
	sizeOfPiece    = int(unsafe.Sizeof(piece{})) + 150
	sizeOfRequest  = 600
	sizeOfDelivery = 1000
	sizeOfEntry    = int(unsafe.Sizeof(store.AuditEntry{})) + 100
	sizeOfBlock    = int(unsafe.Sizeof(AuditBlock{})) + 250
	sizeOfScreened = 250
	sizeOfMeasure  = 350
	sizeOfDay      = 40
)

// counts has how many bytes of memory the tenants need, about.
type counts struct {
	all     atomic.Int64
	trails  atomic.Int64 // of all, the entries of the audit trail
	tenants sync.Map     // of *count, by tenant
}

// count is what one tenant needs, and how much of it was refused.
type count struct {
	bytes, refused atomic.Int64
	trail          atomic.Int64 // of bytes, the entries of the audit trail
	blocks         atomic.Int64 // what the audit trail needs on disk
}

// add adds bytes to what a tenant needs.
func (c *counts) add(t verification.TenantID, bytes int) { c.addTo(c.of(t), bytes) }

// addTo is add for a tenant whose count is at hand.
func (c *counts) addTo(t *count, bytes int) {
	if bytes != 0 {
		c.all.Add(int64(bytes))
		t.bytes.Add(int64(bytes))
	}
}

func (c *counts) of(t verification.TenantID) *count {
	found, ok := c.tenants.Load(t)
	if !ok {
		found, _ = c.tenants.LoadOrStore(t, &count{})
	}
	return found.(*count) //nolint:errcheck,forcetypeassert // it has no others
}

// count counts what a run needs now.
func (s *Store) count(d *tenantData, r *record) {
	before := r.counted
	r.counted = sizeOfRun + r.history.size + len(r.keys)*sizeOfKey + len(r.screened)*sizeOfScreened + sizeOfSummary(r.summary)
	s.kept.addTo(d.kept, r.counted-before)
}

// sizeOfSummary returns about how many bytes a summary refers to. It has other texts than the
// events once it was restored.
func sizeOfSummary(s rules.Summary) int {
	n := len(s.ReferenceID) + len(s.Signal)
	if s.Review != nil {
		n += int(unsafe.Sizeof(*s.Review)) + behind(reflect.ValueOf(s.Review).Elem())
	}
	return n
}

// size returns about how many bytes the events need.
func size(events []rules.Event) int {
	n := len(events) * int(unsafe.Sizeof(rules.Event{}))
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
