// Tests of request bodies: strict JSON, and the message for each problem.

package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/httpapi"
	"github.com/verifyd/verifyd/internal/rig/mock"
	"github.com/verifyd/verifyd/verification/engine"
)

func TestBodiesAreStrict(t *testing.T) {
	a := newAPI(t, setup{})
	start := "/v1/workflows/" + string(a.Apply(simple()).ID) + "/runs"
	deep := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	for _, c := range []struct{ name, body, details string }{
		{"nothing", "", `"the body is empty: send a JSON object"`},
		{"spaces", " \n", `"the body is empty: send a JSON object"`},
		{"null", "null", `"the body must be a JSON object"`},
		{"an array", "[]", `"the body must be a JSON object"`},
		{"a string", `"x"`, `"the body must be a JSON object"`},
		{"no JSON", "reference_id=p", `"the body is not valid JSON at byte 0"`},
		{"cut off", `{"reference_id":"p"`, `"the body is not valid JSON at byte 19"`},
		{"cut off in a value", `{"reference_id":"p`, `[{"field":"reference_id","message":"is not valid JSON at byte 18"}]`},
		{"a trailing comma", `{"reference_id":"p",}`, `"the body is not valid JSON at byte 19"`},
		{"a comment", `{"reference_id":"p"/**/}`, `"the body is not valid JSON at byte 19"`},
		{"a second value", `{"reference_id":"p"}{}`, `"the body must be one JSON object, with nothing after it"`},
		{"text after the object", `{"reference_id":"p"}x`, `"the body must be one JSON object, with nothing after it"`},
		{"a byte order mark", "\ufeff" + `{"reference_id":"p"}`, `"the body is not valid JSON at byte 0"`},
		{"a duplicate key", `{"reference_id":"p","reference_id":"q"}`, `[{"field":"reference_id","message":"is given twice"}]`},
		{"a duplicate key inside", `{"reference_id":"p","input":{"a":{"b":1,"b":2}}}`, `[{"field":"input.a.b","message":"is given twice"}]`},
		{"a duplicate key in an array", `{"reference_id":"p","input":{"a":[0,{"b":1,"b":2}]}}`, `[{"field":"input.a[1].b","message":"is given twice"}]`},
		{"an escaped duplicate key", `{"reference_id":"p","reference_i\u0064":"q"}`, `[{"field":"reference_id","message":"is given twice"}]`},
		{"an unknown field", `{"reference_id":"p","ref":1}`, `[{"field":"ref","message":"is not a known field"}]`},
		{"a wrong case", `{"Reference_id":"p"}`, `[{"field":"Reference_id","message":"is not a known field"},{"field":"reference_id","message":"is required"}]`},
		{"a required field left out", `{}`, `[{"field":"reference_id","message":"is required"}]`},
		{"a required null", `{"reference_id":null}`, `[{"field":"reference_id","message":"must be a string"}]`},
		{"an optional null", `{"reference_id":"p","input":null}`, `[{"field":"input","message":"must be an object"}]`},
		{"another optional null", `{"reference_id":"p","redirect_uri":null}`, `[{"field":"redirect_uri","message":"must be a string"}]`},
		{"a number for a string", `{"reference_id":7}`, `[{"field":"reference_id","message":"must be a string"}]`},
		{"an array for an object", `{"reference_id":"p","input":[]}`, `[{"field":"input","message":"must be an object"}]`},
		{"a string for an object", `{"reference_id":"p","input":"{}"}`, `[{"field":"input","message":"must be an object"}]`},
		{"invalid UTF-8", "{\"reference_id\":\"a\xffb\"}", `[{"field":"reference_id","message":"must be valid UTF-8"}]`},
		{"invalid UTF-8 inside", "{\"reference_id\":\"p\",\"input\":{\"a\":\"\xff\"}}", `[{"field":"input.a","message":"must be valid UTF-8"}]`},
		{"a lone surrogate", `{"reference_id":"\ud800"}`, `[{"field":"reference_id","message":"must be valid UTF-8"}]`},
		{"a lone surrogate inside", `{"reference_id":"p","input":{"a":"\udc00"}}`, `[{"field":"input.a","message":"must be valid UTF-8"}]`},
		{"a raw NUL", "{\"reference_id\":\"a\x00b\"}", `[{"field":"reference_id","message":"is not valid JSON at byte 18"}]`},
		{"an escaped NUL", `{"reference_id":"a\u0000b"}`, `[{"field":"reference_id","message":"must not contain a NUL character"}]`},
		{"an escaped NUL inside", `{"reference_id":"p","input":{"a":"\u0000"}}`, `[{"field":"input","message":"must not contain a NUL character"}]`},
		{"an escaped NUL in a name", `{"reference_id":"p","input":{"\u0000":1}}`, `[{"field":"input","message":"must not contain a NUL character"}]`},
		{
			"numbers that would lose digits", `{"reference_id":"p","input":{"a":{"ids":[1,18446744073709551616]},"b":1e-999}}`,
			`[{"field":"input.a.ids[1]","message":"must be a whole number of at most 64 bits to keep its digits: send it as a string"}]`,
		},
		{"deep input", `{"reference_id":"p","input":` + deep(33) + `}`, `[{"field":"input","message":"must not nest deeper than 32"}]`},
		{"deep rubbish", `{"reference_id":"p","x":` + deep(5000) + `}`, `[{"field":"x","message":"is not a known field"}]`},
		{"an empty reference", `{"reference_id":""}`, `[{"field":"reference_id","message":"is required"}]`},
		{"a long reference", `{"reference_id":"` + strings.Repeat("é", 256) + `"}`, `[{"field":"reference_id","message":"must be at most 255 characters"}]`},
		{"a control character", `{"reference_id":"a\nb"}`, `[{"field":"reference_id","message":"must not contain control characters"}]`},
		{"another control character", `{"reference_id":"a\u0085b"}`, `[{"field":"reference_id","message":"must not contain control characters"}]`},
		{"an empty URL", `{"reference_id":"p","redirect_uri":""}`, `[{"field":"redirect_uri","message":"must be an absolute http(s) URL"}]`},
		{"a relative URL", `{"reference_id":"p","redirect_uri":"/verify"}`, `[{"field":"redirect_uri","message":"must be an absolute http(s) URL"}]`},
		{"another scheme", `{"reference_id":"p","redirect_uri":"javascript://app.example/verify"}`, `[{"field":"redirect_uri","message":"must be an absolute http(s) URL"}]`},
		{"a URL that is not allowed", `{"reference_id":"p","redirect_uri":"https://app.example/other"}`, `[{"field":"redirect_uri","message":"is not in the tenant's redirect allowlist"}]`},
		{
			"every problem at once", `{"reference_id":7,"x":1,"redirect_uri":"no","input":[],"y":{"z":[null]}}`,
			`[{"field":"reference_id","message":"must be a string"},{"field":"x","message":"is not a known field"},` +
				`{"field":"input","message":"must be an object"},{"field":"y","message":"is not a known field"},` +
				`{"field":"redirect_uri","message":"must be an absolute http(s) URL"}]`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			a.t = t
			a.do(http.MethodPost, start, c.body, "Content-Type: application/json").is(400, bad(c.details))
		})
	}
	a.t = t
	a.do(http.MethodGet, "/v1/runs", "").says(200, `"total":0`)

	for _, body := range []string{
		`{"reference_id":"` + strings.Repeat("é", 255) + `"}`,
		`{"reference_id":"p","input":{}}`,
		`{"reference_id":"p","input":` + deep(32) + `}`,
		`{"reference_id":"p","input":{"a":"\\u0000","b":"\ud83d\ude00"}}`,
		" \r\n\t{ \"reference_id\" : \"p\" }\n",
		`{"reference_\u0069d":"p"}`,
		`{"reference_id":"p","redirect_uri":"HTTPS://app.example/verify/done?x=1"}`,
	} {
		a.do(http.MethodPost, start, body).says(202, `"status":`)
	}
}

