package factor

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/assaydata/assay"
)

// ChallengeLength is how long a browser may take to respond to a challenge, in milliseconds.
const ChallengeLength = 5 * assay.Minute

const challengeTimeout = time.Duration(ChallengeLength) * time.Millisecond

// maxCredentialID is the longest id that an authenticator may give a passkey, in bytes.
const maxCredentialID = 1023

// ErrCloned says that the counter of a passkey has not risen: the key may have been copied.
var ErrCloned = errors.New("the sign count of the passkey went back")

// Passkey is what a server stores of a passkey.
type Passkey struct {
	CredentialID   []byte
	PublicKey      []byte // COSE
	SignCount      uint32 // 0 if the authenticator does not count
	BackupEligible bool   // whether it may be copied to other devices of its owner; never changes
	Transports     []string
}

// Owner is the account of passkeys.
type Owner struct {
	Handle   []byte // random, the same for all passkeys of the account
	Email    string
	Name     string
	Passkeys []Passkey
}

// NewHandle draws the handle of an owner. It is not the account's id or email address: authenticators show handles to
// their holders.
func NewHandle() []byte { return random(32) }

// NewChallenge draws what a passkey signs, once.
func NewChallenge() []byte { return random(32) }

func random(length int) []byte {
	bytes := make([]byte, length)
	_, _ = rand.Read(bytes) // never fails
	return bytes
}

// Site is where passkeys are used: the origin of the server's pages.
type Site struct {
	webauthn *webauthn.WebAuthn
}

