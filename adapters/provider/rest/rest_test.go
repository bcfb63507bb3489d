// Tests of single calls: what each behaviour of a vendor means.

package rest_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/verifyd/verifyd/adapters/blob"
	"github.com/verifyd/verifyd/adapters/provider/rest"
	"github.com/verifyd/verifyd/internal/rig/mock"
	"github.com/verifyd/verifyd/verification"
)

func TestAnAnswerIsMappedToAResult(t *testing.T) {
	v := start(t)
	p := v.provider(nil)
	got, err := p.Check(t.Context(), request("valid"))
	want := verification.CheckResult{
		Outcome: verification.OutcomePassed, Data: map[string]any{"name_match": 0.93, "registered": "ASHA RAO"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("valid: %v (-want +got):\n%s", err, diff)
	}
	got, err = p.Check(t.Context(), request("invalid"))
	want = verification.CheckResult{Outcome: verification.OutcomeFailed, Data: map[string]any{"name_match": 0.1}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("invalid: %v (-want +got):\n%s", err, diff)
	}
	for outcome, changes := range map[verification.CheckOutcome]map[string]any{
		verification.OutcomeNoCoverage:   {"response.no_coverage": "response.status == 422", "response.failed": "response.status > 399"},
		verification.OutcomeInconclusive: {"response.inconclusive": "response.status == 422", "response.passed": "response.status > 399"},
	} {
		got, err = v.provider(changes).Check(t.Context(), request("refused"))
		if diff := cmp.Diff(verification.CheckResult{Outcome: outcome, Data: map[string]any{}}, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", outcome, err, diff)
		}
	}
	sent := v.seen("valid")[0]
	if want := (seen{
		Scenario: "valid", Method: "POST", Path: "/valid", Key: "run/pan/1", Auth: "Bearer " + apiToken, Kind: "application/json",
		Body: `{"for":"run person-1","number":"ABCDE1234F"}`,
	}); sent != want {
		t.Errorf("the vendor received %+v, want %+v", sent, want)
	}
}

func TestAPendingResultIsPolledWithItsHandle(t *testing.T) {
	v := start(t)
	p := v.provider(nil)
	got, err := p.Check(t.Context(), request("poll"))
	want := verification.CheckResult{Outcome: verification.OutcomePending, Handle: "t-1", PollAfter: 50 * time.Millisecond}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Fatalf("check: %v (-want +got):\n%s", err, diff)
	}
	for _, want := range []verification.CheckOutcome{verification.OutcomePending, verification.OutcomePending, verification.OutcomePassed} {
		got, err = p.Poll(t.Context(), verification.PollRequest{CheckRequest: request("poll"), Handle: "t-1"})
		if err != nil || got.Outcome != want {
			t.Fatalf("poll = %+v, %v, want %s", got, err, want)
		}
	}
	if sent := v.seen("poll")[1]; sent.Method != "GET" || sent.Path != "/poll/result/t-1" || sent.Body != "" {
		t.Errorf("the vendor received %+v, want a GET with the handle in its path", sent)
	}
}

// The kinds of errors.
const (
	transient = "transient"
	permanent = "permanent"
	later     = "later"
)

func kindOf(err error) string {
	var p interface{ Permanent() bool }
	var retry *verification.RetryError
	switch {
	case errors.As(err, &p) && p.Permanent():
		return permanent
	case errors.As(err, &retry):
		return later
	}
	return transient
}

