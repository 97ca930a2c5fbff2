package verifier_test

import (
	"crypto/ed25519"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay/internal/logtest"
	"github.com/assaydata/assay/verifier"
)

// keyEvents are the events of a log's key, as a test makes them.
type keyEvents struct {
	t    *testing.T
	text string
}

const keyLog = "assay/test"

func public(name string) ed25519.PublicKey { return logtest.KeyOf(name).Public().(ed25519.PublicKey) }

// next adds an event about a key, signed with keys.
func (k *keyEvents) next(action, key string, signers ...string) {
	k.t.Helper()
	k.text += k.sign(keyLog, action, key, signers...) + "\n"
	if _, err := verifier.ReadKeys(keyLog, k.text); err != nil {
		k.t.Fatalf("%s %s: %v", action, key, err)
	}
}

// sign makes the next event, whether it is right or not.
func (k *keyEvents) sign(log, action, key string, signers ...string) string {
	return logtest.KeyEvent(log, strings.Count(k.text, "\n")+1, action, key, signers...)
}

// An event is signed as another program would sign it.
func TestKeyEvent_Sign(t *testing.T) {
	t.Parallel()
	e := verifier.KeyEvent{
		Number: 2, Action: verifier.KeyRotate, PublicKey: public("b"), At: "2026-02-03T04:05:06.000Z", Reason: "because",
	}
	got, err := e.Sign(keyLog, logtest.KeyOf("a"), logtest.KeyOf("b"))
	if want := logtest.KeyEvent(keyLog, 2, verifier.KeyRotate, "b", "a", "b"); err != nil || got != want {
		t.Errorf("%s, %v\nwant %s", got, err, want)
	}
}

func TestReadKeys(t *testing.T) {
	t.Parallel()
	k := keyEvents{t: t}
	k.next(verifier.KeyBegin, "a", "a")
	k.next(verifier.KeyRotate, "b", "a", "b")
	k.next(verifier.KeyRevoke, "a", "b")
	k.next(verifier.KeyAccept, "c", "c")
	keys, err := verifier.ReadKeys(keyLog, k.text)
	if err != nil {
		t.Fatal(err)
	}
	if !keys.Current().Equal(public("c")) || !keys.Revoked(public("a")) || keys.Revoked(public("b")) {
		t.Errorf("the keys are %+v", keys)
	}
	next := keys.Next(verifier.KeyRevoke, public("b"), time.UnixMilli(0))
	if next.Number != 5 || next.At != "1970-01-01T00:00:00.000Z" {
		t.Errorf("the next event is %+v", next)
	}
}

