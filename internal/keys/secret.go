package keys

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"strings"

	"github.com/assaydata/assay"
)

// A key's text is its tier's prefix, a public id, a secret and a checksum:
//
//	sk_live_ 4fQz8K _ 43 random characters, 256 bits 6 of checksum
//
// The early underscore keeps secret scanners from taking the key for another vendor's; the checksum refuses a mistyped
// key without a look-up and makes a leaked one easy to recognise.
const (
	idLength       = 6
	secretLength   = 43
	checksumLength = 6
	prefixLength   = len("sk_live_")
	keyLength      = prefixLength + idLength + 1 + secretLength + checksumLength
)

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// Prefix is how the keys of a tier begin.
func Prefix(tier assay.Tier) string {
	if tier == assay.Full {
		return "sk_live_"
	}
	return "sk_prem_"
}

// Secret is the text of a key. It prints and logs without the part that matters; only Reveal gives it away.
type Secret struct{ text string }

// Reveal is the whole key, to be shown once to its owner.
func (s Secret) Reveal() string { return s.text }

// ID is the public part.
func (s Secret) ID() string { return s.text[prefixLength : prefixLength+idLength] }

// Hash is what is stored.
func (s Secret) Hash() [32]byte { return sha256.Sum256([]byte(s.text)) }

// String hides the secret.
func (s Secret) String() string {
	if s.text == "" {
		return ""
	}
	return s.text[:prefixLength+idLength] + "_…"
}

// GoString hides the secret from %#v.
func (s Secret) GoString() string { return s.String() }

// Format hides the secret from every other verb of fmt, which would go past String to the text.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue hides the secret from logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the secret from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Mint makes a new key of a tier.
func Mint(tier assay.Tier) Secret {
	body := Prefix(tier) + randomText(idLength) + "_" + randomText(secretLength)
	return Secret{body + checksum(body)}
}

// randomText draws letters and digits, each as likely as any other.
func randomText(length int) string {
	const fair = 256 - 256%len(alphabet) // bytes at or above this would favour the first characters
	text := make([]byte, 0, length)
	var random [64]byte
	for len(text) < length {
		_, _ = rand.Read(random[:]) // never fails
		for _, b := range random {
			if int(b) < fair && len(text) < length {
				text = append(text, alphabet[int(b)%len(alphabet)])
			}
		}
	}
	return string(text)
}

func checksum(body string) string {
	sum := crc32.ChecksumIEEE([]byte(body))
	var text [checksumLength]byte
	for i := checksumLength - 1; i >= 0; i-- {
		text[i] = alphabet[sum%uint32(len(alphabet))]
		sum /= uint32(len(alphabet))
	}
	return string(text[:])
}

// wellFormed tells whether a text can be a key at all.
func wellFormed(text string) bool {
	if len(text) != keyLength || !strings.HasPrefix(text, "sk_") {
		return false
	}
	body := text[:keyLength-checksumLength]
	return checksum(body) == text[keyLength-checksumLength:]
}
