// The log, and a writer that a stuck reader of the log cannot stop.

package server

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/verifyd/verifyd/hosts/internal/cli"
)

func logLevels() []string { return []string{"debug", "info", "warn", "error"} }

// readLogLevel returns the log level of a file.
func readLogLevel(file string) (level slog.Level, err error) {
	text, err := cli.ReadValue(file)
	if err == nil && !slices.Contains(logLevels(), text) {
		err = fmt.Errorf("%s has %q and must have %s", file, text, strings.Join(logLevels(), ", "))
	}
	if err == nil {
		err = level.UnmarshalText([]byte(text))
	}
	return level, err
}

// newLog returns the log of a host, whose level may change.
func newLog(s Settings, level *slog.LevelVar, stderr io.Writer) *slog.Logger {
	_ = level.UnmarshalText([]byte(s.LogLevel)) // the settings allow only known levels
	o := &slog.HandlerOptions{Level: level}
	to := func(w io.Writer) *slog.Logger {
		if s.LogFormat == "json" {
			return slog.New(newCauses(slog.NewJSONHandler(w, o)))
		}
		return slog.New(newCauses(slog.NewTextHandler(w, o)))
	}
	if l, ok := stderr.(*lines); ok {
		l.sayLost(func(n int64) []byte {
			var b bytes.Buffer
			to(&b).Error("lines of this log are missing here: their reader was too slow, or away", "lines", n)
			return b.Bytes()
		})
	}
	return to(stderr)
}

const (
	maxWaitingLines = 1 << 20     // in bytes
	lastLines       = time.Second // how long the end of a host waits for the reader of its log
)

// lines writes lines to a writer that may block or fail, such as a pipe to a log collector. Its
// Write neither blocks nor fails: lines wait in memory, up to maxWaitingLines, and further lines
// are lost. Where lines are missing, a line says how many.
type lines struct {
	to    io.Writer
	note  func(lost int64) []byte // nil before the format of the log is known
	ended chan struct{}           // closed when all lines are written after close

	mu      sync.Mutex
	changed sync.Cond // a line waits, or closed is set
	waiting []line
	bytes   int   // of waiting
	lossy   bool  // lines are lost until half of the bytes are free
	missed  int64 // lines that were lost since the last note
	lost    int64 // lines that were ever lost
	closed  bool
}

// line is a line of the log, or a note about lines that were lost.
type line struct {
	text []byte
	lost int64 // how many lines a note is about; 0 for a line
}

func newLines(to io.Writer) *lines {
	l := &lines{to: to, ended: make(chan struct{})}
	l.changed.L = &l.mu
	go l.writeAll()
	return l
}

// sayLost sets the text of the notes.
func (l *lines) sayLost(note func(int64) []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note = note
}

// Write implements io.Writer. p is one line.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lossy = l.bytes+len(p) > maxWaitingLines || l.lossy && l.bytes > maxWaitingLines/2
	if l.lossy {
		l.missed++
		l.lost++
		return len(p), nil
	}
	l.addNote()
	l.add(line{text: bytes.Clone(p)})
	return len(p), nil
}

func (l *lines) add(one line) {
	l.waiting = append(l.waiting, one)
	l.bytes += len(one.text)
	l.changed.Signal()
}

// addNote adds a note about the lines that were lost since the last one.
func (l *lines) addNote() {
	if l.missed > 0 && l.note != nil {
		l.add(line{l.note(l.missed), l.missed})
		l.missed = 0
	}
}

// writeAll writes the lines that wait until the writer is closed.
func (l *lines) writeAll() {
	defer close(l.ended)
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		for len(l.waiting) == 0 && !l.closed {
			l.changed.Wait()
		}
		if len(l.waiting) == 0 {
			return
		}
		next := l.waiting[0]
		l.waiting[0] = line{}
		l.waiting = l.waiting[1:]
		l.mu.Unlock()
		_, err := l.to.Write(next.text)
		l.mu.Lock()
		l.bytes -= len(next.text)
		switch {
		case err != nil && next.lost > 0:
			l.missed += next.lost
		case err != nil:
			l.missed++
			l.lost++
		case len(l.waiting) == 0:
			l.addNote() // the reader is back
		}
	}
}

// close waits until the lines are written, at most for lastLines.
func (l *lines) close() {
	l.mu.Lock()
	l.closed = true
	l.changed.Signal()
	l.mu.Unlock()
	select {
	case <-l.ended:
	case <-time.After(lastLines):
	}
}

// counter returns a metric that counts the lines that were lost.
func (l *lines) counter() prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "verifyd_log_lines_lost_total", Help: "Lines of the log that were lost because their reader was too slow, or away.",
	}, func() float64 {
		l.mu.Lock()
		defer l.mu.Unlock()
		return float64(l.lost)
	})
}
