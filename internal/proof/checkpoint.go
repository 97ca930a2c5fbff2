package proof

import (
	"crypto/ed25519"
	"fmt"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/verifier"
	"golang.org/x/mod/sumdb/note"
)

// A checkpoint says how many entries the log has and what the hash of the tree over them is. It is text of three lines,
// signed as a note: C2SP's tlog-checkpoint. Two checkpoints of one log that are not consistent prove that its operator
// shows different histories.

// Checkpoint is what a checkpoint says.
type Checkpoint = verifier.Checkpoint

// SignedCheckpoint is a checkpoint with its signature.
type SignedCheckpoint struct {
	Size      int64
	SignedAt  int64
	PublicKey []byte
	Note      string
}

// Text is what is signed: the note without its signatures.
func (c *SignedCheckpoint) Text() string {
	text, _, _ := strings.Cut(c.Note, "\n\n")
	return text + "\n"
}

// Anchor is a token by which an authority for timestamps says when a checkpoint was there.
type Anchor struct {
	Size      int64  // of the checkpoint
	StampedAt int64  // as the token says
	Authority string // its URL
	Token     []byte // DER
}

// AnchoredCheckpoint is an anchor with what the authority has seen the hash of.
type AnchoredCheckpoint struct {
	Anchor
	Text string // of the checkpoint
}

// Inclusion proves that an entry is in the log that a checkpoint signs.
type Inclusion struct {
	Leaf       int64 // the entry's number, from 0
	Entry      []byte
	Hashes     []assay.Hash
	Checkpoint SignedCheckpoint
}

// SignCheckpoint signs a checkpoint.
func SignCheckpoint(c Checkpoint, key ed25519.PrivateKey) (signed string, err error) {
	text, err := VerifierKey(c.Origin, key.Public().(ed25519.PublicKey))
	if err != nil {
		return "", err
	}
	public, err := note.NewVerifier(text)
	if err != nil {
		return "", err
	}
	signedNote, err := note.Sign(&note.Note{Text: c.Text()}, &signer{public, key})
	return string(signedNote), err
}

// OpenCheckpoint checks the signature of a checkpoint of a log and returns what it says.
func OpenCheckpoint(signed, origin string, publicKey []byte) (c Checkpoint, err error) {
	key, err := VerifierKey(origin, publicKey)
	if err != nil {
		return c, err
	}
	log, err := verifier.NewLog(key)
	if err != nil {
		return c, err
	}
	return log.Open(signed)
}

// VerifierKey is the text by which other programs know the key of a log.
func VerifierKey(origin string, publicKey []byte) (string, error) {
	if len(publicKey) != ed25519.PublicKeySize {
		return "", fmt.Errorf("a public key has %d bytes, and this one %d", ed25519.PublicKeySize, len(publicKey))
	}
	return note.NewEd25519VerifierKey(origin, publicKey)
}

// signer signs notes with a key that we have in another form than the note package reads.
type signer struct {
	note.Verifier
	key ed25519.PrivateKey
}

func (s *signer) Sign(text []byte) ([]byte, error) { return ed25519.Sign(s.key, text), nil }
