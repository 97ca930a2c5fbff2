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
// The early underscore keeps secret scanners from mistaking the key for another vendor's. The checksum rejects a
// mistyped key without a lookup and makes a leaked key easy to recognize.
const (
	idLength       = 6
	secretLength   = 43
	checksumLength = 6
	prefixLength   = len("sk_live_")
	keyLength      = prefixLength + idLength + 1 + secretLength + checksumLength
)

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// Prefix is the beginning of the keys of a tier.
func Prefix(tier assay.Tier) string {
	if tier == assay.Full {
		return "sk_live_"
	}
	return "sk_prem_"
}

// IngestPrefix is the beginning of the keys of sources, which are otherwise of the same form.
const (
	IngestPrefix = "sk_ingest_"
	ingestLength = keyLength - prefixLength + len(IngestPrefix)
)

// Secret is the text of a key. It prints and logs without its secret part; only Reveal returns it.
type Secret struct{ text string }

// Reveal is the whole key, to be shown once to its owner.
func (s Secret) Reveal() string { return s.text }

// ID is the public part.
func (s Secret) ID() string { return s.text[s.prefix() : s.prefix()+idLength] }

// prefix is the length of the prefix.
func (s Secret) prefix() int {
	if strings.HasPrefix(s.text, IngestPrefix) {
		return len(IngestPrefix)
	}
	return prefixLength
}

// Hash is what is stored.
func (s Secret) Hash() [32]byte { return sha256.Sum256([]byte(s.text)) }

// String hides the secret.
func (s Secret) String() string {
	if s.text == "" {
		return ""
	}
	return s.text[:s.prefix()+idLength] + "_…"
}

// GoString hides the secret from %#v.
func (s Secret) GoString() string { return s.String() }

// Format hides the secret from the other verbs of fmt, which bypass String.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue hides the secret from logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the secret from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Mint makes a new key of a tier.
func Mint(tier assay.Tier) Secret { return mint(Prefix(tier)) }

func mint(prefix string) Secret {
	body := prefix + randomText(idLength) + "_" + randomText(secretLength)
	sum := checksum(body)
	return Secret{body + string(sum[:])}
}

// randomText draws letters and digits with equal probability.
func randomText(length int) string {
	const fair = 256 - 256%len(alphabet) // bytes from here on would favor the first characters
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

// checksum is the CRC-32 of a text. Every request with a key needs one, so it is computed without the allocation that
// the function of the library would need.
func checksum(body string) (text [checksumLength]byte) {
	sum := ^uint32(0)
	for i := range len(body) {
		sum = crc32.IEEETable[byte(sum)^body[i]] ^ sum>>8
	}
	sum = ^sum
	for i := checksumLength - 1; i >= 0; i-- {
		text[i] = alphabet[sum%uint32(len(alphabet))]
		sum /= uint32(len(alphabet))
	}
	return text
}

// wellFormed reports whether a text has the form and the checksum of a key.
func wellFormed(text string) bool {
	return len(text) == keyLength && strings.HasPrefix(text, "sk_") && checked(text)
}

// checked reports whether a text ends with its checksum.
func checked(text string) bool {
	body, given := text[:len(text)-checksumLength], text[len(text)-checksumLength:]
	sum := checksum(body)
	return string(sum[:]) == given
}
