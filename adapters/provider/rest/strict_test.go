package rest_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"

	"github.com/verifyd/verifyd/adapters/provider/rest"
	"github.com/verifyd/verifyd/verification"
)

// answered checks with a vendor that responds with a status, a Content-Type and a body. An
// answer that failed needs some fields.
func answered(t *testing.T, p verification.Poller, status, kind, body string, needs ...string) (verification.CheckResult, error) {
	t.Helper()
	r := request("body")
	r.Needs = needs
	r.With["number"] = status + " " + kind + "|" + base64.StdEncoding.EncodeToString([]byte(body))
	return p.Check(t.Context(), r)
}

// bodyOnly changes a declaration so that its conditions read the body only.
func bodyOnly() map[string]any {
	return map[string]any{
		"response.pending": "response.body.result == 'WAIT'",
		"response.passed":  "response.body.result == 'VALID'",
		"response.failed":  "response.body.result == 'INVALID'",
	}
}

func TestABodyWithTwoMeaningsIsRefused(t *testing.T) {
	v := start(t)
	const twice = "responded with 200: its body has the same key twice in an object"
	for _, p := range []verification.Poller{v.provider(nil), v.provider(bodyOnly())} {
		for body, want := range map[string]string{
			`{"result":"INVALID","result":"VALID","score":1}`:            twice,
			`{"result":"VALID","result":"VALID","score":1}`:              twice,
			`{"result":"VALID","\u0072esult":"INVALID","score":1}`:       twice,
			`{"result":"VALID","score":1,"l":[{"a":[{"b":1,"b":2}]}]}`:   twice,
			"{\"result\":\"VALID\",\"score\":1,\"name\":\"\xff\"}":       "responded with 200: its body has a text that is not valid UTF-8",
			`{"result":"VALID","score":1,"name":"\ud800"}`:               "responded with 200: its body has a text that is not valid UTF-8",
			`{"result":"VALID","score":1,"a":{"b":1},"c":{"b":1}}`:       "",
			`{"result":"VALID","score":1,"Result":"INVALID"}`:            "",
			`{"result":"VALID","score":123456789012345678901234567890}`:  "responded with 200: data.name_match: response.body.score has more than 64 bits, so it cannot be read exactly",
			`{"result":"VALID","score":1,"l":123456789012345678901e300}`: "",
		} {
			got, err := answered(t, p, "200", "application/json", body)
			switch {
			case want == "" && (err != nil || got.Outcome != verification.OutcomePassed):
				t.Errorf("%s: %+v, %v, want it passed", body, got, err)
			case want != "" && (err == nil || !strings.HasSuffix(err.Error(), want) || kindOf(err) != permanent):
				t.Errorf("%s: %v, want a permanent error %q", body, err, want)
			}
		}
	}
}

// Each row is a condition, and what becomes of a body of {"holder": "Asha Rao", "n": 1, "none": null, "yes": true, "no": false}.
func TestAConditionIsTrueOrFalseOrAnError(t *testing.T) {
	const body = `{"holder":"Asha Rao","n":1,"none":null,"yes":true,"no":false,"list":[],"object":{}}`
	named := func(condition string) string {
		return "responded with 200: response." + condition + " must be true or false, and its value is not"
	}
	v := start(t)
	for _, row := range []struct{ condition, text, outcome, err string }{
		{"passed", "has(response.body.holder)", "passed", ""},
		{"passed", "has(response.body.no)", "passed", ""},
		{"passed", "has(response.body.nothing)", "failed", ""},
		{"passed", "response.body.yes", "passed", ""},
		{"passed", "response.body.no", "failed", ""},
		{"passed", "response.body.nothing", "failed", ""}, // what is missing does not hold
		{"passed", "response.body.none", "failed", ""},
		{"passed", "response.body.?nothing", "failed", ""},
		{"passed", "response.body.holder", "", named("passed")},
		{"passed", "response.body.n", "", named("passed")},
		{"passed", "response.body.?holder", "", named("passed")},
		{"passed", "response.body.list", "", named("passed")},
		{"passed", "response.body.object", "", named("passed")},
		{"pending", "response.body.holder", "", named("pending")},
		{"no_coverage", "response.body.holder", "", named("no_coverage")},
		{"no_coverage", "has(response.body.holder)", "no_coverage", ""},
		{"inconclusive", "response.body.n", "", named("inconclusive")},
		{"failed", "response.body.n", "", named("failed")},
		{"failed", "has(response.body.n)", "failed", ""},
	} {
		changes := map[string]any{"response.pending": "has(response.body.id)", "response.passed": "false", "response.failed": "true", "response.data": nil}
		changes["response."+row.condition] = row.text
		got, err := answered(t, v.provider(changes), "200", "application/json", body)
		switch {
		case row.err == "" && (err != nil || string(got.Outcome) != row.outcome):
			t.Errorf("%s: %s: %+v, %v, want %s", row.condition, row.text, got, err, row.outcome)
		case row.err != "" && (err == nil || !strings.HasSuffix(err.Error(), row.err) || kindOf(err) != permanent):
			t.Errorf("%s: %s: %v, want a permanent error %q", row.condition, row.text, err, row.err)
		}
	}
	changes := map[string]any{"response.data": map[string]any{
		"found": map[string]any{"value": "has(response.body.holder)", "type": "boolean"}, "more": map[string]any{"value": "has(response.body.more)", "type": "boolean"},
	}, "response.pending": nil, "response.passed": "response.status == 200", "poll": nil}
	got, err := answered(t, v.provider(changes), "200", "application/json", body)
	if diff := cmp.Diff(map[string]any{"found": true, "more": false}, got.Data); diff != "" || err != nil {
		t.Errorf("data of the type boolean: %v (-want +got):\n%s", err, diff)
	}
	// A condition that is not tried for a status does not hide what the status says.
	if _, err := answered(t, v.provider(map[string]any{"response.passed": "response.body.holder"}), "503", "application/json", body); err == nil ||
		kindOf(err) != transient {
		t.Errorf("503 with a body that names a holder: %v, want a transient error", err)
	}
}

