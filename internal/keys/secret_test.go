package keys

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/assaydata/assay"
)

// keyShape is how a key is put together: prefix, public id, underscore, secret and checksum.
var keyShape = regexp.MustCompile(`^(sk_(?:prem|live)_)([0-9A-Za-z]{6})_([0-9A-Za-z]+)([0-9A-Za-z]{6})$`)

// secretPart is what must never be seen: all behind the public id.
func secretPart(text string) string { return text[prefixLength+idLength+1:] }

func TestMint_Shape(t *testing.T) {
	t.Parallel()
	f := func(tier assay.Tier, prefix string) {
		t.Helper()
		secret := Mint(tier)
		parts := keyShape.FindStringSubmatch(secret.Reveal())
		if parts == nil || parts[1] != prefix || Prefix(tier) != prefix {
			t.Fatalf("a %s key is %s", tier, secret.Reveal())
		}
		if bits := float64(len(parts[3])) * math.Log2(62); bits < 192 {
			t.Errorf("the secret holds %.0f bits, want at least 192", bits)
		}
		if secret.ID() != parts[2] || secret.Hash() != sha256.Sum256([]byte(secret.Reveal())) {
			t.Errorf("id %s and hash %x of %s", secret.ID(), secret.Hash(), secret.Reveal())
		}
		if !wellFormed(secret.Reveal()) {
			t.Errorf("a new key is not well formed: %s", secret.Reveal())
		}
	}
	f(assay.Premium, "sk_prem_")
	f(assay.Full, "sk_live_")
}

// Each character should stand in each place about as often as any other.
func TestMint_DrawsEveryCharacterAlike(t *testing.T) {
	t.Parallel()
	const keys = 4000
	seen := map[string]bool{}
	count := map[byte]int{}
	for range keys {
		text := Mint(assay.Full).Reveal()
		seen[text] = true
		for _, c := range []byte(secretPart(text)[:secretLength]) {
			count[c]++
		}
	}
	if len(seen) != keys {
		t.Errorf("%d keys of %d are different", len(seen), keys)
	}
	// 2774 of each are expected with a deviation of 53; taking every random byte would draw eight of them 25% more
	// often.
	expected := float64(keys*secretLength) / float64(len(alphabet))
	for i := range len(alphabet) {
		if n := float64(count[alphabet[i]]); math.Abs(n-expected) > 8*math.Sqrt(expected) {
			t.Errorf("%q was drawn %.0f times, expected are %.0f", alphabet[i], n, expected)
		}
	}
}

func TestWellFormed_OneChangedCharacterIsRefused(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 1))
	for range 20 {
		text := Mint(assay.Tier(1 + rng.IntN(2))).Reveal()
		for i := range len(text) {
			for _, c := range []byte(alphabet + "_-. \x00\xff") {
				if changed := text[:i] + string([]byte{c}) + text[i+1:]; c != text[i] && wellFormed(changed) {
					t.Fatalf("%q passes for %q", changed, text)
				}
			}
		}
	}
}

func TestWellFormed_Refused(t *testing.T) {
	t.Parallel()
	text := Mint(assay.Full).Reveal()
	for _, bad := range []string{
		"", "sk_", "sk_live_", text[1:], text[:len(text)-1], text + "0", " " + text, text + " ", strings.ToUpper(text),
		strings.Repeat("0", keyLength), Mint(assay.Full).String(),
	} {
		if wellFormed(bad) {
			t.Errorf("%q passes for a key", bad)
		}
	}
}

func TestSecret_NeverPrinted(t *testing.T) {
	t.Parallel()
	secret := Mint(assay.Full)
	holder := struct {
		Name string
		Key  Secret
	}{"a name", secret}
	check := func(how, out string) {
		t.Helper()
		hidden := secretPart(secret.Reveal())
		inHex := hex.EncodeToString([]byte(hidden))
		for _, form := range []string{hidden, inHex, strings.ToUpper(inHex)} {
			if strings.Contains(out, form) {
				t.Errorf("%s shows the secret: %s", how, out)
			}
		}
	}
	check("String", secret.String())
	check("GoString", secret.GoString())
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d", "%t", "%c", "%U", "%e", "%10v", "%y"} {
		check(verb, fmt.Sprintf(verb, secret))
		check(verb+" of a pointer", fmt.Sprintf(verb, &secret))
		check(verb+" of a struct", fmt.Sprintf(verb, holder))
		check(verb+" of a list", fmt.Sprintf(verb, []Secret{secret}))
		check(verb+" of a map", fmt.Sprintf(verb, map[Secret]Secret{secret: secret}))
	}
	check("an error", fmt.Errorf("keep the key %v: %w", secret, fmt.Errorf("of %s", secret)).Error())

	var log bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewJSONHandler(&log, nil), slog.NewTextHandler(&log, nil)} {
		slog.New(handler).With("key", secret).Info("created", "pointer", &secret, "holder", holder, "list", []Secret{secret})
		check("slog", log.String())
	}
	if !strings.Contains(log.String(), secret.ID()) {
		t.Errorf("the log does not tell which key it was: %s", &log)
	}

	for _, value := range []any{secret, &secret, holder, []Secret{secret}, map[Secret]string{secret: ""}} {
		out, err := json.Marshal(value)
		if err != nil {
			t.Error(err)
		}
		check("json.Marshal", string(out))
	}
	if out, want := fmt.Sprint(secret), "sk_live_"+secret.ID()+"_…"; out != want {
		t.Errorf("printed as %q, want %q", out, want)
	}
}
