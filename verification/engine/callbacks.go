// Callbacks: a vendor reports that the result of a dispatch is there.

package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine/internal/runner"
	"github.com/verifyd/verifyd/verification/rules"
)

// CallbackPath is the path of callback URLs below Options.PublicURL; the token
// follows it.
const CallbackPath = "/callbacks/"

// callbackURL returns the callback URL of a dispatch that the run waits for; empty
// if the provider takes no callbacks.
func (s *session) callbackURL(w rules.Wait) (string, error) {
	p, _ := s.provider(s.ref.Tenant, w.Provider)
	if _, ok := p.(verification.CallbackReceiver); !ok || s.ports.Callbacks == nil {
		return "", nil
	}
	token, err := s.ports.Callbacks.SignCallback(verification.CallbackTarget{RunRef: s.ref, WaitNumber: w.Number})
	if err != nil {
		return "", err
	}
	return s.opt.PublicURL + CallbackPath + token, nil
}

// ReceiveCallback carries out a callback of a vendor: it records the result that the
// callback reports, or has the provider polled at once. A callback about a dispatch
// whose result is no longer outstanding, and a repeated one, changes nothing.
// ErrNotFound is returned for an invalid token, ErrUnauthenticated when the callback
// is not from the vendor, ErrInvalid when it cannot be read, and ErrUnavailable when this
// host lacks the provider: the vendor's next attempt may reach a host that has it.
func (e *Engine) ReceiveCallback(ctx context.Context, token string, c verification.Callback) error {
	if e.ports.Callbacks == nil {
		return verification.NotFound("callback")
	}
	target, err := e.ports.Callbacks.OpenCallback(token)
	if err != nil {
		return verification.NotFound("callback")
	}
	defer e.lanes.stay(target.RunRef)()
	s, err := e.open(ctx, target.RunRef)
	if err != nil {
		return err
	}
	w, waits := s.run.WaitNumbered(target.WaitNumber)
	if !waits {
		return nil
	}
	p, _ := e.provider(s.ref.Tenant, w.Provider)
	receiver, ok := p.(verification.CallbackReceiver)
	if !ok {
		e.opt.Observer.RunLeft()
		s.refused(ctx, w, slog.LevelError, fmt.Sprintf("this host has no provider %q that receives callbacks", w.Provider))
		return verification.Unavailable("callback", "this host cannot read it")
	}
	if err := s.loadProgram(ctx); err != nil {
		return err
	}
	result, as, err := s.readCallback(ctx, w, receiver, c)
	if err != nil {
		return err
	}
	command, err := callbackCommand(w, result, as, c)
	if err != nil {
		return err
	}
	_, err = s.command(ctx, command)
	return err
}

// readCallback has the provider read a callback. It also returns what is recorded with the
// result: what was asked, and the decisions by which hits are cleared.
func (s *session) readCallback(
	ctx context.Context, w rules.Wait, p verification.CallbackReceiver, c verification.Callback,
) (_ verification.CheckResult, as rules.RecordResult, err error) {
	request, cleared, err := s.request(ctx, w)
	if err != nil {
		return verification.CheckResult{}, as, err
	}
	as.Cleared, as.Asked = cleared, rules.AskedDigest(request.With)
	n, _ := s.program.Node(w.Node)
	r := runner.CallWithin(ctx, s.timing(n), func(ctx context.Context) (verification.CheckResult, error) {
		return p.ReceiveCallback(ctx, verification.PollRequest{CheckRequest: request, Handle: w.Handle}, c)
	})
	r.Entry.Leave()
	if r.Err != nil {
		s.refused(ctx, w, slog.LevelWarn, r.Err.Error())
	}
	return r.Result, as, r.Err
}

// refused logs that a callback was not carried out.
func (s *session) refused(ctx context.Context, w rules.Wait, level slog.Level, reason string) {
	s.lines.write(ctx, level, "callback refused", w.Provider, reason,
		"provider", w.Provider, "node", w.Node, "run", s.ref.Run, "tenant", s.ref.Tenant, "reason", reason)
}

// callbackCommand returns the command for the result of a callback.
func callbackCommand(w rules.Wait, r verification.CheckResult, as rules.RecordResult, c verification.Callback) (rules.Command, error) {
	if r.Outcome == verification.OutcomePending {
		sum := sha256.Sum256(c.Body)
		return rules.RecordCallback{WaitNumber: w.Number, Digest: hex.EncodeToString(sum[:16])}, nil
	}
	data, err := verification.NewData(r.Data)
	if err != nil {
		return nil, fmt.Errorf("the provider's data cannot be saved: %w", err)
	}
	as.Node, as.Dispatch, as.Outcome, as.Data, as.Screening = w.Node, w.Dispatch, r.Outcome, data, r.Screening
	as.Redirect, as.Handle, as.PollAfter, as.Polled = r.Redirect, r.Handle, r.PollAfter, true
	return as, nil
}
