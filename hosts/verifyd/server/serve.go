// Serving and stopping.

package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// serve calls ready and serves until ctx ends, and then for the shutdown delay, while it says that
// it is not ready. Then it stops accepting requests, finishes those in flight, and lets runs reach
// their next wait. It returns nil after a clean stop. If
// the store fails, serve only lets answers leave, and returns why the store has failed.
func (h *host) serve(ctx context.Context, ready func() error) (err error) {
	defer func() {
		h.close()
		err = cmp.Or(h.storage.failure(), err)
	}()
	h.log.Info("starting", "version", h.build.Version, "commit", h.build.Commit, "go", h.build.Go, "memory_limit", memoryLimit(),
		"store_level", h.storage.Level())
	working, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	failed := make(chan error, 6)
	var background sync.WaitGroup
	requests, ignore := hangup()
	defer ignore()
	background.Go(func() { h.reload(working, requests) })
	if h.opened.ledger != nil {
		background.Go(func() { h.keepLedger(working) })
	}
	if from, ok := h.documents.(verification.IncompleteRemover); ok {
		background.Go(func() { removeIncomplete(working, from, h.log) })
	}
	if h.settings.has(roleWorker) {
		background.Go(func() { h.engine.Serve(working) })
		<-h.engine.Serving()
	}
	switch {
	case h.manual != nil && h.settings.has(roleWorker):
		h.manual.begin(working)
		if h.storage.database != nil {
			background.Go(func() { h.manual.maintain(working) })
		}
	case h.settings.has(roleWorker):
		background.Go(func() { h.retain(working) })
	}
	if h.settings.has(roleWorker) && len(h.lists.Names()) > 0 {
		background.Go(func() { h.lists.Watch(working, refreshInterval) })
	}
	if h.membership != nil {
		background.Go(func() {
			if err := h.membership.Serve(working); err != nil {
				failed <- err
			}
		})
	}
	if db := h.storage.database; db != nil {
		background.Go(func() {
			if err := h.heartbeat(working, db, time.Now); err != nil {
				failed <- err
			}
		})
	}
	if c := h.storage.capacity; c != nil {
		c.enforce()
		background.Go(func() { c.watch(working, capacityEvery, h.log) })
	}
	for _, s := range h.disks() {
		background.Go(func() { s.watch(working, capacityEvery, h.log) })
	}
	if h.storage.keeps() && h.names.Tenants != nil {
		background.Go(func() { h.nameUnlisted(working) })
	}
	api, admin, vendor := h.server(h.leaving(h.api.handler)), h.server(h.admin.handler), h.server(h.vendor.handler)
	api.RegisterOnShutdown(func() { close(h.stopping) })
	for l, s := range map[*listener]*http.Server{&h.api: api, &h.admin: admin, &h.vendor: vendor} {
		if l.Listener == nil {
			continue
		}
		background.Go(func() {
			if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
				failed <- err
			}
		})
	}
	h.health.ready.Store(true)
	if err := ready(); err != nil {
		failed <- err
	}
	timeout := h.settings.ShutdownTimeout
	var delay <-chan time.Time // nil until a stop begins
	for stop := ctx.Done(); ; {
		select {
		case <-stop:
			h.log.Info("stopping", "delay", h.settings.ShutdownDelay, "timeout", timeout)
			h.health.ready.Store(false)
			stop, delay = nil, time.After(h.settings.ShutdownDelay)
			continue
		case <-delay:
			if h.settings.ShutdownDelay > 0 && h.clients != nil {
				h.clients.finish(lastRequests)
			}
		case err = <-failed:
		case <-h.storage.failed():
			timeout = min(timeout, failedTimeout)
		}
		break
	}
	h.health.ready.Store(false)
	draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	err = errors.Join(err, late(errors.Join(api.Shutdown(draining), h.mounted.drain(draining)), "requests were still in flight"))
	stopWork()
	err = errors.Join(err, h.engine.Close(draining))
	err = errors.Join(err, late(admin.Shutdown(draining), "admin requests were still in flight"))
	_ = api.Close()
	_ = admin.Close()
	_ = vendor.Close()
	background.Wait()
	return err
}

// lastRequests is how long requests on connections that were accepted before the end of the
// shutdown delay may take to arrive: once a server shuts down, it drops them unanswered.
const lastRequests = time.Second

// failedTimeout is the maximum time for answers to leave when the store has failed.
const failedTimeout = 2 * time.Second

// leaving asks clients to close their connections once a stop has begun, so that a connection
// ends between two requests, and not while the client sends one.
func (h *host) leaving(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !h.health.ready.Load() {
			w.Header().Set("Connection", "close")
		}
		handler.ServeHTTP(w, r)
	})
}

// announce writes what to try in the demo, and the ready line.
func (h *host) announce(stdout, stderr io.Writer) error {
	if h.demo != nil {
		where := "in memory"
		if f := h.storage.folder; f != nil {
			where = fmt.Sprintf("in the folder %s", f.Folder)
		}
		if err := h.demo.write(stderr, h.api.url(), where); err != nil {
			return err
		}
	}
	fmt.Fprintf(stdout, "verifyd ready api=%s admin=%s %s\n", h.api.url(), h.admin.url(), h.storage.describe())
	return nil
}

// late adds to a timeout what was still in flight.
func late(err error, what string) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the shutdown timeout passed: %s", what)
	}
	return err
}

// server returns a server with timeouts. A start may wait for 25 s, and a phone
// may need minutes to send a photo.
func (h *host) server(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           busy(handler),
		ConnContext:       withConnection,
		ErrorLog:          slog.NewLogLogger(h.log.Handler(), slog.LevelDebug),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       5 * time.Minute,
		WriteTimeout:      6 * time.Minute,
		IdleTimeout:       h.settings.IdleTimeout,
		MaxHeaderBytes:    64 << 10,
	}
}