func TestABodyThatIsRefusedKeepsTheKindOfItsStatus(t *testing.T) {
	v := start(t)
	for status, want := range map[string]string{"503": transient, "404": permanent, "200": permanent} {
		_, err := answered(t, v.provider(nil), status, "application/json", `{"a":1,"a":2}`)
		if err == nil || kindOf(err) != want || !strings.HasSuffix(err.Error(), "responded with "+status+": its body has the same key twice in an object") {
			t.Errorf("%s: %s error %v, want a %s one", status, kindOf(err), err, want)
		}
	}
}

func TestAConditionOnTheBodyHoldsFor2xxOnly(t *testing.T) {
	v := start(t)
	p := v.provider(bodyOnly())
	for _, tt := range []struct{ status, body, want string }{
		{"200", `{"result":"VALID","score":1}`, "passed"},
		{"201", `{"result":"INVALID","score":1}`, "failed"},
		{"206", `{"result":"WAIT","id":"t"}`, "pending"},
		{"404", `{"result":"VALID","score":1}`, "responded with 404: response.passed holds for 2xx only, because it does not read response.status"},
		{"422", `{"result":"INVALID","score":1}`, "responded with 422: response.failed holds for 2xx only, because it does not read response.status"},
		{"500", `{"result":"VALID","score":1}`, "responded with 500: response.passed holds for 2xx only, because it does not read response.status"},
		{"500", `{"result":"WAIT","id":"t"}`, "responded with 500: response.pending holds for 2xx only, because it does not read response.status"},
		{"302", `{"result":"VALID","score":1}`, "responded with 302: redirects are not followed"},
		{"500", `{}`, "responded with 500"},
	} {
		got, err := answered(t, p, tt.status, "application/json", tt.body)
		if err == nil && string(got.Outcome) != tt.want || err != nil && !strings.HasSuffix(err.Error(), tt.want) {
			t.Errorf("%s %s: %s, %v, want %s", tt.status, tt.body, got.Outcome, err, tt.want)
		}
	}
	for _, text := range []string{`response.status in [200, 404] && response.body.result == 'VALID'`, `response.?status.orValue(0) > 0`, `dyn(response).status == 404`} {
		changes := bodyOnly()
		changes["response.passed"] = text
		if got, err := answered(t, v.provider(changes), "404", "application/json", `{"result":"VALID","score":1}`); err != nil || got.Outcome != verification.OutcomePassed {
			t.Errorf("%s: %+v, %v, want it passed", text, got, err)
		}
	}
}

