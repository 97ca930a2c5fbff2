package client_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/client"
	"github.com/assaydata/assay/internal/logtest"
	"github.com/assaydata/assay/verifier"
)

// notary is a server with a log that x/mod has made. It does what a test wants it to.
type notary struct {
	t     *testing.T
	log   *logtest.Log
	vkey  string // the first key of the log
	keys  string // events; served if there are any
	fails int    // status of /api/log/consistency, if it is to fail

	mu       sync.Mutex
	response string // the next
	proofs   int    // how often consistency was requested
}

func newNotary(t *testing.T) *notary {
	t.Helper()
	n := &notary{t: t, log: logtest.New(t, "assay/test")}
	n.vkey = n.log.Key
	n.log.Add(`{"type":"start"}`, `{"type":"audit"}`, `{"type":"audit","number":2}`)
	return n
}

func (n *notary) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	number := func(name string) int64 {
		v, err := strconv.ParseInt(in.URL.Query().Get(name), 10, 64)
		if err != nil {
			n.t.Error(err)
		}
		return v
	}
	switch {
	case in.URL.Path == "/log/keys" && n.keys != "":
		_, _ = out.Write([]byte(n.keys))
	case in.URL.Path == "/api/log/consistency":
		n.proofs++
		if n.fails != 0 {
			writeJSON(out, n.fails, `{"error":"x","code":"no_data","message":"No.","request_id":"r"}`)
			return
		}
		from, to := number("from"), number("to")
		hashes, _ := json.Marshal(logtest.Texts(n.log.Consistency(from, to)))
		writeJSON(out, 200, fmt.Sprintf(`{"success":true,"data":{"from":%d,"to":%d,"hashes":%s}}`, from, to, hashes))
	case n.response == "" || in.URL.Path == "/log/keys":
		writeJSON(out, 404, `{"error":"Not found","code":"unknown_path","message":"No.","request_id":"r"}`)
	default:
		writeJSON(out, 200, n.response)
	}
}

// sealed appends the hash to the text of a record.
func sealed(text string) (record, hash string) {
	sum := sha256.Sum256([]byte(text))
	hash = hex.EncodeToString(sum[:])
	return strings.TrimSuffix(text, "}") + `,"hash":"` + hash + `"}`, hash
}

const noted = `{"gpu_type":"H100 SXM","region":"global","granularity":"daily","timestamp":"2026-02-03T21:00:00.000Z",` +
	`"revision":1,"index_value":2.3541,"methodology":"1.0.0","published_at":"2026-02-04T09:30:00.000Z"}`

const notedValue = `{"index":"otpi","series":"openai","date":"2026-02-03","revision":0,"values":{"indexPerMtok":4.2,"mixPerMtok":null},` +
	`"methodology":"2.0.0","known_at":"2026-02-04T09:00:00.000Z","inputs":"ab"}`

// publish puts a record into the log, and serves it.
func (n *notary) publish(text string) {
	n.t.Helper()
	record, hash := sealed(text)
	n.log.Add(entryOf(n.t, text, hash))
	n.serve(record, n.log.Size()-1)
}

// serve serves a record with the proof of an entry.
func (n *notary) serve(record string, leaf int64) {
	n.t.Helper()
	inclusion, err := json.Marshal(verifier.Inclusion{
		LeafIndex: leaf, Entry: n.log.Entries[leaf], Hashes: n.log.Inclusion(leaf), TreeSize: n.log.Size(),
		Checkpoint: n.log.Checkpoint(n.log.Size()),
	})
	if err != nil {
		n.t.Fatal(err)
	}
	n.response = fmt.Sprintf(`{"success":true,"access":"full","granularity":"daily","revisions":2,"inclusion":%s,"data":%s}`,
		inclusion, record)
}

