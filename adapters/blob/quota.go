// Limits on the space that documents use.

package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"syscall"

	"github.com/verifyd/verifyd/verification"
)

// recordBytes is an estimate of the bytes that a document uses beside its content.
const recordBytes = 1 << 10

// quota counts the bytes of documents. A document that is being saved is counted
// while it is written, so concurrent uploads cannot exceed a limit together.
type quota struct {
	mu        sync.Mutex
	max       int64 // bytes of all tenants; 0 for no limit
	maxTenant int64 // bytes of one tenant; 0 for no limit
	used      int64 // bytes stored and reserved by all tenants
	tenants   map[string]*usage

	// part returns the part of what others leave that one tenant may use; nil for all of it.
	// left returns the bytes that the disk has left for documents; nil without one.
	part func(context.Context) float64
	left func() (int64, error)
}

// usage is what one tenant uses, in bytes.
type usage struct {
	stored   int64
	reserved int64 // by documents that are being saved
}

func newQuota(limit, tenant int64) *quota {
	return &quota{max: limit, maxTenant: tenant, tenants: map[string]*usage{}}
}

// tenant returns the usage of a tenant. The caller holds the lock.
func (q *quota) tenant(id string) *usage {
	u := q.tenants[id]
	if u == nil {
		u = &usage{}
		q.tenants[id] = u
	}
	return u
}

// set replaces the number of bytes that a tenant has stored.
func (q *quota) set(tenant string, stored int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	u := q.tenant(tenant)
	q.used += stored - u.stored
	u.stored = stored
}

// free subtracts a document that was removed.
func (q *quota) free(tenant string, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	u := q.tenant(tenant)
	bytes = min(bytes, u.stored)
	u.stored -= bytes
	q.used -= bytes
}

// share returns how many bytes a tenant that uses some may use: a part of what others leave.
func (q *quota) share(own int64, part float64) (bytes int64, limited bool) {
	left := q.max - q.used
	if q.left != nil {
		var err error
		if left, err = q.left(); err != nil { // the host says so
			return 0, false
		}
	}
	return int64(part * float64(own+max(0, left))), true
}

// reservation is the space of a document that is being saved.
type reservation struct {
	quota  *quota
	tenant string
	bytes  int64
	part   float64 // that the tenant may use of what others leave
}

// reserve reserves recordBytes for a document; its content needs more, see Write.
func (q *quota) reserve(ctx context.Context, tenant string) (*reservation, error) {
	r := &reservation{quota: q, tenant: tenant, part: 1}
	if q.part != nil {
		r.part = q.part(ctx)
	}
	return r, r.grow(recordBytes)
}

// Write reserves space for p, and stores nothing.
func (r *reservation) Write(p []byte) (int, error) {
	if err := r.grow(int64(len(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// grow reserves more space. It returns ErrUnavailable if a limit would be exceeded.
func (r *reservation) grow(bytes int64) error {
	q := r.quota
	q.mu.Lock()
	defer q.mu.Unlock()
	u := q.tenant(r.tenant)
	switch {
	case q.max > 0 && q.used+bytes > q.max:
		return full("the store of documents is full", nil)
	case q.maxTenant > 0 && u.stored+u.reserved+bytes > q.maxTenant:
		return full("the tenant has reached its limit for documents", nil)
	case r.part < 1:
		own := u.stored + u.reserved
		if share, limited := q.share(own, r.part); limited && own+bytes > share {
			return full("this tenant's share of the space for documents is full; other tenants go on",
				fmt.Errorf("tenant %s uses %d bytes, and its share is %d", r.tenant, own, share))
		}
	}
	q.used += bytes
	u.reserved += bytes
	r.bytes += bytes
	return nil
}

// commit counts the reserved space as stored.
func (r *reservation) commit() {
	r.quota.mu.Lock()
	defer r.quota.mu.Unlock()
	u := r.quota.tenant(r.tenant)
	u.reserved -= r.bytes
	u.stored += r.bytes
	r.bytes = 0
}

// release frees the reserved space unless it was committed.
func (r *reservation) release() {
	r.quota.mu.Lock()
	defer r.quota.mu.Unlock()
	r.quota.tenant(r.tenant).reserved -= r.bytes
	r.quota.used -= r.bytes
	r.bytes = 0
}

// copyContent copies content to w within a reservation, and returns d with its
// size and digest.
func copyContent(d verification.Document, content io.Reader, r *reservation, w io.Writer) (verification.Document, error) {
	digest := sha256.New()
	size, err := io.Copy(io.MultiWriter(r, digest, w), content)
	if err != nil {
		return verification.Document{}, err
	}
	d.Size, d.SHA256 = size, hex.EncodeToString(digest.Sum(nil))
	return d, nil
}

// tenantOf returns the first element of a document's path.
func tenantOf(name string) string {
	tenant, _, _ := strings.Cut(name, "/")
	return tenant
}

// diskFull returns ErrUnavailable if err says that the disk, a disk quota or the
// file size limit is exhausted. It returns any other error unchanged.
func diskFull(err error) error {
	for _, code := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if errors.Is(err, code) {
			return full("the disk is full", err)
		}
	}
	return err
}

func full(message string, cause error) error {
	return &verification.Error{Kind: verification.ErrUnavailable, Subject: "document", Message: message, Cause: cause}
}

// errExists is returned for the id of a stored document.
var errExists = verification.Conflict("document", "a document has that id")