func TestAnErrorDoesNotGrowWithItsRequest(t *testing.T) {
	a := newAPI(t, setup{})
	body := `{"` + strings.Repeat("n", 100000) + `":1`
	for i := range 20000 {
		body += `,"x` + strings.Repeat("y", i%7) + string(rune('a'+i%26)) + strings.Repeat("z", i/182) + `":1`
		if len(body) > 1<<19 {
			break
		}
	}
	for _, body := range []string{body + "}", `{"x":` + strings.Repeat("[", 200000), `{"payload":` + strings.Repeat(`{"a":`, 100000)} {
		got := a.do(http.MethodPost, "/v1/workflows/x/runs", body)
		if got.Status != 400 || len(got.Body) > 64<<10 {
			t.Errorf("answer = %d with %d bytes, want 400 and fewer than 64 KiB", got.Status, len(got.Body))
		}
	}
}

func TestABodyMustBeAnnouncedAsJSON(t *testing.T) {
	a := newAPI(t, setup{})
	start := "/v1/workflows/" + string(a.Apply(simple()).ID) + "/runs"
	const body, refused = `{"reference_id":"p"}`, `{"error":"Unsupported Media Type","message":"The body must be JSON: send Content-Type: application/json.","code":415,"reason":"unsupported_media_type"}`
	for _, good := range []string{
		"application/json", "Application/JSON", "application/json; charset=utf-8", `application/json;charset="UTF-8"`, "application/json; charset=utf8",
		"application/vnd.acme.start+json", "application/json; profile=x",
	} {
		a.do(http.MethodPost, start, body, "Content-Type: "+good).says(202, `"status"`)
	}
	for _, wrong := range []string{
		"", "text/plain", "application/x-www-form-urlencoded", "text/json", "application/jsonx", "json", "application/json; charset=latin1",
		"application/json, application/json", ";",
	} {
		a.do(http.MethodPost, start, body, "Content-Type: "+wrong).is(415, refused)
	}
	a.do(http.MethodPost, start, body, "Content-Type:").is(415, refused)
	a.do(http.MethodPost, start, body, "Content-Encoding: gzip").is(415, refused)
	a.do(http.MethodPost, start, body, "Content-Encoding: identity").says(202, `"status"`)
	// An empty body is empty, whatever its Content-Type.
	a.do(http.MethodPost, start, "", "Content-Type: text/plain").is(400, bad(`"the body is empty: send a JSON object"`))
}

