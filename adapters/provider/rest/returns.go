// Returns: what the vendor adds to the return URL when it sends the customer back.

package rest

import (
	"context"
	"errors"

	"github.com/verifyd/verifyd/verification"
)

// returns says what the parameters of a return mean. They come through the customer's browser, so that they never pass a check.
type returns struct{ failed, pending value } // nil if it is not declared

func (c *compiler) returns(p *compiled, d config) {
	if d.Return == nil {
		return
	}
	vars := map[string]verification.Data{"parameters": verification.Data(objectSchema)}
	compile := func(path, text string) value {
		if text == "" {
			return nil
		}
		eval, _, err := c.opt.Expressions.Expression(text, "boolean", vars)
		c.refuse(path, err)
		return eval
	}
	p.returns = &returns{compile("return.failed", d.Return.Failed), compile("return.pending", d.Return.Pending)}
	if d.Response.Redirect == "" {
		c.problem("return", "a return needs response.redirect")
	}
}

// redirects checks what a declaration with response.redirect needs beside it.
func (c *compiler) redirects(d config) {
	if d.Response.Redirect == "" {
		return
	}
	if d.Poll == nil && d.Callback == nil {
		c.problem("response.redirect", "the result of a customer who was away needs poll or callback")
	}
	if !c.reads["request.return_url"] && !c.reads["request"] {
		c.problem("response.redirect", "the request must send ${request.return_url} to the vendor")
	}
}

// returner is a provider that leads customers away, and callingReturner one whose vendor also calls back.
type (
	returner        struct{ *provider }
	callingReturner struct{ *receiver }
)

// ReceiveReturn returns OutcomeFailed if the section return says so, and else OutcomePending: then the vendor is asked.
func (r *returner) ReceiveReturn(_ context.Context, _ verification.PollRequest, parameters map[string]string) (verification.CheckResult, error) {
	return r.current.Load().returned(parameters)
}

// ReceiveReturn is as of a returner.
func (r *callingReturner) ReceiveReturn(_ context.Context, _ verification.PollRequest, parameters map[string]string) (verification.CheckResult, error) {
	return r.current.Load().returned(parameters)
}

func (p *compiled) returned(parameters map[string]string) (verification.CheckResult, error) {
	values := make(map[string]any, len(parameters))
	for name, v := range parameters {
		values[name] = v
	}
	holds := func(name string, v value) (bool, error) {
		if v == nil {
			return false, nil
		}
		result, err := v(map[string]any{"parameters": values})
		if missing, ok := errors.AsType[absentError](err); ok && missing.Absent() {
			return false, nil // it does not hold for a parameter that is not there
		}
		if err != nil {
			return false, verification.Invalid("return", name+": "+err.Error())
		}
		yes, fault := holding(name, result)
		if fault != "" {
			return false, verification.Invalid("return", fault)
		}
		return yes, nil
	}
	failed, err := holds("return.failed", p.returns.failed)
	if failed || err != nil {
		return verification.CheckResult{Outcome: verification.OutcomeFailed}, err
	}
	pending, err := holds("return.pending", p.returns.pending)
	if pending || err != nil || p.returns.pending == nil {
		return verification.CheckResult{Outcome: verification.OutcomePending}, err
	}
	return verification.CheckResult{}, verification.Invalid("return", "no condition of return holds")
}
