// Package factor checks second factors: one-time codes, passkeys and recovery codes. Its functions are pure: the time
// and what is stored are arguments, and the callers store what the results say.
package factor

import (
	"crypto/rand"
	"encoding/base32"
	"fmt"
	"math"
	"net/url"
	"strings"

	"github.com/boombuler/barcode/qr"
	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"

	"github.com/assaydata/assay"
)

// One-time codes are those of RFC 6238 with the parameters that every authenticator app knows: SHA-1, six digits, a
// new code every 30 seconds.
const (
	totpStep    = 30 * assay.Second
	totpSecret  = 20 // bytes: the length of a SHA-1, as RFC 4226 recommends
	totpDigits  = otp.DigitsSix
	totpSkew    = 1 // steps that the clock of the app may be early or late
	totpAppName = "Assay"
)

// NewTOTPSecret draws the secret of an authenticator app.
func NewTOTPSecret() []byte {
	secret := make([]byte, totpSecret)
	_, _ = rand.Read(secret) // never fails
	return secret
}

// SecretText is a secret as people type it into an app.
func SecretText(secret []byte) string {
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(secret)
}

// SecretURI is a secret as apps read it from a QR code. host is the server's, to tell several servers apart.
func SecretURI(secret []byte, host, email string) string {
	issuer := totpAppName
	if host != "" {
		issuer += " " + host
	}
	issuer = strings.ReplaceAll(issuer, ":", " ") // a colon separates issuer and account
	return (&url.URL{
		Scheme: "otpauth", Host: "totp", Path: "/" + issuer + ":" + email,
		RawQuery: "secret=" + SecretText(secret) + "&issuer=" + url.PathEscape(issuer), // apps show a + as it is
	}).String()
}

// MatchCode finds the step whose code was given: now's or one beside it, and later than last, the step of the last
// code that was used. It reports false if there is none.
func MatchCode(secret []byte, code string, now, last int64) (step int64, ok bool) {
	if code = strings.ReplaceAll(code, " ", ""); len(code) != totpDigits.Length() {
		return 0, false
	}
	text, options := SecretText(secret), hotp.ValidateOpts{Digits: totpDigits, Algorithm: otp.AlgorithmSHA1}
	current := now / totpStep
	for at := current - totpSkew; at <= current+totpSkew; at++ {
		matches, err := hotp.ValidateCustom(code, uint64(max(at, 0)), text, options)
		if err == nil && matches && at > last {
			step, ok = at, true // without leaving the loop: its time tells nothing
		}
	}
	return step, ok
}

// QR is a QR code as a drawing: a square of Size modules, and the path of the dark ones.
type QR struct {
	Size int    `json:"size"`
	Path string `json:"path"` // SVG path data
}

// DrawQR draws a QR code of a text.
func DrawQR(text string) (QR, error) {
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return QR{}, fmt.Errorf("draw a QR code: %w", err)
	}
	size := code.Bounds().Dx()
	var path strings.Builder
	for y := range size {
		for x := range size {
			if r, _, _, _ := code.At(x, y).RGBA(); r < math.MaxUint16/2 {
				fmt.Fprintf(&path, "M%d %dh1v1h-1z", x, y)
			}
		}
	}
	return QR{Size: size, Path: path.String()}, nil
}
