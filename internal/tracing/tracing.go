// Package tracing shows where the time of a request, an import or a publication goes. It sends spans, each a piece of
// work with a begin and an end, to a collector of OpenTelemetry over OTLP/HTTP. Spans of the same work are a trace,
// which has an id; the request log has that id too.
//
// The context carries everything. With gives it a tracer; Work begins a trace, and Start a span below the one that the
// context has. In a context without them both do nothing and cost next to nothing, so the packages that call them need
// no setting. Only requests are sampled (Request): there are too many to trace all.
//
// A span says what was done and how it ended, and nothing that the log of requests does not say: no query, no key, no
// address of a client.
package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	api "go.opentelemetry.io/otel/trace"
)

// Config is what a tracer needs.
type Config struct {
	URL     string            // of the collector
	Headers map[string]string // for the collector, such as a token
	OneIn   int               // one in so many requests is traced
	Release string
	Log     *slog.Logger
}

// CheckURL checks the URL of a collector.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("must be the http:// or https:// address of a collector, such as http://127.0.0.1:4318")
	case u.User != nil || u.RawQuery+u.Fragment != "":
		return errors.New("must not contain a password or a query: use --traces-headers-file")
	}
	return nil
}

// tracesPath is where a collector takes traces, below its address.
const tracesPath = "/v1/traces"

// Tracer makes spans and sends them. A nil tracer makes none.
type Tracer struct {
	provider *trace.TracerProvider
	tracer   api.Tracer
	oneIn    int64
	seen     atomic.Int64
}

// Open makes a tracer. It does not matter whether the collector can be reached: spans that it does not take are lost,
// and nothing waits for them.
func Open(ctx context.Context, c Config) (*Tracer, error) {
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, err
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(u.JoinPath(tracesPath).String()),
		otlptracehttp.WithHeaders(c.Headers))
	if err != nil {
		return nil, fmt.Errorf("prepare to send traces: %w", err)
	}
	otel.SetErrorHandler(&reporter{log: c.Log})
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(resource.NewSchemaless(
		attribute.String("service.name", "assay"), attribute.String("service.version", c.Release),
	)))
	return &Tracer{provider: provider, tracer: provider.Tracer("assay"), oneIn: int64(c.OneIn)}, nil
}

// Close sends what is left, as long as the context lasts.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}

// tracerKey is the key of the tracer in a context.
type tracerKey struct{}

// With returns a context whose work is traced.
func (t *Tracer) With(ctx context.Context) context.Context {
	if t == nil {
		return ctx
	}
	return context.WithValue(ctx, tracerKey{}, t)
}

// Work begins the span of a piece of work that is worth a trace of its own, such as an import, and returns how to end
// it. The call belongs into a defer, with the error that the work returns:
//
//	ctx, end := tracing.Work(ctx, "publish")
//	defer func() { end(err) }()
func Work(ctx context.Context, name string) (within context.Context, end func(error)) {
	t, ok := ctx.Value(tracerKey{}).(*Tracer)
	if ok && !api.SpanFromContext(ctx).IsRecording() {
		return start(ctx, t.tracer, name)
	}
	return Start(ctx, name)
}

// Start is like Work for a part of a piece of work: without a span above there is none.
func Start(ctx context.Context, name string) (within context.Context, end func(error)) {
	if above := api.SpanFromContext(ctx); above.IsRecording() {
		return start(ctx, above.TracerProvider().Tracer("assay"), name)
	}
	return ctx, nothing
}

func nothing(error) {}

func start(ctx context.Context, tracer api.Tracer, name string) (within context.Context, end func(error)) {
	within, span := tracer.Start(ctx, name)
	return within, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, "failed") // the error itself is in the log: it may contain what is private
		}
		span.End()
	}
}

// Request is the span of a request.
type Request struct{ span api.Span }

// Request begins the span of a request if it is one of those that are traced; otherwise it returns nil. parent is the
// header traceparent of a proxy that is trusted: it decides, and the trace is then the proxy's.
func (t *Tracer) Request(ctx context.Context, parent string, at time.Time) (context.Context, *Request) {
	if t == nil {
		return ctx, nil
	}
	if parent != "" {
		carrier := propagation.MapCarrier{"traceparent": parent}
		above := api.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
		if above.IsValid() {
			if !above.IsSampled() {
				return ctx, nil
			}
			return t.request(api.ContextWithRemoteSpanContext(ctx, above), at)
		}
	}
	if t.oneIn > 1 && t.seen.Add(1)%t.oneIn != 0 {
		return ctx, nil
	}
	return t.request(ctx, at)
}

func (t *Tracer) request(ctx context.Context, at time.Time) (context.Context, *Request) {
	ctx, span := t.tracer.Start(ctx, "request", api.WithSpanKind(api.SpanKindServer), api.WithTimestamp(at))
	return ctx, &Request{span}
}

// TraceID is the id of the request's trace, as the log has it.
func (r *Request) TraceID() string { return r.span.SpanContext().TraceID().String() }

// Ended says how a request ended.
type Ended struct {
	Method, Route, ID, Tier string
	Status                  int
	At                      time.Time
}

// End ends the span.
func (r *Request) End(e Ended) {
	r.span.SetName(e.Method + " " + e.Route)
	r.span.SetAttributes(attribute.String("http.request.method", e.Method), attribute.String("http.route", e.Route),
		attribute.Int("http.response.status_code", e.Status), attribute.String("assay.request_id", e.ID),
		attribute.String("assay.tier", e.Tier))
	const firstFailure = 500
	if e.Status >= firstFailure {
		r.span.SetStatus(codes.Error, "failed")
	}
	r.span.End(api.WithTimestamp(e.At))
}

// reportEvery is how often the log says that traces cannot be sent.
const reportEvery = time.Minute

// reporter writes failures to the log, but not each of them.
type reporter struct {
	log  *slog.Logger
	last atomic.Int64
}

// Handle is called by the exporter.
func (r *reporter) Handle(err error) {
	now, last := time.Now().UnixNano(), r.last.Load()
	if (last == 0 || now-last > int64(reportEvery)) && r.last.CompareAndSwap(last, now) {
		r.log.Warn("traces cannot be sent and are lost", "error", err)
	}
}
