// Tests of the notices that the client's backend receives.

package server_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// received is one notice, as a receiver got it.
type received struct {
	header http.Header
	body   []byte
}

func receiver(t *testing.T) (url string, notices <-chan received) {
	t.Helper()
	c := make(chan received, 10)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c <- received{r.Header, body}
	}))
	t.Cleanup(s.Close)
	return s.URL, c
}

func TestTheEndOfARunIsNotifiedOnceAndSigned(t *testing.T) {
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	url, notices := receiver(t)
	path := filepath.Join(t.TempDir(), "bootstrap.yaml")
	text := `tenants:
  - id: 0191f3c0-0000-7000-8000-00000000000b
    name: Bank
    webhook_secret: ` + secret + `
    accounts: [{client_id: demo, api_key: demo-key-for-local-use-only}]
    workflows:
      - workflow: simple
        id: 0191f3c0-0000-7000-8000-000000000001
        name: Simple
        lifecycle_webhook_url: ` + url + `/hooks
        start: pan
        nodes: {pan: {type: check, provider: sandbox, next: done}, done: {type: end}}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveHost(t, map[string]string{"VERIFYD_BOOTSTRAP": path, "VERIFYD_ALLOW_PRIVATE_NETWORKS": "true"})
	r := s.run("POST", s.api+records, `{"reference_id":"person-8"}`, "Prefer", "wait=10")
	var n received
	select {
	case n = <-notices:
	case <-time.After(time.Minute):
		t.Fatal("the client received nothing")
	}
	hook, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	if err := hook.Verify(n.body, n.header); err != nil {
		t.Errorf("the signature does not hold: %v", err)
	}
	var event struct {
		Type string  `json:"type"`
		Data runJSON `json:"data"`
	}
	if err := json.Unmarshal(n.body, &event); err != nil || event.Type != "run.completed" || event.Data.ID != r.ID {
		t.Errorf("notice = %s, %v; want the completion of run %s", n.body, err, r.ID)
	}
	s.call("POST", s.api+"/v1/signals/"+r.ID+"/human_review_decision", `{"payload":{"decision":"reject"}}`)
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	if len(notices) > 0 {
		t.Errorf("the client was notified of a verdict: %s", (<-notices).body)
	}
}

func TestPrivateAddressesAreNotNotifiedUnlessAllowed(t *testing.T) {
	url, notices := receiver(t)
	s := serveHost(t, nil)
	if status, raw, _ := s.call("POST", s.api+"/v1/workflows/0191f3c0-0000-7000-8000-000000000001/webhook",
		`{"lifecycle_webhook_url":"`+url+`"}`); status != 200 {
		t.Fatalf("set the webhook = %d %s", status, raw)
	}
	s.run("POST", s.api+records, `{"reference_id":"person-9"}`, "Prefer", "wait=10")
	if err := s.end(); err != nil { // waits for the attempt that is under way
		t.Fatal(err)
	}
	if len(notices) > 0 {
		t.Errorf("a loopback address was notified: %s", (<-notices).body)
	}
}
