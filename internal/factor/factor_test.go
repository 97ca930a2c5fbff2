package factor_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/boombuler/barcode/qr"
	"github.com/pquerna/otp/totp"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/factor"
	"github.com/assaydata/assay/internal/factor/factortest"
)

const now = int64(1_800_000_000_000)

// A code is valid for its step and the ones beside it, and only after the last one that was used.
func TestMatchCode(t *testing.T) {
	t.Parallel()
	secret := []byte("12345678901234567890") // of the test vectors in RFC 6238
	code := func(at int64) string {
		text, err := totp.GenerateCode(factor.SecretText(secret), time.UnixMilli(at))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	f := func(what, text string, at, last, want int64) {
		t.Helper()
		step, ok := factor.MatchCode(secret, text, at, last)
		if step != want || ok != (want != 0) {
			t.Errorf("%s: step %d (%t), want %d", what, step, ok, want)
		}
	}
	step := now / (30 * assay.Second)
	f("RFC 6238 at 59 s", "287082", 59_000, 0, 1)
	f("RFC 6238 at 2000000000 s", "279037", 2_000_000_000_000, 0, 66_666_666)
	f("now", code(now), now, 0, step)
	f("with a space", code(now)[:3]+" "+code(now)[3:], now, 0, step)
	f("one step early", code(now+30_000), now, 0, step+1)
	f("one step late", code(now-30_000), now, 0, step-1)
	f("two steps early", code(now+60_000), now, 0, 0)
	f("two steps late", code(now-60_000), now, 0, 0)
	f("used before", code(now), now, step, 0)
	f("older than the last one used", code(now-30_000), now, step, 0)
	f("newer than the last one used", code(now+30_000), now, step, step+1)
	f("nothing", "", now, 0, 0)
	f("five digits", code(now)[:5], now, 0, 0)
	f("seven digits", code(now)+"0", now, 0, 0)
	f("other digits", "٢٨٧٠٨٢", 59_000, 0, 0)
}

func TestSecretURI(t *testing.T) {
	t.Parallel()
	secret := factor.NewTOTPSecret()
	if len(secret) != 20 || bytes.Equal(secret, factor.NewTOTPSecret()) {
		t.Error("a secret is not 20 random bytes")
	}
	u, err := url.Parse(factor.SecretURI(secret, "data.example.com", "ann@example.com"))
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	if u.Scheme != "otpauth" || u.Host != "totp" || u.Path != "/Assay data.example.com:ann@example.com" ||
		query.Get("issuer") != "Assay data.example.com" || query.Get("secret") != factor.SecretText(secret) {
		t.Errorf("the address is %s", u)
	}
}

// The drawing has exactly the dark modules of the code.
func TestDrawQR(t *testing.T) {
	t.Parallel()
	const text = "otpauth://totp/Assay:ann@example.com?secret=ABC"
	drawn, err := factor.DrawQR(text)
	if err != nil {
		t.Fatal(err)
	}
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		t.Fatal(err)
	}
	dark := 0
	for y := range drawn.Size {
		for x := range drawn.Size {
			if r, _, _, _ := code.At(x, y).RGBA(); r == 0 {
				dark++
			}
		}
	}
	if drawn.Size != code.Bounds().Dx() || strings.Count(drawn.Path, "h1v1h-1z") != dark || dark == 0 {
		t.Errorf("%d modules a side with %d dark ones, want %d", drawn.Size, strings.Count(drawn.Path, "z"), dark)
	}
	if strings.Trim(drawn.Path, "M0123456789 hvz-") != "" || !strings.HasPrefix(drawn.Path, "M0 0h1v1h-1z") {
		t.Errorf("the path is %s", drawn.Path)
	}
	if _, err := factor.DrawQR(strings.Repeat("x", 10_000)); err == nil {
		t.Error("a text that no QR code holds was drawn")
	}
}

func TestRecoveryCodes(t *testing.T) {
	t.Parallel()
	codes := factor.NewRecoveryCodes()
	if len(codes) != 10 {
		t.Fatalf("%d codes", len(codes))
	}
	var hashes [][32]byte
	for _, code := range codes {
		hash, ok := factor.HashRecoveryCode(code)
		if !ok || len(code) != 29 || slices.Contains(hashes, hash) {
			t.Errorf("a code is %q", code)
		}
		hashes = append(hashes, hash)
		for _, typed := range []string{strings.ToLower(code), strings.ReplaceAll(code, "-", ""), " " + code + " "} {
			if again, ok := factor.HashRecoveryCode(typed); !ok || again != hash {
				t.Errorf("%q is not taken for %q", typed, code)
			}
		}
	}
	for _, text := range []string{"", "123456", codes[0][:28], codes[0] + "A", "????-????-????-????-????-????"} {
		if _, ok := factor.HashRecoveryCode(text); ok {
			t.Errorf("%q is taken for a recovery code", text)
		}
	}
}

func TestNewSite(t *testing.T) {
	t.Parallel()
	f := func(origin, host string) {
		t.Helper()
		site, err := factor.NewSite(origin)
		if (err == nil) != (host != "") || site.Host() != host {
			t.Errorf("%s: %q, %v; want %q", origin, site.Host(), err, host)
		}
	}
	f("https://data.example.com", "data.example.com")
	f("https://data.example.com:8443", "data.example.com")
	f("http://localhost:8080", "localhost")
	f("http://data.example.com", "")
	f("http://127.0.0.1:8080", "")
	f("https://192.0.2.1", "")
	f("", "")
}

