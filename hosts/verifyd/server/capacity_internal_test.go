package server

import (
	"bytes"
	"errors"
	"log/slog"
	"runtime/debug"
	"strings"
	"testing"
)

type sized struct{ kept, limit int64 }

func (s *sized) Kept() int64       { return s.kept }
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
	said := 0.0
	for _, step := range []struct {
		kept int64
		want string
	}{
		{49, ""},
		{50, "level=WARN"},
		{70, ""},
		{100, "level=ERROR"},
		{200, ""},
		{60, ""}, // a run that ended needs less
		{100, "level=ERROR"},
		{10, ""},
		{55, "level=WARN"},
	} {
		var log bytes.Buffer
		s.kept = step.kept
		said = c.say(said, slog.New(slog.NewTextHandler(&log, nil)))
		if (step.want == "") != (log.Len() == 0) || !strings.Contains(log.String(), step.want) {
			t.Errorf("at %d: log %q, want %q", step.kept, log.String(), step.want)
		}
	}
}
