// The admin address: health, metrics and the manual clock.

package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/verification"
)

// health reports whether the host can serve requests.
type health struct {
	ready  atomic.Bool
	ping   func(context.Context) error // uses the store in the same way as an append
	silent string                      // what is said if there is no answer
	build  cli.Build
	log    *slog.Logger
}

// pingTimeout is the timeout of a ping of the store.
const pingTimeout = 2 * time.Second

// maxAdvance is the longest time that one request advances the clock, in seconds: ten years.
const maxAdvance = 10 * 366 * 24 * 3600

func adminHandler(h *health, m *metrics, manual *manualWork) http.Handler {
	r := chi.NewRouter()
	r.Get("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]any{"status": "ok", "version": h.build.Version, "commit": h.build.Commit})
	})
	r.Get("/readyz", func(w http.ResponseWriter, r *http.Request) {
		if !h.ready.Load() {
			writeJSON(w, http.StatusServiceUnavailable, map[string]any{"status": "stopping"})
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), pingTimeout)
		defer cancel()
		if err := h.ping(ctx); err != nil {
			if r.Context().Err() == nil {
				h.log.Warn("not ready", "error", err)
			}
			status := h.silent
			if e, ok := errors.AsType[*verification.Error](err); ok && e.Message != "" {
				status = e.Message
			}
			writeJSON(w, http.StatusServiceUnavailable, map[string]any{"status": status})
			return
		}
		writeJSON(w, http.StatusOK, map[string]any{"status": "ready"})
	})
	r.Handle("/metrics", m.handler())
	if manual != nil {
		r.Post("/clock/advance", func(w http.ResponseWriter, r *http.Request) { advance(w, r, manual) })
	}
	r.NotFound(func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusNotFound, map[string]any{"error": "Not Found"})
	})
	return r
}

// askHealth prints the health of the host with an admin address, and returns an error unless it is 200.
func askHealth(ctx context.Context, adminAddr string, stdout io.Writer) error {
	host, port, err := net.SplitHostPort(adminAddr)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); host == "" || ip.IsUnspecified() {
		host = "localhost"
	}
	ctx, cancel := context.WithTimeout(ctx, 2*pingTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/healthz", http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("no host answers at %s: %w", adminAddr, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the host at %s answers %s", adminAddr, resp.Status)
	}
	_, err = io.Copy(stdout, io.LimitReader(resp.Body, 1<<10))
	return err
}

// advance advances the clock by {"seconds": N}; N may have a fraction.
func advance(w http.ResponseWriter, r *http.Request, manual *manualWork) {
	var body struct {
		Seconds *float64 `json:"seconds"`
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, 1<<10))
	if err == nil {
		err = json.Unmarshal(raw, &body)
	}
	if err != nil || body.Seconds == nil || *body.Seconds < 0 || *body.Seconds > maxAdvance {
		writeJSON(w, http.StatusBadRequest, map[string]any{"error": `send {"seconds": N}, N from 0 to ten years`})
		return
	}
	manual.retain()
	if err := manual.clock.Advance(r.Context(), time.Duration(*body.Seconds*float64(time.Second))); err != nil {
		writeJSON(w, http.StatusServiceUnavailable, map[string]any{"error": err.Error()})
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"now": manual.clock.Now().UTC().Format(time.RFC3339Nano)})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the peer may have gone away
}
