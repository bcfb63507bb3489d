// The connections of clients: fewer than the process has descriptors.

package server

import (
	"container/list"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/verifyd/verifyd/hosts/internal/cli"
)

const (
	// keptDescriptors are for the journal, the socket of operators, lists, fonts and the like.
	keptDescriptors = 64
	minConnections  = 16
	// adminConnections is the limit of the admin address.
	adminConnections = 32
	// connectionLinesEvery is the time between two lines in the log about the limit.
	connectionLinesEvery = time.Minute
	maxRefusals          = 16 // connections that are told at once that there are too many
	refusalTimeout       = time.Second
)

// connectionLimit returns how many connections of clients the host keeps: as the settings say, or
// half of the descriptors that the process may have without those that the host keeps for itself.
// The other half is for calls of providers, webhooks and uploads.
func connectionLimit(s Settings) int {
	var files syscall.Rlimit
	if s.MaxConnections > 0 || syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) != nil {
		return s.MaxConnections
	}
	free := min(int64(files.Cur), 1<<20) - keptDescriptors - adminConnections
	if s.DatabaseURL != "" {
		free -= int64(s.DatabaseConns)
	}
	return int(max(minConnections, free/2))
}

// connections is a listener with a limit of open connections. Beyond it, a new connection takes
// the place of an idle one: first of those that have not had an answer to known credentials, the
// longest idle one first. If none is idle, the new connection gets 503.
type connections struct {
	net.Listener
	limit int // 0 for none
	log   *slog.Logger

	mu       sync.Mutex
	open     int
	strange  list.List // idle connections without credentials so far, the longest idle first
	familiar list.List // the other idle connections
	closed   int64     // idle connections that were closed for new ones
	refused  int64     // connections that got 503
	said     time.Time // when the log had a line about the limit

	refusing  chan struct{}
	finishing sync.Mutex // held while the last connections are accepted
	finished  bool       // guarded by finishing
	last      []net.Conn // guarded by finishing
}

func newConnections(l net.Listener, limit int, log *slog.Logger) *connections {
	return &connections{Listener: l, limit: limit, log: log, refusing: make(chan struct{}, maxRefusals)}
}

// connection is an open connection.
type connection struct {
	net.Conn
	of   *connections
	gone bool          // it is closed
	in   *list.List    // the list of idle connections that has it; nil while a request is served
	at   *list.Element // its place in the list
	// familiar is set once a request with credentials was not refused with 401.
	familiar bool
}

// Accept implements net.Listener.
func (l *connections) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			if c, err = l.lastOr(err); err != nil {
				return nil, err
			}
		}
		if made := l.admit(c); made != nil {
			return made, nil
		}
		select {
		case l.refusing <- struct{}{}:
			go func() {
				defer func() { <-l.refusing }()
				refuseConnection(c)
			}()
		default:
			_ = c.Close() // it is refused
		}
	}
}

// admit returns the connection as an open one, or nil if there are too many.
func (l *connections) admit(c net.Conn) *connection {
	l.mu.Lock()
	defer l.mu.Unlock()
	var oldest *connection
	if l.limit > 0 && l.open >= l.limit {
		l.say()
		if oldest = l.longestIdle(); oldest == nil {
			l.refused++
			return nil
		}
		l.closed++
		l.forget(oldest)
		_ = oldest.Conn.Close() // its server sees that it has ended
	}
	l.open++
	made := &connection{Conn: c, of: l}
	l.rest(made)
	return made
}

// say logs that the limit is reached.
func (l *connections) say() {
	if time.Since(l.said) < connectionLinesEvery {
		return
	}
	l.said = time.Now()
	l.log.Error("all connections are in use: idle ones are closed, and others get 503; raise the limit of open files of the process and "+
		cli.Setting("max-connections")+", or look for clients that keep too many", "address", l.Addr(), "limit", l.limit, "closed", l.closed, "refused", l.refused)
}

func (l *connections) longestIdle() *connection {
	for _, idle := range []*list.List{&l.strange, &l.familiar} {
		if first := idle.Front(); first != nil {
			return first.Value.(*connection) //nolint:forcetypeassert,errcheck // the lists have nothing else
		}
	}
	return nil
}

// rest adds a connection to those that are idle.
func (l *connections) rest(c *connection) {
	c.in = &l.strange
	if c.familiar {
		c.in = &l.familiar
	}
	c.at = c.in.PushBack(c)
}

// wake removes a connection from those that are idle.
func (l *connections) wake(c *connection) {
	if c.in != nil {
		c.in.Remove(c.at)
		c.in = nil
	}
}

// forget counts a connection as closed, once.
func (l *connections) forget(c *connection) {
	if !c.gone {
		c.gone = true
		l.open--
		l.wake(c)
	}
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.of.mu.Lock()
	c.of.forget(c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

type connectionKey struct{}

// withConnection is the ConnContext of a server.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

// busy marks the connection of a request while the request is served.
func busy(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, ok := r.Context().Value(connectionKey{}).(*connection)
		if !ok {
			handler.ServeHTTP(w, r)
			return
		}
		c.of.mu.Lock()
		c.of.wake(c)
		c.of.mu.Unlock()
		defer func() {
			c.of.mu.Lock()
			defer c.of.mu.Unlock()
			has := r.Header.Get("X-Api-Key") != "" || r.Header.Get("Authorization") != "" || r.Header.Get("Cookie") != ""
			c.familiar = c.familiar || has && w.Header().Get("WWW-Authenticate") == ""
			if !c.gone {
				c.of.rest(c)
			}
		}()
		handler.ServeHTTP(w, r)
	})
}

// refuseConnection answers that there are too many connections, and closes c.
func refuseConnection(c net.Conn) {
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(refusalTimeout))
	const body = `{"error":"Service Unavailable","message":"There are too many connections.","code":503}` + "\n"
	_, err := fmt.Fprintf(c, "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\n\r\n%s", len(body), body)
	if half, ok := c.(interface{ CloseWrite() error }); ok && err == nil && half.CloseWrite() == nil {
		_, _ = io.CopyN(io.Discard, c, 1<<20) // an unread request would end the connection before its answer is read
	}
}

// counts returns how many connections are open, and the limit.
func (l *connections) counts() (open, limit int) {
	if l == nil {
		return 0, 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open, l.limit
}

// register adds the metrics of the connections.
func (l *connections) register(to *prometheus.Registry) {
	state := prometheus.NewDesc("verifyd_http_connections", "Connections of clients to the API: open, and the maximum.", []string{"state"}, nil)
	counter := func(name, help string, of *int64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 {
			l.mu.Lock()
			defer l.mu.Unlock()
			return float64(*of)
		})
	}
	to.MustRegister(
		gauges(func(_ context.Context, set func(*prometheus.Desc, float64, ...string)) {
			open, limit := l.counts()
			set(state, float64(open), "open")
			set(state, float64(limit), "max")
		}),
		counter("verifyd_http_connections_closed_total", "Idle connections that were closed for new ones, because there were too many.", &l.closed),
		counter("verifyd_http_connections_refused_total", "Connections that got 503, because there were too many and none was idle.", &l.refused),
	)
}
