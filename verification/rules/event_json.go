// JSON of events: as people and stores keep them.

package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/internal/jsontext"
)

type eventJSON struct {
	Type string          `json:"type"`
	At   time.Time       `json:"at"`
	Fact json.RawMessage `json:"fact"`
}

// MarshalJSON encodes the event as {"type", "at", "fact"}.
func (e Event) MarshalJSON() ([]byte, error) { return EncodeEvent(e) }

// EncodeEvent encodes the event as {"type", "at", "fact"} and keeps every Data
// byte for byte. A store that keeps JSON must use it or EncodeEvents instead of
// json.Marshal, which escapes HTML characters.
func EncodeEvent(e Event) ([]byte, error) {
	if e.Fact == nil {
		return nil, errNoFact
	}
	b := append(append(append([]byte(nil), `{"type":"`...), e.Kind()...), `","at":`...)
	b, err := appendTime(b, e)
	if err != nil {
		return nil, err
	}
	b, err = appendFact(append(b, `,"fact":`...), e.Fact, false)
	return append(b, '}'), err
}

// EncodeEvents encodes events for DecodeEvents, in fewer bytes than EncodeEvent: as a
// JSON array of {"at", KIND: FACT}, one per line. "at" is left out if it equals the "at" of the
// event before. A dispatch leaves out its key if that is the node, and its numbers if
// they are 1. Every Data is kept byte for byte.
func EncodeEvents(events []Event) ([]byte, error) {
	b := append(make([]byte, 0, 1024), '[')
	for i, e := range events {
		if e.Fact == nil {
			return nil, errNoFact
		}
		if i > 0 {
			b = append(b, ",\n"...)
		}
		b = append(b, '{')
		var err error
		if i == 0 || !e.At.Equal(events[i-1].At) {
			if b, err = appendTime(append(b, `"at":`...), e); err != nil {
				return nil, err
			}
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), e.Kind()...), `":`...)
		if b, err = appendFact(b, e.Fact, true); err != nil {
			return nil, err
		}
		b = append(b, '}')
	}
	return append(b, ']'), nil
}

// DecodeEvents decodes the result of EncodeEvents.
func DecodeEvents(raw []byte) ([]Event, error) {
	var rows []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &rows); err != nil {
		return nil, fmt.Errorf("decode events: %w", err)
	}
	events := make([]Event, len(rows))
	var at time.Time
	for i, row := range rows {
		text, given := row["at"]
		if given {
			if err := json.Unmarshal(text, &at); err != nil {
				return nil, fmt.Errorf("decode event %d: %w", i, err)
			}
			delete(row, "at")
		}
		if i == 0 && !given {
			return nil, errors.New("decode event 0: it has no time")
		}
		if len(row) != 1 {
			return nil, fmt.Errorf("decode event %d: it has %d facts, not 1", i, len(row))
		}
		for kind, raw := range row {
			fact, err := decodeFact(kind, raw)
			if err != nil {
				return nil, fmt.Errorf("decode event %q: %w", kind, err)
			}
			events[i] = Event{At: at.UTC(), Fact: fact}
		}
	}
	return events, nil
}

var errNoFact = errors.New("the event has no fact")

func appendTime(b []byte, e Event) ([]byte, error) {
	b, err := e.At.UTC().AppendText(append(b, '"'))
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", e.Kind(), err)
	}
	return append(b, '"'), nil
}

// appendFact appends the JSON of a fact; short leaves out what decodeDispatched adds.
func appendFact(b []byte, f Fact, short bool) ([]byte, error) {
	switch f := f.(type) { //nolint:gochecksumtype // the facts of every check are encoded without reflection
	case Dispatched:
		return f.appendJSON(b, short), nil
	case ResultRecorded:
		return f.appendJSON(b), nil
	}
	fact, err := jsontext.Encode(f)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", f.about().Kind, err)
	}
	return append(b, fact...), nil
}

func (f Dispatched) appendJSON(b []byte, short bool) []byte {
	b = jsontext.AppendText(append(b, `{"node":`...), f.Node)
	if !short || f.Key != string(f.Node) {
		b = jsontext.AppendText(append(b, `,"key":`...), f.Key)
	}
	b = jsontext.AppendText(append(b, `,"label":`...), f.Label)
	b = jsontext.AppendText(append(b, `,"provider":`...), f.Provider)
	if !short || f.Dispatch != 1 {
		b = strconv.AppendInt(append(b, `,"dispatch":`...), int64(f.Dispatch), 10)
	}
	if !short || f.Visit != 1 {
		b = strconv.AppendInt(append(b, `,"visit":`...), int64(f.Visit), 10)
	}
	if f.Rescreen != "" {
		b = jsontext.AppendText(append(b, `,"rescreen":`...), f.Rescreen)
	}
	if f.Screens {
		b = append(b, `,"screens":true`...)
	}
	return append(b, '}')
}

// decodeDispatched adds what EncodeEvents leaves out.
func decodeDispatched(raw json.RawMessage) (Fact, error) {
	f := struct {
		Dispatched
		Key *string `json:"key"`
	}{Dispatched: Dispatched{Dispatch: 1, Visit: 1}}
	err := json.Unmarshal(raw, &f)
	f.Dispatched.Key = string(f.Node)
	if f.Key != nil {
		f.Dispatched.Key = *f.Key
	}
	return f.Dispatched, err
}

func (f ResultRecorded) appendJSON(b []byte) []byte {
	b = jsontext.AppendText(append(b, `{"node":`...), f.Node)
	b = strconv.AppendBool(append(b, `,"passed":`...), f.Passed)
	if len(f.Data) > 0 {
		b = append(append(b, `,"data":`...), f.Data...)
	}
	if f.Screening != nil {
		raw, _ := jsontext.Encode(f.Screening) // texts always encode
		b = append(append(b, `,"screening":`...), raw...)
	}
	if f.Confirms != nil {
		b = strconv.AppendBool(append(b, `,"confirms":`...), *f.Confirms)
	}
	if f.Doubted {
		b = append(b, `,"doubted":true`...)
	}
	return append(b, '}')
}

// UnmarshalJSON decodes an event that MarshalJSON encoded.
func (e *Event) UnmarshalJSON(raw []byte) error {
	var j eventJSON
	if err := json.Unmarshal(raw, &j); err != nil {
		return fmt.Errorf("decode event: %w", err)
	}
	fact, err := decodeFact(j.Type, j.Fact)
	if err != nil {
		return fmt.Errorf("decode event %q: %w", j.Type, err)
	}
	e.At, e.Fact = j.At.UTC(), fact
	return nil
}

// decodeFact decodes a fact by the name of its type.
func decodeFact(kind string, raw json.RawMessage) (Fact, error) {
	if kind == (Dispatched{}).about().Kind {
		return decodeDispatched(raw)
	}
	for _, decode := range decoders() {
		if f, err := decode(kind, raw); f != nil {
			return f, err
		}
	}
	return nil, verification.Lacking(errors.New("unknown event type"))
}

// decodeAs returns nil for the name of another type.
func decodeAs[F Fact](kind string, raw json.RawMessage) (Fact, error) {
	var f F
	if f.about().Kind != kind {
		return nil, nil //nolint:nilnil // the fact has another type
	}
	err := json.Unmarshal(raw, &f)
	return f, err
}
