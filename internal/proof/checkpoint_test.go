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

func TestParseCheckpoint_Wrong(t *testing.T) {
	t.Parallel()
	const root = "AQIDAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
	for _, text := range []string{
		"", "\n1\n" + root, "log\n" + root, "log\n-1\n" + root, "log\n01\n" + root, "log\n+1\n" + root, "log\nx\n" + root,
		"log\n1\nAQID\n", "log\n1\n?\n", "log\n99999999999999999999\n" + root,
	} {
		if c, err := ParseCheckpoint(text); err == nil {
			t.Errorf("%q: %+v, want an error", text, c)
		}
	}
	if c, err := ParseCheckpoint("log\n1\n" + root + "an extension\n"); err != nil || c.Size != 1 {
		t.Errorf("with an extension: %+v, %v", c, err)
	}
}
