// The clauses on idempotency keys.

package storetest

import (
	"fmt"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// StartKeys are the clauses on what an idempotency key stands for.
func StartKeys() []Clause {
	const claims = "StartKeys.ClaimStart: "
	return []Clause{
		clause("the first claim of a key is kept and later ones are given it",
			claims+"keeps the claim under the key unless one younger than StartKeyLife is there, and returns the one that is kept",
			firstClaim),
		clause("a claim lives for a day",
			claims+"unless one younger than StartKeyLife is there",
			claimLife),
		clause("of claims that meet exactly one is kept",
			claims+"returns the one that is kept",
			claimsMeet),
		clause("a settled claim says so",
			"StartKeys.SettleStart: marks the claim of this run as answered",
			settled),
		clause("settling leaves the claim of another run alone",
			"StartKeys.SettleStart: marks the claim of this run",
			settledOther),
		clause("a claim is found as long as it lives",
			"StartKeys.FindStart: returns the claim that a key stands for at a moment, or ErrNotFound when there is none younger than StartKeyLife",
			claimFound),
		clause("a claim whose context is over is not kept",
			claims+"returns the one that is kept",
			cancelledClaim),
		clause("the keys of two tenants are kept apart",
			"StartKeys: every method is of one tenant",
			keysApart),
	}
}

func claim(n int, at time.Time) verification.StartClaim {
	return verification.StartClaim{Fingerprint: fmt.Sprintf("request-%d", n), Run: runID(n), At: at}
}

// claims wants a claim under a key to be answered with one.
func (t *trial) claims(tenant verification.TenantID, key string, c, want verification.StartClaim) {
	if !t.over() {
		got, err := t.store.ClaimStart(t.ctx, tenant, key, c)
		t.ok("ClaimStart", err)
		same(t, "the claim of "+key, got, want)
	}
}

func (t *trial) settle(tenant verification.TenantID, key string, run verification.RunID) {
	if !t.over() {
		t.ok("SettleStart", t.store.SettleStart(t.ctx, tenant, key, run))
	}
}

func firstClaim(t *trial) {
	first := claim(1, moment(0))
	t.claims(ours, "key", first, first)
	for n := 1; n <= 3; n++ {
		t.claims(ours, "key", claim(n, moment(time.Duration(n)*time.Hour)), first)
	}
	for n, key := range []string{"KEY", "key ", "key2", prose} {
		other := claim(n+4, moment(0))
		t.claims(ours, key, other, other)
	}
	t.claims(ours, "key", claim(9, moment(time.Hour)), first)
}

func claimLife(t *trial) {
	const life = verification.StartKeyLife
	first, second, third := claim(1, moment(0)), claim(2, moment(life)), claim(3, moment(2*life))
	t.claims(ours, "key", first, first)
	t.claims(ours, "other", claim(7, moment(life/2)), claim(7, moment(life/2)))
	t.claims(ours, "key", claim(4, moment(life-tick)), first)
	t.settle(ours, "key", first.Run)
	t.claims(ours, "key", second, second)
	t.claims(ours, "other", claim(8, moment(life)), claim(7, moment(life/2)))
	t.claims(ours, "key", claim(5, moment(2*life-tick)), second)
	t.claims(ours, "key", third, third)
}

func claimsMeet(t *trial) {
	for round := 0; round < 10 && !t.over(); round++ {
		key := fmt.Sprintf("key-%d", round)
		kept, errs := make([]verification.StartClaim, meeting), make([]error, meeting)
		together(func(caller int) {
			kept[caller], errs[caller] = t.store.ClaimStart(t.ctx, ours, key, claim(caller+1, moment(time.Duration(caller)*tick)))
		})
		for caller := range meeting {
			t.ok("ClaimStart", errs[caller])
			same(t, "the claim that another caller was given", kept[caller], kept[0])
		}
		t.claims(ours, key, claim(99, moment(time.Hour)), kept[0])
	}
}

func settled(t *trial) {
	c := claim(1, moment(0))
	t.claims(ours, "key", c, c)
	t.claims(ours, "other", c, c)
	t.settle(ours, "key", c.Run)
	answered := c
	answered.Settled = true
	t.claims(ours, "key", claim(2, moment(time.Hour)), answered)
	t.claims(ours, "other", claim(2, moment(time.Hour)), c)
}

func settledOther(t *trial) {
	c := claim(1, moment(0))
	t.claims(ours, "key", c, c)
	t.settle(ours, "key", runID(2))
	t.claims(ours, "key", claim(3, moment(time.Hour)), c)
	// The claim was replaced before the first run was answered.
	next := claim(4, moment(verification.StartKeyLife))
	t.claims(ours, "key", next, next)
	t.settle(ours, "key", c.Run)
	t.claims(ours, "key", claim(5, moment(verification.StartKeyLife+time.Hour)), next)
	// Nothing is kept of a key that nobody claimed.
	t.settle(ours, "never", runID(6))
	t.claims(ours, "never", claim(6, moment(0)), claim(6, moment(0)))
}

// finds wants a key to stand for a claim at a moment; nil for none.
func (t *trial) finds(tenant verification.TenantID, key string, now time.Time, want *verification.StartClaim) {
	if t.over() {
		return
	}
	got, err := t.store.FindStart(t.ctx, tenant, key, now)
	if want == nil {
		t.refused("FindStart of "+key, err, verification.ErrNotFound)
		return
	}
	t.ok("FindStart", err)
	same(t, "the claim found under "+key, got, *want)
}

func claimFound(t *trial) {
	const life = verification.StartKeyLife
	c := claim(1, moment(0))
	t.finds(ours, "key", moment(0), nil)
	t.claims(ours, "key", c, c)
	t.finds(ours, "key", moment(life-tick), &c)
	t.finds(ours, "key", moment(life), nil)
	t.finds(theirs, "key", moment(0), nil)
	t.settle(ours, "key", c.Run)
	c.Settled = true
	t.finds(ours, "key", moment(time.Hour), &c)
}

func cancelledClaim(t *trial) {
	if _, err := t.store.ClaimStart(cancelled(t.ctx), ours, "key", claim(1, moment(0))); err == nil {
		t.faultf("ClaimStart under a context that is over succeeded, want an error")
	}
	second := claim(2, moment(time.Minute))
	t.claims(ours, "key", second, second)
}

func keysApart(t *trial) {
	mine, yours := claim(1, moment(0)), claim(1, moment(time.Hour))
	yours.Fingerprint = "theirs"
	t.claims(ours, "key", mine, mine)
	t.claims(theirs, "key", yours, yours)
	t.settle(theirs, "key", yours.Run)
	t.claims(ours, "key", claim(2, moment(2*time.Hour)), mine)
	yours.Settled = true
	t.claims(theirs, "key", claim(2, moment(2*time.Hour)), yours)
}
