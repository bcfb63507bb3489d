// Unexported names for the tests of this package.

package httpapi

import (
	"github.com/verifyd/verifyd/internal/lru"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/rules"
)

// Decoders lists the decoders of request bodies by name.
func Decoders() map[string]func(body []byte) ([]verification.FieldError, error) {
	a := &api{validate: newValidator()}
	all := map[string]func(body []byte) ([]verification.FieldError, error){}
	for name, newBody := range map[string]func() any{
		"start":    func() any { return &startBody{} },
		"webhook":  func() any { return &webhookBody{} },
		"signal":   func() any { return &signalBody{} },
		"review":   func() any { return &reviewBody{} },
		"resubmit": func() any { return &resubmitBody{} },
	} {
		all[name] = func(raw []byte) ([]verification.FieldError, error) { return a.decodeBody(raw, newBody()) }
	}
	return all
}

// StatusOf returns the status that an error is answered with.
func StatusOf(err error) int { return refusalOf(err, "thing").status }

// BodyCache is the cache of encoded runs.
type BodyCache struct {
	c *lru.Cache[verification.RunRef, cachedBody]
}

// NewBodyCache returns a cache of at most maxBytes.
func NewBodyCache(maxBytes int) BodyCache { return BodyCache{newBodyCache(maxBytes)} }

// Put adds a body.
func (b BodyCache) Put(ref verification.RunRef, d rules.RunDetail, body []byte) {
	b.c.Put(ref, cachedBody{d, encoded{body: body}})
}

// Get returns a body.
func (b BodyCache) Get(ref verification.RunRef, d rules.RunDetail) ([]byte, bool) {
	e, ok := b.c.Get(ref)
	return e.body, ok && sameDetail(e.detail, d)
}
