package factor

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

// RecoveryCodes is how many recovery codes an account gets at a time.
const RecoveryCodes = 10

const (
	recoveryBytes = 15 // 120 bits: 24 characters in base32
	recoveryGroup = 4
)

// NewRecoveryCodes draws recovery codes as they are shown once, such as K7QW-3MZX-AB2C-R5TD-6JLA-OQ4N.
func NewRecoveryCodes() []string {
	codes := make([]string, RecoveryCodes)
	for i := range codes {
		random := make([]byte, recoveryBytes)
		_, _ = rand.Read(random) // never fails
		text := base32.StdEncoding.EncodeToString(random)
		var groups []string
		for ; text != ""; text = text[recoveryGroup:] {
			groups = append(groups, text[:recoveryGroup])
		}
		codes[i] = strings.Join(groups, "-")
	}
	return codes
}

// HashRecoveryCode is what is stored of a recovery code. A code has 120 random bits, so a fast hash without salt is
// enough: trying them all is out of reach, and no two accounts have the same. ok is false for a text that is no code.
func HashRecoveryCode(code string) (hash [32]byte, ok bool) {
	code = strings.NewReplacer("-", "", " ", "", "0", "O", "1", "I", "8", "B").Replace(strings.ToUpper(code))
	raw, err := base32.StdEncoding.DecodeString(code)
	if err != nil || len(raw) != recoveryBytes {
		return hash, false
	}
	return sha256.Sum256(raw), true
}
