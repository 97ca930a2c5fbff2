package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/mcp"
)

const initialize = `{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"2025-06-18",` +
	`"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`

// What is wrong with a request is said in the form of every error, or in that of the protocol.
func TestServer_Requests(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := func(name, body string, status int, want string, headers ...string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			got := r.post("", body, headers...)
			if got.StatusCode != status || !strings.Contains(got.Text, want) {
				t.Errorf("%d %s\nwant %d %s", got.StatusCode, got.Text, status, want)
			}
			if got.Header.Get("Cache-Control") != "no-store" || got.Header.Get("Mcp-Session-Id") != "" {
				t.Errorf("it has the headers %v", got.Header)
			}
			if wantType := map[bool]string{true: "", false: "application/json"}[want == ""]; got.Header.Get("Content-Type") != wantType {
				t.Errorf("the content type is %q", got.Header.Get("Content-Type"))
			}
		})
	}
	ping := message("ping", "{}")
	f("initialize", initialize, 200, `"id":"a","result":{"capabilities":{"prompts":{},"resources":{},"tools":{}}`)
	f("ping", ping, 200, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	f("without Accept", ping, 200, `"result":{}`, "Accept", "")
	f("a charset", ping, 200, `"result":{}`, "Content-Type", "application/json; charset=utf-8")
	f("a notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, 202, "")
	f("a response", `{"jsonrpc":"2.0","id":1,"result":{}}`, 202, "")
	f("an unknown method", message("prompts/write", "{}"), 200, `"error":{"code":-32601,"message":"There is no method \"prompts/write\".","data":{"request_id":"`)
	f("an unknown tool", toolCall("buy_gpu", "{}"), 200, `"error":{"code":-32602,"message":"There is no tool \"buy_gpu\". tools/list has all."}`)
	f("an unknown resource", message("resources/read", `{"uri":"file:///etc/passwd"}`), 200, `"error":{"code":-32`)
	f("nothing", "", 400, `Invalid body: it is not JSON, must be a JSON-RPC message.`)
	f("no JSON", "{", 400, `it is not JSON`)
	f("two values", ping+ping, 400, `it is not JSON`)
	f("a number", "1", 400, `it is not JSON`)
	f("no message", `{"id":7}`, 400, `"id":7`)
	f("no message, no id", `{}`, 400, `"code":"invalid_body"`)
	f("another version of JSON-RPC", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, 400, `"code":-32600`)
	f("deep", strings.Repeat("[", 30000)+strings.Repeat("]", 30000), 400, `"code":"invalid_body"`)
	f("deep arguments", toolCall("get_gpu_price", `{"gpu":`+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+`}`), 400, `"error"`)
	f("a form", "a=1", 400, `the Content-Type is \"application/x-www-form-urlencoded\", must be application/json`,
		"Content-Type", "application/x-www-form-urlencoded")
	f("no content type", ping, 400, `the Content-Type is \"\", must be application/json`, "Content-Type", "")
	f("a plain text, as a form of a page can send", ping, 400, `must be application/json`, "Content-Type", "text/plain")
	f("too long", toolCall("search", `{"query":"`+strings.Repeat("x", 64<<10)+`"}`), 413, `The body is longer than 65536 bytes.`)
	f("a version", ping, 200, `"result":{}`, "Mcp-Protocol-Version", "2025-11-25")
	f("an old version", ping, 400, `"param":"MCP-Protocol-Version","allowed":["2026-07-28",`, "Mcp-Protocol-Version", "2023-01-01")
	f("a key as the version", ping, 400, `"allowed"`, "Mcp-Protocol-Version", "sk_live_AAAAAAAAAAAAAAAAAAAA")
	f("a version of the future", message("server/discover", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01",`+
		`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}`),
		400, `"supported":["2026-07-28"`, "Mcp-Protocol-Version", "2099-01-01", "Mcp-Method", "server/discover")
	f("the newest version", message("tools/call", `{"name":"get_gpu_price","arguments":{"gpu":"H200"},"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},`+
		`"io.modelcontextprotocol/clientCapabilities":{}}}`), 200, `"index_value":`,
		"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "get_gpu_price")
	f("a header that contradicts the body", message("tools/call", `{"name":"get_gpu_price","arguments":{"gpu":"H200"},"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`), 400, `"error":{"code":-32`,
		"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "list_gpu_types")
	f("an event stream is not resumed", ping, 200, `"result":{}`, "Last-Event-Id", "1_1")
	f("a session is not known", ping, 200, `"result":{}`, "Mcp-Session-Id", "abc")
	f("a subscription", message("subscriptions/listen", `{}`), 200, `-32601`)
	f("a subscription of a resource", message("resources/subscribe", `{"uri":"assay://openapi"}`), 200, `-32601`)
	f("a log level", message("logging/setLevel", `{"level":"debug"}`), 200, `"id":1`)
	f("a completion", message("completion/complete", `{}`), 200, `"error":{"code":-32`)
}

// Nothing but POST is for the tools: there are no sessions and no streams.
func TestServer_Methods(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, method := range []string{"GET", "HEAD", "DELETE", "PUT"} {
		got := r.Do(method, "", mcp.Path, "Accept", "text/event-stream")
		if got.StatusCode != 405 || got.Header.Get("Allow") != "POST, OPTIONS" {
			t.Errorf("%s: %d %v", method, got.StatusCode, got.Header)
		}
	}
}

// Versions of the protocol that know batches get all responses in one list.
func TestServer_Batch(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	list := func(n int) string {
		messages := make([]string, n)
		for i := range messages {
			messages[i] = strings.Replace(toolCall("get_gpu_price", `{"gpu":"H200"}`), `"id":1`, `"id":`+strconv.Itoa(i), 1)
		}
		return "[" + strings.Join(messages, ",") + "]"
	}
	got := r.post("", list(3), "peer", "203.0.113.1:1")
	var replies []result
	if err := json.Unmarshal([]byte(got.Text), &replies); err != nil || len(replies) != 3 {
		t.Fatalf("%v %s", err, got.Text)
	}
	for i := range replies {
		if !strings.Contains(replies[i].text(), `"index_value":`) {
			t.Errorf("response %d: %s", i, replies[i].text())
		}
	}
	if left := r.Get("", "/api/gpu/H200", "peer", "203.0.113.1:1").Header.Get("RateLimit"); left != `"public";r=56;t=60` {
		t.Errorf("three calls and a request leave %s", left)
	}
	for body, want := range map[string]string{
		list(17): "Invalid body: it has 17 messages, must have 1 to 16.", "[]": "it has 0 messages", "[1,2]": `"code":"invalid_body"`,
	} {
		if got := r.post("", body); got.StatusCode != 400 || !strings.Contains(got.Text, want) {
			t.Errorf("%.50s: %d %s", body, got.StatusCode, got.Text)
		}
	}
	if got := r.post("", list(2), "Mcp-Protocol-Version", "2025-06-18"); got.StatusCode != 400 || !strings.Contains(got.Text, "batching") {
		t.Errorf("in a version without batches: %d %s", got.StatusCode, got.Text)
	}
}

// A page of another origin may call tools only if the operator lists it. A name that leads here is no proof
// that the page is ours: a stranger can let it.
func TestServer_Origins(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *apitest.Config) {
		c.Web.CORSOrigins, c.Web.PublicURL = []string{"https://agents.example.com"}, "https://data.example.org"
	})
	f := func(origin, host string, status int, allowed string) {
		t.Helper()
		for _, caller := range []string{"", "full"} {
			request := httptest.NewRequest("POST", mcp.Path, strings.NewReader(toolCall("get_gpu_price", `{"gpu":"H200"}`)))
			request.RequestURI, request.Host = mcp.Path, host
			request.Header.Set("Content-Type", "application/json")
			request.Header.Set("Origin", origin)
			if caller != "" {
				request.Header.Set("Authorization", "Bearer "+r.Keys[caller])
			}
			got := r.Send(request)
			if got.StatusCode != status || got.Header.Get("Access-Control-Allow-Origin") != allowed {
				t.Errorf("%s at %s: %d %v %s", origin, host, got.StatusCode, got.Header, got.Text)
			}
		}
	}
	f("https://agents.example.com", "data.example.org", 200, "https://agents.example.com")
	f("https://data.example.org", "10.0.0.1:8080", 200, "")
	f("http://localhost:8080", "localhost:8080", 200, "")
	f("http://127.0.0.1:8080", "127.0.0.1:8080", 200, "")
	f("http://[::1]:8080", "[::1]:8080", 200, "")
	f("http://evil.example.net:8080", "evil.example.net:8080", 403, "")
	f("http://evil.example.net", "data.example.org", 403, "")
	f("https://data.example.org.evil.example.net", "data.example.org", 403, "")
	f("http://localhost:3000", "localhost:8080", 403, "")
	f("null", "data.example.org", 403, "")
	f("", "data.example.org", 403, "")

	preflight := func(r *rig, origin, method, headers string) apitest.Reply {
		return r.Do("OPTIONS", "", mcp.Path, "Origin", origin, "Access-Control-Request-Method", method,
			"Access-Control-Request-Headers", headers)
	}
	const needed = "authorization,content-type,mcp-protocol-version"
	if got := preflight(r, "https://agents.example.com", "POST", needed); got.StatusCode != 204 ||
		got.Header.Get("Access-Control-Allow-Headers") != needed {
		t.Errorf("a preflight: %d %v", got.StatusCode, got.Header)
	}
	for _, server := range []*rig{r, newRig(t)} {
		got := preflight(server, "https://evil.example.net", "POST", needed)
		if got.Header.Get("Access-Control-Allow-Origin") != "" || got.StatusCode == 200 {
			t.Errorf("a preflight of another origin: %d %v", got.StatusCode, got.Header)
		}
	}
}

// A call of a tool counts as the request of its route, and nothing else. Everything else counts under the public limit.
func TestServer_Limits(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const peer = "203.0.113.9:1"
	left := func() int {
		t.Helper()
		text := r.Get("", "/api/gpu-types", "peer", peer).Header.Get("RateLimit")
		n, err := strconv.Atoi(strings.TrimPrefix(strings.Split(text, ";")[1], "r="))
		if err != nil {
			t.Fatal(text)
		}
		return n
	}
	before := left()
	f := func(name, caller, body string, cost int, headers ...string) {
		t.Helper()
		r.post(caller, body, append([]string{"peer", peer}, headers...)...)
		now := left()
		if counted := before - now - 1; counted != cost {
			t.Errorf("%s counts as %d, want %d", name, counted, cost)
		}
		before = now
	}
	f("initialize", "", initialize, 1)
	f("a list", "full", message("tools/list", "{}"), 1)
	f("a notification", "", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, 1)
	f("a call of a public route", "", toolCall("get_gpu_price", `{"gpu":"H200"}`), 1)
	f("a call of a public route that fails", "", toolCall("get_gpu_price", `{"gpu":"H300"}`), 1)
	f("a call of a keyed route", "full", toolCall("get_workload_index", `{}`), 0)
	f("a call that leads to no request", "full", toolCall("get_workload_index", `{"x":1}`), 1)
	f("an unknown tool", "full", toolCall("buy_gpu", `{}`), 1)
	f("a search", "full", toolCall("search", `{"query":"x"}`), 4)
	f("a document", "full", toolCall("fetch", `{"id":"doc:api.md#rate-limits"}`), 1)
	f("a resource", "full", message("resources/read", `{"uri":"assay://methodology"}`), 1)
	f("a resource without a limit", "full", message("resources/read", `{"uri":"assay://openapi"}`), 1)
	f("a prompt", "full", message("prompts/get", `{"name":"market_today"}`), 1)
	f("no JSON", "", "{", 1)
	f("a wrong version", "", initialize, 1, "Mcp-Protocol-Version", "x")

	for left() > 0 {
	}
	refused := r.post("", initialize, "peer", peer)
	if refused.StatusCode != 429 || refused.Header.Get("Retry-After") != "60" || !strings.Contains(refused.Text, "Rate limit of 60 requests per minute exceeded.") {
		t.Errorf("over the limit: %d %v %s", refused.StatusCode, refused.Header, refused.Text)
	}
	if got := r.call("", "get_gpu_price", `{"gpu":"H200"}`, "peer", peer); !got.Result.IsError || !strings.Contains(got.text(), `"code":"rate_limited"`) {
		t.Errorf("a call over the limit: %s", got.text())
	}
	if got := r.call("full", "get_workload_index", `{}`, "peer", peer); got.Result.IsError {
		t.Errorf("a call with a key over the public limit: %s", got.text())
	}
	for !strings.Contains(r.Get("full", "/api/workload?limit=1").Header.Get("RateLimit"), ";r=1;") {
	}
	for _, over := range []bool{false, true} {
		got := r.call("full", "get_workload_index", `{"limit":1}`)
		if strings.Contains(got.text(), `Rate limit of 600 requests per minute`) != over {
			t.Errorf("a call with the key: %s", got.text())
		}
	}
}

// A call is in the log and in the usage as the request of its route, under the id of the caller's request, and no text
// has the key.
func TestServer_LogAndUsage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	key := r.Keys["full"]
	texts := []string{
		r.post("full", toolCall("get_workload_index", `{"lab":"openai"}`), "X-Request-Id", "try-2", "peer", "203.0.113.7:1").Text,
		r.post("full", toolCall("get_workload_index", `{"lab":"`+key+`"}`)).Text,
		r.post("full", toolCall(key, `{}`)).Text,
		r.post("full", toolCall("get_workload_index", `{"`+key+`":1}`)).Text,
		r.post("full", toolCall("fetch", `{"id":"`+key+`"}`)).Text,
		r.post("full", message(key, `{}`)).Text,
		r.post("full", `{"jsonrpc":"`+key+`","id":1,"method":"ping"}`).Text,
		r.post("full", message("resources/read", `{"uri":"`+key+`"}`)).Text,
		r.post("full", message("prompts/get", `{"name":"`+key+`"}`)).Text,
	}
	logs := r.Logs.String()
	for _, want := range []string{
		`"id":"try-2","method":"GET","path":"/api/workload","status":200`, `"client":"203.0.113.7","key":"`,
		`"id":"try-2","method":"POST","path":"/mcp","status":200`,
	} {
		if !strings.Contains(logs, want) {
			t.Errorf("the log lacks %s:\n%s", want, logs)
		}
	}
	for i, text := range append(texts, logs) {
		if strings.Contains(text, key) {
			t.Errorf("text %d has the key: %s", i, text)
		}
	}
}

