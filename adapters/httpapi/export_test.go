// What tests reach besides the exported names.

package httpapi

import (
	"github.com/verifyd/verifyd/verification"
)

// Decoders lists, by name, what reads the bodies of requests.
func Decoders() map[string]func(body []byte) ([]verification.FieldError, error) {
	a := &api{validate: newValidator()}
	read := func(to any, raw []byte, member func(d *decoder, name, at string) error) ([]verification.FieldError, error) {
		faults, err := decode(raw, member)
		if err != nil {
			return nil, err
		}
		return a.rules(to, faults), nil
	}
	return map[string]func(body []byte) ([]verification.FieldError, error){
		"start":   func(raw []byte) ([]verification.FieldError, error) { var b startBody; return read(&b, raw, b.member) },
		"webhook": func(raw []byte) ([]verification.FieldError, error) { var b webhookBody; return read(&b, raw, b.member) },
		"signal":  func(raw []byte) ([]verification.FieldError, error) { var b signalBody; return read(&b, raw, b.member) },
		"review":  func(raw []byte) ([]verification.FieldError, error) { var b reviewBody; return read(&b, raw, b.member) },
	}
}

// StatusOf is the status that an error is answered with.
func StatusOf(err error) int { return refusalOf(err, "thing").status }

// Bodies is the cache of encoded runs.
type Bodies struct{ b *bodies }

// NewBodies makes a cache of so many bytes.
func NewBodies(most int) Bodies { return Bodies{newBodies(most)} }

// Put keeps a body.
func (b Bodies) Put(ref verification.RunRef, d verification.RunDetail, body []byte) {
	b.b.put(ref, d, encoded{body: body})
}

// Get finds a body.
func (b Bodies) Get(ref verification.RunRef, d verification.RunDetail) ([]byte, bool) {
	e, ok := b.b.get(ref, d)
	return e.body, ok
}

// Size is how many bytes count as kept.
func (b Bodies) Size() int { return b.b.bytes }

// Len is how many bodies are kept.
func (b Bodies) Len() int { return len(b.b.runs) }
