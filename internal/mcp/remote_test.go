package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/mcp"
)

// agent is an agent that talks to assay mcp over pipes.
type agent struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Reader
}

const key = "sk_live_secret"

// startAgent starts the tools for a server.
func startAgent(t *testing.T, handler http.Handler, change ...func(*mcp.Config)) *agent {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return startAgentAt(t, server.URL, change...)
}

func startAgentAt(t *testing.T, url string, change ...func(*mcp.Config)) *agent {
	t.Helper()
	var logs apitest.Buffer
	c := mcp.Config{
		Source: mcp.NewRemote(url+"/", key), Release: "test", Log: slog.New(slog.NewTextHandler(&logs, nil)), CheckedBy: "this computer",
	}
	for _, f := range change {
		f(&c)
	}
	inReader, inWriter := io.Pipe()
	outReader, outWriter := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- mcp.Run(context.Background(), c, inReader, outWriter) }()
	t.Cleanup(func() {
		_ = inWriter.Close()
		if err := <-ended; err != nil {
			t.Errorf("the tools ended with %v", err)
		}
		if strings.Contains(logs.String(), key) {
			t.Errorf("the log has the key: %s", logs.String())
		}
	})
	a := &agent{t, inWriter, bufio.NewReader(outReader)}
	a.send(strings.Replace(initialize, `"a"`, "1", 1))
	a.read()
	_, _ = io.WriteString(a.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	return a
}

func (a *agent) send(message string) {
	a.t.Helper()
	if _, err := io.WriteString(a.in, message+"\n"); err != nil {
		a.t.Fatal(err)
	}
}

func (a *agent) read() *result {
	a.t.Helper()
	line, err := a.out.ReadString('\n')
	if err != nil {
		a.t.Fatal(err)
	}
	if strings.Contains(line, key) {
		a.t.Errorf("the agent reads the key: %s", line)
	}
	found := &result{}
	if err := json.Unmarshal([]byte(line), found); err != nil {
		a.t.Fatal(err)
	}
	return found
}

func (a *agent) call(tool, arguments string) *result {
	a.t.Helper()
	a.send(toolCall(tool, arguments))
	return a.read()
}

// Over a network the tools return what they return in the server.
func TestRemote_Results(t *testing.T) {
	t.Parallel()
	r := newRig(t, quiet)
	tools := r.list()
	a := startAgent(t, http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		if in.Header.Get("Authorization") != "Bearer "+key {
			t.Errorf("%s is sent with %q", in.RequestURI, in.Header["Authorization"])
		}
		r.Sent++ // another address for each request, so that the public limit is not met
		in.RemoteAddr = fmt.Sprintf("192.0.%d.%d:1", r.Sent>>8, r.Sent&255)
		in.Header.Set("Authorization", "Bearer "+r.Keys["full"])
		r.ServeHTTP(out, in)
	}))
	for _, c := range calls {
		t.Run(c.tool+" "+c.arguments, func(t *testing.T) {
			got := a.call(c.tool, c.arguments)
			if c.tool == "verify_value" {
				c.want = `"verified":false`
			}
			if c.tool != "search" && c.tool != "fetch" && !strings.Contains(got.text(), c.want) || got.Result.IsError {
				t.Errorf("%s\nlacks %s", got.text(), c.want)
			}
			fits(t, tools[c.tool].OutputSchema, got.Result.Structured)
		})
	}
}

// Servers can be broken, or lie. The agent reads what is wrong, and the key goes nowhere else.
func TestRemote_DishonestServer(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, in *http.Request) {
		t.Errorf("a redirect is followed to %s with %v", in.RequestURI, in.Header)
	}))
	defer elsewhere.Close()
	f := func(name string, serve http.HandlerFunc, want string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := startAgent(t, serve)
			if got := a.call("get_gpu_index_history", `{"gpu":"H200"}`); !got.Result.IsError || !strings.Contains(got.text(), want) {
				t.Errorf("a series: %.500s", got.text())
			}
			got := a.call("verify_value", `{"gpu":"H200","date":"2026-02-01"}`)
			if !got.Result.IsError && !strings.HasPrefix(got.text(), `{"verified":false,"reason":"`) || strings.Contains(got.text(), `"internal"`) {
				t.Errorf("a proof: %.500s", got.text())
			}
		})
	}
	write := func(status int, text string) http.HandlerFunc {
		return func(out http.ResponseWriter, _ *http.Request) {
			out.WriteHeader(status)
			_, _ = io.WriteString(out, text)
		}
	}
	f("a redirect", func(out http.ResponseWriter, in *http.Request) {
		http.Redirect(out, in, elsewhere.URL, http.StatusFound)
	}, "the server responds 302 Found without saying why")
	f("a page", write(200, "<html>"), `The server cannot be asked: it is too long, or no JSON object with rows.`)
	f("a page with an error", write(502, "<html>bad gateway"), `the server responds 502 Bad Gateway without saying why`)
	f("an error of the API", write(429, `{"error":"Too many requests","message":"Wait.","code":"rate_limited","request_id":"x"}`), `"message":"Wait."`)
	f("nothing", write(200, ""), `The server cannot be asked`)
	f("a list", write(200, "[1]"), `The server cannot be asked`)
	f("half an object", write(200, `{"data":[{"a":1}`), `The server cannot be asked`)
	f("without an end", func(out http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(out, `{"a":"`)
		for range 100 {
			if _, err := io.WriteString(out, strings.Repeat("x", 1<<20)); err != nil {
				return
			}
		}
	}, `it is too long`)
	f("a reset", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, `The server cannot be asked: EOF.`)
	t.Run("no server", func(t *testing.T) {
		t.Parallel()
		a := startAgentAt(t, "http://127.0.0.1:1")
		if got := a.call("get_gpu_price", `{"gpu":"H200"}`); !strings.Contains(got.text(), "connection refused") || !got.Result.IsError {
			t.Errorf("%s", got.text())
		}
	})
}

// An agent may write nonsense. The tools end only when it has ended.
func TestRemote_Nonsense(t *testing.T) {
	t.Parallel()
	r := newRig(t, quiet)
	a := startAgent(t, r)
	a.send(message("tools/nonsense", "{}"))
	if got := a.read(); got.Error == nil {
		t.Errorf("an unknown method: %+v", got)
	}
	a.send(toolCall("buy_gpu", "{}"))
	if got := a.read(); got.Error == nil || got.Error.Message != `There is no tool "buy_gpu". tools/list has all.` {
		t.Errorf("an unknown tool: %+v", got.Error)
	}
	if got := a.call("get_gpu_price", `{"gpu":"`+strings.Repeat("x", 100<<10)+`"}`); !got.Result.IsError {
		t.Errorf("a long argument: %.300s", got.text())
	}
}
