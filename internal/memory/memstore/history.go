// The histories of runs.

package memstore

import (
	"iter"
	"slices"

	"github.com/verifyd/verifyd/verification/rules"
)

// History is the history of a run. One that was restored is decoded only when it is read, so
// that a store with many runs is restored fast and is small.
type History struct {
	events  []rules.Event   // only appended to, so that slices of it stay valid
	encoded []encodedEvents // in place of events, in their order
	n       int
	size    int // in memory, in bytes
}

// encodedEvents are n events that rules.EncodeEvents has encoded.
type encodedEvents struct {
	raw []byte
	n   int
}

// NewHistory returns the history with these events.
func NewHistory(events []rules.Event) History {
	return History{events: slices.Clone(events), n: len(events), size: size(events)}
}

// EncodedHistory returns the history of n events that rules.EncodeEvents has encoded. It
// keeps raw.
func EncodedHistory(raw []byte, n int) History {
	return History{encoded: []encodedEvents{{raw, n}}, n: n, size: len(raw)}
}

// Len returns the number of events.
func (h History) Len() int { return h.n }

// Events returns the events. Callers must not modify them. Events returns an error if this
// build does not know one of them.
func (h History) Events() ([]rules.Event, error) {
	var events []rules.Event
	if h.encoded == nil {
		return slices.Clip(h.events), nil
	}
	for _, part := range h.encoded {
		decoded, err := rules.DecodeEvents(part.raw)
		if err != nil {
			return nil, err
		}
		if len(h.encoded) == 1 {
			return decoded, nil
		}
		events = append(events, decoded...)
	}
	return events, nil
}

// Encode returns the events of a part as rules.EncodeEvents encodes them.
func (h History) Encode() ([]byte, error) {
	if len(h.encoded) == 1 {
		return h.encoded[0].raw, nil
	}
	events, err := h.Events()
	if err != nil {
		return nil, err
	}
	return rules.EncodeEvents(events)
}

// Parts returns the history in parts that need at most so many bytes of memory, unless one event
// needs more. A part of a history that was restored is what was given to EncodedHistory.
func (h History) Parts(bytes int) iter.Seq[History] {
	return func(yield func(History) bool) {
		if h.size <= bytes {
			yield(h)
			return
		}
		for _, part := range h.encoded {
			if !yield(EncodedHistory(part.raw, part.n)) {
				return
			}
		}
		from, used := 0, 0
		for i := range h.events {
			one := size(h.events[i : i+1])
			if i > from && used+one > bytes {
				if !yield(NewHistory(h.events[from:i])) {
					return
				}
				from, used = i, 0
			}
			used += one
		}
		if from < len(h.events) {
			yield(NewHistory(h.events[from:]))
		}
	}
}

// join returns the history with the part that follows. Both are encoded.
func (h History) join(next History) History {
	return History{encoded: append(slices.Clip(h.encoded), next.encoded...), n: h.n + next.n, size: h.size + next.size}
}

// add adds events. No more follow the last ones.
func (h *History) add(events []rules.Event, last bool) error {
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
