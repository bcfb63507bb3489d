// The receivers, with notices that the reference library of Standard Webhooks signs.

package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/verifyd/verifyd/adapters/client"
)

const (
	secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	notice = `{"type":"run.completed","timestamp":"2026-11-25T12:00:00Z","data":{"id":"1","reference_id":"person-1","status":"completed"}}`
)

func TestTheReceiverInGo(t *testing.T) {
	var saved []string
	s := httptest.NewServer(receive(secret, func(n client.Webhook) error {
		saved = append(saved, fmt.Sprintf("%s %s of %s", n.ID, n.Type, n.Data.ReferenceID))
		return nil
	}))
	defer s.Close()
	exchange(t, s.URL)
	if got := strings.Join(saved, "\n"); got != "run_1 run.completed of person-1" {
		t.Errorf("saved = %q, want one notice", got)
	}
}

func TestTheReceiverInNode(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("Node.js is not installed")
	}
	runs(t, "node", "receiver.mjs")
}

func TestTheReceiverInPython(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("Python is not installed")
	}
	runs(t, "python3", "receiver.py")
}

// runs runs a receiver, and exchanges notices with it.
func runs(t *testing.T, program, file string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	receiver := exec.CommandContext(ctx, program, file)
	receiver.Env = append(os.Environ(), "WEBHOOK_SECRET="+secret, "LISTEN=0")
	var out strings.Builder
	receiver.Stdout = &out
	stderr, err := receiver.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := receiver.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stderr).ReadString('\n')
	port, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok {
		t.Fatalf("the first line is %q, %v", line, err)
	}
	exchange(t, "http://127.0.0.1:"+port)
	if err := receiver.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = receiver.Wait() // it was killed
	if out.String() != "run_1 run.completed of person-1\n" {
		t.Errorf("printed %q, want one notice", out.String())
	}
}

// exchange sends a notice twice, and what a receiver must refuse.
func exchange(t *testing.T, url string) {
	t.Helper()
	hook, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, body string
		sent       time.Time
		want       int
	}{
		{"a notice", notice, time.Now(), http.StatusNoContent},
		{"the notice again", notice, time.Now(), http.StatusNoContent},
		{"another body", strings.Replace(notice, "person-1", "person-2", 1), time.Now(), http.StatusUnauthorized},
		{"an old notice", notice, time.Now().Add(-time.Hour), http.StatusUnauthorized},
	} {
		signature, err := hook.Sign("run_1", test.sent, []byte(notice))
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(test.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Webhook-Id", "run_1")
		r.Header.Set("Webhook-Timestamp", strconv.FormatInt(test.sent.Unix(), 10))
		r.Header.Set("Webhook-Signature", signature)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != test.want {
			t.Errorf("%s: the receiver answers %d, want %d", test.name, response.StatusCode, test.want)
		}
	}
}