func TestReadKeys_Wrong(t *testing.T) {
	t.Parallel()
	k := keyEvents{t: t}
	f := func(what, event, want string) {
		t.Helper()
		if _, err := verifier.ReadKeys(keyLog, k.text+event+"\n"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	f("no JSON", "x", "key event 1: it is not a JSON object")
	f("rotate as the first", k.sign(keyLog, verifier.KeyRotate, "a", "a", "a"), "the first event is begin")
	f("begin for another log", k.sign("assay/other", verifier.KeyBegin, "a", "a"), "not signed with the key")
	f("begin with another signature", k.sign(keyLog, verifier.KeyBegin, "a", "b"), "not signed with the key")
	k.next(verifier.KeyBegin, "a", "a")
	f("begin again", k.sign(keyLog, verifier.KeyBegin, "b", "b"), "the first event is begin")
	f("the same event again", strings.TrimSpace(k.text), "not the next")
	f("no such action", k.sign(keyLog, "forget", "b", "a", "b"), "no action")
	f("rotate without the old key", k.sign(keyLog, verifier.KeyRotate, "b", "b"), "needs 2 signatures, and has 1")
	f("rotate with a forged signature", k.sign(keyLog, verifier.KeyRotate, "b", "b", "b"), "not signed with the key")
	f("rotate without the new key", k.sign(keyLog, verifier.KeyRotate, "b", "a", "a"), "not signed with the key")
	f("rotate to the same key", k.sign(keyLog, verifier.KeyRotate, "a", "a", "a"), "it is the current key")
	f("revoke the current key", k.sign(keyLog, verifier.KeyRevoke, "a", "a"), "it is the current key")
	f("revoke a stranger's key", k.sign(keyLog, verifier.KeyRevoke, "b", "a"), "has never signed")
	rotate := k.sign(keyLog, verifier.KeyRotate, "b", "a", "b")
	f("another reason", strings.Replace(rotate, "because", "no reason", 1), "not signed with the key")
	f("an action twice", strings.Replace(rotate, `,"at"`, `,"action":"replace","at"`, 1), "twice")
	f("more behind the signatures", strings.TrimSuffix(rotate, "}")+`,"note":"x"}`, "not written as")
	k.next(verifier.KeyRotate, "b", "a", "b")
	f("revoke with the old key", k.sign(keyLog, verifier.KeyRevoke, "a", "a"), "not signed with the key")
	k.next(verifier.KeyRevoke, "a", "b")
	f("revoke again", k.sign(keyLog, verifier.KeyRevoke, "a", "b"), "was revoked before")
	f("back to a revoked key", k.sign(keyLog, verifier.KeyRotate, "a", "b", "a"), "was revoked before")
}

// A reader who knows one key of a log follows it, and accepts no key that the log has not named that way.
func TestLog_Follow(t *testing.T) {
	t.Parallel()
	k := keyEvents{t: t}
	accepts := func(known, signer string) error {
		t.Helper()
		l := logtest.New(t, keyLog)
		l.Add("an entry")
		l.Use(logtest.KeyOf(known))
		log := mustLog(t, l.Key)
		l.Use(logtest.KeyOf(signer))
		followed, err := log.Follow(k.text)
		if err == nil {
			_, err = followed.Open(l.Checkpoint(1))
		}
		return err
	}
	f := func(known, signer string, want error) {
		t.Helper()
		if err := accepts(known, signer); !errors.Is(err, want) {
			t.Errorf("who knows %s, and sees a signature of %s: %v, want %v", known, signer, err, want)
		}
	}
	f("a", "a", nil)
	k.next(verifier.KeyBegin, "a", "a")
	f("a", "a", nil)
	f("a", "b", verifier.ErrNotSigned)
	f("b", "b", verifier.ErrKeyReplaced)
	k.next(verifier.KeyRotate, "b", "a", "b")
	f("a", "b", nil)
	f("a", "a", nil)
	f("b", "b", nil)
	f("b", "a", verifier.ErrNotSigned)
	k.next(verifier.KeyRevoke, "a", "b")
	f("a", "b", nil)
	f("a", "a", verifier.ErrNotSigned)
	k.next(verifier.KeyAccept, "c", "c")
	f("a", "c", verifier.ErrKeyReplaced)
	f("c", "c", nil)
	k.next(verifier.KeyRotate, "d", "c", "d")
	f("a", "d", verifier.ErrKeyReplaced)
	f("c", "d", nil)
}

// Witnesses are asked for whichever key has signed.
func TestLog_FollowKeepsWitnesses(t *testing.T) {
	t.Parallel()
	k := keyEvents{t: t}
	k.next(verifier.KeyBegin, keyLog, keyLog)
	k.next(verifier.KeyRotate, "b", keyLog, "b")
	l := logtest.New(t, keyLog)
	w, err := verifier.WitnessOf("w.example", public("w"))
	if err != nil {
		t.Fatal(err)
	}
	asks, err := mustLog(t, l.Key).Require(1, w.Key())
	if err != nil {
		t.Fatal(err)
	}
	followed, err := asks.Follow(k.text)
	if err != nil {
		t.Fatal(err)
	}
	l.Add("an entry")
	l.Use(logtest.KeyOf("b"))
	if _, err := followed.Open(l.Checkpoint(1)); !errors.Is(err, verifier.ErrTooFewWitnesses) {
		t.Errorf("without its witness: %v", err)
	}
}
