// Headers with a meaning: idempotency keys, preferences, entity tags, request ids.

package httpapi_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/httpapi"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
)

func TestAnIdempotencyKeyStartsOneRun(t *testing.T) {
	a := newAPI(t, setup{})
	start := "/v1/workflows/" + string(a.Apply(simple()).ID) + "/runs"
	const body, key = `{"reference_id":"person-1","input":{"a":1}}`, "Idempotency-Key: key-1"
	first := a.do(http.MethodPost, start, body, key)
	a.Settle()
	again := a.do(http.MethodPost, start, " "+strings.ReplaceAll(body, ":", ": "), key)
	one, two := field(t, first, "id"), field(t, again, "id")
	if one != two || again.Status != 202 {
		t.Errorf("the second start = %d %s, want the run %s", again.Status, again.Body, one)
	}
	a.do(http.MethodPost, start, `{"reference_id":"person-2","input":{"a":1}}`, key).
		is(422, `{"error":"the idempotency key was used with another request","code":"idempotency_key_reused"}`)
	if other := field(t, a.do(http.MethodPost, start, body, "Idempotency-Key: key-2"), "id"); other == one {
		t.Error("another key started the same run")
	}
	a.Advance(24*time.Hour + time.Second)
	if other := field(t, a.do(http.MethodPost, start, body, key), "id"); other == one {
		t.Error("the key still stands for the run after 24 hours")
	}
}

func field(t *testing.T, got response, name string) string {
	t.Helper()
	m := regexp.MustCompile(`"` + name + `":"([^"]*)"`).FindSubmatch(got.Body)
	if m == nil {
		t.Fatalf("answer %d %s has no %s", got.Status, got.Body, name)
	}
	return string(m[1])
}

// stored returns an idempotency key as it is stored.
func stored(key string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(key))) }

func TestAnIdempotencyKeyInFlight(t *testing.T) {
	a := newAPI(t, setup{})
	w := a.Apply(simple())
	start := "/v1/workflows/" + string(w.ID) + "/runs"
	a.do(http.MethodPost, start, `{"reference_id":"p"}`, "Idempotency-Key: k").says(202, `"status"`)
	record, err := a.Store.IdempotencyRecord(t.Context(), enginetest.Tenant,
		store.IdempotencyKey{Scope: store.ScopeStart, Key: stored("k")}, a.Clock.Now())
	must(t, err)
	// Another host has claimed the key and not answered yet.
	record.Key, record.Settled, record.At = stored("k2"), false, a.Clock.Now()
	_, err = a.Store.ClaimIdempotencyKey(t.Context(), enginetest.Tenant, record)
	must(t, err)
	a.do(http.MethodPost, start, `{"reference_id":"p"}`, "Idempotency-Key: k2").
		is(409, `{"error":"the first request with this idempotency key has not been answered yet","code":"idempotency_key_in_flight"}`).
		header("Retry-After", "1")
}

func TestAnIdempotencyKeyOfASignalInFlight(t *testing.T) {
	a := newAPI(t, setup{})
	signal := "/v1/signals/" + string(a.parked()) + "/human_review_decision"
	const approve = `{"payload":{"decision":"approve"}}`
	a.do(http.MethodPost, signal, approve, "Idempotency-Key: k").
		is(200, `{"ok":true,"result":"signal_delivered","decision":"approve"}`)
	record, err := a.Store.IdempotencyRecord(t.Context(), enginetest.Tenant,
		store.IdempotencyKey{Scope: store.ScopeSignal, Key: stored("k")}, a.Clock.Now())
	must(t, err)
	// Another host has claimed the key and not answered yet.
	record.Key, record.Settled, record.At = stored("k2"), false, a.Clock.Now()
	_, err = a.Store.ClaimIdempotencyKey(t.Context(), enginetest.Tenant, record)
	must(t, err)
	a.do(http.MethodPost, signal, approve, "Idempotency-Key: k2").
		is(409, `{"error":"the first request with this idempotency key has not been answered yet","code":"idempotency_key_in_flight"}`).
		header("Retry-After", "1")
}

