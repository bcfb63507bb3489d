// Tests of answers of providers that cannot be saved at once.

package engine_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

func TestAnAnswerWaitsForARowThatIsHeld(t *testing.T) {
	for _, tt := range []struct {
		held  time.Duration
		calls int
		says  string
	}{
		{5 * time.Second, 1, "the answer of a provider cannot be saved now"},
		{30 * time.Second, 2, "the answer of a provider could not be saved; the provider is called again"},
	} {
		var log bytes.Buffer
		var held atomic.Bool
		k, runs := withRuns(t, func(_ *engine.Ports, o *engine.Options) {
			o.Log = slog.New(slog.NewTextHandler(&log, nil))
		})
		onAppend(runs, func(_ verification.RunID, c store.Commit) error {
			if held.Load() {
				return verification.Unavailable("run", "a transaction that is still open holds the run")
			}
			return nil
		})
		k.Provider.On("a", enginetest.Slow(time.Second, enginetest.Pass(nil)), enginetest.Pass(nil))
		id := startFor(t, k, enginetest.Tenant, k.Apply(chain("a")), engine.StartRequest{ReferenceID: "x"})
		held.Store(true)
		k.Advance(tt.held)
		held.Store(false)
		k.Advance(time.Minute)
		wantStatus(t, k.Run(id), rules.StatusCompleted)
		if n := len(k.Provider.Calls("a")); n != tt.calls {
			t.Errorf("held for %s: the provider was called %d times, want %d", tt.held, n, tt.calls)
		}
		if !strings.Contains(log.String(), tt.says) || !strings.Contains(log.String(), "a transaction that is still open holds the run") {
			t.Errorf("held for %s: the log does not say %q and the cause:\n%s", tt.held, tt.says, log.String())
		}
	}
}
