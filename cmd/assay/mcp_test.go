package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// withKey sends a key with every request.
type withKey string

// RoundTrip sends a request.
func (k withKey) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+string(k))
	return http.DefaultTransport.RoundTrip(request)
}

// connectAgent connects an agent.
func connectAgent(t *testing.T, transport mcp.Transport) *mcp.ClientSession {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// callTool returns the structured result of a call.
func callTool(t *testing.T, session *mcp.ClientSession, name string, arguments map[string]any) map[string]any {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if result.IsError {
		t.Fatalf("%s: %s", name, result.Content[0].(*mcp.TextContent).Text)
	}
	found, _ := result.StructuredContent.(map[string]any)
	return found
}

// An agent gets the same tools and results from a server and from assay mcp, which proves values itself.
func TestMCP_BothTransports(t *testing.T) {
	t.Parallel()
	needProgram(t)
	demo, err := sharedDemo()
	if err != nil {
		t.Fatal(err)
	}
	keyFile := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(keyFile, []byte(demo.keys.Full+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	overHTTP := connectAgent(t, &mcp.StreamableClientTransport{
		Endpoint: demo.url + "/mcp", HTTPClient: &http.Client{Transport: withKey(demo.keys.Full)},
	})
	command := connectAgent(t, &mcp.CommandTransport{
		Command: exec.Command(program, "mcp", "--server", demo.url, "--key-file", keyFile),
	})
	for _, c := range []struct {
		tool      string
		arguments map[string]any
	}{
		{"get_gpu_index_history", map[string]any{"gpu": "H200", "granularity": "hourly", "limit": 3}},
		{"get_workload_index", map[string]any{"lab": "openai"}},
		{"get_neocloud_aggregate", map[string]any{}},
		{"list_corrections", map[string]any{}},
		{"verify_value", map[string]any{"gpu": "H200", "date": "2026-10-01"}},
	} {
		direct, remote := callTool(t, overHTTP, c.tool, c.arguments), callTool(t, command, c.tool, c.arguments)
		if c.tool == "verify_value" {
			if direct["verified"] != true || direct["checked_by"] != "the server" || remote["checked_by"] != "this computer" {
				t.Errorf("%v: %v", c.arguments, direct)
			}
			delete(direct, "checked_by")
			delete(remote, "checked_by")
		}
		if diff := cmp.Diff(direct, remote); diff != "" || direct["success"] != true && direct["verified"] != true {
			t.Errorf("%s %v: the server and assay mcp differ:\n%s", c.tool, c.arguments, diff)
		}
	}
}

// The command line says what is wrong before an agent waits for it, and keeps the key.
func TestMCP_CommandLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const secret = "sk_live_secret"
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	key := file("key", secret+"\n")
	f := func(want string, args ...string) {
		t.Helper()
		code, out, errs := runAssay(t, "", append([]string{"mcp"}, args...)...)
		if code != exitUsage || !strings.Contains(errs, want) || strings.Contains(out+errs, secret) {
			t.Errorf("%q: %d %s%s, want %s", args, code, out, errs, want)
		}
	}
	f("--server is required")
	f("must be http:// or https://", "--server", "example.com")
	f("must be http:// or https://", "--server", "https://user:"+secret+"@example.com")
	f("--key-file needs a --server that begins with https://", "--server", "http://example.com", "--key-file", key)
	f("the file must have one key", "--server", "https://example.com", "--key-file", file("two", secret+"\n"+secret))
	f("the file must have one key", "--server", "https://example.com", "--key-file", file("none", "\n"))
	f("invalid value", "--server", "https://example.com", "--log-key", "x")
}

// What the agent writes, and nothing else, is what it reads: standard output has only messages.
func TestMCP_StandardOutput(t *testing.T) {
	t.Parallel()
	in := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
		`"clientInfo":{"name":"t","version":"1"}}}` + "\n"
	needProgram(t)
	agent := exec.CommandContext(t.Context(), program, "mcp", "--server", "http://127.0.0.1:1")
	var errs strings.Builder
	agent.Stderr = &errs
	input, err := agent.StdinPipe() // open until the response is there, as an agent keeps it
	if err != nil {
		t.Fatal(err)
	}
	output, err := agent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(input, in); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(output)
	out, err := lines.ReadString('\n')
	if err != nil || !json.Valid([]byte(out)) || !strings.Contains(out, `"name":"assay"`) {
		t.Errorf("%v: %q", err, out)
	}
	_ = input.Close()
	rest, err := io.ReadAll(lines)
	if err != nil || len(rest) > 0 || agent.Wait() != nil || errs.Len() > 0 {
		t.Errorf("%v, then %q, %q", err, rest, errs.String())
	}
}
