// Package verifier checks what a server of Assay says about a value, without trusting the server. It needs no database:
// only the response, and the key of the server's log, which a reader gets once and keeps.
//
// A published value has a record of how it was determined. The record's hash is in an entry of an append-only log, and
// the log's operator signs checkpoints of it. So a value is proven in these steps, each of which can fail:
//
//  1. The hash in the record is that of its text.
//  2. The entry of the log names this record.
//  3. The entry is in the tree of the checkpoint.
//  4. The operator has signed the checkpoint.
//  5. The checkpoint is consistent with the last one that the reader has seen: the operator has not rewritten the log.
//
// CheckRecord takes the first four steps (CheckValueRecord for other indices than that of GPUs), CheckConsistency the
// last. What remains is that the operator could show
// another log to another reader. Require lets CheckRecord also check that witnesses have signed the checkpoint, who
// sign one history only.
//
// Hashes and proofs are those of RFC 6962, checkpoints those of C2SP's tlog-checkpoint; docs/proof.md describes the
// rest to the byte.
package verifier

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Log is a log whose key is known.
type Log struct {
	keys      []logKey // at least one; they have one name
	witnesses []*Witness
	required  int // how many of them must have signed
}

// NewLog takes the key of a log, as /log/vkey serves it, and more keys of the same log if the reader accepts several.
func NewLog(key string, more ...string) (*Log, error) {
	l := &Log{}
	for _, text := range append([]string{key}, more...) {
		k, err := parseLogKey(text)
		if err != nil {
			return nil, err
		}
		l.keys = append(l.keys, k)
		if k.Name() != l.Name() {
			return nil, fmt.Errorf("the keys are of two logs, %s and %s", l.Name(), k.Name())
		}
	}
	return l, nil
}

// Name is the name of the log, with which its checkpoints begin.
func (l *Log) Name() string { return l.keys[0].Name() }

// Checkpoint says how many entries a log has, and what the hash of the tree over them is.
type Checkpoint struct {
	Origin string // the name of the log
	Size   int64
	Root   [32]byte
}

// Text is what is signed.
func (c Checkpoint) Text() string {
	return c.Origin + "\n" + strconv.FormatInt(c.Size, 10) + "\n" + base64.StdEncoding.EncodeToString(c.Root[:]) + "\n"
}

// ErrNotSigned is the error for a checkpoint that is not signed with a key that the reader accepts. If the log's key
// was rotated, Follow leads to the new one.
var ErrNotSigned = errors.New("it is not signed with the key of the log")

// Open checks the signature of a checkpoint, and returns what it says.
func (l *Log) Open(signed string) (c Checkpoint, err error) {
	var keys []note.Verifier
	for _, key := range l.keys {
		keys = append(keys, key)
	}
	for _, w := range l.witnesses {
		keys = append(keys, w)
	}
	opened, err := note.Open([]byte(signed), note.VerifierList(keys...))
	if _, unknown := errors.AsType[*note.UnverifiedNoteError](err); unknown {
		err = ErrNotSigned
	}
	if err == nil && !slices.ContainsFunc(l.keys, func(key logKey) bool { return hasSigned(opened, key) }) {
		err = ErrNotSigned
	}
	if err != nil {
		return c, fmt.Errorf("the checkpoint: %w", err)
	}
	if c, err = ParseCheckpoint(opened.Text); err != nil {
		return c, err
	}
	if err := l.checkWitnesses(opened); err != nil {
		return Checkpoint{}, err
	}
	if c.Origin != l.Name() {
		return Checkpoint{}, fmt.Errorf("the checkpoint is of the log %s, the key of %s", c.Origin, l.Name())
	}
	return c, nil
}

// Read returns what a checkpoint says that the caller has opened before and kept: its key may have been revoked since.
func (l *Log) Read(kept string) (c Checkpoint, err error) {
	text, _, _ := strings.Cut(kept, "\n\n")
	if c, err = ParseCheckpoint(text + "\n"); err == nil && c.Origin != l.Name() {
		err = fmt.Errorf("the checkpoint is of the log %s, not of %s", c.Origin, l.Name())
	}
	return c, err
}

