package console_test

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/merkle"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/verifier"
)

// loggedRig is a server whose log has records.
type loggedRig struct {
	*rig
	records []assay.Determination
	key     ed25519.PrivateKey
}

// newLoggedRig publishes hours of one series, and signs the log.
func newLoggedRig(t *testing.T, hours int) *loggedRig {
	t.Helper()
	r := &loggedRig{rig: newRig(t), key: ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))}
	r.publish(hours)
	r.sign()
	return r
}

// publish publishes more hours of the series.
func (r *loggedRig) publish(hours int) {
	r.Test.Helper()
	ctx := r.Test.Context()
	state, err := r.DB.State(ctx)
	r.Must(err)
	line := assay.Line{GPU: "B200", Region: assay.Global}
	first, last := assay.StartOfDay(apitest.Now.UnixMilli())+int64(len(r.records))*assay.Hour, assay.Hash{}
	if n := len(r.records); n > 0 {
		last = r.records[n-1].Hash
	}
	span := store.Span{From: first, To: first + int64(hours)*assay.Hour}
	p := store.Publication{
		Methodology: "1.0.0", Receipt: state.Receipt,
		Covers: store.Coverage{{GPU: line.GPU, Grain: assay.Hourly}: {span}},
	}
	var list []assay.Determination
	for at := span.From; at < span.To; at += assay.Hour {
		d := assay.Determination{
			Line: line, Grain: assay.Hourly, At: at + assay.Hour, From: at, Methodology: p.Methodology, Receipt: p.Receipt,
			HasValue: true, Value: 1, Transactions: 1,
		}
		proof.Seal(&d, last)
		last = d.Hash
		list = append(list, d)
	}
	p.Series = []store.SeriesRecords{{Line: line, Grain: assay.Hourly, Records: list}}
	_, err = r.DB.Publish(ctx, p)
	r.Must(err)
	r.records = append(r.records, list...)
}

// sign signs the log as it is.
func (r *loggedRig) sign() {
	r.Test.Helper()
	head, err := r.DB.LogHead(r.Test.Context())
	r.Must(err)
	text, err := proof.SignCheckpoint(proof.Checkpoint{Origin: head.Origin, Size: head.Size, Root: head.Root}, r.key)
	r.Must(err)
	r.Must(r.DB.AddCheckpoint(r.Test.Context(), proof.SignedCheckpoint{
		Size: head.Size, SignedAt: r.Clock.UnixMilli(), PublicKey: r.key.Public().(ed25519.PublicKey), Note: text,
	}))
}

// ok is a body that must be there.
func (r *loggedRig) ok(path string) string {
	r.Test.Helper()
	got := r.Get("", path)
	if got.StatusCode != http.StatusOK {
		r.Test.Fatalf("%s: %d %s", path, got.StatusCode, got.Text)
	}
	return got.Text
}

// tree reads the checkpoint as any client of such logs does.
func (r *loggedRig) tree() tlog.Tree {
	r.Test.Helper()
	verifier, err := note.NewVerifier(strings.TrimSuffix(r.ok("/log/vkey"), "\n"))
	r.Must(err)
	opened, err := note.Open([]byte(r.ok("/log/checkpoint")), note.VerifierList(verifier))
	r.Must(err)
	var origin, root string
	var tree tlog.Tree
	_, err = fmt.Sscanf(opened.Text, "%s\n%d\n%s\n", &origin, &tree.N, &root)
	r.Must(err)
	if origin != verifier.Name() {
		r.Test.Errorf("the checkpoint is of %s, the key of %s", origin, verifier.Name())
	}
	tree.Hash, err = tlog.ParseHash(root)
	r.Must(err)
	return tree
}

// tiles is a tlog.TileReader that reads from the server.
type tiles struct{ *loggedRig }

func (tiles) Height() int { return 8 }

func (tiles) SaveTiles([]tlog.Tile, [][]byte) {}

func (r tiles) ReadTiles(list []tlog.Tile) (data [][]byte, err error) {
	for _, t := range list {
		data = append(data, []byte(r.ok("/log/"+strings.Replace(t.Path(), "tile/8/", "tile/", 1))))
	}
	return data, nil
}

