// A vendor in another process, and providers that call it.

package rest_test

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/expression"
	"github.com/verifyd/verifyd/adapters/provider/rest"
	"github.com/verifyd/verifyd/verification"
)

// The secrets of the tests. None of them may appear anywhere.
const (
	canary   = "canary-7f3a"
	hookKey  = canary + "-hook"
	apiToken = canary + "-token"
)

func secrets(name string) (string, bool) {
	values := map[string]string{"TOKEN": apiToken, "HOOK": hookKey, "CLIENT": canary + "-client"}
	v, ok := values[name]
	return v, ok
}

// vendorVariable makes the test binary a vendor.
const vendorVariable = "VERIFYD_TEST_VENDOR"

func TestMain(m *testing.M) {
	if os.Getenv(vendorVariable) != "" {
		serveVendor()
		return
	}
	os.Exit(m.Run())
}

// seen is a request that the vendor received.
type seen struct {
	Scenario, Method, Path, Query, Key, Auth, Kind, Body string
	Callback, APIKey                                     string
}

// vendor is the API of a vendor. The first element of a path names what it does.
type vendor struct {
	mu       sync.Mutex
	requests []seen
	tokens   int
}

// serveVendor serves on a free port until stdin ends.
func serveVendor() {
	v := &vendor{}
	plain, secure := httptest.NewServer(v), httptest.NewTLSServer(v)
	fmt.Fprintln(os.Stdout, plain.URL, secure.URL)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func (v *vendor) record(r *http.Request, scenario string) (n int, one seen) {
	body, _ := io.ReadAll(r.Body)
	one = seen{
		Scenario: scenario, Method: r.Method, Path: r.URL.EscapedPath(), Query: r.URL.RawQuery, Key: r.Header.Get("Idempotency-Key"),
		Auth: r.Header.Get("Authorization"), Kind: r.Header.Get("Content-Type"), Body: string(body), Callback: r.Header.Get("X-Callback"),
		APIKey: r.Header.Get("X-Api-Key"),
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.requests = append(v.requests, one)
	for _, other := range v.requests {
		if other.Scenario == scenario {
			n++
		}
	}
	return n, one
}

const valid = `{"result":"VALID","score":0.93,"name":"ASHA RAO","id":"t-1"}`

// ServeHTTP answers as the scenario says; n counts the requests of a scenario.
func (v *vendor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/")
	scenario := parts[0]
	if scenario == "seen" {
		v.mu.Lock()
		defer v.mu.Unlock()
		_ = json.NewEncoder(w).Encode(v.requests)
		return
	}
	if scenario == "bench" {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, valid)
		return
	}
	n, one := v.record(r, scenario)
	w.Header().Set("Content-Type", "application/json")
	say := func(status int, body string) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
	if len(parts) > 1 && parts[1] == "result" { // a poll
		if n < 4 && scenario == "poll" {
			say(202, `{"id":"t-1"}`)
			return
		}
		say(200, valid)
		return
	}
	switch scenario {
	case "invalid":
		say(200, `{"result":"INVALID","score":0.1}`)
	case "poll", "callback", "ping":
		say(202, `{"id":"t-1"}`)
	case "early": // calls back before it answers
		callBack(one.Callback, `{"result":"VALID","score":0.5}`, hookKey)
		say(202, `{"id":"t-1"}`)
	case "busy":
		if n == 1 {
			w.Header().Set("Retry-After", "1")
			say(429, `{}`)
			return
		}
		say(200, valid)
	case "overloaded":
		w.Header().Set("Retry-After", "120")
		say(503, `{"message":"`+canary+`"}`)
	case "again":
		if n == 1 {
			w.Header().Set("Retry-After", "0")
			say(503, `{}`)
			return
		}
		say(200, valid)
	case "broken":
		if n <= 2 {
			say(500, "oops "+canary)
			return
		}
		say(200, valid)
	case "reset":
		if n <= 2 {
			panic(http.ErrAbortHandler)
		}
		say(200, valid)
	case "once": // the first request gets no answer
		if n == 1 {
			<-r.Context().Done()
			return
		}
		say(200, valid)
	case "hang":
		<-r.Context().Done()
	case "slow":
		w.WriteHeader(200)
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, " ")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	case "huge":
		for range 64 {
			if _, err := io.WriteString(w, strings.Repeat("x", 1<<15)); err != nil {
				return
			}
		}
	case "text":
		say(200, "<html>"+canary)
	case "body": // what the request says
		var wanted struct{ Number string }
		_ = json.Unmarshal([]byte(one.Body), &wanted)
		status, text, _ := strings.Cut(wanted.Number, " ")
		code, _ := strconv.Atoi(status)
		kind, text, _ := strings.Cut(text, "|")
		kind, coding, _ := strings.Cut(kind, "+")
		w.Header().Set("Content-Type", kind)
		if coding != "" {
			w.Header().Set("Content-Encoding", coding)
		}
		raw, _ := base64.StdEncoding.DecodeString(text)
		say(code, string(raw))
	case "odd":
		say(200, `{"result":"MAYBE","person":"`+canary+`"}`)
	case "wrong":
		say(200, `{"result":"VALID","score":"high"}`)
	case "types":
		say(200, `{"result":"VALID","big":9007199254740993,"whole":2,"fraction":2.5,"list":[1,"a"],"object":{"a":1},"yes":true,"any":"x"}`)
	case "redirect":
		w.Header().Set("Location", "/valid")
		say(302, "")
	case "refused":
		say(422, `{"message":"`+canary+`"}`)
	case "token":
		v.mu.Lock()
		v.tokens++
		token := v.tokens
		v.mu.Unlock()
		say(200, `{"access_token":"`+canary+"-"+strconv.Itoa(token)+`","token_type":"bearer","expires_in":3600}`)
	case "token_odd": // in gzip, with a byte order mark and a fraction of a second
		w.Header().Set("Content-Encoding", "gzip")
		v.mu.Lock()
		v.tokens++
		v.mu.Unlock()
		say(200, zipped("\ufeff"+`{"access_token":"`+canary+`-1","token_type":"bearer","expires_in":"3600.0"}`))
	case "token_twice":
		say(200, `{"access_token":"`+canary+`-a","access_token":"`+canary+`-b","token_type":"bearer"}`)
	case "no_token":
		say(400, `{"error":"invalid_client","error_description":"`+canary+`"}`)
	case "oauth":
		if one.Auth == "Bearer "+canary+"-1" && n > 1 { // expired
			say(401, `{}`)
			return
		}
		say(200, valid)
	default:
		say(200, valid)
	}
}

