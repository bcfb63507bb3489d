package journey_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

// bank is a provider that leads customers to a bank. What they bring back is its result.
type bank struct {
	verification.Poller
	returns int
}

func (b *bank) ReceiveReturn(_ context.Context, r verification.PollRequest, parameters map[string]string) (verification.CheckResult, error) {
	b.returns++
	switch parameters["result"] {
	case "approved":
		return verification.CheckResult{Outcome: verification.OutcomePassed, Data: map[string]any{"handle": r.Handle}}, nil
	case "cancelled":
		return verification.CheckResult{Outcome: verification.OutcomeRedirect, Redirect: signIn, Handle: r.Handle}, nil
	case "soon":
		return verification.CheckResult{Outcome: verification.OutcomePending}, nil
	}
	return verification.CheckResult{}, verification.ErrUnauthenticated
}

const signIn = "https://login.bank.example/sign-in"

// atBank serves a run whose customer is to go to the bank, and returns the address that the bank sends it back to.
func atBank(t *testing.T) (*customer, *bank, string) {
	t.Helper()
	keys, err := token.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	b := &bank{}
	s := serve(t, func(p *engine.Ports, _ *engine.Options) {
		b.Poller, _ = p.Providers["script"].(verification.Poller)
		p.Callbacks, p.Providers["script"] = token.NewLinks(keys), b
	})
	s.Provider.On("bank", enginetest.Lead(signIn, "ticket", time.Hour), enginetest.Pass(nil))
	c := s.begin(workflow.Definition{
		Workflow: "bank", Name: "Bank", Start: "bank",
		Nodes: map[verification.NodeID]workflow.Node{
			"bank": {
				Type: workflow.NodeCheck, Label: "Bank account", Text: "Sign in at **your bank**.", Provider: "script", Key: "bank",
				RedirectHosts: []string{"login.bank.example"}, Next: "done",
			},
			"done": {Type: workflow.NodeEnd},
		},
	}, "")
	back, ok := strings.CutPrefix(s.Provider.Calls("bank")[0].ReturnURL, "http://journey.example")
	if !ok || !strings.HasPrefix(back, "/journey/back/") {
		t.Fatalf("the return URL is %q", back)
	}
	return c, b, s.server.URL + back
}

func (c *customer) status() rules.Status { return c.Run(c.run).Status }

func TestACustomerGoesToABankAndComesBack(t *testing.T) {
	c, b, back := atBank(t)
	page := c.get()
	for _, want := range []string{"Bank account", "<strong>your bank</strong>", `href="` + signIn + `"`, "Continue at login.bank.example", `rel="noreferrer"`} {
		if page.status != http.StatusOK || !strings.Contains(page.body, want) {
			t.Errorf("the page (%d) lacks %s:\n%s", page.status, want, page.body)
		}
	}
	at := *c
	bringing := func(query string) response { at.link = back + query; return at.get() }
	for _, query := range []string{"", "?result=forged", "?result=cancelled"} {
		got := bringing(query)
		if got.status != http.StatusSeeOther || c.status() != rules.StatusInProgress || !strings.Contains(c.get().body, signIn) {
			t.Errorf("%q leads with %d to %s, want the page with its button", query, got.status, got.header.Get("Location"))
		}
	}
	got := bringing("?result=approved")
	if to := got.header.Get("Location"); got.status != http.StatusSeeOther || !strings.HasPrefix(to, "../") ||
		!strings.HasSuffix(c.link, strings.TrimPrefix(to, "..")) {
		t.Errorf("the return leads with %d to %q, want the link %s", got.status, to, c.link)
	}
	c.Settle()
	if c.status() != rules.StatusCompleted {
		t.Fatalf("after the return the run is %s", c.status())
	}
	before := b.returns
	if again := bringing("?result=cancelled"); again.status != http.StatusSeeOther || b.returns != before {
		t.Errorf("the back button leads with %d, and the provider was asked %d times more", again.status, b.returns-before)
	}
	if strings.Contains(s(c), "approved") || strings.Contains(s(c), signIn) {
		t.Errorf("the log has what the customer brought back: %s", s(c))
	}
}

func s(c *customer) string { return c.log.String() }

func TestAReturnHasTheProviderPolled(t *testing.T) {
	c, _, back := atBank(t)
	at := *c
	at.link = back + "?result=soon"
	if got := at.get(); got.status != http.StatusSeeOther {
		t.Fatalf("the return has the status %d", got.status)
	}
	c.Settle()
	if calls := c.Provider.Calls("bank"); c.status() != rules.StatusCompleted || len(calls) != 2 || calls[1].Handle != "ticket" {
		t.Errorf("the run is %s after the calls %+v", c.status(), calls)
	}
}

func TestAStateThatWasNotSignedIsNotFound(t *testing.T) {
	c, b, back := atBank(t)
	for _, state := range []string{"", "x", c.link[strings.LastIndex(c.link, "/")+1:]} {
		at := *c
		at.link = back[:strings.LastIndex(back, "/")+1] + state
		if got := at.get(); got.status != http.StatusNotFound || b.returns != 0 {
			t.Errorf("%s: status %d, want 404", state, got.status)
		}
	}
	if _, err := c.Engine.Submit(t.Context(), enginetest.Tenant, c.run, engine.SubmitRequest{
		Signal: "bank_returned", Payload: verification.Data(`{"result":"approved"}`),
	}); err != nil {
		t.Errorf("the signal: %v", err)
	}
	c.Settle()
	if c.status() != rules.StatusCompleted {
		t.Errorf("after the signal the run is %s", c.status())
	}
}
