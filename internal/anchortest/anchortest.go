// Package anchortest is an authority for timestamps, for tests.
package anchortest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"io"
	"math/big"
	"net/http"
	"time"

	"github.com/digitorus/timestamp"
)

// Authority signs timestamps with a key of its own.
type Authority struct {
	Now func() time.Time

	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// New makes an authority. Its certificate has the subject CN=Authority of the tests, unless change gives it another, or
// another purpose.
func New(change ...func(*x509.Certificate)) *Authority {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err) // it never fails
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Authority of the tests"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageTimeStamping},
	}
	for _, f := range change {
		f(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err) // the template is wrong
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	return &Authority{Now: time.Now, certificate: certificate, key: key}
}

// Stamp is a timestamp of a text that a test may change before it is signed.
func (a *Authority) Stamp(text string) *timestamp.Timestamp {
	hash := sha256.Sum256([]byte(text))
	return &timestamp.Timestamp{
		HashAlgorithm: crypto.SHA256, HashedMessage: hash[:], Time: a.Now(), Policy: asn1.ObjectIdentifier{1, 2, 3},
		AddTSACertificate: true,
	}
}

// Reply is the response with a timestamp.
func (a *Authority) Reply(t *timestamp.Timestamp) []byte {
	reply, err := t.CreateResponseWithOpts(a.certificate, a.key, crypto.SHA256)
	if err != nil {
		panic(err) // the timestamp is wrong
	}
	return reply
}

// Token is the token with a timestamp.
func (a *Authority) Token(t *timestamp.Timestamp) []byte {
	t, err := timestamp.ParseResponse(a.Reply(t))
	if err != nil {
		panic(err)
	}
	return t.RawToken
}

// ServeHTTP responds to a request as an honest authority does.
func (a *Authority) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	body, err := io.ReadAll(in.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	query, err := timestamp.ParseRequest(body)
	if err != nil || in.Header.Get("Content-Type") != "application/timestamp-query" {
		http.Error(out, "that is not a request for a timestamp", http.StatusBadRequest)
		return
	}
	t := a.Stamp("")
	t.HashedMessage, t.Nonce, t.AddTSACertificate = query.HashedMessage, query.Nonce, query.Certificates
	out.Header().Set("Content-Type", "application/timestamp-reply")
	_, _ = out.Write(a.Reply(t)) // a client that hangs up gets nothing
}
