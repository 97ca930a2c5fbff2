package monitor_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assaydata/assay/internal/logtest"
	"github.com/assaydata/assay/internal/merkle"
	"github.com/assaydata/assay/internal/monitor"
	"github.com/assaydata/assay/verifier"
)

// host serves a log, and the records and values that it lists, honestly or not.
type host struct {
	t      *testing.T
	mu     sync.Mutex
	log    *logtest.Log
	key    string                                // of the log, as the monitor knows it
	size   int64                                 // of the checkpoint; 0: none is signed
	lie    func(path string, text []byte) []byte // changes responses; nil: none
	values map[string]string                     // by day
	events string                                // of the log's key
	server *httptest.Server
}

func newHost(t *testing.T) *host {
	t.Helper()
	h := &host{t: t, log: logtest.New(t, "assay/test"), values: map[string]string{}}
	h.key = h.log.Key
	h.server = httptest.NewServer(h)
	t.Cleanup(h.server.Close)
	return h
}

// record is the text of a record, with its hash.
func record(day, value string) (text, hash string) {
	text = `{"gpu_type":"H200","region":"global","granularity":"daily","timestamp":"` + day + `T21:00:00.000Z",` +
		`"revision":0,"methodology":"1.0.0","index_value":` + value + `,"published_at":"2026-02-04T09:30:00.000Z"}`
	sum := sha256.Sum256([]byte(text))
	hash = hex.EncodeToString(sum[:])
	return strings.TrimSuffix(text, "}") + `,"hash":"` + hash + `"}`, hash
}

func (h *host) change(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
}

// publish adds a record and other entries, and signs.
func (h *host) publish(day, value string, others int) {
	h.change(func() {
		_, hash := record(day, value)
		h.log.Add(`{"type":"record","gpu_type":"H200","region":"global","granularity":"daily","timestamp":"` + day +
			`T21:00:00.000Z","revision":0,"publication":1,"hash":"` + hash + `"}`)
		for range others {
			h.log.Add(fmt.Sprintf(`{"type":"audit","number":%d}`, h.log.Size()))
		}
		h.values[day] = value
		h.size = h.log.Size()
	})
}

func (h *host) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	text := h.respond(in)
	if h.lie != nil {
		text = h.lie(in.URL.Path, text)
	}
	if text == nil {
		http.NotFound(out, in)
		return
	}
	_, _ = out.Write(text)
}

func (h *host) respond(in *http.Request) []byte {
	if rest, ok := strings.CutPrefix(in.URL.Path, "/log/tile/entries/"); ok {
		r, err := merkle.ParsePath("tile/entries/" + rest)
		if err != nil || !r.Within(h.size) {
			return nil
		}
		var bundle []byte
		for _, entry := range h.log.Entries[r.Index*merkle.TileWidth:][:r.Width] {
			bundle = append(bundle, byte(len(entry)>>8), byte(len(entry)))
			bundle = append(bundle, entry...)
		}
		return bundle
	}
	switch in.URL.Path {
	case "/log/checkpoint":
		if h.size > 0 {
			return []byte(h.log.Checkpoint(h.size))
		}
	case "/api/gpu/H200/determination":
		return h.determination(in.URL.Query().Get("date"))
	case "/api/gpu/H200/index-history":
		day := in.URL.Query().Get("startDate")
		return []byte(`{"success":true,"access":"full","granularity":"daily","data":[{"timestamp":"` + day +
			`T21:00:00.000Z","index_value":` + h.values[day] + `}]}`)
	}
	return nil
}

func (h *host) determination(day string) []byte { return h.proven(record(day, h.values[day])) }

// proven is the response with a record.
func (h *host) proven(text, hash string) []byte {
	for leaf, entry := range h.log.Entries[:h.size] {
		if !strings.Contains(entry, hash) {
			continue
		}
		inclusion, err := json.Marshal(verifier.Inclusion{
			LeafIndex: int64(leaf), Entry: entry, Hashes: h.log.Inclusion(int64(leaf)), TreeSize: h.size,
			Checkpoint: h.log.Checkpoint(h.size),
		})
		if err != nil {
			h.t.Error(err)
		}
		return fmt.Appendf(nil, `{"success":true,"inclusion":%s,"data":%s}`, inclusion, text)
	}
	return fmt.Appendf(nil, `{"success":true,"inclusion":null,"data":%s}`, text)
}

