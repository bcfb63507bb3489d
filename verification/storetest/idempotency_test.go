package storetest_test

import (
	"context"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// claiming breaks the arguments and results of ClaimIdempotencyKey.
func claiming(claim func(ctx context.Context, sound store.Store, t tenantID, r record) (record, error)) breakage {
	return func(b *broken, sound stores) {
		b.ClaimIdempotencyKeyFunc = func(ctx context.Context, t tenantID, r record) (record, error) {
			return claim(ctx, sound, t, r)
		}
	}
}

// scopeless is a store that keeps its keys without their scope.
func scopeless() breakage {
	one := func(r record) record { r.Scope = store.ScopeStart; return r }
	return func(b *broken, sound stores) {
		b.IdempotencyRecordFunc = func(ctx context.Context, t tenantID, k store.IdempotencyKey, now time.Time) (record, error) {
			return sound.IdempotencyRecord(ctx, t, one(record{IdempotencyKey: k}).IdempotencyKey, now)
		}
		b.ClaimIdempotencyKeyFunc = func(ctx context.Context, t tenantID, r record) (record, error) {
			return sound.ClaimIdempotencyKey(ctx, t, one(r))
		}
		b.SettleIdempotencyKeyFunc = func(ctx context.Context, t tenantID, r record) error {
			return sound.SettleIdempotencyKey(ctx, t, one(r))
		}
		b.ReleaseIdempotencyKeyFunc = func(ctx context.Context, t tenantID, r record) error {
			return sound.ReleaseIdempotencyKey(ctx, t, one(r))
		}
	}
}

// anyRequest lets any request settle or release the record of another one.
func anyRequest(settle, release bool) breakage {
	return func(b *broken, sound stores) {
		holder := func(ctx context.Context, t tenantID, r record) record {
			if kept, err := sound.IdempotencyRecord(ctx, t, r.IdempotencyKey, r.At); err == nil {
				r.ID = kept.ID
			}
			return r
		}
		if settle {
			b.SettleIdempotencyKeyFunc = func(ctx context.Context, t tenantID, r record) error {
				return sound.SettleIdempotencyKey(ctx, t, holder(ctx, t, r))
			}
		}
		if release {
			b.ReleaseIdempotencyKeyFunc = func(ctx context.Context, t tenantID, r record) error {
				return sound.ReleaseIdempotencyKey(ctx, t, holder(ctx, t, r))
			}
		}
	}
}

func idempotencyBreaches() []breach {
	newest := claiming(func(_ context.Context, _ store.Store, _ tenantID, r record) (record, error) { return r, nil })
	return []breach{
		{"the first claim of a key is stored, and later claims return it", "the newest claim is kept", newest},
		{"exactly one of concurrent claims is stored", "every caller is given its own", newest},
		{"a claim lasts for IdempotencyKeyTTL", "a claim of a whole day still counts", func(b *broken, sound stores) {
			kept := memo[string, record]{}
			claiming(func(_ context.Context, _ store.Store, _ tenantID, r record) (record, error) {
				if old, ok := kept.get(r.Key); ok && r.At.Sub(old.At) <= store.IdempotencyKeyTTL {
					return old, nil
				}
				kept.set(r.Key, r)
				return r, nil
			})(b, sound)
		}},
		{"a claim lasts for IdempotencyKeyTTL", "a claim lives for an hour", claiming(
			func(ctx context.Context, sound store.Store, t tenantID, r record) (record, error) {
				r.Key += r.At.Truncate(time.Hour).String()
				return sound.ClaimIdempotencyKey(ctx, t, r)
			})},
		{"a record is found while it lasts", "IdempotencyRecord finds what is too old", func(b *broken, sound stores) {
			b.IdempotencyRecordFunc = func(ctx context.Context, t tenantID, k store.IdempotencyKey, now time.Time) (record, error) {
				return sound.IdempotencyRecord(ctx, t, k, now.Add(-time.Second))
			}
		}},
		{"a record is found while it lasts", "IdempotencyRecord looks in another tenant", func(b *broken, sound stores) {
			b.IdempotencyRecordFunc = func(ctx context.Context, _ tenantID, k store.IdempotencyKey, now time.Time) (record, error) {
				return sound.IdempotencyRecord(ctx, "a0000000-0000-7000-8000-000000000001", k, now)
			}
		}},
		{"a settled record has its result", "SettleIdempotencyKey does nothing", func(b *broken, _ stores) {
			b.SettleIdempotencyKeyFunc = func(context.Context, tenantID, record) error { return nil }
		}},
		{"a settled record has its result", "SettleIdempotencyKey forgets the answer", func(b *broken, sound stores) {
			b.SettleIdempotencyKeyFunc = func(ctx context.Context, t tenantID, r record) error {
				r.Result, r.Decision = "", ""
				return sound.SettleIdempotencyKey(ctx, t, r)
			}
		}},
		{"settling does not change the record of another request", "SettleIdempotencyKey settles any record", anyRequest(true, false)},
		{"a released key can be claimed", "ReleaseIdempotencyKey does nothing", func(b *broken, _ stores) {
			b.ReleaseIdempotencyKeyFunc = func(context.Context, tenantID, record) error { return nil }
		}},
		{
			"only an unsettled record with the same ID is released",
			"ReleaseIdempotencyKey removes any record", anyRequest(false, true),
		},
		{
			"only an unsettled record with the same ID is released", "a settled key is released",
			func(b *broken, sound stores) {
				gone := memo[string, bool]{}
				b.ReleaseIdempotencyKeyFunc = func(ctx context.Context, t tenantID, r record) error {
					if kept, err := sound.IdempotencyRecord(ctx, t, r.IdempotencyKey, r.At); err == nil && kept.ID == r.ID {
						gone.set(r.Key, true)
					}
					return nil
				}
				b.IdempotencyRecordFunc = func(ctx context.Context, t tenantID, k store.IdempotencyKey, now time.Time) (record, error) {
					if released, _ := gone.get(k.Key); released {
						return record{}, verification.ErrNotFound
					}
					return sound.IdempotencyRecord(ctx, t, k, now)
				}
			},
		},
		{
			"a claim with a cancelled context is not stored", "ClaimIdempotencyKey looks at no context",
			claiming(func(ctx context.Context, s store.Store, t tenantID, r record) (record, error) {
				return s.ClaimIdempotencyKey(context.WithoutCancel(ctx), t, r)
			}),
		},
		{
			"two tenants have separate keys", "keys are kept without their tenant",
			claiming(func(ctx context.Context, s store.Store, _ tenantID, r record) (record, error) {
				return s.ClaimIdempotencyKey(ctx, "", r)
			}),
		},
		{"two scopes have separate keys", "keys are kept without their scope", scopeless()},
	}
}
