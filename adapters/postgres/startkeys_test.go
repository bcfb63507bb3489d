package postgres_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/verifyd/verifyd/adapters/postgres"
	"github.com/verifyd/verifyd/internal/pgtest"
	"github.com/verifyd/verifyd/verification"
)

func TestOldClaimsOfEveryTenantAreForgotten(t *testing.T) {
	s := fresh(t)
	const old, young = 7, 3
	for n := range old + young {
		_, err := s.ClaimStart(t.Context(), tenantNumber(n%2), fmt.Sprintf("key-%d", n), verification.StartClaim{
			Run: runNumber(n), At: noon().Add(time.Duration(n) * time.Minute),
		})
		must(t, err)
	}
	last := noon().Add((old - 1) * time.Minute)
	for _, want := range []int{old, 0} {
		if n, err := s.ForgetStarts(t.Context(), last, 3); err != nil || n != want {
			t.Errorf("forgetStarts = %d, %v, want %d", n, err, want)
		}
	}
	for n := range old + young {
		_, err := s.FindStart(t.Context(), tenantNumber(n%2), fmt.Sprintf("key-%d", n), noon())
		if forgotten := errors.Is(err, verification.ErrNotFound); forgotten != (n < old) || err != nil && !forgotten {
			t.Errorf("FindStart of claim %d: %v, want it to be forgotten: %t", n, err, n < old)
		}
	}
}

func TestAClaimThatLivedItsLifeHasOneHeir(t *testing.T) {
	s := fresh(t)
	for round := range 10 {
		key := fmt.Sprintf("key-%d", round)
		_, err := s.ClaimStart(t.Context(), tenantNumber(1), key, verification.StartClaim{Run: runNumber(99), At: noon(), Fingerprint: "old"})
		must(t, err)
		const meeting = 8
		kept, errs := make([]verification.StartClaim, meeting), make([]error, meeting)
		var together sync.WaitGroup
		for n := range meeting {
			together.Go(func() {
				kept[n], errs[n] = s.ClaimStart(t.Context(), tenantNumber(1), key, verification.StartClaim{
					Run: runNumber(n), At: noon().Add(verification.StartKeyLife + time.Duration(n)*time.Second),
				})
			})
			together.Go(func() {
				if _, err := s.ForgetStarts(t.Context(), noon(), 100); err != nil {
					t.Errorf("forgetStarts: %v", err)
				}
			})
		}
		together.Wait()
		must(t, errors.Join(errs...))
		for n := range meeting {
			if kept[n] != kept[0] || kept[n].Run == runNumber(99) {
				t.Errorf("caller %d was given %v, caller 0 %v", n, kept[n], kept[0])
			}
		}
	}
}

func TestAClaimSaysWhenItWasMadeToTheMicrosecond(t *testing.T) {
	s := fresh(t)
	at := noon().In(time.FixedZone("", 19800)).Add(123456789)
	c := verification.StartClaim{Run: runNumber(1), At: at, Fingerprint: "f"}
	want := c
	want.At = at.UTC().Truncate(time.Microsecond)
	for range 2 {
		if got, err := s.ClaimStart(t.Context(), tenantNumber(1), "key", c); err != nil || got != want {
			t.Errorf("ClaimStart = %v, %v, want %v", got, err, want)
		}
	}
}

func TestForgettingLeavesTheRestToTheNextCall(t *testing.T) {
	s := fresh(t)
	const claims = 120
	for n := range claims {
		_, err := s.ClaimStart(t.Context(), ours, fmt.Sprintf("key-%d", n), verification.StartClaim{Run: runNumber(n), At: noon()})
		must(t, err)
	}
	for _, want := range []int{100, 20, 0} {
		if n, err := s.ForgetStarts(t.Context(), noon(), 1); err != nil || n != want {
			t.Errorf("forgetStarts = %d, %v, want %d", n, err, want)
		}
	}
}

func TestAClaimThatIsNeverFoundGivesUp(t *testing.T) {
	url := pgtest.Database(t)
	s := openAt(t, url, postgres.Options{})
	conn, err := pgx.Connect(t.Context(), pgtest.Admin(t, url))
	must(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	const vanish = `
CREATE FUNCTION verifyd.vanish() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER vanish BEFORE INSERT ON verifyd.start_keys FOR EACH ROW EXECUTE FUNCTION verifyd.vanish()`
	_, err = conn.Exec(t.Context(), vanish)
	must(t, err)
	_, err = s.ClaimStart(t.Context(), ours, "key", verification.StartClaim{Run: runNumber(1), At: noon()})
	if !errors.Is(err, verification.ErrUnavailable) {
		t.Errorf("ClaimStart = %v, want ErrUnavailable", err)
	}
}