// endless is a body without announced length that never ends.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, bytes.Repeat([]byte(" "), len(p)))
	e.read += n
	return n, nil
}

func TestABodyIsReadUpToItsLimitAndNoFurther(t *testing.T) {
	a := newAPI(t, setup{})
	start := "/v1/workflows/" + string(a.Apply(simple()).ID) + "/runs"
	fill := func(n int) string { return `{"reference_id":"p"` + strings.Repeat(" ", n-20) + "}" }
	const tooLarge = `{"error":"Request Entity Too Large","message":"The body must be at most 1 MiB.","code":413,"reason":"body_too_large"}`
	a.do(http.MethodPost, start, fill(1<<20)).says(202, `"status"`)
	a.do(http.MethodPost, start, fill(1<<20+1)).is(413, tooLarge)

	chunked := func(body io.Reader, announce string) response {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, start, body)
		r.ContentLength = -1
		r.Header.Set("client-id", "acme")
		r.Header.Set("x-api-key", apiKey)
		if announce != "" {
			r.Header.Set("Content-Type", announce)
		}
		return a.send(r)
	}
	e := &endless{}
	chunked(e, "application/json").is(413, tooLarge)
	if limit := 1<<20 + 64<<10; e.read > limit {
		t.Errorf("%d bytes were read, want at most %d", e.read, limit)
	}
	chunked(strings.NewReader(fill(1<<20)), "application/json").says(202, `"status"`)
	chunked(strings.NewReader(fill(64)), "").says(415, "application/json")
	chunked(strings.NewReader(""), "").is(400, bad(`"the body is empty: send a JSON object"`))
	chunked(io.MultiReader(strings.NewReader(`{"refer`), broken{}), "application/json").is(400, bad(`"the body ended before it was complete"`))
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestACancelHasNoBody(t *testing.T) {
	a := newAPI(t, setup{})
	w := a.Apply(journey())
	cancel := func() string {
		return "/v1/runs/" + string(a.Start(w.ID, engine.StartRequest{ReferenceID: "p"}).ID) + "/cancel"
	}
	a.do(http.MethodPost, cancel(), "").says(200, `"status":"cancelled"`)
	a.do(http.MethodPost, cancel(), "", "Content-Type: text/plain").says(200, `"status":"cancelled"`)
	a.do(http.MethodPost, cancel(), "{}").says(200, `"status":"cancelled"`)
	a.do(http.MethodPost, cancel(), `{"reason":"x"}`).is(400, badField("reason", "is not a known field"))
	a.do(http.MethodPost, cancel(), "[]").is(400, bad(`"the body must be a JSON object"`))
	a.do(http.MethodPost, cancel(), "{}", "Content-Type: text/plain").says(415, "application/json")
	a.do(http.MethodPost, cancel(), strings.Repeat(" ", 1<<20+1)).says(413, "1 MiB")
}

