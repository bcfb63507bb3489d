// Package client calls the HTTP API of a verifyd host. docs/client.md introduces it, and
// docs/api.md has every rule of the API.
//
//	c, err := client.New(client.Options{BaseURL: "https://verify.example", ClientID: "acme", APIKey: key})
//	run, err := c.StartRun(ctx, workflow, client.StartRequest{ReferenceID: "person-1"})
//	ended, err := c.WaitForRun(ctx, run.ID, client.Ended)
//
// Each operation of adapters/httpapi/openapi.yaml has a method with the same name. [Client.Runs] and
// [Client.Workflows] read whole lists, [Client.WaitForRun] polls, and [ReadWebhook] verifies what the
// host sends.
//
// Every call takes a context, which bounds the call with all its attempts and the waits between them.
// A call is repeated, up to Options.Attempts, when the host asks for it (429, 503, and an idempotency
// key in flight) or when the connection or a gateway fails (502, 504), but only if a repetition is safe.
// All operations but [Client.SetWebhook] are safe to repeat: starts and signals have an idempotency key,
// which is generated if the caller names none.
//
// An answer other than 2xx is an [*Error]. It matches a kind of package verification, such as
// verification.ErrNotFound, with errors.Is.
package client

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// The defaults of Options.
const (
	defaultTimeout      = 40 * time.Second // longer than the longest wait of a start, 25 s
	defaultAttempts     = 5
	defaultMaxWait      = 30 * time.Second
	defaultPollInterval = 2 * time.Second
)

// Options configure a Client. BaseURL is required.
type Options struct {
	// BaseURL is the address of the host, such as https://verify.example. It may have a path, and
	// must have no user information, query and fragment.
	BaseURL string
	// ClientID and APIKey are the credentials of an account.
	ClientID, APIKey string
	// AccessToken is the access token of a reviewer. If it is set, verdicts and other signals are
	// delivered in the name of the reviewer, with the token in place of ClientID and APIKey.
	AccessToken string
	// HTTP sends the requests; nil means http.DefaultClient. Redirects are not followed, whatever its
	// CheckRedirect is: they could lead the credentials to another host.
	HTTP *http.Client
	// Timeout bounds one attempt, from the connection to the end of the response; 0 means 40 s. The
	// host may hold the response to a start for up to 25 s.
	Timeout time.Duration
	// Attempts bounds how often a call sends its request; 0 means 5, and 1 turns repetitions off.
	Attempts int
	// MaxWait bounds the wait between two attempts; 0 means 30 s. If the host asks for a longer wait,
	// the call returns its answer instead.
	MaxWait time.Duration
	// PollInterval bounds the time between two requests of WaitForRun; 0 means 2 s.
	PollInterval time.Duration
}

// Client calls one host with the credentials of one account. It is safe for concurrent use.
type Client struct {
	opt  Options
	http http.Client
}

// New returns a Client, or an error that names the invalid option. It sends nothing.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.BaseURL)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "", u.User != nil, u.RawQuery != "", u.Fragment != "":
		return nil, errors.New("client: the option BaseURL must be an absolute http(s) URL without user information, query and fragment")
	case o.Timeout < 0:
		return nil, errors.New("client: the option Timeout must not be negative")
	case o.Attempts < 0:
		return nil, errors.New("client: the option Attempts must not be negative")
	case o.MaxWait < 0:
		return nil, errors.New("client: the option MaxWait must not be negative")
	case o.PollInterval < 0:
		return nil, errors.New("client: the option PollInterval must not be negative")
	}
	o.BaseURL = strings.TrimRight(o.BaseURL, "/")
	setDefault(&o.HTTP, http.DefaultClient)
	setDefault(&o.Timeout, defaultTimeout)
	setDefault(&o.Attempts, defaultAttempts)
	setDefault(&o.MaxWait, defaultMaxWait)
	setDefault(&o.PollInterval, defaultPollInterval)
	c := &Client{opt: o, http: *o.HTTP}
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c, nil
}

func setDefault[T comparable](option *T, value T) {
	var unset T
	if *option == unset {
		*option = value
	}
}
