// Definitions that are expensive to validate or to execute.

package noisy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/verifyd/verifyd/internal/rig/process"
)

// Definition is a definition that a hostile author wrote.
type Definition struct {
	Name   string
	Result Validation
	Reason string        // of a refusal
	Took   time.Duration // of the validation
	Want   Validation    // of a schema: it must be refused, or accepted as the worst that may be

	number   int // of the workflow
	workflow object
	input    string // with which it is started
}

// Validation is the result of validating a definition with verifyctl.
type Validation string

// The results.
const (
	Accepted Validation = "accepted"
	Refused  Validation = "refused"
	// Unfinished means that verifyctl did not finish: it took too long, needed too much
	// memory, or failed.
	Unfinished Validation = "unfinished"
)

// The limits within which a definition must be accepted or refused.
const (
	validateTimeout = 10 * time.Second
	validateMemory  = 1 << 30 // bytes
)

// validate runs verifyctl to check definitions as a host does before publishing.
func validate(ctx context.Context, folder string, all []Definition) ([]Definition, error) {
	for n := range all {
		d := &all[n]
		raw, err := json.Marshal(d.workflow)
		if err != nil {
			return nil, err
		}
		file := filepath.Join(folder, d.workflow["workflow"].(string)+".json") //nolint:errcheck // hostile always sets a string
		if err := os.WriteFile(file, raw, 0o600); err != nil {
			return nil, err
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(ctx, validateTimeout)
		out, err := process.Command(ctx, validateMemory, filepath.Join(folder, "verifyctl"), "workflow", "validate", file).Output()
		cancel()
		d.Took = time.Since(began)
		var exit *exec.ExitError
		switch {
		case err == nil:
			d.Result = Accepted
		case errors.As(err, &exit) && exit.ExitCode() == 1:
			d.Result = Refused
			reason, _, _ := strings.Cut(strings.TrimPrefix(string(out), file+":"), "\n")
			d.Reason = reason
		case errors.As(err, &exit):
			d.Result = Unfinished
		default:
			return nil, fmt.Errorf("validate %s: %w", d.Name, err)
		}
	}
	return all, nil
}

// startHostile starts runs of the hostile definitions that were accepted, and cancels
// requests that take longer than 2 s.
func startHostile(ctx context.Context, s *site) {
	if len(s.definitions) == 0 {
		return
	}
	const timeout = 2 * time.Second
	s.flood(ctx, 8, 0, 0, func(ctx context.Context, n int) error {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		d := s.definitions[n%len(s.definitions)]
		return s.start(ctx, n, d.number, d.input)
	})
}

// hostile returns definitions that hang a host, or exhaust its memory, unless their
// cost is bounded.
func hostile() []Definition {
	var all []Definition
	add := func(name string, schema object, node object, input string) {
		number := firstHostile + len(all)
		d := object{
			"id": idOf(attackerTenant, number), "workflow": fmt.Sprintf("hostile-%d", len(all)), "name": name, "start": "first",
			"nodes": object{"first": node, "done": object{"type": "end"}},
		}
		var want Validation
		if schema != nil {
			d["input_schema"], want = schema, Refused
		}
		all = append(all, Definition{Name: name, Want: want, number: number, workflow: d, input: input})
	}
	check := func(with string) object {
		return object{"type": "check", "provider": "sandbox", "with": object{"x": with}, "next": "done"}
	}
	branch := func(when string) object {
		return object{"type": "branch", "rules": []object{{"when": when, "next": "done"}}, "else": "done"}
	}
	ref := func(name string) object { return object{"$ref": "#/$defs/" + name} }
	input := func(properties, definitions object) object {
		return object{"type": "object", "properties": properties, "$defs": definitions}
	}
	list := func(count int, item func(n int) string) string {
		items := make([]string, count)
		for n := range items {
			items[n] = item(n)
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	number := func(n int) string { return fmt.Sprint(n) }

	for _, times := range []int{3, 10} {
		properties := object{}
		for n := range times {
			properties[fmt.Sprintf("p%d", n)] = ref("x")
		}
		add(fmt.Sprintf("a schema that refers to itself %d times", times),
			input(object{"a": ref("x")}, object{"x": object{"type": "object", "properties": properties}}),
			branch("has(input.a)"), `{"a":`+strings.Repeat(`{"p0":`, 20)+"{}"+strings.Repeat("}", 21))
	}
	node := object{"type": "object", "additionalProperties": object{"oneOf": []object{ref("t"), ref("u"), {"type": "string"}}}}
	add("oneOf of two schemas that refer to each other", input(object{"a": ref("t")}, object{"t": node, "u": node}),
		check("x"), strings.Repeat(`{"a":`, 28)+`"x"`+strings.Repeat("}", 28))
	doubled := object{"d27": object{"type": "object"}}
	for n := range 27 {
		next := ref(fmt.Sprintf("d%d", n+1))
		doubled[fmt.Sprintf("d%d", n)] = object{"allOf": []object{next, next}}
	}
	add("28 schemas that are each twice the next one", input(object{"a": ref("d0")}, doubled), check("x"), `{"a":{}}`)
	values := make([]int, 2_000)
	for n := range values {
		values[n] = -n
	}
	add("contains of 2,000 numbers, and 100,000 items",
		input(object{"a": object{"type": "array", "contains": object{"enum": values}}}, object{}),
		check("x"), `{"a":`+list(100_000, number)+`}`)
	add("100,000 unique items", input(object{"a": object{"type": "array", "uniqueItems": true}}, object{}),
		check("x"), `{"a":`+list(100_000, number)+`}`)
	patterns := object{}
	for n := range 100 {
		patterns[fmt.Sprintf("p%d", n)] = object{"type": "string", "pattern": "^" + strings.Repeat("[xz]{0,900}", 10) + "y$"}
	}
	add("100 large patterns", input(patterns, object{}), check("x"), `{"p0":"`+strings.Repeat("x", 500_000)+`"}`)
	add("a schema that is only a reference to itself", object{"$ref": "#"}, check("x"), "{}")
	text := strings.Repeat("x", 60_000)
	add("a pattern for the longest text", input(object{"a": object{"pattern": "[xz]{0,200}[xz]{0,40}y"}}, object{}), check("x"), `{"a":"`+text+`"}`)
	all[len(all)-1].Want = Accepted
	add("alternatives for the most numbers",
		input(object{"a": object{"items": object{"anyOf": []object{{"maximum": -1}, {"type": "integer"}, {"type": "string"}}}}}, object{}),
		check("x"), `{"a":`+list(14_000, func(int) string { return "1e-300" })+`}`)
	all[len(all)-1].Want = Accepted
	add("the whole input 10,000 times", nil, check(strings.Repeat("${input}", 10_000)), `{"a":"`+strings.Repeat("x", 1_000_000)+`"}`)
	add("a list for each of its items", nil, check("${input.a.map(x, input.a)}"), `{"a":`+list(10_000, number)+`}`)
	add("three loops over one list", nil, branch("input.a.exists(x, input.a.exists(y, input.a.exists(z, x == y && y == z && z == -1)))"),
		`{"a":`+list(10_000, number)+`}`)
	return all
}
