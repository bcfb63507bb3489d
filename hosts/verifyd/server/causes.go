// Log lines about what is unavailable: with the cause, and not one for each request.

package server

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/verifyd/verifyd/internal/postgres/pgerror"
	"github.com/verifyd/verifyd/verification"
)

const (
	causeEvery = 10 * time.Second // between two lines about one cause
	maxCauses  = 100              // that are told apart at once
)

// causes is a handler that adds the cause to lines about an ErrUnavailable. Of warnings with the
// same message and cause, it writes one every causeEvery, and then how many it left out.
type causes struct {
	slog.Handler
	recent *recentCauses
}

type recentCauses struct {
	mu      sync.Mutex
	leftOut map[string]int // by message and cause
}

func newCauses(h slog.Handler) slog.Handler {
	return causes{h, &recentCauses{leftOut: map[string]int{}}}
}

// Handle implements slog.Handler.
func (c causes) Handle(ctx context.Context, r slog.Record) error {
	told, cause := slog.NewRecord(r.Time, r.Level, r.Message, r.PC), ""
	r.Attrs(func(a slog.Attr) bool {
		if err, ok := a.Value.Any().(error); ok && errors.Is(err, verification.ErrUnavailable) {
			cause = pgerror.Explain(err).Error()
			a.Value = slog.StringValue(cause)
		}
		told.AddAttrs(a)
		return true
	})
	if cause == "" || r.Level != slog.LevelWarn {
		return c.Handler.Handle(ctx, told)
	}
	last := told.Clone() // the timer of first runs beside this call
	if !c.recent.first(r.Message+": "+withoutNumbers(cause), func(leftOut int) {
		last.Time = time.Now()
		last.AddAttrs(slog.Int("left_out", leftOut))
		_ = c.Handler.Handle(context.WithoutCancel(ctx), last) // as a log does
	}) {
		return nil
	}
	return c.Handler.Handle(ctx, told)
}

// first reports whether a line is the first of its kind within causeEvery. If it is, and lines
// follow it within that time, first then calls ended with their number.
func (s *recentCauses) first(kind string, ended func(leftOut int)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.leftOut[kind]; !known && len(s.leftOut) >= maxCauses {
		kind = ""
	}
	if _, known := s.leftOut[kind]; known {
		s.leftOut[kind]++
		return false
	}
	s.leftOut[kind] = 0
	time.AfterFunc(causeEvery, func() {
		s.mu.Lock()
		leftOut := s.leftOut[kind]
		delete(s.leftOut, kind)
		s.mu.Unlock()
		if leftOut > 0 {
			ended(leftOut)
		}
	})
	return true
}

// withoutNumbers removes digits, such as the local port of each connection.
func withoutNumbers(text string) string {
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return -1
		}
		return r
	}, text)
}

// WithAttrs implements slog.Handler.
func (c causes) WithAttrs(attrs []slog.Attr) slog.Handler {
	return causes{c.Handler.WithAttrs(attrs), c.recent}
}

// WithGroup implements slog.Handler.
func (c causes) WithGroup(name string) slog.Handler {
	return causes{c.Handler.WithGroup(name), c.recent}
}
