// What preflight says about the servers that a host calls, and the URL that customers open.

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/verifyd/verifyd/adapters/token/reviewer"
	"github.com/verifyd/verifyd/hosts/internal/bootstrap"
	"github.com/verifyd/verifyd/hosts/internal/cli"
	"github.com/verifyd/verifyd/internal/definitions"
	"github.com/verifyd/verifyd/internal/transport"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/store"
)

const (
	reachTimeout = 5 * time.Second
	reachAtOnce  = 16
	expiresSoon  = 14 * 24 * time.Hour
	maxReceivers = 1000 // of one tenant
)

// target is a server that a host calls.
type target struct {
	check, name, address string
	through              *http.Transport
}

// reach connects to servers, and sends nothing after the TLS handshake.
func (s *session) reach(ctx context.Context, targets []target) []finding {
	found := make([]finding, len(targets))
	var group errgroup.Group
	group.SetLimit(reachAtOnce)
	for i, t := range targets {
		group.Go(func() error {
			found[i], _ = s.reached(ctx, t)
			return nil
		})
	}
	_ = group.Wait() // no function fails
	return found
}

func (s *session) reached(ctx context.Context, t target) (finding, error) {
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	name := strings.TrimSpace(t.name + " " + transport.Origin(t.address))
	certificate, err := transport.Reach(ctx, t.through, t.address)
	if err != nil {
		_, why := transport.Explain(err, reachTimeout)
		if wrong := (*tls.CertificateVerificationError)(nil); errors.As(err, &wrong) {
			why += ": " + wrong.Err.Error()
		}
		return failed(t.check, name+" cannot be reached: "+why, "check the address, the firewall and the certificate"), err
	}
	if certificate == nil {
		return warning(t.check, name+" answers, without TLS", "use https, except on this machine"), nil
	}
	message := name + " answers, with a certificate that is valid until " + certificate.NotAfter.UTC().Format(time.DateOnly)
	return judged(t.check, certificate.NotAfter.Sub(s.clock.Now()) >= expiresSoon, message, healthWarn, message, "renew it"), nil
}

// vendors returns the servers of the providers of a bootstrap file.
func vendors(b definitions.Bootstrap, made bootstrap.Providers) (all []target) {
	add := func(declared []definitions.Provider, made map[string]verification.Provider) {
		for _, d := range declared {
			p, is := made[d.Name].(interface {
				Servers() ([]string, *http.Transport)
			})
			if !is { // file has said why
				continue
			}
			addresses, through := p.Servers()
			for _, address := range addresses {
				all = append(all, target{"vendor", d.Name, address, through})
			}
		}
	}
	add(b.Providers, made.All)
	for _, t := range b.Tenants {
		add(t.Providers, made.Tenant[t.Tenant.ID])
	}
	return all
}

// receivers returns the servers of the webhooks of a bootstrap file and of the store, each once.
func (c preflight) receivers(ctx context.Context, s *session, b definitions.Bootstrap, has held) (all []target) {
	origins := map[string]bool{}
	for _, t := range b.Tenants {
		for _, w := range t.Workflows {
			origins[transport.Origin(w.Definition.LifecycleWebhookURL)] = true
		}
	}
	for _, t := range has.tenants(ctx) {
		page, _ := has.store.Workflows(ctx, t.ID, store.PageQuery{Limit: maxReceivers}) // tenants were read from the same store
		for _, w := range page.Data {
			origins[transport.Origin(w.LifecycleWebhookURL)] = true
		}
	}
	delete(origins, transport.NoOrigin) // of those without one
	through := transport.New(transport.Options{Timeout: reachTimeout, AllowPrivateNetworks: c.AllowPrivate, Roots: s.roots})
	return mapSlice(slices.Sorted(maps.Keys(origins)), func(origin string) target { return target{"receiver", "", origin, through} })
}

// issuer fetches the keys of the OpenID Connect issuer.
func (c preflight) issuer(ctx context.Context, s *session) []finding {
	if c.OIDCIssuer == "" {
		return nil
	}
	o, err := reviewer.NewOIDC(reviewer.OIDCOptions{Issuer: c.OIDCIssuer, JWKSURL: c.OIDCKeys, Audience: "preflight", Now: s.clock.Now})
	keys := 0
	if err == nil {
		keys, err = o.FetchKeys(ctx)
	}
	if err == nil && keys == 0 {
		err = errors.New("none of its keys can verify tokens")
	}
	return []finding{checked("oidc issuer", err, fmt.Sprintf("keys that can verify tokens: %d; client and secret are tried when a reviewer signs in", keys),
		"check "+cli.Setting("oidc-issuer")+" and "+cli.Setting("oidc-jwks-url"))}
}

// public connects to the URL of journey links as a customer does. live says that a host runs.
func (c preflight) public(ctx context.Context, s *session, live bool) finding {
	const check = "public url"
	if c.PublicURL == "" {
		return warning(check, "not set, so links of journeys lead to the address of the host", "set "+cli.Setting("public-url"))
	}
	if err := cli.CheckPublicURL(c.PublicURL); err != nil {
		return failed(check, err.Error(), "correct "+cli.Setting("public-url"))
	}
	through := transport.New(transport.Options{Timeout: reachTimeout, AllowPrivateNetworks: true, Roots: s.roots})
	f, err := s.reached(ctx, target{check, "", c.PublicURL, through})
	if errors.Is(err, syscall.ECONNREFUSED) && !live {
		return warning(check, transport.Origin(c.PublicURL)+" does not answer yet", "if there is a proxy, look at it; otherwise look again after the start")
	}
	return f
}
