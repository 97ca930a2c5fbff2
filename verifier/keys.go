package verifier

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
)

// The key that signs a log changes. Each change is an event, which is signed and which the log lists. So a reader who
// knows one key of a log can follow it to the next, and learns which keys are in wrong hands.

// The kinds of key events.
const (
	KeyBegin  = "begin"  // names the first key, and is signed with it
	KeyRotate = "rotate" // puts another key in place of the current one, and is signed with both
	KeyAccept = "accept" // does the same without the signature of the current key, which is lost: no one can follow it
	KeyRevoke = "revoke" // says that an earlier key is in wrong hands, and is signed with the current one
)

// KeyEvent is a change of the key that signs a log. Its text is the entry of the log, a JSON object.
type KeyEvent struct {
	Type       string   `json:"type"` // key
	Number     int64    `json:"number"`
	Action     string   `json:"action"`
	PublicKey  []byte   `json:"public_key"` // that signs from now on, or is revoked
	At         string   `json:"at"`
	Reason     string   `json:"reason"`
	Signatures [][]byte `json:"signatures,omitempty"` // with the keys that the action asks for, in their order
}

// keyEntryType is the type of the entries in the log.
const keyEntryType = "key"

// Sign signs an event of a log with the keys that its action asks for: rotate with the old and the new one. The result
// is the text of the event.
func (e *KeyEvent) Sign(log string, keys ...ed25519.PrivateKey) (text string, err error) {
	e.Type, e.Signatures = keyEntryType, nil
	statement, err := json.Marshal(e)
	if err != nil {
		return "", err
	}
	for _, key := range keys {
		e.Signatures = append(e.Signatures, ed25519.Sign(key, keyStatement(log, statement)))
	}
	signed, err := json.Marshal(e)
	return string(signed), err
}

// keyStatement is what is signed: the text of an event without its signatures, for one log only.
func keyStatement(log string, text []byte) []byte {
	return append([]byte("assay key event/v1\n"+log+"\n"), text...)
}

// Keys are the keys of a log, as its events have changed them.
type Keys struct {
	log     string
	events  []KeyEvent
	current ed25519.PublicKey
	revoked [][]byte
}

// ReadKeys reads the events of a log, one in each line, as /log/keys serves them. It checks all signatures.
func ReadKeys(log, events string) (*Keys, error) {
	k := &Keys{log: log}
	for line := range strings.Lines(events) {
		if err := k.add(strings.TrimSuffix(line, "\n")); err != nil {
			return nil, fmt.Errorf("key event %d: %w", len(k.events)+1, err)
		}
	}
	return k, nil
}

// Log is the name of the log.
func (k *Keys) Log() string { return k.log }

// Next is the next event, which is to be signed.
func (k *Keys) Next(action string, key ed25519.PublicKey, at time.Time) KeyEvent {
	return KeyEvent{
		Number: int64(len(k.events)) + 1, Action: action, PublicKey: key,
		At: at.UTC().Format("2006-01-02T15:04:05.000Z"),
	}
}

// Events are the events in their order.
func (k *Keys) Events() []KeyEvent { return k.events }

// Current is the key that signs; nil before the first event.
func (k *Keys) Current() ed25519.PublicKey { return k.current }

// Revoked reports whether a key is in wrong hands.
func (k *Keys) Revoked(key []byte) bool {
	return slices.ContainsFunc(k.revoked, func(r []byte) bool { return bytes.Equal(r, key) })
}

// HasSigned reports whether the current key has signed a checkpoint.
func (k *Keys) HasSigned(checkpoint string) bool {
	key, err := logKeyOf(k.log, k.current)
	if err != nil {
		return false
	}
	_, err = note.Open([]byte(checkpoint), note.VerifierList(key))
	return err == nil
}

// known reports whether a key has signed the log at some time.
func (k *Keys) known(key []byte) bool {
	return slices.ContainsFunc(k.events, func(e KeyEvent) bool { return bytes.Equal(e.PublicKey, key) })
}