// Behind a proxy the client's address counts, not the proxy's.
func TestServer_Proxies(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.TrustProxies("192.0.0.0/8"))
	for i := range 61 {
		got := r.call("", "list_gpu_types", `{}`, "X-Forwarded-For", "203.0.113.8")
		if got.Result.IsError != (i == 60) {
			t.Fatalf("call %d: %s", i+1, got.text())
		}
	}
	if got := r.call("", "list_gpu_types", `{}`, "X-Forwarded-For", "203.0.113.99"); got.Result.IsError {
		t.Errorf("another client: %s", got.text())
	}
}

// A panic of a handler is a failed call, also after the response has begun, and the server continues.
func TestServer_Panic(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Panic = true
	got := r.call("full", "get_determination", `{"gpu":"H200","date":"2026-02-01"}`)
	if !got.Result.IsError || !strings.Contains(got.text(), `"code":"internal"`) {
		t.Errorf("%s", got.text())
	}
	if got := r.call("", "get_gpu_price", `{"gpu":"H200"}`); got.Result.IsError {
		t.Errorf("afterwards: %s", got.text())
	}
}

// Before there is data, the tools are not available, like the routes.
func TestServer_WithoutData(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Snapshots.Store(nil)
	if got := r.post("", initialize); got.StatusCode != 503 {
		t.Errorf("the tools: %d %s", got.StatusCode, got.Text)
	}
	if got := r.Get("", "/llms.txt"); got.StatusCode != 200 {
		t.Errorf("the documents: %d %s", got.StatusCode, got.Text)
	}
}

