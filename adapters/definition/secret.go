// Secrets: in the file or in the environment, and never in a fault.

package definition

import (
	"strings"

	"github.com/verifyd/verifyd/verification"
)

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
	return b.checkedSecret(f, "api_key", verification.CheckAPIKey)
}

func (b *bootstrapReader) webhookSecret(f *fields, name string) string {
	return b.checkedSecret(f, name, verification.CheckWebhookSecret)
}

// checkedSecret returns a secret, and reports what check finds.
func (b *bootstrapReader) checkedSecret(f *fields, name string, check func(string) error) string {
	secret, ok := b.secret(f, name)
	if !ok {
		return ""
	}
	if err := check(secret); err != nil {
		f.fault(f.place(name), f.path.field(name), sentence(err))
	}
	return secret
}

func variableName(s string) bool {
	return s != "" && (s[0] < '0' || s[0] > '9') && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}