// follow makes a monitor of the host, in a folder.
func follow(t *testing.T, h *host, dir string) *monitor.Monitor {
	t.Helper()
	log, err := verifier.NewLog(h.key)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)
	m := &monitor.Monitor{
		Server: monitor.Server{URL: h.server.URL}, Log: log, Dir: dir, Records: 5,
		Now: func() time.Time { return now }, Wait: func(context.Context) error { return nil },
		Follow: func(context.Context) (*verifier.Log, error) { return log.Follow(h.events) },
	}
	if err := m.Load(); err != nil {
		t.Fatal(err)
	}
	return m
}

func mustRound(t *testing.T, m *monitor.Monitor, want monitor.Report) {
	t.Helper()
	if got, err := m.Round(t.Context()); err != nil || got != want {
		t.Fatalf("the round reports %+v, %v, want %+v", got, err, want)
	}
}

// wantEvidence wants a round to find that the server cheats.
func wantEvidence(t *testing.T, m *monitor.Monitor, want string) *monitor.Evidence {
	t.Helper()
	_, err := m.Round(t.Context())
	evidence, ok := errors.AsType[*monitor.Evidence](err)
	if !ok || !strings.Contains(err.Error(), want) {
		t.Fatalf("%v, want evidence with %q", err, want)
	}
	return evidence
}

func TestRound_Honest(t *testing.T) {
	t.Parallel()
	h, dir := newHost(t), t.TempDir()
	m := follow(t, h, dir)
	mustRound(t, m, monitor.Report{}) // nothing is signed yet
	h.publish("2026-02-01", "2.5", 0)
	mustRound(t, m, monitor.Report{Size: 1, New: 1, Records: 1, Values: 1})
	mustRound(t, m, monitor.Report{Size: 1, Records: 1, Values: 1}) // what is known is checked again
	h.publish("2026-02-02", "2.6", 300)
	mustRound(t, m, monitor.Report{Size: 302, New: 301, Records: 2, Values: 2})
	h.publish("2026-02-03", "null", 70_000)                                                           // three levels of tiles
	mustRound(t, follow(t, h, dir), monitor.Report{Size: 70_303, New: 70_001, Records: 3, Values: 3}) // after a restart
	for i := range 20 {
		h.publish(fmt.Sprintf("2026-03-%02d", i+1), "1."+strconv.Itoa(i+1), 3)
	}
	mustRound(t, follow(t, h, dir), monitor.Report{Size: 70_383, New: 80, Records: 5, Values: 5}) // some of them
	if left, err := filepath.Glob(filepath.Join(dir, "evidence-*")); err != nil || len(left) > 0 {
		t.Errorf("there is evidence against an honest server: %v, %v", left, err)
	}
}

// valueRecord is the text of a record of a token price, with its hash.
func valueRecord(day, value string) (text, hash string) {
	text = `{"index":"otpi","series":"openai","date":"` + day + `","revision":0,"values":{"indexPerMtok":` + value +
		`,"mixPerMtok":null},"methodology":"2.0.0","known_at":"2026-03-30T09:30:00.000Z","inputs":"00"}`
	sum := sha256.Sum256([]byte(text))
	hash = hex.EncodeToString(sum[:])
	return strings.TrimSuffix(text, "}") + `,"hash":"` + hash + `"}`, hash
}

// Records of other indices are proven, and compared with what the server shows as of when they were made.
func TestRound_OtherIndices(t *testing.T) {
	t.Parallel()
	f := func(want string, served string, lie func(text string) string) {
		t.Helper()
		h := newHost(t)
		text, hash := valueRecord("2026-03-28", "4.2")
		h.change(func() {
			h.log.Add(`{"type":"value","index":"otpi","series":"openai","date":"2026-03-28","revision":0,"hash":"` + hash + `"}`)
			h.log.Add(`{"type":"value","index":"memory","series":"ddr5","date":"2026-03-28","revision":0,"hash":"` + hash + `"}`)
			h.size = h.log.Size()
			h.lie = func(path string, honest []byte) []byte {
				switch path {
				case "/api/determinations/otpi":
					return []byte(lie(string(h.proven(text, hash))))
				case "/api/otpi":
					return []byte(`{"access":"full","data":[` + served + `]}`)
				}
				return honest
			}
		})
		m := follow(t, h, t.TempDir())
		if want == "" {
			mustRound(t, m, monitor.Report{Size: 2, New: 2, Records: 1, Values: 1})
			mustRound(t, follow(t, h, m.Dir), monitor.Report{Size: 2, Records: 1, Values: 1}) // after a restart
			return
		}
		wantEvidence(t, m, want)
	}
	honest := func(text string) string { return text }
	const row = `{"date":"2026-03-28","lab":"openai","indexPerMtok":4.2}`
	f("", row, honest)
	f("the server shows other values for otpi of openai on 2026-03-28 than its record: indexPerMtok is 4.3",
		strings.Replace(row, "4.2", "4.3", 1), honest)
	f("than its record: there is none", "", honest)
	f("the record of otpi of openai on 2026-03-28 is not proven: the hash of the record", row,
		func(text string) string { return strings.Replace(text, "4.2", "4.3", 1) })
	f("the record of otpi of openai on 2026-03-28 is not proven", row, func(text string) string {
		other, _ := valueRecord("2026-03-27", "4.2")
		honest, _ := valueRecord("2026-03-28", "4.2")
		return strings.Replace(text, honest, other, 1)
	})
}