// entryOf is the entry of the log about a record.
func entryOf(t *testing.T, text, hash string) string {
	t.Helper()
	var r struct {
		verifier.Record
		Index, Series, Date string
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	if r.Index != "" {
		return fmt.Sprintf(`{"type":"value","index":"%s","series":"%s","date":"%s","revision":%d,"hash":"%s"}`,
			r.Index, r.Series, r.Date, r.Revision, hash)
	}
	return fmt.Sprintf(`{"type":"record","gpu_type":"%s","region":"%s","granularity":"%s","timestamp":"%s","revision":%d,`+
		`"publication":7,"hash":"%s"}`, r.GPU, r.Region, r.Granularity, r.Timestamp, r.Revision, hash)
}

// verifier makes a verifier that knows the first key of the log.
func (n *notary) verifier() *client.Verifier {
	n.t.Helper()
	c := newClient(n.t, serve(n.t, n), client.WithKey(""), (&sleeper{}).option())
	v, err := c.Verifier(n.vkey)
	if err != nil {
		n.t.Fatal(err)
	}
	return v
}

// daily proves the value that notary tests are about.
func daily(t *testing.T, v *client.Verifier) (*client.Proof, error) {
	return v.Daily(t.Context(), "H100 SXM", "2026-02-03", "")
}

func TestVerifier_Daily(t *testing.T) {
	t.Parallel()
	n := newNotary(t)
	n.publish(noted)
	v := n.verifier()
	p, err := daily(t, v)
	if err != nil {
		t.Fatal(err)
	}
	if *p.Value != 23541*assay.Unit(4) || p.Revisions != 2 || p.Record.Revision != 1 || p.Checkpoint.Size != 4 {
		t.Errorf("got %+v", p)
	}
	if v.Checkpoint() != n.log.Checkpoint(4) || n.proofs != 0 {
		t.Errorf("it keeps %q after %d proofs", v.Checkpoint(), n.proofs)
	}
	gone := strings.Replace(noted, "2.3541", "null", 1)
	n.publish(gone)
	if p, err := daily(t, v); err != nil || p.Value != nil || n.proofs != 1 {
		t.Errorf("a value that was taken back: %+v, %v, %d proofs", p, err, n.proofs)
	}
	n.publish(strings.NewReplacer("daily", "hourly", "global", "us-east").Replace(noted))
	p, err = v.Hourly(t.Context(), "H100 SXM", time.Date(2026, 2, 3, 22, 0, 0, 0, time.FixedZone("", 3600)), "us-east")
	if err != nil || p.Record.Granularity != "hourly" {
		t.Errorf("an hour: %+v, %v", p, err)
	}
}

func TestVerifier_Value(t *testing.T) {
	t.Parallel()
	n := newNotary(t)
	v := n.verifier()
	n.publish(notedValue)
	p, err := v.Value(t.Context(), "otpi", "openai", "2026-02-03")
	if err != nil || *p.Values["indexPerMtok"] != 42*assay.Unit(1) || p.Values["mixPerMtok"] != nil || len(p.Values) != 2 {
		t.Errorf("got %+v, %v", p, err)
	}
	n.publish(strings.Replace(notedValue, `{"indexPerMtok":4.2,"mixPerMtok":null}`, "null", 1))
	if p, err = v.Value(t.Context(), "otpi", "openai", "2026-02-03"); err != nil || p.Values != nil {
		t.Errorf("a value that was taken back: %+v, %v", p, err)
	}
	f := func(index, series string, day client.Day) {
		t.Helper()
		if _, err := v.Value(t.Context(), index, series, day); !errors.Is(err, client.ErrNotProven) {
			t.Errorf("%s %s %s: %v", index, series, day, err)
		}
	}
	f("workload", "openai", "2026-02-03")
	f("otpi", "google", "2026-02-03")
	f("otpi", "openai", "2026-02-04")
}

// A server cannot pass another value off as the one that was asked for, nor one that is not in the log.
func TestVerifier_NotProven(t *testing.T) {
	t.Parallel()
	f := func(name, want string, prepare func(n *notary)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNotary(t)
			prepare(n)
			v := n.verifier()
			p, err := daily(t, v)
			if p != nil || !errors.Is(err, client.ErrNotProven) || !strings.Contains(err.Error(), want) {
				t.Errorf("got %+v, %v, want %s", p, err, want)
			}
			if e := failure(t, err); e.Code != "not_proven" || len(err.Error()) > 500 {
				t.Errorf("got %+v", e)
			}
		})
	}
	other := func(old, replacement string) func(n *notary) {
		return func(n *notary) { n.publish(strings.Replace(noted, old, replacement, 1)) }
	}
	f("another model", "another value: H200", other("H100 SXM", "H200"))
	f("another region", "another value", other("global", "us-east"))
	f("another granularity", "another value", other("daily", "hourly"))
	f("another day", "another value", other("02-03", "02-02"))
	f("an instant of the day that is none", "another value", other("2026-02-03T", "2026-02-03"))
	f("a number that is none", "value in the record", other("2.3541", "2e9"))
	f("another number", "hash of the record", func(n *notary) {
		n.publish(noted)
		n.response = strings.Replace(n.response, "2.3541", "2.3542", 1)
	})
	f("another entry", "about another record", func(n *notary) {
		n.publish(strings.Replace(noted, "2.3541", "2.3542", 1))
		record, _ := sealed(noted)
		n.serve(record, 3)
	})
	f("a proof of something else", "not in the log", func(n *notary) {
		n.publish(noted)
		n.response = strings.Replace(n.response, `"leaf_index":3`, `"leaf_index":2`, 1)
	})
	f("not yet in the log", verifier.ErrNotLogged.Error(), func(n *notary) {
		record, _ := sealed(noted)
		n.response = `{"success":true,"access":"full","granularity":"daily","revisions":1,"inclusion":null,"data":` + record + `}`
	})
	f("a stranger's signature", verifier.ErrNotSigned.Error(), func(n *notary) {
		n.log.Use(logtest.KeyOf("stranger"))
		n.publish(noted)
	})
	f("a key that no one has signed", verifier.ErrKeyReplaced.Error(), func(n *notary) {
		n.keys = logtest.KeyEvent("assay/test", 1, verifier.KeyBegin, "stranger", "stranger") + "\n"
		n.log.Use(logtest.KeyOf("stranger"))
		n.publish(noted)
	})
	f("events of the key that are none", verifier.ErrNotSigned.Error(), func(n *notary) {
		n.keys = "<html>" + strings.Repeat("x", 5000)
		n.log.Use(logtest.KeyOf("stranger"))
		n.publish(noted)
	})
	f("a page", "not a JSON object", func(n *notary) { n.response = "<html>" })
}

