package proof

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/assaydata/assay"
	"golang.org/x/mod/sumdb/note"
)

// A checkpoint says how many entries the log has and what the hash of the tree over them is. It is text of three lines,
// signed as a note: C2SP's tlog-checkpoint. Two checkpoints of one log that are not consistent prove that its operator
// shows different histories.

// Checkpoint is what a checkpoint says.
type Checkpoint struct {
	Origin string // the name of the log
	Size   int64
	Root   assay.Hash
}

// SignedCheckpoint is a checkpoint with its signature.
type SignedCheckpoint struct {
	Size      int64
	SignedAt  int64
	PublicKey []byte
	Note      string
}

// Inclusion proves that an entry is in the log that a checkpoint signs.
type Inclusion struct {
	Leaf       int64 // the entry's number, from 0
	Entry      []byte
	Hashes     []assay.Hash
	Checkpoint SignedCheckpoint
}

// text is what is signed.
func (c *Checkpoint) text() string {
	return c.Origin + "\n" + strconv.FormatInt(c.Size, 10) + "\n" + base64.StdEncoding.EncodeToString(c.Root[:]) + "\n"
}

// SignCheckpoint signs a checkpoint.
func SignCheckpoint(c Checkpoint, key ed25519.PrivateKey) (signed string, err error) {
	verifier, err := checkpointVerifier(c.Origin, key.Public().(ed25519.PublicKey))
	if err != nil {
		return "", err
	}
	text, err := note.Sign(&note.Note{Text: c.text()}, &signer{verifier, key})
	return string(text), err
}

// OpenCheckpoint checks the signature of a checkpoint of a log and returns what it says.
func OpenCheckpoint(signed, origin string, publicKey []byte) (c Checkpoint, err error) {
	verifier, err := checkpointVerifier(origin, publicKey)
	if err != nil {
		return c, err
	}
	opened, err := note.Open([]byte(signed), note.VerifierList(verifier))
	if err != nil {
		return c, err
	}
	return ParseCheckpoint(opened.Text)
}

var errCheckpoint = errors.New("a checkpoint has three lines: the log's name, its size and its hash")

// ParseCheckpoint parses the text of a checkpoint whose signature has been checked.
func ParseCheckpoint(text string) (c Checkpoint, err error) {
	lines := strings.Split(text, "\n")
	if len(lines) < 4 || lines[0] == "" { // extensions may follow
		return c, errCheckpoint
	}
	c.Origin = lines[0]
	c.Size, err = strconv.ParseInt(lines[1], 10, 64)
	if err != nil || c.Size < 0 || strconv.FormatInt(c.Size, 10) != lines[1] {
		return c, errCheckpoint
	}
	root, err := base64.StdEncoding.DecodeString(lines[2])
	if err != nil || len(root) != len(c.Root) {
		return c, errCheckpoint
	}
	copy(c.Root[:], root)
	return c, nil
}

// VerifierKey is the text by which other programs know the key of a log.
func VerifierKey(origin string, publicKey []byte) (string, error) {
	if len(publicKey) != ed25519.PublicKeySize {
		return "", fmt.Errorf("a public key has %d bytes, and this one %d", ed25519.PublicKeySize, len(publicKey))
	}
	return note.NewEd25519VerifierKey(origin, publicKey)
}

func checkpointVerifier(origin string, publicKey []byte) (note.Verifier, error) {
	text, err := VerifierKey(origin, publicKey)
	if err != nil {
		return nil, err
	}
	return note.NewVerifier(text)
}

// signer signs notes with a key that we have in another form than the note package reads.
type signer struct {
	note.Verifier
	key ed25519.PrivateKey
}

func (s *signer) Sign(text []byte) ([]byte, error) { return ed25519.Sign(s.key, text), nil }
