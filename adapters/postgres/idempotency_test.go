package postgres_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/rig/pgtest"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

func TestOldIdempotencyKeysOfEveryTenantAreRemoved(t *testing.T) {
	s := fresh(t)
	const old, young = 7, 3
	for n := range old + young {
		r := startRecord(fmt.Sprintf("key-%d", n), runNumber(n), noon().Add(time.Duration(n)*time.Minute))
		_, err := s.ClaimIdempotencyKey(t.Context(), tenantNumber(n%2), r)
		must(t, err)
	}
	last := noon().Add((old - 1) * time.Minute)
	for _, want := range []int{old, 0} {
		if n, err := s.ForgetKeys(t.Context(), last, 3); err != nil || n != want {
			t.Errorf("forgetKeys = %d, %v, want %d", n, err, want)
		}
	}
	for n := range old + young {
		key := startRecord(fmt.Sprintf("key-%d", n), "", noon()).IdempotencyKey
		_, err := s.IdempotencyRecord(t.Context(), tenantNumber(n%2), key, noon())
		if forgotten := errors.Is(err, verification.ErrNotFound); forgotten != (n < old) || err != nil && !forgotten {
			t.Errorf("IdempotencyRecord of claim %d: %v, want it to be forgotten: %t", n, err, n < old)
		}
	}
}

func TestOneOfManyClaimsReplacesAnExpiredRecord(t *testing.T) {
	s := fresh(t)
	for round := range 10 {
		key := fmt.Sprintf("key-%d", round)
		old := startRecord(key, runNumber(99), noon())
		_, err := s.ClaimIdempotencyKey(t.Context(), tenantNumber(1), old)
		must(t, err)
		const meeting = 8
		kept, errs := make([]store.IdempotencyRecord, meeting), make([]error, meeting)
		var together sync.WaitGroup
		for n := range meeting {
			together.Go(func() {
				kept[n], errs[n] = s.ClaimIdempotencyKey(t.Context(), tenantNumber(1),
					startRecord(key, runNumber(n), noon().Add(store.IdempotencyKeyTTL+time.Duration(n)*time.Second)))
			})
			together.Go(func() {
				if _, err := s.ForgetKeys(t.Context(), noon(), 100); err != nil {
					t.Errorf("forgetKeys: %v", err)
				}
			})
		}
		together.Wait()
		must(t, errors.Join(errs...))
		for n := range meeting {
			if kept[n] != kept[0] || kept[n].ID == old.ID {
				t.Errorf("caller %d was given %v, caller 0 %v", n, kept[n], kept[0])
			}
		}
	}
}

func TestAClaimKeepsItsTimeToTheMicrosecond(t *testing.T) {
	s := fresh(t)
	at := noon().In(time.FixedZone("", 19800)).Add(123456789)
	c := startRecord("key", runNumber(1), at)
	want := c
	want.At = at.UTC().Truncate(time.Microsecond)
	for range 2 {
		if got, err := s.ClaimIdempotencyKey(t.Context(), tenantNumber(1), c); err != nil || got != want {
			t.Errorf("ClaimIdempotencyKey = %v, %v, want %v", got, err, want)
		}
	}
}

// startRecord is the claim of a start.
func startRecord(key string, run verification.RunID, at time.Time) store.IdempotencyRecord {
	return store.IdempotencyRecord{
		IdempotencyKey: store.IdempotencyKey{Scope: store.ScopeStart, Key: key},
		Fingerprint:    "f", ID: string(run), At: at,
	}
}

func TestAClaimWhoseRecordKeepsVanishingFails(t *testing.T) {
	url := pgtest.Database(t)
	s := openAt(t, url, postgres.Options{})
	conn, err := pgx.Connect(t.Context(), pgtest.Admin(t, url))
	must(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	const vanish = `
CREATE FUNCTION verifyd.vanish() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER vanish BEFORE INSERT ON verifyd.idempotency_keys FOR EACH ROW EXECUTE FUNCTION verifyd.vanish()`
	_, err = conn.Exec(t.Context(), vanish)
	must(t, err)
	_, err = s.ClaimIdempotencyKey(t.Context(), ours, startRecord("key", runNumber(1), noon()))
	if !errors.Is(err, verification.ErrUnavailable) {
		t.Errorf("ClaimIdempotencyKey = %v, want ErrUnavailable", err)
	}
}
