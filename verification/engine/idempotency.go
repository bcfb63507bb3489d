// Idempotency keys: a request that is sent again is carried out once.

package engine

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/verifyd/verifyd/verification"
)

// newRecord is the record of a request under a key. The key stands for every
// request with the same JSON.
func (e *Engine) newRecord(s verification.IdempotencyScope, key, id string, request any) (verification.IdempotencyRecord, error) {
	raw, err := json.Marshal(request)
	if err != nil {
		return verification.IdempotencyRecord{}, fmt.Errorf("fingerprint the request: %w", err)
	}
	return verification.IdempotencyRecord{
		IdempotencyKey: verification.IdempotencyKey{Scope: s, Key: key},
		Fingerprint:    fmt.Sprintf("%x", sha256.Sum256(raw)), ID: id, At: e.now(),
	}, nil
}

// takeOver returns an error unless the request mine may be answered, or carried
// out, as the one that its key stands for already.
func takeOver(kept, mine verification.IdempotencyRecord) error {
	switch {
	case kept.Fingerprint != mine.Fingerprint:
		return &verification.Error{
			Kind: verification.ErrKeyReused, Subject: "idempotency key",
			Message: "the idempotency key was used with another request",
		}
	case !kept.Settled && mine.At.Sub(kept.At) < verification.IdempotencyLockTTL:
		return &verification.Error{
			Kind: verification.ErrInFlight, Subject: "idempotency key",
			Message: "the first request with this idempotency key has not been answered yet",
		}
	}
	return nil
}

// once carries out a signal once for its idempotency key, and returns the first
// answer again to those who repeat it. deliver is given the id of the request,
// which it records with the signal: so an attempt that takes over from a host
// that died finds out whether the signal was delivered.
func (e *Engine) once(
	ctx context.Context, t verification.TenantID, key string, request any, deliver func(id string) (SignalResult, error),
) (SignalResult, error) {
	if key == "" {
		return deliver("")
	}
	mine, err := e.newRecord(verification.ScopeSignal, key, e.ports.NewID(), request)
	if err != nil {
		return SignalResult{}, err
	}
	kept, err := e.ports.Idempotency.ClaimIdempotencyKey(ctx, t, mine)
	if err != nil {
		return SignalResult{}, err
	}
	if kept.ID != mine.ID {
		if err := takeOver(kept, mine); err != nil {
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
	case refused(err): // nothing was delivered, so the key stands for nothing
		if err := e.ports.Idempotency.ReleaseIdempotencyKey(ctx, t, kept); err != nil {
			e.log.Error("idempotency key not released", "tenant", t, "error", err)
		}
	}
	return result, err
}

// settle marks the request of a key as answered. If that fails, the key counts
// as in flight for a while.
func (e *Engine) settle(ctx context.Context, t verification.TenantID, r verification.IdempotencyRecord) {
	if err := e.ports.Idempotency.SettleIdempotencyKey(ctx, t, r); err != nil {
		e.log.Error("idempotency key not settled", "tenant", t, "error", err)
	}
}

// refused reports whether err says for sure that nothing was changed: an append
// that was cut off may have been saved all the same.
func refused(err error) bool {
	var e *verification.Error
	return errors.As(err, &e) && !errors.Is(err, verification.ErrUnavailable)
}
