// Uploads of one tenant share a rate, so that they leave the processor and the
// disk to others.

package journey

import (
	"context"
	"io"
	"sync"

	"golang.org/x/time/rate"

	"github.com/verifyd/verifyd/verification"
)

// The uploads of one tenant to one host: bytes a second, and how many bytes may
// come at once.
const (
	uploadRate  = 16 << 20
	uploadBurst = verification.MaxDocumentBytes
)

// paces has the rates of the tenants that upload something now.
type paces struct {
	mu      sync.Mutex
	tenants map[verification.TenantID]*pace
}

type pace struct {
	*rate.Limiter
	uploads int
}

// reader reads from content at the rate of the tenant, until ctx ends. done must
// be called after the last read.
func (p *paces) reader(ctx context.Context, t verification.TenantID, content io.Reader) (paced io.Reader, done func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tenants == nil {
		p.tenants = map[verification.TenantID]*pace{}
	}
	own := p.tenants[t]
	if own == nil {
		own = &pace{Limiter: rate.NewLimiter(uploadRate, uploadBurst)}
		p.tenants[t] = own
	}
	own.uploads++
	return pacedReader{ctx, own.Limiter, content}, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if own.uploads--; own.uploads == 0 {
			delete(p.tenants, t)
		}
	}
}

type pacedReader struct {
	ctx  context.Context
	rate *rate.Limiter
	from io.Reader
}

// Read implements io.Reader.
func (r pacedReader) Read(b []byte) (int, error) {
	n, err := r.from.Read(b[:min(len(b), uploadBurst)])
	if wait := r.rate.WaitN(r.ctx, n); wait != nil && err == nil {
		err = wait
	}
	return n, err
}
