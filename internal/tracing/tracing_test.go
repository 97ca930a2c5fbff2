package tracing_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/assaydata/assay/internal/tracing"
	"github.com/assaydata/assay/internal/tracing/tracingtest"
)

// open makes a tracer that sends to a collector.
func open(t *testing.T, oneIn int) (*tracing.Tracer, *tracingtest.Collector) {
	t.Helper()
	c := tracingtest.Start(t)
	tracer, err := tracing.Open(t.Context(), tracing.Config{
		URL: c.URL, Headers: map[string]string{"Authorization": "Bearer geheim"}, OneIn: oneIn, Release: "1.2.3",
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return tracer, c
}

// work is a piece of work with a part.
func work(ctx context.Context, result error) (err error) {
	ctx, end := tracing.Work(ctx, "work")
	defer func() { end(err) }()
	_, endPart := tracing.Start(ctx, "part")
	endPart(nil)
	return result
}

// Work is a trace of its own, or part of the trace of the request.
func TestWork(t *testing.T) {
	t.Parallel()
	tracer, c := open(t, 1)
	ctx := tracer.With(t.Context())
	_ = work(ctx, nil)
	within, request := tracer.Request(ctx, "", time.Now())
	_ = work(within, errors.New("a secret reason"))
	request.End(tracing.Ended{
		Method: "POST", Route: "/api/ingest/{family}", ID: "id-1", Tier: "free", Status: 503, At: time.Now(),
	})
	if err := tracer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	works, parts, requests := c.Named("work"), c.Named("part"), c.Named("POST /api/ingest/{family}")
	if len(works) != 2 || len(parts) != 2 || len(requests) != 1 {
		t.Fatalf("received %+v", c.Spans())
	}
	for i, part := range parts {
		if part.Parent != works[i].ID || part.Trace != works[i].Trace {
			t.Errorf("the part %+v does not belong to %+v", part, works[i])
		}
	}
	if works[0].Parent != "" || works[0].Failed || works[0].Trace == works[1].Trace {
		t.Errorf("the first work is %+v", works[0])
	}
	if works[1].Parent != requests[0].ID || !works[1].Failed || works[1].Trace != request.TraceID() || !requests[0].Failed {
		t.Errorf("the second work is %+v of %+v", works[1], requests[0])
	}
	if got := requests[0].Attributes["assay.request_id"]; got != "id-1" {
		t.Errorf("the request has the id %q", got)
	}
	if got := c.Headers()[0].Get("Authorization"); got != "Bearer geheim" {
		t.Errorf("the collector gets the header %q", got)
	}
}

// A part without work above it, and everything without a tracer, is nothing.
func TestStart_Nothing(t *testing.T) {
	t.Parallel()
	tracer, c := open(t, 1)
	_, end := tracing.Start(tracer.With(t.Context()), "part")
	end(nil)
	var none *tracing.Tracer
	if err := work(none.With(t.Context()), nil); err != nil {
		t.Fatal(err)
	}
	if _, request := none.Request(t.Context(), "", time.Now()); request != nil {
		t.Error("a request is traced without a tracer")
	}
	if err := errors.Join(tracer.Close(t.Context()), none.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	if spans := c.Spans(); len(spans) != 0 {
		t.Errorf("received %+v", spans)
	}
}

func TestRequest_Sampling(t *testing.T) {
	t.Parallel()
	tracer, _ := open(t, 10)
	traced := func(parent string) (count int, trace string) {
		for range 100 {
			if _, r := tracer.Request(t.Context(), parent, time.Now()); r != nil {
				count++
				trace = r.TraceID()
			}
		}
		return count, trace
	}
	f := func(parent string, want int, wantTrace string) {
		t.Helper()
		if got, trace := traced(parent); got != want || wantTrace != "" && trace != wantTrace {
			t.Errorf("with the parent %q, %d of 100 requests are traced in %s, want %d in %s", parent, got, trace, want, wantTrace)
		}
	}
	const trace = "0af7651916cd43dd8448eb211c80319c"
	f("", 10, "")
	f("nonsense", 10, "")
	f("00-"+trace+"-b7ad6b7169203331-01", 100, trace)
	f("00-"+trace+"-b7ad6b7169203331-00", 0, "")
}

// A collector that is away costs nothing but the spans.
func TestOpen_CollectorAway(t *testing.T) {
	t.Parallel()
	tracer, err := tracing.Open(t.Context(), tracing.Config{
		URL: "http://127.0.0.1:1", OneIn: 1, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = work(tracer.With(t.Context()), nil)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tracer.Close(gone); err == nil {
		t.Error("nothing is lost")
	}
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	f := func(text string, ok bool) {
		t.Helper()
		if err := tracing.CheckURL(text); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
	f("http://127.0.0.1:4318", true)
	f("https://collector.example.com/otlp", true)
	f("127.0.0.1:4318", false)
	f("grpc://collector:4317", false)
	f("https://user:password@collector", false)
	f("https://collector?token=1", false)
}