// A key that was rotated is followed, as long as the events of before stay.
func TestVerifier_FollowsTheKey(t *testing.T) {
	t.Parallel()
	n := newNotary(t)
	v := n.verifier()
	begin := logtest.KeyEvent("assay/test", 1, verifier.KeyBegin, "assay/test", "assay/test") + "\n"
	n.keys = begin + logtest.KeyEvent("assay/test", 2, verifier.KeyRotate, "b", "assay/test", "b") + "\n"
	n.log.Use(logtest.KeyOf("b"))
	n.publish(noted)
	for range 2 {
		if _, err := daily(t, v); err != nil {
			t.Fatal(err)
		}
	}
	n.keys = begin + logtest.KeyEvent("assay/test", 2, verifier.KeyRotate, "c", "assay/test", "c") + "\n"
	n.log.Use(logtest.KeyOf("c"))
	n.publish(noted)
	if _, err := daily(t, v); !errors.Is(err, client.ErrNotProven) || !strings.Contains(err.Error(), "another history") {
		t.Errorf("a second history of the key: %v", err)
	}
}

// The log may grow, and a copy of the server may be behind, but it may not be rewritten, also not between two runs.
func TestVerifier_Consistency(t *testing.T) {
	t.Parallel()
	n := newNotary(t)
	n.publish(noted)
	early := n.response
	first := n.verifier()
	if _, err := daily(t, first); err != nil {
		t.Fatal(err)
	}
	v := n.verifier()
	if err := v.Resume(first.Checkpoint()); err != nil {
		t.Fatal(err)
	}
	for range 200 {
		n.log.Add(`{"type":"audit"}`)
	}
	n.publish(noted)
	if _, err := daily(t, v); err != nil || !strings.Contains(v.Checkpoint(), "\n205\n") {
		t.Fatalf("it has grown: %v, %q", err, v.Checkpoint())
	}
	n.response = early
	if _, err := daily(t, v); err != nil || !strings.Contains(v.Checkpoint(), "\n205\n") || n.proofs != 2 {
		t.Errorf("a copy that is behind: %v, %q, %d proofs", err, v.Checkpoint(), n.proofs)
	}
	forked := newNotary(t)
	forked.log.Entries = nil
	forked.log = logtest.New(t, "assay/test")
	for i := range 300 {
		forked.log.Add(fmt.Sprintf(`{"type":"audit","number":%d}`, i))
	}
	forked.publish(noted)
	n.log, n.response = forked.log, forked.response
	if _, err := daily(t, v); !errors.Is(err, client.ErrNotProven) || !strings.Contains(err.Error(), "rewritten the log") {
		t.Errorf("a rewritten log: %v", err)
	}
	if !strings.Contains(v.Checkpoint(), "\n205\n") {
		t.Errorf("it keeps %q", v.Checkpoint())
	}
	n.fails = 404
	if _, err := daily(t, v); err == nil || errors.Is(err, client.ErrNotProven) || failure(t, err).Kind != assay.NotFound {
		t.Errorf("without a proof: %v", err)
	}
}

