package witness_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/assaydata/assay/internal/logtest"
	"github.com/assaydata/assay/internal/witness"
	"github.com/assaydata/assay/verifier"
)

const logName = "assay/test"

// open opens a witness of the log, in a folder.
func open(t *testing.T, dir, name string, logs ...string) *witness.Witness {
	t.Helper()
	if len(logs) == 0 {
		logs = []string{logtest.New(t, logName).Key}
	}
	seed := sha256.Sum256([]byte(name))
	now := func() time.Time { return time.Unix(1000, 0) }
	var known []witness.KnownLog
	for _, key := range logs {
		known = append(known, witness.KnownLog{Log: mustLog(t, key)})
	}
	w, err := witness.Open(dir, name, ed25519.NewKeyFromSeed(seed[:]), known, now)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func mustLog(t *testing.T, key string) *verifier.Log {
	t.Helper()
	log, err := verifier.NewLog(key)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// request is the body of a request.
func request(old int64, proof []tlog.Hash, checkpoint string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "old %d\n", old)
	for _, hash := range proof {
		fmt.Fprintln(&b, hash)
	}
	return b.String() + "\n" + checkpoint
}

// numbered is a log with so many entries. A fork has another entry at a place.
func numbered(t *testing.T, entries, fork int) *logtest.Log {
	t.Helper()
	l := logtest.New(t, logName)
	for i := range entries {
		if i == fork {
			l.Add("another history")
			continue
		}
		l.Add(fmt.Sprint("entry ", i))
	}
	return l
}

const noFork = -1

// mustSign wants a signature that a reader accepts.
func mustSign(t *testing.T, w *witness.Witness, body, checkpoint string) {
	t.Helper()
	line, err := w.AddCheckpoint(t.Context(), body)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := mustLog(t, logtest.New(t, logName).Key).Require(1, w.Key())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Open(checkpoint + line); err != nil {
		t.Errorf("a reader refuses the signature: %v", err)
	}
}

func wantRefusal(t *testing.T, w *witness.Witness, body string, reason witness.Reason, what string) *witness.Refusal {
	t.Helper()
	line, err := w.AddCheckpoint(t.Context(), body)
	refusal, ok := errors.AsType[*witness.Refusal](err)
	if !ok || refusal.Reason != reason || line != "" {
		t.Fatalf("%s: signed %q, %v, want the refusal %d", what, line, err, reason)
	}
	return refusal
}

func TestAddCheckpoint(t *testing.T) {
	t.Parallel()
	l := numbered(t, 300, noFork)
	w := open(t, t.TempDir(), "w.example")
	mustSign(t, w, request(0, nil, l.Checkpoint(5)), l.Checkpoint(5))
	mustSign(t, w, request(5, nil, l.Checkpoint(5)), l.Checkpoint(5)) // again
	for _, sizes := range [][2]int64{{5, 6}, {6, 256}, {256, 257}, {257, 300}} {
		proof := l.Consistency(sizes[0], sizes[1])
		mustSign(t, w, request(sizes[0], proof, l.Checkpoint(sizes[1])), l.Checkpoint(sizes[1]))
	}
	stale := wantRefusal(t, w, request(6, l.Consistency(6, 300), l.Checkpoint(300)), witness.Stale, "another number")
	if stale.Seen != 300 {
		t.Errorf("the witness says that it has seen %d entries, want 300", stale.Seen)
	}
	wantRefusal(t, w, request(200, nil, l.Checkpoint(200)), witness.Stale, "an old checkpoint")
}

// The heart of it: no second history gets the signature, whichever way it is sent.
func TestAddCheckpoint_Fork(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, fork := numbered(t, 300, noFork), numbered(t, 300, 150)
	w := open(t, dir, "w.example")
	mustSign(t, w, request(0, nil, l.Checkpoint(200)), l.Checkpoint(200))
	f := func(what string, old int64, proof []tlog.Hash, size int64, reason witness.Reason) {
		t.Helper()
		wantRefusal(t, w, request(old, proof, fork.Checkpoint(size)), reason, what)
	}
	f("longer, with its own proof", 200, fork.Consistency(200, 300), 300, witness.Inconsistent)
	f("longer, with the proof of the other", 200, l.Consistency(200, 300), 300, witness.Inconsistent)
	f("longer, without a proof", 200, nil, 300, witness.Inconsistent)
	f("as if it were the first", 0, nil, 300, witness.Stale)
	f("from where both are the same", 100, fork.Consistency(100, 300), 300, witness.Stale)
	f("of the same size", 200, nil, 200, witness.Forked)
	f("of the same size, as if it were the first", 0, nil, 200, witness.Forked)
	evidence, err := filepath.Glob(filepath.Join(dir, "*.fork"))
	if err != nil || len(evidence) != 1 {
		t.Fatalf("the evidence is in %q, %v", evidence, err)
	}
	text, err := os.ReadFile(evidence[0])
	if want := l.Checkpoint(200) + "\n" + fork.Checkpoint(200); err != nil || string(text) != want {
		t.Errorf("the evidence is %q (%v), want both checkpoints", text, err)
	}
	mustSign(t, w, request(200, l.Consistency(200, 300), l.Checkpoint(300)), l.Checkpoint(300)) // the first one continues
}

// A witness that forgets would sign a second history.
func TestWitness_Remembers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, fork := numbered(t, 20, noFork), numbered(t, 20, 3)
	mustSign(t, open(t, dir, "w.example"), request(0, nil, l.Checkpoint(10)), l.Checkpoint(10))
	again := open(t, dir, "w.example")
	wantRefusal(t, again, request(0, nil, fork.Checkpoint(10)), witness.Forked, "another history after a restart")
	mustSign(t, again, request(10, l.Consistency(10, 20), l.Checkpoint(20)), l.Checkpoint(20))

	files, err := filepath.Glob(filepath.Join(dir, "*.checkpoint"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%q, %v", files, err)
	}
	if err := os.WriteFile(files[0], []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	known := []witness.KnownLog{{Log: mustLog(t, l.Key)}}
	if _, err := witness.Open(dir, "w.example", make(ed25519.PrivateKey, 64), known, time.Now); err == nil {
		t.Error("a witness with a damaged memory begins again")
	}
}

// What cannot be kept is not signed.
func TestWitness_CannotWrite(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "folder")
	l := numbered(t, 20, noFork)
	w := open(t, dir, "w.example") // it does not exist
	line, err := w.AddCheckpoint(t.Context(), request(0, nil, l.Checkpoint(10)))
	if _, refused := errors.AsType[*witness.Refusal](err); err == nil || refused || line != "" {
		t.Fatalf("signed %q, %v, want an error of the disk", line, err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	mustSign(t, w, request(0, nil, l.Checkpoint(10)), l.Checkpoint(10))
}

// The statuses and bodies are those of C2SP's tlog-witness.
func TestHandler(t *testing.T) {
	t.Parallel()
	l, fork, stranger := numbered(t, 300, noFork), numbered(t, 300, 7), logtest.New(t, "assay/stranger")
	stranger.Add("a")
	var lines bytes.Buffer
	w := open(t, t.TempDir(), "w.example")
	server := httptest.NewServer(w.Handler(slog.New(slog.NewTextHandler(&lines, nil))))
	defer server.Close()
	post := func(body string) (status int, contentType, text string) {
		t.Helper()
		response, err := http.Post(server.URL+"/add-checkpoint", "", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		got, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, response.Header.Get("Content-Type"), string(got)
	}
	f := func(what, body string, want int, begins string) {
		t.Helper()
		if status, _, text := post(body); status != want || !strings.HasPrefix(text, begins) {
			t.Errorf("%s: %d %q, want %d %q", what, status, text, want, begins)
		}
	}
	f("the first", request(0, nil, l.Checkpoint(200)), http.StatusOK, "— w.example ")
	f("a fork", request(200, nil, fork.Checkpoint(200)), http.StatusConflict, "200\n")
	f("a wrong proof", request(200, fork.Consistency(200, 300), fork.Checkpoint(300)),
		http.StatusUnprocessableEntity, "the log of 300 entries does not begin with that of 200")
	f("another log", request(0, nil, stranger.Checkpoint(1)), http.StatusNotFound, "this witness does not know the log")
	f("not signed", request(200, nil, strings.Replace(l.Checkpoint(200), "\n200\n", "\n201\n", 1)), http.StatusForbidden, "")
	f("a smaller log", request(201, nil, l.Checkpoint(200)), http.StatusBadRequest, "a log of 200 entries cannot continue")
	for _, body := range []string{
		"", "old", "old 1", "old x\n\n", "old 01\n\n", "old -1\n\n", "old 5\n*\n\n", "old 5\nAAAA\n\n",
		"new 5\n\n" + l.Checkpoint(200), request(5, make([]tlog.Hash, 64), l.Checkpoint(200)), strings.Repeat("x", 70_000),
	} {
		f("malformed", body, http.StatusBadRequest, "")
	}
	status, contentType, text := post(request(7, nil, l.Checkpoint(200)))
	if status != http.StatusConflict || contentType != "text/x.tlog.size" || text != "200\n" {
		t.Errorf("another number: %d %s %q", status, contentType, text)
	}
	response, err := http.Get(server.URL + "/vkey")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if got, err := io.ReadAll(response.Body); err != nil || string(got) != w.Key()+"\n" {
		t.Errorf("/vkey has %q (%v), want %s", got, err, w.Key())
	}
	if !strings.Contains(lines.String(), "has signed two histories") {
		t.Errorf("the log of the witness does not mention the fork:\n%s", lines.String())
	}
}

// A log that has rotated its key is asked for the events, and not more often than someone could want it to be.
func TestWitness_FollowsTheKey(t *testing.T) {
	t.Parallel()
	l := numbered(t, 20, noFork)
	old, now, asked := mustLog(t, l.Key), time.Unix(1000, 0), 0
	events := logtest.KeyEvent(logName, 1, verifier.KeyBegin, logName, logName) + "\n"
	known := witness.KnownLog{Log: old, Follow: func(context.Context) (*verifier.Log, error) {
		asked++
		return old.Follow(events)
	}}
	w, err := witness.Open(t.TempDir(), "w.example", logtest.KeyOf("w"), []witness.KnownLog{known},
		func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	mustSign(t, w, request(0, nil, l.Checkpoint(10)), l.Checkpoint(10))
	l.Use(logtest.KeyOf("another"))
	continued := request(10, l.Consistency(10, 20), l.Checkpoint(20))
	wantRefusal(t, w, continued, witness.Unsigned, "a key that the log does not name")
	events += logtest.KeyEvent(logName, 2, verifier.KeyRotate, "another", logName, "another") + "\n"
	wantRefusal(t, w, continued, witness.Unsigned, "the same within a minute")
	if asked != 1 {
		t.Errorf("the log was asked %d times within a minute, want 1", asked)
	}
	now = now.Add(time.Minute)
	if _, err := w.AddCheckpoint(t.Context(), continued); err != nil {
		t.Errorf("after a rotation: %v", err)
	}
	fork := numbered(t, 30, 15)
	fork.Use(logtest.KeyOf("another"))
	wantRefusal(t, w, request(20, fork.Consistency(20, 30), fork.Checkpoint(30)), witness.Inconsistent,
		"another history with the new key")
}
