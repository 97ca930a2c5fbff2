//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// testDescription is the description of the API as the server of a new database serves it.
func testDescription(t *testing.T) *description {
	t.Helper()
	d, err := readDescription()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

var readDescription = sync.OnceValues(func() (*description, error) {
	text, err := os.ReadFile("../../internal/api/openapi.yaml")
	if err != nil {
		return nil, err
	}
	var document any
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	asJSON, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	return parseDescription(asJSON)
})

// testCast has one caller of each kind.
func testCast() *cast {
	key := func(prefix, letter string) []string { return []string{prefix + "abcdef_" + strings.Repeat(letter, 49)} }
	s := []session{{token: strings.Repeat("T", 43), tier: fullTier, keyIDs: []string{"abcdef"}}}
	return &cast{
		addresses: 100_000, premium: key("sk_prem_", "P"), full: key("sk_live_", "K"), revoked: key("sk_live_", "R"), sessions: s, spare: s,
	}
}

func testGenerator(t *testing.T, seed uint64) *generator {
	t.Helper()
	return &generator{
		seed: seed, now: time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC), description: testDescription(t), cast: testCast(),
	}
}

// An exchange follows from the seed and its number alone, so that a failure can be repeated.
func TestGenerator_IsRepeatable(t *testing.T) {
	t.Parallel()
	first, second, other := testGenerator(t, 1), testGenerator(t, 1), testGenerator(t, 2)
	second.exchange(7) // the order of exchanges does not matter
	same := 0
	for number := range uint64(100) {
		a, b := wire(first.exchange(number)), wire(second.exchange(number))
		if !bytes.Equal(a, b) {
			t.Fatalf("exchange %d differs:\n%q\n%q", number, a, b)
		}
		if bytes.Equal(a, wire(other.exchange(number))) {
			same++
		}
	}
	if same > 0 {
		t.Errorf("%d of 100 exchanges are the same with another seed", same)
	}
}

func wire(e *exchange) (all []byte) {
	for _, r := range e.requests {
		all = append(all, r.raw...)
	}
	return all
}

// Every operation, every caller and every mutation takes part, in every form.
func TestGenerator_CoversEverything(t *testing.T) {
	t.Parallel()
	g := testGenerator(t, 1)
	operations, mutated, callers, forms := map[*operation]int{}, map[string]int{}, map[role]int{}, map[form]int{}
	for number := range uint64(2500) {
		e := g.exchange(number)
		forms[e.form]++
		for _, r := range e.requests {
			operations[r.operation]++
			callers[r.role]++
			for _, name := range r.mutations {
				mutated[name]++
			}
		}
	}
	for _, o := range g.description.operations {
		if operations[o] < 3 {
			t.Errorf("%s %s was requested %d times", o.method, o.template, operations[o])
		}
	}
	for _, m := range mutations {
		if mutated[m.name] < 3 {
			t.Errorf("the mutation %q was used %d times", m.name, mutated[m.name])
		}
	}
	if len(callers) != int(roles) || len(forms) != 3 {
		t.Errorf("callers %v, forms %v", callers, forms)
	}
}

// A request that ends its connection is the last of its exchange, and no client sends bytes that only a mutation
// writes.
func TestGenerator_Ends(t *testing.T) {
	t.Parallel()
	g := testGenerator(t, 3)
	for number := range uint64(500) {
		e := g.exchange(number)
		for i, r := range e.requests {
			if r.ends && i < len(e.requests)-1 {
				t.Fatalf("exchange %d: request %d of %d ends the connection", number, i+1, len(e.requests))
			}
			if e.form == byClient && r.broken && !strings.HasPrefix(r.target, "http:") {
				t.Fatalf("exchange %d: a client cannot send %v", number, r.mutations)
			}
		}
	}
}

func TestDescription_Find(t *testing.T) {
	t.Parallel()
	d := testDescription(t)
	f := func(target, want string) {
		t.Helper()
		got := ""
		if p := d.find(target); p != nil {
			got = p.template
		}
		if got != want {
			t.Errorf("find(%q) = %q, want %q", target, got, want)
		}
	}
	f("/api/gpu-types", "/api/gpu-types")
	f("/api/gpu-types?a=/x", "/api/gpu-types")
	f("/api/%67pu-types", "/api/gpu-types")
	f("/api/gpu/H100%20SXM", "/api/gpu/{gpuName}")
	f("/api/gpu/a%2Fb/history", "/api/gpu/{gpuName}/history")
	f("/api/daily-index/all", "/api/daily-index/all")
	f("/api/daily-index/all/previous", "/api/daily-index/{gpuName}/previous")
	f("http://evil.example/api/gpu-types?x=http://y", "/api/gpu-types")
	f("http:///api/gpu-types", "/api/gpu-types")
	f("/log/tile/0/000", "/log/tile/{path}")
	f("/log/tile/0%2Fx001/234.p/5", "/log/tile/{path}")
	f("/log/tile/0/../000", "")
	f("/log/tile//000", "")
	f("/log/tile/", "")
	f("/api/gpu-types/", "")
	f("/api//gpu-types", "")
	f("/api/gpu/../gpu-types", "")
	f("/api/gpu/%2e%2e/history", "")
	f("/api/gpu/", "")
	f("/api/%zz", "")
	f("http://evil.example", "")
	f("*", "")
}

func TestAddress_AllDifferent(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for n := range 100_000 {
		seen[address(n)] = true
	}
	if len(seen) != 100_000 {
		t.Errorf("%d different addresses", len(seen))
	}
}

func TestAppendChunks(t *testing.T) {
	t.Parallel()
	if got := string(appendChunks(nil, []byte("abcdef"))); got != "1\r\na\r\n4\r\nbcde\r\n1\r\nf\r\n0\r\n\r\n" {
		t.Errorf("%q", got)
	}
}

func TestAppendEscaped(t *testing.T) {
	t.Parallel()
	f := func(e encoding, want string) {
		t.Helper()
		if got := string(appendEscaped(nil, "a é/", e)); got != want {
			t.Errorf("encoding %d: %s, want %s", e, got, want)
		}
	}
	f(usual, "a%20%C3%A9%2F")
	f(escaped, "%61%20%C3%A9%2F")
	f(lowerCase, "%61%20%c3%a9%2f")
	f(doubled, "%2561%2520%25C3%25A9%252F")
	f(plusses, "a+%C3%A9%2F")
	f(sloppy, "a%20é/")
	if !slices.Contains([]encoding{usual, escaped, lowerCase, doubled, plusses, sloppy}, encodings-1) {
		t.Error("an encoding is not tested")
	}
}

// The mutation of a key without a scheme, which is no valid credential, does not make it one: the checker would take
// the response for a hole in the server.
func TestGenerator_ForgedStaysForged(t *testing.T) {
	t.Parallel()
	key := testCast().full[0]
	for number := range uint64(100) {
		r := &request{role: forged}
		r.header("Authorization", key)
		repeatedCredentials(newDraw(1, number), r)
		for _, h := range r.headers {
			if strings.Join(strings.Fields(h.value), " ") == "Bearer "+key {
				t.Fatalf("draw %d sends %q", number, h.value)
			}
		}
	}
}
