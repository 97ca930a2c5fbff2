package proof

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaydata/assay"
)

// testKey derives a key from a seed, so that signatures are the same in every run.
func testKey(seed byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
}

func exampleManifest() assay.Manifest {
	return assay.Manifest{
		Day: 1_768_348_800_000, Revision: 1, Publication: 4711, Receipt: 815, Records: 288, Revisions: 3,
		Digest: hashOf(0x12), SignedAt: 1_768_435_260_007, Previous: hashOf(0x34),
	}
}

func signedManifest() assay.Manifest {
	m := exampleManifest()
	Sign(&m, testKey(1))
	return m
}

func TestAppendManifest_Text(t *testing.T) {
	t.Parallel()
	m := signedManifest()
	want := `{"day":"2026-01-14","revision":1,"publication":4711,"receipt":815,"records":288,"revisions":3,"records_digest":"` +
		strings.Repeat("12", 32) +
		`","signed_at":"2026-01-15T00:01:00.007Z","previous_hash":"` + strings.Repeat("34", 32) +
		`","public_key":"iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w="}`
	if got := string(AppendManifest([]byte("before "), &m)); got != "before "+want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
	if m.Hash != sha256.Sum256([]byte(want)) || m.Hash != Manifest(&m) {
		t.Errorf("the hash %x is not the hash of the text", m.Hash)
	}
	if !ed25519.Verify(testKey(1).Public().(ed25519.PublicKey), []byte(want), m.Signature) {
		t.Error("the signature is not that of the text")
	}
	published := strings.TrimSuffix(want, "}") + `,"hash":"` + hex.EncodeToString(m.Hash[:]) +
		`","signature":"` + base64.StdEncoding.EncodeToString(m.Signature) + `"}`
	if got := string(AppendManifestJSON(nil, &m)); got != published {
		t.Errorf("it is published as\n%s, want\n%s", got, published)
	}
}

func TestAppendManifestJSON_ParsesBack(t *testing.T) {
	t.Parallel()
	type manifestJSON struct {
		Day         string `json:"day"`
		Revision    int    `json:"revision"`
		Publication int64  `json:"publication"`
		Receipt     int64  `json:"receipt"`
		Records     int    `json:"records"`
		Revisions   int    `json:"revisions"`
		Digest      string `json:"records_digest"`
		SignedAt    string `json:"signed_at"`
		Previous    string `json:"previous_hash"`
		PublicKey   []byte `json:"public_key"`
		Hash        string `json:"hash"`
		Signature   []byte `json:"signature"`
	}
	m := signedManifest()
	var got manifestJSON
	decode(t, AppendManifestJSON(nil, &m), &got)
	want := manifestJSON{
		Day: "2026-01-14", Revision: m.Revision, Publication: m.Publication, Receipt: m.Receipt, Records: m.Records,
		Revisions: m.Revisions, Digest: hex.EncodeToString(m.Digest[:]),
		SignedAt: assay.FormatInstant(m.SignedAt), Previous: hex.EncodeToString(m.Previous[:]),
		PublicKey: m.PublicKey, Hash: hex.EncodeToString(m.Hash[:]), Signature: m.Signature,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parsed (-want +got):\n%s", diff)
	}
}

// The text has only the date, so a millisecond of the day does not change the hash; CheckManifest rejects it.
func TestManifest_EveryFieldCounts(t *testing.T) {
	t.Parallel()
	m := signedManifest()
	checkChanges(t, &m, Manifest, "Day", "Hash", "Signature")
	before := Manifest(&m)
	m.Day += assay.Day
	if Manifest(&m) == before {
		t.Error("another day has the same hash")
	}
}

// Every change of a signed manifest is detected.
func TestCheckManifest_EveryChangeIsNoticed(t *testing.T) {
	t.Parallel()
	m := signedManifest()
	if err := CheckManifest(&m); err != nil {
		t.Fatal(err)
	}
	changes := 0
	eachChange(reflect.ValueOf(&m).Elem(), "", func(name string) {
		changes++
		if CheckManifest(&m) == nil {
			t.Errorf("a changed %s was not detected", name)
		}
	})
	if changes != 7+3*32+ed25519.PublicKeySize+ed25519.SignatureSize {
		t.Errorf("%d changes were tried", changes)
	}
}

