package verifier_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaydata/assay/internal/logtest"
	"github.com/assaydata/assay/verifier"
)

var update = flag.Bool("update", false, "write the test vectors of the dashboard again")

// vectorsFile has the vectors that the dashboard's own verifier is tested with.
const vectorsFile = "../ui/src/lib/testdata/verify.json"

// vector is what a reader gets from a server, and what this package says about it.
type vector struct {
	Name        string   `json:"name"`
	Response    string   `json:"response"`
	Key         string   `json:"key"`    // of /log/vkey
	Events      string   `json:"events"` // of /log/keys
	Kept        []kept   `json:"kept"`
	Witnesses   []string `json:"witnesses"`
	Consistency []string `json:"consistency"` // the hashes between the kept checkpoint and the new one
	Error       string   `json:"error"`       // empty if the value is proven
}

// kept is what a reader has kept of a log.
type kept struct {
	Log        string `json:"log"`
	Key        string `json:"key"`
	Checkpoint string `json:"checkpoint"`
}

// judge checks a vector as a reader does who keeps the first key and the last checkpoint.
func (v *vector) judge() error {
	known := v.Key
	if len(v.Kept) > 0 {
		known = v.Kept[0].Key
	}
	log, err := verifier.NewLog(known)
	if err == nil && len(v.Witnesses) > 0 {
		log, err = log.Require(1, v.Witnesses...)
	}
	if err == nil {
		log, err = log.Follow(v.Events)
	}
	if err != nil {
		return err
	}
	_, c, err := log.CheckRecord([]byte(v.Response))
	if err != nil || len(v.Kept) == 0 {
		return err
	}
	before, err := log.Read(v.Kept[0].Checkpoint)
	if err != nil {
		return err
	}
	if before.Size > c.Size {
		before, c = c, before
	}
	return verifier.CheckConsistency(before, c, v.Consistency)
}

// vectors makes them all. Their order is that of the file.
func vectors(t *testing.T) (list []vector) {
	t.Helper()
	l, record, leaf := logged(t, recordText)
	honest := response(t, l, record, leaf)
	add := func(name string, v vector) {
		t.Helper()
		v.Name = name
		if v.Response == "" {
			v.Response = honest
		}
		if v.Key == "" {
			v.Key = l.Key + "\n"
		}
		list = append(list, v)
	}
	replaced := func(from, to string) vector {
		t.Helper()
		if !strings.Contains(honest, from) {
			t.Fatalf("the response has no %s", from)
		}
		return vector{Response: strings.Replace(honest, from, to, 1)}
	}

	add("honest", vector{})
	add("value changed", replaced("2.3541", "2.3542"))
	other, _ := sealed(strings.Replace(recordText, "2.3541", "2.3542", 1))
	add("value and hash changed", replaced(record, other))
	add("entry of another record", vector{Response: response(t, l, record, leaf+1)})
	add("wrong leaf index", replaced(`"leaf_index":170`, `"leaf_index":171`))
	add("leaf index too large", replaced(`"leaf_index":170`, `"leaf_index":300`))
	add("wrong tree size", replaced(`"tree_size":300`, `"tree_size":299`))
	hashes := l.Inclusion(leaf)
	add("truncated hashes", replaced(`,"`+hashes[len(hashes)-1]+`"]`, `]`))
	add("no hash", replaced(`"hashes":["`, `"hashes":["x`))
	add("not logged yet", vector{Response: `{"inclusion":null,"data":` + record + `}`})
	add("no JSON", vector{Response: "<html>"})
	doubled, twice, at := logged(t, strings.TrimSuffix(recordText, "}")+`,"index_value":9}`)
	add("a name twice", vector{Key: doubled.Key, Response: response(t, doubled, twice, at)})

	list = append(list, keyVectors(t)...)
	list = append(list, historyVectors(t)...)
	list = append(list, witnessVectors(t)...)
	for i := range list {
		if err := list[i].judge(); err != nil {
			list[i].Error = err.Error()
		}
	}
	return list
}

