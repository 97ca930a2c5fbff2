// Package oidctest is a small provider of OpenID Connect for tests: discovery, authorization, tokens and keys, over
// HTTP on this machine. It signs in every browser that requests its authorization address as the person in its
// claims.
package oidctest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"
)

// What clients of the provider use.
const (
	ClientID     = "assay-test"
	ClientSecret = "a client secret that must not show" //nolint:gosec // G101: of this provider only
)

// Provider is the provider. Its fields may be changed between requests.
type Provider struct {
	*httptest.Server
	t   testing.TB
	rsa *rsa.PrivateKey
	ec  *ecdsa.PrivateKey

	mu sync.Mutex
	// Claims of the next tokens, which override those that the provider makes.
	Claims map[string]any
	// Algorithm signs the next tokens: RS256 or ES256.
	Algorithm string
	Now       func() time.Time
	Away      bool                  // responds with 503
	requested map[string]url.Values // the authorization request of each code
}

// New starts a provider that ends with the test.
func New(t testing.TB, now func() time.Time) *Provider {
	t.Helper()
	p := &Provider{t: t, Now: now, Algorithm: "RS256", Claims: map[string]any{}, requested: map[string]url.Values{}}
	var err error
	if p.rsa, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		t.Fatal(err)
	}
	if p.ec, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", p.configuration)
	mux.HandleFunc("/authorize", p.authorize)
	mux.HandleFunc("/token", p.token)
	mux.HandleFunc("/keys", p.keys)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.Away {
			http.Error(w, "away", http.StatusServiceUnavailable)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

// Set changes the provider between requests.
func (p *Provider) Set(f func(*Provider)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(p)
}

func (p *Provider) configuration(w http.ResponseWriter, _ *http.Request) {
	p.write(w, map[string]any{
		"issuer":                                p.URL,
		"authorization_endpoint":                p.URL + "/authorize",
		"token_endpoint":                        p.URL + "/token",
		"jwks_uri":                              p.URL + "/keys",
		"id_token_signing_alg_values_supported": []string{"RS256", "ES256"},
		"response_types_supported":              []string{"code"},
		"subject_types_supported":               []string{"public"},
	})
}

// authorize sends the browser back with a code, without showing a page.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	isCode, isS256 := query.Get("response_type") == "code", query.Get("code_challenge_method") == "S256"
	if query.Get("client_id") != ClientID || !isCode || !isS256 {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	p.requested[code] = query
	back := url.Values{"code": {code}, "state": {query.Get("state")}}
	address := query.Get("redirect_uri") + "?" + back.Encode()
	http.Redirect(w, r, address, http.StatusFound) //nolint:gosec // G710: the address comes from the test
}

// token returns the identity token for a code, once, to the client that has the secret and the verifier.
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	id, secret, _ := r.BasicAuth()
	requested := p.requested[r.FormValue("code")]
	delete(p.requested, r.FormValue("code"))
	isClient := id == ClientID && secret == url.QueryEscape(ClientSecret)
	challenge := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	isVerified := requested.Get("code_challenge") == encode(challenge[:])
	isSameAddress := requested.Get("redirect_uri") == r.FormValue("redirect_uri")
	if !isClient || requested == nil || !isVerified || !isSameAddress {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		p.write(w, map[string]any{"error": "invalid_grant"})
		return
	}
	now := p.Now()
	claims := map[string]any{
		"iss": p.URL, "aud": ClientID, "sub": "subject-1", "nonce": requested.Get("nonce"),
		"iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
		"email": "person@example.com", "email_verified": true, "name": "A Person",
	}
	for name, value := range p.Claims {
		claims[name] = value
	}
	p.write(w, map[string]any{
		"access_token": rand.Text(), "token_type": "Bearer", "expires_in": 3600, "id_token": p.sign(claims),
	})
}

func (p *Provider) keys(w http.ResponseWriter, _ *http.Request) {
	point, err := p.ec.PublicKey.Bytes() // 4, x, y
	if err != nil {
		p.t.Error(err)
	}
	p.write(w, map[string]any{"keys": []map[string]any{
		{
			"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "RS256",
			"n": encode(p.rsa.N.Bytes()), "e": encode(big.NewInt(int64(p.rsa.E)).Bytes()),
		},
		{
			"kty": "EC", "use": "sig", "alg": "ES256", "kid": "ES256", "crv": "P-256",
			"x": encode(point[1:33]), "y": encode(point[33:]),
		},
	}})
}

func (p *Provider) sign(claims map[string]any) string {
	header := fmt.Sprintf(`{"alg":%q,"kid":%q,"typ":"JWT"}`, p.Algorithm, p.Algorithm)
	payload, err := json.Marshal(claims)
	if err != nil {
		p.t.Error(err)
	}
	text := encode([]byte(header)) + "." + encode(payload)
	digest := sha256.Sum256([]byte(text))
	var signature []byte
	if p.Algorithm == "ES256" {
		r, s, signErr := ecdsa.Sign(rand.Reader, p.ec, digest[:])
		if err = signErr; err == nil {
			signature = append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
		}
	} else {
		signature, err = rsa.SignPKCS1v15(rand.Reader, p.rsa, crypto.SHA256, digest[:])
	}
	if err != nil {
		p.t.Error(err)
	}
	return text + "." + encode(signature)
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func (p *Provider) write(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		p.t.Error(err)
	}
}
