// Package witness is a witness of logs, as C2SP's tlog-witness describes it.
//
// A log that is signed proves what it lists, but its operator could sign two of them and show each to other readers. A
// witness is a stranger who keeps the last checkpoint of a log that it has seen, and signs another one only if it
// continues that one: so all readers who ask for the signature of one witness see one history. It stores nothing of the
// log, and neither it nor the log has to be trusted: the one can only refuse, and the other is found out.
//
// The log sends its new checkpoint, how many entries the witness has seen, and the proof that the new log begins with
// them. A witness that has seen another number says which, and the log sends the proof for that. What a witness has
// signed is on the disk before anyone learns of it: otherwise it could sign a second history after a crash.
package witness

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/assaydata/assay/internal/files"
	"github.com/assaydata/assay/verifier"
)

// Witness signs the checkpoints of some logs.
type Witness struct {
	name string
	key  ed25519.PrivateKey
	now  func() time.Time
	logs map[string]*seenLog // by their names
}

// KnownLog is a log that a witness signs.
type KnownLog struct {
	Log *verifier.Log
	// Follow asks which keys have taken the place of those that are known; nil if they never change.
	Follow func(context.Context) (*verifier.Log, error)
}

// seenLog is a log, and what the witness has seen of it.
type seenLog struct {
	KnownLog
	file string // with the last checkpoint

	following  sync.Mutex // while others wait, they keep the keys that they have
	followedAt time.Time

	mu   sync.Mutex
	note string              // the last checkpoint; empty before the first
	last verifier.Checkpoint // what it says
}

// Open opens a witness that keeps its memory in a folder.
func Open(dir, name string, key ed25519.PrivateKey, logs []KnownLog, now func() time.Time) (*Witness, error) {
	if _, err := verifier.WitnessOf(name, key.Public().(ed25519.PublicKey)); err != nil {
		return nil, err
	}
	w := &Witness{name: name, key: key, now: now, logs: map[string]*seenLog{}}
	for _, known := range logs {
		name := known.Log.Name()
		l := &seenLog{KnownLog: known, file: filepath.Join(dir, fileOf(name))}
		if err := l.read(); err != nil {
			return nil, err
		}
		if w.logs[name] != nil {
			return nil, fmt.Errorf("the log %s is there twice", name)
		}
		w.logs[name] = l
	}
	return w, nil
}

// Key is the text by which others know the witness.
func (w *Witness) Key() string {
	known, err := verifier.WitnessOf(w.name, w.key.Public().(ed25519.PublicKey))
	if err != nil {
		panic(err) // Open has made one
	}
	return known.Key()
}

// fileOf is the file for a log: its name may have characters that no file can have.
func fileOf(log string) string {
	sum := sha256.Sum256([]byte(log))
	return hex.EncodeToString(sum[:8]) + ".checkpoint"
}

// read reads what the witness has seen of a log.
func (l *seenLog) read() error {
	text, err := os.ReadFile(l.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	last, err := l.Log.Read(string(text))
	if err != nil { // it must not begin again: that would let the log begin again too
		return fmt.Errorf("%s: %w", l.file, err)
	}
	l.note, l.last = string(text), last
	return nil
}

// keep stores a checkpoint. When it returns, the disk has it.
func (l *seenLog) keep(signed string, c verifier.Checkpoint) error {
	if err := files.Replace(l.file, []byte(signed)); err != nil {
		return err
	}
	l.note, l.last = signed, c
	return nil
}

// Refusal is why a witness does not sign.
type Refusal struct {
	Reason Reason
	Seen   int64 // with Stale and Forked: how many entries the witness has seen
	Detail string
}

// Reason is a kind of refusal.
type Reason int

// The reasons.
const (
	Malformed    Reason = iota + 1 // the request is not one
	UnknownLog                     // the witness has not been told the log's key
	Unsigned                       // the log has not signed the checkpoint
	Stale                          // the request is for another number of entries than the witness has seen
	Forked                         // the log has signed two different histories
	Inconsistent                   // the proof does not prove that the log continues what the witness has seen
)

func (r *Refusal) Error() string { return r.Detail }

func refuse(reason Reason, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Detail: fmt.Sprintf(format, args...)}
}