// Each way in which a server can cheat is noticed, and leaves evidence.
func TestRound_Cheats(t *testing.T) {
	t.Parallel()
	f := func(name, want string, cheat func(h *host)) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, dir := newHost(t), t.TempDir()
			for i := range 9 {
				h.publish(fmt.Sprintf("2026-02-0%d", i+1), "2.5", 40)
			}
			m := follow(t, h, dir)
			mustRound(t, m, monitor.Report{Size: 369, New: 369, Records: 5, Values: 5})
			kept := h.log.Checkpoint(h.size)
			h.change(func() { cheat(h) })
			evidence := wantEvidence(t, m, want)
			text, err := os.ReadFile(filepath.Join(evidence.Folder, "checkpoint-kept.txt"))
			if err != nil || string(text) != kept {
				t.Errorf("the kept checkpoint is not in the evidence: %q, %v", text, err)
			}
			if _, err := follow(t, h, dir).Round(t.Context()); err == nil {
				t.Error("the next round accepts it")
			}
		})
	}
	rewritten := func(h *host, entries int, at int) {
		honest := h.log.Entries
		h.log = logtest.New(h.t, "assay/test")
		for i := range entries {
			switch {
			case i == at:
				h.log.Add("another history")
			case i < len(honest):
				h.log.Add(honest[i])
			default:
				h.log.Add("more")
			}
		}
		h.size = h.log.Size()
	}
	f("an entry changed", "two histories of the same length", func(h *host) { rewritten(h, 369, 100) })
	f("an entry changed, and more appended", "does not continue that of 369", func(h *host) { rewritten(h, 400, 100) })
	f("the last entry changed, and more appended", "does not continue", func(h *host) { rewritten(h, 370, 368) })
	f("cut off", "had 369 entries and now has 300", func(h *host) { h.size = 300 })
	f("gone", "had 369 entries and now has none", func(h *host) { h.size = 0 })
	f("another key", "not that of the log", func(h *host) {
		h.log = logtest.New(h.t, "assay/other")
		h.log.Add("a")
		h.size = 1
	})
	more := func(h *host, lie func(path string, text []byte) []byte) {
		_, hash := record("2026-03-01", "7.5")
		h.log.Add(`{"type":"record","gpu_type":"H200","region":"global","granularity":"daily",` +
			`"timestamp":"2026-03-01T21:00:00.000Z","revision":0,"publication":2,"hash":"` + hash + `"}`)
		h.values["2026-03-01"], h.size, h.lie = "7.5", h.log.Size(), lie
	}
	at := func(path, from, to string) func(string, []byte) []byte {
		return func(requested string, text []byte) []byte {
			if !strings.HasPrefix(requested, path) {
				return text
			}
			return []byte(strings.Replace(string(text), from, to, 1))
		}
	}
	f("entries that were not signed", "or is not the one that was signed", func(h *host) {
		more(h, at("/log/tile/", "2026-03-01", "2026-03-02"))
	})
	f("fewer entries than were signed", "does not have the entries that were signed", func(h *host) {
		more(h, func(path string, text []byte) []byte {
			if strings.HasPrefix(path, "/log/tile/") {
				return text[:len(text)-1]
			}
			return text
		})
	})
	f("another record", "is not proven", func(h *host) { more(h, at("/api/gpu/H200/determination", "7.5", "7.4")) })
	f("another value", `the server shows "7.4"`, func(h *host) { more(h, at("/api/gpu/H200/index-history", "7.5", "7.4")) })
	f("another value than before", `the server shows "2.4"`, func(h *host) {
		h.lie = at("/api/gpu/H200/index-history", "2.5", "2.4") // of records that were checked
	})
	f("no value", `the server shows ""`, func(h *host) {
		more(h, at("/api/gpu/H200/index-history", "2026-03-01", "2026-03-05"))
	})
}

