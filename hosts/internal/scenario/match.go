// Comparing responses with the wanted ones.

package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/verifyd/verifyd/internal/rig/openapitest"
)

// names are the names of values in a conversation.
type names map[string]string

// fill replaces names in braces by their values.
func (n names) fill(text string) (string, error) {
	var unknown error
	filled := regexp.MustCompile(`\{([a-z][a-z0-9_]*|.\*[0-9]+)\}`).ReplaceAllStringFunc(text, func(found string) string {
		name := found[1 : len(found)-1]
		if what, times, ok := strings.Cut(name, "*"); ok {
			count, err := strconv.Atoi(times)
			if err != nil {
				unknown = err
			}
			return strings.Repeat(what, count)
		}
		value, ok := n[name]
		if !ok {
			unknown = fmt.Errorf("nothing is called {%s} yet", name)
		}
		return value
	})
	return filled, unknown
}

// matchBody compares a body with the wanted one.
func (n names) matchBody(want string, got []byte) error {
	want, err := n.fill(want)
	if err != nil {
		return err
	}
	wanted, err := readJSON([]byte(want))
	if err != nil {
		return n.matchText(want, string(got))
	}
	value, err := readJSON(got)
	if err != nil {
		return fmt.Errorf("want JSON: %w", err)
	}
	var problems []error
	n.match("", wanted, value, &problems)
	return errors.Join(problems...)
}

// matchText compares text that is not JSON, such as a printed report.
func (n names) matchText(want, got string) error {
	if want == "<pdf>" {
		if !strings.HasPrefix(got, "%PDF-") || !strings.Contains(got[max(0, len(got)-32):], "%%EOF") {
			return errors.New("want a PDF")
		}
		return nil
	}
	return n.matchString(want, got)
}

func readJSON(raw []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	return v, nil
}

func (n names) match(path string, want, got any, problems *[]error) {
	problem := func(format string, args ...any) {
		*problems = append(*problems, fmt.Errorf("%s: "+format, append([]any{strings.TrimPrefix(path, ".")}, args...)...))
	}
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			problem("want an object, got %s", show(got))
			return
		}
		n.matchObject(path, want, object, problems)
	case []any:
		array, ok := got.([]any)
		if !ok {
			problem("want an array, got %s", show(got))
			return
		}
		open := len(want) > 0 && want[len(want)-1] == "..."
		if open {
			want = want[:len(want)-1]
		}
		if len(array) < len(want) || len(array) > len(want) && !open {
			problem("want %d elements, got %s", len(want), show(got))
			return
		}
		for i := range want {
			n.match(fmt.Sprintf("%s[%d]", path, i), want[i], array[i], problems)
		}
	case string:
		if err := n.matchValue(want, got); err != nil {
			problem("%w", err)
		}
	default:
		if want != got {
			problem("want %s, got %s", show(want), show(got))
		}
	}
}

func (n names) matchObject(path string, want, got map[string]any, problems *[]error) {
	_, open := want["..."]
	for _, name := range slices.Sorted(maps.Keys(want)) {
		value, there := got[name]
		switch {
		case name == "...":
		case !there:
			*problems = append(*problems, fmt.Errorf("%s: want it, got no such field", strings.TrimPrefix(path+"."+name, ".")))
		default:
			n.match(path+"."+name, want[name], value, problems)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, wanted := want[name]; !wanted && !open {
			*problems = append(*problems, fmt.Errorf("%s: want no such field, got %s", strings.TrimPrefix(path+"."+name, "."), show(got[name])))
		}
	}
}

// matchValue compares a value with a string that may have a special meaning.
func (n names) matchValue(want string, got any) error {
	kind, name, special := cutKind(want)
	if special && (kind == "any" || kind == "number") {
		number, isNumber := got.(json.Number)
		if got == nil || kind == "number" && !isNumber {
			return fmt.Errorf("want %s, got %s", want, show(got))
		}
		if name != "" {
			n[name] = fmt.Sprint(got)
			if isNumber {
				n[name] = number.String()
			}
		}
		return nil
	}
	text, ok := got.(string)
	if !ok {
		return fmt.Errorf("want %s, got %s", show(want), show(got))
	}
	return n.matchString(want, text)
}

// cutKind parses <kind> and <kind name>.
func cutKind(want string) (kind, name string, special bool) {
	m := regexp.MustCompile(`^<([a-z]+)(?: ([a-z][a-z0-9_]*))?>$`).FindStringSubmatch(want)
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}

func (n names) matchString(want, got string) error {
	kind, name, special := cutKind(want)
	if !special {
		return matchPlain(want, got)
	}
	var err error
	switch kind {
	case "any":
	case "string":
		if got == "" {
			err = errors.New("empty")
		}
	case "uuid":
		err = isUUID(got)
	case "timestamp":
		err = isTimestamp(got)
	case "later":
		if err = isTimestamp(got); err == nil && got <= n[name] {
			err = fmt.Errorf("not after %q", n[name])
		}
		name = ""
	case "url":
		err = openapitest.CheckURL(got)
	case "hash":
		if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(got) {
			err = errors.New("not 64 hexadecimal digits")
		}
	default:
		err = fmt.Errorf("there is no <%s>", kind)
	}
	if err != nil {
		return fmt.Errorf("want %s, got %q: %w", want, got, err)
	}
	if name != "" {
		n[name] = got
	}
	return nil
}

// matchPlain compares text with a text, or with a regular expression in slashes.
func matchPlain(want, got string) error {
	if len(want) > 2 && want[0] == '/' && want[len(want)-1] == '/' {
		re, err := regexp.Compile(want[1 : len(want)-1])
		if err != nil {
			return err
		}
		if !re.MatchString(got) {
			return fmt.Errorf("want %s, got %q", want, got)
		}
		return nil
	}
	if want != got {
		return fmt.Errorf("want %q, got %q", want, got)
	}
	return nil
}

func show(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(raw) > 300 {
		return string(raw[:300]) + "..."
	}
	return string(raw)
}

func isTimestamp(s string) error {
	const layout = "2006-01-02T15:04:05Z"
	_, err := time.Parse(layout, s)
	if err == nil && len(s) != len(layout) {
		err = errors.New("not in whole seconds") // which Parse accepts
	}
	return err
}

func isUUID(s string) error {
	if !regexp.MustCompile(`^` + openapitest.UUID + `$`).MatchString(s) {
		return errors.New("not a lower-case UUID")
	}
	return nil
}
