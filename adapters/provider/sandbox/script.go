// The script of one check, as the run's input gives it.

package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
)

// play is what a script tells the provider to do.
type play string

const (
	playPass        play = "pass"
	playFail        play = "fail"
	playUnavailable play = "unavailable"
	playFlaky       play = "flaky"   // :N
	playSlow        play = "slow"    // :duration
	playPending     play = "pending" // :N
)

// script is what one check is to do.
type script struct {
	play  play
	times int            // errors of playFlaky, polls of playPending
	wait  time.Duration  // of playSlow
	data  map[string]any // the step's data; numbers as they were written
}

// readScript finds the script of a check in the input of its run; a pass when
// there is none. Its error names the script and what is wrong with it.
func readScript(input verification.Data, key string) (script, error) {
	// Most runs have no scripts: that is told without decoding their input. A
	// backslash could hide the word.
	if !bytes.Contains(input, []byte(`"sandbox"`)) && !bytes.ContainsRune(input, '\\') {
		return script{play: playPass}, nil
	}
	all, there, err := member(json.RawMessage(input), "sandbox")
	if err != nil {
		return script{}, fmt.Errorf("input %w", err)
	}
	if !there {
		return script{play: playPass}, nil
	}
	raw, there, err := member(all, key)
	if err != nil {
		return script{}, fmt.Errorf("input.sandbox %w", err)
	}
	if !there {
		return script{play: playPass}, nil
	}
	s, err := parseScript(raw)
	if err != nil {
		return script{}, fmt.Errorf("input.sandbox.%s %w", key, err)
	}
	return s, nil
}

// member finds one field of an object.
func member(object json.RawMessage, name string) (raw json.RawMessage, there bool, err error) {
	fields, err := members(object)
	if err != nil {
		return nil, false, err
	}
	raw, there = fields[name]
	return raw, there, nil
}

// members decodes an object, one level deep.
func members(object json.RawMessage) (map[string]json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(object, &fields); err != nil || fields == nil {
		return nil, errors.New("must be an object")
	}
	return fields, nil
}

// parseScript reads a text, or an object {outcome, data}.
func parseScript(raw json.RawMessage) (script, error) {
	var text string
	switch raw[0] {
	case '"':
		if err := json.Unmarshal(raw, &text); err != nil {
			return script{}, errors.New("must be valid JSON")
		}
		return parseText(text)
	case '{':
		return parseObject(raw)
	default:
		return script{}, errors.New("must be a text or an object")
	}
}

func parseObject(raw json.RawMessage) (script, error) {
	fields, err := members(raw)
	if err != nil {
		return script{}, err
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if name != "outcome" && name != "data" {
			return script{}, fmt.Errorf("has the unknown field %s: it may hold outcome and data", quote(name))
		}
	}
	var text *string
	if err := json.Unmarshal(fields["outcome"], &text); err != nil || text == nil {
		return script{}, errors.New("must have an outcome that is a text")
	}
	s, err := parseText(*text)
	if err != nil {
		return script{}, err
	}
	data, there := fields["data"]
	if !there {
		return s, nil
	}
	numbers := json.NewDecoder(bytes.NewReader(data))
	numbers.UseNumber()
	if err := numbers.Decode(&s.data); err != nil {
		return script{}, errors.New("must have data that is an object")
	}
	return s, nil
}

func parseText(text string) (script, error) {
	name, value, has := strings.Cut(text, ":")
	s := script{play: play(name)}
	var err error
	switch s.play {
	case playPass, playFail, playUnavailable:
		if has {
			return script{}, fmt.Errorf("is %s: %s takes no number", quote(text), name)
		}
		return s, nil
	case playFlaky, playPending:
		var n uint64
		if n, err = strconv.ParseUint(value, 10, 31); err != nil {
			return script{}, fmt.Errorf("is %s: write %s:N with a whole number, such as %s:2", quote(text), name, name)
		}
		s.times = int(n)
		return s, nil
	case playSlow:
		if s.wait, err = time.ParseDuration(value); err != nil || s.wait < 0 {
			return script{}, fmt.Errorf("is %s: write slow:T with a time, such as slow:500ms", quote(text))
		}
		return s, nil
	}
	return script{}, fmt.Errorf("is %s: it must be pass, fail, unavailable, flaky:N, slow:T or pending:N", quote(text))
}

// quote shows the beginning of a text that somebody else wrote.
func quote(text string) string {
	const most = 40
	runes := []rune(text)
	if len(runes) > most {
		return strconv.Quote(string(runes[:most]) + "...")
	}
	return strconv.Quote(text)
}
