// Receivers of webhooks: one that answers, and one that never does.

package noisy

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"time"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/verification"
)

// receiver answers every webhook and records when the first one of each run arrived.
type receiver struct {
	*httptest.Server

	mu   sync.Mutex
	runs map[verification.RunID]*arrival
}

// arrival is the first webhook of a run. Its time is known once came is closed.
type arrival struct {
	came chan struct{}
	at   time.Time
}

func newReceiver() *receiver {
	r := &receiver{runs: map[verification.RunID]*arrival{}}
	r.Server = httptest.NewServer(r)
	return r
}

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	var notice apitypes.Event
	if err := json.NewDecoder(request.Body).Decode(&notice); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	first := r.arrival(notice.Data.ID)
	r.mu.Lock()
	defer r.mu.Unlock()
	if first.at.IsZero() {
		first.at = time.Now()
		close(first.came)
	}
}

// arrival returns the first webhook of a run, which may still have to arrive.
func (r *receiver) arrival(run verification.RunID) *arrival {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.runs[run] == nil {
		r.runs[run] = &arrival{came: make(chan struct{})}
	}
	return r.runs[run]
}

// deadEnd accepts requests and never answers.
type deadEnd struct {
	*httptest.Server
	attempts atomic.Int64
}

func newDeadEnd() *deadEnd {
	d := &deadEnd{}
	d.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		d.attempts.Add(1)
		_, _ = io.Copy(io.Discard, r.Body) // only then does the end of the connection end the context
		<-r.Context().Done()
	}))
	return d
}

// Close closes the connections, too.
func (d *deadEnd) Close() {
	d.CloseClientConnections()
	d.Server.Close()
}
