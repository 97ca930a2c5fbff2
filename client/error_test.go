package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/client"
	"github.com/assaydata/assay/internal/web"
)

// The errors of the real server arrive as they were sent.
func TestErrors_OfTheServer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := func(caller, gpu string, p *client.HistoryParams, want assay.Error) {
		t.Helper()
		_, err := r.client(t, caller).IndexHistory(t.Context(), gpu, p)
		got := *failure(t, err)
		if got.RequestID == "" {
			t.Errorf("%s: no request id: %v", want.Code, err)
		}
		if !strings.Contains(got.Message, want.Message) {
			t.Errorf("the message is %q, want %q", got.Message, want.Message)
		}
		got.Message, want.Message, got.RequestID = "", "", ""
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	models := []string{"H100 SXM", "H200", "A100 SXM4", "RTX 5090", "B200", "RTX PRO 6000 WS"}
	unknown := assay.Error{
		Kind: assay.Invalid, Code: "unknown_gpu", Status: 400, Message: "Invalid GPU type.", Param: "gpuName", Allowed: models,
	}
	f("", "H300", nil, unknown)
	f("", "...", nil, unknown)
	f("", "RTX 6000 Ada/48", nil, unknown)
	f("", "H100 SXM?x=1#y%2F\x00\n", nil, unknown)
	f("", "H200", &client.HistoryParams{Limit: -1}, assay.Error{
		Kind: assay.Invalid, Code: "invalid_parameter", Status: 400, Message: `"-1"`, Param: "limit",
	})
	f("", "H200", &client.HistoryParams{StartDate: "2025-01-01"}, assay.Error{
		Kind: assay.Unauthorized, Code: "outside_free_window", Status: 401, Message: "2025-11-04", FreeFrom: "2025-11-04",
	})
	f("", "RTX PRO 6000 WS", nil, assay.Error{
		Kind: assay.Unauthorized, Code: "key_required", Status: 401, Message: "API key required",
	})
	f("unknown key", "H200", nil, assay.Error{
		Kind: assay.Unauthorized, Code: "invalid_key", Status: 401, Message: "Invalid API key",
	})
	f("full", "H200", &client.HistoryParams{Region: "mars"}, assay.Error{
		Kind: assay.NotFound, Code: "unknown_region", Status: 404, Message: "mars",
	})
	f("full", "B200", &client.HistoryParams{AsOf: "2020-01-01"}, assay.Error{
		Kind: assay.NoData, Code: "no_data", Status: 404, Message: "No daily index data",
	})
	_, err := r.client(t, "premium").Realtime(t.Context(), "H200", nil)
	if e := failure(t, err); e.Kind != assay.Forbidden || e.Code != "full_required" {
		t.Errorf("got %+v", e)
	}
}