// A forger cannot just update the hash: the signature covers every byte of the text.
func TestCheckManifest_EveryByteIsSigned(t *testing.T) {
	t.Parallel()
	m := signedManifest()
	text := AppendManifest(nil, &m)
	for i := range text {
		for bit := range 8 {
			text[i] ^= 1 << bit
			if ed25519.Verify(m.PublicKey, text, m.Signature) {
				t.Fatalf("bit %d of byte %d is not signed", bit, i)
			}
			text[i] ^= 1 << bit
		}
	}
	f := func(change func(*assay.Manifest)) {
		t.Helper()
		forged := signedManifest()
		change(&forged)
		forged.Hash = Manifest(&forged)
		if err := CheckManifest(&forged); err == nil || !strings.Contains(err.Error(), "signature") {
			t.Errorf("forged, with a matching hash: %v", err)
		}
	}
	f(func(m *assay.Manifest) { m.Records++ })
	f(func(m *assay.Manifest) { m.Digest[31] ^= 0x80 })
	f(func(m *assay.Manifest) { m.Previous = assay.Hash{} })
	f(func(m *assay.Manifest) { m.PublicKey = testKey(2).Public().(ed25519.PublicKey) }) // another signer
	f(func(m *assay.Manifest) { m.PublicKey = m.PublicKey[:31] })
	f(func(m *assay.Manifest) { m.PublicKey = nil })
	f(func(m *assay.Manifest) { m.Signature = m.Signature[:63] })
	f(func(m *assay.Manifest) { m.Signature = nil })
}

func TestCheckManifest_Reasons(t *testing.T) {
	t.Parallel()
	f := func(want string, change func(*assay.Manifest)) {
		t.Helper()
		m := signedManifest()
		change(&m)
		if err := CheckManifest(&m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	f("hash", func(m *assay.Manifest) { m.Records++ })
	f("hash", func(m *assay.Manifest) { m.Hash = assay.Hash{} })
	f("signature", func(m *assay.Manifest) { m.Signature[0] ^= 1 })
	f("midnight", func(m *assay.Manifest) { m.Day++ })
}

func TestRecords(t *testing.T) {
	t.Parallel()
	a, b := hashOf(1), hashOf(2)
	f := func(hashes ...assay.Hash) assay.Hash {
		t.Helper()
		var text []byte
		for _, h := range hashes {
			text = append(text, h[:]...)
		}
		got := Records(hashes)
		if got != sha256.Sum256(text) {
			t.Errorf("the digest of %d hashes is not the digest of their bytes", len(hashes))
		}
		return got
	}
	f()
	if f(a, b) == f(b, a) || f(a) == f(a, a) {
		t.Error("another order or number gives the same digest")
	}
}

func TestKey_RoundTrip(t *testing.T) {
	t.Parallel()
	for seed := range byte(20) {
		key := testKey(seed)
		text, err := EncodeKey(key)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(text, []byte("-----BEGIN PRIVATE KEY-----\n")) {
			t.Errorf("not the PEM form that other tools read: %.30s", text)
		}
		if got, err := DecodeKey(text); err != nil || !got.Equal(key) {
			t.Errorf("decoded: %v", err)
		}
	}
}

func mustPEM(t *testing.T, blockType string, key any) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: blockType, Bytes: der})
}

// An error says why the key cannot be decoded, and contains nothing of the text.
func TestDecodeKey_Refused(t *testing.T) {
	t.Parallel()
	secret := mustPEM(t, keyType, testKey(7))
	body := strings.Split(string(secret), "\n")[1]
	f := func(text []byte, want string) {
		t.Helper()
		key, err := DecodeKey(text)
		if err == nil || !strings.Contains(err.Error(), want) || key != nil {
			t.Errorf("%.40q: %v, want %q and no key", text, err, want)
			return
		}
		for size, part := 4, body; len(part) >= size; part = part[1:] {
			if strings.Contains(err.Error(), part[:size]) {
				t.Errorf("the error %q contains a part of the key", err)
			}
		}
	}
	f(nil, "not a PEM file with a PRIVATE KEY")
	f([]byte(body), "not a PEM file")
	f(secret[:len(secret)/2], "not a PEM file")
	f(mustPEM(t, "CERTIFICATE", testKey(7)), "not a PEM file with a PRIVATE KEY")
	f(pem.EncodeToMemory(&pem.Block{Type: keyType, Bytes: []byte(body)}), "the key cannot be read")
	f(pem.EncodeToMemory(&pem.Block{Type: keyType}), "the key cannot be read")
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	f(mustPEM(t, keyType, other), "the key is not an Ed25519 key")
}