func TestEachFailureHasItsKindAndItsCause(t *testing.T) {
	v := start(t)
	vendor := "registry (" + v.url + ")"
	for _, tt := range []struct {
		scenario, kind, cause string
		requests              int
		changes               map[string]any
	}{
		{"broken", transient, vendor + " responded with 500", 1, nil},
		{"overloaded", later, vendor + " responded with 503", 1, nil},
		{"hang", transient, vendor + ": no complete response within 200ms", 1, map[string]any{"limits.timeout_seconds": 0.2}},
		{"slow", transient, vendor + ": no complete response within 200ms", 1, map[string]any{"limits.timeout_seconds": 0.2}},
		{"huge", permanent, vendor + " responded with 200 and more than 1048576 bytes", 1, nil},
		{"text", permanent, vendor + " responded with 200: its body is null or not JSON, and no condition of response holds: response.passed: response.body.result has no value", 1, nil},
		{"odd", permanent, vendor + " responded with 200: no condition of response holds", 1, nil},
		{"wrong", permanent, vendor + " responded with 200: data.name_match: it is not a number", 1, nil},
		{"redirect", permanent, vendor + " responded with 302: redirects are not followed", 1, nil},
		{"refused", permanent, vendor + " responded with 422", 1, nil},
		{"reset", transient, vendor + ": the connection broke, or the response is not valid HTTP", 1, map[string]any{"limits.retries": 0}},
	} {
		_, err := v.provider(tt.changes).Check(t.Context(), request(tt.scenario))
		if err == nil {
			t.Errorf("%s: no error", tt.scenario)
			continue
		}
		if got := strings.TrimPrefix(err.Error(), "retry: "); got != tt.cause || kindOf(err) != tt.kind {
			t.Errorf("%s: %s error %q, want %s %q", tt.scenario, kindOf(err), got, tt.kind, tt.cause)
		}
		if n := len(v.seen(tt.scenario)); n != tt.requests {
			t.Errorf("%s: %d requests, want %d", tt.scenario, n, tt.requests)
		}
	}
}

func TestAWaitThatTheVendorSetsReachesTheEngine(t *testing.T) {
	v := start(t)
	_, err := v.provider(nil).Check(t.Context(), request("overloaded"))
	var retry *verification.RetryError
	if !errors.As(err, &retry) {
		t.Fatalf("error = %v, want a RetryError", err)
	}
	if wait := time.Until(retry.At); wait < 110*time.Second || wait > 121*time.Second {
		t.Errorf("retry after %s, want 120 s", wait)
	}
}

func TestShortFailuresAreRetriedWithinADispatch(t *testing.T) {
	v := start(t)
	for scenario, requests := range map[string]int{"busy": 2, "reset": 3} {
		got, err := v.provider(nil).Check(t.Context(), request(scenario))
		if err != nil || got.Outcome != verification.OutcomePassed {
			t.Errorf("%s = %+v, %v, want passed", scenario, got, err)
		}
		sent := v.seen(scenario)
		if len(sent) != requests {
			t.Errorf("%s: %d requests, want %d", scenario, len(sent), requests)
		}
		for _, one := range sent {
			if one.Key != "run/pan/1" {
				t.Errorf("%s: idempotency key %q, want the same at every request", scenario, one.Key)
			}
		}
	}
}

func TestRequestsHaveTheCredentialsOfTheirKind(t *testing.T) {
	v := start(t)
	for _, tt := range []struct {
		auth map[string]any
		want seen
	}{
		{map[string]any{"basic": map[string]any{"username": "acme", "password": "${secret.TOKEN}"}}, seen{
			Auth: "Basic " + base64.StdEncoding.EncodeToString([]byte("acme:"+apiToken)),
		}},
		{map[string]any{"header": map[string]any{"name": "X-Api-Key", "value": "${secret.TOKEN}"}}, seen{APIKey: apiToken}},
		{map[string]any{}, seen{}},
	} {
		if _, err := v.provider(map[string]any{"auth": tt.auth}).Check(t.Context(), request("valid")); err != nil {
			t.Fatal(err)
		}
		all := v.seen("valid")
		if last := all[len(all)-1]; last.Auth != tt.want.Auth || last.APIKey != tt.want.APIKey {
			t.Errorf("%v: the vendor received %+v, want %+v", tt.auth, last, tt.want)
		}
	}
}

// oauth returns the changes for a token endpoint of the vendor.
func (v *remote) oauth(endpoint string) map[string]any {
	return map[string]any{"auth": map[string]any{"oauth2": map[string]any{
		"token_url": v.url + "/" + endpoint, "client_id": "acme", "client_secret": "${secret.CLIENT}",
		"scopes": []any{"checks"}, "params": map[string]any{"audience": "registry"},
	}}}
}

func TestAnExpiredTokenIsRenewedOnce(t *testing.T) {
	v := start(t)
	p := v.provider(v.oauth("token"))
	for range 3 {
		if got, err := p.Check(t.Context(), request("oauth")); err != nil || got.Outcome != verification.OutcomePassed {
			t.Fatalf("check = %+v, %v, want passed", got, err)
		}
	}
	var tokens []string
	for _, one := range v.seen("oauth") {
		tokens = append(tokens, strings.TrimPrefix(one.Auth, "Bearer "+canary))
	}
	if diff := cmp.Diff([]string{"-1", "-1", "-2", "-2"}, tokens); diff != "" {
		t.Errorf("tokens of the requests (-want +got):\n%s", diff)
	}
	fetched := v.seen("token")
	if len(fetched) != 2 || fetched[0].Body != "audience=registry&grant_type=client_credentials&scope=checks" {
		t.Errorf("token requests = %+v, want two: the token is cached", fetched)
	}
}

