// Test of a standby that is promoted.

package postgres_test

import (
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
)

func TestAPromotionIsToldBeforeTheServerIsUsed(t *testing.T) {
	pgtest.SkipIfShort(t)
	primary, err := pgtest.Start(t.Context(), pgtest.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, primary.Close()) })
	must(t, primary.CreateDatabase(t.Context(), "verifyd", ""))
	_, err = postgres.Migrate(t.Context(), primary.URL("verifyd"))
	must(t, err)
	at, err := url.Parse(primary.URL("verifyd"))
	must(t, err)
	standby, _, err := primary.Standby(t.Context(), at.Host, "standby", true)
	must(t, err)
	t.Cleanup(func() { must(t, standby.Close()) })
	other, err := url.Parse(standby.URL("verifyd"))
	must(t, err)
	at.Host += "," + other.Host
	at.RawQuery += "&target_session_attrs=read-write"
	var told atomic.Int32
	s := openAt(t, at.String(), postgres.Options{Moved: func() { told.Add(1) }})
	must(t, primary.Restart(t.Context()))
	until := time.Now().Add(time.Minute)
	answers := func() {
		t.Helper()
		for s.Ping(t.Context()) != nil {
			if time.Now().After(until) {
				t.Fatal(s.Ping(t.Context()))
			}
		}
	}
	if answers(); told.Load() != 0 {
		t.Errorf("a restart was told %d times as a promotion", told.Load())
	}
	must(t, primary.Kill())
	must(t, standby.Promote(t.Context()))
	if answers(); told.Load() != 1 {
		t.Errorf("the promotion was told %d times, want once", told.Load())
	}
}