func TestDeclaredDataIsRequired(t *testing.T) {
	v := start(t)
	for body, want := range map[string]string{
		`{"result":"VALID","score":1}`:                 "",
		`{"result":"VALID","score":1,"name":null}`:     "",
		`{"result":"VALID"}`:                           "data.name_match: response.body.score has no value",
		`{"result":"VALID","score":null}`:              "data.name_match: it has no value",
		`{"result":"INVALID"}`:                         "",
		`{"result":"INVALID","score":"none"}`:          "data.name_match: it is not a number",
		`{"result":"VALID","score":1,"name":7}`:        "data.registered: it is not a string",
		`{"result":"VALID","score":1,"name":["ASHA"]}`: "data.registered: it is not a string",
	} {
		_, err := answered(t, v.provider(nil), "200", "application/json", body)
		if err == nil != (want == "") || err != nil && (!strings.HasSuffix(err.Error(), want) || kindOf(err) != permanent) {
			t.Errorf("%s: %v, want %q", body, err, want)
		}
	}
	p := v.provider(map[string]any{"response.data.registered.value": "response.body.names[size(response.body.names) - 1]"})
	if _, err := answered(t, p, "200", "application/json", `{"result":"VALID","score":1,"names":[]}`); err == nil {
		t.Error("an optional value that cannot be calculated was left out")
	}
}

func TestAVendorMaySayNoWithoutData(t *testing.T) {
	v := start(t)
	changes := map[string]any{
		"response.failed": `response.status in [200, 404] && (response.status == 404 || response.body.result == 'NOT_FOUND')`,
		"response.data": map[string]any{
			"name_match": map[string]any{"value": "response.body.data.score", "type": "number"},
			"place":      map[string]any{"value": "response.body.data.address.city.upperAscii()", "type": "string"},
			"registered": map[string]any{"value": "response.body.data.name", "type": "string", "optional": true},
		},
	}
	type needs = []string
	for _, tt := range []struct {
		status, kind, body string
		needs              needs
		data, want         string
	}{
		{"200", "application/json", `{"result":"NOT_FOUND"}`, nil, `{}`, ""},
		{"200", "application/json", `{"result":"NOT_FOUND","data":null}`, nil, `{}`, ""},
		{"200", "application/json", `{"result":"NOT_FOUND","data":{"score":null,"address":{}}}`, nil, `{}`, ""},
		{"200", "application/json", `{"result":"NOT_FOUND","data":{"score":0.5}}`, nil, `{"name_match":0.5}`, ""},
		{"404", "text/plain", `no such number`, nil, `{}`, ""},
		{"404", "application/json", ``, nil, `{}`, ""},
		{"200", "application/json", `{"result":"VALID","data":{"score":0.5,"address":{"city":"Pune"}}}`, nil, `{"name_match":0.5,"place":"PUNE"}`, ""},
		{"200", "application/json", `{"result":"VALID","data":{"score":0.5}}`, nil, "", "data.place: response.body.data.address has no value"},
		// A version of a workflow that reads the values all the same has always needed them.
		{"200", "application/json", `{"result":"NOT_FOUND"}`, needs{"name_match"}, "", "data.name_match: response.body.data has no value"},
		{"200", "application/json", `{"result":"NOT_FOUND","data":{"score":0.5}}`, needs{"name_match"}, `{"name_match":0.5}`, ""},
		{"200", "application/json", `{"result":"NOT_FOUND"}`, needs{"registered"}, `{}`, ""},
		{"404", "application/json", ``, needs{"", "name_match"}, "", "data.name_match: response.body.data has no value"},
	} {
		got, err := answered(t, v.provider(changes), tt.status, tt.kind, tt.body, tt.needs...)
		if tt.want != "" {
			if err == nil || !strings.HasSuffix(err.Error(), tt.want) {
				t.Errorf("%s needing %q: %+v, %v, want the error %q", tt.body, tt.needs, got, err, tt.want)
			}
			continue
		}
		if data, _ := json.Marshal(got.Data); err != nil || string(data) != tt.data {
			t.Errorf("%s needing %q: %s, %v, want %s", tt.body, tt.needs, data, err, tt.data)
		}
	}
}

