package storetest_test

import (
	"context"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/storetest"
)

// claiming breaks what ClaimIdempotencyKey is given and what it gives.
func claiming(claim func(ctx context.Context, sound storetest.Store, t tenantID, r record) (record, error)) func(storetest.Store) storetest.Store {
	return when(func(b *broken, sound storetest.Store) {
		b.claimKey = func(ctx context.Context, t tenantID, r record) (record, error) {
			return claim(ctx, sound, t, r)
		}
	})
}

// scopeless is a store that keeps its keys without their scope.
func scopeless() func(storetest.Store) storetest.Store {
	one := func(r record) record { r.Scope = verification.ScopeStart; return r }
	return when(func(b *broken, sound storetest.Store) {
		b.record = func(ctx context.Context, t tenantID, k verification.IdempotencyKey, now time.Time) (record, error) {
			return sound.IdempotencyRecord(ctx, t, one(record{IdempotencyKey: k}).IdempotencyKey, now)
		}
		b.claimKey = func(ctx context.Context, t tenantID, r record) (record, error) {
			return sound.ClaimIdempotencyKey(ctx, t, one(r))
		}
		b.settleKey = func(ctx context.Context, t tenantID, r record) error {
			return sound.SettleIdempotencyKey(ctx, t, one(r))
		}
		b.releaseKey = func(ctx context.Context, t tenantID, r record) error {
			return sound.ReleaseIdempotencyKey(ctx, t, one(r))
		}
	})
}

// whoever lets any request settle or release what another one holds.
func whoever(settle, release bool) func(storetest.Store) storetest.Store {
	return when(func(b *broken, sound storetest.Store) {
		holder := func(ctx context.Context, t tenantID, r record) record {
			if kept, err := sound.IdempotencyRecord(ctx, t, r.IdempotencyKey, r.At); err == nil {
				r.ID = kept.ID
			}
			return r
		}
		if settle {
			b.settleKey = func(ctx context.Context, t tenantID, r record) error {
				return sound.SettleIdempotencyKey(ctx, t, holder(ctx, t, r))
			}
		}
		if release {
			b.releaseKey = func(ctx context.Context, t tenantID, r record) error {
				return sound.ReleaseIdempotencyKey(ctx, t, holder(ctx, t, r))
			}
		}
	})
}

func idempotencyBreaches() []breach {
	newest := claiming(func(_ context.Context, _ storetest.Store, _ tenantID, r record) (record, error) { return r, nil })
	return []breach{
		{"the first claim of a key is kept and later ones are given it", "the newest claim is kept", newest},
		{"of claims that meet exactly one is kept", "every caller is given its own", newest},
		{"a claim lives for a day", "a claim of a whole day still counts", func(s storetest.Store) storetest.Store {
			kept := memo[string, record]{}
			return claiming(func(_ context.Context, _ storetest.Store, _ tenantID, r record) (record, error) {
				if old, ok := kept.get(r.Key); ok && r.At.Sub(old.At) <= verification.IdempotencyKeyTTL {
					return old, nil
				}
				kept.set(r.Key, r)
				return r, nil
			})(s)
		}},
		{"a claim lives for a day", "a claim lives for an hour", claiming(
			func(ctx context.Context, sound storetest.Store, t tenantID, r record) (record, error) {
				r.Key += r.At.Truncate(time.Hour).String()
				return sound.ClaimIdempotencyKey(ctx, t, r)
			})},
		{"a claim is found as long as it lives", "IdempotencyRecord finds what is too old", when(func(b *broken, sound storetest.Store) {
			b.record = func(ctx context.Context, t tenantID, k verification.IdempotencyKey, now time.Time) (record, error) {
				return sound.IdempotencyRecord(ctx, t, k, now.Add(-time.Second))
			}
		})},
		{"a claim is found as long as it lives", "IdempotencyRecord looks in another tenant", when(func(b *broken, sound storetest.Store) {
			b.record = func(ctx context.Context, _ tenantID, k verification.IdempotencyKey, now time.Time) (record, error) {
				return sound.IdempotencyRecord(ctx, "a0000000-0000-7000-8000-000000000001", k, now)
			}
		})},
		{"a settled claim says so, and what was answered", "SettleIdempotencyKey does nothing", when(func(b *broken, _ storetest.Store) {
			b.settleKey = func(context.Context, tenantID, record) error { return nil }
		})},
		{"a settled claim says so, and what was answered", "SettleIdempotencyKey forgets the answer", when(func(b *broken, sound storetest.Store) {
			b.settleKey = func(ctx context.Context, t tenantID, r record) error {
				r.Result, r.Decision = "", ""
				return sound.SettleIdempotencyKey(ctx, t, r)
			}
		})},
		{"settling leaves the claim of another request alone", "SettleIdempotencyKey settles whichever is there", whoever(true, false)},
		{"a released key is free", "ReleaseIdempotencyKey does nothing", when(func(b *broken, _ storetest.Store) {
			b.releaseKey = func(context.Context, tenantID, record) error { return nil }
		})},
		{
			"only the request that holds a key releases it, and not once it is settled",
			"ReleaseIdempotencyKey removes whichever is there", whoever(false, true),
		},
		{
			"only the request that holds a key releases it, and not once it is settled", "a settled key is released",
			when(func(b *broken, sound storetest.Store) {
				gone := memo[string, bool]{}
				b.releaseKey = func(ctx context.Context, t tenantID, r record) error {
					if kept, err := sound.IdempotencyRecord(ctx, t, r.IdempotencyKey, r.At); err == nil && kept.ID == r.ID {
						gone.set(r.Key, true)
					}
					return nil
				}
				b.record = func(ctx context.Context, t tenantID, k verification.IdempotencyKey, now time.Time) (record, error) {
					if released, _ := gone.get(k.Key); released {
						return record{}, verification.ErrNotFound
					}
					return sound.IdempotencyRecord(ctx, t, k, now)
				}
			}),
		},
		{
			"a claim whose context is over is not kept", "ClaimIdempotencyKey looks at no context",
			claiming(func(ctx context.Context, s storetest.Store, t tenantID, r record) (record, error) {
				return s.ClaimIdempotencyKey(context.WithoutCancel(ctx), t, r)
			}),
		},
		{
			"the keys of two tenants are kept apart", "keys are kept without their tenant",
			claiming(func(ctx context.Context, s storetest.Store, _ tenantID, r record) (record, error) {
				return s.ClaimIdempotencyKey(ctx, "", r)
			}),
		},
		{"the keys of two scopes are kept apart", "keys are kept without their scope", scopeless()},
	}
}
