// Limits the upload rate of each tenant, so that its uploads do not take the
// processor and the disk from others.

package journey

import (
	"context"
	"io"
	"sync"

	"golang.org/x/time/rate"

	"github.com/verifyd/verifyd/verification"
)

// The limit for all uploads of a tenant to this host: bytes per second, and the
// burst in bytes.
const (
	uploadRate  = 16 << 20
	uploadBurst = verification.MaxDocumentBytes
)

// uploadRates holds the rate of every tenant that is uploading now.
type uploadRates struct {
	mu      sync.Mutex
	tenants map[verification.TenantID]*uploadRateOf
}

type uploadRateOf struct {
	*rate.Limiter
	uploads int
}

// reader returns a reader of content at the rate of the tenant. Its reads fail
// once ctx ends. The caller calls done after the last read.
func (u *uploadRates) reader(ctx context.Context, t verification.TenantID, content io.Reader) (limited io.Reader, done func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.tenants == nil {
		u.tenants = map[verification.TenantID]*uploadRateOf{}
	}
	tenant := u.tenants[t]
	if tenant == nil {
		tenant = &uploadRateOf{Limiter: rate.NewLimiter(uploadRate, uploadBurst)}
		u.tenants[t] = tenant
	}
	tenant.uploads++
	return limitedReader{ctx, tenant.Limiter, content}, func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if tenant.uploads--; tenant.uploads == 0 {
			delete(u.tenants, t)
		}
	}
}

type limitedReader struct {
	ctx  context.Context
	rate *rate.Limiter
	from io.Reader
}

// Read implements io.Reader.
func (r limitedReader) Read(b []byte) (int, error) {
	n, err := r.from.Read(b[:min(len(b), uploadBurst)])
	if wait := r.rate.WaitN(r.ctx, n); wait != nil && err == nil {
		err = wait
	}
	return n, err
}
