package verifier_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/assaydata/assay/verifier"
)

// history is a log in memory, made without any code of this project.
type history struct {
	t       *testing.T
	name    string
	key     string
	signer  note.Signer
	entries []string
	hashes  []tlog.Hash // as tlog stores them
}

func newHistory(t *testing.T, name string) *history {
	t.Helper()
	seed := sha256.Sum256([]byte(name))
	private := ed25519.NewKeyFromSeed(seed[:])
	key, err := note.NewEd25519VerifierKey(name, private.Public().(ed25519.PublicKey))
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(key, "+")
	secret := base64.StdEncoding.EncodeToString(append([]byte{1}, seed[:]...))
	signer, err := note.NewSigner("PRIVATE+KEY+" + parts[0] + "+" + parts[1] + "+" + secret)
	if err != nil {
		t.Fatal(err)
	}
	return &history{t: t, name: name, key: key, signer: signer}
}

// ReadHashes is of tlog.HashReader.
func (h *history) ReadHashes(indexes []int64) (list []tlog.Hash, err error) {
	for _, i := range indexes {
		list = append(list, h.hashes[i])
	}
	return list, nil
}

func (h *history) add(entry string) {
	h.t.Helper()
	more, err := tlog.StoredHashes(int64(len(h.entries)), []byte(entry), h)
	if err != nil {
		h.t.Fatal(err)
	}
	h.entries, h.hashes = append(h.entries, entry), append(h.hashes, more...)
}

func (h *history) size() int64 { return int64(len(h.entries)) }

// checkpoint signs the first entries.
func (h *history) checkpoint(size int64) string {
	h.t.Helper()
	root, err := tlog.TreeHash(size, h)
	if err != nil {
		h.t.Fatal(err)
	}
	text := fmt.Sprintf("%s\n%d\n%s\n", h.name, size, root)
	signed, err := note.Sign(&note.Note{Text: text}, h.signer)
	if err != nil {
		h.t.Fatal(err)
	}
	return string(signed)
}

func texts(hashes []tlog.Hash) []string {
	list := make([]string, len(hashes))
	for i, hash := range hashes {
		list[i] = hex.EncodeToString(hash[:])
	}
	return list
}

