// A host on the HTTP server of a program.

package server

import (
	"context"
	"net/http"
	"os"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/verifyd/verifyd/adapters/apitypes"
)

// Handler starts a host whose API, journey pages and console are served by the program:
// mount the handler at the root of PublicURL, which is required. Bootstrap is required too unless
// there is a database, and Addr has no effect. The host logs to stderr and serves /healthz and
// /metrics on its admin address.
//
// The host works until ctx ends. Then streams end, requests in flight finish, new ones get
// 503, and runs reach their next wait; wait returns nil when all of that is done within
// --shutdown-timeout. wait returns earlier if the host fails.
func Handler(ctx context.Context, s Settings, options ...Option) (handler http.Handler, wait func() error, err error) {
	added := newAdditions(options)
	added.mounted = true
	if err := s.checkMounted(); err != nil {
		return nil, nil, err
	}
	stderr := newLines(os.Stderr)
	h, err := newHost(ctx, s, newEnvironment(os.Environ()), stderr, added)
	if err != nil {
		stderr.close()
		return nil, nil, err
	}
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		err := h.serve(ctx, func() error { close(ready); return nil })
		stderr.close()
		ended <- err
	}()
	select {
	case <-ready:
		return h.mounted, sync.OnceValue(func() error { return <-ended }), nil
	case err := <-ended:
		return nil, nil, err
	}
}

// mounted serves requests until it drains.
type mounted struct {
	handler  http.Handler
	inFlight *semaphore.Weighted
}

// maxInFlight is more than any server has in flight.
const maxInFlight = 1 << 40

func newMounted(handler http.Handler) *mounted {
	return &mounted{handler: handler, inFlight: semaphore.NewWeighted(maxInFlight)}
}

// ServeHTTP implements http.Handler.
func (m *mounted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !m.inFlight.TryAcquire(1) {
		const status = http.StatusServiceUnavailable
		w.Header().Set("Retry-After", "1")
		writeJSON(w, status, apitypes.FullError{Error: http.StatusText(status), Message: "The service is stopping.", Code: status})
		return
	}
	defer m.inFlight.Release(1)
	m.handler.ServeHTTP(w, r)
}

// drain refuses new requests and waits for those in flight. It does nothing on nil.
func (m *mounted) drain(ctx context.Context) error {
	if m == nil {
		return nil
	}
	return m.inFlight.Acquire(ctx, maxInFlight)
}
