// Tests of the header of a trace.

package transport_test

import (
	"net/http"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/verifyd/verifyd/internal/transport"
)

func TestOnlyARequestWithinASpanNamesItsTrace(t *testing.T) {
	plain, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://vendor.example/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { transport.Trace(plain) }); n > 0 || len(plain.Header) > 0 {
		t.Errorf("without a span the header is %v, with %v allocations", plain.Header, n)
	}
	within := plain.WithContext(trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{15: 1}, SpanID: trace.SpanID{7: 2}, TraceFlags: trace.FlagsSampled,
	})))
	transport.Trace(within)
	if got := within.Header.Get("Traceparent"); got != "00-00000000000000000000000000000001-0000000000000002-01" {
		t.Errorf("within a span traceparent is %q", got)
	}
}
