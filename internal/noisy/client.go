// Requests of a tenant.

package noisy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
)

// client sends requests with the credentials of one tenant.
type client struct {
	http *http.Client
	id   string
}

func newClient(id string) client {
	transport := &http.Transport{MaxIdleConnsPerHost: 256}
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client{&http.Client{Transport: transport, CheckRedirect: noRedirect}, id}
}

// statusError is an answer that was not expected.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("%d %s", int(e), http.StatusText(int(e))) }

// do sends a request and decodes the answer, if into is not nil. An answer other
// than 2xx is a statusError. Headers are given as name, value.
func (c client) do(ctx context.Context, method, url, body string, into any, headers ...string) error {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	raw, err := c.send(r)
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

// send sends a request with credentials and reads the whole answer.
func (c client) send(r *http.Request) ([]byte, error) {
	r.Header.Set("client-id", c.id)
	r.Header.Set("x-api-key", apiKey)
	response, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return raw, statusError(response.StatusCode)
	}
	return raw, nil
}

// runJSON is the part of a run that is read.
type runJSON struct {
	ID     string
	Status string
	Action *struct{ URL string } `json:"action_required"`
}

// start starts a run. prefer is the header of that name.
func (c client) start(ctx context.Context, api, workflow, input, prefer string) (r runJSON, err error) {
	body := `{"reference_id":"person-1","input":` + input + `}`
	err = c.do(ctx, http.MethodPost, api+"/v1/workflows/"+workflow+"/runs", body, &r, "Prefer", prefer)
	return r, err
}

// cause returns why a request failed, in a few words that are the same for equal
// causes.
func cause(err error) string {
	var status statusError
	var failed *url.Error
	switch {
	case errors.As(err, &status):
		return status.Error()
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &failed) && failed.Timeout():
		return "timed out"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.As(err, &failed):
		return "connection broken"
	}
	return err.Error()
}
