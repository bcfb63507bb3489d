// Callbacks of vendors.

package httpapi_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/token"
	"github.com/verifyd/verifyd/internal/rig/mock"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestAVendorCallsBack(t *testing.T) {
	keys, err := token.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	var url string
	a := newAPI(t, setup{ports: func(p *engine.Ports, _ *engine.Options) {
		p.Callbacks = token.NewLinks(keys)
		p.Providers["vendor"] = &mock.CallbackReceiverMock{
			CheckFunc: func(_ context.Context, r verification.CheckRequest) (verification.CheckResult, error) {
				url = r.CallbackURL
				return verification.CheckResult{Outcome: verification.OutcomePending, PollAfter: time.Hour}, nil
			},
			ReceiveCallbackFunc: func(_ context.Context, _ verification.PollRequest, c verification.Callback) (verification.CheckResult, error) {
				switch {
				case http.Header(c.Header).Get("X-Signature") != "right":
					return verification.CheckResult{}, verification.ErrUnauthenticated
				case string(c.Body) != "passed":
					return verification.CheckResult{}, verification.Invalid("callback", "no condition of response holds")
				}
				return verification.CheckResult{Outcome: verification.OutcomePassed}, nil
			},
		}
	}})
	w := a.Apply(workflow.Definition{Workflow: "v", Name: "V", Start: "a", Nodes: map[verification.NodeID]workflow.Node{
		"a": {Type: workflow.NodeCheck, Provider: "vendor", Next: "done"}, "done": {Type: workflow.NodeEnd},
	}})
	run := a.Start(w.ID, engine.StartRequest{ReferenceID: "x"})
	path, ok := strings.CutPrefix(url, "http://journey.example")
	if !ok {
		t.Fatalf("callback URL = %q", url)
	}
	vendor := func(path, body string, headers ...string) response {
		t.Helper()
		return a.do(http.MethodPost, path, body, append([]string{"client-id:", "x-api-key:", "Content-Type: text/plain"}, headers...)...)
	}
	vendor(path, "passed").says(403, `"The signature of the callback is not valid.","code":403,"reason":"invalid_signature"`)
	vendor(path, "what?", "X-Signature: right").says(400, "No condition of response holds.")
	vendor(path+"A", "passed", "X-Signature: right").says(404, `"There is no such callback.","code":404,"reason":"callback_not_found"`)
	vendor(path, strings.Repeat("x", 1<<20+1), "X-Signature: right").says(413, "The body must be at most 1 MiB.")
	if got := a.Run(run.ID).Status; got != rules.StatusInProgress {
		t.Fatalf("status = %s, want in_progress", got)
	}
	for range 2 {
		vendor(path, "passed", "X-Signature: right").is(200, `{"ok":true}`)
	}
	if got := a.Run(run.ID).Status; got != rules.StatusCompleted {
		t.Errorf("status = %s, want completed", got)
	}
}
