package account

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"unicode/utf8"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/hasher"
)

// hashing is how passwords are hashed: the first choice of the OWASP cheat sheet for argon2id. It takes about 50 ms.
func (s *Service) hashing() hasher.Params {
	memory := cmp.Or(s.HashMemory, 19<<10)
	return hasher.Params{Memory: memory, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}
}

// decoy is checked when there is no password to check, so that it takes the same work. No password matches it.
func (s *Service) decoy() string {
	hashing := s.hashing()
	return fmt.Sprintf("$argon2id$v=19$m=%d,t=%d,p=%d$bm8gcGFzc3dvcmQgZml0cw$bm8gcGFzc3dvcmQgZml0cyBzaW5jZSBpdCdzIHRleHQ",
		hashing.Memory, hashing.Iterations, hashing.Parallelism)
}

// The length of passwords, in characters. Argon2id has no limit; the upper one keeps request bodies small.
const (
	minPassword = 12
	maxPassword = 128
)

// hashPassword computes the hash that is stored of a new password of an account, unless the password is easy to guess,
// or one that the account has or had.
func (s *Service) hashPassword(ctx context.Context, a assay.Account, password string) (hash string, err error) {
	if n := utf8.RuneCountInString(password); n < minPassword || n > maxPassword || !utf8.ValidString(password) {
		return "", invalid("invalid_password",
			"A password has %d to %d characters; this one has %d.", minPassword, maxPassword, n)
	}
	if err := checkStrength(password, a.Email, a.Name); err != nil {
		return "", err
	}
	turn, err := s.queue.enter(true)
	if err != nil {
		return "", err
	}
	defer turn.leave()
	stored, before, err := s.Store.Password(ctx, a.ID)
	if err != nil {
		return "", err
	}
	for _, old := range []string{stored, before} {
		if old == "" {
			continue
		}
		same, err := s.matches(ctx, turn, password, old)
		if err != nil {
			return "", err
		}
		if same {
			return "", errReused
		}
	}
	err = s.hash(ctx, turn, func() error {
		hash, err = s.Hasher.Create(password, s.hashing())
		return err
	})
	return hash, err
}

// matches reports whether a password matches a stored hash. Without a hash it does the same work and reports false.
func (s *Service) matches(ctx context.Context, turn place, password, hash string) (ok bool, err error) {
	hasPassword := hash != ""
	if !hasPassword {
		hash = s.decoy()
	}
	err = s.hash(ctx, turn, func() error {
		ok, err = s.Hasher.Matches(password, hash)
		return err
	})
	return ok && hasPassword, err
}

// matchesCurrent is matches for the current password of a caller who is signed in.
func (s *Service) matchesCurrent(ctx context.Context, password, hash string) (bool, error) {
	turn, err := s.queue.enter(true)
	if err != nil {
		return false, err
	}
	defer turn.leave()
	return s.matches(ctx, turn, password, hash)
}

// hash computes a hash when it is the caller's turn.
func (s *Service) hash(ctx context.Context, turn place, compute func() error) error {
	return turn.run(ctx, func() error {
		s.hashes.Add(1)
		return compute()
	})
}

// NewPassword generates a password of an account that is shown once: 26 characters, 130 bits.
func NewPassword(email string) string {
	for {
		if password := rand.Text(); checkStrength(password, email, "") == nil {
			return password
		}
	}
}

// invalid is an error about the caller's input.
func invalid(code, format string, args ...any) error {
	return &assay.Error{Kind: assay.Invalid, Code: code, Message: fmt.Sprintf(format, args...)}
}