// callBack posts a signed callback and returns the status.
func callBack(url, body, key string) int {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(body))
	r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return 0
	}
	r.Header.Set("X-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	defer got.Body.Close()
	return got.StatusCode
}

// remote is a vendor process.
type remote struct {
	url, secure string
	t           testing.TB
}

// start starts a vendor process that ends with the test.
func start(t testing.TB) *remote {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(context.WithoutCancel(t.Context()), self)
	c.Env = append(os.Environ(), vendorVariable+"=1")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = c.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	plain, secure, ok := strings.Cut(strings.TrimSpace(line), " ")
	if err != nil || !ok {
		t.Fatalf("the vendor printed %q, %v", line, err)
	}
	return &remote{plain, secure, t}
}

// seen returns the requests of a scenario.
func (v *remote) seen(scenario string) (requests []seen) {
	v.t.Helper()
	got, err := http.Get(v.url + "/seen")
	if err != nil {
		v.t.Fatal(err)
	}
	defer got.Body.Close()
	if err := json.NewDecoder(got.Body).Decode(&requests); err != nil {
		v.t.Fatal(err)
	}
	return slices.DeleteFunc(requests, func(r seen) bool { return r.Scenario != scenario })
}

// declaration returns a declaration whose scenario is with.scenario. Each change sets
// a field by its path, or removes it with nil.
func (v *remote) declaration(changes map[string]any) verification.Data {
	v.t.Helper()
	d := map[string]any{
		"type": "rest", "base_url": v.url, "auth": map[string]any{"bearer": "${secret.TOKEN}"},
		"limits": map[string]any{"timeout_seconds": 2.0},
		"request": map[string]any{
			"path":    "/${with.scenario}",
			"headers": map[string]any{"Idempotency-Key": "${request.idempotency_key}", "X-Callback": "${request.callback_url}"},
			"json":    map[string]any{"number": "${with.number}", "for": "run ${request.reference_id}"},
		},
		"response": map[string]any{
			"pending": "response.status == 202",
			"passed":  "response.status == 200 && response.body.result == 'VALID'",
			"failed":  "response.status == 200 && response.body.result == 'INVALID'",
			"handle":  "response.body.id",
			"data": map[string]any{
				"name_match": map[string]any{"value": "response.body.score", "type": "number", "label": "Match", "unit": "of 1", "scale": map[string]any{"to": 1, "fails_below": 0.5, "passes_from": 0.7}},
				"registered": map[string]any{"value": "response.body.name", "type": "string", "optional": true},
			},
		},
		"poll": map[string]any{"path": "/${with.scenario}/result/${handle}", "every_seconds": 0.05},
	}
	for path, value := range changes {
		at := d
		steps := strings.Split(path, ".")
		for _, step := range steps[:len(steps)-1] {
			next, ok := at[step].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[step] = next
			}
			at = next
		}
		if last := steps[len(steps)-1]; value == nil {
			delete(at, last)
		} else {
			at[last] = value
		}
	}
	raw, err := verification.NewData(d)
	if err != nil {
		v.t.Fatal(err)
	}
	return raw
}

// options are those of a host in tests.
func options() rest.Options {
	return rest.Options{
		Expressions: expression.New(), Secret: secrets, AllowPrivateNetworks: true, Now: time.Now,
	}
}

// provider makes a provider.
func (v *remote) provider(changes map[string]any) verification.Poller {
	v.t.Helper()
	p, err := rest.New("registry", v.declaration(changes), options())
	if err != nil {
		v.t.Fatal(err)
	}
	return p
}

// request returns a check of a scenario.
func request(scenario string) verification.CheckRequest {
	return verification.CheckRequest{
		Tenant: "00000000-0000-7000-8000-0000000000aa", Run: "00000000-0000-7000-8000-000000000001", Key: "pan",
		ReferenceID: "person-1", Dispatch: 1, IdempotencyKey: "run/pan/1",
		With: map[string]any{"scenario": scenario, "number": "ABCDE1234F"},
	}
}
