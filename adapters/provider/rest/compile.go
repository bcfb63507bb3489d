// Compiling a declaration: its templates, conditions and secrets.

package rest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/verifyd/verifyd/internal/transport"
	"github.com/verifyd/verifyd/verification"
)

// compiler compiles one declaration and collects its problems.
type compiler struct {
	opt      Options
	with     verification.Data // the schema of with; nil for any
	secrets  map[string]any    // the secrets that the declaration reads
	masks    map[string]any
	problems []verification.FieldError
	reads    map[string]bool // the paths that requests read
}

func (c *compiler) problem(path, message string) {
	c.problems = append(c.problems, verification.FieldError{Name: path, Message: message})
}

func (c *compiler) refuse(path string, err error) {
	if err == nil {
		return
	}
	f := verification.FieldError{Name: path, Message: err.Error()}
	if in, ok := errors.AsType[*verification.TextError](err); ok {
		f = in.At(path)
	}
	c.problems = append(c.problems, f)
}

func (c *compiler) provider(name string, declaration verification.Data) *compiled {
	d, err := decode(declaration)
	if err != nil {
		c.problem("", "the provider cannot be decoded: check the types and names of its fields")
		return nil
	}
	c.reads = map[string]bool{}
	p := &compiled{opt: c.opt, limits: d.Limits, turns: d.Limits.turns(), secrets: c.secrets, masks: c.masks}
	var problem string
	if p.base, problem = baseURL(d.BaseURL); problem != "" {
		c.problem("base_url", problem)
	}
	p.vendor = name + " (" + transport.Origin(d.BaseURL) + ")"
	c.limits(d.Limits)
	c.withSchema(d.With)
	certificates, roots := c.credentials(d.Auth.MTLS, d.CA)
	p.client = transport.New(transport.Options{
		Timeout: d.Limits.timeout(), AllowPrivateNetworks: c.opt.AllowPrivateNetworks, Roots: roots, Certificates: certificates,
		MaxIdle: d.Limits.Concurrent, MaxIdlePerHost: d.Limits.Concurrent, MaxHeaderBytes: maxHeaders,
	})
	p.auth = c.auth(d.Auth, p.client, p.limits.timeout())
	p.check = &endpoint{c.request("request", d.Request, "POST", requestVars(c.with, false)), c.response("response", d.Response)}
	c.polling(p, d)
	c.callback(p, d)
	c.returns(p, d)
	c.redirects(d)
	p.description = c.describe(d, p)
	return p
}

func (c *compiler) withSchema(raw json.RawMessage) {
	if raw == nil {
		return
	}
	schema := verification.Data(raw)
	if _, err := c.opt.Expressions.Schema(schema); err != nil {
		c.refuse("with", err)
		return
	}
	c.with = schema
}

func (c *compiler) polling(p *compiled, d config) {
	p.every = noPoll
	if d.Poll != nil {
		p.every = time.Duration(d.Poll.EverySeconds * float64(time.Second))
		p.poll = &endpoint{c.request("poll", d.Poll.requestConfig, "GET", requestVars(c.with, true)), p.check.response}
		if d.Poll.Response != nil {
			p.poll.response = c.response("poll.response", *d.Poll.Response)
		}
	}
	if d.Response.Pending != "" && d.Poll == nil && d.Callback == nil {
		c.problem("response.pending", "a pending result needs poll or callback")
	}
}

// noPoll is the wait of a provider that cannot be polled: the node's poll timeout
// bounds it.
const noPoll = 365 * 24 * time.Hour

// The variables of requests and responses, as JSON Schemas.
const (
	requestSchema = `{"type":"object","properties":{"idempotency_key":{"type":"string"},"callback_url":{"type":"string"},"return_url":{"type":"string"},` +
		`"reference_id":{"type":"string"},"run_id":{"type":"string"},"check":{"type":"string"},` +
		`"dispatch":{"type":"integer"},"started_at":{"type":"string"}}}`
	responseSchema = `{"type":"object","properties":{"status":{"type":"integer"},"headers":{"type":"object"},"body":{}}}`
	stringSchema   = `{"type":"string"}`
	objectSchema   = `{"type":"object"}`
)

func requestVars(with verification.Data, poll bool) map[string]verification.Data {
	vars := map[string]verification.Data{
		"with": withOr(with), "request": verification.Data(requestSchema), "secret": verification.Data(objectSchema),
	}
	if poll {
		vars["handle"] = verification.Data(stringSchema)
	}
	return vars
}

func (c *compiler) responseVars() map[string]verification.Data {
	return map[string]verification.Data{
		"with": withOr(c.with), "request": verification.Data(requestSchema), "response": verification.Data(responseSchema),
	}
}

func withOr(schema verification.Data) verification.Data {
	if schema == nil {
		return verification.Data(objectSchema)
	}
	return schema
}

