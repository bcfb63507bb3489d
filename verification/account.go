// Accounts and the secrets of a tenant.

package verification

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification/internal/texts"
)

// Surface is a group of routes that an account may be authorized for.
type Surface string

// The surfaces.
const (
	SurfaceWorkflows Surface = "workflows" // list and read workflows, set a webhook
	SurfaceRuns      Surface = "runs"      // start, list, read, report, documents, cancel
	SurfaceSignals   Surface = "signals"   // deliver a signal
	SurfaceFiles     Surface = "files"     // print the report for the file, which says who decided and why
	SurfaceErase     Surface = "erase"     // redact a run
)

// Surfaces returns the surfaces of an account for which none are chosen: all but SurfaceFiles and
// SurfaceErase, which nobody has unless an operator gives them.
func Surfaces() []Surface { return []Surface{SurfaceWorkflows, SurfaceRuns, SurfaceSignals} }

// AllSurfaces returns every surface.
func AllSurfaces() []Surface { return append(Surfaces(), SurfaceFiles, SurfaceErase) }

// MinAPIKeyLength is the minimum length of an API key, in characters.
const MinAPIKeyLength = 20

const (
	maxClientID = 200 // characters
	maxAPIKey   = 500 // characters
	// The length of a webhook secret in bytes, as Standard Webhooks bounds it.
	minWebhookSecret, maxWebhookSecret = 24, 64
)

// Account is a pair of credentials that acts for a tenant.
type Account struct {
	ClientID string
	Tenant   TenantID
	// KeyHash is the HashAPIKey of the key; the key itself is not stored.
	KeyHash [32]byte
	// PreviousKeyHash is that of a second key, which the account had before; zero for none. It is accepted before
	// PreviousUntil, or for good if that is zero: then a bootstrap file has both keys.
	PreviousKeyHash [32]byte  `json:",omitzero"`
	PreviousUntil   time.Time `json:",omitzero"`
	Disabled        bool
	// FromFile reports whether a bootstrap file lists the account, or did when it was
	// saved last. Such an account is disabled once the file no longer lists it. False for
	// accounts that operators or programs made.
	FromFile bool
	Surfaces []Surface
}

// Allows reports whether the account may use a surface.
func (a Account) Allows(s Surface) bool { return slices.Contains(a.Surfaces, s) }

// Validate returns ErrInvalid if the client id or a surface breaks a rule; the
// fields of the error are client_id and surfaces.
func (a Account) Validate() error {
	var problems []FieldError
	if !printable(a.ClientID, 1, maxClientID) {
		problems = append(problems, FieldError{Name: "client_id", Message: printableRule(1, maxClientID)})
	}
	for _, s := range a.Surfaces {
		if !slices.Contains(AllSurfaces(), s) {
			problems = append(problems, FieldError{
				Name: "surfaces", Message: fmt.Sprintf("there is no surface %q (supported: %s)", s, texts.Join(AllSurfaces())),
			})
		}
	}
	if len(problems) > 0 {
		return &Error{Kind: ErrInvalid, Subject: "account", Fields: problems}
	}
	return nil
}

// MaxAccounts is how many accounts a tenant may have.
const MaxAccounts = 1000

// RoomForAccounts returns ErrConflict if a tenant would have n accounts, and that is too many.
func RoomForAccounts(n int) error {
	if n <= MaxAccounts {
		return nil
	}
	return Conflict("account", fmt.Sprintf("the tenant would have %d accounts, and takes %d: use one that it has", n, MaxAccounts))
}

// ValidateAPIKey returns ErrInvalid unless the key has MinAPIKeyLength to 500
// printable ASCII characters and no spaces. The error does not contain the key.
func ValidateAPIKey(key string) error {
	if !printable(key, MinAPIKeyLength, maxAPIKey) {
		return InvalidField("account", "api_key", printableRule(MinAPIKeyLength, maxAPIKey))
	}
	return nil
}

// HashAPIKey returns the form in which a key is stored. Keys are long and random,
// so a plain SHA-256 resists guessing.
func HashAPIKey(key string) [32]byte { return sha256.Sum256([]byte(key)) }

// ValidateWebhookSecret returns ErrInvalid unless the secret is whsec_ followed by
// the base64 of 24 to 64 bytes. The error does not contain the secret.
func ValidateWebhookSecret(secret string) error {
	encoded, prefixed := strings.CutPrefix(secret, "whsec_")
	raw, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if !prefixed || err != nil || strings.ContainsAny(encoded, "\r\n") ||
		len(raw) < minWebhookSecret || len(raw) > maxWebhookSecret {
		return InvalidField("tenant", "webhook_secret",
			fmt.Sprintf("must be whsec_ followed by the base64 of %d to %d bytes", minWebhookSecret, maxWebhookSecret))
	}
	return nil
}

// printable reports whether s has the given number of printable ASCII characters
// and no spaces, so that an HTTP header can carry it unchanged.
func printable(s string, minimum, maximum int) bool {
	return len(s) >= minimum && len(s) <= maximum &&
		!strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

func printableRule(minimum, maximum int) string {
	return fmt.Sprintf("must be %d to %d printable ASCII characters without spaces", minimum, maximum)
}
