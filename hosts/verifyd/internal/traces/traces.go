// Package traces exports what a host does as OpenTelemetry spans: requests, activations of runs, appends, calls of
// providers and notices. Attributes are ids, outcomes, and names that operators and workflows choose. They are never a
// path, a query, a header, the text of an error, or data of a run.
package traces

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/verifyd/verifyd/verification"
	"github.com/verifyd/verifyd/verification/engine"
	"github.com/verifyd/verifyd/verification/rules"
)

// flushTime bounds how long a stop waits for the receiver of the traces.
const flushTime = 2 * time.Second

// Traces makes spans and exports them. Its methods do not block.
type Traces struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

// Open returns the traces that the environment asks for by the standard variables of OpenTelemetry; nil if it asks for
// none. The export begins in the background; log receives its failures.
func Open(ctx context.Context, get func(string) string, version string, log *slog.Logger) (*Traces, error) {
	where := cmp.Or(get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), get("OTEL_EXPORTER_OTLP_ENDPOINT"))
	kind := get("OTEL_TRACES_EXPORTER")
	switch {
	case strings.EqualFold(get("OTEL_SDK_DISABLED"), "true"), kind == "none", kind == "" && where == "":
		return nil, nil //nolint:nilnil // no traces are asked for
	case kind != "" && kind != "otlp":
		return nil, fmt.Errorf("OTEL_TRACES_EXPORTER is %q and must be otlp or none", kind)
	}
	if p := cmp.Or(get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), get("OTEL_EXPORTER_OTLP_PROTOCOL"), "http/protobuf"); p != "http/protobuf" {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %q and must be http/protobuf", p)
	}
	to, err := newExporter(ctx)
	if err != nil {
		return nil, err
	}
	return New(ctx, sdk.NewBatchSpanProcessor(&logged{SpanExporter: to, log: log}), version)
}

// New returns traces whose spans a processor takes.
func New(ctx context.Context, to sdk.SpanProcessor, version string) (*Traces, error) {
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithHost(), resource.WithAttributes(
		attribute.String("service.name", "verifyd"), attribute.String("service.version", version),
	), resource.WithFromEnv())
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("traces: %w", err)
	}
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(to), sdk.WithResource(about))
	return &Traces{provider, provider.Tracer("verifyd")}, nil
}

// logged is an exporter that logs its failures, one in a minute. An exporter is called by one goroutine.
type logged struct {
	sdk.SpanExporter
	log  *slog.Logger
	last time.Time
}

// ExportSpans implements sdk.SpanExporter.
func (l *logged) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	if err := l.SpanExporter.ExportSpans(ctx, spans); err != nil && time.Since(l.last) > time.Minute {
		l.last = time.Now()
		l.log.Warn("traces not exported", "spans", len(spans), "error", err)
	}
	return nil
}

// Close exports the spans that wait, at most for flushTime.
func (t *Traces) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // the exporter has logged what is lost
}

// Request begins the span of a request: see httpapi.Options. A trace of the caller is linked and not continued, so that
// callers do not decide what is sampled.
func (t *Traces) Request(r *http.Request) (*http.Request, func(route, method string, status int, run verification.RunID)) {
	caller := propagation.TraceContext{}.Extract(context.Background(), propagation.HeaderCarrier(r.Header))
	ctx, span := t.tracer.Start(r.Context(), "request", trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindServer), linkTo(caller))
	return r.WithContext(ctx), func(route, method string, status int, run verification.RunID) {
		span.SetName(method + " " + route)
		span.SetAttributes(attribute.String("http.request.method", method), attribute.String("http.route", route),
			attribute.Int("http.response.status_code", status))
		if run != "" {
			span.SetAttributes(attribute.String("verifyd.run.id", string(run)))
		}
		if status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}

// linkTo links a span to the span of a context, if there is one, without the state that a caller may have added.
func linkTo(ctx context.Context) trace.SpanStartOption {
	if c := trace.SpanContextFromContext(ctx); c.IsValid() {
		return trace.WithLinks(trace.Link{SpanContext: c.WithTraceState(trace.TraceState{})})
	}
	return trace.WithLinks()
}

// Engine begins a span of the engine: see engine.Options.
func (t *Traces) Engine(ctx context.Context, s engine.Span) (context.Context, func(outcome string)) {
	if s.Provider != "" {
		return t.begin(ctx, "call "+s.Provider, s.Run, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
			attribute.String("verifyd.provider", s.Provider), attribute.String("verifyd.step", string(s.Step)),
		))
	}
	return t.begin(ctx, "activation", s.Run, trace.WithNewRoot(), linkTo(cmp.Or(s.Cause, context.Background())))
}

func (t *Traces) begin(
	ctx context.Context, name string, run verification.RunRef, options ...trace.SpanStartOption,
) (context.Context, func(outcome string)) {
	options = append(options, trace.WithAttributes(
		attribute.String("verifyd.run.id", string(run.Run)), attribute.String("verifyd.tenant.id", string(run.Tenant)),
	))
	ctx, span := t.tracer.Start(ctx, name, options...)
	return ctx, func(outcome string) {
		if outcome != "" {
			span.SetAttributes(attribute.String("verifyd.outcome", outcome))
		}
		if outcome == "error" {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}

// Append makes an append to a run within a span. An append outside any span, such as one of retention, has none.
func (t *Traces) Append(ctx context.Context, run verification.RunRef, appends func(context.Context) error) error {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return appends(ctx)
	}
	ctx, end := t.begin(ctx, "append", run)
	err := appends(ctx)
	end(outcomeOf(err, "saved"))
	return err
}

func outcomeOf(err error, well string) string {
	switch {
	case err == nil:
		return well
	case errors.Is(err, verification.ErrConflict):
		return "conflict"
	}
	return "error"
}

// Notifier returns a notifier each of whose attempts is a span.
func (t *Traces) Notifier(n rules.Notifier) rules.Notifier { return notifier{n, t} }

type notifier struct {
	rules.Notifier
	traces *Traces
}

// Notify implements rules.Notifier.
func (n notifier) Notify(ctx context.Context, notice rules.Notice) error {
	ctx, end := n.traces.begin(ctx, "notice", verification.RunRef{Tenant: notice.Tenant, Run: notice.Run.ID}, trace.WithSpanKind(trace.SpanKindClient))
	err := n.Notifier.Notify(ctx, notice)
	end(outcomeOf(err, "delivered"))
	return err
}

// Log returns a log whose lines within a span have the ids of the trace and the span.
func Log(l *slog.Logger) *slog.Logger { return slog.New(handler{l.Handler()}) }

type handler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	if c := trace.SpanContextFromContext(ctx); c.IsValid() {
		r = r.Clone()
		r.AddAttrs(slog.String("trace_id", c.TraceID().String()), slog.String("span_id", c.SpanID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h handler) WithGroup(name string) slog.Handler { return handler{h.Handler.WithGroup(name)} }
