// The clauses on idempotency keys.

package storetest

import (
	"fmt"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

func idempotency() []clause {
	const (
		claims  = "Tables.ClaimIdempotencyKey: "
		settle  = "Tables.SettleIdempotencyKey: "
		release = "Tables.ReleaseIdempotencyKey: "
	)
	return []clause{
		{"the first claim of a key is stored, and later claims return it", claims + "stores the record unless its key has one younger than IdempotencyKeyTTL. It returns the stored record", firstClaim},
		{"a claim lasts for IdempotencyKeyTTL", claims + "unless its key has one younger than IdempotencyKeyTTL", claimExpires},
		{"exactly one of concurrent claims is stored", claims + "returns the stored record", concurrentClaims},
		{"a settled record has its result", settle + "marks the record with this ID as settled and stores its Result and Decision", settled},
		{"settling does not change the record of another request", settle + "marks the record with this ID", settledByAnother},
		{"a released key can be claimed", release + "removes the record with this ID", keyReleased},
		{"only an unsettled record with the same ID is released", release + "removes the record with this ID unless it is settled", keyReleasedByAnother},
		{"a record is found while it lasts", "Tables.IdempotencyRecord: returns the record of a key, or ErrNotFound if there is none younger than IdempotencyKeyTTL at now", claimFound},
		{"a claim with a cancelled context is not stored", claims + "returns the stored record", cancelledClaim},
		{"two tenants have separate keys", "IdempotencyKeyRecord.Tenant: a key is of one tenant", keysOfTwoTenants},
		{"two scopes have separate keys", "IdempotencyScope: the same key in two scopes is two keys", keysOfTwoScopes},
	}
}

// claim returns the record of start number n under a key.
func claim(key string, n int, at time.Time) store.IdempotencyRecord {
	return store.IdempotencyRecord{
		IdempotencyKey: store.IdempotencyKey{Scope: store.ScopeStart, Key: key},
		Fingerprint:    fmt.Sprintf("request-%d", n), ID: string(runID(n)), At: at,
	}
}

// claims claims a key, and ends the clause unless the stored record is want.
func (t *trial) claims(tenant verification.TenantID, r, want store.IdempotencyRecord) {
	got, err := t.tables.ClaimIdempotencyKey(t.ctx, tenant, r)
	t.ok("ClaimIdempotencyKey", err)
	same(t, "the record of "+r.Key, got, want)
}

func (t *trial) settleKey(tenant verification.TenantID, r store.IdempotencyRecord) {
	t.ok("SettleIdempotencyKey", t.tables.SettleIdempotencyKey(t.ctx, tenant, r))
}

func (t *trial) releaseKey(tenant verification.TenantID, r store.IdempotencyRecord) {
	t.ok("ReleaseIdempotencyKey", t.tables.ReleaseIdempotencyKey(t.ctx, tenant, r))
}

// settledAs returns a record settled as a verdict.
func settledAs(r store.IdempotencyRecord) store.IdempotencyRecord {
	r.Settled, r.Result, r.Decision = true, "signal_delivered", rules.DecisionApprove
	return r
}

func firstClaim(t *trial) {
	first := claim("key", 1, instant(0))
	t.claims(ours, first, first)
	for n := 2; n <= 4; n++ {
		t.claims(ours, claim("key", n, instant(time.Duration(n)*time.Hour)), first)
	}
	for n, key := range []string{"KEY", "key ", "key2", oddText} {
		other := claim(key, n+4, instant(0))
		t.claims(ours, other, other)
	}
	t.claims(ours, claim("key", 9, instant(time.Hour)), first)
}

func claimExpires(t *trial) {
	const life = store.IdempotencyKeyTTL
	first, second, third := claim("key", 1, instant(0)), claim("key", 2, instant(life)), claim("key", 3, instant(2*life))
	other := claim("other", 7, instant(life/2))
	t.claims(ours, first, first)
	t.claims(ours, other, other)
	t.claims(ours, claim("key", 4, instant(life-tick)), first)
	t.settleKey(ours, settledAs(first))
	t.claims(ours, second, second)
	t.claims(ours, claim("other", 8, instant(life)), other)
	t.claims(ours, claim("key", 5, instant(2*life-tick)), second)
	t.claims(ours, third, third)
}

func concurrentClaims(t *trial) {
	for round := 0; round < 10; round++ {
		key := fmt.Sprintf("key-%d", round)
		var stored [callers]store.IdempotencyRecord
		errs := concurrently(func(caller int) (err error) {
			stored[caller], err = t.tables.ClaimIdempotencyKey(t.ctx, ours, claim(key, caller+1, instant(time.Duration(caller)*tick)))
			return err
		})
		for caller := range callers {
			t.ok("ClaimIdempotencyKey", errs[caller])
			same(t, "the record that another caller got", stored[caller], stored[0])
		}
		t.claims(ours, claim(key, 99, instant(time.Hour)), stored[0])
	}
}

func settled(t *trial) {
	key, other := claim("key", 1, instant(0)), claim("other", 1, instant(0))
	t.claims(ours, key, key)
	t.claims(ours, other, other)
	t.settleKey(ours, settledAs(key))
	t.claims(ours, claim("key", 2, instant(time.Hour)), settledAs(key))
	t.claims(ours, claim("other", 2, instant(time.Hour)), other)
}

func settledByAnother(t *trial) {
	c := claim("key", 1, instant(0))
	t.claims(ours, c, c)
	t.settleKey(ours, settledAs(claim("key", 2, instant(0))))
	t.claims(ours, claim("key", 3, instant(time.Hour)), c)
	// The record expires and is replaced before the first request is settled.
	next := claim("key", 4, instant(store.IdempotencyKeyTTL))
	t.claims(ours, next, next)
	t.settleKey(ours, settledAs(c))
	t.claims(ours, claim("key", 5, instant(store.IdempotencyKeyTTL+time.Hour)), next)
	// Settling an unclaimed key stores nothing.
	never := claim("never", 6, instant(0))
	t.settleKey(ours, settledAs(never))
	t.claims(ours, never, never)
}

func keyReleased(t *trial) {
	c, other := claim("key", 1, instant(0)), claim("other", 1, instant(0))
	t.claims(ours, c, c)
	t.claims(ours, other, other)
	t.releaseKey(ours, c)
	t.finds(ours, c.IdempotencyKey, instant(0), nil)
	t.finds(ours, other.IdempotencyKey, instant(0), &other)
	next := claim("key", 2, instant(time.Hour))
	t.claims(ours, next, next)
	// The next record lasts for its whole life.
	t.claims(ours, claim("key", 3, instant(store.IdempotencyKeyTTL+tick)), next)
}

func keyReleasedByAnother(t *trial) {
	c := claim("key", 1, instant(0))
	t.claims(ours, c, c)
	t.releaseKey(ours, claim("key", 2, instant(0)))
	t.releaseKey(theirs, c)
	t.finds(ours, c.IdempotencyKey, instant(0), &c)
	t.settleKey(ours, settledAs(c))
	t.releaseKey(ours, c)
	c = settledAs(c)
	t.finds(ours, c.IdempotencyKey, instant(0), &c)
}

// finds ends the clause unless want is the record of a key at a time; nil is none.
func (t *trial) finds(tenant verification.TenantID, key store.IdempotencyKey, now time.Time, want *store.IdempotencyRecord) {
	got, err := t.tables.IdempotencyRecord(t.ctx, tenant, key, now)
	if want == nil {
		t.refused("IdempotencyRecord of "+key.Key, err, verification.ErrNotFound)
		return
	}
	t.ok("IdempotencyRecord", err)
	same(t, "the record found under "+key.Key, got, *want)
}

func claimFound(t *trial) {
	const life = store.IdempotencyKeyTTL
	c := claim("key", 1, instant(0))
	t.finds(ours, c.IdempotencyKey, instant(0), nil)
	t.claims(ours, c, c)
	t.finds(ours, c.IdempotencyKey, instant(life-tick), &c)
	t.finds(ours, c.IdempotencyKey, instant(life), nil)
	t.finds(theirs, c.IdempotencyKey, instant(0), nil)
	c = settledAs(c)
	t.settleKey(ours, c)
	t.finds(ours, c.IdempotencyKey, instant(time.Hour), &c)
}

func cancelledClaim(t *trial) {
	if _, err := t.tables.ClaimIdempotencyKey(cancelled(t.ctx), ours, claim("key", 1, instant(0))); err == nil {
		t.failf("ClaimIdempotencyKey with a cancelled context succeeded, want an error")
	}
	second := claim("key", 2, instant(time.Minute))
	t.claims(ours, second, second)
}

func keysOfTwoTenants(t *trial) {
	mine, yours := claim("key", 1, instant(0)), claim("key", 1, instant(time.Hour))
	yours.Fingerprint = "theirs"
	t.claims(ours, mine, mine)
	t.claims(theirs, yours, yours)
	t.settleKey(theirs, settledAs(yours))
	t.claims(ours, claim("key", 2, instant(2*time.Hour)), mine)
	t.claims(theirs, claim("key", 2, instant(2*time.Hour)), settledAs(yours))
}

func keysOfTwoScopes(t *trial) {
	start, signal := claim("key", 1, instant(0)), claim("key", 1, instant(time.Hour))
	signal.Scope = store.ScopeSignal
	t.claims(ours, start, start)
	t.claims(ours, signal, signal)
	t.settleKey(ours, settledAs(signal))
	t.finds(ours, start.IdempotencyKey, instant(time.Hour), &start)
	t.releaseKey(ours, start)
	signal = settledAs(signal)
	t.finds(ours, signal.IdempotencyKey, instant(time.Hour), &signal)
}
