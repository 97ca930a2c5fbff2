package console

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/limit/sharedlimit"
	"github.com/assaydata/assay/internal/web"
)

// rung is how many attempts may fail in any span of a window. Several rungs make the wait grow with the failures.
type rung struct {
	limit  int
	window time.Duration
}

// How often a password may be tried, whether the account exists or not. An attempt that succeeds does not count.
//
// One address gets a fraction of what an account allows, so that it cannot lock out the account's owner elsewhere. A
// device that has signed in to the account before is counted alone: nothing that others do makes its owner wait, and a
// thief of its cookie has few attempts.
var (
	pairRungs    = []rung{{5, time.Minute}, {10, 15 * time.Minute}, {20, 4 * time.Hour}} // an address at an account
	addressRungs = []rung{{30, 5 * time.Minute}, {100, time.Hour}}                       // an address at all accounts
	accountRungs = []rung{{100, time.Hour}}                                              // all addresses at an account
	deviceRungs  = []rung{{10, 5 * time.Minute}, {30, 4 * time.Hour}}                    // a known device
	changeRungs  = []rung{{10, 5 * time.Minute}, {30, 4 * time.Hour}}                    // who is signed in

	// All addresses at the second factor of an account, besides the limits of a sign-in. Only who knows the password gets
	// here, and a code has a million values, of which three are right at a time.
	codeRungs = []rung{{30, time.Hour}, {100, 24 * time.Hour}}
)

// maxGuessTargets bounds how many targets of guesses this node remembers, for each rung.
const maxGuessTargets = 32_768

// ladder is a limit whose wait grows.
type ladder []*web.Limiter[[32]byte]

func newLadder(limits *sharedlimit.Redis, name, counted string, rungs []rung) (l ladder) {
	for _, r := range rungs {
		l = append(l, web.NewLimiter(limits, web.LimitConfig{
			Name: fmt.Sprintf("%s-%d", name, int(r.window/time.Second)), Limit: r.limit, Window: r.window,
			MaxKeys: maxGuessTargets, Counted: counted + " " + span(r.window),
		}, func(sum [32]byte) string { return string(sum[:]) }))
	}
	return l
}

// span is a window in a message.
func span(window time.Duration) string {
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{time.Hour, "hour"}, {time.Minute, "minute"}} {
		switch n := window / unit.length; {
		case n == 1:
			return "per " + unit.name
		case n > 1:
			return fmt.Sprintf("in %d %ss", n, unit.name)
		}
	}
	return "in " + window.String()
}

// claims are those of a target on all rungs.
func (l ladder) claims(target ...string) (claims []web.Claim) {
	h := sha256.New()
	for _, part := range target {
		_, _ = fmt.Fprintf(h, "%d:%s", len(part), part) // a hash returns no error
	}
	sum := [32]byte(h.Sum(nil))
	for _, limiter := range l {
		claims = append(claims, limiter.Claim(sum))
	}
	return claims
}

// guesses limits how fast passwords can be guessed.
type guesses struct{ pair, address, account, device, change, code ladder }

func newGuesses(limits *sharedlimit.Redis) guesses {
	return guesses{
		pair:    newLadder(limits, "sign-in-pair", "sign-in attempts", pairRungs),
		address: newLadder(limits, "sign-in-address", "sign-in attempts", addressRungs),
		account: newLadder(limits, "sign-in-account", "sign-in attempts", accountRungs),
		device:  newLadder(limits, "sign-in-device", "sign-in attempts", deviceRungs),
		change:  newLadder(limits, "password-change", "password attempts", changeRungs),
		code:    newLadder(limits, "second-factor", "second-factor attempts", codeRungs),
	}
}

// signIn counts an attempt to sign in with the password of an account. The handler calls done with its result.
func (g *guesses) signIn(r *web.Request, email string, knownDevice bool) (done func(error), err error) {
	return count(r, g.signInClaims(r, email, knownDevice))
}

func (g *guesses) signInClaims(r *web.Request, email string, knownDevice bool) []web.Claim {
	if knownDevice {
		return g.device.claims(r.Cookie(web.DeviceCookie))
	}
	address := web.LimitAddress(r.Client()).String()
	claims := append(g.pair.claims(email, address), g.address.claims(address)...)
	return append(claims, g.account.claims(email)...)
}

// secondFactor counts an attempt to give the second factor of an account: as one to sign in, and on its own.
func (g *guesses) secondFactor(r *web.Request, email string, knownDevice bool) (done func(error), err error) {
	claims := g.signInClaims(r, email, knownDevice)
	if !knownDevice {
		claims = append(claims, g.code.claims(email)...)
	}
	return count(r, claims)
}

// passkey counts an attempt to sign in with a passkey alone, whose account is not known yet.
func (g *guesses) passkey(r *web.Request) (done func(error), err error) {
	return count(r, g.address.claims(web.LimitAddress(r.Client()).String()))
}

// changePassword counts an attempt to give the current password of the account that is signed in.
func (g *guesses) changePassword(r *web.Request) (done func(error), err error) {
	return count(r, g.change.claims(strconv.FormatInt(r.Caller().AccountID, 10)))
}

// count counts an attempt. done takes it back unless the password was wrong, or no one knows because the client went
// away or the database did not respond.
func count(r *web.Request, claims []web.Claim) (done func(error), err error) {
	refund, err := web.CountAll(r, claims)
	if err != nil {
		return nil, err
	}
	return func(err error) {
		e, classified := errors.AsType[*assay.Error](err)
		wrong := classified && (e.Kind == assay.Unauthorized || e.Kind == assay.Forbidden)
		if err == nil || classified && !wrong {
			refund()
		}
	}, nil
}