// ceremony is a site, an owner with a passkey, and the device that has it.
type ceremony struct {
	*factor.Site
	t      *testing.T
	owner  *factor.Owner
	device *factortest.Authenticator
}

const origin = "https://data.example.com"

func newCeremony(t *testing.T) *ceremony {
	t.Helper()
	site, err := factor.NewSite(origin)
	if err != nil {
		t.Fatal(err)
	}
	c := &ceremony{
		Site: site, t: t, owner: &factor.Owner{Handle: factor.NewHandle(), Email: "ann@example.com"},
		device: factortest.New(t, origin),
	}
	challenge := factor.NewChallenge()
	key, err := c.Create(c.owner, challenge, c.device.Create(c.options(c.CreateOptions(c.owner, challenge))))
	if err != nil {
		t.Fatal(err)
	}
	c.owner.Passkeys = append(c.owner.Passkeys, key)
	return c
}

func (c *ceremony) options(options factor.Options, err error) []byte {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
	text, err := json.Marshal(options)
	if err != nil {
		c.t.Fatal(err)
	}
	return text
}

// sign has the device respond to a challenge.
func (c *ceremony) sign(challenge []byte) factor.Assertion {
	c.t.Helper()
	a, err := factor.ParseAssertion(c.device.Get(c.options(c.GetOptions(c.owner, challenge))))
	if err != nil {
		c.t.Fatal(err)
	}
	return a
}

func (c *ceremony) refused(what string, challenge []byte, a factor.Assertion, discovered bool) {
	c.t.Helper()
	if _, err := c.Check(c.owner, challenge, a, discovered); err == nil {
		c.t.Errorf("%s: the assertion was accepted", what)
	}
}

func TestPasskey(t *testing.T) {
	t.Parallel()
	c, challenge := newCeremony(t), factor.NewChallenge()
	for _, discovered := range []bool{false, true} {
		a := c.sign(challenge)
		used, err := c.Check(c.owner, challenge, a, discovered)
		if err != nil || used.SignCount == 0 || !bytes.Equal(used.CredentialID, c.owner.Passkeys[0].CredentialID) {
			t.Errorf("discovered %t: %+v, %v", discovered, used, err)
		}
	}
	if !bytes.Contains(c.options(c.CreateOptions(c.owner, challenge)), []byte("excludeCredentials")) {
		t.Error("the device may create a second passkey for the same account")
	}
}

// What an attacker could try with an assertion.
func TestPasskey_Attacks(t *testing.T) {
	t.Parallel()
	c, challenge := newCeremony(t), factor.NewChallenge()

	c.refused("the response to another challenge", factor.NewChallenge(), c.sign(challenge), false)

	c.device.Origin = "https://data.example.com.evil.example"
	c.refused("from a page of another origin", challenge, c.sign(challenge), false)
	c.device.Origin = "http://data.example.com"
	c.refused("from a page without TLS", challenge, c.sign(challenge), false)
	c.device.Origin = origin

	c.device.Verified = false
	c.refused("without a password and without a PIN", challenge, c.sign(challenge), true)
	if _, err := c.Check(c.owner, challenge, c.sign(challenge), false); err != nil {
		t.Errorf("after a password without a PIN: %v", err)
	}
	c.device.Verified = true

	other := newCeremony(t)
	c.refused("another account's passkey", challenge, other.sign(challenge), false)
	c.refused("another account's passkey, discovered", challenge, other.sign(challenge), true)

	signed := c.sign(challenge)
	c.owner.Passkeys[0].SignCount = c.device.Count - 1
	if _, err := c.Check(c.owner, challenge, signed, false); !errors.Is(err, factor.ErrCloned) {
		t.Errorf("the same count again: %v", err)
	}
	c.owner.Passkeys[0].SignCount = c.device.Count + 10
	if _, err := c.Check(c.owner, challenge, c.sign(challenge), false); !errors.Is(err, factor.ErrCloned) {
		t.Errorf("a count that went back: %v", err)
	}
	for _, text := range []string{"", "{}", "null", `{"id":"AAAA","rawId":"AAAA","type":"public-key","response":{}}`} {
		if _, err := factor.ParseAssertion([]byte(text)); err == nil {
			t.Errorf("%q was read as an assertion", text)
		}
		if _, err := c.Create(c.owner, challenge, []byte(text)); err == nil {
			t.Errorf("%q was taken for a passkey", text)
		}
	}
}

// A passkey that does not count keeps working, whatever its count was at first.
func TestPasskey_NoCount(t *testing.T) {
	t.Parallel()
	c := newCeremony(t)
	c.owner.Passkeys[0].SignCount = 0
	for range 2 {
		c.device.Count = 0
		challenge := factor.NewChallenge()
		if used, err := c.Check(c.owner, challenge, c.sign(challenge), false); err != nil || used.SignCount != 0 {
			t.Errorf("%+v, %v", used, err)
		}
	}
}
