// Where an issuer's keys come from: its discovery document and its JWK set.

package token

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	fetchTimeout   = 5 * time.Second
	maxFetch       = 1 << 20 // bytes of a body
	maxHeaderBytes = 64 << 10
	maxRedirects   = 3
	discoveryPath  = "/.well-known/openid-configuration"
	discoverEvery  = 24 * time.Hour // or as soon as the keys are no longer there
)

// keySource fetches an issuer's keys. One goroutine uses it at a time.
type keySource struct {
	issuer string
	given  string // where the operator says the keys are; may be empty
	client *http.Client

	found   string // where the issuer says they are; empty before it is asked
	foundAt time.Time
}

func newKeySource(o OIDCOptions) *keySource {
	client := http.Client{Transport: &http.Transport{
		Proxy:                  nil, // only a host reads the environment
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		DisableKeepAlives:      true, // it is called once an hour
		MaxResponseHeaderBytes: maxHeaderBytes,
	}}
	if o.Client != nil {
		client = *o.Client
	}
	if client.CheckRedirect == nil {
		client.CheckRedirect = follow
	}
	return &keySource{issuer: o.Issuer, given: o.JWKSURL, client: &client}
}

// fetch fetches the keys, and says for how long they are fresh.
func (s *keySource) fetch(ctx context.Context, now time.Time) (publicKeys, time.Duration, error) {
	from := s.given
	if from == "" {
		if err := s.discover(ctx, now); err != nil {
			return nil, 0, fmt.Errorf("read the issuer's discovery document: %w", err)
		}
		from = s.found
	}
	body, header, err := s.get(ctx, from)
	if err != nil {
		s.found = ""
		return nil, 0, fmt.Errorf("read the issuer's keys: %w", err)
	}
	keys, err := readPublicKeys(body)
	if err != nil {
		s.found = ""
		return nil, 0, fmt.Errorf("read the issuer's keys: %w", err)
	}
	return keys, freshFor(header), nil
}

// discover asks the issuer where its keys are. See OpenID Connect Discovery 1.0,
// section 4.
func (s *keySource) discover(ctx context.Context, now time.Time) error {
	if s.found != "" && now.Sub(s.foundAt) < discoverEvery {
		return nil
	}
	body, _, err := s.get(ctx, strings.TrimSuffix(s.issuer, "/")+discoveryPath)
	if err != nil {
		return err
	}
	var document struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	if err := json.Unmarshal(body, &document); err != nil {
		return errors.New("it is not a JSON object with texts for issuer and jwks_uri")
	}
	if document.Issuer != s.issuer {
		return fmt.Errorf("its issuer is %.200q, not %q", document.Issuer, s.issuer)
	}
	if err := checkURL(document.Keys, false); err != nil {
		return fmt.Errorf("its jwks_uri %w", err)
	}
	s.found, s.foundAt = document.Keys, now
	return nil
}

func (s *keySource) get(ctx context.Context, from string) ([]byte, http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, nil, err
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "verifyd")
	response, err := s.client.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, nil, fmt.Errorf("the answer has status %d, not 200", response.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxFetch+1))
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("read the answer: %w", err)
	case len(body) > maxFetch:
		return nil, nil, errors.New("the answer is larger than 1 MiB")
	}
	return body, response.Header, nil
}

// follow allows a few redirects, none of them to where checkURL would not go,
// and none from https to http.
func follow(request *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("it redirects more than %d times", maxRedirects)
	}
	if last := via[len(via)-1].URL.Scheme; last == "https" && request.URL.Scheme != last {
		return errors.New("it redirects from https to http")
	}
	if err := checkURL(request.URL.String(), false); err != nil {
		return fmt.Errorf("the URL that it redirects to %w", err)
	}
	return nil
}

// checkURL holds that a URL is https, or http on a loopback address, and nothing
// but scheme, host and path; bare also forbids a query.
func checkURL(raw string, bare bool) error {
	u, err := url.Parse(raw)
	switch {
	case raw == "":
		return errors.New("is required")
	case err != nil || u.Hostname() == "" || u.Opaque != "":
		return errors.New("must be an absolute URL")
	case u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())):
		return errors.New("must be https, or http on a loopback address")
	case u.User != nil:
		return errors.New("must not hold credentials")
	case strings.Contains(raw, "#"):
		return errors.New("must not have a fragment")
	case bare && strings.Contains(raw, "?"):
		return errors.New("must not have a query")
	}
	return nil
}

func loopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

// freshFor reads the max-age of an answer, within bounds.
func freshFor(header http.Header) time.Duration {
	for directive := range strings.SplitSeq(strings.Join(header.Values("Cache-Control"), ","), ",") {
		name, value, _ := strings.Cut(strings.ToLower(strings.TrimSpace(directive)), "=")
		switch name {
		case "no-store", "no-cache":
			return minFresh
		case "max-age":
			seconds, err := strconv.ParseUint(strings.Trim(value, `"`), 10, 32)
			if err != nil {
				return usualFresh
			}
			return min(max(time.Duration(seconds)*time.Second, minFresh), maxFresh)
		}
	}
	return usualFresh
}
