package verifier

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// A witness signs a checkpoint only if it continues the last one that it has signed. So an operator cannot show one
// history to one reader and another one to the next, unless all witnesses that both ask for help with it. Signatures of
// witnesses are those of C2SP's tlog-cosignature, in version 1: they have a time, and stand in the note behind the
// signature of the log.

// Require returns the log for a reader who accepts a checkpoint only if so many of these witnesses have signed it. Each
// is given by its key, as 'assay witness' prints it.
func (l *Log) Require(witnesses int, keys ...string) (*Log, error) {
	if witnesses < 1 || witnesses > len(keys) {
		return nil, fmt.Errorf("%d of %d witnesses: want at least one, and at most all", witnesses, len(keys))
	}
	asks := &Log{keys: l.keys, required: witnesses}
	seen := map[string]bool{}
	for _, text := range keys {
		w, err := NewWitness(text)
		if err != nil {
			return nil, err
		}
		if seen[string(w.public)] {
			return nil, fmt.Errorf("witness %s: its key is there twice", w.Name())
		}
		seen[string(w.public)] = true
		asks.witnesses = append(asks.witnesses, w)
	}
	return asks, nil
}

// checkWitnesses checks that enough witnesses have signed a note, whose signatures are checked.
func (l *Log) checkWitnesses(opened *note.Note) error {
	var signed []string
	for _, w := range l.witnesses {
		if hasSigned(opened, w) {
			signed = append(signed, w.Name())
		}
	}
	if len(signed) < l.required {
		return fmt.Errorf("%w: %d of %d witnesses have signed it, and %d must have: %s", ErrTooFewWitnesses,
			len(signed), len(l.witnesses), l.required, strings.Join(signed, ", "))
	}
	return nil
}

// ErrTooFewWitnesses is the error for a checkpoint that too few witnesses have signed: within seconds after it was
// signed they may not have seen it yet.
var ErrTooFewWitnesses = errors.New("the checkpoint has too few witnesses")

// Witness is a witness whose key is known. It is a note.Verifier.
type Witness struct {
	name   string
	hash   uint32
	public ed25519.PublicKey
}

// cosignatureAlgorithm is the number of the algorithm in the key of a witness.
const cosignatureAlgorithm = 4

// NewWitness takes the key of a witness: its name, the hash of the key and the key itself, with a plus between them.
func NewWitness(key string) (*Witness, error) {
	name, rest, _ := strings.Cut(strings.TrimSpace(key), "+")
	hash, encoded, _ := strings.Cut(rest, "+")
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(raw) != 1+ed25519.PublicKeySize || raw[0] != cosignatureAlgorithm {
		return nil, fmt.Errorf("%.80q is not the key of a witness: want NAME+HASH+KEY as 'assay witness' prints it", key)
	}
	w, err := WitnessOf(name, raw[1:])
	if err != nil {
		return nil, err
	}
	if fmt.Sprintf("%08x", w.hash) != hash {
		return nil, fmt.Errorf("witness %s: the hash %.20q is not that of its name and key", name, hash)
	}
	return w, nil
}

// WitnessOf is the witness with a name and a public key.
func WitnessOf(name string, public ed25519.PublicKey) (*Witness, error) {
	if name == "" || strings.ContainsAny(name, "+ \t\r\n") || len(public) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("%.80q is no name for a witness: want one without spaces and plus signs", name)
	}
	sum := sha256.Sum256(append([]byte(name+"\n\x04"), public...))
	return &Witness{name: name, hash: binary.BigEndian.Uint32(sum[:]), public: public}, nil
}

// Key is the text by which others know the witness.
func (w *Witness) Key() string {
	raw := append([]byte{cosignatureAlgorithm}, w.public...)
	return fmt.Sprintf("%s+%08x+%s", w.name, w.hash, base64.StdEncoding.EncodeToString(raw))
}

// Name is of note.Verifier.
func (w *Witness) Name() string { return w.name }

// KeyHash is of note.Verifier.
func (w *Witness) KeyHash() uint32 { return w.hash }

// Verify is of note.Verifier. A signature begins with its time, in seconds since 1970.
func (w *Witness) Verify(text, signature []byte) bool {
	const timeSize = 8
	if len(signature) != timeSize+ed25519.SignatureSize {
		return false
	}
	at := binary.BigEndian.Uint64(signature)
	return ed25519.Verify(w.public, cosigned(text, at), signature[timeSize:])
}

// cosigned is what a witness signs: that it saw a text at a time.
func cosigned(text []byte, at uint64) []byte {
	return append([]byte("cosignature/v1\ntime "+strconv.FormatUint(at, 10)+"\n"), text...)
}

// Cosign signs the text of a checkpoint as a witness, at a time in seconds since 1970. The result is a line that is
// added to the note.
func Cosign(name string, key ed25519.PrivateKey, text string, at uint64) (line string, err error) {
	w, err := WitnessOf(name, key.Public().(ed25519.PublicKey))
	if err != nil {
		return "", err
	}
	raw := binary.BigEndian.AppendUint32(nil, w.hash)
	raw = binary.BigEndian.AppendUint64(raw, at)
	raw = append(raw, ed25519.Sign(key, cosigned([]byte(text), at))...)
	return "— " + name + " " + base64.StdEncoding.EncodeToString(raw) + "\n", nil
}
