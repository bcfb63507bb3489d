package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

type sized struct{ kept, limit, refused int64 }

func (s *sized) Kept() int64       { return s.kept }
func (s *sized) Refused() int64    { return s.refused }
func (s *sized) Limit(bytes int64) { s.limit = bytes }

func TestRunsMayNeedAShareOfTheMemory(t *testing.T) {
	machine := func() (uint64, error) { return 8000, nil }
	unknown := func() (uint64, error) { return 0, errors.New("no such file") }
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	for name, c := range map[string]struct {
		limit   int64
		share   float64
		machine func() (uint64, error)
		want    int64
		logged  string
	}{
		"of the machine":            {before, 0.5, machine, 4000, ""},
		"of the limit":              {1 << 40, 0.25, machine, 1 << 38, ""},
		"no limit":                  {before, 0, machine, 0, ""},
		"the machine is not known":  {before, 0.5, unknown, 0, "the memory of the machine is unknown"},
		"and there shall be none":   {before, 0, unknown, 0, ""},
		"the limit does without it": {1 << 40, 0.5, unknown, 1 << 39, ""},
	} {
		debug.SetMemoryLimit(c.limit)
		var log bytes.Buffer
		s := &sized{}
		got := newCapacity(capacity{store: s}, c.share, c.machine, slog.New(slog.NewTextHandler(&log, nil)))
		if got.limit != c.want || s.limit != c.want {
			t.Errorf("%s: limit %d and %d, want %d", name, got.limit, s.limit, c.want)
		}
		if (c.logged == "") != (log.Len() == 0) || !strings.Contains(log.String(), c.logged) {
			t.Errorf("%s: log %q, want %q", name, log.String(), c.logged)
		}
	}
}

func TestAFullStoreIsLoggedOnce(t *testing.T) {
	s := &sized{}
	c := &capacity{store: s, limit: 100}
	for _, step := range []struct {
		kept, refused int64
		want          string
	}{
		{49, 0, ""},
		{50, 0, "level=WARN"},
		{70, 0, ""},
		{100, 0, "level=ERROR"},
		{200, 5, ""},
		{60, 5, ""},            // runs that ended need less
		{99, 6, "level=ERROR"}, // full since the last look
		{99, 6, ""},
		{99, 7, ""},
		{10, 7, ""},
		{55, 7, "level=WARN"},
	} {
		var log bytes.Buffer
		s.kept, s.refused = step.kept, step.refused
		c.say(slog.New(slog.NewTextHandler(&log, nil)))
		if (step.want == "") != (log.Len() == 0) || !strings.Contains(log.String(), step.want) ||
			step.want != "" && !strings.Contains(log.String(), "--store-memory (VERIFYD_STORE_MEMORY)") {
			t.Errorf("at %d with %d refused: log %q, want %q and the setting", step.kept, step.refused, log.String(), step.want)
		}
	}
}

// A store that has refused a run was full, although it is below its limit when the host looks.
func TestAStoreThatWasFullIsLogged(t *testing.T) {
	m := memory.New()
	c := &capacity{store: m, limit: 1 << 20}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	read, write := io.Pipe()
	go c.watch(ctx, time.Millisecond, slog.New(slog.NewTextHandler(write, nil)))
	m.Limit(1)
	e := []verification.Event{{At: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC), Fact: verification.Started{ReferenceID: "person-1"}}}
	for _, id := range []verification.RunID{"d0000000-0000-7000-8000-000000000001", "d0000000-0000-7000-8000-000000000002"} {
		after := verification.Fold(id, e)
		_ = m.Append(ctx, "a0000000-0000-7000-8000-000000000001", id, 0, store.NewCommit(verification.Run{}, after, e, time.UTC)) // the second is refused
	}
	time.AfterFunc(time.Minute, func() { _ = write.Close() })
	line, err := bufio.NewReader(read).ReadString('\n')
	if err != nil || !strings.Contains(line, "level=ERROR") || !strings.Contains(line, "refused=1") {
		t.Errorf("the log has %q, %v; want an error", line, err)
	}
}