// What is not a response of the API is an error that says so, in a line, without the body.
func TestErrors_OfOthers(t *testing.T) {
	t.Parallel()
	const page = "<html><title>secret page</title>"
	f := func(name, code string, kind assay.Kind, want string, handler http.HandlerFunc) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := respond(t, handler).GPUPrice(t.Context(), "H200", nil)
			e := failure(t, err)
			if e.Code != code || e.Kind != kind || !strings.Contains(err.Error(), want) {
				t.Errorf("got kind %d, code %s: %v, want kind %d, %s: %s", e.Kind, e.Code, err, kind, code, want)
			}
			if text := err.Error(); strings.Contains(text, "secret") || len(text) > 1000 || strings.ContainsAny(text, "\n\x1b") {
				t.Errorf("the error repeats what was sent: %q", text)
			}
		})
	}
	sends := func(status int, kind, body string) http.HandlerFunc {
		return func(out http.ResponseWriter, _ *http.Request) {
			out.Header().Set("Content-Type", kind)
			out.WriteHeader(status)
			_, _ = io.WriteString(out, body)
		}
	}
	const jsonType = "application/json"
	f("a proxy's page", "bad_response", assay.Unavailable, "502 Bad Gateway, and not as the API does", sends(502, "text/html", page))
	f("a page with 200", "bad_response", assay.Internal, "it is not JSON", sends(200, "text/html", page))
	f("a page that is called JSON", "bad_response", assay.Internal, "invalid character", sends(200, jsonType, page))
	f("an error without a message", "bad_response", assay.Forbidden, "403 Forbidden", sends(403, jsonType, `{"error":"secret"}`))
	f("an error that is a list", "bad_response", assay.Invalid, "418", sends(418, jsonType, `["secret"]`))
	f("no content", "bad_response", assay.Internal, "204", sends(204, jsonType, ""))
	f("a 304 that was not asked for", "redirect", assay.Internal, "redirects", sends(304, jsonType, ""))
	f("cut off", "bad_response", assay.Internal, "unexpected EOF", sends(200, jsonType, `{"success":true,"data":{"gpu_name":"sec`))
	f("an empty body", "bad_response", assay.Internal, "not a JSON object", sends(200, jsonType, ""))
	f("an empty object", "bad_response", assay.Internal, "it has no", sends(200, jsonType, "{}"))
	f("a list", "bad_response", assay.Internal, "not a JSON object", sends(200, jsonType, "[]"))
	f("null", "bad_response", assay.Internal, "not a JSON object", sends(200, jsonType, "null"))
	whole := `{"success":true,"access":"full","data":{"gpu_name":"H200","region":"","index_value":2,"last_updated":"2026-02-04T12:00:00.000Z"}}`
	changed := func(old, replacement string) http.HandlerFunc {
		return sends(200, jsonType, strings.Replace(whole, old, replacement, 1))
	}
	f("a failure with 200", "bad_response", assay.Internal, `"success" is false`, changed("true", "false"))
	f("no data", "bad_response", assay.Internal, `it has no "data"`, changed(`"data"`, `"date"`))
	f("null for data", "bad_response", assay.Internal, `"data": it is null`, sends(200, jsonType, `{"success":true,"access":"full","data":null}`))
	f("data twice", "bad_response", assay.Internal, "twice", changed(`"access":"full"`, `"access":"full","access":"full"`))
	f("more behind it", "bad_response", assay.Internal, "something follows", sends(200, jsonType, whole+"secret"))
	f("a price in words", "bad_response", assay.Internal, "not a plain decimal", changed("2,", `"two",`))
	f("a price with an exponent", "bad_response", assay.Internal, "not a plain decimal", changed("2,", `2e3,`))
	f("a price that is too large", "bad_response", assay.Internal, "too large", changed("2,", `20000000000,`))
	f("an instant in words", "bad_response", assay.Internal, "parsing time", changed(`"2026-02-04T12:00:00.000Z"`, `"now\n\u001b[2J`+strings.Repeat("secre", 1000)+`"`))
	f("a redirect", "redirect", assay.Internal, "redirects to https://login.example, and the client does not follow",
		func(out http.ResponseWriter, in *http.Request) {
			http.Redirect(out, in, "https://u:secret@login.example/?token=secret", http.StatusFound)
		})
	f("cut off by the connection", "bad_response", assay.Unavailable, "is cut off", func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", jsonType)
		out.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(out, whole)
	})
	f("a message that plays with the terminal", "code", assay.Invalid, " [2J bell ", sends(400, jsonType, `{"error":"Bad request","code":"code","message":"\u001b[2J\u0007bell\n","request_id":"x"}`))
	f("a flood", "bad_response", assay.Internal, "too large", func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", jsonType)
		_, _ = io.WriteString(out, `{"success":true,"data":"`)
		for piece := strings.Repeat("x", 1<<20); ; {
			if _, err := io.WriteString(out, piece); err != nil {
				return
			}
		}
	})
	f("a flood of an error", "bad_response", assay.Invalid, "400", func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", jsonType)
		out.WriteHeader(400)
		_, _ = io.WriteString(out, `{"message":"`+strings.Repeat("x", 10<<20))
	})
}

