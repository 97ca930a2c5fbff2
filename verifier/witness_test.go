package verifier_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/assaydata/assay/internal/logtest"
	"github.com/assaydata/assay/verifier"
)

// cosigner is a witness as C2SP's tlog-cosignature describes it, made without any code of this project.
type cosigner struct {
	name string
	key  ed25519.PrivateKey
}

func newCosigner(name string) cosigner {
	seed := sha256.Sum256([]byte("witness " + name))
	return cosigner{name, ed25519.NewKeyFromSeed(seed[:])}
}

func (c cosigner) public() []byte { return c.key.Public().(ed25519.PublicKey) }

func (c cosigner) hash() []byte {
	sum := sha256.Sum256(append([]byte(c.name+"\n\x04"), c.public()...))
	return sum[:4]
}

func (c cosigner) vkey() string {
	return fmt.Sprintf("%s+%x+%s", c.name, c.hash(), base64.StdEncoding.EncodeToString(append([]byte{4}, c.public()...)))
}

// line signs the text of a note.
func (c cosigner) line(signed string, at uint64) string {
	text, _, _ := strings.Cut(signed, "\n\n")
	message := fmt.Sprintf("cosignature/v1\ntime %d\n%s\n", at, text)
	raw := append(binary.BigEndian.AppendUint64(c.hash(), at), ed25519.Sign(c.key, []byte(message))...)
	return "— " + c.name + " " + base64.StdEncoding.EncodeToString(raw) + "\n"
}

// backdated is a line with another time than the one that was signed.
func (c cosigner) backdated(signed string, at uint64) string {
	begin := "— " + c.name + " "
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(strings.TrimPrefix(c.line(signed, at), begin)))
	if err != nil {
		panic(err)
	}
	raw[11]-- // the last byte of the time
	return begin + base64.StdEncoding.EncodeToString(raw) + "\n"
}

func TestRequire(t *testing.T) {
	t.Parallel()
	h := logtest.New(t, "example.com/log")
	h.Add("one")
	signed := h.Checkpoint(1)
	log := mustLog(t, h.Key)
	a, b, c := newCosigner("a.example"), newCosigner("b.example"), newCosigner("c.example")
	two, err := log.Require(2, a.vkey(), b.vkey(), c.vkey())
	if err != nil {
		t.Fatal(err)
	}
	f := func(what, note string, want error) {
		t.Helper()
		switch _, err := two.Open(note); {
		case want == nil && err != nil:
			t.Errorf("%s: %v", what, err)
		case want != nil && (err == nil || !errors.Is(err, want) && !errors.Is(want, errAny)):
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	f("no witness", signed, verifier.ErrTooFewWitnesses)
	f("one witness", signed+a.line(signed, 7), verifier.ErrTooFewWitnesses)
	f("one witness twice", signed+a.line(signed, 7)+a.line(signed, 8), verifier.ErrTooFewWitnesses)
	f("two witnesses", signed+a.line(signed, 7)+c.line(signed, 1<<40), nil)
	all := a.line(signed, 7) + b.line(signed, 2) + c.line(signed, 3)
	f("all, and an unknown one", signed+newCosigner("d").line(signed, 1)+all, nil)
	f("an impostor of the same name", signed+a.line(signed, 7)+cosigner{"b.example", c.key}.line(signed, 7),
		verifier.ErrTooFewWitnesses)
	other := strings.Replace(signed, "\n1\n", "\n2\n", 1)
	f("a signature of another checkpoint", signed+a.line(signed, 7)+b.line(other, 7), errAny)
	f("a signature of another time", signed+a.line(signed, 7)+b.backdated(signed, 7), errAny)
	unsigned, _, _ := strings.Cut(signed, "— ")
	f("witnesses without the log", unsigned+a.line(signed, 7)+b.line(signed, 7), errAny)
	if _, err := log.Open(signed); err != nil {
		t.Errorf("without a policy: %v", err)
	}
}

// errAny stands for any error.
var errAny = errors.New("any error")

func TestRequire_Refuses(t *testing.T) {
	t.Parallel()
	log := mustLog(t, logtest.New(t, "example.com/log").Key)
	a := newCosigner("a.example").vkey()
	f := func(want string, witnesses int, keys ...string) {
		t.Helper()
		if _, err := log.Require(witnesses, keys...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d of %q: %v, want %q", witnesses, keys, err, want)
		}
	}
	f("at least one", 0, a)
	f("at most all", 2, a)
	f("twice", 1, a, a)
	f("twice", 1, a, cosigner{"other", newCosigner("a.example").key}.vkey())
	f("is not the key of a witness", 1, "")
	f("is not the key of a witness", 1, logtest.New(t, "example.com/log").Key) // of a log
	f("is not that of its name and key", 1, strings.Replace(a, "a.example", "b.example", 1))
	f("no name for a witness", 1, "+"+strings.SplitN(a, "+", 2)[1])
}

func TestCosign(t *testing.T) {
	t.Parallel()
	h := logtest.New(t, "example.com/log")
	h.Add("one")
	signed := h.Checkpoint(1)
	c := newCosigner("w.example/1")
	text, _, _ := strings.Cut(signed, "\n\n")
	line, err := verifier.Cosign(c.name, c.key, text+"\n", 1_700_000_000)
	if want := c.line(signed, 1_700_000_000); err != nil || line != want {
		t.Errorf("the line is %q (%v), want %q", line, err, want)
	}
	w, err := verifier.WitnessOf(c.name, c.public())
	if err != nil || w.Key() != c.vkey() {
		t.Errorf("the key is %v (%v), want %s", w, err, c.vkey())
	}
	for _, name := range []string{"", "two words", "a+b", "line\n"} {
		if _, err := verifier.Cosign(name, c.key, text, 1); err == nil {
			t.Errorf("%q can be the name of a witness", name)
		}
	}
}
