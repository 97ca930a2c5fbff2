package proof

import (
	"bytes"
	"crypto/ed25519"
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"golang.org/x/mod/sumdb/note"
)

func TestCheckpoint(t *testing.T) {
	t.Parallel()
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{5}, ed25519.SeedSize))
	public := key.Public().(ed25519.PublicKey)
	c := Checkpoint{Origin: "example.com/log", Size: 12, Root: assay.Hash{1, 2, 3}}
	signed, err := SignCheckpoint(c, key)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := OpenCheckpoint(signed, c.Origin, public); err != nil || got != c {
		t.Errorf("opened: %+v, %v; want %+v", got, err, c)
	}
	if text := (&SignedCheckpoint{Note: signed}).Text(); text != c.Text() {
		t.Errorf("what is signed is %q, want %q", text, c.Text())
	}
	// The judge is the note package, which knows only the verifier key.
	text, err := VerifierKey(c.Origin, public)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := note.NewVerifier(text)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := note.Open([]byte(signed), note.VerifierList(verifier))
	if want := "example.com/log\n12\nAQIDAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"; err != nil || opened.Text != want {
		t.Errorf("the note is %+v (%v), want the text %q", opened, err, want)
	}
	other := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{6}, ed25519.SeedSize)).Public().(ed25519.PublicKey)
	for name, open := range map[string]func() (Checkpoint, error){
		"another key": func() (Checkpoint, error) { return OpenCheckpoint(signed, c.Origin, other) },
		"another log": func() (Checkpoint, error) { return OpenCheckpoint(signed, "example.com/other", public) },
		"no key":      func() (Checkpoint, error) { return OpenCheckpoint(signed, c.Origin, nil) },
		"another size": func() (Checkpoint, error) {
			return OpenCheckpoint(strings.Replace(signed, "\n12\n", "\n13\n", 1), c.Origin, public)
		},
	} {
		if got, err := open(); err == nil {
			t.Errorf("%s: %+v, want an error", name, got)
		}
	}
}