// Callers at the same time get what is theirs.
func TestServer_Parallel(t *testing.T) {
	t.Parallel()
	r := newRig(t, quiet)
	calls := int64(10_000)
	if testing.Short() {
		calls = 500
	}
	gpus := []string{"H100 SXM", "H200", "B200", "A100 SXM4", "RTX 5090"}
	var next atomic.Int64
	var workers sync.WaitGroup
	for range 64 {
		workers.Go(func() {
			for n := next.Add(1); n <= calls; n = next.Add(1) {
				gpu := gpus[n%int64(len(gpus))]
				request := httptest.NewRequest("POST", mcp.Path, strings.NewReader(toolCall("get_gpu_price", `{"gpu":"`+gpu+`"}`)))
				request.RequestURI = mcp.Path
				request.RemoteAddr = fmt.Sprintf("10.%d.%d.%d:1", n>>16, n>>8&255, n&255)
				request.Header.Set("Content-Type", "application/json")
				out := httptest.NewRecorder()
				r.ServeHTTP(out, request)
				if out.Code != 200 || !strings.Contains(out.Body.String(), `"gpu_name":"`+gpu+`"`) {
					t.Errorf("call %d: %d %s", n, out.Code, out.Body)
					return
				}
			}
		})
	}
	workers.Wait()
}