// A server that sends more than the client knows does not break it.
func TestResponses_OfLaterServers(t *testing.T) {
	t.Parallel()
	c := respond(t, func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("X-Assay-Stale", "7")
		out.Header().Set("X-Assay-Synthetic", "true")
		out.Header().Set("X-Assay-Ignored", "colour, size")
		writeJSON(out, 200, `{"new":{"a":[1]},"success":true,"access":"galactic","data":{"gpu_name":"H900","region":"moon",`+
			`"index_value":0.000000001,"last_updated":"2026-02-04T12:00:00.123456+02:00","also":1}}`)
	})
	got, err := c.GPUPrice(t.Context(), "H900", nil)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 2, 4, 10, 0, 0, 123456000, time.UTC)
	if got.Access != "galactic" || got.Data.IndexValue != 1 || !got.Data.LastUpdated.Equal(at) {
		t.Errorf("got %+v", got)
	}
	want := client.Meta{Success: true, RequestID: "id-1", Synthetic: true, Stale: 7 * time.Second, Ignored: []string{"colour", "size"}}
	if !reflect.DeepEqual(got.Meta, want) {
		t.Errorf("got %+v, want %+v", got.Meta, want)
	}
}

// A server that is not healthy responds to Health all the same.
func TestHealth_Unhealthy(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.client(t, "")
	r.PingErr = errors.New("away")
	r.Status.CheckDatabase(t.Context())
	h, err := c.Health(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if h.Status != "unhealthy" || h.Database != "disconnected" || h.Message == "" || h.Role != string(web.NodeAll) {
		t.Errorf("got %+v", h)
	}
}

// Another program's 503 is not a state of the server.
func TestHealth_OfOthers(t *testing.T) {
	t.Parallel()
	f := func(body, want string) {
		t.Helper()
		c := respond(t, func(out http.ResponseWriter, _ *http.Request) { writeJSON(out, 503, body) })
		if h, err := c.Health(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %+v, %v, want %s", body, h, err, want)
		}
	}
	f(`{}`, "it has no")
	f(`{"status":"healthy","timestamp":"2026-02-04T12:00:00Z","database":"connected","role":"all","age_seconds":0}`, "contradict")
}

// A name that cannot be sent is refused without a request.
func TestErrors_BadArguments(t *testing.T) {
	t.Parallel()
	c := respond(t, func(http.ResponseWriter, *http.Request) { t.Error("there was a request") })
	f := func(want string, err error) {
		t.Helper()
		if e := failure(t, err); e.Code != "bad_argument" || e.Kind != assay.Invalid || !strings.Contains(e.Message, want) {
			t.Errorf("got %+v, want %s", e, want)
		}
	}
	_, err := c.GPUPrice(t.Context(), "", nil)
	f("gpuName is empty", err)
	_, err = c.GPUPrice(t.Context(), "..", nil)
	f("gpuName is only dots", err)
	_, err = c.MemoryHistory(t.Context(), ".", nil)
	f("memoryType is only dots", err)
	f("needs a value for gpuName", c.Table(t.Context(), io.Discard, client.CSV, "/api/gpu/{gpuName}/hourly", nil))
	f("fewer values", c.Table(t.Context(), io.Discard, client.CSV, "/api/regions", nil, "x"))
	f("csv, ndjson or parquet", c.Table(t.Context(), io.Discard, "xlsx", "/api/regions", nil))
	for _, err := range c.Stream(t.Context(), &client.StreamParams{LastEventID: "1\n2"}) {
		f("LastEventID", err)
	}
	for _, err := range c.EachPoint(t.Context(), "", nil) {
		f("gpuName is empty", err)
	}
}

// The end of the context is an error that says so, wherever the client is.
func TestErrors_Canceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	c := respond(t, func(_ http.ResponseWriter, in *http.Request) {
		cancel()
		<-in.Context().Done()
	})
	_, err := c.GPUPrice(ctx, "H200", nil)
	if e := failure(t, err); e.Code != "canceled" || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	_, err = c.GPUPrice(ctx, "H200", nil)
	if e := failure(t, err); e.Code != "canceled" || !errors.Is(err, context.Canceled) {
		t.Errorf("before the request: %v", err)
	}
}