// A server that fails, or a copy that is a moment behind, is no cheat.
func TestRound_Trouble(t *testing.T) {
	t.Parallel()
	h, dir := newHost(t), t.TempDir()
	h.publish("2026-02-01", "2.5", 400)
	m := follow(t, h, dir)
	mustRound(t, m, monitor.Report{Size: 401, New: 401, Records: 1, Values: 1})
	h.change(func() { h.size = 300 })
	m.Wait = func(context.Context) error { h.change(func() { h.size = 401 }); return nil }
	mustRound(t, m, monitor.Report{Size: 401, Records: 1, Values: 1})
	h.publish("2026-02-02", "2.5", 1)
	h.change(func() {
		h.lie = func(path string, text []byte) []byte {
			if strings.HasPrefix(path, "/log/tile/") {
				return nil
			}
			return text
		}
	})
	_, err := m.Round(t.Context())
	if _, cheats := errors.AsType[*monitor.Evidence](err); err == nil || cheats {
		t.Errorf("without its entries: %v, want trouble", err)
	}
	h.change(func() { h.lie = nil })
	mustRound(t, m, monitor.Report{Size: 403, New: 2, Records: 2, Values: 2})
	h.server.Close()
	if _, err := m.Round(t.Context()); err == nil {
		t.Error("a server that is gone is accepted")
	}
}

// changeKey adds an event of the log's key, to what the server shows and, unless it cheats, to the log.
func (h *host) changeKey(action, key string, logged bool, signers ...string) {
	h.t.Helper()
	h.change(func() {
		text := logtest.KeyEvent(h.log.Name, strings.Count(h.events, "\n")+1, action, key, signers...)
		h.events += text + "\n"
		if logged {
			h.log.Add(text)
		}
		h.size = h.log.Size()
	})
}

// A monitor follows a key that was rotated, also one that it has seen no checkpoint of for a while.
func TestRound_FollowsTheKey(t *testing.T) {
	t.Parallel()
	h, dir := newHost(t), t.TempDir()
	h.changeKey(verifier.KeyBegin, h.log.Name, true, h.log.Name)
	h.publish("2026-02-01", "2.1", 0)
	mustRound(t, follow(t, h, dir), monitor.Report{Size: 2, New: 2, Records: 1, Values: 1})
	h.changeKey(verifier.KeyRotate, "b", true, h.log.Name, "b")
	h.changeKey(verifier.KeyRotate, "c", true, "b", "c")
	h.changeKey(verifier.KeyRevoke, h.log.Name, true, "c")
	h.log.Use(logtest.KeyOf("c"))
	h.publish("2026-02-02", "2.2", 0)
	m := follow(t, h, dir)
	mustRound(t, m, monitor.Report{Size: 6, New: 4, Records: 2, Values: 2})
	h.publish("2026-02-03", "2.3", 0)
	mustRound(t, m, monitor.Report{Size: 7, New: 1, Records: 3, Values: 3})
	h.log.Use(logtest.KeyOf("b"))
	h.publish("2026-02-04", "2.4", 0)
	wantEvidence(t, m, "signed with another key than the log names")
}

// A key that the server shows and the log does not name is not accepted, nor one that was replaced.
func TestRound_ChangesOfTheKey(t *testing.T) {
	t.Parallel()
	f := func(change func(h *host), want string) {
		t.Helper()
		h := newHost(t)
		h.changeKey(verifier.KeyBegin, h.log.Name, true, h.log.Name)
		m := follow(t, h, t.TempDir())
		mustRound(t, m, monitor.Report{Size: 1, New: 1})
		change(h)
		h.log.Use(logtest.KeyOf("b"))
		h.publish("2026-02-02", "2.2", 0)
		wantEvidence(t, m, want)
	}
	f(func(h *host) {
		h.changeKey(verifier.KeyRotate, "b", false, h.log.Name, "b")
	}, "signed with another key than the log names")
	f(func(*host) {}, "not signed with the key of the log")
	f(func(h *host) { h.changeKey(verifier.KeyAccept, "b", true, "b") },
		"no key that you accept has signed the change")
}
