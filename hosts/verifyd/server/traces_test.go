// Tests of the traces of a host, as a receiver of OTLP gets them.

package server_test

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// traceReceiver keeps the spans that it receives, and each request as it came.
type traceReceiver struct {
	mu    sync.Mutex
	spans []*otlp.Span
	raw   []byte
}

// ServeHTTP implements http.Handler.
func (c *traceReceiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	var sent collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(raw, &sent)
	}
	if err != nil || r.URL.Path != "/v1/traces" {
		http.Error(w, fmt.Sprint(r.URL.Path, err), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw = append(c.raw, raw...)
	for _, of := range sent.GetResourceSpans() {
		for _, in := range of.GetScopeSpans() {
			c.spans = append(c.spans, in.GetSpans()...)
		}
	}
}

// named returns the spans whose name begins with a text.
func (c *traceReceiver) named(begin string) (found []*otlp.Span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if strings.HasPrefix(s.GetName(), begin) {
			found = append(found, s)
		}
	}
	return found
}

// parentOf returns the parent of a span; an empty span if it was not received.
func (c *traceReceiver) parentOf(s *otlp.Span) *otlp.Span {
	for _, p := range c.named("") {
		if string(p.GetSpanId()) == string(s.GetParentSpanId()) && string(p.GetTraceId()) == string(s.GetTraceId()) {
			return p
		}
	}
	return &otlp.Span{}
}

func attributeOf(s *otlp.Span, key string) string {
	for _, a := range s.GetAttributes() {
		if a.GetKey() == key {
			return a.GetValue().GetStringValue()
		}
	}
	return ""
}

// parentHeader returns the header traceparent of what is called within a span.
func parentHeader(s *otlp.Span) string {
	return "00-" + hex.EncodeToString(s.GetTraceId()) + "-" + hex.EncodeToString(s.GetSpanId()) + "-01"
}

// headersOf puts a server before the one whose address a file has, and returns the headers that it gets.
func headersOf(t *testing.T, file, name string) func() []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(string(text))
	to, err := url.Parse(address)
	if err != nil || address == "" {
		t.Fatalf("%s has the address %q, %v", file, address, err)
	}
	var mu sync.Mutex
	var got []string
	through := httputil.NewSingleHostReverseProxy(to)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		got = append(got, r.Header.Get(name))
		mu.Unlock()
		through.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), address, s.URL)), 0o600); err != nil {
		t.Fatal(err)
	}
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(got)
	}
}

func TestTracesShowARunAndNobodysData(t *testing.T) {
	t.Parallel()
	spans := &traceReceiver{}
	collects := httptest.NewServer(spans)
	t.Cleanup(collects.Close)
	vars, session := canarySettings(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collects.URL})
	vendor := headersOf(t, vars["VERIFYD_BOOTSTRAP"], "Traceparent")
	hook, notices := receiver(t)
	served, host := serveProcess(t, vars)
	c := &canaryHost{served: served}
	c.cookie = session(c.served)
	if status, raw := c.visit("POST", strings.TrimSuffix(onboarding, "/runs")+"/webhook", `{"lifecycle_webhook_url":"`+hook+`/kanari"}`); status != http.StatusOK {
		t.Fatalf("set the webhook = %d %s", status, raw)
	}
	c.live()
	var notice received
	select {
	case notice = <-notices:
	case <-time.After(time.Minute):
		t.Fatal("the client received nothing")
	}
	c.everyAnswer()
	c.provoke()
	const caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	c.visit("GET", "/v1/workflows?kanari=kanari", "", "Traceparent", caller, "Tracestate", "kanari=kanari", "Baggage", "kanari=kanari", "User-Agent", "kanari")
	if err := host.Stop(); err != nil {
		t.Fatal(err)
	}

	link, _ := url.Parse(c.link)
	for _, text := range []string{canaryPAN, "1961-03-14", strings.TrimPrefix(link.Path, "/journey/"), "demo-key", c.cookie.Value} {
		if strings.Contains(string(spans.raw), text) {
			t.Errorf("the traces have %q", text)
		}
	}
	if found := canaryIn(spans.raw); found != "" {
		t.Errorf("the traces have %s", found)
	}

	start := spans.named("POST /v1/workflows/{id}/runs")[0]
	if attributeOf(start, "verifyd.run.id") != c.run || attributeOf(start, "http.request.method") != "POST" {
		t.Errorf("the start is %v, want the run %s", start, c.run)
	}
	if line := "trace_id=" + hex.EncodeToString(start.GetTraceId()); !strings.Contains(c.stderr.String(), line) {
		t.Errorf("no line of the log has %s", line)
	}
	activations := spans.named("activation")
	follows := func(a *otlp.Span) bool {
		return slices.ContainsFunc(a.GetLinks(), func(l *otlp.Span_Link) bool { return string(l.GetSpanId()) == string(start.GetSpanId()) })
	}
	for _, s := range slices.Concat(activations, spans.named("append"), spans.named("call "), spans.named("notice")) {
		if attributeOf(s, "verifyd.run.id") == "" || attributeOf(s, "verifyd.tenant.id") != string(demoTenant) {
			t.Errorf("%v has no run and tenant", s)
		}
	}
	submits := slices.ContainsFunc(activations, func(a *otlp.Span) bool {
		return slices.ContainsFunc(spans.named("POST /v1/signals/{run_id}/{signal_name}"), func(s *otlp.Span) bool {
			return slices.ContainsFunc(a.GetLinks(), func(l *otlp.Span_Link) bool { return string(l.GetSpanId()) == string(s.GetSpanId()) })
		})
	})
	if len(activations) == 0 || !submits && !slices.ContainsFunc(activations, follows) {
		t.Errorf("of %d activations, none follows from a request", len(activations))
	}
	for _, s := range spans.named("append") {
		if p := spans.parentOf(s).GetName(); p != "activation" && !strings.HasPrefix(p, "POST ") && !strings.HasPrefix(p, "GET ") {
			t.Errorf("an append is within %q, want an activation or a request", p)
		}
	}
	asked := spans.named("call pan_registry")
	for _, s := range asked {
		p := spans.parentOf(s)
		if p.GetName() != "activation" || attributeOf(p, "verifyd.run.id") != attributeOf(s, "verifyd.run.id") || attributeOf(s, "verifyd.outcome") == "" {
			t.Errorf("the call %v is within %v, want an activation of the same run, and an outcome", s, p)
		}
	}
	headers := vendor()
	if len(headers) == 0 || len(asked) == 0 {
		t.Errorf("the vendor got %d requests in %d calls", len(headers), len(asked))
	}
	for _, h := range headers {
		if !slices.ContainsFunc(asked, func(s *otlp.Span) bool { return parentHeader(s) == h }) {
			t.Errorf("the vendor got the traceparent %q, which is no call", h)
		}
	}
	if got := notice.header.Get("Traceparent"); !slices.ContainsFunc(spans.named("notice"), func(s *otlp.Span) bool { return parentHeader(s) == got }) {
		t.Errorf("the webhook got the traceparent %q, which is no notice", got)
	}
	linked := spans.named("GET /v1/workflows")
	last := linked[slices.IndexFunc(linked, func(s *otlp.Span) bool { return len(s.GetLinks()) > 0 })]
	if l := last.GetLinks()[0]; hex.EncodeToString(l.GetTraceId()) != "0af7651916cd43dd8448eb211c80319c" || l.GetTraceState() != "" || len(last.GetParentSpanId()) > 0 {
		t.Errorf("a request with a traceparent is %v, want a new trace with a link without state", last)
	}
}
