// The histories of runs.

package memory

import (
	"slices"

	"github.com/verifyd/verifyd/verification"
)

// History is the history of a run. One that was restored is decoded only when it is read, so
// that a store with many runs is restored fast and is small.
type History struct {
	events  []verification.Event // only appended to, so that slices of it stay valid
	encoded []byte               // in place of events
	n       int
	size    int // in memory, in bytes
}

// NewHistory returns the history with these events.
func NewHistory(events []verification.Event) History {
	return History{events: slices.Clone(events), n: len(events), size: size(events)}
}

// EncodedHistory returns the history of n events that verification.EncodeEvents has encoded. It
// keeps raw.
func EncodedHistory(raw []byte, n int) History { return History{encoded: raw, n: n, size: len(raw)} }

// Len returns the number of events.
func (h History) Len() int { return h.n }

// Events returns the events. Callers must not modify them. Events returns an error if this
// build does not know one of them.
func (h History) Events() ([]verification.Event, error) {
	if h.encoded != nil {
		return verification.DecodeEvents(h.encoded)
	}
	return slices.Clip(h.events), nil
}

// Encode returns the events as verification.EncodeEvents encodes them.
func (h History) Encode() ([]byte, error) {
	if h.encoded != nil {
		return h.encoded, nil
	}
	return verification.EncodeEvents(h.events)
}

// add adds events. No more follow the last ones.
func (h *History) add(events []verification.Event, last bool) error {
	if h.encoded != nil {
		decoded, err := h.Events()
		if err != nil {
			return err
		}
		*h = History{events: decoded, size: size(decoded)}
	}
	h.events = append(h.events, events...)
	h.size += size(events)
	if h.n = len(h.events); last && len(events) > 0 {
		h.events = slices.Clone(h.events) // without spare capacity
	}
	return nil
}
