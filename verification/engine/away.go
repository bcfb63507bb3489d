// Out and back: a customer comes back from where a check led.

package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine/internal/runner"
	"github.com/verifyd/verifyd/verification/rules"
)

// returnPath is the path of return URLs below Options.PublicURL; the token follows it.
const returnPath = "/journey/back/"

// JourneyAway is where an open step leads the customer.
type JourneyAway struct {
	URL      string
	Host     string // of URL
	Returned bool   // the customer came back, without a result yet
}

func awayOf(w rules.Wait) *JourneyAway {
	u, err := url.Parse(w.Redirect)
	if !w.Away() || err != nil {
		return nil
	}
	return &JourneyAway{URL: w.Redirect, Host: u.Host, Returned: w.Returned}
}

// returnURL returns the return URL of a dispatch that the run waits for; empty if its node leads nobody away.
func (s *session) returnURL(w rules.Wait) (string, error) {
	if n, _ := s.program.Node(w.Node); len(n.RedirectHosts) == 0 || s.ports.Callbacks == nil {
		return "", nil
	}
	token, err := s.ports.Callbacks.SignReturn(verification.CallbackTarget{RunRef: s.ref, WaitNumber: w.Number})
	if err != nil {
		return "", err
	}
	return s.opt.PublicURL + returnPath + token, nil
}

// ReceiveReturn takes the parameters that a customer brought back. A return of an earlier dispatch, a repeated one, and one
// that the provider refuses change nothing. ErrNotFound is returned for an invalid token. An error of a known run has its id.
func (e *Engine) ReceiveReturn(ctx context.Context, token string, parameters map[string]string) (verification.RunID, error) {
	target, err := returnTarget(e.ports.Callbacks, token)
	if err != nil {
		return "", err
	}
	s, err := e.open(ctx, target.RunRef)
	if err != nil {
		return target.Run, err
	}
	if w := s.run.Wait(); w.Away() && w.Number == target.WaitNumber {
		if err = s.back(ctx, parameters); err != nil {
			s.notBack(ctx, err)
		}
	}
	return target.Run, nil
}

// OpenReturn returns the run of the token of a return URL, and its tenant. ErrNotFound is returned for an invalid token.
func (e *Engine) OpenReturn(ctx context.Context, token string) (verification.RunID, verification.Tenant, error) {
	target, err := returnTarget(e.ports.Callbacks, token)
	if err != nil {
		return "", verification.Tenant{}, err
	}
	tenant, err := e.store.Tenant(ctx, target.Tenant)
	return target.Run, tenant, err
}

func returnTarget(signer verification.CallbackSigner, token string) (verification.CallbackTarget, error) {
	if signer == nil {
		return verification.CallbackTarget{}, verification.NotFound("journey")
	}
	target, err := signer.OpenReturn(token)
	if err != nil {
		return target, verification.NotFound("journey")
	}
	return target, nil
}

// notBack logs that a return was not carried out. The customer can go again, and the provider may be polled.
func (s *session) notBack(ctx context.Context, err error) {
	level := slog.LevelWarn
	if errors.Is(err, verification.ErrUnavailable) {
		level = slog.LevelError
	}
	w := s.run.Wait()
	s.lines.write(ctx, level, "return refused", w.Provider, err.Error(),
		"provider", w.Provider, "node", w.Node, "run", s.ref.Run, "tenant", s.ref.Tenant, "reason", err.Error())
}

// submitReturn delivers the parameters that a client has taken from its customer: the payload of the signal of a check
// that waits for its customer.
func (s *session) submitReturn(ctx context.Context, payload verification.Data) error {
	parameters := map[string]string{}
	for name, v := range payload.Map() {
		text, ok := v.(string)
		if !ok {
			return verification.InvalidField("signal", "payload."+name, "must be a string")
		}
		parameters[name] = text
	}
	err := s.back(ctx, parameters)
	if errors.Is(err, verification.ErrInvalid) || errors.Is(err, verification.ErrUnauthenticated) {
		s.notBack(ctx, err)
		return verification.InvalidField("signal", "payload", "is not what the vendor sends back")
	}
	return err
}

// back has the provider read the parameters of a return, and records what they report. Without a
// verification.ReturnReceiver, the provider is polled at once.
func (s *session) back(ctx context.Context, parameters map[string]string) error {
	w := s.run.Wait()
	raw, err := json.Marshal(parameters)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(raw)
	came := rules.RecordReturn{WaitNumber: w.Number, Digest: hex.EncodeToString(sum[:16])}
	if len(parameters) == 0 && w.ComesAgain() { // nothing tells it from the last visit, and the vendor may have an answer now
		came.Digest += fmt.Sprintf("-%d", len(w.Callbacks))
	}
	if w.CameBack(came.Digest) {
		return nil
	}
	p, _ := s.provider(s.ref.Tenant, w.Provider)
	if p == nil {
		return verification.Unavailable("return", fmt.Sprintf("this host has no provider %q", w.Provider))
	}
	receiver, ok := p.(verification.ReturnReceiver)
	if !ok {
		_, err = s.command(ctx, came)
		return err
	}
	command, err := s.readReturn(ctx, receiver, parameters, came)
	if err == nil {
		_, err = s.command(ctx, command)
	}
	return err
}

// readReturn returns the command for what the parameters of a return report.
func (s *session) readReturn(
	ctx context.Context, p verification.ReturnReceiver, parameters map[string]string, came rules.RecordReturn,
) (rules.Command, error) {
	if err := s.loadProgram(ctx); err != nil {
		return nil, err
	}
	w := s.run.Wait()
	request, cleared, err := s.request(ctx, w)
	if err != nil {
		return nil, err
	}
	n, _ := s.program.Node(w.Node)
	r := runner.CallWithin(ctx, s.timing(n), func(ctx context.Context) (verification.CheckResult, error) {
		return p.ReceiveReturn(ctx, verification.PollRequest{CheckRequest: request, Handle: w.Handle}, parameters)
	})
	r.Entry.Leave()
	_, polled := p.(verification.Poller)
	switch {
	case r.Err != nil:
		return nil, r.Err
	case r.Result.Outcome == verification.OutcomePending && polled:
		came.Pending = true
		return came, nil
	case r.Result.Outcome == verification.OutcomePending:
		return nil, fmt.Errorf("the provider %q returned a pending result and cannot be polled", w.Provider)
	}
	data, err := verification.NewData(r.Result.Data)
	if err != nil {
		return nil, fmt.Errorf("the provider's data cannot be saved: %w", err)
	}
	return rules.RecordResult{
		Node: w.Node, Dispatch: w.Dispatch, Outcome: r.Result.Outcome, Data: data, Screening: r.Result.Screening,
		Cleared: cleared, Asked: rules.AskedDigest(request.With), Handle: r.Result.Handle, PollAfter: r.Result.PollAfter,
		Redirect: r.Result.Redirect, Polled: polled,
	}, nil
}
