// Fetches an issuer's discovery document and key set.

package reviewer

import (
	"bytes"
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
	discoverEvery  = 24 * time.Hour // or after the keys could not be read
)

// keySource fetches an issuer's keys. It is not safe for concurrent use.
type keySource struct {
	issuer  string
	jwksURL string // from the options; may be empty
	client  *http.Client

	jwksURI      string // from the discovery document; empty if it is to be read
	discoveredAt time.Time
}

// discoveryDocument is what verifyd reads of an issuer's discovery document. See
// OpenID Connect Discovery 1.0, section 3, and OpenID Connect RP-Initiated Logout 1.0.
type discoveryDocument struct {
	Issuer      string   `json:"issuer"`
	JWKSURI     string   `json:"jwks_uri"`
	AuthURL     string   `json:"authorization_endpoint"`
	TokenURL    string   `json:"token_endpoint"`
	LogoutURL   string   `json:"end_session_endpoint"`
	AuthMethods []string `json:"token_endpoint_auth_methods_supported"`
}

func newKeySource(o OIDCOptions) *keySource {
	client := http.Client{Transport: &http.Transport{
		Proxy:                  nil, // only hosts read the environment
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		DisableKeepAlives:      true, // it is used once an hour
		MaxResponseHeaderBytes: maxHeaderBytes,
	}}
	if o.Client != nil {
		client = *o.Client
	}
	if client.CheckRedirect == nil {
		client.CheckRedirect = checkRedirect
	}
	return &keySource{issuer: o.Issuer, jwksURL: o.JWKSURL, client: &client}
}

// fetch returns the keys and how long they are fresh.
func (s *keySource) fetch(ctx context.Context, now time.Time) (publicKeys, time.Duration, error) {
	from := s.jwksURL
	if from == "" {
		if err := s.discover(ctx, now); err != nil {
			return nil, 0, fmt.Errorf("read the issuer's discovery document: %w", err)
		}
		from = s.jwksURI
	}
	body, header, err := s.get(ctx, from)
	var keys publicKeys
	if err == nil {
		keys, err = readPublicKeys(body)
	}
	if err != nil {
		s.jwksURI = ""
		return nil, 0, fmt.Errorf("read the issuer's keys: %w", err)
	}
	return keys, freshFor(header), nil
}

// discover reads the URL of the keys once a day. See OpenID Connect Discovery
// 1.0, section 4.
func (s *keySource) discover(ctx context.Context, now time.Time) error {
	if s.jwksURI != "" && now.Sub(s.discoveredAt) < discoverEvery {
		return nil
	}
	document, err := s.read(ctx)
	if err != nil {
		return err
	}
	if err := checkURL(document.JWKSURI, false); err != nil {
		return fmt.Errorf("its jwks_uri %w", err)
	}
	s.jwksURI, s.discoveredAt = document.JWKSURI, now
	return nil
}

func (s *keySource) read(ctx context.Context) (document discoveryDocument, err error) {
	body, _, err := s.get(ctx, strings.TrimSuffix(s.issuer, "/")+discoveryPath)
	if err != nil {
		return document, err
	}
	if err := json.Unmarshal(body, &document); err != nil {
		return document, errors.New("it is not a JSON object with strings for issuer and jwks_uri")
	}
	if document.Issuer != s.issuer {
		return document, fmt.Errorf("its issuer is %.200q, not %q", document.Issuer, s.issuer)
	}
	return document, nil
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
		return nil, nil, fmt.Errorf("the response has status %d, not 200", response.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxFetch+1))
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("read the response: %w", err)
	case len(body) > maxFetch:
		return nil, nil, errors.New("the response is larger than 1 MiB")
	}
	return bytes.TrimPrefix(body, []byte("\ufeff")), response.Header, nil
}

// checkRedirect allows at most three redirects, each to a URL that checkURL
// allows, and none from https to http.
func checkRedirect(request *http.Request, via []*http.Request) error {
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

// checkURL returns an error unless a URL is https, or http on a loopback
// address, without credentials and fragment and, if bare, without a query.
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
		return errors.New("must not contain credentials")
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

// freshFor returns the max-age of a response, within minFresh and maxFresh.
func freshFor(header http.Header) time.Duration {
	for directive := range strings.SplitSeq(strings.Join(header.Values("Cache-Control"), ","), ",") {
		name, value, _ := strings.Cut(strings.ToLower(strings.TrimSpace(directive)), "=")
		switch name {
		case "no-store", "no-cache":
			return minFresh
		case "max-age":
			seconds, err := strconv.ParseUint(strings.Trim(value, `"`), 10, 32)
			if err != nil {
				return defaultFresh
			}
			return min(max(time.Duration(seconds)*time.Second, minFresh), maxFresh)
		}
	}
	return defaultFresh
}
