// Tests of parsing and comparing.

package scenario_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/hosts/internal/scenario"
)

const someID = "0191f3c0-0000-7000-8000-000000000001"

func TestBodiesThatMatch(t *testing.T) {
	for _, c := range []struct{ want, got string }{
		{`{"a": 1, "b": [true, null]}`, `{"b":[true,null],"a":1}`},
		{`{"a": "<any>"}`, `{"a":[]}`},
		{`{"a": "<string>"}`, `{"a":"x"}`},
		{`{"a": "<number>"}`, `{"a":1.50}`},
		{`{"a": "<uuid>"}`, `{"a":"` + someID + `"}`},
		{`{"a": "<timestamp>"}`, `{"a":"2026-01-05T09:00:00Z"}`},
		{`{"a": "<url>"}`, `{"a":"https://h/p"}`},
		{`{"a": "<hash>"}`, `{"a":"` + strings.Repeat("0a", 32) + `"}`},
		{`{"a": 1, "...": ""}`, `{"a":1,"b":2}`},
		{`["...", "..."]`, `["..."]`},
		{`[1, "..."]`, `[1,2,3]`},
		{`{"a": "/^x+$/"}`, `{"a":"xxx"}`},
		{`{"a": "{known}"}`, `{"a":"value"}`},
		{`{"a": "{y*3}"}`, `{"a":"yyy"}`},
		{`{"a": "<timestamp t>", "b": "<later t>"}`, `{"a":"2026-01-05T09:00:00Z","b":"2026-01-05T09:00:01Z"}`},
		{`{}`, `{}`},
		{"plain text", "plain text"},
		{"<pdf>", "%PDF-1.3 ...\n%%EOF\n"},
	} {
		if _, err := scenario.Match(map[string]string{"known": "value"}, c.want, c.got); err != nil {
			t.Errorf("%s does not match %s: %v", c.got, c.want, err)
		}
	}
}

func TestBodiesThatDoNotMatch(t *testing.T) {
	for _, c := range []struct{ want, got, problem string }{
		{`{"a": 1}`, `{"a":2}`, `a: want 1, got 2`},
		{`{"a": 1}`, `{"a":1.0}`, `a: want 1, got 1.0`},
		{`{"a": 1}`, `{"a":"1"}`, `a: want 1, got "1"`},
		{`{"a": null}`, `{}`, `a: want it, got no such field`},
		{`{"a": "x"}`, `{"a":null}`, `a: want "x", got null`},
		{`{"a": 1}`, `{"a":1,"b":null}`, `b: want no such field, got null`},
		{`{"a": {"b": [1, {"c": 2}]}}`, `{"a":{"b":[1,{"c":3}]}}`, `a.b[1].c: want 2, got 3`},
		{`[1]`, `[1,2]`, `want 1 elements, got [1,2]`},
		{`[1, 2, "..."]`, `[1]`, `want 2 elements, got [1]`},
		{`{"a": []}`, `{"a":{}}`, `a: want an array, got {}`},
		{`{"a": {}}`, `{"a":[]}`, `a: want an object, got []`},
		{`{"a": "<any>"}`, `{"a":null}`, `a: want <any>, got null`},
		{`{"a": "<string>"}`, `{"a":""}`, `a: want <string>, got ""`},
		{`{"a": "<string>"}`, `{"a":1}`, `a: want "\u003cstring\u003e", got 1`},
		{`{"a": "<number>"}`, `{"a":"1"}`, `a: want <number>, got "1"`},
		{`{"a": "<uuid>"}`, `{"a":"` + strings.ToUpper(someID) + `"}`, `not a lower-case UUID`},
		{`{"a": "<timestamp>"}`, `{"a":"2026-01-05T09:00:00.5Z"}`, `a: want <timestamp>`},
		{`{"a": "<timestamp>"}`, `{"a":"2026-01-05T09:00:00+00:00"}`, `a: want <timestamp>`},
		{`{"a": "<timestamp t>", "b": "<later t>"}`, `{"a":"2026-01-05T09:00:00Z","b":"2026-01-05T09:00:00Z"}`, `b: want <later t>`},
		{`{"a": "<url>"}`, `{"a":"/p"}`, `a: want <url>`},
		{`{"a": "<hash>"}`, `{"a":"0a"}`, `a: want <hash>`},
		{`{"a": "<banana>"}`, `{"a":"x"}`, `there is no <banana>`},
		{`{"a": "/^x+$/"}`, `{"a":"y"}`, `a: want /^x+$/, got "y"`},
		{`{"a": "{unknown}"}`, `{"a":""}`, `nothing is called {unknown} yet`},
		{`{"a": 1}`, `{"a":1}{}`, `want JSON`},
		{`{"a": 1}`, `no`, `want JSON`},
		{"<pdf>", "%PDF-1.3 cut", "want a PDF"},
	} {
		if _, err := scenario.Match(nil, c.want, c.got); err == nil || !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s against %s: %v, want %s", c.got, c.want, err, c.problem)
		}
	}
}

func TestNamesAreCaught(t *testing.T) {
	got, err := scenario.Match(map[string]string{"b": "old"}, `{"a": "<uuid run>", "b": "<any b>", "c": ["<number n>"]}`,
		`{"a":"`+someID+`","b":"new","c":[7]}`)
	check(t, err)
	if diff := cmp.Diff(map[string]string{"run": someID, "b": "new", "n": "7"}, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestConversationsAreParsed(t *testing.T) {
	steps, items, err := scenario.Parse(`Prose.

-- one --
POST /v1/x
A: b
C:
{"a": 1,

 "b": 2}
--- 202
D: e
{"f": 1}
GET /v1/x
--- 304

-- two --

advance 31m
webhook /a {"a":
 1}
no webhook
`)
	check(t, err)
	if diff := cmp.Diff([]string{"one", "two"}, steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{2, 3}, items); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
	for raw, problem := range map[string]string{
		"-- one --\nadvance 1s\n": "opens with prose",
		"Prose.\n":                "has steps",
		"Prose.\n-- one --\n\n-- two --\nadvance 1s\n":   `line 2: the step "one" is empty`,
		"Prose.\n-- one --\nadvance 1s\nadvanced 1s\n":   "line 4: want a request",
		"Prose.\n-- one --\nadvance soon\n":              "invalid duration",
		"Prose.\n-- one --\nGET /x\n{}\n":                "want a line such as --- 200",
		"Prose.\n-- one --\nGET /x\n--- OK\n":            "invalid syntax",
		"Prose.\n-- one --\nFETCH /x\n--- 200\n":         "line 3: want a request",
		"Prose.\n\nMore.\n-- one --\n\nhello\n--- 200\n": "line 6: want a request",
	} {
		if _, _, err := scenario.Parse(raw); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("parse %q = %v, want %s", raw, err, problem)
		}
	}
}
