package proof

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/assaydata/assay"
)

// Records is the digest of a day's record hashes, in the order of GPU, region, grain, instant and revision.
func Records(hashes []assay.Hash) assay.Hash {
	h := sha256.New()
	for i := range hashes {
		h.Write(hashes[i][:])
	}
	var sum assay.Hash
	h.Sum(sum[:0])
	return sum
}

// AppendManifest appends the text of a manifest that is hashed and signed: JSON without hash and signature.
func AppendManifest(dst []byte, m *assay.Manifest) []byte {
	return append(appendManifest(dst, m), '}')
}

// AppendManifestJSON appends a manifest as it is published: its text with its hash and signature at the end.
func AppendManifestJSON(dst []byte, m *assay.Manifest) []byte {
	dst = appendHash(appendManifest(dst, m), "hash", m.Hash)
	dst = base64.StdEncoding.AppendEncode(append(dst, `,"signature":"`...), m.Signature)
	return append(dst, `"}`...)
}

func appendManifest(dst []byte, m *assay.Manifest) []byte {
	dst = time.UnixMilli(m.Day).UTC().AppendFormat(append(dst, `{"day":"`...), assay.DayLayout)
	dst = appendInt(append(dst, `","revision":`...), m.Revision)
	if m.Publication != 0 {
		dst = strconv.AppendInt(append(dst, `,"publication":`...), m.Publication, 10)
		dst = strconv.AppendInt(append(dst, `,"receipt":`...), m.Receipt, 10)
	}
	dst = appendInt(append(dst, `,"records":`...), m.Records)
	if m.Publication != 0 {
		dst = appendInt(append(dst, `,"revisions":`...), m.Revisions)
	}
	dst = appendHash(dst, "records_digest", m.Digest)
	dst = assay.AppendInstant(append(dst, `,"signed_at":"`...), m.SignedAt)
	dst = appendHash(append(dst, '"'), "previous_hash", m.Previous)
	dst = base64.StdEncoding.AppendEncode(append(dst, `,"public_key":"`...), m.PublicKey)
	return append(dst, '"')
}

// Manifest is the hash of a manifest.
func Manifest(m *assay.Manifest) assay.Hash { return sha256.Sum256(AppendManifest(nil, m)) }

// Sign sets the public key, the hash and the signature of a manifest.
func Sign(m *assay.Manifest, key ed25519.PrivateKey) {
	m.PublicKey = key.Public().(ed25519.PublicKey)
	m.Hash = Manifest(m)
	m.Signature = ed25519.Sign(key, AppendManifest(nil, m))
}

// CheckManifest checks the day, the hash and the signature of a manifest.
func CheckManifest(m *assay.Manifest) error {
	if m.Day != assay.StartOfDay(m.Day) { // the text has only the date
		return errors.New("its day does not begin at midnight")
	}
	if Manifest(m) != m.Hash {
		return errors.New("its hash is not the hash of its text")
	}
	if len(m.PublicKey) != ed25519.PublicKeySize || !ed25519.Verify(m.PublicKey, AppendManifest(nil, m), m.Signature) {
		return errors.New("its signature does not match its public key")
	}
	return nil
}

const keyType = "PRIVATE KEY"

// KeyID is a short name of a key: the first eight bytes of the SHA-256 of its public half.
func KeyID(public ed25519.PublicKey) string {
	sum := sha256.Sum256(public)
	return hex.EncodeToString(sum[:8])
}

// EncodeKey encodes a private key as PEM, in the form that other tools read.
func EncodeKey(key ed25519.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: keyType, Bytes: der}), nil
}

// DecodeKey decodes a private key. Errors never contain the text.
func DecodeKey(text []byte) (ed25519.PrivateKey, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != keyType {
		return nil, fmt.Errorf("not a PEM file with a %s", keyType)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("the key cannot be read")
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, errors.New("the key is not an Ed25519 key")
	}
	return key, nil
}
