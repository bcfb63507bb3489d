// Out and back in a case: a check leads the customer away, who comes back with an answer of the case.

package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/verifyd/verifyd/verification"
)

// awaits returns the redirect of a check whose customer will come back: until then every poll reports it.
func (s *script) awaits(id verification.NodeID) (line scriptLine, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	line, ok = s.away[id]
	return line, ok && s.stage.left("answers", id, len(s.stage.Answers[id]))
}

// stays notes whether the customer of a local provider is away: only a return goes on.
func (s *script) stays(id verification.NodeID, r verification.CheckResult) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rests[id] = r.Outcome == verification.OutcomeRedirect
}

// ReceiveReturn has the provider polled at once: the next poll reports what follows the redirect.
func (p scripted) ReceiveReturn(ctx context.Context, r verification.PollRequest, parameters map[string]string) (verification.CheckResult, error) {
	p.script.mu.Lock()
	_, ok := p.script.away[r.Node]
	delete(p.script.away, r.Node)
	p.script.mu.Unlock()
	if local, reads := p.local.(verification.ReturnReceiver); reads && !ok {
		return local.ReceiveReturn(ctx, r, parameters)
	}
	return verification.CheckResult{Outcome: verification.OutcomePending}, nil
}

// redirect returns a result that leads the customer away.
func (p scripted) redirect(r verification.CheckRequest, line scriptLine) verification.CheckResult {
	n, _ := p.script.stage.def.Node(r.Node)
	to := line.Value.URL
	switch {
	case len(n.RedirectHosts) == 0:
		p.script.report(line.Field, []verification.FieldError{{Message: fmt.Sprintf("%s leads no customer away: it has no redirect_hosts", r.Node)}})
	case to == "":
		to = "https://" + strings.Replace(n.RedirectHosts[0], "*", "www", 1) + "/"
	}
	result := verification.CheckResult{Outcome: verification.OutcomeRedirect, Redirect: to, Handle: "case"}
	if _, ok := p.script.awaits(r.Node); ok || p.script.restsAt(r.Node) {
		result.PollAfter = forever
	}
	return result
}

// missingReturn says which return the run waits for.
func missingReturn(id verification.NodeID) string {
	return fmt.Sprintf("the customer's return to %s: give answers.%s (an object with what the vendor adds to the return URL, "+
		"such as {}), or let another result follow redirect", id, id)
}

func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "another site"
	}
	return u.Host
}