func TestInvalidIdempotencyKeysAreRefused(t *testing.T) {
	a := newAPI(t, setup{})
	start := "/v1/workflows/" + string(a.Apply(simple()).ID) + "/runs"
	refused := badField("Idempotency-Key", "must be 1 to 255 visible ASCII characters")
	for path, body := range map[string]string{
		start: `{"reference_id":"p"}`,
		"/v1/signals/" + nowhere + "/human_review_decision": `{"payload":{"decision":"approve"}}`,
		"/v1/signals/" + nowhere + "/consent_submitted":     `{"payload":{}}`,
	} {
		for _, key := range []string{"", "a b", "a\tb", "é", strings.Repeat("k", 256)} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
			must(t, err)
			r.Header = http.Header{
				"Client-Id": {"acme"}, "X-Api-Key": {apiKey}, "Content-Type": {"application/json"}, "Idempotency-Key": {key},
			}
			a.send(r).is(400, refused)
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, start, strings.NewReader(`{"reference_id":""}`))
	must(t, err)
	r.Header = http.Header{
		"Client-Id": {"acme"}, "X-Api-Key": {apiKey}, "Content-Type": {"application/json"}, "Idempotency-Key": {"a", "b"},
	}
	a.send(r).is(400, bad(`[{"field":"reference_id","message":"is required"},{"field":"Idempotency-Key","message":"must be 1 to 255 visible ASCII characters"}]`))
	a.do(http.MethodPost, start, `{"reference_id":"p"}`, "Idempotency-Key: "+strings.Repeat("~", 255)).says(202, `"status"`)
}

func TestPreferencesAboutTheWait(t *testing.T) {
	a := newAPI(t, setup{})
	start := "/v1/workflows/" + string(a.Apply(journey()).ID) + "/runs"
	for prefer, applied := range map[string]string{
		"":                         "",
		"wait=0":                   "wait=0",
		"wait=25":                  "wait=25",
		"wait=26":                  "wait=25",
		"wait=999999999":           "wait=25",
		"wait=9999999999":          "",
		"WAIT = 3":                 "wait=3",
		`wait="3"`:                 "wait=3",
		"wait=3, wait=4":           "wait=3",
		"respond-async":            "respond-async",
		"Respond-Async;x=y":        "respond-async",
		"respond-async, wait=10":   "wait=10, respond-async",
		"return=minimal, wait=2":   "wait=2",
		"wait=-1":                  "",
		"wait=1.5":                 "",
		"wait":                     "",
		"wait=ten; respond-async":  "",
		"handling=strict,,wait= 7": "wait=7",
	} {
		a.do(http.MethodPost, start, `{"reference_id":"p"}`, "Prefer: "+prefer).
			says(202, `"signal_name":"consent_submitted"`).header("Preference-Applied", applied)
	}
	a.do(http.MethodPost, start, `{"reference_id":""}`, "Prefer: wait=1").says(400, "is required").header("Preference-Applied", "")
}

// slow is a workflow with a check of twenty seconds before its form.
func slow(a *api) string {
	a.Provider.On("pan_verification", enginetest.Slow(20*time.Second, enginetest.Pass(nil)))
	d := journey()
	d.Start = "pan"
	for id, next := range map[verification.NodeID]verification.NodeID{"pan": "consent", "details": "review"} {
		n := d.Nodes[id]
		n.Next = next
		d.Nodes[id] = n
	}
	return "/v1/workflows/" + string(a.Apply(d).ID) + "/runs"
}

func TestAStartThatAnswersBeforeTheRunParks(t *testing.T) {
	a := newAPI(t, setup{ports: func(_ *engine.Ports, o *engine.Options) { o.StartWait = time.Hour }})
	a.do(http.MethodPost, slow(a), `{"reference_id":"p"}`, "Prefer: respond-async").
		says(202, `"status":"in_progress"`).says(202, `"action_required":null`).header("Preference-Applied", "respond-async")
}

func TestAStartSurvivesAClientThatDisconnects(t *testing.T) {
	a := newAPI(t, setup{ports: func(_ *engine.Ports, o *engine.Options) { o.StartWait = time.Hour }})
	start := slow(a)
	ctx, goAway := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, start, strings.NewReader(`{"reference_id":"p"}`))
	must(t, err)
	r.Header = http.Header{"Client-Id": {"acme"}, "X-Api-Key": {apiKey}, "Content-Type": {"application/json"}}
	answered := make(chan response)
	go func() { answered <- a.send(r) }()
	// The run is there while the client still waits.
	for len(a.Provider.Calls("pan_verification")) == 0 {
		select {
		case got := <-answered:
			t.Fatalf("the start answered %d %s before the run parked", got.Status, got.Body)
		case <-time.After(time.Millisecond):
		}
	}
	goAway()
	<-answered
	a.do(http.MethodGet, "/v1/runs", "").says(200, `"total":1`)
	a.Advance(time.Minute)
	a.do(http.MethodGet, "/v1/runs", "").says(200, `"signal_name":"consent_submitted"`)
}

