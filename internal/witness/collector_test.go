package witness_test

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/logtest"
	"github.com/assaydata/assay/internal/witness"
	"github.com/assaydata/assay/verifier"
)

// collected is a log with the signatures that it has got.
type collected struct {
	*logtest.Log
	mu    sync.Mutex
	lines map[string]string // by witness
	got   chan struct{}     // has an entry for each
}

func newCollected(l *logtest.Log) *collected {
	return &collected{Log: l, lines: map[string]string{}, got: make(chan struct{}, 100)}
}

func (c *collected) Unwitnessed(context.Context) (size int64, signed string, witnesses []string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range c.lines {
		witnesses = append(witnesses, name)
	}
	return c.Size(), c.Checkpoint(c.Size()), witnesses, nil
}

func (c *collected) ProveConsistency(_ context.Context, from, to int64) (list []assay.Hash, signed int64, err error) {
	for _, hash := range c.Consistency(from, to) {
		list = append(list, assay.Hash(hash))
	}
	return list, c.Size(), nil
}

func (c *collected) AddCosignature(_ context.Context, _ int64, name, line string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines[name] = line
	c.got <- struct{}{}
	return nil
}

// peerOf serves a witness.
func peerOf(t *testing.T, w *witness.Witness) witness.Peer {
	t.Helper()
	server := httptest.NewServer(w.Handler(slog.New(slog.DiscardHandler)))
	t.Cleanup(server.Close)
	return mustPeer(t, w.Key()+"="+server.URL+"/")
}

func mustPeer(t *testing.T, text string) witness.Peer {
	t.Helper()
	peer, err := witness.ParsePeer(text)
	if err != nil {
		t.Fatal(err)
	}
	return peer
}

func collectorOf(l witness.Log, peers ...witness.Peer) *witness.Collector {
	return &witness.Collector{Store: l, Peers: peers, Log: slog.New(slog.DiscardHandler)}
}

// Witnesses that are new, up to date, or far behind sign, and one that is down holds up no other.
func TestCollector(t *testing.T) {
	t.Parallel()
	l := newCollected(numbered(t, 300, noFork))
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()
	var peers []witness.Peer
	keys := []string{}
	for name, seen := range map[string]int64{"new": 0, "behind": 100, "current": 300} {
		w := open(t, t.TempDir(), name)
		if seen > 0 {
			mustSign(t, w, request(0, nil, l.Checkpoint(seen)), l.Checkpoint(seen))
		}
		peers, keys = append(peers, peerOf(t, w)), append(keys, w.Key())
	}
	peers = append(peers, mustPeer(t, open(t, t.TempDir(), "down").Key()+"="+down.URL))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- collectorOf(l, peers...).Run(ctx) }()
	for range keys {
		<-l.got
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	log, err := verifier.NewLog(l.Key)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := log.Require(len(keys), keys...)
	if err != nil {
		t.Fatal(err)
	}
	signed := l.Checkpoint(300)
	for _, line := range l.lines {
		signed += line
	}
	if _, err := reader.Open(signed); err != nil {
		t.Error(err)
	}
}

// A witness that has seen another history, or more, says so to the operator.
func TestCollector_Refused(t *testing.T) {
	t.Parallel()
	f := func(seen *logtest.Log, size int64, want string) {
		t.Helper()
		w := open(t, t.TempDir(), "w.example")
		mustSign(t, w, request(0, nil, seen.Checkpoint(size)), seen.Checkpoint(size))
		l := newCollected(numbered(t, 200, noFork))
		err := collectorOf(l).AskOnce(t.Context(), peerOf(t, w))
		if err == nil || !strings.Contains(err.Error(), want) || len(l.lines) > 0 {
			t.Errorf("%v and %v, want an error with %q", err, l.lines, want)
		}
	}
	f(numbered(t, 300, 7), 200, "the witness has signed another history")
	f(numbered(t, 300, 7), 100, "422 Unprocessable Entity: the log of 200 entries does not begin with that of 100")
	f(numbered(t, 300, noFork), 300, "the witness has signed a longer history")
}

// Nothing of what a hostile witness sends gets into the checkpoint.
func TestCollector_HostileWitness(t *testing.T) {
	t.Parallel()
	l := newCollected(numbered(t, 20, noFork))
	honest, other := open(t, t.TempDir(), "w.example"), open(t, t.TempDir(), "other.example")
	own, err := honest.AddCheckpoint(t.Context(), request(0, nil, l.Checkpoint(20)))
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := other.AddCheckpoint(t.Context(), request(0, nil, l.Checkpoint(20)))
	if err != nil {
		t.Fatal(err)
	}
	earlier, err := open(t, t.TempDir(), "w.example").AddCheckpoint(t.Context(), request(0, nil, l.Checkpoint(10)))
	if err != nil {
		t.Fatal(err)
	}
	f := func(what string, status int, body string, want string) {
		t.Helper()
		server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
			out.WriteHeader(status)
			_, _ = io.WriteString(out, body)
		}))
		defer server.Close()
		err := collectorOf(l).AskOnce(t.Context(), mustPeer(t, honest.Key()+"="+server.URL))
		if got := slices.Collect(maps.Values(l.lines)); want != "" && !slices.Equal(got, []string{want}) {
			t.Errorf("%s: stored %q (%v), want %q", what, got, err, want)
		} else if want == "" && (err == nil || len(got) > 0) {
			t.Errorf("%s: stored %q, %v, want an error", what, got, err)
		}
		clear(l.lines)
	}
	f("an honest one", http.StatusOK, own, own)
	f("more than asked for", http.StatusOK, foreign+own, own)
	f("the signature of another", http.StatusOK, foreign, "")
	f("the signature of another checkpoint", http.StatusOK, earlier, "")
	f("nothing", http.StatusOK, "", "")
	f("a text", http.StatusOK, "signed, trust me\n", "")
	f("a second text", http.StatusOK, "\n\n"+own, "")
	f("a flood", http.StatusOK, strings.Repeat(own, 10_000), "")
	f("a conflict without a number", http.StatusConflict, "many\n", "")
	f("a negative number", http.StatusConflict, "-5\n", "")
	f("a redirect to nowhere", http.StatusFound, "", "")
	f("a failure", http.StatusInternalServerError, own, "")
}

func TestParsePeer(t *testing.T) {
	t.Parallel()
	key := open(t, t.TempDir(), "w.example").Key()
	for _, text := range []string{
		"", key, key + "=", key + "=w.example", "https://w.example", "w.example=https://w.example",
	} {
		if _, err := witness.ParsePeer(text); err == nil {
			t.Errorf("%q is a witness", text)
		}
	}
	if p := mustPeer(t, key+"=https://w.example/path/"); p.URL != "https://w.example/path" || p.Witness.Key() != key {
		t.Errorf("%+v", p)
	}
}