// AddCheckpoint takes the body of a request, and returns the line that is the witness's signature. Its error is a
// *Refusal unless the witness itself is in trouble.
func (w *Witness) AddCheckpoint(ctx context.Context, body string) (line string, err error) {
	r, err := parseRequest(body)
	if err != nil {
		return "", refuse(Malformed, "%v", err)
	}
	origin, _, _ := strings.Cut(r.note, "\n")
	l := w.logs[origin]
	if l == nil {
		return "", refuse(UnknownLog, "this witness does not know the log %.200q", origin)
	}
	c, err := l.open(ctx, r.note, w.now())
	if err != nil {
		return "", refuse(Unsigned, "%v", err)
	}
	if r.old > c.Size {
		return "", refuse(Malformed, "a log of %d entries cannot continue one of %d", c.Size, r.old)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.check(r, c); err != nil {
		return "", err
	}
	if c.Size > l.last.Size {
		if err := l.keep(r.note, c); err != nil {
			return "", fmt.Errorf("keep the checkpoint: %w", err)
		}
	}
	return verifier.Cosign(w.name, w.key, c.Text(), uint64(w.now().Unix()))
}

// followEvery is how often a witness asks a log for other keys, at most: anyone can send it what is not signed.
const followEvery = time.Minute

// open opens a checkpoint. If it is signed with another key, the log may have rotated its own.
func (l *seenLog) open(ctx context.Context, signed string, now time.Time) (c verifier.Checkpoint, err error) {
	l.mu.Lock()
	log := l.Log
	l.mu.Unlock()
	c, err = log.Open(signed)
	if !errors.Is(err, verifier.ErrNotSigned) || l.Follow == nil || !l.following.TryLock() {
		return c, err
	}
	defer l.following.Unlock()
	if now.Sub(l.followedAt).Abs() < followEvery {
		return c, err
	}
	l.followedAt = now
	followed, failed := l.Follow(ctx)
	if failed != nil {
		return c, fmt.Errorf("%w: %w", err, failed)
	}
	l.mu.Lock()
	l.Log = followed
	l.mu.Unlock()
	return followed.Open(signed)
}

// check checks that a checkpoint continues the last one.
func (l *seenLog) check(r request, c verifier.Checkpoint) error {
	if l.last.Size == c.Size && l.last.Size > 0 && l.last.Root != c.Root {
		forked := refuse(Forked, "the log %s has signed two histories of %d entries", c.Origin, c.Size)
		forked.Seen = l.last.Size
		return errors.Join(forked, l.keepEvidence(r.note))
	}
	if r.old != l.last.Size {
		stale := refuse(Stale, "this witness has seen %d entries of the log %s, not %d", l.last.Size, c.Origin, r.old)
		stale.Seen = l.last.Size
		return stale
	}
	if l.last.Size == 0 || l.last.Size == c.Size {
		if len(r.proof) > 0 {
			return refuse(Inconsistent, "a proof from %d to %d entries has no hashes", r.old, c.Size)
		}
		return nil
	}
	if err := verifier.CheckConsistency(l.last, c, r.proof); err != nil {
		return refuse(Inconsistent, "%v", err)
	}
	return nil
}

// keepEvidence writes both checkpoints, which prove that the log has two histories.
func (l *seenLog) keepEvidence(other string) error {
	name := strings.TrimSuffix(l.file, ".checkpoint") + ".fork"
	return files.Replace(name, []byte(l.note+"\n"+other))
}

// request is the body of a request.
type request struct {
	old   int64
	proof []string // hashes in hexadecimal
	note  string
}

const maxProof = 63 // hashes: those of the largest log

func parseRequest(body string) (r request, err error) {
	head, note, found := strings.Cut(body, "\n\n")
	lines := strings.Split(head, "\n")
	text, isOld := strings.CutPrefix(lines[0], "old ")
	if !found || !isOld || len(lines)-1 > maxProof {
		return r, fmt.Errorf("a request is a line with old and a number, up to %d lines with hashes, an empty line, "+
			"and a checkpoint", maxProof)
	}
	if r.old, err = strconv.ParseInt(text, 10, 64); err != nil || r.old < 0 || strconv.FormatInt(r.old, 10) != text {
		return r, fmt.Errorf("%.40q is not a number of entries", text)
	}
	for _, line := range lines[1:] {
		hash, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(hash) != tlog.HashSize {
			return r, fmt.Errorf("%.80q is not a hash in base64", line)
		}
		r.proof = append(r.proof, hex.EncodeToString(hash))
	}
	r.note = note
	return r, nil
}
