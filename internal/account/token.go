package account

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
)

// tokenBytes is 256 bits.
const tokenBytes = 32

// Token is the secret of a session. It prints and logs redacted; only Reveal returns it.
type Token struct {
	text    string
	Expires int64 // when the session ends
}

func newToken(expires int64) Token {
	random := make([]byte, tokenBytes)
	_, _ = rand.Read(random) // never fails
	return Token{text: base64.RawURLEncoding.EncodeToString(random), Expires: expires}
}

// Reveal is the whole token, for the cookie of its owner.
func (t Token) Reveal() string { return t.text }

// redacted is printed instead of a token.
const redacted = "session …"

// String hides the token.
func (t Token) String() string { return redacted }

// GoString hides the token from %#v.
func (t Token) GoString() string { return redacted }

// Format hides the token from the other verbs of fmt, which bypass String.
func (t Token) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// LogValue hides the token from logs.
func (t Token) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText hides the token from encoders.
func (t Token) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// hashToken is the hash under which a token is stored; ok is false for a text that is no token.
func hashToken(text string) (hash [32]byte, ok bool) {
	if len(text) != base64.RawURLEncoding.EncodedLen(tokenBytes) {
		return hash, false
	}
	return sha256.Sum256([]byte(text)), true
}
