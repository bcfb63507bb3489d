// API keys: made here, or given in a file.

package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/verifyd/verifyd/verification"
)

// maxTenantName is the maximum length of a tenant's name, in characters.
const maxTenantName = 200

// keyFlag gives an API key instead of having one made.
type keyFlag struct {
	APIKeyFile string `name:"api-key-file" placeholder:"FILE" help:"Take the API key from this file instead of making one; - reads stdin. A line break at its end is left out."`
}

// apiKey is a key, and whether it was made here.
type apiKey struct {
	text string
	made bool
}

// apiKey makes a key of 260 random bits in 52 letters and digits, or reads the
// one that is given.
func (s *session) apiKey(f keyFlag) (apiKey, error) {
	if f.APIKeyFile == "" {
		return apiKey{text: rand.Text() + rand.Text(), made: true}, nil
	}
	raw, err := s.read(f.APIKeyFile)
	if err != nil {
		return apiKey{}, fmt.Errorf("--api-key-file: %w", err)
	}
	key := strings.TrimSuffix(strings.TrimSuffix(string(raw), "\n"), "\r")
	if err := verification.CheckAPIKey(key); err != nil {
		return apiKey{}, argumentError("--api-key-file", err)
	}
	return apiKey{text: key}, nil
}

// read returns the first 1,024 bytes of a file or of stdin, which is more than
// any API key has.
func (s *session) read(file string) ([]byte, error) {
	in := s.stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }() // it was only read
		in = f
	}
	return io.ReadAll(io.LimitReader(in, 1024))
}

// argumentError returns the problem of an argument that breaks a rule.
func argumentError(name string, err error) error {
	var e *verification.Error
	if errors.As(err, &e) && len(e.Fields) > 0 {
		return errors.New(name + ": " + e.Fields[0].Message)
	}
	return fmt.Errorf("%s: %w", name, err)
}

type accountJSON struct {
	ClientID string                `json:"client_id"`
	TenantID verification.TenantID `json:"tenant_id"`
	APIKey   string                `json:"api_key,omitempty"` // of an account that was just given it
	Disabled bool                  `json:"disabled"`
	Surfaces []string              `json:"surfaces"`
}

func accountOf(a verification.Account) accountJSON {
	return accountJSON{ClientID: a.ClientID, TenantID: a.Tenant, Disabled: a.Disabled, Surfaces: surfacesOf(a)}
}

func surfacesOf(a verification.Account) []string {
	return shapes(a.Surfaces, func(surface verification.Surface) string { return string(surface) })
}