// Two signed histories of the same length need no proof to be told apart.
func TestVerifier_Fork(t *testing.T) {
	t.Parallel()
	n := newNotary(t)
	n.publish(noted)
	v := n.verifier()
	if _, err := daily(t, v); err != nil {
		t.Fatal(err)
	}
	n.log = logtest.New(t, "assay/test")
	n.log.Add("a", "b", "c")
	n.publish(noted)
	if _, err := daily(t, v); !errors.Is(err, client.ErrNotProven) {
		t.Errorf("got %v", err)
	}
}

// Witnesses are asked for.
func TestVerifier_Require(t *testing.T) {
	t.Parallel()
	n := newNotary(t)
	n.publish(noted)
	w, err := verifier.WitnessOf("w.example", logtest.KeyOf("w").Public().(ed25519.PublicKey))
	if err != nil {
		t.Fatal(err)
	}
	v, err := n.verifier().Require(1, w.Key())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := daily(t, v); !errors.Is(err, client.ErrNotProven) || !errors.Is(err, verifier.ErrTooFewWitnesses) {
		t.Errorf("got %v", err)
	}
	if _, err := n.verifier().Require(2, w.Key()); failure(t, err).Code != "bad_argument" {
		t.Errorf("two of one: %v", err)
	}
}

// The key of the log and the checkpoint must be ones.
func TestVerifier_BadArguments(t *testing.T) {
	t.Parallel()
	n := newNotary(t)
	c := newClient(t, "https://data.example", client.WithKey(""))
	_, err := c.Verifier("a stranger")
	if failure(t, err).Code != "bad_argument" {
		t.Errorf("got %v", err)
	}
	v := n.verifier()
	if err := v.Resume("x"); failure(t, err).Code != "bad_argument" {
		t.Errorf("got %v", err)
	}
	if _, err := v.Daily(t.Context(), "H100 SXM", "today", ""); failure(t, err).Code != "bad_argument" {
		t.Errorf("got %v", err)
	}
}

// Many goroutines share a verifier.
func TestVerifier_Concurrent(t *testing.T) {
	t.Parallel()
	n := newNotary(t)
	n.publish(noted)
	v := n.verifier()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 10 {
				if _, err := daily(t, v); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// The methods for the log itself.
func TestLog(t *testing.T) {
	t.Parallel()
	n := newNotary(t)
	c := newClient(t, serve(t, n), client.WithKey(""))
	got, err := c.LogConsistency(t.Context(), 1, 3)
	if err != nil || got.Data.From != 1 || got.Data.To != 3 || len(got.Data.Hashes) == 0 {
		t.Errorf("got %+v, %v", got, err)
	}
	inclusion := verifier.Inclusion{LeafIndex: 1, Entry: "x", Hashes: []string{"ab"}, TreeSize: 3, Checkpoint: "y"}
	text, _ := json.Marshal(inclusion)
	n.response = `{"success":true,"data":` + string(text) + `}`
	found, err := c.LogInclusion(t.Context(), strings.Repeat("ab", 32))
	if err != nil || fmt.Sprint(found.Data) != fmt.Sprint(inclusion) {
		t.Errorf("got %+v, %v", found, err)
	}
}