// TestLog_Tiles: package tlog finds every entry that the server sends in the tree that the checkpoint signs.
func TestLog_Tiles(t *testing.T) {
	t.Parallel()
	r := newLoggedRig(t, 700)
	tree := r.tree()
	hashes := tlog.TileHashReader(tree, tiles{r})
	leaf, records := int64(0), 0
	for first := int64(0); first < tree.N; first += merkle.TileWidth {
		path := fmt.Sprintf("/log/tile/entries/%03d", first/merkle.TileWidth)
		if width := tree.N - first; width < merkle.TileWidth {
			path += fmt.Sprintf(".p/%d", width)
		}
		r.Must(merkle.SplitBundle([]byte(r.ok(path)), func(entry []byte) error {
			want, err := hashes.ReadHashes([]int64{tlog.StoredHashIndex(0, leaf)})
			if err == nil && want[0] != tlog.RecordHash(entry) {
				err = fmt.Errorf("entry %d is not in the tree: %s", leaf, entry)
			}
			if proof.EntryKind(entry) == proof.RecordKind {
				records++
			}
			leaf++
			return err
		}))
	}
	if leaf != tree.N || records != len(r.records) {
		t.Errorf("%d entries with %d records, want %d with %d", leaf, records, tree.N, len(r.records))
	}
}

// Nothing is served that is not signed, so what is served never changes.
func TestLog_SignedOnly(t *testing.T) {
	t.Parallel()
	r := newLoggedRig(t, 100)
	before := r.tree()
	path := fmt.Sprintf("/log/tile/0/000.p/%d", before.N)
	got := r.Get("", path)
	if got.StatusCode != 200 || got.Header.Get("Cache-Control") != "public, max-age=31536000, immutable" ||
		got.Header.Get("Content-Type") != "application/octet-stream" || got.Header.Get("Vary") != "Accept-Encoding" {
		t.Errorf("%d %v", got.StatusCode, got.Header)
	}
	for _, path := range []string{path, "/log/checkpoint", "/log/vkey"} {
		tag := r.Get("", path).Header.Get("Etag")
		if got := r.Get("", path, "If-None-Match", tag); got.StatusCode != http.StatusNotModified {
			t.Errorf("%s with the tag %s: %d", path, tag, got.StatusCode)
		}
	}
	if got := r.Get("", "/log/checkpoint"); got.Header.Get("Cache-Control") != "public, max-age=1" ||
		got.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("the checkpoint: %v", got.Header)
	}
	r.publish(300)
	if after := r.tree(); after != before {
		t.Errorf("the tree is %v before it is signed, want %v", after, before)
	}
	for _, path := range []string{
		fmt.Sprintf("0/000.p/%d", before.N+1), fmt.Sprintf("entries/000.p/%d", before.N+1), "0/000", "entries/000", "1/000.p/1",
	} {
		got := r.Get("", "/log/tile/"+path)
		if got.StatusCode != 404 || !strings.Contains(got.Text, "its last checkpoint signs fewer entries") ||
			got.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v %s", path, got.StatusCode, got.Header, got.Text)
		}
	}
	r.sign()
	if now := r.ok(path); now != got.Text {
		t.Error("a tile has changed")
	}
	if full := r.ok("/log/tile/0/000"); !strings.HasPrefix(full, got.Text) || len(full) != 256*tlog.HashSize {
		t.Errorf("the full tile has %d bytes, and does not begin with its part", len(full))
	}
}

// A client that hangs up takes nothing from others that wait for the same tile.
func TestLog_HangUp(t *testing.T) {
	t.Parallel()
	r := newLoggedRig(t, 300)
	ctx, hangUp := context.WithCancel(t.Context())
	hangUp()
	request := httptest.NewRequest(http.MethodGet, "/log/tile/0/000", nil).WithContext(ctx)
	if got := r.Send(request); got.StatusCode != http.StatusOK {
		t.Errorf("%d %s", got.StatusCode, got.Text)
	}
}

func TestLog_NoSuchTile(t *testing.T) {
	t.Parallel()
	r := newLoggedRig(t, 300)
	for _, path := range []string{
		"0", "0/0", "0/000/", "x", "entries", "entries/-01", "0/000.p/0", "0/000.p/256", "data/000", "0/x999/x999/x999/x999/x999/x999/999",
		"63/000", "0/%2e%2e/000", "0%2f000%00", strings.Repeat("x001/", 300) + "001",
	} {
		got := r.Get("", "/log/tile/"+path)
		if got.StatusCode != 404 || !strings.Contains(got.Text, `"code":"no_data"`) && !strings.Contains(got.Text, `"code":"unknown_path"`) {
			t.Errorf("%s: %d %.200s", path, got.StatusCode, got.Text)
		}
	}
	for _, path := range []string{"/log", "/log/", "/log/tile", "/log/tile/", "/log/checkpoint/x"} {
		if got := r.Get("", path); got.StatusCode != 404 || !strings.Contains(got.Text, `"code":"unknown_path"`) {
			t.Errorf("%s: %d %s", path, got.StatusCode, got.Text)
		}
	}
}

