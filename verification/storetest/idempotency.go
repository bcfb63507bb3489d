// The clauses on idempotency keys.

package storetest

import (
	"fmt"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// Idempotency are the clauses on what an idempotency key stands for.
func Idempotency() []Clause {
	const claims = "IdempotencyStore.ClaimIdempotencyKey: "
	return []Clause{
		clause("the first claim of a key is kept and later ones are given it",
			claims+"keeps the record under its key unless one younger than IdempotencyKeyTTL is there, and returns the one that is kept",
			firstClaim),
		clause("a claim lives for a day",
			claims+"unless one younger than IdempotencyKeyTTL is there",
			claimLife),
		clause("of claims that meet exactly one is kept",
			claims+"returns the one that is kept",
			claimsMeet),
		clause("a settled claim says so, and what was answered",
			"IdempotencyStore.SettleIdempotencyKey: marks the record with this ID as settled, and keeps its Result and Decision",
			settled),
		clause("settling leaves the claim of another request alone",
			"IdempotencyStore.SettleIdempotencyKey: marks the record with this ID",
			settledOther),
		clause("a released key is free",
			"IdempotencyStore.ReleaseIdempotencyKey: removes the record with this ID",
			keyReleased),
		clause("only the request that holds a key releases it, and not once it is settled",
			"IdempotencyStore.ReleaseIdempotencyKey: removes the record with this ID unless it is settled",
			keyReleasedOther),
		clause("a claim is found as long as it lives",
			"IdempotencyStore.IdempotencyRecord: returns the record under a key at a time, or ErrNotFound when there is none younger than IdempotencyKeyTTL",
			claimFound),
		clause("a claim whose context is over is not kept",
			claims+"returns the one that is kept",
			cancelledClaim),
		clause("the keys of two tenants are kept apart",
			"IdempotencyStore: every method is of one tenant",
			keysApart),
		clause("the keys of two scopes are kept apart",
			"IdempotencyScope: the same key in two scopes is two keys",
			scopesApart),
	}
}

// claim is the start number n under a key.
func claim(key string, n int, at time.Time) verification.IdempotencyRecord {
	return verification.IdempotencyRecord{
		IdempotencyKey: verification.IdempotencyKey{Scope: verification.ScopeStart, Key: key},
		Fingerprint:    fmt.Sprintf("request-%d", n), ID: string(runID(n)), At: at,
	}
}

// claims wants a claim to be answered with one.
func (t *trial) claims(tenant verification.TenantID, r, want verification.IdempotencyRecord) {
	if !t.over() {
		got, err := t.store.ClaimIdempotencyKey(t.ctx, tenant, r)
		t.ok("ClaimIdempotencyKey", err)
		same(t, "the claim of "+r.Key, got, want)
	}
}

func (t *trial) settleKey(tenant verification.TenantID, r verification.IdempotencyRecord) {
	if !t.over() {
		t.ok("SettleIdempotencyKey", t.store.SettleIdempotencyKey(t.ctx, tenant, r))
	}
}

func (t *trial) releaseKey(tenant verification.TenantID, r verification.IdempotencyRecord) {
	if !t.over() {
		t.ok("ReleaseIdempotencyKey", t.store.ReleaseIdempotencyKey(t.ctx, tenant, r))
	}
}

// settledAs is a record as it is once it was settled as a verdict.
func settledAs(r verification.IdempotencyRecord) verification.IdempotencyRecord {
	r.Settled, r.Result, r.Decision = true, "signal_delivered", verification.DecisionApprove
	return r
}

func firstClaim(t *trial) {
	first := claim("key", 1, moment(0))
	t.claims(ours, first, first)
	for n := 2; n <= 4; n++ {
		t.claims(ours, claim("key", n, moment(time.Duration(n)*time.Hour)), first)
	}
	for n, key := range []string{"KEY", "key ", "key2", prose} {
		other := claim(key, n+4, moment(0))
		t.claims(ours, other, other)
	}
	t.claims(ours, claim("key", 9, moment(time.Hour)), first)
}

func claimLife(t *trial) {
	const life = verification.IdempotencyKeyTTL
	first, second, third := claim("key", 1, moment(0)), claim("key", 2, moment(life)), claim("key", 3, moment(2*life))
	other := claim("other", 7, moment(life/2))
	t.claims(ours, first, first)
	t.claims(ours, other, other)
	t.claims(ours, claim("key", 4, moment(life-tick)), first)
	t.settleKey(ours, settledAs(first))
	t.claims(ours, second, second)
	t.claims(ours, claim("other", 8, moment(life)), other)
	t.claims(ours, claim("key", 5, moment(2*life-tick)), second)
	t.claims(ours, third, third)
}

func claimsMeet(t *trial) {
	for round := 0; round < 10 && !t.over(); round++ {
		key := fmt.Sprintf("key-%d", round)
		kept, errs := make([]verification.IdempotencyRecord, meeting), make([]error, meeting)
		together(func(caller int) {
			kept[caller], errs[caller] = t.store.ClaimIdempotencyKey(t.ctx, ours, claim(key, caller+1, moment(time.Duration(caller)*tick)))
		})
		for caller := range meeting {
			t.ok("ClaimIdempotencyKey", errs[caller])
			same(t, "the claim that another caller was given", kept[caller], kept[0])
		}
		t.claims(ours, claim(key, 99, moment(time.Hour)), kept[0])
	}
}

func settled(t *trial) {
	key, other := claim("key", 1, moment(0)), claim("other", 1, moment(0))
	t.claims(ours, key, key)
	t.claims(ours, other, other)
	t.settleKey(ours, settledAs(key))
	t.claims(ours, claim("key", 2, moment(time.Hour)), settledAs(key))
	t.claims(ours, claim("other", 2, moment(time.Hour)), other)
}

func settledOther(t *trial) {
	c := claim("key", 1, moment(0))
	t.claims(ours, c, c)
	t.settleKey(ours, settledAs(claim("key", 2, moment(0))))
	t.claims(ours, claim("key", 3, moment(time.Hour)), c)
	// The claim was replaced before the first request was answered.
	next := claim("key", 4, moment(verification.IdempotencyKeyTTL))
	t.claims(ours, next, next)
	t.settleKey(ours, settledAs(c))
	t.claims(ours, claim("key", 5, moment(verification.IdempotencyKeyTTL+time.Hour)), next)
	// Nothing is kept of a key that nobody claimed.
	never := claim("never", 6, moment(0))
	t.settleKey(ours, settledAs(never))
	t.claims(ours, never, never)
}

func keyReleased(t *trial) {
	c, other := claim("key", 1, moment(0)), claim("other", 1, moment(0))
	t.claims(ours, c, c)
	t.claims(ours, other, other)
	t.releaseKey(ours, c)
	t.finds(ours, c.IdempotencyKey, moment(0), nil)
	t.finds(ours, other.IdempotencyKey, moment(0), &other)
	next := claim("key", 2, moment(time.Hour))
	t.claims(ours, next, next)
	// The next holder of the key lives its whole life.
	t.claims(ours, claim("key", 3, moment(verification.IdempotencyKeyTTL+tick)), next)
}

func keyReleasedOther(t *trial) {
	c := claim("key", 1, moment(0))
	t.claims(ours, c, c)
	t.releaseKey(ours, claim("key", 2, moment(0)))
	t.releaseKey(theirs, c)
	t.finds(ours, c.IdempotencyKey, moment(0), &c)
	t.settleKey(ours, settledAs(c))
	t.releaseKey(ours, c)
	c = settledAs(c)
	t.finds(ours, c.IdempotencyKey, moment(0), &c)
}

// finds wants a key to stand for a claim at a time; nil for none.
func (t *trial) finds(tenant verification.TenantID, key verification.IdempotencyKey, now time.Time, want *verification.IdempotencyRecord) {
	if t.over() {
		return
	}
	got, err := t.store.IdempotencyRecord(t.ctx, tenant, key, now)
	if want == nil {
		t.refused("IdempotencyRecord of "+key.Key, err, verification.ErrNotFound)
		return
	}
	t.ok("IdempotencyRecord", err)
	same(t, "the claim found under "+key.Key, got, *want)
}

func claimFound(t *trial) {
	const life = verification.IdempotencyKeyTTL
	c := claim("key", 1, moment(0))
	t.finds(ours, c.IdempotencyKey, moment(0), nil)
	t.claims(ours, c, c)
	t.finds(ours, c.IdempotencyKey, moment(life-tick), &c)
	t.finds(ours, c.IdempotencyKey, moment(life), nil)
	t.finds(theirs, c.IdempotencyKey, moment(0), nil)
	c = settledAs(c)
	t.settleKey(ours, c)
	t.finds(ours, c.IdempotencyKey, moment(time.Hour), &c)
}

func cancelledClaim(t *trial) {
	if _, err := t.store.ClaimIdempotencyKey(cancelled(t.ctx), ours, claim("key", 1, moment(0))); err == nil {
		t.faultf("ClaimIdempotencyKey under a context that is over succeeded, want an error")
	}
	second := claim("key", 2, moment(time.Minute))
	t.claims(ours, second, second)
}

func keysApart(t *trial) {
	mine, yours := claim("key", 1, moment(0)), claim("key", 1, moment(time.Hour))
	yours.Fingerprint = "theirs"
	t.claims(ours, mine, mine)
	t.claims(theirs, yours, yours)
	t.settleKey(theirs, settledAs(yours))
	t.claims(ours, claim("key", 2, moment(2*time.Hour)), mine)
	t.claims(theirs, claim("key", 2, moment(2*time.Hour)), settledAs(yours))
}

func scopesApart(t *trial) {
	start, signal := claim("key", 1, moment(0)), claim("key", 1, moment(time.Hour))
	signal.Scope = verification.ScopeSignal
	t.claims(ours, start, start)
	t.claims(ours, signal, signal)
	t.settleKey(ours, settledAs(signal))
	t.finds(ours, start.IdempotencyKey, moment(time.Hour), &start)
	t.releaseKey(ours, start)
	signal = settledAs(signal)
	t.finds(ours, signal.IdempotencyKey, moment(time.Hour), &signal)
}
