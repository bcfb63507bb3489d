package storetest_test

import (
	"context"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// keyed replaces Change for idempotency keys.
func keyed(change func(ctx context.Context, sound stores, r store.IdempotencyKeyRecord) error) breakage {
	return func(b *broken, sound stores) {
		b.ChangeFunc = func(ctx context.Context, rows []store.Record) error {
			if r, ok := rows[0].(store.IdempotencyKeyRecord); ok {
				return change(ctx, sound, r)
			}
			return sound.Change(ctx, rows)
		}
	}
}

// save changes the record of a key.
func (s stores) save(ctx context.Context, r store.IdempotencyKeyRecord) error {
	return s.Change(ctx, []store.Record{r})
}

// kept returns the stored record of a key; zero if there is none.
func (s stores) kept(ctx context.Context, r store.IdempotencyKeyRecord) record {
	row, err := s.Row(ctx, store.RecordIdempotencyKey, store.KeyOf(r))
	if found, ok := row.(store.IdempotencyKeyRecord); ok && err == nil {
		return found.Request
	}
	return record{}
}

// The kinds of changes of a key.
func claims(r store.IdempotencyKeyRecord) bool  { return !r.Released && !r.Request.Settled }
func settles(r store.IdempotencyKeyRecord) bool { return !r.Released && r.Request.Settled }

// without is a store that keeps its keys without a part of them.
func without(part int, none string, change func(r *store.IdempotencyKeyRecord)) breakage {
	return func(b *broken, sound stores) {
		keyed(func(ctx context.Context, sound stores, r store.IdempotencyKeyRecord) error {
			change(&r)
			return sound.save(ctx, r)
		})(b, sound)
		b.RowFunc = func(ctx context.Context, kind store.RecordKind, key string) (store.Record, error) {
			parts := strings.Split(key, store.KeySeparator)
			parts[part] = none
			return sound.Row(ctx, kind, strings.Join(parts, store.KeySeparator))
		}
	}
}

// anyRequest lets any request settle or release the record of another one.
func anyRequest(changes func(r store.IdempotencyKeyRecord) bool) breakage {
	return keyed(func(ctx context.Context, sound stores, r store.IdempotencyKeyRecord) error {
		if kept := sound.kept(ctx, r); changes(r) && kept.ID != "" {
			r.Request.ID = kept.ID
		}
		return sound.save(ctx, r)
	})
}

// ignoring ignores some changes.
func ignoring(changes func(r store.IdempotencyKeyRecord) bool) breakage {
	return keyed(func(ctx context.Context, sound stores, r store.IdempotencyKeyRecord) error {
		if changes(r) {
			return nil
		}
		return sound.save(ctx, r)
	})
}

func idempotencyBreaches() []breach {
	released := func(r store.IdempotencyKeyRecord) bool { return r.Released }
	return []breach{
		{"the first claim of a key is stored, and later claims return it", "the newest claim is kept", ignoring(claims)},
		{"exactly one of concurrent claims is stored", "every caller is given its own", ignoring(claims)},
		{"a claim lasts for IdempotencyKeyTTL", "a claim of a whole day still counts", keyed(
			func(ctx context.Context, sound stores, r store.IdempotencyKeyRecord) error {
				if kept := sound.kept(ctx, r); claims(r) && r.Request.At.Sub(kept.At) == store.IdempotencyKeyTTL {
					return store.Refused(r)
				}
				return sound.save(ctx, r)
			})},
		{"a claim lasts for IdempotencyKeyTTL", "a claim lives for an hour", keyed(
			func(ctx context.Context, sound stores, r store.IdempotencyKeyRecord) error {
				r.Request.Key += r.Request.At.Truncate(time.Hour).String()
				return sound.save(ctx, r)
			})},
		{"a record is found while it lasts", "Row looks in another tenant", func(b *broken, sound stores) {
			without(0, string(one), func(*store.IdempotencyKeyRecord) {})(b, sound)
			b.ChangeFunc = sound.Change
		}},
		{"a settled record has its result", "Change does not settle", ignoring(settles)},
		{"a settled record has its result", "Change forgets the answer", keyed(
			func(ctx context.Context, sound stores, r store.IdempotencyKeyRecord) error {
				r.Request.Result, r.Request.Decision = "", ""
				return sound.save(ctx, r)
			})},
		{"settling does not change the record of another request", "Change settles any record", anyRequest(settles)},
		{"a released key can be claimed", "Change does not release", ignoring(released)},
		{"only an unsettled record with the same ID is released", "Change releases any record", anyRequest(released)},
		{
			"only an unsettled record with the same ID is released", "a settled key is released",
			func(b *broken, sound stores) {
				gone := memo[string, bool]{}
				keyed(func(ctx context.Context, sound stores, r store.IdempotencyKeyRecord) error {
					if released(r) && sound.kept(ctx, r).ID == r.Request.ID {
						gone.set(store.KeyOf(r), true)
					}
					return sound.save(ctx, r)
				})(b, sound)
				b.RowFunc = func(ctx context.Context, kind store.RecordKind, key string) (store.Record, error) {
					if released, _ := gone.get(key); released {
						return nil, verification.ErrNotFound
					}
					return sound.Row(ctx, kind, key)
				}
			},
		},
		{"a claim with a cancelled context is not stored", "Change looks at no context", keyed(
			func(ctx context.Context, sound stores, r store.IdempotencyKeyRecord) error {
				return sound.save(context.WithoutCancel(ctx), r)
			})},
		{"two tenants have separate keys", "keys are kept without their tenant", without(0, string(one), func(r *store.IdempotencyKeyRecord) { r.Tenant = one })},
		{"two scopes have separate keys", "keys are kept without their scope", without(1, string(store.ScopeStart), func(r *store.IdempotencyKeyRecord) {
			r.Request.Scope = store.ScopeStart
		})},
	}
}

const one tenantID = "a0000000-0000-7000-8000-000000000001"
