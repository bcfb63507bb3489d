package linear_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/rig/linear"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
)

func TestMain(m *testing.M) {
	os.Exit(pgtest.Main(m, func(ctx context.Context, url string) error {
		_, err := postgres.Migrate(ctx, url)
		return err
	}))
}

// Environment variables: the number of trials, and the seed of those to repeat.
const (
	envRuns = "VERIFYD_LINEAR_RUNS"
	envSeed = "VERIFYD_LINEAR_SEED"
)

// checkTimeout bounds the check of one history.
const checkTimeout = time.Minute

func TestRequestsAboutOneRunAreAnsweredAsIfInTurn(t *testing.T) {
	for name, start := range map[string]func(*testing.T) hosts{
		"one host on memory":      inMemory,
		"two hosts on PostgreSQL": onPostgres,
	} {
		t.Run(name, func(t *testing.T) {
			h, from, runs := start(t), seed(t), number(t, envRuns, 60)
			given := map[string]int{}
			for i := range runs {
				trial := h.draw(from, i)
				running := h.prepare(t, trial.Plan)
				history, err := h.stage(running[0], running...).Play(t.Context(), trial)
				if err != nil {
					t.Fatalf("trial %d: %v\n%s", i, err, history)
				}
				hold(t, i, history)
				for _, op := range history.Operations {
					given[op.Input.(linear.Input).Describe(op.Output.(linear.Output))]++ //nolint:errcheck,forcetypeassert // they are what was recorded
				}
			}
			if runs >= 60 {
				wantAll(t, given, commonAnswers()...)
			}
			if runs >= 300 {
				wantAll(t, given, "ask again invalid", "ask again no rounds")
			}
		})
	}
}

// wantAll fails the test unless the trials together have every kind of answer.
func wantAll(t *testing.T, given map[string]int, kinds ...string) {
	t.Helper()
	for _, kind := range kinds {
		met := func(answer string) bool { return strings.HasPrefix(answer, kind) }
		if !slices.ContainsFunc(slices.Collect(maps.Keys(given)), met) {
			t.Errorf("no trial met %q: %v", kind, given)
		}
	}
}

// commonAnswers returns the kinds of answers that are among those of 60 trials.
func commonAnswers() []string {
	return []string{
		"start ok", "shown in_progress", "read not found",
		"submit signal_delivered", "submit invalid", "submit not open",
		"verdict signal_delivered", "verdict review_recorded", "verdict not open",
		"ask again signal_delivered", "ask again not open",
		"cancel ok", "cancel conflict: completed", "cancel conflict: expired",
		"read in_progress", "read in_progress review", "read completed approve", "read completed reject",
		"read cancelled", "read expired",
	}
}

// hold fails the test if the history is not linearizable.
func hold(t *testing.T, i uint64, h linear.History) {
	t.Helper()
	result, info := h.Check(checkTimeout)
	if result == porcupine.Ok {
		return
	}
	dir := os.TempDir() // remains after the test
	if f := flag.Lookup("test.artifacts"); f != nil && f.Value.String() == "true" {
		dir = t.ArtifactDir()
	}
	picture := filepath.Join(dir, fmt.Sprintf("verifyd-linear-%d-%d.html", os.Getpid(), i))
	must(t, porcupine.VisualizePath(h.Plan.Model(), info, picture))
	t.Errorf("trial %d is %s, as %s shows:\n%s", i, result, picture, h)
}

// number returns a number from the environment.
func number(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}
