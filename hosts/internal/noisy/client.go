// Requests of a tenant.

package noisy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"syscall"
	"time"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/adapters/client"
	"github.com/verifyd/verifyd/internal/rig/process"
	"github.com/verifyd/verifyd/verification"
)

// newClients returns a client of each host for one tenant. A failed request is counted and not repeated.
func newClients(id string, hosts []*process.Host) (all []*client.Client, err error) {
	connections := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
	for _, h := range hosts {
		c, err := client.New(client.Options{
			BaseURL: h.API, ClientID: id, APIKey: apiKey, HTTP: connections, Attempts: 1, PollInterval: 20 * time.Millisecond,
			Timeout: time.Hour, // the caller's context ends a request
		})
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// start starts a run and waits for it to rest.
func start(ctx context.Context, c *client.Client, workflow verification.WorkflowID, input string, wait time.Duration) (apitypes.Run, error) {
	return c.StartRun(ctx, workflow, client.StartRequest{ReferenceID: "person-1", Input: json.RawMessage(input), Wait: &wait})
}

// startEncoded is start with a body as it is sent: the bystander's client, which shares the process, would wait for its encoding.
func (s *site) startEncoded(ctx context.Context, n, workflow int, body []byte) error {
	address := s.hosts[n%len(s.hosts)].API + "/v1/workflows/" + string(idOf(attackerTenant, workflow)) + "/runs"
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header = http.Header{"Client-Id": {attackerID}, "X-Api-Key": {apiKey}, "Content-Type": {"application/json"}, "Prefer": {"wait=0"}}
	_, err = visit(r, http.StatusAccepted)
	return err
}

// cause returns why a request failed, in a few words that are the same for equal
// causes.
func cause(err error) string {
	refused, answered := errors.AsType[*client.Error](err)
	timeout, bounded := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	switch {
	case answered:
		return fmt.Sprint(refused.Status, " ", http.StatusText(refused.Status))
	case errors.Is(err, context.DeadlineExceeded), bounded && timeout.Timeout():
		return "timed out"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), bounded:
		return "connection broken"
	}
	return err.Error()
}