// FuzzDecode checks that no body makes the decoder panic, that an accepted body
// follows the rules of the API, and that any other is answered with 400.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"reference_id":"p"}`, `{"reference_id":"p","input":{"a":[1,{"b":"\u0000"}]},"redirect_uri":"https://h/"}`,
		`{"payload":{"decision":"approve","notes":"x"}}`, `{"payload":{"node_id":1}}`, `{"lifecycle_webhook_url":"http://h"}`,
		`{"reference_id":"\ud800"}`, "null", "[", `{"a":1,"a":2}`, `{"reference_id":"p"}{}`, "{\"reference_id\":\"\xff\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for name, decode := range httpapi.Decoders() {
			problems, err := decode(body)
			switch {
			case err != nil && httpapi.StatusOf(err) != http.StatusBadRequest:
				t.Errorf("%s: %v has status %d, want 400", name, err, httpapi.StatusOf(err))
			case err != nil || len(problems) > 0:
				continue
			}
			if !bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) {
				t.Errorf("%s takes %q, which is no object", name, body)
			}
			if !json.Valid(body) || !utf8.Valid(body) {
				t.Errorf("%s takes %q, which is no JSON in UTF-8", name, body)
			}
			var fields struct {
				ReferenceID string         `json:"reference_id"`
				Payload     map[string]any `json:"payload"`
			}
			if err := json.Unmarshal(body, &fields); err != nil {
				t.Errorf("%s takes %q: %v", name, body, err)
			}
			length := utf8.RuneCountInString(fields.ReferenceID)
			if name == "start" && (length < 1 || length > 255 || strings.ContainsFunc(fields.ReferenceID, unicode.IsControl)) {
				t.Errorf("start takes %q, whose reference_id is %q", body, fields.ReferenceID)
			}
			if (name == "signal" || name == "review") && fields.Payload == nil {
				t.Errorf("%s takes %q, which has no payload", name, body)
			}
		}
	})
}

func TestATenantRestsAfterALargeBody(t *testing.T) {
	now := enginetest.Began()
	var ends []func() // of the rests
	a := newAPI(t, setup{options: httpapi.Options{Clock: &mock.ClockMock{
		NowFunc: func() time.Time { now = now.Add(time.Second / 10); return now },
		AfterFuncFunc: func(d time.Duration, f func()) func() bool {
			if d != 300*time.Millisecond {
				t.Errorf("the tenant rests for %v, want 3 times as long as the decoding took", d)
			}
			ends = append(ends, f)
			return func() bool { return false }
		},
	}}})
	start := "/v1/workflows/" + string(a.Apply(simple()).ID) + "/runs"
	send := func(client string, size int, timeout time.Duration) int {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		body := `{"reference_id":"p"` + strings.Repeat(" ", size) + "}"
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, start, strings.NewReader(body))
		r.Header = http.Header{"Client-Id": {client}, "X-Api-Key": {apiKey}, "Content-Type": {"application/json"}}
		return a.send(r).Status
	}
	const large, soon, enough = 100 << 10, 20 * time.Millisecond, time.Minute
	if status := send("acme", large, enough); status != 202 {
		t.Fatalf("the first large body is answered with %d, want 202", status)
	}
	if status := send("acme", large, soon); status != 503 {
		t.Errorf("a large body while the tenant rests is answered with %d, want it to wait until its request ends", status)
	}
	if status := send("acme", 100, enough); status != 202 {
		t.Errorf("a small body while the tenant rests is answered with %d, want 202", status)
	}
	if status := send("other", large, enough); status != 404 {
		t.Errorf("a large body of another tenant is answered with %d, want 404", status)
	}
	if len(ends) != 2 {
		t.Fatalf("there are %d rests, want one of each tenant", len(ends))
	}
	ends[0]()
	if status := send("acme", large, enough); status != 202 {
		t.Errorf("a large body after the rest is answered with %d, want 202", status)
	}
}