// NewSite makes the site of an origin, such as https://data.example.com. Browsers have passkeys only for names, over
// HTTPS or on localhost.
func NewSite(origin string) (*Site, error) {
	parsed, err := url.Parse(origin)
	if err != nil {
		return nil, err
	}
	host := parsed.Hostname()
	if parsed.Scheme != "https" && (parsed.Scheme != "http" || host != "localhost") {
		return nil, errors.New("passkeys need https://, or http://localhost")
	}
	w, err := webauthn.New(&webauthn.Config{
		RPID: host, RPDisplayName: totpAppName, RPOrigins: []string{parsed.Scheme + "://" + parsed.Host},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementPreferred, UserVerification: protocol.VerificationPreferred,
		},
		Timeouts: webauthn.TimeoutsConfig{
			Login:        webauthn.TimeoutConfig{Timeout: challengeTimeout, TimeoutUVD: challengeTimeout},
			Registration: webauthn.TimeoutConfig{Timeout: challengeTimeout, TimeoutUVD: challengeTimeout},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("passkeys for %s: %w", host, err)
	}
	return &Site{w}, nil
}

// Host is the name that passkeys belong to. It works on nil, without a name.
func (s *Site) Host() string {
	if s == nil {
		return ""
	}
	return s.webauthn.Config.RPID
}

// Options are what a page passes to navigator.credentials, as JSON.
type Options any

// CreateOptions ask a browser to create a passkey for an owner.
func (s *Site) CreateOptions(owner *Owner, challenge []byte) (Options, error) {
	creation, _, err := s.beginCreate(owner, challenge)
	if err != nil {
		return nil, err
	}
	return creation.Response, nil
}

func (s *Site) beginCreate(
	owner *Owner, challenge []byte,
) (*protocol.CredentialCreation, *webauthn.SessionData, error) {
	existing := webauthn.Credentials(user{owner}.WebAuthnCredentials()).CredentialDescriptors()
	return s.webauthn.BeginRegistration(user{owner}, webauthn.WithExclusions(existing),
		func(options *protocol.PublicKeyCredentialCreationOptions) error {
			options.Challenge = challenge
			return nil
		})
}

// Create checks the response to CreateOptions with the same challenge.
func (s *Site) Create(owner *Owner, challenge, response []byte) (Passkey, error) {
	_, session, err := s.beginCreate(owner, challenge)
	if err != nil {
		return Passkey{}, err
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(response)
	if err != nil {
		return Passkey{}, explained(err)
	}
	made, err := s.webauthn.CreateCredential(user{owner}, *session, parsed)
	if err != nil {
		return Passkey{}, explained(err)
	}
	if len(made.ID) > maxCredentialID {
		return Passkey{}, fmt.Errorf("the id of the passkey has %d bytes, more than %d", len(made.ID), maxCredentialID)
	}
	key := Passkey{
		CredentialID: made.ID, PublicKey: made.PublicKey, SignCount: made.Authenticator.SignCount,
		BackupEligible: made.Flags.BackupEligible,
	}
	for _, transport := range made.Transport {
		key.Transports = append(key.Transports, string(transport))
	}
	return key, nil
}

// GetOptions ask a browser for one of an owner's passkeys, or, if the owner is nil, for any passkey of this site whose
// holder proves to be its owner, by a fingerprint or a PIN.
func (s *Site) GetOptions(owner *Owner, challenge []byte) (Options, error) {
	assertion, _, err := s.beginGet(owner, challenge)
	if err != nil {
		return nil, err
	}
	return assertion.Response, nil
}

func (s *Site) beginGet(owner *Owner, challenge []byte) (*protocol.CredentialAssertion, *webauthn.SessionData, error) {
	if owner == nil {
		return s.webauthn.BeginDiscoverableLogin(webauthn.WithChallenge(challenge),
			webauthn.WithUserVerification(protocol.VerificationRequired))
	}
	return s.webauthn.BeginLogin(user{owner}, webauthn.WithChallenge(challenge))
}

// Assertion is a response to GetOptions that has not been checked.
type Assertion struct {
	parsed *protocol.ParsedCredentialAssertionData
}

// ParseAssertion reads a response to GetOptions.
func ParseAssertion(response []byte) (Assertion, error) {
	parsed, err := protocol.ParseCredentialRequestResponseBytes(response)
	if err != nil {
		return Assertion{}, explained(err)
	}
	return Assertion{parsed}, nil
}

// CredentialID tells which passkey claims to have signed.
func (a Assertion) CredentialID() []byte { return a.parsed.RawID }

// Check checks an assertion of one of the owner's passkeys, and returns the passkey with its new counter. It is the
// response to the GetOptions for any owner if discovered is true; then the holder must have proved to be the owner.
func (s *Site) Check(owner *Owner, challenge []byte, a Assertion, discovered bool) (Passkey, error) {
	asked := owner
	if discovered {
		asked = nil
	}
	_, session, err := s.beginGet(asked, challenge)
	if err != nil {
		return Passkey{}, err
	}
	var used *webauthn.Credential
	if discovered {
		find := func(_, _ []byte) (webauthn.User, error) { return user{owner}, nil }
		used, err = s.webauthn.ValidateDiscoverableLogin(find, *session, a.parsed)
	} else {
		used, err = s.webauthn.ValidateLogin(user{owner}, *session, a.parsed)
	}
	if err != nil {
		return Passkey{}, explained(err)
	}
	if used.Authenticator.CloneWarning {
		return Passkey{CredentialID: used.ID}, ErrCloned
	}
	return Passkey{CredentialID: used.ID, PublicKey: used.PublicKey, SignCount: used.Authenticator.SignCount}, nil
}

// explained adds to an error of the library what went wrong in particular.
func explained(err error) error {
	if e, ok := errors.AsType[*protocol.Error](err); ok && e.DevInfo != "" {
		return fmt.Errorf("%w: %s", err, e.DevInfo)
	}
	return err
}

// user is an owner as the library sees it.
type user struct{ *Owner }

// WebAuthnID is the owner's handle.
func (u user) WebAuthnID() []byte { return u.Handle }

// WebAuthnName is what authenticators show of the account.
func (u user) WebAuthnName() string { return u.Email }

// WebAuthnDisplayName is what authenticators show of the person.
func (u user) WebAuthnDisplayName() string {
	if u.Name == "" {
		return u.Email
	}
	return u.Name
}

// WebAuthnCredentials are the owner's passkeys.
func (u user) WebAuthnCredentials() []webauthn.Credential {
	list := make([]webauthn.Credential, len(u.Passkeys))
	for i, key := range u.Passkeys {
		list[i] = webauthn.Credential{
			ID: key.CredentialID, PublicKey: key.PublicKey,
			Flags:         webauthn.CredentialFlags{BackupEligible: key.BackupEligible},
			Authenticator: webauthn.Authenticator{SignCount: key.SignCount},
		}
		for _, transport := range key.Transports {
			list[i].Transport = append(list[i].Transport, protocol.AuthenticatorTransport(transport))
		}
	}
	return list
}