// A client that goes away in the middle of a call harms no one: the call may end later, without its request.
func TestServer_Canceled(t *testing.T) {
	t.Parallel()
	r := newRig(t, quiet)
	var workers sync.WaitGroup
	for n := range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		request := httptest.NewRequestWithContext(ctx, "POST", mcp.Path, strings.NewReader(
			toolCall("get_gpu_index_history", `{"gpu":"H200","bad":1}`)))
		request.RequestURI = mcp.Path
		request.RemoteAddr = fmt.Sprintf("10.0.%d.%d:1", n>>8, n&255)
		request.Header.Set("Content-Type", "application/json")
		workers.Go(func() { r.ServeHTTP(httptest.NewRecorder(), request) })
		workers.Go(cancel)
	}
	workers.Wait()
	if got := r.call("", "get_gpu_price", `{"gpu":"H200"}`, "peer", "10.9.9.9:1"); got.Result.IsError {
		t.Errorf("afterwards: %s", got.text())
	}
}

// Resources and prompts.
func TestServer_Resources(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	listed := r.post("", message("resources/list", "{}")).Text
	for uri, want := range map[string]string{
		"assay://methodology": `\"version\":\"1.0.0\"`, "assay://gpu-types": `RTX PRO 6000 WS`, "assay://regions": `us-east`,
		"assay://token-types": `openai`, "assay://memory-types": `dram`, "assay://llm-coding-products": `cc-prs`,
		"assay://openapi": `\"openapi\":\"3.1.0\"`,
	} {
		if !strings.Contains(listed, `"uri":"`+uri+`"`) {
			t.Errorf("%s is not listed", uri)
		}
		if got := r.post("unknown key", message("resources/read", `{"uri":"`+uri+`"}`)).Text; !strings.Contains(got, want) {
			t.Errorf("%s: %.300s", uri, got)
		}
	}
	prompt := r.post("", message("prompts/get", `{"name":"prove_price","arguments":{"gpu":"H200","date":"2026-02-01"}}`)).Text
	if !strings.Contains(prompt, "H200 on 2026-02-01") {
		t.Errorf("a prompt: %s", prompt)
	}
	if got := r.post("", message("prompts/get", `{"name":"prove_price"}`)).Text; !strings.Contains(got, `needs the argument \"gpu\"`) {
		t.Errorf("a prompt without its arguments: %s", got)
	}
}

// A body that arrives too slowly ends like on every route, and a client over a real connection gets what the rig gets.
func TestServer_Network(t *testing.T) {
	t.Parallel()
	r := newRig(t, quiet)
	server := httptest.NewServer(r)
	defer server.Close()
	response, err := http.Post(server.URL+mcp.Path, "application/json", strings.NewReader(toolCall("list_gpu_types", "{}")))
	r.Must(err)
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != 200 || response.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%d %v", response.StatusCode, response.Header)
	}
}
