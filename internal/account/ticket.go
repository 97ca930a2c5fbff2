package account

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/factor"
	"github.com/assaydata/assay/internal/store"
)

// What a ticket is for. It opens for nothing else.
const (
	signInTicket  = "sign-in ticket"  // the password was right; the second factor is missing
	passkeyTicket = "passkey ticket"  // a sign-in with a passkey alone
	totpTicket    = "totp ticket"     // an authenticator app is being added
	addKeyTicket  = "add-key ticket"  // a passkey is being added
	proofTicket   = "password ticket" // the password was given again
)

// ticketLength is how long a ticket is valid, in milliseconds.
const ticketLength = factor.ChallengeLength

// ticket is what a browser keeps between two steps. It is sealed, so the browser can neither read nor change it, and
// every node can open it. Nothing is stored before the second step succeeds: requests of visitors write nothing.
type ticket struct {
	ID        []byte `json:"i"` // random: a ticket that was used does not work again
	AccountID int64  `json:"a,omitempty"`
	How       string `json:"h,omitempty"` // the first step, for the audit log
	Stamp     []byte `json:"p,omitempty"` // of the password: a changed password ends the ticket
	Challenge []byte `json:"c,omitempty"` // for a passkey
	Secret    []byte `json:"s,omitempty"` // of the authenticator app that is being added
	Handle    []byte `json:"u,omitempty"` // of the owner of the passkey that is being added
	Session   []byte `json:"n,omitempty"` // the hash of the session that a ticket belongs to
	Ends      int64  `json:"e"`
}

// seal completes a ticket and seals it.
func (s *Service) seal(kind string, t ticket) (Token, error) {
	if s.Secret == nil {
		return Token{}, errNoSecondFactors
	}
	t.ID = make([]byte, len(store.Ticket{}.ID))
	_, _ = rand.Read(t.ID) // never fails
	t.Ends = s.now() + ticketLength
	plain, err := json.Marshal(t) //nolint:gosec // G117: the text is sealed before it leaves
	if err != nil {
		return Token{}, err
	}
	sealed := s.Secret.Seal(kind, plain, nil)
	return Token{text: base64.RawURLEncoding.EncodeToString(sealed), Expires: t.Ends}, nil
}

// unseal opens a ticket. ok is false if it is none, has ended or is for something else.
func (s *Service) unseal(kind, text string) (t ticket, ok bool) {
	if s.Secret == nil || text == "" {
		return t, false
	}
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return t, false
	}
	plain, err := s.Secret.Open(kind, sealed, nil)
	if err != nil || json.Unmarshal(plain, &t) != nil {
		return ticket{}, false
	}
	return t, t.Ends > s.now()
}

// belongsTo reports whether a ticket was given to a session.
func (t *ticket) belongsTo(who Acting) bool {
	hash, ok := hashToken(who.Session)
	return ok && t.AccountID == who.AccountID && bytes.Equal(t.Session, hash[:])
}

// spent is what is stored of a ticket when it is used.
func (t *ticket) spent() store.Ticket {
	spent := store.Ticket{ExpiresAt: t.Ends}
	copy(spent.ID[:], t.ID)
	return spent
}

// ErrSignInEnded is what a caller reads whose ticket is none, has ended or was used.
var ErrSignInEnded = &assay.Error{
	Kind: assay.Unauthorized, Code: "sign_in_ended",
	Message: "This sign-in has expired or was completed. Start again.",
}

var (
	errNoSecondFactors = &assay.Error{
		Kind: assay.NotFound, Code: "no_second_factors",
		Message: "This server has no second factors: its operator has not given it a secret key.",
	}
	errEnrollmentEnded = &assay.Error{
		Kind: assay.Forbidden, Code: "enrollment_ended",
		Message: "This took longer than 5 minutes or was completed. Start again.",
	}
)