func TestConcurrentCallsFetchOneToken(t *testing.T) {
	v := start(t)
	p := v.provider(v.oauth("token"))
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			if _, err := p.Check(t.Context(), request("valid")); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if n := len(v.seen("token")); n != 1 {
		t.Errorf("%d token requests, want 1", n)
	}
}

func TestAFailedTokenRequestHasItsOwnCause(t *testing.T) {
	v := start(t)
	for endpoint, want := range map[string]struct{ kind, cause string }{
		"no_token":   {permanent, "responded with 400"},
		"redirect":   {permanent, "responded with 302"},
		"valid":      {transient, "responded without a token"},
		"overloaded": {transient, "responded with 503"},
	} {
		_, err := v.provider(v.oauth(endpoint)).Check(t.Context(), request("odd"))
		cause := "registry (" + v.url + "): its token endpoint " + want.cause
		if err == nil || err.Error() != cause || kindOf(err) != want.kind {
			t.Errorf("%s: error = %v, want the %s error %s", endpoint, err, want.kind, cause)
		}
	}
	if n := len(v.seen("odd")); n != 0 {
		t.Errorf("the vendor received %d requests without a token", n)
	}
}

func TestUntrustedAndPrivateAddressesAreRefused(t *testing.T) {
	v := start(t)
	_, err := v.provider(map[string]any{"base_url": v.secure}).Check(t.Context(), request("valid"))
	if want := "registry (" + v.secure + "): its certificate is not trusted"; err == nil || err.Error() != want || kindOf(err) != transient {
		t.Errorf("error = %v, want %s", err, want)
	}
	o := options()
	o.AllowPrivateNetworks = false
	p, err := rest.New("registry", v.declaration(nil), o)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Check(t.Context(), request("valid"))
	if want := "registry (" + v.url + "): its address is private or reserved, and --allow-private-networks is not set"; err == nil || err.Error() != want || kindOf(err) != permanent {
		t.Errorf("error = %v, want %s", err, want)
	}
	if n := len(v.seen("valid")); n != 0 {
		t.Errorf("the vendor received %d requests", n)
	}
}

