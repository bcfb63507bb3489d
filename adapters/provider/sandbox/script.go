// Scripts: the result of one check, as the run's input defines it.

package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/verifyd/verifyd/verification"
)

type kind string

const (
	kindPass         kind = "pass"
	kindFail         kind = "fail"
	kindNoCoverage   kind = "no_coverage"
	kindInconclusive kind = "inconclusive"
	kindUnavailable  kind = "unavailable"
	kindFlaky        kind = "flaky"    // :N
	kindSlow         kind = "slow"     // :duration
	kindPending      kind = "pending"  // :N
	kindRedirect     kind = "redirect" // :URL
)

// script defines the result of one check.
type script struct {
	kind  kind
	times int            // errors of kindFlaky, polls of kindPending
	wait  time.Duration  // of kindSlow
	to    *url.URL       // of kindRedirect
	data  map[string]any // the step's data; its numbers are json.Number
}

// readScript returns the script of a check in the input of its run; by default it
// passes. The error names the script and says what is wrong with it.
func readScript(input verification.Data, key string) (script, error) {
	// Most runs have no scripts, and their input need not be decoded. A backslash
	// may encode the name.
	if !bytes.Contains(input, []byte(`"sandbox"`)) && !bytes.ContainsRune(input, '\\') {
		return script{kind: kindPass}, nil
	}
	fields, err := members(json.RawMessage(input))
	if err != nil {
		return script{}, fmt.Errorf("input %w", err)
	}
	all, ok := fields["sandbox"]
	if !ok {
		return script{kind: kindPass}, nil
	}
	if fields, err = members(all); err != nil {
		return script{}, fmt.Errorf("input.sandbox %w", err)
	}
	raw, ok := fields[key]
	if !ok {
		return script{kind: kindPass}, nil
	}
	s, err := parseScript(raw)
	if err != nil {
		return script{}, fmt.Errorf("input.sandbox.%s %w", key, err)
	}
	return s, nil
}

// members decodes an object, one level deep.
func members(object json.RawMessage) (map[string]json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(object, &fields); err != nil || fields == nil {
		return nil, errors.New("must be an object")
	}
	return fields, nil
}

// parseScript parses a string or an object {outcome, data}.
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
		return script{}, errors.New("must be a string or an object")
	}
}

func parseObject(raw json.RawMessage) (script, error) {
	fields, err := members(raw)
	if err != nil {
		return script{}, err
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if name != "outcome" && name != "data" {
			return script{}, fmt.Errorf("has the unknown field %s: it may have outcome and data", quote(name))
		}
	}
	var text *string
	if err := json.Unmarshal(fields["outcome"], &text); err != nil || text == nil {
		return script{}, errors.New("must have an outcome that is a string")
	}
	s, err := parseText(*text)
	if err != nil {
		return script{}, err
	}
	data, ok := fields["data"]
	if !ok {
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
	s := script{kind: kind(name)}
	var err error
	switch s.kind {
	case kindPass, kindFail, kindNoCoverage, kindInconclusive, kindUnavailable:
		if has {
			return script{}, fmt.Errorf("is %s: %s takes no number", quote(text), name)
		}
		return s, nil
	case kindFlaky, kindPending:
		var n uint64
		if n, err = strconv.ParseUint(value, 10, 31); err != nil {
			return script{}, fmt.Errorf("is %s: write %s:N with a whole number, such as %s:2", quote(text), name, name)
		}
		s.times = int(n)
		return s, nil
	case kindSlow:
		if s.wait, err = time.ParseDuration(value); err != nil || s.wait < 0 {
			return script{}, fmt.Errorf("is %s: write slow:T with a time, such as slow:500ms", quote(text))
		}
		return s, nil
	case kindRedirect:
		if s.to, err = url.Parse(value); err != nil || s.to.Host == "" {
			return script{}, fmt.Errorf("is %s: write redirect:URL with an absolute URL, such as redirect:https://login.bank.example/", quote(text))
		}
		return s, nil
	}
	return script{}, fmt.Errorf("is %s: it must be pass, fail, no_coverage, inconclusive, unavailable, flaky:N, slow:T, pending:N or redirect:URL", quote(text))
}

// quote returns the quoted beginning of a text from the input.
func quote(text string) string {
	const limit = 40
	runes := []rune(text)
	if len(runes) > limit {
		return strconv.Quote(string(runes[:limit]) + "...")
	}
	return strconv.Quote(text)
}