// hasSigned reports whether a key has signed a note, whose signatures are checked.
func hasSigned(opened *note.Note, key note.Verifier) bool {
	return slices.ContainsFunc(opened.Sigs, func(s note.Signature) bool {
		return s.Name == key.Name() && s.Hash == key.KeyHash()
	})
}

var errCheckpoint = errors.New("a checkpoint has three lines: the log's name, its size and its hash")

// ParseCheckpoint parses the text of a checkpoint, whose signature it does not check.
func ParseCheckpoint(text string) (c Checkpoint, err error) {
	lines := strings.Split(text, "\n")
	if len(lines) < 4 || lines[0] == "" { // extensions may follow
		return c, errCheckpoint
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil || size < 0 || strconv.FormatInt(size, 10) != lines[1] {
		return c, errCheckpoint
	}
	root, err := base64.StdEncoding.DecodeString(lines[2])
	if err != nil || len(root) != len(c.Root) {
		return c, errCheckpoint
	}
	return Checkpoint{Origin: lines[0], Size: size, Root: [32]byte(root)}, nil
}

// Inclusion is the proof that the log has an entry, as /api/log/inclusion and the responses with records have it.
type Inclusion struct {
	LeafIndex  int64    `json:"leaf_index"`
	Entry      string   `json:"entry"`
	Hashes     []string `json:"hashes"`
	TreeSize   int64    `json:"tree_size"`
	Checkpoint string   `json:"checkpoint"`
}

// CheckInclusion checks that an entry is in the log that a signed checkpoint describes.
func (l *Log) CheckInclusion(p *Inclusion) (c Checkpoint, err error) {
	if c, err = l.Open(p.Checkpoint); err != nil {
		return c, err
	}
	if c.Size != p.TreeSize {
		return c, fmt.Errorf("the proof is for %d entries, the checkpoint signs %d", p.TreeSize, c.Size)
	}
	hashes, err := parseHashes(p.Hashes)
	if err != nil {
		return c, err
	}
	if p.LeafIndex < 0 || p.LeafIndex >= c.Size {
		return c, fmt.Errorf("the checkpoint has no entry %d", p.LeafIndex)
	}
	err = tlog.CheckRecord(hashes, c.Size, tlog.Hash(c.Root), p.LeafIndex, tlog.RecordHash([]byte(p.Entry)))
	if err != nil {
		return c, fmt.Errorf("entry %d is not in the log: %w", p.LeafIndex, err)
	}
	return c, nil
}

func parseHashes(texts []string) (hashes []tlog.Hash, err error) {
	for _, text := range texts {
		raw, err := hex.DecodeString(text)
		if err != nil || len(raw) != tlog.HashSize {
			return nil, fmt.Errorf("%.80q is not a hash", text)
		}
		hashes = append(hashes, tlog.Hash(raw))
	}
	return hashes, nil
}

// CheckConsistency checks that a log has only grown from an old checkpoint to a new one. The hashes are those of
// /api/log/consistency.
func CheckConsistency(from, to Checkpoint, hashes []string) error {
	if from.Origin != to.Origin {
		return fmt.Errorf("the checkpoints are of two logs, %s and %s", from.Origin, to.Origin)
	}
	if from.Size < 1 || from.Size > to.Size {
		return fmt.Errorf("a log of %d entries cannot begin with %d", to.Size, from.Size)
	}
	p, err := parseHashes(hashes)
	if err != nil {
		return err
	}
	if err := tlog.CheckTree(p, to.Size, tlog.Hash(to.Root), from.Size, tlog.Hash(from.Root)); err != nil {
		return fmt.Errorf("the log of %d entries does not begin with that of %d: %w", to.Size, from.Size, err)
	}
	return nil
}

// Record is how a value was determined. Fields that prove nothing by themselves are left out; Text has all of them.
type Record struct {
	GPU         string       `json:"gpu_type"`
	Region      string       `json:"region"`
	Granularity string       `json:"granularity"`
	Timestamp   string       `json:"timestamp"`
	Revision    int          `json:"revision"`
	Value       *json.Number `json:"index_value"` // nil: no value was published
	Methodology string       `json:"methodology"`
	PublishedAt string       `json:"published_at"`
	Hash        string       `json:"hash"`

	Text string `json:"-"` // the whole record, as it was served
}

// RecordEntry is the entry of a record in the log.
type RecordEntry struct {
	Type        string `json:"type"`
	GPU         string `json:"gpu_type"`
	Region      string `json:"region"`
	Granularity string `json:"granularity"`
	Timestamp   string `json:"timestamp"`
	Revision    int    `json:"revision"`
	Publication int64  `json:"publication"`
	Hash        string `json:"hash"`
}

// ParseRecordEntry parses an entry of the log that is about a record.
func ParseRecordEntry(text string) (RecordEntry, error) { return parseEntry[RecordEntry](text) }

func parseEntry[E any](text string) (e E, err error) {
	if err := parse([]byte(text), &e); err != nil {
		return e, fmt.Errorf("the entry of the log: %w", err)
	}
	return e, nil
}

// String names the value that the record is about.
func (e *RecordEntry) String() string {
	return fmt.Sprintf("%s %s %s at %s", e.GPU, e.Region, e.Granularity, e.Timestamp)
}

// ErrNotLogged is the error for a record that no checkpoint includes yet, which takes seconds after its publication.
var ErrNotLogged = errors.New("the record is in no checkpoint of the log yet")

// CheckRecord proves a response of /api/gpu/{gpuName}/determination. It returns the record, and the checkpoint that
// includes it, which the caller compares with the last one that it has seen.
func (l *Log) CheckRecord(response []byte) (r Record, c Checkpoint, err error) {
	entry, c, err := l.prove(response, &r, &r.Text, &r.Hash)
	if err != nil {
		return r, c, err
	}
	return r, c, r.checkEntry(entry)
}

// prove parses the record of a response, with its text and hash, and checks that the entry that it returns is in the
// log. That the entry is about the record is for the caller to check.
func (l *Log) prove(response []byte, record any, text, hash *string) (entry string, c Checkpoint, err error) {
	var body struct {
		Inclusion *Inclusion      `json:"inclusion"`
		Data      json.RawMessage `json:"data"`
	}
	if err := parse(response, &body); err != nil {
		return "", c, fmt.Errorf("the response: %w", err)
	}
	if err := parse(body.Data, record); err != nil {
		return "", c, fmt.Errorf("the record: %w", err)
	}
	*text = string(body.Data)
	if err := checkHash(*text, *hash); err != nil {
		return "", c, err
	}
	if body.Inclusion == nil {
		return "", c, ErrNotLogged
	}
	c, err = l.CheckInclusion(body.Inclusion)
	return body.Inclusion.Entry, c, err
}

// checkHash checks the hash of a record, which is the last field of its text: it is that of the text without the field.
func checkHash(text, want string) error {
	text, ok := strings.CutSuffix(text, `,"hash":"`+want+`"}`)
	if hash := sha256.Sum256([]byte(text + "}")); !ok || hex.EncodeToString(hash[:]) != want {
		return fmt.Errorf("the hash of the record is not that of its text: %.80q", want)
	}
	return nil
}

// checkEntry checks that an entry of the log is about the record.
func (r *Record) checkEntry(text string) error {
	e, err := ParseRecordEntry(text)
	if err != nil {
		return err
	}
	want := RecordEntry{"record", r.GPU, r.Region, r.Granularity, r.Timestamp, r.Revision, e.Publication, r.Hash}
	if e != want {
		return fmt.Errorf("the entry of the log is about another record: %.400s", text)
	}
	return nil
}

// parse parses a JSON object that every other program understands in the same way. One that has a name twice, or names
// that differ only in case, means different things to different programs: an operator could show one value to some
// readers and prove another.
func parse(text []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return errors.Join(errors.New("it is not a JSON object"), err)
	}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		if seen[name] || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			return fmt.Errorf("the name %.80q is there twice, or is not in lower case", name)
		}
		seen[name] = true
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
	}
	return json.Unmarshal(text, to) // it also refuses what follows the object
}