func TestAValueIsOneSegmentOfThePath(t *testing.T) {
	v := start(t)
	r := request("valid")
	p := v.provider(map[string]any{"request.path": "/valid/${with.number}", "request.query.q": "a ${with.number}"})
	r.With["number"] = "../x?y&z"
	if _, err := p.Check(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if sent := v.seen("valid")[0]; sent.Path != "/valid/..%2Fx%3Fy&z" || sent.Query != "q=a+..%2Fx%3Fy%26z" {
		t.Errorf("the vendor received %s?%s", sent.Path, sent.Query)
	}
	r.With["number"] = ".."
	if _, err := p.Check(t.Context(), r); err == nil || kindOf(err) != permanent {
		t.Errorf("a segment of two dots = %v, want it refused", err)
	}
	p = v.provider(map[string]any{"request.headers.X-Number": "${with.number}"})
	r.With["number"] = "a\r\nAuthorization: x"
	if _, err := p.Check(t.Context(), r); err == nil || kindOf(err) != permanent || strings.Contains(err.Error(), "Authorization") {
		t.Errorf("a line break in a header = %v, want it refused", err)
	}
}

func TestAMissingValueIsAPermanentErrorThatNamesIt(t *testing.T) {
	v := start(t)
	r := request("valid")
	for missing, with := range map[string]map[string]any{
		"json: number: with.number": {"scenario": "valid"}, "path: with.scenario": nil,
	} {
		r.With = with
		_, err := v.provider(nil).Check(t.Context(), r)
		if want := "registry (" + v.url + ") was not called: " + missing + " has no value"; err == nil || err.Error() != want || kindOf(err) != permanent {
			t.Errorf("error = %v, want %s", err, want)
		}
	}
}

func TestAMissingValueIsNotSentAsAnEmptyOne(t *testing.T) {
	v := start(t)
	for name, changes := range map[string]map[string]any{
		"headers.X-N": {"request.headers.X-N": "${with.other}"},
		"query.n":     {"request.query.n": "${with.other}"},
		"form.n":      {"request.json": nil, "request.form": map[string]any{"n": "${with.other}"}},
	} {
		_, err := v.provider(changes).Check(t.Context(), request("valid"))
		if want := "registry (" + v.url + ") was not called: " + name + ": with.other has no value"; err == nil || err.Error() != want || kindOf(err) != permanent {
			t.Errorf("error = %v, want %s", err, want)
		}
	}
	if n := len(v.seen("valid")); n != 0 {
		t.Errorf("the vendor received %d requests", n)
	}
}

func TestACheckThatIsCancelledHasNoResult(t *testing.T) {
	v := start(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := v.provider(nil).Check(ctx, request("valid")); !errors.Is(err, context.Canceled) {
		t.Errorf("check = %+v, %v, want context.Canceled", got, err)
	}
}

func TestABodyMayHaveEveryJSONType(t *testing.T) {
	v := start(t)
	p := v.provider(map[string]any{"request.json": map[string]any{
		"list": []any{"a", "${with.number}", map[string]any{"n": 1.5}, []any{}}, "yes": true, "none": nil,
	}})
	if _, err := p.Check(t.Context(), request("valid")); err != nil {
		t.Fatal(err)
	}
	if got, want := v.seen("valid")[0].Body, `{"list":["a","ABCDE1234F",{"n":1.5},[]],"none":null,"yes":true}`; got != want {
		t.Errorf("the vendor received %s, want %s", got, want)
	}
}

func TestDataMayHaveEveryJSONType(t *testing.T) {
	v := start(t)
	types := map[string]string{"big": "integer", "whole": "integer", "list": "array", "object": "object", "yes": "boolean", "any": ""}
	declared := func(types map[string]string) map[string]any {
		fields := map[string]any{}
		for name, kind := range types {
			field := map[string]any{"value": "response.body." + name}
			if kind != "" {
				field["type"] = kind
			}
			fields[name] = field
		}
		return map[string]any{"response.data": fields}
	}
	got, err := v.provider(declared(types)).Check(t.Context(), request("types"))
	want := map[string]any{
		"big": json.Number("9007199254740993"), "whole": 2.0, "list": []any{1.0, "a"}, "object": map[string]any{"a": 1.0}, "yes": true, "any": "x",
	}
	if diff := cmp.Diff(want, got.Data); diff != "" || err != nil {
		t.Errorf("data: %v (-want +got):\n%s", err, diff)
	}
	for name, kind := range map[string]string{"big": "array", "fraction": "integer", "list": "object", "object": "array", "yes": "number"} {
		_, err := v.provider(declared(map[string]string{name: kind})).Check(t.Context(), request("types"))
		if err == nil || !strings.HasSuffix(err.Error(), "data."+name+": it is not a "+kind) {
			t.Errorf("%s as %s: error = %v, want it refused", name, kind, err)
		}
	}
}

func TestABaseURLMayEndInSlashes(t *testing.T) {
	v := start(t)
	if _, err := v.provider(map[string]any{"base_url": v.url + "/v1//"}).Check(t.Context(), request("valid")); err != nil {
		t.Fatal(err)
	}
	if sent := v.seen("v1"); len(sent) != 1 || sent[0].Path != "/v1/valid" {
		t.Errorf("the vendor received %+v, want /v1/valid", sent)
	}
}

func TestAPollMayHaveAResponseOfItsOwn(t *testing.T) {
	v := start(t)
	p := v.provider(map[string]any{"poll.response": map[string]any{
		"failed": "response.body.score > 0.9", "data": map[string]any{"id": map[string]any{"value": "response.body.id"}},
	}})
	got, err := p.Poll(t.Context(), verification.PollRequest{CheckRequest: request("valid"), Handle: "t-1"})
	want := verification.CheckResult{Outcome: verification.OutcomeFailed, Data: map[string]any{"id": "t-1"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("poll: %v (-want +got):\n%s", err, diff)
	}
	described, ok := p.(verification.Describer)
	if !ok {
		t.Fatal("the provider does not describe itself")
	}
	data := described.Describe().Data.Map()
	if diff := cmp.Diff([]any{"name_match"}, data["required"]); diff != "" {
		t.Errorf("required (-want +got):\n%s\nonly the first response passes a check", diff)
	}
	if properties, _ := data["properties"].(map[string]any); properties["id"] == nil {
		t.Errorf("the data is %v, want the fields of both responses", data)
	}
}

func TestWithoutAPollTheCallbackIsAwaited(t *testing.T) {
	v := start(t)
	p := v.provider(map[string]any{"poll": nil, "callback.header": map[string]any{"name": "X-Key", "value": "${secret.HOOK}"}})
	got, err := p.Poll(t.Context(), verification.PollRequest{CheckRequest: request("poll"), Handle: "t-1"})
	want := verification.CheckResult{Outcome: verification.OutcomePending, Handle: "t-1", PollAfter: 365 * 24 * time.Hour}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("poll: %v (-want +got):\n%s", err, diff)
	}
	if n := len(v.seen("poll")); n != 0 {
		t.Errorf("the vendor received %d requests", n)
	}
}

func TestAFormIsSent(t *testing.T) {
	v := start(t)
	p := v.provider(map[string]any{"request.json": nil, "request.form": map[string]any{"pan": "${with.number}", "n": "${request.dispatch}"}})
	if _, err := p.Check(t.Context(), request("valid")); err != nil {
		t.Fatal(err)
	}
	if sent := v.seen("valid")[0]; sent.Body != "n=1&pan=ABCDE1234F" || sent.Kind != "application/x-www-form-urlencoded" {
		t.Errorf("the vendor received %s: %s", sent.Kind, sent.Body)
	}
}

func TestDocumentsAreStreamedInAMultipartBody(t *testing.T) {
	v := start(t)
	const id = "00000000-0000-7000-8000-0000000000d1"
	r := request("reset") // sent three times
	content := strings.Repeat("image ", 100_000)
	documents := blob.Memory(1<<30, 0)
	saved := verification.Document{ID: id, Field: "front", MediaType: "image/jpeg"}
	if _, err := documents.SaveDocument(t.Context(), verification.RunRef{Tenant: r.Tenant, Run: r.Run}, saved, strings.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	o := options()
	o.Documents = documents
	p, err := rest.New("registry", v.declaration(map[string]any{"request.json": nil, "request.multipart": map[string]any{
		"front": map[string]any{"document": "${with.front}"}, "back": map[string]any{"document": "${with.back}"}, "name": "x ${with.number}",
	}}), o)
	if err != nil {
		t.Fatal(err)
	}
	r.With["front"], r.With["back"] = map[string]any{"document_id": id}, nil
	if _, err := p.Check(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	sent := v.seen("reset")
	last := sent[len(sent)-1]
	_, params, err := mime.ParseMediaType(last.Kind)
	if err != nil {
		t.Fatal(err)
	}
	form, err := multipart.NewReader(bytes.NewReader([]byte(last.Body)), params["boundary"]).ReadForm(10 << 20)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string][]string{"name": {"x ABCDE1234F"}}, form.Value); diff != "" || len(form.File) != 1 {
		t.Errorf("%d files, want one; fields (-want +got):\n%s", len(form.File), diff)
	}
	file := form.File["front"][0]
	f, err := file.Open()
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(f)
	if string(got) != content || err != nil || file.Filename != "front.jpg" || file.Header.Get("Content-Type") != "image/jpeg" {
		t.Errorf("%s, %s, %d bytes, %v; want the document", file.Filename, file.Header.Get("Content-Type"), len(got), err)
	}
	r.With["front"] = "00000000-0000-7000-8000-0000000000d2"
	if _, err := p.Check(t.Context(), r); err == nil || kindOf(err) != permanent || !strings.Contains(err.Error(), "no such document") {
		t.Errorf("an unknown document = %v", err)
	}
}

func TestADocumentIsSentUnderANameOfItsType(t *testing.T) {
	v := start(t)
	stored := verification.Document{Size: 5}
	var failing error
	changes := map[string]any{"request.json": nil, "request.multipart": map[string]any{"front": map[string]any{"document": "${with.number}"}}}
	o := options()
	check := func() error {
		t.Helper()
		p, err := rest.New("registry", v.declaration(changes), o)
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Check(t.Context(), request("valid"))
		return err
	}
	err := check()
	if want := "registry (" + v.url + ") was not called: multipart.front: there is no document store"; err == nil || err.Error() != want {
		t.Errorf("without a store: error = %v, want %s", err, want)
	}
	o.Documents = &mock.DocumentStoreMock{
		DocumentFunc: func(context.Context, verification.RunRef, string) (verification.Document, error) { return stored, nil },
		OpenDocumentFunc: func(context.Context, verification.RunRef, string) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader("image")), failing
		},
	}
	for mediaType, name := range map[string]string{
		"image/png": "front.png", "image/webp": "front.webp", "application/pdf": "front.pdf", "text/plain": "front",
	} {
		stored.MediaType = mediaType
		if err := check(); err != nil {
			t.Fatal(err)
		}
		all := v.seen("valid")
		if body := all[len(all)-1].Body; !strings.Contains(body, `filename="`+name+`"`) {
			t.Errorf("%s: the vendor received %s, want a file with the name %s", mediaType, body, name)
		}
	}
	failing = errors.New("a disk " + canary)
	err = check()
	if want := "registry (" + v.url + ") was not called: a document cannot be read"; err == nil || err.Error() != want || kindOf(err) != transient {
		t.Errorf("a broken store: error = %v, want %s", err, want)
	}
}