// value is a compiled value. It reads variables.
type value func(vars map[string]any) (any, error)

// value compiles a JSON value whose strings may hold ${...}.
func (c *compiler) value(path string, v any, vars map[string]verification.Data) value {
	switch v := v.(type) {
	case string:
		return c.text(path, v, nil, vars)
	case map[string]any:
		fields := make(map[string]value, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			fields[name] = c.value(joined(path, name), v[name], vars)
		}
		return func(vars map[string]any) (any, error) {
			object := make(map[string]any, len(fields))
			for name, field := range fields {
				v, err := field(vars)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", name, err)
				}
				object[name] = v
			}
			return object, nil
		}
	case []any:
		items := make([]value, len(v))
		for i, item := range v {
			items[i] = c.value(path+"["+strconv.Itoa(i)+"]", item, vars)
		}
		return func(vars map[string]any) (any, error) {
			list := make([]any, len(items))
			for i, item := range items {
				v, err := item(vars)
				if err != nil {
					return nil, err
				}
				list[i] = v
			}
			return list, nil
		}
	}
	return func(map[string]any) (any, error) { return v, nil }
}

// text compiles a string that may hold ${...}.
func (c *compiler) text(path, s string, escape func(string) string, vars map[string]verification.Data) value {
	if !strings.Contains(s, "${") {
		return func(map[string]any) (any, error) { return s, nil }
	}
	render, reads, err := c.opt.Expressions.Text(s, escape, vars)
	c.refuse(path, err)
	for _, read := range reads {
		c.reads[read] = true
		if name, is := strings.CutPrefix(read, "secret"); is && (name == "" || name[0] == '.' || name[0] == '[') {
			c.secret(path, strings.TrimPrefix(name, "."))
		}
	}
	return render
}

// secret resolves a secret that a text reads.
func (c *compiler) secret(path, name string) {
	if c.secrets[name] != nil {
		return
	}
	if !regexp.MustCompile(`^\w+$`).MatchString(name) {
		c.problem(path, "secret must be followed by the name of a secret: letters, digits and _")
		return
	}
	c.masks[name], c.secrets[name] = mask, mask
	if c.opt.Secret == nil {
		return
	}
	v, ok := c.opt.Secret(name)
	if !ok || v == "" {
		c.problem(path, "the secret "+name+" is not set: set VERIFYD_SECRET_"+name+", or put a file "+name+" into the folder VERIFYD_SECRETS_DIR")
		return
	}
	c.secrets[name] = v
}

// mask stands for a secret in an Exchange.
const mask = "***"

// fixed renders a text of secrets alone. It is empty if it cannot be rendered.
func (c *compiler) fixed(path, s string) string {
	before := len(c.problems)
	render := c.text(path, s, nil, map[string]verification.Data{"secret": verification.Data(objectSchema)})
	if len(c.problems) > before {
		return ""
	}
	v, err := render(map[string]any{"secret": c.secrets})
	c.refuse(path, err)
	text, ok := v.(string)
	if text = strings.TrimSpace(text); err == nil && (!ok || text == "") {
		c.problem(path, "must not be empty")
	}
	return text
}

// expression compiles an expression over a response, and returns the paths that it reads;
// nil for an empty text.
func (c *compiler) expression(path, text, kind string) (eval value, reads []string) {
	if text == "" {
		return nil, nil
	}
	eval, reads, err := c.opt.Expressions.Expression(text, kind, c.responseVars())
	c.refuse(path, err)
	return eval, reads
}

func (c *compiler) describe(d config, p *compiled) verification.ProviderDescription {
	described := verification.ProviderDescription{
		Summary: cmp.Or(d.Summary, "Calls "+transport.Origin(d.BaseURL)+"."), With: c.with, Screens: d.Screens,
		Words: c.words("response", d.Response),
	}
	responses := []responseConfig{d.Response}
	if d.Poll != nil && d.Poll.Response != nil {
		responses = append(responses, *d.Poll.Response)
		maps.Copy(described.Words, c.words("poll.response", *d.Poll.Response))
	}
	properties, required := map[string]any{}, []any{}
	for _, r := range responses {
		for name, f := range r.Data {
			properties[name] = f.schema()
		}
	}
	passing := slices.DeleteFunc(responses, func(r responseConfig) bool { return r.Passed == "" })
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		lacks := func(r responseConfig) bool { f, ok := r.Data[name]; return !ok || f.Optional }
		if len(passing) > 0 && !slices.ContainsFunc(passing, lacks) {
			required = append(required, name)
		}
	}
	schema, err := verification.NewData(map[string]any{
		"type": "object", "properties": properties, "required": required, "additionalProperties": false,
	})
	c.refuse("response.data", err)
	described.Data = schema
	return described
}
