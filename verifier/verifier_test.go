package verifier_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/assaydata/assay/internal/logtest"
	"github.com/assaydata/assay/verifier"
)

// response is the response with a record, and the proof of an entry.
func response(t *testing.T, l *logtest.Log, record string, leaf int64) string {
	t.Helper()
	inclusion, err := json.Marshal(verifier.Inclusion{
		LeafIndex: leaf, Entry: l.Entries[leaf], Hashes: l.Inclusion(leaf), TreeSize: l.Size(),
		Checkpoint: l.Checkpoint(l.Size()),
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{"success":true,"access":"full","inclusion":%s,"data":%s}`, inclusion, record)
}

// sealed appends the hash to the text of a record.
func sealed(text string) (record, hash string) {
	sum := sha256.Sum256([]byte(text))
	hash = hex.EncodeToString(sum[:])
	return strings.TrimSuffix(text, "}") + `,"hash":"` + hash + `"}`, hash
}

const recordText = `{"gpu_type":"H100 SXM","region":"global","granularity":"daily",` +
	`"timestamp":"2026-02-03T21:00:00.000Z","revision":1,"methodology":"1.0.0","index_value":2.3541,"published_at":"2026-02-04T09:30:00.000Z"}`

// entryOf is the entry of the record with a hash.
func entryOf(hash string) string {
	return `{"type":"record","gpu_type":"H100 SXM","region":"global","granularity":"daily",` +
		`"timestamp":"2026-02-03T21:00:00.000Z","revision":1,"publication":7,"hash":"` + hash + `"}`
}

// logged is a log in which one of several entries is that of a record.
func logged(t *testing.T, text string) (h *logtest.Log, record string, leaf int64) {
	t.Helper()
	h = logtest.New(t, "assay/test")
	record, hash := sealed(text)
	for i := range 300 {
		if i == 170 {
			h.Add(entryOf(hash))
			continue
		}
		h.Add(fmt.Sprintf(`{"type":"audit","number":%d}`, i))
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
	r, c, err := mustLog(t, h.Key+"\n").CheckRecord([]byte(response(t, h, record, leaf)))
	if err != nil {
		t.Fatal(err)
	}
	if r.GPU != "H100 SXM" || r.Value == nil || r.Value.String() != "2.3541" || r.Text != record ||
		c.Size != 300 || c.Origin != h.Name {
		t.Errorf("the record is %+v in %+v", r, c)
	}
}

// Whatever is changed in a response, it is noticed.
func TestCheckRecord_Changed(t *testing.T) {
	t.Parallel()
	h, record, leaf := logged(t, recordText)
	log := mustLog(t, h.Key)
	honest := response(t, h, record, leaf)
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
	instead := func(from, to, text string) string { // of what stands between two names
		return honest[:strings.Index(honest, from)] + text + honest[strings.Index(honest, to):]
	}
	f("the value", replace("2.3541", "2.3542"), "the hash of the record is not that of its text")
	other, hash := sealed(strings.Replace(recordText, "2.3541", "2.3542", 1))
	f("the value and its hash", replace(record, other), "about another record")
	_, before := sealed(recordText)
	f("the entry as well", strings.ReplaceAll(replace("2.3541", "2.3542"), before, hash), "is not in the log")
	f("another entry", response(t, h, record, leaf+1), "about another record")
	f("the number of the entry", replace(`"leaf_index":170`, `"leaf_index":171`), "entry 171 is not in the log")
	f("a number that is too large", replace(`"leaf_index":170`, `"leaf_index":300`), "no entry 300")
	f("a negative number", replace(`"leaf_index":170`, `"leaf_index":-1`), "no entry -1")
	f("the size", replace(`"tree_size":300`, `"tree_size":299`), "the checkpoint signs 300")
	f("no hashes", instead(`"hashes":[`, `"tree_size"`, `"hashes":[],`), "not in the log")
	f("no hash", replace(`"hashes":["`, `"hashes":["x`), "is not a hash")
	f("the checkpoint", replace(`\n300\n`, `\n301\n`), "the checkpoint")
	f("no proof", instead(`"inclusion"`, `"data"`, `"inclusion":null,`), "in no checkpoint")
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
		if _, _, err := mustLog(t, h.Key).CheckRecord([]byte(response(t, h, record, leaf))); err == nil ||
			!strings.Contains(err.Error(), "is there twice") {
			t.Errorf("%s: %v", more, err)
		}
	}
}

func TestCheckRecord_NotLogged(t *testing.T) {
	t.Parallel()
	h, record, _ := logged(t, recordText)
	_, _, err := mustLog(t, h.Key).CheckRecord([]byte(`{"inclusion":null,"data":` + record + `}`))
	if !errors.Is(err, verifier.ErrNotLogged) {
		t.Errorf("%v, want %v", err, verifier.ErrNotLogged)
	}
}

const valueText = `{"index":"otpi","series":"openai","date":"2026-02-02","revision":1,"values":{"indexPerMtok":4.20,` +
	`"mixPerMtok":null},"methodology":"2.0.0","known_at":"2026-02-04T09:30:00.000Z","inputs":"00"}`

// loggedValue logs the record of a token price, and returns the response with it.
func loggedValue(t *testing.T, text string) (h *logtest.Log, response string) {
	t.Helper()
	h = logtest.New(t, "assay/test")
	h.Add("another entry")
	record, hash := sealed(text)
	h.Add(`{"type":"value","index":"otpi","series":"openai","date":"2026-02-02","revision":1,"hash":"` + hash + `"}`)
	inclusion, err := json.Marshal(verifier.Inclusion{
		LeafIndex: 1, Entry: h.Entries[1], Hashes: h.Inclusion(1), TreeSize: 2, Checkpoint: h.Checkpoint(2),
	})
	if err != nil {
		t.Fatal(err)
	}
	return h, `{"inclusion":` + string(inclusion) + `,"data":` + record + `}`
}

func TestCheckValueRecord(t *testing.T) {
	t.Parallel()
	h, honest := loggedValue(t, valueText)
	log := mustLog(t, h.Key)
	r, c, err := log.CheckValueRecord([]byte(honest))
	if err != nil || r.Index != "otpi" || r.Series != "openai" || r.Revision != 1 || c.Size != 2 {
		t.Fatalf("the record is %+v in %+v (%v)", r, c, err)
	}
	if numbers, err := r.Numbers(); err != nil || fmt.Sprint(numbers) != "map[indexPerMtok:4.20 mixPerMtok:null]" {
		t.Errorf("its numbers are %v (%v)", numbers, err)
	}
	f := func(want, from, to string) {
		t.Helper()
		changed := strings.Replace(honest, from, to, 1)
		if _, _, err := log.CheckValueRecord([]byte(changed)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s instead of %s: %v, want %s", to, from, err, want)
		}
	}
	f("the hash of the record", "4.20", "4.21")
	f("the hash of the record", "openai\",\"date\":\"2026-02-02\",\"revision\":1,\"values", "xai\",\"date\":\"2026-02-02\",\"revision\":1,\"values")
	f("is not in the log", `\"revision\":1`, `\"revision\":2`)
	f("in no checkpoint", honest[len(`{"inclusion":`):strings.Index(honest, `,"data"`)], "null")
}

// Numbers that other programs would read otherwise prove nothing, and neither does the record of another value.
func TestCheckValueRecord_Logged(t *testing.T) {
	t.Parallel()
	f := func(want, from, to string) {
		t.Helper()
		h, response := loggedValue(t, strings.Replace(valueText, from, to, 1))
		_, _, err := mustLog(t, h.Key).CheckValueRecord([]byte(response))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", to, err, want)
		}
	}
	f("is there twice", "mixPerMtok", "indexPerMtok")
	f("is there twice", "mixPerMtok", "INDEXPERMTOK")
	f("is not plain", "mixPerMtok", "ındexPerMtok")
	f("is not a number", "4.20", `"4.20"`)
	f("not a JSON object", `{"indexPerMtok":4.20,"mixPerMtok":null}`, "[4.2]")
	f("about another record", "openai", "xai")
	h, response := loggedValue(t, strings.Replace(valueText, `{"indexPerMtok":4.20,"mixPerMtok":null}`, "null", 1))
	if r, _, err := mustLog(t, h.Key).CheckValueRecord([]byte(response)); err != nil || string(r.Values) != "null" {
		t.Errorf("of a value that is gone: %+v (%v)", r, err)
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	h, other := logtest.New(t, "assay/test"), logtest.New(t, "assay/other")
	h.Add("a")
	other.Add("a")
	log := mustLog(t, h.Key)
	if c, err := log.Open(h.Checkpoint(1)); err != nil || c.Size != 1 || c.Origin != h.Name {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := log.Open(other.Checkpoint(1)); err == nil {
		t.Error("the checkpoint of another log is accepted")
	}
	h.Name = "assay/renamed" // signed with the key of another name
	if _, err := log.Open(h.Checkpoint(1)); err == nil || !strings.Contains(err.Error(), "of the log assay/renamed") {
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
	h, fork := logtest.New(t, "assay/test"), logtest.New(t, "assay/test")
	for i := range 300 {
		h.Add(fmt.Sprint(i))
		if i == 100 {
			fork.Add("something else")
			continue
		}
		fork.Add(fmt.Sprint(i))
	}
	log := mustLog(t, h.Key)
	at := func(h *logtest.Log, size int64) verifier.Checkpoint {
		t.Helper()
		c, err := log.Open(h.Checkpoint(size))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	prove := func(h *logtest.Log, from, to int64) []string {
		t.Helper()
		return logtest.Texts(h.Consistency(from, to))
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