// response is the response with a record, and the proof of an entry.
func (h *history) response(record string, leaf int64) string {
	h.t.Helper()
	p, err := tlog.ProveRecord(h.size(), leaf, h)
	if err != nil {
		h.t.Fatal(err)
	}
	inclusion, err := json.Marshal(verifier.Inclusion{
		LeafIndex: leaf, Entry: h.entries[leaf], Hashes: texts(p), TreeSize: h.size(), Checkpoint: h.checkpoint(h.size()),
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return fmt.Sprintf(`{"success":true,"access":"full","inclusion":%s,"data":%s}`, inclusion, record)
}

// sealed appends the hash to the text of a record.
func sealed(text string) (record, hash string) {
	sum := sha256.Sum256([]byte(text))
	hash = hex.EncodeToString(sum[:])
	return strings.TrimSuffix(text, "}") + `,"hash":"` + hash + `"}`, hash
}

const recordText = `{"gpu_type":"H100 SXM","region":"global","granularity":"daily","timestamp":"2026-02-03T21:00:00.000Z",` +
	`"revision":1,"methodology":"1.0.0","index_value":2.3541,"published_at":"2026-02-04T09:30:00.000Z"}`

// entryOf is the entry of the record with a hash.
func entryOf(hash string) string {
	return `{"type":"record","gpu_type":"H100 SXM","region":"global","granularity":"daily",` +
		`"timestamp":"2026-02-03T21:00:00.000Z","revision":1,"publication":7,"hash":"` + hash + `"}`
}

// logged is a log in which one of several entries is that of a record.
func logged(t *testing.T, text string) (h *history, record string, leaf int64) {
	t.Helper()
	h = newHistory(t, "assay/test")
	record, hash := sealed(text)
	for i := range 300 {
		if i == 170 {
			h.add(entryOf(hash))
			continue
		}
		h.add(fmt.Sprintf(`{"type":"audit","number":%d}`, i))
	}
	return h, record, 170
}

func mustLog(t *testing.T, key string) *verifier.Log {
	t.Helper()
	log, err := verifier.NewLog(key)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func TestCheckRecord(t *testing.T) {
	t.Parallel()
	h, record, leaf := logged(t, recordText)
	r, c, err := mustLog(t, h.key+"\n").CheckRecord([]byte(h.response(record, leaf)))
	if err != nil {
		t.Fatal(err)
	}
	if r.GPU != "H100 SXM" || r.Value == nil || r.Value.String() != "2.3541" || r.Text != record || c.Size != 300 || c.Origin != h.name {
		t.Errorf("the record is %+v in %+v", r, c)
	}
}

// Whatever is changed in a response, it is noticed.
func TestCheckRecord_Changed(t *testing.T) {
	t.Parallel()
	h, record, leaf := logged(t, recordText)
	log := mustLog(t, h.key)
	honest := h.response(record, leaf)
	f := func(what, response, want string) {
		t.Helper()
		if response == honest {
			t.Fatalf("%s: nothing was changed", what)
		}
		_, _, err := log.CheckRecord([]byte(response))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", what, err, want)
		}
	}
	replace := func(from, to string) string { return strings.Replace(honest, from, to, 1) }
	f("the value", replace("2.3541", "2.3542"), "the hash of the record is not that of its text")
	other, hash := sealed(strings.Replace(recordText, "2.3541", "2.3542", 1))
	f("the value and its hash", replace(record, other), "about another record")
	_, before := sealed(recordText)
	f("the entry as well", strings.ReplaceAll(replace("2.3541", "2.3542"), before, hash), "is not in the log")
	f("another entry", h.response(record, leaf+1), "about another record")
	f("the number of the entry", replace(`"leaf_index":170`, `"leaf_index":171`), "entry 171 is not in the log")
	f("a number that is too large", replace(`"leaf_index":170`, `"leaf_index":300`), "no entry 300")
	f("a negative number", replace(`"leaf_index":170`, `"leaf_index":-1`), "no entry -1")
	f("the size", replace(`"tree_size":300`, `"tree_size":299`), "the checkpoint signs 300")
	f("no hashes", honest[:strings.Index(honest, `"hashes":[`)]+`"hashes":[],`+honest[strings.Index(honest, `"tree_size"`):], "not in the log")
	f("no hash", replace(`"hashes":["`, `"hashes":["x`), "is not a hash")
	f("the checkpoint", replace(`\n300\n`, `\n301\n`), "the checkpoint")
	f("no proof", honest[:strings.Index(honest, `"inclusion"`)]+`"inclusion":null,`+honest[strings.Index(honest, `"data"`):], "in no checkpoint")
	f("no JSON", "<html>", "not a JSON object")
	f("a part", honest[:len(honest)-1], "the response")
	f("two responses", honest+honest, "the response")
}

// Texts that other programs would read otherwise prove nothing, even if the operator has logged their hash.
func TestCheckRecord_Ambiguous(t *testing.T) {
	t.Parallel()
	for _, more := range []string{
		`,"index_value":9}`, `,"Index_Value":9}`, `,"INDEX_VALUE":9}`, `,"\u0069ndex_value":9}`, `,"ındex_value":9}`,
	} {
		h, record, leaf := logged(t, strings.TrimSuffix(recordText, "}")+more)
		if _, _, err := mustLog(t, h.key).CheckRecord([]byte(h.response(record, leaf))); err == nil ||
			!strings.Contains(err.Error(), "is there twice") {
			t.Errorf("%s: %v", more, err)
		}
	}
}

func TestCheckRecord_NotLogged(t *testing.T) {
	t.Parallel()
	h, record, _ := logged(t, recordText)
	_, _, err := mustLog(t, h.key).CheckRecord([]byte(`{"inclusion":null,"data":` + record + `}`))
	if !errors.Is(err, verifier.ErrNotLogged) {
		t.Errorf("%v, want %v", err, verifier.ErrNotLogged)
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	h, other := newHistory(t, "assay/test"), newHistory(t, "assay/other")
	h.add("a")
	other.add("a")
	log := mustLog(t, h.key)
	if c, err := log.Open(h.checkpoint(1)); err != nil || c.Size != 1 || c.Origin != h.name {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := log.Open(other.checkpoint(1)); err == nil {
		t.Error("the checkpoint of another log is accepted")
	}
	h.name = "assay/renamed" // signed with the key of another name
	if _, err := log.Open(h.checkpoint(1)); err == nil || !strings.Contains(err.Error(), "of the log assay/renamed") {
		t.Errorf("the checkpoint of a renamed log: %v", err)
	}
	if _, err := verifier.NewLog("assay/test"); err == nil {
		t.Error("a name is accepted as a key")
	}
}

func TestParseCheckpoint(t *testing.T) {
	t.Parallel()
	const root = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
	for _, text := range []string{
		"", "log", "log\n1\n", "\n1\n" + root, "log\n-1\n" + root, "log\n01\n" + root, "log\n+1\n" + root, "log\nx\n" + root,
		"log\n1\nAAAA\n", "log\n1\n*\n", "log\n99999999999999999999\n" + root,
	} {
		if c, err := verifier.ParseCheckpoint(text); err == nil {
			t.Errorf("%q is %+v", text, c)
		}
	}
	if c, err := verifier.ParseCheckpoint("log\n1\n" + root + "an extension\n"); err != nil || c.Size != 1 {
		t.Errorf("with an extension: %+v, %v", c, err)
	}
}

func TestCheckConsistency(t *testing.T) {
	t.Parallel()
	h, fork := newHistory(t, "assay/test"), newHistory(t, "assay/test")
	for i := range 300 {
		h.add(fmt.Sprint(i))
		if i == 100 {
			fork.add("something else")
			continue
		}
		fork.add(fmt.Sprint(i))
	}
	log := mustLog(t, h.key)
	at := func(h *history, size int64) verifier.Checkpoint {
		t.Helper()
		c, err := log.Open(h.checkpoint(size))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	prove := func(h *history, from, to int64) []string {
		t.Helper()
		p, err := tlog.ProveTree(to, from, h)
		if err != nil {
			t.Fatal(err)
		}
		return texts(p)
	}
	for _, sizes := range [][2]int64{{1, 1}, {1, 300}, {100, 101}, {255, 257}, {256, 300}, {300, 300}} {
		if err := verifier.CheckConsistency(at(h, sizes[0]), at(h, sizes[1]), prove(h, sizes[0], sizes[1])); err != nil {
			t.Errorf("from %d to %d: %v", sizes[0], sizes[1], err)
		}
	}
	f := func(what string, from, to verifier.Checkpoint, hashes []string, want string) {
		t.Helper()
		if err := verifier.CheckConsistency(from, to, hashes); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", what, err, want)
		}
	}
	f("a fork", at(h, 200), at(fork, 300), prove(fork, 200, 300), "does not begin with")
	f("a fork of the same size", at(h, 300), at(fork, 300), nil, "does not begin with")
	f("a log that was cut", at(h, 300), at(h, 200), nil, "cannot begin with")
	f("no hashes", at(h, 200), at(h, 300), nil, "does not begin with")
	f("no hash", at(h, 200), at(h, 300), []string{"x"}, "is not a hash")
	other := at(h, 300)
	other.Origin = "assay/other"
	f("another log", at(h, 200), other, prove(h, 200, 300), "two logs")
}