// A server that accepts a connection and stays silent, or stops in the middle, costs no more than the timeout.
func TestErrors_Timeout(t *testing.T) {
	t.Parallel()
	f := func(name, begin, want, iterating string) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				c := newClient(t, "http://assay.example", client.WithKey(""), client.WithRetries(0),
					client.WithHTTPClient(&http.Client{Transport: stopping(begin)}))
				_, err := c.GPUPrice(t.Context(), "H200", nil)
				if e := failure(t, err); e.Code != "timeout" || e.Kind != assay.Unavailable || !strings.Contains(err.Error(), want) {
					t.Errorf("got %+v", e)
				}
				if after := time.Since(began); after != 30*time.Second {
					t.Errorf("it takes %v", after)
				}
				for _, err := range c.EachPoint(t.Context(), "H200", nil) {
					if e := failure(t, err); e.Code != "timeout" || !strings.Contains(err.Error(), iterating) {
						t.Errorf("an iterator: %+v", e)
					}
				}
			})
		})
	}
	f("no response", "", "has not responded within 30s", "has not responded within 30s")
	f("half a response", `{"success":true,`, "has begun a response, and not finished it within 30s", "then sent nothing for 30s")
}

// stopping is a transport whose responses begin with a text, and stop there. An empty one is no response.
type stopping string

func (s stopping) RoundTrip(request *http.Request) (*http.Response, error) {
	if s == "" {
		<-request.Context().Done()
		return nil, request.Context().Err()
	}
	reader, writer := io.Pipe()
	go func() {
		_, _ = io.WriteString(writer, string(s))
		<-request.Context().Done()
		writer.CloseWithError(request.Context().Err())
	}()
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: reader, Request: request,
	}, nil
}

// How long the caller takes between two rows does not count.
func TestEachPoint_Slow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var body strings.Builder
		body.WriteString(seriesHead + row("2026-02-01"))
		for day := range 9 { // more than the client reads ahead
			body.WriteString("," + strings.Repeat(" ", 10_000) + row(fmt.Sprintf("2026-02-1%d", day)))
		}
		c := newClient(t, "http://assay.example", client.WithKey(""),
			client.WithHTTPClient(&http.Client{Transport: whole(body.String() + "]}")}))
		rows := 0
		for _, err := range c.EachPoint(t.Context(), "H200", nil) {
			if err != nil {
				t.Fatal(err)
			}
			rows++
			pass(t.Context(), time.Hour)
		}
		if rows != 10 {
			t.Errorf("got %d rows", rows)
		}
	})
}

// whole is a transport whose responses are a text.
type whole string

func (s whole) RoundTrip(request *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Request: request,
		Body: io.NopCloser(&following{request.Context(), strings.NewReader(string(s))}),
	}, nil
}

// following is a body that ends with the context, as those of connections do.
type following struct {
	ctx  context.Context
	from io.Reader
}

func (f *following) Read(p []byte) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	return f.from.Read(p)
}

func ExampleClient_errors() {
	c, stop := exampleClient()
	defer stop()

	_, err := c.GPUPrice(context.Background(), "H300", nil)
	if e, ok := errors.AsType[*assay.Error](err); ok && e.Kind == assay.Invalid {
		fmt.Println(e.Code, e.Param, e.Allowed)
	}
	// Output: unknown_gpu gpuName [H100 SXM H200 A100 SXM4 RTX 5090 B200 RTX PRO 6000 WS]
}
