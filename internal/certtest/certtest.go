// Package certtest is an authority for certificates, for tests.
package certtest

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority certifies servers and clients.
type Authority struct {
	PEM []byte // its own certificate

	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// New makes an authority.
func New(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{t: t, key: newKey(t)}
	template := template(time.Now().Add(24 * time.Hour))
	template.Subject.CommonName = "Test authority"
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign
	a.PEM, a.cert = a.sign(template, template, a.key)
	return a
}

// Issue certifies names and addresses, until a time.
func (a *Authority) Issue(until time.Time, names ...string) (cert, key []byte) {
	a.t.Helper()
	template := template(until)
	template.Subject.CommonName = "Test"
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	private := newKey(a.t)
	cert, _ = a.sign(template, a.cert, private)
	der, err := x509.MarshalPKCS8PrivateKey(private)
	a.must(err)
	return cert, encode("PRIVATE KEY", der)
}

// Pair is a certificate for names and addresses, for a day.
func (a *Authority) Pair(names ...string) tls.Certificate {
	a.t.Helper()
	pair, err := tls.X509KeyPair(a.Issue(time.Now().Add(24*time.Hour), names...))
	a.must(err)
	return pair
}

// Write writes a certificate for names and addresses, its key and the authority into a folder.
func (a *Authority) Write(folder string, names ...string) (cert, key, root string) {
	a.t.Helper()
	cert, key, root = filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem"), filepath.Join(folder, "ca.pem")
	certText, keyText := a.Issue(time.Now().Add(24*time.Hour), names...)
	for name, text := range map[string][]byte{cert: certText, key: keyText, root: a.PEM} {
		a.must(os.WriteFile(name, text, 0o600))
	}
	return cert, key, root
}

// Pool trusts the authority.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

func template(until time.Time) *x509.Certificate {
	const serialBits = 120
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), serialBits)) // never fails
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{Organization: []string{"Tests"}},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: until,
	}
}

func (a *Authority) sign(template, parent *x509.Certificate, key *ecdsa.PrivateKey) ([]byte, *x509.Certificate) {
	a.t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), a.key)
	a.must(err)
	cert, err := x509.ParseCertificate(der)
	a.must(err)
	return encode("CERTIFICATE", der), cert
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func encode(kind string, der []byte) []byte {
	var b bytes.Buffer
	_ = pem.Encode(&b, &pem.Block{Type: kind, Bytes: der}) // a buffer takes everything
	return b.Bytes()
}

func (a *Authority) must(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}
