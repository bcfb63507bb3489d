// Log lines that may come often: few of them are written.

package engine

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/verifyd/verifyd/internal/lru"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

const (
	linesEvery   = time.Minute // for one subject and cause
	subjectLines = 10          // of one subject in that time
	maxLines     = 1000        // subjects and causes that are remembered
)

// limitedLog writes one line a minute for each subject, such as a provider, and cause,
// and ten for each subject. A line says how many were left out before it.
type limitedLog struct {
	log *slog.Logger
	now func() time.Time

	mu    sync.Mutex
	lines *lru.Cache[lineKey, *lineCount]
}

// lineKey has no cause for all lines of a subject.
type lineKey struct{ subject, cause string }

type lineCount struct {
	since            time.Time
	written, leftOut int
}

func newLimitedLog(log *slog.Logger, now func() time.Time) *limitedLog {
	return &limitedLog{log: log, now: now, lines: lru.New[lineKey](maxLines, 1, func(*lineCount) int { return 1 })}
}

// write writes a line, or counts it.
func (l *limitedLog) write(ctx context.Context, level slog.Level, message, subject, cause string, attrs ...any) {
	leftOut, ok := l.allow(lineKey{subject, cause})
	if !ok {
		return
	}
	if leftOut > 0 {
		attrs = append(attrs, "left_out", leftOut)
	}
	l.log.Log(ctx, level, message, attrs...)
}

func (l *limitedLog) allow(key lineKey) (leftOut int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	own, all := l.count(key, now), l.count(lineKey{subject: key.subject}, now)
	switch {
	case own.written > 0:
		own.leftOut++
		return 0, false
	case all.written >= subjectLines:
		all.leftOut++
		return 0, false
	}
	own.written++
	all.written++
	leftOut = own.leftOut + all.leftOut
	own.leftOut, all.leftOut = 0, 0
	return leftOut, true
}

// count returns the lines of a key in the present minute.
func (l *limitedLog) count(key lineKey, now time.Time) *lineCount {
	c, ok := l.lines.Get(key)
	if !ok {
		c = &lineCount{since: now}
		l.lines.Put(key, c)
	}
	if now.Sub(c.since) >= linesEvery {
		c.since, c.written = now, 0
	}
	return c
}

// reportFailures logs the failed dispatches and polls among the events that were appended
// to a run.
func (l *limitedLog) reportFailures(ctx context.Context, ref verification.RunRef, before *rules.Run, events []rules.Event) {
	for _, event := range events {
		var message, cause string
		w := before.Wait()
		at := func(step verification.NodeID) {
			if there, waits := before.WaitAt(step); waits {
				w = there
			}
		}
		switch f := event.Fact.(type) { //nolint:gochecksumtype // only these have a cause
		case rules.DispatchFailed:
			message, cause = "dispatch failed", f.Cause
			at(f.Node)
		case rules.PollFailed:
			message, cause = "poll failed", f.Cause
			at(f.Node)
		case rules.Failed:
			message, cause = "run failed", f.Cause
			at(f.Node)
		case rules.Completed:
			message, cause = "run completed without a value of its data", f.Cause
			w = rules.Wait{Node: f.Node}
		}
		if cause == "" {
			continue
		}
		cause, _, _ = strings.Cut(cause, "\n") // without the stack of a panic
		l.write(ctx, slog.LevelWarn, message, w.Provider, cause,
			"provider", w.Provider, "node", w.Node, "run", ref.Run, "tenant", ref.Tenant, "cause", cause)
	}
}
