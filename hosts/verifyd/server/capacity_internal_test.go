package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/internal/memory/memstore"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

type sized struct {
	kept, refused int64
	limits        memstore.Limits
	pressure      memstore.Pressure
	tenants       []memstore.TenantUse
}

func (s *sized) Kept() int64                     { return s.kept }
func (s *sized) Refused() int64                  { return s.refused }
func (s *sized) Use() []memstore.TenantUse       { return s.tenants }
func (s *sized) Limit(l memstore.Limits)         { s.limits = l }
func (s *sized) SetPressure(p memstore.Pressure) { s.pressure = p }

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
		newCapacity(s, Settings{StoreMemory: c.share}, c.machine, slog.New(slog.NewTextHandler(&log, nil))).enforce()
		if s.limits.Runs != c.want || (s.limits.Answers > c.want) != (c.want > 0) {
			t.Errorf("%s: limits %+v, want %d", name, s.limits, c.want)
		}
		if (c.logged == "") != (log.Len() == 0) || !strings.Contains(log.String(), c.logged) {
			t.Errorf("%s: log %q, want %q", name, log.String(), c.logged)
		}
	}
}

func TestAFullStoreIsLoggedOnce(t *testing.T) {
	s := &sized{}
	c := &capacity{store: s, limits: memstore.Limits{Runs: 100, Answers: 250}}
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
		{250, 7, "new runs, answers, uploads and notes get 503"},
		{230, 7, ""},
		{100, 7, ""},
	} {
		var log bytes.Buffer
		s.kept, s.refused = step.kept, step.refused
		c.say(slog.New(slog.NewTextHandler(&log, nil)))
		if (step.want == "") != (log.Len() == 0) || !strings.Contains(log.String(), step.want) ||
			strings.HasPrefix(step.want, "level") && !strings.Contains(log.String(), "--store-memory (VERIFYD_STORE_MEMORY)") {
			t.Errorf("at %d with %d refused: log %q, want %q and the setting", step.kept, step.refused, log.String(), step.want)
		}
	}
}

// A store that has refused a run was full, although it is below its limit when the host looks.
func TestAStoreThatWasFullIsLogged(t *testing.T) {
	m := memory.New()
	c := &capacity{store: m, process: newProcessMemory(m.Kept), limits: memstore.Limits{Runs: 1 << 20}, thresholds: newThresholds(1 << 40)}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	read, write := io.Pipe()
	go c.watch(ctx, time.Millisecond, slog.New(slog.NewTextHandler(write, nil)))
	m.Limit(memstore.Limits{Runs: 1})
	e := []rules.Event{{At: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC), Fact: rules.Started{ReferenceID: "person-1"}}}
	for _, id := range []verification.RunID{"d0000000-0000-7000-8000-000000000001", "d0000000-0000-7000-8000-000000000002"} {
		after := rules.Fold(id, e)
		_ = m.Append(ctx, "a0000000-0000-7000-8000-000000000001", id, 0, store.NewCommit(rules.Run{}, after, e, time.UTC)) // the second is refused
	}
	time.AfterFunc(time.Minute, func() { _ = write.Close() })
	line, err := bufio.NewReader(read).ReadString('\n')
	if err != nil || !strings.Contains(line, "level=ERROR") || !strings.Contains(line, "refused=1") {
		t.Errorf("the log has %q, %v; want an error", line, err)
	}
}

// A tenant whose share is full is logged once, with its id.
func TestATenantWithAFullShareIsLoggedOnce(t *testing.T) {
	full := memstore.TenantUse{Tenant: "t-1", Bytes: 100, Share: 100, Refused: 3}
	s := &sized{tenants: []memstore.TenantUse{{Tenant: "t-2", Bytes: 10, Share: 100}, full}}
	c := &capacity{store: s, saidOf: map[verification.TenantID]bool{}}
	for i, want := range []int{1, 0, 0} {
		var log bytes.Buffer
		c.say(slog.New(slog.NewTextHandler(&log, nil)))
		if got := strings.Count(log.String(), "tenant=t-1"); got != want || strings.Contains(log.String(), "t-2") {
			t.Errorf("look %d: log %q, want %d lines about t-1", i, log.String(), want)
		}
	}
}

// What a process keeps for itself presses the store, whatever the store counts.
func TestAProcessThatNeedsTooMuchRefuses(t *testing.T) {
	for _, limit := range []int64{128 << 20, 461 << 20, 921 << 20, 3686 << 20} {
		at := newThresholds(limit)
		if r, a, w := at[memstore.RefuseRuns], at[memstore.RefuseAnswers], at[memstore.LeaveWork]; r <= 0 || r >= a || a >= w || w >= limit {
			t.Errorf("thresholds of %d are %v", limit, at)
		}
	}
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	s := &sized{}
	debug.SetMemoryLimit(1 << 40)
	c := newCapacity(s, Settings{StoreMemory: 0.5, TenantShare: 1}, nil, slog.New(slog.DiscardHandler))
	large := make([]byte, 256<<20)
	for i := range large {
		large[i] = 1
	}
	for _, step := range []struct {
		limit int64
		want  memstore.Pressure
	}{{4 << 30, memstore.NoPressure}, {400 << 20, memstore.RefuseRuns}, {300 << 20, memstore.LeaveWork}, {4 << 30, memstore.NoPressure}} {
		c.thresholds = newThresholds(step.limit)
		runtime.GC()
		if c.look(); s.pressure < step.want || step.want == memstore.NoPressure && s.pressure > 0 {
			t.Errorf("pressure %d within %d, want %d: needed %d of %v", s.pressure, step.limit, step.want, c.needed.Load(), c.thresholds)
		}
	}
	runtime.KeepAlive(large)
}
