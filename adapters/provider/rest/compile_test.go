// Tests of declarations with problems.

package rest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/provider/rest"
	"github.com/verifyd/verifyd/verification"
)

// problems returns the problems of a declaration, one per line.
func problems(t *testing.T, v *remote, changes map[string]any, o rest.Options) (lines []string) {
	t.Helper()
	_, err := rest.New("registry", v.declaration(changes), o)
	var invalid *verification.Error
	if err != nil && (!errors.As(err, &invalid) || !errors.Is(err, verification.ErrInvalid)) {
		t.Fatalf("error = %v, want ErrInvalid", err)
	}
	if invalid != nil {
		for _, f := range invalid.Fields {
			line := f.Name + ": " + f.Message
			if f.Character > 0 {
				line = fmt.Sprintf("%s (character %d)", line, f.Character)
			}
			lines = append(lines, line)
		}
	}
	if strings.Contains(strings.Join(lines, "\n"), canary) {
		t.Errorf("a problem contains a secret: %s", lines)
	}
	return lines
}

func TestEveryProblemOfADeclarationNamesItsField(t *testing.T) {
	v := &remote{url: "https://api.vendor.example", t: t}
	for name, tt := range map[string]struct {
		changes map[string]any
		want    []string
	}{
		"none":        {nil, nil},
		"base_url":    {map[string]any{"base_url": "vendor.example"}, []string{"base_url: must be an absolute http(s) URL"}},
		"user":        {map[string]any{"base_url": "https://a:b@vendor.example"}, []string{"base_url: must not have a user or a password: use auth"}},
		"query":       {map[string]any{"base_url": "https://vendor.example/?k=1"}, []string{"base_url: must not have a query or a fragment"}},
		"path":        {map[string]any{"request.path": "v1?x=1"}, []string{"request.path: must begin with / and have no ? or #: put parameters into query"}},
		"two auths":   {map[string]any{"auth.basic": map[string]any{"username": "a", "password": "b"}}, []string{"auth: must have only one of bearer, basic, header and oauth2"}},
		"two bodies":  {map[string]any{"request.form": map[string]any{}}, []string{"request: must have only one of json, form and multipart"}},
		"two lines":   {map[string]any{"response.failed": map[string]any{"when": "true", "text": "No.\nNo."}}, []string{"response.failed.text: must be one line of text"}},
		"long words":  {map[string]any{"response.failed": map[string]any{"when": "true", "text": strings.Repeat("a", 201)}}, []string{"response.failed.text: must have at most 200 characters"}},
		"GET body":    {map[string]any{"request.method": "GET"}, []string{"request.json: a GET request has no body"}},
		"header":      {map[string]any{"request.headers": map[string]any{"Host": "x"}}, []string{"request.headers.Host: the header Host cannot be set"}},
		"header name": {map[string]any{"request.headers": map[string]any{"a b": "x"}}, []string{"request.headers.a b: must be the name of a header"}},
		"secret":      {map[string]any{"auth.bearer": "${secret.NOBODY}"}, []string{"auth.bearer: the secret NOBODY is not set: set VERIFYD_SECRET_NOBODY, or put a file NOBODY into the folder VERIFYD_SECRETS_DIR"}},
		"any secret":  {map[string]any{"request.json.x": "${secret}"}, []string{"request.json.x: secret must be followed by the name of a secret: letters, digits and _"}},
		"secret in a response": {
			map[string]any{"response.passed": "response.body.key == secret.TOKEN"},
			[]string{"response.passed: undeclared reference to 'secret' (character 22)"},
		},
		"handle in a check": {
			map[string]any{"request.json.x": "${handle}"},
			[]string{"request.json.x: undeclared reference to 'handle' (character 3)"},
		},
		"misspelt": {
			map[string]any{"response.failed": "response.staus == 400"},
			[]string{"response.failed: response.staus: undefined field 'staus'; did you mean status? (character 9)"},
		},
		"syntax": {
			map[string]any{"request.json.x": []any{"a", "${with.}"}},
			[]string{"request.json.x[1]: Syntax error: no viable alternative at input '.' (character 8)"},
		},
		"unclosed credentials": {map[string]any{"auth.bearer": "${secret.TOKEN"}, []string{"auth.bearer: a ${ is not closed with } (character 1)"}},
		"unclosed":             {map[string]any{"request.json.x": "${with.a"}, []string{"request.json.x: a ${ is not closed with } (character 1)"}},
		"no condition":         {map[string]any{"response": map[string]any{}}, []string{"response: must have a condition: pending, passed or failed"}},
		"not a bool":           {map[string]any{"response.passed": "response.status"}, []string{"response.passed: it must be of type boolean, not double"}},
		"a scale in the wrong order": {
			map[string]any{"response.data.name_match.scale": map[string]any{"to": 1, "fails_below": 0.8, "passes_from": 0.7}},
			[]string{"response.data.name_match.scale: must have from < to, and fails_below and passes_from between them in this order"},
		},
		"a scale of a text": {
			map[string]any{"response.data.registered.scale": map[string]any{"to": 1, "fails_below": 0.5, "passes_from": 0.7}},
			[]string{"response.data.registered.scale: is for a number: say type: number"},
		},
		"wrong type": {
			map[string]any{"response.data": map[string]any{"n": map[string]any{"value": "response.status", "type": "string"}}},
			[]string{"response.data.n.value: it must be of type string, not double"},
		},
		"with": {
			map[string]any{"with": map[string]any{"type": "object", "properties": map[string]any{"scenario": map[string]any{}}, "additionalProperties": false}},
			[]string{"request.json.number: with.number: undefined field 'number' (character 7)"},
		},
		"schema":      {map[string]any{"with": map[string]any{"type": "objekt"}}, []string{"with.type: does not have any of the allowed forms"}},
		"no poll":     {map[string]any{"poll": nil}, []string{"response.pending: a pending result needs poll or callback"}},
		"no verifier": {map[string]any{"callback": map[string]any{}}, []string{"callback: must have exactly one of hmac_sha256 and header"}},
		"no URL sent": {
			map[string]any{"callback.header": map[string]any{"name": "X-Key", "value": "${secret.HOOK}"}, "request.headers": nil},
			[]string{"callback: the request must send ${request.callback_url} to the vendor"},
		},
		"callback without a pending result": {
			map[string]any{"response.pending": nil, "callback.header": map[string]any{"name": "X-Key", "value": "${secret.HOOK}"}},
			[]string{"callback: a callback needs response.pending or response.redirect"},
		},
		"scopes twice": {
			map[string]any{"auth": map[string]any{"oauth2": map[string]any{
				"token_url": "https://vendor.example/token", "client_id": "a", "client_secret": "${secret.TOKEN}",
				"scopes": []any{"a"}, "params": map[string]any{"scope": "b"},
			}}},
			[]string{"auth.oauth2.params.scope: must not be given together with scopes"},
		},
		"token_url": {
			map[string]any{"auth": map[string]any{"oauth2": map[string]any{"token_url": "/token", "client_id": "a", "client_secret": "${secret.TOKEN}"}}},
			[]string{"auth.oauth2.token_url: must be an absolute http(s) URL"},
		},
		"limits": {
			map[string]any{"limits": map[string]any{"concurrent": 0, "timeout_seconds": 601, "retries": 9, "response_bytes": 0, "per_second": -1}},
			[]string{
				"limits.concurrent: must be 1 to 10000", "limits.per_second: must be 0 to 1000000", "limits.timeout_seconds: must be more than 0, and at most 600",
				"limits.response_bytes: must be 1 to 16777216", "limits.retries: must be 0 to 5",
			},
		},
		"certificate": {
			map[string]any{"ca": "${secret.TOKEN}", "auth.mtls": map[string]any{"certificate": "${secret.TOKEN}", "key": "${secret.HOOK}"}},
			[]string{"ca: must be certificates in PEM", "auth.mtls: must be a certificate and its key, in PEM"},
		},
	} {
		if diff := cmp.Diff(tt.want, problems(t, v, tt.changes, options())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestADeclarationCanBeCheckedWithoutItsSecrets(t *testing.T) {
	v := &remote{url: "https://api.vendor.example", t: t}
	o := options()
	o.Secret = nil
	changes := map[string]any{"ca": "${secret.CA}", "auth": map[string]any{"mtls": map[string]any{"certificate": "${secret.A}", "key": "${secret.B}"}}}
	if got := problems(t, v, changes, o); got != nil {
		t.Errorf("problems = %q, want none", got)
	}
	p, err := rest.New("registry", v.declaration(changes), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Check(t.Context(), request("valid")); err == nil || kindOf(err) != permanent {
		t.Errorf("a call without secrets = %v, want a permanent error", err)
	}
}
