// Idempotency keys: a repeated request is carried out once.

package engine

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

// newRecord returns the record of a request with a key, which is kept as its hash: a client may
// have put personal data into it. Requests whose fingerprints have the same JSON are the same.
func (e *Engine) newRecord(s store.IdempotencyScope, key, id string, fingerprint any) (store.IdempotencyRecord, error) {
	raw, err := json.Marshal(fingerprint)
	if err != nil {
		return store.IdempotencyRecord{}, fmt.Errorf("fingerprint the request: %w", err)
	}
	return store.IdempotencyRecord{
		IdempotencyKey: store.IdempotencyKey{Scope: s, Key: fmt.Sprintf("%x", sha256.Sum256([]byte(key)))},
		Fingerprint:    fmt.Sprintf("%x", sha256.Sum256(raw)), ID: id, At: e.now(),
	}, nil
}

// checkRepeat returns an error unless mine is a repetition of the request that its
// key was first used with, and that request was answered or its host has stopped.
func checkRepeat(kept, mine store.IdempotencyRecord) error {
	switch {
	case kept.Fingerprint != mine.Fingerprint:
		return &verification.Error{
			Kind: verification.ErrKeyReused, Subject: "idempotency key",
			Message: "the idempotency key was used with another request",
		}
	case !kept.Settled && mine.At.Sub(kept.At) < store.IdempotencyLockTTL:
		return &verification.Error{
			Kind: verification.ErrInFlight, Subject: "idempotency key",
			Message: "the first request with this idempotency key has not been answered yet",
		}
	}
	return nil
}

// once carries out a signal once for its idempotency key, and returns the first
// result for repetitions. deliver receives the ID of the request, which it records
// with the signal: after the host died, a repetition looks for that ID to find out
// whether the signal was delivered.
func (e *Engine) once(
	ctx context.Context, t verification.TenantID, key string, fingerprint any, deliver func(id string) (SignalResult, error),
) (SignalResult, error) {
	if key == "" {
		return deliver("")
	}
	mine, err := e.newRecord(store.ScopeSignal, key, e.ports.NewID(), fingerprint)
	if err != nil {
		return SignalResult{}, err
	}
	kept, err := tablesOf(e).ClaimIdempotencyKey(ctx, t, mine)
	if err != nil {
		return SignalResult{}, err
	}
	if kept.ID != mine.ID {
		if err := checkRepeat(kept, mine); err != nil {
			return SignalResult{}, err
		}
		if kept.Settled {
			return SignalResult{Result: kept.Result, Decision: kept.Decision}, nil
		}
	}
	result, err := deliver(kept.ID)
	ctx = context.WithoutCancel(ctx)
	switch {
	case err == nil:
		kept.Result, kept.Decision = result.Result, result.Decision
		e.settle(ctx, t, kept)
	case refused(err): // the signal was not delivered, so its key is free again
		if err := tablesOf(e).ReleaseIdempotencyKey(ctx, t, kept); err != nil {
			e.log.Error("idempotency key not released", "tenant", t, "error", err)
		}
	}
	return result, err
}

// settle marks the request of a key as answered. If that fails, the key is in flight
// until IdempotencyLockTTL has passed.
func (e *Engine) settle(ctx context.Context, t verification.TenantID, r store.IdempotencyRecord) {
	if err := tablesOf(e).SettleIdempotencyKey(ctx, t, r); err != nil {
		e.log.Error("idempotency key not settled", "tenant", t, "error", err)
	}
}

// refused reports whether err means that nothing was changed. After other errors, an
// append may have been saved.
func refused(err error) bool {
	var e *verification.Error
	return errors.As(err, &e) && (!errors.Is(err, verification.ErrUnavailable) || errors.Is(err, store.ErrFull))
}