// A mirror reads thousands of tiles, so nothing of the log itself is limited.
func TestLog_NoLimit(t *testing.T) {
	t.Parallel()
	r := newLoggedRig(t, 1)
	for range 100 {
		for _, path := range []string{"/log/checkpoint", "/log/vkey", "/log/tile/entries/000.p/1"} {
			got := r.Get("", path, "peer", "198.51.100.1:1")
			if got.StatusCode != 200 || got.Header.Get("RateLimit") != "" {
				t.Fatalf("%s: %d %v", path, got.StatusCode, got.Header)
			}
		}
	}
}

func TestLog_Unsigned(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, path := range []string{"/log/checkpoint", "/log/vkey"} {
		got := r.Get("", path)
		if got.StatusCode != 404 || !strings.Contains(got.Text, "No checkpoint of the log has been signed yet.") {
			t.Errorf("%s: %d %s", path, got.StatusCode, got.Text)
		}
	}
}

// Anchors are lines of JSON, a month of them in a response.
func TestLog_Anchors(t *testing.T) {
	t.Parallel()
	r := newLoggedRig(t, 1)
	f := func(query string, status int, want string) {
		t.Helper()
		if got := r.Get("", "/log/anchors"+query); got.StatusCode != status || !strings.Contains(got.Text, want) {
			t.Errorf("%s: %d %s\nwant %d %s", query, got.StatusCode, got.Text, status, want)
		}
	}
	f("", 404, "No checkpoint of more than 0 entries of the log has a timestamp.")
	var sizes []int64
	for day := range int64(32) {
		if day > 0 {
			r.publish(1)
			r.sign()
		}
		sizes = append(sizes, r.tree().N)
		r.Must(r.DB.AddAnchor(t.Context(), proof.Anchor{
			Size: sizes[day], StampedAt: day * assay.Day, Authority: "http://authority.example/tsr?a=1&b=2", Token: []byte{0, byte(day)},
		}))
	}
	lines := strings.SplitAfter(r.ok("/log/anchors"), "\n")
	if len(lines) != 31 || lines[30] != "" {
		t.Fatalf("there are %d lines", len(lines))
	}
	var last map[string]any
	r.Must(json.Unmarshal([]byte(lines[29]), &last))
	if last["size"] != float64(sizes[29]) || last["timestamp"] != "1970-01-30T00:00:00.000Z" || last["token"] != "AB0=" ||
		last["authority"] != "http://authority.example/tsr?a=1&b=2" {
		t.Errorf("the last line is %s", lines[29])
	}
	c, err := verifier.ParseCheckpoint(fmt.Sprint(last["checkpoint"]))
	if err != nil || c.Size != sizes[29] || c.Text() != last["checkpoint"] {
		t.Errorf("its checkpoint is %q, %v", last["checkpoint"], err)
	}
	text := r.ok(fmt.Sprintf("/log/anchors?after=%d", sizes[29]))
	if strings.Count(text, "\n") != 2 || !strings.HasPrefix(text, fmt.Sprintf(`{"size":%d,"checkpoint":"`, sizes[30])) {
		t.Errorf("after the first 30: %s", text)
	}
	f(fmt.Sprintf("?after=%d", sizes[31]), 404, "has a timestamp.")
	f("?after=-1", 400, `Invalid value \"-1\" for \"after\": must be an integer from 0 to 9007199254740992.`)
	got := r.Get("", "/log/anchors", "peer", "198.51.100.1:1")
	if got.Header.Get("RateLimit") != "" || got.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("%v", got.Header)
	}
}

// proven is the body of a proof.
type proven struct {
	Data verifier.Inclusion `json:"data"`
}

func (r *loggedRig) proof(path string) (p proven, hashes []tlog.Hash) {
	r.Test.Helper()
	r.Must(json.Unmarshal([]byte(r.ok(path)), &p))
	for _, text := range p.Data.Hashes {
		raw, err := hex.DecodeString(text)
		r.Must(err)
		hashes = append(hashes, tlog.Hash(raw))
	}
	return p, hashes
}

