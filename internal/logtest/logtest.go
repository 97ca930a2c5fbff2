// Package logtest makes logs for tests: in memory, and with x/mod's own code, so that they can judge this project's.
package logtest

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Log is a log in memory.
type Log struct {
	Name    string
	Key     string // as a reader knows it
	Entries []string

	t      testing.TB
	signer note.Signer
	hashes []tlog.Hash // as tlog stores them
}

// New makes an empty log. Its key follows from its name.
func New(t testing.TB, name string) *Log {
	t.Helper()
	l := &Log{t: t, Name: name}
	l.Use(KeyOf(name))
	return l
}

// KeyOf is a key that follows from a text.
func KeyOf(text string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte(text))
	return ed25519.NewKeyFromSeed(seed[:])
}

// KeyEvent is the text of an event about a key of a log. The key and its signers are those of KeyOf.
func KeyEvent(log string, number int, action, key string, signers ...string) string {
	encode := base64.StdEncoding.EncodeToString
	statement := fmt.Sprintf(`{"type":"key","number":%d,"action":"%s","public_key":"%s","at":"2026-02-03T04:05:06.000Z",`+
		`"reason":"because"`, number, action, encode(KeyOf(key).Public().(ed25519.PublicKey)))
	var signatures []string
	for _, signer := range signers {
		signed := "assay key event/v1\n" + log + "\n" + statement + "}"
		signatures = append(signatures, `"`+encode(ed25519.Sign(KeyOf(signer), []byte(signed)))+`"`)
	}
	return statement + `,"signatures":[` + strings.Join(signatures, ",") + "]}"
}

// Use lets another key sign from now on.
func (l *Log) Use(private ed25519.PrivateKey) {
	l.t.Helper()
	key, err := note.NewEd25519VerifierKey(l.Name, private.Public().(ed25519.PublicKey))
	if err != nil {
		l.t.Fatal(err)
	}
	parts := strings.Split(key, "+")
	secret := base64.StdEncoding.EncodeToString(append([]byte{1}, private.Seed()...))
	signer, err := note.NewSigner("PRIVATE+KEY+" + parts[0] + "+" + parts[1] + "+" + secret)
	if err != nil {
		l.t.Fatal(err)
	}
	l.Key, l.signer = key, signer
}

// ReadHashes is of tlog.HashReader.
func (l *Log) ReadHashes(indexes []int64) (list []tlog.Hash, err error) {
	for _, i := range indexes {
		list = append(list, l.hashes[i])
	}
	return list, nil
}

// Add appends entries.
func (l *Log) Add(entries ...string) {
	l.t.Helper()
	for _, entry := range entries {
		more, err := tlog.StoredHashes(l.Size(), []byte(entry), l)
		if err != nil {
			l.t.Fatal(err)
		}
		l.Entries, l.hashes = append(l.Entries, entry), append(l.hashes, more...)
	}
}

// Size is how many entries the log has.
func (l *Log) Size() int64 { return int64(len(l.Entries)) }

// Checkpoint signs the first entries.
func (l *Log) Checkpoint(size int64) string {
	l.t.Helper()
	root, err := tlog.TreeHash(size, l)
	if err != nil {
		l.t.Fatal(err)
	}
	text := fmt.Sprintf("%s\n%d\n%s\n", l.Name, size, root)
	signed, err := note.Sign(&note.Note{Text: text}, l.signer)
	if err != nil {
		l.t.Fatal(err)
	}
	return string(signed)
}

// Inclusion proves that an entry is in the log, with hashes in hexadecimal.
func (l *Log) Inclusion(leaf int64) []string {
	l.t.Helper()
	p, err := tlog.ProveRecord(l.Size(), leaf, l)
	if err != nil {
		l.t.Fatal(err)
	}
	return Texts(p)
}

// Consistency proves that the log of one size begins with that of another.
func (l *Log) Consistency(from, to int64) []tlog.Hash {
	l.t.Helper()
	p, err := tlog.ProveTree(to, from, l)
	if err != nil {
		l.t.Fatal(err)
	}
	return p
}

// Texts are hashes in hexadecimal.
func Texts(hashes []tlog.Hash) []string {
	list := make([]string, len(hashes))
	for i, hash := range hashes {
		list[i] = hex.EncodeToString(hash[:])
	}
	return list
}
