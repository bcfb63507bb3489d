// Package token signs and opens the tokens of journey links and callback URLs, signs
// printed reports, and has the keys for it. Keys rotate: the first key of a set signs, and every key
// verifies.
//
// A token is short and always the same: its last part is a MAC under a key that is
// derived from the signing key for this purpose only. The tokens of reviewers, which
// the signing key itself signs, are made by the package reviewer below, so that a
// program that needs only links does not link the libraries for them.
package token

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/verifyd/verifyd/verification"
)

// A token is 69 bytes, big-endian, in base64url: 92 characters without spare bits,
// so that no other text encodes the same token.
//
//	 0  kind, 1: a link, a callback, or a return
//	 1  hint of the key, 8
//	 9  tenant, 16
//	25  run, 16
//	41  wait, 4
//	45  deadline in microseconds since 1970, 8; the smallest number means none
//	53  HMAC-SHA256 of everything before it, its first 16 bytes
const (
	kindLink     = 1
	kindCallback = 2
	kindReturn   = 3
	atHint       = 1
	atTenant     = 9
	atRun        = 25
	atWait       = 41
	atDeadline   = 45
	atMAC        = 53
	linkBytes    = 69
	linkChars    = linkBytes / 3 * 4
	noDeadline   = math.MinInt64
)

// Links signs and opens the tokens of links and callbacks.
type Links interface {
	verification.LinkSigner
	verification.CallbackSigner
}

type links struct{ keys *Keys }

// NewLinks returns a signer that signs with the first of keys.
func NewLinks(keys *Keys) Links { return &links{keys} }

// SignLink returns the token of a link, which is the same at every call.
// ExpiresAt is truncated to microseconds. SignLink fails for ids that are not
// lower-case UUIDs, a wait outside 0 to 2^32-1, and a year outside 1 to 9999.
func (l *links) SignLink(link verification.Link) (string, error) { return l.sign(kindLink, link) }

// SignCallback returns the token of a callback URL. It fails as SignLink does.
func (l *links) SignCallback(t verification.CallbackTarget) (string, error) {
	return l.sign(kindCallback, verification.Link{RunRef: t.RunRef, WaitNumber: t.WaitNumber})
}

// SignReturn returns the token of a return URL. It fails as SignLink does.
func (l *links) SignReturn(t verification.CallbackTarget) (string, error) {
	return l.sign(kindReturn, verification.Link{RunRef: t.RunRef, WaitNumber: t.WaitNumber})
}

func (l *links) sign(kind byte, link verification.Link) (string, error) {
	var b [linkBytes]byte
	first := l.keys.Signing()
	b[0] = kind
	copy(b[atHint:], first.hint[:])
	if !putUUID(b[atTenant:], string(link.Tenant)) || !putUUID(b[atRun:], string(link.Run)) {
		return "", fmt.Errorf("sign the link of run %q: tenant and run must be lower-case UUIDs", link.Run)
	}
	if link.WaitNumber < 0 || link.WaitNumber > math.MaxUint32 {
		return "", fmt.Errorf("sign the link of run %s: %d is not a wait", link.Run, link.WaitNumber)
	}
	binary.BigEndian.PutUint32(b[atWait:], uint32(link.WaitNumber))
	deadline := int64(noDeadline)
	if !link.ExpiresAt.IsZero() {
		if y := link.ExpiresAt.UTC().Year(); y < 1 || y > 9999 {
			return "", fmt.Errorf("sign the link of run %s: %d is not a year from 1 to 9999", link.Run, y)
		}
		deadline = link.ExpiresAt.UnixMicro()
	}
	binary.BigEndian.PutUint64(b[atDeadline:], uint64(deadline))
	first.seal(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:]), nil
}

// OpenLink returns the link of a token. For a token that none of the keys signed,
// or that differs in any way from what SignLink returned, it fails with
// ErrInvalid.
func (l *links) OpenLink(token string) (verification.Link, error) { return l.open(kindLink, token) }

// OpenCallback returns the target of a token that SignCallback returned, and fails
// as OpenLink does.
func (l *links) OpenCallback(token string) (verification.CallbackTarget, error) {
	link, err := l.open(kindCallback, token)
	return verification.CallbackTarget{RunRef: link.RunRef, WaitNumber: link.WaitNumber}, err
}

// OpenReturn returns the target of a token that SignReturn returned, and fails as OpenLink does.
func (l *links) OpenReturn(token string) (verification.CallbackTarget, error) {
	link, err := l.open(kindReturn, token)
	return verification.CallbackTarget{RunRef: link.RunRef, WaitNumber: link.WaitNumber}, err
}

func (l *links) open(kind byte, token string) (verification.Link, error) {
	refused := &verification.Error{Kind: verification.ErrInvalid, Subject: "link", Message: "it was not issued here"}
	if len(token) != linkChars {
		return verification.Link{}, refused
	}
	var b, resealed [linkBytes]byte
	// The decoder skips line breaks: a token with some has fewer bytes.
	if n, err := base64.RawURLEncoding.Decode(b[:], []byte(token)); err != nil || n != linkBytes || b[0] != kind {
		return verification.Link{}, refused
	}
	k, ok := l.keys.set().byHint[hint(b[atHint:atTenant])]
	if !ok {
		return verification.Link{}, refused
	}
	resealed = b
	k.seal(resealed[:])
	if !hmac.Equal(resealed[atMAC:], b[atMAC:]) {
		return verification.Link{}, refused
	}
	link := verification.Link{
		RunRef: verification.RunRef{
			Tenant: verification.TenantID(uuid.UUID(b[atTenant:atRun]).String()),
			Run:    verification.RunID(uuid.UUID(b[atRun:atWait]).String()),
		},
		WaitNumber: int(binary.BigEndian.Uint32(b[atWait:])),
	}
	if deadline := int64(binary.BigEndian.Uint64(b[atDeadline:])); deadline != noDeadline {
		link.ExpiresAt = time.UnixMicro(deadline).UTC()
	}
	return link, nil
}

// seal writes the MAC of the bytes before it, truncated to 128 bits as in RFC
// 4868, so that a link fits into a text message.
func (k *Key) seal(b []byte) {
	mac := hmac.New(sha256.New, k.link)
	mac.Write(b[:atMAC])
	copy(b[atMAC:], mac.Sum(nil))
}

// putUUID writes the 16 bytes of a UUID in its lower-case form.
func putUUID(to []byte, id string) bool {
	u, err := uuid.Parse(id)
	return err == nil && u.String() == id && copy(to, u[:]) == len(u)
}