func TestOtherCharsetsAreConverted(t *testing.T) {
	v := start(t)
	const body = `{"result":"VALID","score":1,"name":"Zoë Ōta 太田"}`
	encode := func(s string, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	latin := encode(charmap.ISO8859_1.NewEncoder().String(`{"result":"VALID","score":1,"name":"Zoë"}`))
	shift := encode(japanese.ShiftJIS.NewEncoder().String(`{"result":"VALID","score":1,"name":"太田"}`))
	wide := encode(unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewEncoder().String(body))
	for _, tt := range []struct{ kind, body, name, want string }{
		{"application/json", body, "Zoë Ōta 太田", ""},
		{`application/json; charset="UTF-8"`, body, "Zoë Ōta 太田", ""},
		{"application/json; charset=iso-8859-1", latin, "Zoë", ""},
		{"application/json;charset=Windows-1252", latin, "Zoë", ""},
		{"application/json; charset=shift_jis", shift, "太田", ""},
		{"application/json; charset=utf-16", wide, "Zoë Ōta 太田", ""},
		{"application/json", latin, "", "its body has a text that is not valid UTF-8"},
		{"application/json; charset=utf-8", latin, "", "its body has a text that is not valid UTF-8"},
		{"application/json; charset=shift_jis", shift[:len(shift)-4] + "\xfd\"}", "", "its body does not have the charset that its header names"},
		{"application/json; charset=ebcdic", body, "", "the charset of its body is not supported"},
	} {
		got, err := answered(t, v.provider(nil), "200", tt.kind, tt.body)
		if tt.want != "" && (err == nil || !strings.HasSuffix(err.Error(), ": "+tt.want)) || tt.want == "" && (err != nil || got.Data["registered"] != tt.name) {
			t.Errorf("%s: %+v, %v, want the name %q or the error %q", tt.kind, got, err, tt.name, tt.want)
		}
	}
}

// zipped returns a text in gzip.
func zipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}

func TestGzipAndByteOrderMarksAreDecoded(t *testing.T) {
	v := start(t)
	const body = `{"result":"VALID","score":1,"name":"Zoë"}`
	bomb := zipped(`{"result":"VALID","score":1,"name":"` + strings.Repeat("x", 8<<20) + `"}`)
	for _, tt := range []struct{ kind, body, want string }{
		{"application/json", "\ufeff" + body, ""},
		{"application/json; charset=utf8", body, ""},
		{"application/json+gzip", zipped(body), ""},
		{"application/json+x-gzip", zipped("\ufeff" + body), ""},
		{"application/json+identity", body, ""},
		{"application/json+gzip", bomb, "its body has more than 1048576 bytes once its gzip is decoded"},
		{"application/json+gzip", zipped(body)[:20], "its body is not the gzip that its header names"},
		{"application/json+gzip", body, "its body is not the gzip that its header names"},
		{"application/json+br", body, "the Content-Encoding of its body is not supported: send it as gzip, or as it is"},
	} {
		got, err := answered(t, v.provider(nil), "200", tt.kind, tt.body)
		if tt.want != "" && (err == nil || !strings.HasSuffix(err.Error(), ": "+tt.want)) || tt.want == "" && (err != nil || got.Data["registered"] != "Zoë") {
			t.Errorf("%s, %d bytes: %+v, %v, want the name or the error %q", tt.kind, len(tt.body), got, err, tt.want)
		}
	}
}