func TestCallsAreSpacedByTheRate(t *testing.T) {
	v := start(t)
	p := v.provider(map[string]any{"limits.per_second": 20, "limits.concurrent": 3})
	limiter, ok := p.(verification.CallLimiter)
	if !ok || limiter.MaxCalls() != 3 {
		t.Fatalf("the provider is a CallLimiter: %t, want one with 3 calls", ok)
	}
	began := time.Now()
	for range 5 {
		if err := limiter.WaitTurn(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(began); took < 190*time.Millisecond {
		t.Errorf("5 turns took %s, want at least 200 ms", took)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := limiter.WaitTurn(ended); err == nil {
		t.Error("WaitTurn with a cancelled context = nil, want an error")
	}
}

func TestAProviderDescribesItself(t *testing.T) {
	v := start(t)
	p, ok := v.provider(map[string]any{
		"summary": "Checks a PAN.", "screens": true, "response.failed": map[string]any{"when": "response.body.status == 'no'", "text": "The PAN does not exist."},
		"with": map[string]any{"type": "object", "properties": map[string]any{"scenario": map[string]any{}, "number": map[string]any{"type": "string"}}},
	}).(verification.Describer)
	if !ok {
		t.Fatal("the provider does not describe itself")
	}
	want := verification.ProviderDescription{
		Summary: "Checks a PAN.", Screens: true,
		Words: map[verification.CheckOutcome]string{verification.OutcomeFailed: "The PAN does not exist."},
		With:  verification.Data(`{"properties":{"number":{"type":"string"},"scenario":{}},"type":"object"}`),
		Data: verification.Data(`{"additionalProperties":false,"properties":{"name_match":{"title":"Match","type":"number","x-scale":{"fails_below":0.5,"from":0,"passes_from":0.7,"to":1},"x-unit":"of 1"},` +
			`"registered":{"type":"string"}},"required":["name_match"],"type":"object"}`),
	}
	if diff := cmp.Diff(want, p.Describe()); diff != "" {
		t.Errorf("description (-want +got):\n%s", diff)
	}
}

func TestATokenThatIsRenewedWithoutATurnHasItsOwnCause(t *testing.T) {
	v := start(t)
	p := v.provider(map[string]any{
		"limits.per_second": 0.01, "limits.timeout_seconds": 5, "auth": v.oauth("token")["auth"],
	})
	if _, err := p.Check(t.Context(), request("oauth")); err != nil {
		t.Fatal(err)
	}
	limiter, ok := p.(verification.CallLimiter)
	if !ok {
		t.Fatal("the provider is not a CallLimiter")
	}
	if err := limiter.WaitTurn(t.Context()); err != nil { // the only turn in 100 s
		t.Fatal(err)
	}
	_, err := p.Check(t.Context(), request("oauth"))
	want := "registry (" + v.url + ") responded with 401, and limits.per_second allows no other request in time"
	if err == nil || err.Error() != want || kindOf(err) != transient {
		t.Errorf("error = %v, want the transient error %s", err, want)
	}
	if n := len(v.seen("oauth")); n != 2 {
		t.Errorf("the vendor received %d requests, want 2: none is repeated", n)
	}
}

func TestATraceHasTheRequestWithTheExpiredToken(t *testing.T) {
	v := start(t)
	var statuses []int
	o := options()
	o.Trace = func(x rest.Exchange) { statuses = append(statuses, x.Status) }
	p, err := rest.New("registry", v.declaration(v.oauth("token")), o)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := p.Check(t.Context(), request("oauth")); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]int{200, 401, 200}, statuses); diff != "" {
		t.Errorf("statuses of the exchanges (-want +got):\n%s", diff)
	}
}

func TestATraceMasksSecrets(t *testing.T) {
	v := start(t)
	var traced []rest.Exchange
	o := options()
	o.Trace = func(x rest.Exchange) { traced = append(traced, x) }
	p, err := rest.New("registry", v.declaration(map[string]any{"request.json.key": "${secret.HOOK}"}), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Check(t.Context(), request("valid")); err != nil {
		t.Fatal(err)
	}
	if x := traced[0]; !strings.Contains(x.Response, `"VALID"`) {
		t.Errorf("response = %s, want the body", x.Response)
	}
	changes := map[string]any{"limits.retries": 0, "auth": map[string]any{"header": map[string]any{"name": "X-Api-Key", "value": "${secret.TOKEN}"}}}
	if p, err = rest.New("registry", v.declaration(changes), o); err != nil {
		t.Fatal(err)
	}
	_, broken := p.Check(t.Context(), request("reset"))
	if x := traced[1]; broken == nil || x.Status != 0 || x.Failure != broken.Error() || x.Header.Get("X-Api-Key") != "***" {
		t.Errorf("exchange = %+v, want one with the failure %v and masks", x, broken)
	}
	x := traced[0]
	if x.Status != 200 || x.Header.Get("Authorization") != "Bearer ***" || x.Body != `{"for":"run person-1","key":"***","number":"ABCDE1234F"}` {
		t.Errorf("exchange = %+v, want it with masks", x)
	}
}

func TestSecretsAreReadAgain(t *testing.T) {
	v := start(t)
	values := map[string]string{"TOKEN": "first", "HOOK": "first-hook"}
	o := options()
	o.Secret = func(name string) (string, bool) { value, ok := values[name]; return value, ok }
	changes := map[string]any{
		"response.pending": "response.status == 202", "callback": map[string]any{"header": map[string]any{"name": "X-Hook", "value": "${secret.HOOK}"}},
		"request.headers": map[string]any{"X-Callback": "${request.callback_url}"}, "limits.per_second": 0.001, "limits.concurrent": 1,
	}
	p, err := rest.New("registry", v.declaration(changes), o)
	if err != nil {
		t.Fatal(err)
	}
	secrets, ok := p.(interface {
		verification.CallbackReceiver
		verification.CallLimiter
		Reload() (bool, error)
	})
	if !ok {
		t.Fatalf("%T has no secrets to read again", p)
	}
	reload := func(want bool) {
		t.Helper()
		changed, err := secrets.Reload()
		if err != nil || changed != want {
			t.Errorf("Reload() = %t, %v; want %t", changed, err, want)
		}
	}
	uses := func(token, hook string) {
		t.Helper()
		if _, err := p.Check(t.Context(), request("ping")); err != nil {
			t.Fatal(err)
		}
		if got := v.seen("ping"); got[len(got)-1].Auth != "Bearer "+token {
			t.Errorf("the vendor got %q, want the token %s", got[len(got)-1].Auth, token)
		}
		c := verification.Callback{Header: http.Header{"X-Hook": {hook}}, Body: []byte(`{"result":"VALID","score":0.9,"name":"A","id":"t-1"}`)}
		if _, err := secrets.ReceiveCallback(t.Context(), verification.PollRequest{CheckRequest: request("ping")}, c); err != nil {
			t.Errorf("a callback with %s: %v", hook, err)
		}
	}
	uses("first", "first-hook")
	reload(false)
	values["TOKEN"], values["HOOK"] = "second", "second-hook"
	uses("first", "first-hook")
	if err := secrets.WaitTurn(t.Context()); err != nil { // the only turn of a long time
		t.Fatal(err)
	}
	reload(true)
	uses("second", "second-hook")
	soon, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if secrets.WaitTurn(soon) == nil {
		t.Error("a reload forgets the calls that count for limits.per_second")
	}
	delete(values, "HOOK")
	values["TOKEN"] = "third"
	if _, err := secrets.Reload(); !errors.Is(err, verification.ErrInvalid) {
		t.Errorf("Reload() without a secret = %v", err)
	}
	uses("second", "second-hook")
}
