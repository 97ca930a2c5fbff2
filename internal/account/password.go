package account

import (
	"context"
	"crypto/rand"
	"fmt"
	"unicode/utf8"

	"github.com/alexedwards/argon2id"

	"github.com/assaydata/assay"
)

// hashing is how passwords are hashed: the first choice of the OWASP cheat sheet for argon2id. It takes some 50 ms.
var hashing = argon2id.Params{Memory: 19 << 10, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}

// hashers bounds how many passwords are hashed at once, whoever asks: each takes 19 MiB and a core.
var hashers = make(chan struct{}, 4)

// decoy is checked where there is no password to check, so that it takes the same work. No password fits it.
func decoy() string {
	return fmt.Sprintf("$argon2id$v=19$m=%d,t=%d,p=%d$bm8gcGFzc3dvcmQgZml0cw$bm8gcGFzc3dvcmQgZml0cyBzaW5jZSBpdCdzIHRleHQ",
		hashing.Memory, hashing.Iterations, hashing.Parallelism)
}

// The length of passwords, in characters. Argon2id has no limit of its own; the upper one keeps bodies small.
const (
	minPassword = 12
	maxPassword = 128
)

// hashPassword makes the text that is kept of a password.
func (s *Service) hashPassword(ctx context.Context, password string) (text string, err error) {
	if n := utf8.RuneCountInString(password); n < minPassword || n > maxPassword || !utf8.ValidString(password) {
		return "", invalid("invalid_password", "A password has %d to %d characters; this one has %d.", minPassword, maxPassword, n)
	}
	err = s.hash(ctx, func() error {
		text, err = argon2id.CreateHash(password, &hashing)
		return err
	})
	return text, err
}

// fits tells whether a password is the one whose text is kept. Without a text none fits, after the same work.
func (s *Service) fits(ctx context.Context, password, text string) (ok bool, err error) {
	given := text != ""
	if !given {
		text = decoy()
	}
	err = s.hash(ctx, func() error {
		ok, err = argon2id.ComparePasswordAndHash(password, text)
		return err
	})
	return ok && given, err
}

// hash waits for its turn and computes a hash.
func (s *Service) hash(ctx context.Context, compute func() error) error {
	select {
	case hashers <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-hashers }()
	s.hashes.Add(1)
	if err := compute(); err != nil {
		return fmt.Errorf("hash a password: %w", err)
	}
	return nil
}

// NewPassword makes a password that is shown once: 26 characters, 130 bits.
func NewPassword() string { return rand.Text() }

// invalid is an error about what the caller gave.
func invalid(code, format string, args ...any) error {
	return &assay.Error{Kind: assay.Invalid, Code: code, Message: fmt.Sprintf(format, args...)}
}
