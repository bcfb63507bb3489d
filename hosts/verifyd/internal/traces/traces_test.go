// Tests of what the environment asks for, and the cost of a run with traces.

package traces_test

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/verifyd/verifyd/adapters/clock"
	"github.com/verifyd/verifyd/adapters/enginetest"
	"github.com/verifyd/verifyd/adapters/memory"
	"github.com/verifyd/verifyd/hosts/verifyd/internal/traces"
	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
	"github.com/verifyd/verifyd/verification/store"
	"github.com/verifyd/verifyd/verification/workflow"
)

func TestTheStandardVariablesAskForTraces(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318"
	for _, tt := range []struct {
		vars    string
		on      bool
		problem string
	}{
		{"", false, ""},
		{endpoint, true, ""},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://127.0.0.1:4318/v1/traces", true, ""},
		{"OTEL_TRACES_EXPORTER=otlp", true, ""},
		{endpoint + " OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf", true, ""},
		{endpoint + " OTEL_SDK_DISABLED=TRUE", false, ""},
		{endpoint + " OTEL_TRACES_EXPORTER=none", false, ""},
		{"OTEL_TRACES_EXPORTER=zipkin", false, "OTEL_TRACES_EXPORTER"},
		{endpoint + " OTEL_EXPORTER_OTLP_PROTOCOL=grpc", false, "http/protobuf"},
	} {
		vars := map[string]string{}
		for _, pair := range strings.Fields(tt.vars) {
			name, value, _ := strings.Cut(pair, "=")
			vars[name] = value
		}
		got, err := traces.Open(t.Context(), func(name string) string { return vars[name] }, "v", slog.New(slog.DiscardHandler))
		if (got != nil) != tt.on || (err != nil) != (tt.problem != "") || err != nil && !strings.Contains(err.Error(), tt.problem) {
			t.Errorf("with %q the traces are on: %t, %v; want %t, an error with %q", tt.vars, got != nil, err, tt.on, tt.problem)
		}
		if got != nil {
			got.Close()
		}
	}
}

// BenchmarkFiveChecks is a run of five checks in memory: without traces, and with traces that are exported to nowhere.
func BenchmarkFiveChecks(b *testing.B) {
	b.Run("off", func(b *testing.B) { benchmarkFiveChecks(b, nil) })
	b.Run("on", func(b *testing.B) {
		to := trace.NewBatchSpanProcessor(tracetest.NewNoopExporter())
		t, err := traces.New(b.Context(), to, "v")
		if err != nil {
			b.Fatal(err)
		}
		defer t.Close()
		benchmarkFiveChecks(b, t)
	})
}

func benchmarkFiveChecks(b *testing.B, t *traces.Traces) {
	b.Helper()
	ports := engine.Ports{
		Store: memory.New(), Providers: map[string]verification.Provider{"instant": instant{}}, Expressions: noCompiler{},
		Links: enginetest.Links(), Clock: clock.System{}, NewID: enginetest.SeededIDs(1),
	}
	options := engine.Options{}
	if t != nil {
		ports.Store, options.Trace = traced{ports.Store, t}, t.Engine
	}
	e, err := engine.New(ports, options)
	if err != nil {
		b.Fatal(err)
	}
	d := workflow.Definition{Workflow: "chain", Name: "Chain", Start: "a", Nodes: map[verification.NodeID]workflow.Node{"f": {Type: workflow.NodeEnd}}}
	for key := byte('a'); key < 'f'; key++ {
		d.Nodes[verification.NodeID(rune(key))] = workflow.Node{Type: workflow.NodeCheck, Provider: "instant", Next: verification.NodeID(rune(key + 1))}
	}
	applied, err := e.Apply(b.Context(), enginetest.Tenant, d)
	if err != nil {
		b.Fatal(err)
	}
	wait, r := time.Minute, httptest.NewRequestWithContext(b.Context(), "POST", "/", nil)
	b.ReportAllocs()
	before := cpuTime(b)
	for b.Loop() {
		ctx, end := b.Context(), func() {}
		if t != nil {
			within, ended := t.Request(r)
			ctx, end = within.Context(), func() { ended("/", "POST", 202, "") }
		}
		v, err := e.Start(ctx, enginetest.Tenant, applied.Workflow.ID, engine.StartRequest{ReferenceID: "person-1", Wait: &wait})
		if end(); err != nil || v.Status != rules.StatusCompleted {
			b.Fatalf("run = %+v, %v", v, err)
		}
	}
	b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
}

// traced is a store whose appends are spans.
type traced struct {
	store.Store
	to *traces.Traces
}

func (s traced) Append(ctx context.Context, t verification.TenantID, run verification.RunID, seq int, c store.Commit) error {
	return s.to.Append(ctx, verification.RunRef{Tenant: t, Run: run}, func(ctx context.Context) error { return s.Store.Append(ctx, t, run, seq, c) })
}

// cpuTime returns the processor time of the process so far.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// instant passes every check immediately.
type instant struct{}

func (instant) Check(context.Context, verification.CheckRequest) (verification.CheckResult, error) {
	return verification.CheckResult{Outcome: verification.OutcomePassed}, nil
}

// noCompiler is enough for workflows without texts to compile.
type noCompiler struct {
	workflow.ExpressionCompiler
}