// keyVectors are about the key of the log.
func keyVectors(t *testing.T) (list []vector) {
	t.Helper()
	l, record, leaf := logged(t, recordText)
	first, before := l.Key, l.Checkpoint(200)
	knowing := []kept{{l.Name, first, before}}
	signedWith := func(name, events, key string) {
		t.Helper()
		l.Use(logtest.KeyOf(key))
		list = append(list, vector{
			Name: name, Response: response(t, l, record, leaf), Key: l.Key, Events: events, Kept: knowing,
			Consistency: logtest.Texts(l.Consistency(200, 300)),
		})
	}
	signedWith("same key", "", l.Name)
	signedWith("checkpoint of another key", "", "b")
	k := keyEvents{t: t}
	k.next(verifier.KeyBegin, l.Name, l.Name)
	signedWith("key that no event leads to", k.text, "b")
	accepted := k
	k.next(verifier.KeyRotate, "b", l.Name, "b")
	signedWith("rotated key followed", k.text, "b")
	signedWith("event with a forged signature", strings.Replace(k.text, `"because"`, `"by chance"`, 1), "b")
	accepted.next(verifier.KeyAccept, "b", "b")
	signedWith("key accepted without the one before", accepted.text, "b")
	k.next(verifier.KeyRevoke, l.Name, "b")
	signedWith("key followed from a revoked one", k.text, "b")
	signedWith("revoked key refused", k.text, l.Name)

	_, revoked, _ := strings.Cut(l.Checkpoint(300), "\n\n")
	signedWith("revoked key beside the current one", k.text, "b")
	line, err := json.Marshal(revoked)
	if err != nil {
		t.Fatal(err)
	}
	last := &list[len(list)-1] // its checkpoint is the last field of the proof
	last.Response = strings.Replace(last.Response, `"},"data"`, string(line[1:len(line)-1])+`"},"data"`, 1)
	return list
}

// historyVectors are about the checkpoint that the reader has kept.
func historyVectors(t *testing.T) (list []vector) {
	t.Helper()
	l, record, leaf := logged(t, recordText)
	fork := logtest.New(t, l.Name)
	for i, entry := range l.Entries {
		if i == 100 {
			entry = `{"type":"audit","number":-1}`
		}
		fork.Add(entry)
	}
	longer := logtest.New(t, l.Name)
	longer.Add(l.Entries...)
	longer.Add("one more", "and another")
	add := func(name, before string, hashes []string) {
		t.Helper()
		list = append(list, vector{
			Name: name, Response: response(t, l, record, leaf), Key: l.Key, Kept: []kept{{l.Name, l.Key, before}},
			Consistency: hashes,
		})
	}
	add("grown from a power of two", l.Checkpoint(256), logtest.Texts(l.Consistency(256, 300)))
	add("same checkpoint", l.Checkpoint(300), nil)
	add("older than the kept checkpoint", longer.Checkpoint(302), logtest.Texts(longer.Consistency(300, 302)))
	add("fork", fork.Checkpoint(200), logtest.Texts(l.Consistency(200, 300)))
	add("fork, with the proof of the fork", fork.Checkpoint(200), logtest.Texts(fork.Consistency(200, 300)))
	add("fork of the same size", fork.Checkpoint(300), nil)
	add("truncated consistency proof", l.Checkpoint(200), logtest.Texts(l.Consistency(200, 300))[1:])
	return list
}

// witnessVectors are about the signatures of witnesses.
func witnessVectors(t *testing.T) (list []vector) {
	t.Helper()
	l, record, leaf := logged(t, recordText)
	signed := l.Checkpoint(l.Size())
	a, b := newCosigner("a.example"), newCosigner("b.example")
	add := func(name, lines string, keys ...string) {
		t.Helper()
		p := verifier.Inclusion{
			LeafIndex: leaf, Entry: l.Entries[leaf], Hashes: l.Inclusion(leaf), TreeSize: l.Size(),
			Checkpoint: signed + lines,
		}
		inclusion, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, vector{
			Name: name, Response: fmt.Sprintf(`{"inclusion":%s,"data":%s}`, inclusion, record), Key: l.Key, Witnesses: keys,
		})
	}
	both := a.line(signed, 1_700_000_000) + b.line(signed, 1_700_000_001)
	add("cosignatures without keys", both)
	add("cosignature good", both, a.vkey())
	add("cosignature of another time", a.backdated(signed, 1_700_000_000), a.vkey())
	add("cosignature of another checkpoint", a.line(l.Checkpoint(299), 1_700_000_000), a.vkey())
	add("cosignature missing", a.line(signed, 1_700_000_000), b.vkey())
	add("cosignature of an impostor", cosigner{"a.example", b.key}.line(signed, 1_700_000_000), a.vkey())
	return list
}

// The dashboard has a verifier of its own. Its tests want it to judge these vectors as this package does.
func TestVectors(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	e := json.NewEncoder(&got)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(vectors(t)); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(vectorsFile, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(vectorsFile)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s (-file +made); go test ./verifier -run TestVectors -update writes it:\n%s", vectorsFile, diff)
	}
}
