// How much the documents of a store, and of one tenant, may take.

package blob

import (
	"sync"

	"github.com/verifyd/verifyd/verification"
)

// recordBytes is about what a document takes beside its content.
const recordBytes = 1 << 10

// quota counts the bytes of documents. Those on their way are counted as they
// come in, so that no number of concurrent uploads exceeds a limit.
type quota struct {
	mu        sync.Mutex
	max       int64 // in all; 0 for no limit
	maxTenant int64 // of one tenant; 0 for no limit
	used      int64
	tenants   map[string]*usage
}

// usage is what one tenant holds, in bytes.
type usage struct {
	kept     int64 // of documents that are kept
	reserved int64 // of documents on their way
}

func newQuota(limit, tenant int64) *quota {
	return &quota{max: limit, maxTenant: tenant, tenants: map[string]*usage{}}
}

// tenant returns the usage of a tenant; the caller holds the lock.
func (q *quota) tenant(id string) *usage {
	u := q.tenants[id]
	if u == nil {
		u = &usage{}
		q.tenants[id] = u
	}
	return u
}

// set replaces what is counted of a tenant's kept documents.
func (q *quota) set(tenant string, kept int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	u := q.tenant(tenant)
	q.used += kept - u.kept
	u.kept = kept
}

// free gives back what a document took that was removed.
func (q *quota) free(tenant string, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	u := q.tenant(tenant)
	bytes = min(bytes, u.kept)
	u.kept -= bytes
	q.used -= bytes
}

// reservation is the room of one document on its way.
type reservation struct {
	quota  *quota
	tenant string
	bytes  int64
}

// reserve takes room for the record of a document.
func (q *quota) reserve(tenant string) (*reservation, error) {
	r := &reservation{quota: q, tenant: tenant}
	return r, r.grow(recordBytes)
}

// grow takes more room; ErrUnavailable when there is none.
func (r *reservation) grow(bytes int64) error {
	q := r.quota
	q.mu.Lock()
	defer q.mu.Unlock()
	u := q.tenant(r.tenant)
	switch {
	case q.max > 0 && q.used+bytes > q.max:
		return full("there is no room for more documents", nil)
	case q.maxTenant > 0 && u.kept+u.reserved+bytes > q.maxTenant:
		return full("the tenant holds as many bytes of documents as one may", nil)
	}
	q.used += bytes
	u.reserved += bytes
	r.bytes += bytes
	return nil
}

// keep makes the reservation part of what the tenant holds.
func (r *reservation) keep() {
	r.quota.mu.Lock()
	defer r.quota.mu.Unlock()
	u := r.quota.tenant(r.tenant)
	u.reserved -= r.bytes
	u.kept += r.bytes
	r.bytes = 0
}

// release gives back what was reserved and not kept.
func (r *reservation) release() {
	r.quota.mu.Lock()
	defer r.quota.mu.Unlock()
	r.quota.tenant(r.tenant).reserved -= r.bytes
	r.quota.used -= r.bytes
	r.bytes = 0
}

// full is the error of a store that cannot take a document for want of room.
func full(message string, cause error) error {
	return &verification.Error{Kind: verification.ErrUnavailable, Subject: "document", Message: message, Cause: cause}
}
