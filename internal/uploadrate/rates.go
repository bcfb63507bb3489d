// Package uploadrate limits the upload rate of each tenant, so that its uploads do not
// take the processor and the disk from others. All uploads to a host share one limit,
// whether they come from the journey pages or the API.
package uploadrate

import (
	"context"
	"io"
	"sync"

	"golang.org/x/time/rate"

	"github.com/verifyd/verifyd/internal/lru"
	"github.com/verifyd/verifyd/verification"
)

// The limit for all uploads of a tenant to this host: bytes per second, and the
// burst in bytes.
const (
	uploadRate  = 16 << 20
	uploadBurst = verification.MaxDocumentBytes
)

// maxRates is the number of tenants whose rates are remembered. More tenants than
// that do not upload to one host at the same time.
const maxRates = 10_000

// Rates holds the upload rates of the tenants. It is safe for concurrent use.
type Rates struct {
	mu      sync.Mutex // held from Get to Put
	tenants *lru.Cache[verification.TenantID, *rate.Limiter]
}

// New returns the rates of a host: 16 MiB/s for each tenant, after 10 MiB at once.
func New() *Rates {
	return &Rates{tenants: lru.New[verification.TenantID](maxRates, 1, func(*rate.Limiter) int { return 1 })}
}

// Reader returns a reader of content at the rate of the tenant. Its reads fail
// once ctx ends.
func (u *Rates) Reader(ctx context.Context, t verification.TenantID, content io.Reader) io.Reader {
	u.mu.Lock()
	defer u.mu.Unlock()
	limiter, ok := u.tenants.Get(t)
	if !ok {
		limiter = rate.NewLimiter(uploadRate, uploadBurst)
		u.tenants.Put(t, limiter)
	}
	return limitedReader{ctx, limiter, content}
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
