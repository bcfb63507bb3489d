// Secrets: in the file or in the environment, and never in a fault.

package definition

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/verifyd/verifyd/verification"
)

// The length of a webhook secret in bytes, as Standard Webhooks bounds it.
const (
	minSecret = 24
	maxSecret = 64
)

// maxAPIKey is the most characters of an API key.
const maxAPIKey = 500

// secret reads a text that may stand in the environment; ok is false when there
// is none, or a fault was told.
func (b *bootstrapReader) secret(f *fields, name string) (value string, ok bool) {
	e, ok := f.get(name, kindText)
	if !ok {
		return "", false
	}
	reference, is := strings.CutPrefix(e.value.word, "${env:")
	if !is {
		return e.value.word, true
	}
	variable, closed := strings.CutSuffix(reference, "}")
	if !closed || !variableName(variable) {
		f.fault(e.at, f.path.field(name), "must be ${env:NAME} alone, with the name of an environment variable")
		return "", false
	}
	if value = b.getenv(variable); value == "" {
		f.fault(e.at, f.path.field(name), "the environment variable "+variable+" is not set")
		return "", false
	}
	return value, true
}

func (b *bootstrapReader) apiKey(f *fields) string {
	key, ok := b.secret(f, "api_key")
	if ok && (len(key) < verification.MinAPIKeyLength || len(key) > maxAPIKey || !headerWord(key)) {
		f.fault(f.place("api_key"), f.path.field("api_key"), fmt.Sprintf(
			"must be %d to %d letters, digits and signs of ASCII, without spaces", verification.MinAPIKeyLength, maxAPIKey))
	}
	return key
}

func (b *bootstrapReader) webhookSecret(f *fields, name string) string {
	secret, ok := b.secret(f, name)
	if !ok {
		return ""
	}
	coded, prefixed := strings.CutPrefix(secret, "whsec_")
	raw, err := base64.StdEncoding.Strict().DecodeString(coded)
	if !prefixed || err != nil || strings.ContainsAny(coded, "\r\n") || len(raw) < minSecret || len(raw) > maxSecret {
		f.fault(f.place(name), f.path.field(name),
			fmt.Sprintf("must be whsec_ followed by the base64 of %d to %d bytes", minSecret, maxSecret))
	}
	return secret
}

// headerWord tells whether s can be sent in an HTTP header as it is.
func headerWord(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

func variableName(s string) bool {
	return s != "" && (s[0] < '0' || s[0] > '9') && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}