func TestAnEntityTagMakesPollingCheap(t *testing.T) {
	a := newAPI(t, setup{})
	id := a.parked()
	read := "/v1/runs/" + string(id)
	for _, view := range []string{"", "?view=report"} {
		first := a.do(http.MethodGet, read+view, "").says(200, "Manual review").header("Cache-Control", "private, no-cache")
		tag := first.Header.Get("ETag")
		for _, match := range []string{tag, "W/" + tag, `"x", ` + tag, `"x",W/"y" , W/` + tag, "*", ` "a,b" ,` + tag} {
			a.do(http.MethodGet, read+view, "", "If-None-Match: "+match).is(304, "").header("ETag", tag).header("Cache-Control", "private, no-cache")
		}
		for _, other := range []string{`"x"`, strings.Trim(tag, `"`), "", `"`, `"x` + tag, "rubbish " + tag, "**"} {
			a.do(http.MethodGet, read+view, "", "If-None-Match: "+other).is(200, string(first.Body)).header("ETag", tag)
		}
	}
	tag := a.do(http.MethodGet, read, "").Header.Get("ETag")
	if report := a.do(http.MethodGet, read+"?view=report", "").Header.Get("ETag"); report == tag {
		t.Error("a run and its report have the same entity tag")
	}
	a.GiveVerdict(id, rules.DecisionApprove)
	a.do(http.MethodGet, read, "", "If-None-Match: "+tag).says(200, `"decision":"approve"`)
	a.do(http.MethodGet, "/v1/runs/"+nowhere, "", "If-None-Match: *").is(404, noRun)
	a.do(http.MethodGet, read, "", "If-None-Match: *", "x-api-key: wrong").is(401, wrongCredentials)
	a.do(http.MethodGet, "/v1/runs", "", "If-None-Match: *").says(200, string(id)).header("ETag", "")
}

// A run changes with time even if its history does not.
func TestTheEntityTagFollowsTheClock(t *testing.T) {
	a := newAPI(t, setup{})
	read := "/v1/runs/" + string(a.started(journey()).ID)
	seen := map[string]string{}
	for _, want := range []string{`"status":"in_progress"`, `"status":"abandoned"`, `"status":"expired"`} {
		got := a.do(http.MethodGet, read, "").says(200, want)
		tag := got.Header.Get("ETag")
		if before, ok := seen[tag]; ok {
			t.Errorf("%s has the tag of %s", want, before)
		}
		seen[tag] = want
		for old := range seen {
			if old != tag {
				a.do(http.MethodGet, read, "", "If-None-Match: "+old).says(200, want)
			}
		}
		a.do(http.MethodGet, read, "", "If-None-Match: "+tag).is(304, "")
		a.Advance(20 * time.Hour)
	}
}

func TestRequestIDs(t *testing.T) {
	a := newAPI(t, setup{})
	made := func(path string, headers ...string) string {
		return a.do(http.MethodGet, path, "", headers...).Header.Get("X-Request-Id")
	}
	for _, own := range []string{"a", "azAZ09-_.", strings.Repeat("x", 64)} {
		for _, path := range []string{"/v1/runs", "/nowhere", "/openapi.yaml"} {
			if got := made(path, "X-Request-Id: "+own); got != own {
				t.Errorf("GET %s: X-Request-Id = %q, want %q", path, got, own)
			}
		}
	}
	seen := map[string]bool{}
	for _, wrong := range []string{"", " ", "a b", "a\tb", `"a"`, "<a>", "é", "asha@example.com", "a:b", "a/b", "a+b", "a=b", strings.Repeat("x", 65)} {
		got := made("/v1/runs", "X-Request-Id: "+wrong)
		if got == wrong || len(got) < 16 || seen[got] {
			t.Errorf("X-Request-Id = %q for %q, want a new one", got, wrong)
		}
		seen[got] = true
	}
	if other := newAPI(t, setup{options: httpapi.Options{}}); other.do(http.MethodGet, "/", "").Header.Get("X-Request-Id") == made("/") {
		t.Error("two processes make the same ids")
	}
}
