// The tokens of hosted-journey links.

package token

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// A link token is the base64url of 69 bytes, big-endian: 92 characters with no
// bit to spare, so that there is one way to write it.
//
//	 0  version, 1
//	 1  hint of the key, 8
//	 9  tenant, 16
//	25  run, 16
//	41  wait, 4
//	45  deadline in microseconds since 1970, 8; the least number is none
//	53  HMAC-SHA256 of all that stands before, its first 16 bytes
const (
	linkVersion = 1
	atHint      = 1
	atTenant    = 9
	atRun       = 25
	atWait      = 41
	atDeadline  = 45
	atMAC       = 53
	linkBytes   = 69
	linkChars   = linkBytes / 3 * 4
	noDeadline  = math.MinInt64
)

// Links signs and opens link tokens. It is a verification.LinkSigner.
type Links struct {
	first  *key
	byHint map[hint]*key
}

// NewLinks makes a signer from a key set.
func NewLinks(keys *Keys) *Links {
	l := &Links{first: keys.list[0], byHint: make(map[hint]*key, len(keys.list))}
	for _, k := range keys.list {
		l.byHint[k.hint] = k
	}
	return l
}

// SignLink makes the token of a link: the same one at every call. ExpiresAt is
// kept to the microsecond. It fails for a link that no run can have.
func (l *Links) SignLink(link verification.Link) (string, error) {
	var b [linkBytes]byte
	b[0] = linkVersion
	copy(b[atHint:], l.first.hint[:])
	if !putUUID(b[atTenant:], string(link.Tenant)) || !putUUID(b[atRun:], string(link.Run)) {
		return "", fmt.Errorf("sign the link of run %q: tenant and run must be lower-case UUIDs", link.Run)
	}
	if link.Wait < 0 || link.Wait > math.MaxUint32 {
		return "", fmt.Errorf("sign the link of run %s: there is no wait %d", link.Run, link.Wait)
	}
	binary.BigEndian.PutUint32(b[atWait:], uint32(link.Wait))
	deadline := int64(noDeadline)
	if !link.ExpiresAt.IsZero() {
		if y := link.ExpiresAt.UTC().Year(); y < 1 || y > 9999 {
			return "", fmt.Errorf("sign the link of run %s: there is no year %d", link.Run, y)
		}
		deadline = link.ExpiresAt.UnixMicro()
	}
	binary.BigEndian.PutUint64(b[atDeadline:], uint64(deadline))
	l.first.seal(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:]), nil
}

// OpenLink tells what a token names. Whatever was not signed with one of the
// keys, or is not written just as SignLink wrote it, is ErrInvalid.
func (l *Links) OpenLink(token string) (verification.Link, error) {
	refused := &verification.Error{Kind: verification.ErrInvalid, Subject: "link", Message: "it was not issued here"}
	if len(token) != linkChars {
		return verification.Link{}, refused
	}
	var b, again [linkBytes]byte
	// The decoder skips line breaks: then there are too few bytes.
	if n, err := base64.RawURLEncoding.Decode(b[:], []byte(token)); err != nil || n != linkBytes || b[0] != linkVersion {
		return verification.Link{}, refused
	}
	k, ok := l.byHint[hint(b[atHint:atTenant])]
	if !ok {
		return verification.Link{}, refused
	}
	again = b
	k.seal(again[:])
	if !hmac.Equal(again[atMAC:], b[atMAC:]) {
		return verification.Link{}, refused
	}
	link := verification.Link{
		RunRef: verification.RunRef{
			Tenant: verification.TenantID(uuid(b[atTenant:])),
			Run:    verification.RunID(uuid(b[atRun:])),
		},
		Wait: int(binary.BigEndian.Uint32(b[atWait:])),
	}
	if deadline := int64(binary.BigEndian.Uint64(b[atDeadline:])); deadline != noDeadline {
		link.ExpiresAt = time.UnixMicro(deadline).UTC()
	}
	return link, nil
}

// seal writes the MAC over what stands before it. It is cut to 128 bits, as RFC
// 4868 cuts it, for a link that fits into a text message.
func (k *key) seal(b []byte) {
	mac := hmac.New(sha256.New, k.link)
	mac.Write(b[:atMAC])
	copy(b[atMAC:], mac.Sum(nil))
}

// putUUID writes the 16 bytes of a lower-case UUID.
func putUUID(to []byte, id string) bool {
	if len(id) != 36 || id[8] != '-' || id[13] != '-' || id[18] != '-' || id[23] != '-' {
		return false
	}
	digits := id[:8] + id[9:13] + id[14:18] + id[19:23] + id[24:]
	for i := range len(digits) {
		if digits[i] >= 'A' && digits[i] <= 'F' {
			return false
		}
	}
	n, err := hex.Decode(to, []byte(digits))
	return err == nil && n == 16
}

func uuid(b []byte) string {
	h := hex.EncodeToString(b[:16])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
