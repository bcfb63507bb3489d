// The cache of encoded runs, for clients that poll.

package httpapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strconv"

	"github.com/verifyd/verifyd/adapters/apitypes"
	"github.com/verifyd/verifyd/internal/lru"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

type encoded struct {
	body   []byte
	length []string // Content-Length
	etag   []string // a strong tag: equal bodies have equal tags
}

func (a *api) encodeTagged(v any) (encoded, error) {
	body, err := a.encode(v)
	if err != nil {
		return encoded{}, err
	}
	sum := sha256.Sum256(body)
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:15]) + `"`
	return encoded{body: body, length: []string{strconv.Itoa(len(body))}, etag: []string{tag}}, nil
}

// cachedBody is the newest body of a run that was read.
type cachedBody struct {
	detail rules.RunDetail // the detail that was encoded
	encoded
}

// entryCost is the approximate size of an entry without its body and its detail,
// in bytes.
const entryCost = 1024

func newBodyCache(maxBytes int) *lru.Cache[verification.RunRef, cachedBody] {
	return lru.New[verification.RunRef](maxBytes, maxBytes, func(b cachedBody) int { return entryCost + 2*len(b.body) })
}

// encodeDetail returns the body of a detail, from the cache if it is there. It compares the
// whole detail, so it does not depend on how the engine made it.
func (a *api) encodeDetail(ref verification.RunRef, d rules.RunDetail) (encoded, error) {
	if b, ok := a.bodies.Get(ref); ok && sameDetail(b.detail, d) {
		return b.encoded, nil
	}
	e, err := a.encodeTagged(apitypes.NewRunDetail(d))
	if err == nil {
		a.bodies.Put(ref, cachedBody{d, e})
	}
	return e, err
}

// sameDetail does what reflect.DeepEqual would do, in a fraction of the time.
func sameDetail(a, b rules.RunDetail) bool {
	return a.Seq == b.Seq && a.ID == b.ID && a.WorkflowID == b.WorkflowID && a.ReferenceID == b.ReferenceID &&
		a.Status == b.Status && a.StartedAt.Equal(b.StartedAt) && a.CompletedAt.Equal(b.CompletedAt) &&
		a.Outcome == b.Outcome && bytes.Equal(a.Data, b.Data) && a.RedactedAt.Equal(b.RedactedAt) &&
		a.ErasedAt.Equal(b.ErasedAt) && a.DocumentsRemovedAt.Equal(b.DocumentsRemovedAt) &&
		a.RestrictedAt.Equal(b.RestrictedAt) &&
		samePointed(a.Action, b.Action) && samePointed(a.Error, b.Error) &&
		a.Decision == b.Decision && a.Notes == b.Notes && a.ResolvedAt.Equal(b.ResolvedAt) && slices.EqualFunc(a.Flags, b.Flags, sameFlag) &&
		a.Proposal == b.Proposal &&
		slices.EqualFunc(a.Checks, b.Checks, func(a, b rules.Check) bool {
			return a.Key == b.Key && a.Label == b.Label && a.Status == b.Status && bytes.Equal(a.Data, b.Data)
		})
}

func samePointed[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

func sameFlag(f, g rules.Flag) bool {
	return f.NodeID == g.NodeID && f.Label == g.Label && f.Reason == g.Reason && slices.Equal(f.Sentences, g.Sentences)
}
