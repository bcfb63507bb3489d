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
)

// uploadRate is the limit for all uploads of a tenant to this host, in bytes per second.
const uploadRate = 16 << 20

// maxRates is the number of tenants whose rates are remembered. More tenants than
// that do not upload to one host at the same time.
const maxRates = 10_000

// Rates holds the upload rates of the tenants. It is safe for concurrent use.
type Rates struct {
	burst   int
	mu      sync.Mutex // held from Get to Put
	tenants *lru.Cache[string, *rate.Limiter]
}

// New returns the rates of a host: 16 MiB/s for each tenant, after burst bytes at once.
func New(burst int) *Rates {
	return &Rates{burst: burst, tenants: lru.New[string](maxRates, 1, func(*rate.Limiter) int { return 1 })}
}

// Reader returns a reader of content at the rate of the tenant. Its reads fail
// once ctx ends.
func (u *Rates) Reader(ctx context.Context, tenant string, content io.Reader) io.Reader {
	u.mu.Lock()
	defer u.mu.Unlock()
	limiter, ok := u.tenants.Get(tenant)
	if !ok {
		limiter = rate.NewLimiter(uploadRate, u.burst)
		u.tenants.Put(tenant, limiter)
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
	n, err := r.from.Read(b[:min(len(b), r.rate.Burst())])
	if wait := r.rate.WaitN(r.ctx, n); wait != nil && err == nil {
		err = wait
	}
	return n, err
}
