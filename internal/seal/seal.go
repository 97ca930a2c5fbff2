// Package seal encrypts small secrets with a key that is not in the database. A copy of the database alone reveals
// none of them, and none can be changed without notice.
//
// Every purpose has a key of its own, derived with HKDF-SHA-256 from the server's secret, so a text that was sealed for
// one purpose cannot be opened for another. The cipher is AES-256-GCM with a random nonce.
package seal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
)

// MinSecret is the least length of a server's secret in bytes: as text in base64, 32 bytes have 43.
const MinSecret = 32

var (
	// ErrOtherKey says that a text was sealed with the secret of another server.
	ErrOtherKey = errors.New("it was sealed with another secret key")
	// ErrBroken says that a text was not sealed for this purpose and context, or has been changed.
	ErrBroken = errors.New("it cannot be opened: it was changed or sealed for something else")
)

// Key seals and opens. It has no method that prints its secret.
type Key struct {
	secret []byte
	id     []byte
}

// idLength is how many bytes of a sealed text tell which key sealed it.
const idLength = 4

// NewKey makes a key of a secret.
func NewKey(secret []byte) (*Key, error) {
	if len(secret) < MinSecret {
		return nil, fmt.Errorf("a secret key has at least %d bytes; this one has %d", MinSecret, len(secret))
	}
	k := &Key{secret: bytes.Clone(secret)}
	k.id = k.derive("id", idLength)
	return k, nil
}

// String hides the secret.
func (k *Key) String() string { return "secret key …" }

// GoString hides the secret from %#v.
func (k *Key) GoString() string { return k.String() }

func (k *Key) derive(purpose string, length int) []byte {
	derived, err := hkdf.Key(sha256.New, k.secret, nil, "assay "+purpose, length)
	if err != nil {
		panic(err) // the length is too large, or FIPS 140 mode refuses the secret, whose length was checked
	}
	return derived
}

// cipher is the cipher of a purpose.
func (k *Key) cipher(purpose string) cipher.AEAD {
	block, err := aes.NewCipher(k.derive("seal "+purpose, 32))
	if err != nil {
		panic(err) // the key has the right length
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // the block has the right length
	}
	return aead
}

// Seal encrypts a text. Only Open with the same purpose and context decrypts it: the context, such as the owner's id,
// keeps it from being moved elsewhere.
func (k *Key) Seal(purpose string, plain, context []byte) []byte {
	// The cipher draws the nonce itself.
	return k.cipher(purpose).Seal(bytes.Clone(k.id), nil, plain, context) //nolint:gosec // G407
}

// Open decrypts a text.
func (k *Key) Open(purpose string, sealed, context []byte) ([]byte, error) {
	id, sealed, ok := cut(sealed, idLength)
	if !ok {
		return nil, ErrBroken
	}
	if !bytes.Equal(id, k.id) {
		return nil, ErrOtherKey
	}
	plain, err := k.cipher(purpose).Open(nil, nil, sealed, context)
	if err != nil {
		return nil, ErrBroken
	}
	return plain, nil
}

func cut(text []byte, at int) (before, after []byte, ok bool) {
	if len(text) < at {
		return nil, nil, false
	}
	return text[:at], text[at:], true
}