func (k *Keys) add(text string) error {
	var e KeyEvent
	if err := parse([]byte(text), &e); err != nil {
		return err
	}
	if same, err := json.Marshal(e); err != nil || string(same) != text {
		return fmt.Errorf("it is not written as key events are: %.200s", text)
	}
	if e.Type != keyEntryType || e.Number != int64(len(k.events))+1 || len(e.PublicKey) != ed25519.PublicKeySize {
		return fmt.Errorf("it is not one, or not the next: %.200s", text)
	}
	signers, err := k.signers(&e)
	if err != nil {
		return err
	}
	statement, _, _ := strings.Cut(text, `,"signatures":[`) // no text within it can have bare quotation marks
	signed := keyStatement(k.log, []byte(statement+"}"))
	if len(e.Signatures) != len(signers) {
		return fmt.Errorf("%s needs %d signatures, and has %d", e.Action, len(signers), len(e.Signatures))
	}
	for i, signer := range signers {
		if !ed25519.Verify(signer, signed, e.Signatures[i]) {
			return fmt.Errorf("%s is not signed with the key %s", e.Action, base64.StdEncoding.EncodeToString(signer))
		}
	}
	if e.Action == KeyRevoke {
		k.revoked = append(k.revoked, e.PublicKey)
	} else {
		k.current = e.PublicKey
	}
	k.events = append(k.events, e)
	return nil
}

// signers are the keys that must have signed an event, in their order.
func (k *Keys) signers(e *KeyEvent) ([]ed25519.PublicKey, error) {
	key := ed25519.PublicKey(e.PublicKey)
	switch {
	case (e.Action == KeyBegin) != (k.current == nil):
		return nil, fmt.Errorf("the first event is %s, and no other one is", KeyBegin)
	case k.Revoked(key):
		return nil, errors.New("the key was revoked before")
	case bytes.Equal(key, k.current):
		return nil, fmt.Errorf("it is the current key: it cannot be used for %s", e.Action)
	case e.Action == KeyBegin, e.Action == KeyAccept:
		return []ed25519.PublicKey{key}, nil
	case e.Action == KeyRotate:
		return []ed25519.PublicKey{k.current, key}, nil
	case e.Action == KeyRevoke && k.known(key):
		return []ed25519.PublicKey{k.current}, nil
	case e.Action == KeyRevoke:
		return nil, errors.New("the key that is revoked has never signed the log")
	}
	return nil, fmt.Errorf("there is no action %.40q", e.Action)
}

// Reached returns all keys that someone has reason to accept who accepts some: also those that have taken their place
// with their signature, and also those that were revoked later.
func (k *Keys) Reached(accepted [][]byte) [][]byte {
	reached := slices.Clone(accepted)
	accepts := func(key []byte) bool {
		return slices.ContainsFunc(reached, func(r []byte) bool { return bytes.Equal(r, key) })
	}
	var current []byte
	for _, e := range k.events {
		if e.Action == KeyRotate && accepts(current) && !accepts(e.PublicKey) {
			reached = append(reached, e.PublicKey)
		}
		if e.Action != KeyRevoke {
			current = e.PublicKey
		}
	}
	return reached
}

// ErrKeyReplaced is the error for a log whose key no event leads to from one that the reader accepts.
var ErrKeyReplaced = errors.New("no key that you accept has signed the change of the key: " +
	"compare the new one with what the operator publishes")

// Follow returns the log for a reader who has read its key events: it is also checked with the keys that have taken the
// place of the accepted ones, and no longer with those that were revoked. Its errors are an ErrNotSigned.
func (l *Log) Follow(events string) (*Log, error) {
	k, err := ReadKeys(l.Name(), events)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotSigned, err)
	}
	var accepted [][]byte
	for _, key := range l.keys {
		accepted = append(accepted, key.public)
	}
	followed := *l
	followed.keys = nil
	follows := k.current == nil
	for _, public := range k.Reached(accepted) {
		follows = follows || bytes.Equal(public, k.current)
		if k.Revoked(public) {
			continue
		}
		key, err := logKeyOf(l.Name(), public)
		if err != nil {
			return nil, err
		}
		followed.keys = append(followed.keys, key)
	}
	if !follows {
		return nil, fmt.Errorf("%w: %w", ErrNotSigned, ErrKeyReplaced)
	}
	return &followed, nil
}

// logKey is a key of a log.
type logKey struct {
	note.Verifier
	public ed25519.PublicKey
}

// logKeyOf is the key with a public half.
func logKeyOf(log string, public ed25519.PublicKey) (logKey, error) {
	text, err := note.NewEd25519VerifierKey(log, public)
	if err != nil {
		return logKey{}, err
	}
	v, err := note.NewVerifier(text)
	return logKey{v, public}, err
}

// parseLogKey parses the key of a log, as /log/vkey serves it: its public half stands behind the last plus sign, after
// a byte for the algorithm.
func parseLogKey(text string) (logKey, error) {
	text = strings.TrimSpace(text)
	v, err := note.NewVerifier(text)
	if err != nil {
		return logKey{}, fmt.Errorf("the key of the log: %w", err)
	}
	raw, err := base64.StdEncoding.DecodeString(strings.SplitN(text, "+", 3)[2])
	return logKey{v, raw[1:]}, err
}
