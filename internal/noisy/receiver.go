// Receivers of webhooks: one that answers, and one that never does.

package noisy

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"sync"
	"time"
)

// receiver answers every webhook and records when the first one of each run arrived.
type receiver struct {
	url    string
	server *http.Server

	mu      sync.Mutex
	arrived map[string]time.Time
	waiting map[string]chan struct{} // closed when the webhook of a run arrives
}

func newReceiver(ctx context.Context) (*receiver, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{url: "http://" + l.Addr().String() + "/", arrived: map[string]time.Time{}, waiting: map[string]chan struct{}{}}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: time.Minute}
	go func() { _ = r.server.Serve(l) }() // it ends with an error when it is closed
	return r, nil
}

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	var notice struct{ Data struct{ ID string } }
	if err := json.NewDecoder(request.Body).Decode(&notice); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	run := notice.Data.ID
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.arrived[run].IsZero() {
		return
	}
	r.arrived[run] = time.Now()
	if waiting := r.waiting[run]; waiting != nil {
		close(waiting)
	}
}

// arrival returns a channel that is closed when the webhook of a run has arrived.
func (r *receiver) arrival(run string) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	waiting := r.waiting[run]
	if waiting == nil {
		waiting = make(chan struct{})
		r.waiting[run] = waiting
		if !r.arrived[run].IsZero() {
			close(waiting)
		}
	}
	return waiting
}

// at returns when the webhook of a run arrived.
func (r *receiver) at(run string) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.arrived[run]
}

func (r *receiver) close() { _ = r.server.Close() }

// deadEnd accepts connections and never answers.
type deadEnd struct {
	url      string
	listener net.Listener

	mu     sync.Mutex
	held   []net.Conn
	closed bool
}

func newDeadEnd(ctx context.Context) (*deadEnd, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d := &deadEnd{url: "http://" + l.Addr().String() + "/", listener: l}
	go d.accept()
	return d, nil
}

func (d *deadEnd) accept() {
	for c, err := d.listener.Accept(); err == nil; c, err = d.listener.Accept() {
		d.mu.Lock()
		if d.closed {
			_ = c.Close()
		}
		d.held = append(d.held, c)
		d.mu.Unlock()
	}
}

// attempts returns the number of accepted connections.
func (d *deadEnd) attempts() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.held)
}

func (d *deadEnd) close() {
	_ = d.listener.Close()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for _, c := range d.held {
		_ = c.Close()
	}
}