func TestLog_Inclusion(t *testing.T) {
	t.Parallel()
	r := newLoggedRig(t, 300)
	tree := r.tree()
	for i := 0; i < len(r.records); i += 37 {
		hash := hex.EncodeToString(r.records[i].Hash[:])
		p, hashes := r.proof("/api/log/inclusion?record=" + hash)
		if !strings.HasSuffix(p.Data.Entry, `,"hash":"`+hash+`"}`) || p.Data.TreeSize != tree.N || p.Data.Checkpoint != r.ok("/log/checkpoint") {
			t.Fatalf("record %d: %+v", i, p)
		}
		leaf := tlog.RecordHash([]byte(p.Data.Entry))
		if err := tlog.CheckRecord(hashes, tree.N, tree.Hash, p.Data.LeafIndex, leaf); err != nil {
			t.Errorf("record %d: %v", i, err)
		}
	}
	r.publish(1)
	unsigned := hex.EncodeToString(r.records[len(r.records)-1].Hash[:])
	f := func(query string, status int, want string) {
		t.Helper()
		if got := r.Get("", "/api/log/inclusion?"+query); got.StatusCode != status || !strings.Contains(got.Text, want) {
			t.Errorf("%s: %d %s\nwant %d %s", query, got.StatusCode, got.Text, status, want)
		}
	}
	f("record="+unsigned, 404, "The log that the last checkpoint signs has no record with the hash "+unsigned)
	f("record="+strings.Repeat("0", 64), 404, `"code":"no_data"`)
	f("", 400, `Missing value for \"record\": must be the hash of a record: 64 hexadecimal digits in lower case.`)
	for _, wrong := range []string{"0", strings.Repeat("0", 63), strings.Repeat("0", 66), strings.Repeat("A", 64), strings.Repeat("g", 64), "é"} {
		f("record="+url.QueryEscape(wrong), 400, `for \"record\": must be the hash of a record`)
	}
}

func TestLog_Consistency(t *testing.T) {
	t.Parallel()
	r := newLoggedRig(t, 300)
	trees := []tlog.Tree{r.tree()}
	for range 3 {
		r.publish(100)
		r.sign()
		trees = append(trees, r.tree())
	}
	for i, old := range trees {
		for _, tree := range trees[i:] {
			_, hashes := r.proof(fmt.Sprintf("/api/log/consistency?from=%d&to=%d", old.N, tree.N))
			if err := tlog.CheckTree(hashes, tree.N, tree.Hash, old.N, old.Hash); err != nil {
				t.Errorf("from %d to %d: %v", old.N, tree.N, err)
			}
		}
	}
	f := func(query string, status int, want string) {
		t.Helper()
		if got := r.Get("", "/api/log/consistency?"+query); got.StatusCode != status || !strings.Contains(got.Text, want) {
			t.Errorf("%s: %d %s\nwant %d %s", query, got.StatusCode, got.Text, status, want)
		}
	}
	size := trees[len(trees)-1].N
	f(fmt.Sprintf("from=1&to=%d", size+1), 404, fmt.Sprintf("The last checkpoint of the log signs %d entries, not %d.", size, size+1))
	f("from=1", 400, `Missing value for \"to\": must be an integer from 1 to 9007199254740992.`)
	f("to=7", 400, `Missing value for \"from\": must be an integer from 1 to 7.`)
	f("from=8&to=7", 400, `Invalid value \"8\" for \"from\": must be an integer from 1 to 7.`)
	f("from=0&to=7", 400, `for \"from\": must be`)
	f("from=1&to=99999999999999999999", 400, `for \"to\": must be`)
}

func TestLog_DatabaseAway(t *testing.T) {
	t.Parallel()
	r := newLoggedRig(t, 1)
	r.Must(r.DB.Close())
	hash := hex.EncodeToString(r.records[0].Hash[:])
	for _, path := range []string{
		"/log/checkpoint", "/log/vkey", "/log/tile/entries/000.p/1", "/api/log/inclusion?record=" + hash,
		"/api/log/consistency?from=1&to=1",
	} {
		got := r.Get("", path)
		if got.StatusCode != 503 || !strings.Contains(got.Text, `"message":"The log cannot be read at the moment. Try again later.","code":"unavailable"`) {
			t.Errorf("%s: %d %s", path, got.StatusCode, got.Text)
		}
	}
	if !strings.Contains(r.Logs.String(), "read the log: ") {
		t.Error("the log of the server does not tell the cause")
	}
}
