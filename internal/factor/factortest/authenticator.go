// Package factortest has an authenticator of passkeys in software, for tests without a browser.
package factortest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"testing"

	"github.com/go-webauthn/webauthn/protocol/webauthncbor"
	"github.com/go-webauthn/webauthn/protocol/webauthncose"
)

// Authenticator is a device with one passkey, and the browser that talks to it. A test changes its fields to attack.
type Authenticator struct {
	Origin   string // that the browser reports
	Count    uint32 // that the next signature has
	Verified bool   // whether the device has checked a fingerprint or a PIN

	id     []byte
	handle []byte
	key    *ecdsa.PrivateKey
	test   testing.TB
}

// New makes an authenticator for the pages of an origin.
func New(t testing.TB, origin string) *Authenticator {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails
	return &Authenticator{Origin: origin, Verified: true, Count: 1, id: id, key: key, test: t}
}

// The flags of an authenticator's data.
const (
	flagPresent  = 1 << 0
	flagVerified = 1 << 2
	flagAttested = 1 << 6
)

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func (a *Authenticator) must(err error) {
	a.test.Helper()
	if err != nil {
		a.test.Fatal(err)
	}
}

// options are what both kinds of options have.
type options struct {
	Challenge string                `json:"challenge"`
	RPID      string                `json:"rpId"`
	RP        struct{ ID string }   `json:"rp"`
	User      struct{ ID string }   `json:"user"`
	Allow     []struct{ ID string } `json:"allowCredentials"`
}

func (a *Authenticator) parse(text []byte) (o options) {
	a.test.Helper()
	a.must(json.Unmarshal(text, &o))
	return o
}

// clientData is what the browser adds.
func (a *Authenticator) clientData(kind, challenge string) []byte {
	text, err := json.Marshal(map[string]any{
		"type": kind, "challenge": challenge, "origin": a.Origin, "crossOrigin": false,
	})
	a.must(err)
	return text
}

// data is the authenticator's data without a passkey.
func (a *Authenticator) data(host string, flags byte) []byte {
	if a.Verified {
		flags |= flagVerified
	}
	hash := sha256.Sum256([]byte(host))
	data := append(hash[:], flags|flagPresent)
	data = binary.BigEndian.AppendUint32(data, a.Count)
	a.Count++
	return data
}

// Create responds to the options of navigator.credentials.create.
func (a *Authenticator) Create(createOptions []byte) json.RawMessage {
	a.test.Helper()
	o := a.parse(createOptions)
	handle, err := base64.RawURLEncoding.DecodeString(o.User.ID)
	a.must(err)
	a.handle = handle
	point, err := a.key.PublicKey.Bytes()
	a.must(err)
	public, err := webauthncbor.Marshal(webauthncose.EC2PublicKeyData{
		PublicKeyData: webauthncose.PublicKeyData{
			KeyType: int64(webauthncose.EllipticKey), Algorithm: int64(webauthncose.AlgES256),
		},
		Curve: int64(webauthncose.P256), XCoord: point[1:33], YCoord: point[33:],
	})
	a.must(err)
	data := append(a.data(o.RP.ID, flagAttested), make([]byte, 16)...)
	data = binary.BigEndian.AppendUint16(data, uint16(len(a.id)))
	data = append(append(data, a.id...), public...)
	object, err := webauthncbor.Marshal(map[string]any{"fmt": "none", "attStmt": map[string]any{}, "authData": data})
	a.must(err)
	return a.response(map[string]any{
		"clientDataJSON":    encode(a.clientData("webauthn.create", o.Challenge)),
		"attestationObject": encode(object), "transports": []string{"internal"},
	})
}

// Get responds to the options of navigator.credentials.get.
func (a *Authenticator) Get(getOptions []byte) json.RawMessage {
	a.test.Helper()
	o := a.parse(getOptions)
	client, data := a.clientData("webauthn.get", o.Challenge), a.data(o.RPID, 0)
	hash := sha256.Sum256(client)
	digest := sha256.Sum256(append(append([]byte{}, data...), hash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, a.key, digest[:])
	a.must(err)
	return a.response(map[string]any{
		"clientDataJSON": encode(client), "authenticatorData": encode(data), "signature": encode(signature),
		"userHandle": encode(a.handle),
	})
}

func (a *Authenticator) response(response map[string]any) json.RawMessage {
	a.test.Helper()
	text, err := json.Marshal(map[string]any{
		"id": encode(a.id), "rawId": encode(a.id), "type": "public-key", "response": response,
		"clientExtensionResults": map[string]any{},
	})
	a.must(err)
	return text
}