func TestPollsAndCallbacksAreReadStrictly(t *testing.T) {
	v := start(t)
	p, ok := v.provider(map[string]any{
		"poll": nil, "callback.header": map[string]any{"name": "X-Key", "value": "${secret.HOOK}"},
	}).(verification.CallbackReceiver)
	if !ok {
		t.Fatal("the provider takes no callbacks")
	}
	for body, want := range map[string]string{
		`{"result":"VALID","score":1}`:                      "",
		`{"result":"INVALID","result":"VALID","score":1}`:   "callback: its body has the same key twice in an object",
		`{"result":"VALID"}`:                                "callback: data.name_match: response.body.score has no value",
		"{\"result\":\"VALID\",\"score\":1,\"x\":\"\xff\"}": "callback: its body has a text that is not valid UTF-8",
	} {
		_, err := p.ReceiveCallback(context.Background(), verification.PollRequest{CheckRequest: request("x")}, verification.Callback{
			Header: http.Header{"X-Key": {hookKey}}, Body: []byte(body),
		})
		if got := errorText(err); got != want {
			t.Errorf("callback %s: %q, want %q", body, got, want)
		}
	}
	poll := v.provider(map[string]any{"poll.path": "/body", "poll.method": "POST", "poll.json": map[string]any{"number": "${handle}"}})
	handle := "200 application/json|" + base64.StdEncoding.EncodeToString([]byte(`{"result":"INVALID","result":"VALID","score":1}`))
	_, err := poll.Poll(t.Context(), verification.PollRequest{CheckRequest: request("body"), Handle: handle})
	if err == nil || !strings.HasSuffix(err.Error(), "its body has the same key twice in an object") {
		t.Errorf("poll: %v, want the key that is there twice", err)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestNumbersReachTheVendorWithTheirDigits(t *testing.T) {
	v := start(t)
	with, err := verification.ParseData([]byte(`{"scenario":"digits","number":12345678901234567,"max":18446744073709551615,"amount":1.10}`))
	if err != nil {
		t.Fatal(err)
	}
	declared := v.declaration(map[string]any{
		"request.path": "/digits/${with.number}", "request.query": map[string]any{"max": "${with.max}"},
		"request.json": map[string]any{"n": "${with.number}", "text": "no ${with.number}", "amount": "${with.amount}"},
	})
	declared, err = verification.ParseData([]byte(strings.Replace(declared.String(), `"text":`, `"fixed":9007199254740993,"text":`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	p, err := rest.New("registry", declared, options())
	if err != nil {
		t.Fatal(err)
	}
	r := request("digits")
	r.With = with.Map()
	if _, err := p.Check(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	sent := v.seen("digits")[0]
	want := []string{"/digits/12345678901234567", "max=18446744073709551615", `{"amount":1.10,"fixed":9007199254740993,"n":12345678901234567,"text":"no 12345678901234567"}`}
	if diff := cmp.Diff(want, []string{sent.Path, sent.Query, sent.Body}); diff != "" {
		t.Errorf("the vendor received (-want +got):\n%s", diff)
	}
}

func TestNumbersOfAResponseKeepTheirDigits(t *testing.T) {
	v := start(t)
	p := v.provider(map[string]any{
		"response.passed": "response.body.id == 9007199254740993 && response.body.id != 9007199254740992",
		"response.data":   map[string]any{"id": map[string]any{"value": "response.body.id", "type": "integer"}, "share": map[string]any{"value": "response.body.share"}},
	})
	got, err := answered(t, p, "200", "application/json", `{"id":9007199254740993,"share":0.1234567890123456789}`)
	if err != nil {
		t.Fatal(err)
	}
	saved, err := verification.NewData(got.Data)
	if want := `{"id":9007199254740993,"share":0.1234567890123456789}`; err != nil || saved.String() != want {
		t.Errorf("data = %s, %v, want %s", saved, err, want)
	}
}

func TestARetryAfterOfZeroIsRepeatedInOneDispatch(t *testing.T) {
	v := start(t)
	got, err := v.provider(nil).Check(t.Context(), request("again"))
	if err != nil || got.Outcome != verification.OutcomePassed || len(v.seen("again")) != 2 {
		t.Errorf("Check = %+v, %v after %d requests, want it passed after 2", got, err, len(v.seen("again")))
	}
}

func TestAPathThatCannotBeCalledIsAProblem(t *testing.T) {
	v := start(t)
	for path, want := range map[string]string{
		"/a/../b": "request.path must not have the segment ..", "/a/%2e%2E/b": "request.path must not have the segment %2e%2E",
		"/./a": "request.path must not have the segment .", "/a/..": "request.path must not have the segment ..", "/a..b/...": "",
	} {
		_, err := rest.New("registry", v.declaration(map[string]any{"request.path": path}), options())
		got := ""
		if invalid, ok := err.(*verification.Error); ok { //nolint:errorlint // New returns nothing else
			got = invalid.Fields[0].Name + " " + invalid.Fields[0].Message
		}
		if got != want {
			t.Errorf("path %s: %q, want %q", path, got, want)
		}
	}
}

func TestATokenIsReadFromAnOddResponse(t *testing.T) {
	v := start(t)
	p := v.provider(map[string]any{"auth": map[string]any{"oauth2": map[string]any{
		"token_url": v.url + "/token_odd", "client_id": "acme", "client_secret": "${secret.CLIENT}",
	}}})
	for range 2 {
		if _, err := p.Check(t.Context(), request("valid")); err != nil {
			t.Errorf("Check = %v", err)
		}
	}
	if n := len(v.seen("token_odd")); n != 1 {
		t.Errorf("the token was fetched %d times, want once: it lasts for an hour", n)
	}
}

func TestATokenResponseIsReadStrictly(t *testing.T) {
	v := start(t)
	p := v.provider(map[string]any{"auth": map[string]any{"oauth2": map[string]any{
		"token_url": v.url + "/token_twice", "client_id": "acme", "client_secret": "${secret.CLIENT}",
	}}})
	_, err := p.Check(t.Context(), request("valid"))
	const want = ": its token endpoint responded with 200: its body has the same key twice in an object"
	if err == nil || !strings.HasSuffix(err.Error(), want) || kindOf(err) != transient {
		t.Errorf("Check = %v, want a transient error %q", err, want)
	}
	if n := len(v.seen("valid")); n != 0 {
		t.Errorf("the vendor received %d requests with a token of two meanings", n)
	}
}
