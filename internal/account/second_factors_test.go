package account

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/factor"
	"github.com/assaydata/assay/internal/factor/factortest"
	"github.com/assaydata/assay/internal/seal"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

const (
	origin = "https://data.example.com"
	ann    = "ann@example.com"
)

// protected is a house whose server has a secret key and passkeys.
type protected struct {
	*house
	logs bytes.Buffer
}

func newProtected(t *testing.T) *protected {
	t.Helper()
	return protect(newHouse(t))
}

func protect(h *house) *protected {
	h.t.Helper()
	p := &protected{house: h}
	var err error
	h.Secret, err = seal.NewKey([]byte(strings.Repeat("k", seal.MinSecret)))
	h.must(err)
	h.Passkeys, err = factor.NewSite(origin)
	h.must(err)
	h.Log = slog.New(slog.NewJSONHandler(&p.logs, nil))
	return p
}

// visit is a browser from a new address.
func visit() Client { return Client{Address: client, UserAgent: "Firefox"} }

// owner is an account with a password, and its session.
type owner struct {
	*protected
	Acting
	email  string
	secret string // of its authenticator app
	codes  []string
	device *factortest.Authenticator
}

// join adds an account with a password and signs it in.
func (p *protected) join(email string) *owner {
	p.t.Helper()
	a, err := p.AddAccount(p.ctx(), email, "", password, false)
	p.must(err)
	m := &owner{protected: p, email: email, Acting: Acting{AccountID: a.ID}}
	in, err := p.SignIn(p.ctx(), visit(), email, password)
	p.must(err)
	m.Session = in.Session.Reveal()
	return m
}

// addTOTP adds an authenticator app.
func (m *owner) addTOTP() {
	m.t.Helper()
	app, err := m.BeginTOTP(m.Acting)
	m.must(err)
	m.secret = app.Secret
	codes, err := m.FinishTOTP(m.ctx(), m.Acting, app.Ticket.Reveal(), m.code())
	m.must(err)
	m.codes = append(m.codes, codes...)
	m.at += 30_000 // the code of the enrollment does not work again
}

// addPasskey adds a passkey.
func (m *owner) addPasskey() {
	m.t.Helper()
	m.device = factortest.New(m.t, origin)
	options, ticket, err := m.BeginAddPasskey(m.ctx(), m.Acting)
	m.must(err)
	codes, err := m.FinishAddPasskey(m.ctx(), m.Acting, ticket.Reveal(), "Laptop", m.device.Create(m.json(options)))
	m.must(err)
	m.codes = append(m.codes, codes...)
}

func (m *owner) json(v any) []byte {
	m.t.Helper()
	text, err := json.Marshal(v)
	m.must(err)
	return text
}

// code is what the authenticator app shows now.
func (m *owner) code() string {
	m.t.Helper()
	code, err := totp.GenerateCode(m.secret, time.UnixMilli(m.at))
	m.must(err)
	return code
}

// first takes the first step of a sign-in.
func (m *owner) first() *SecondStep {
	m.t.Helper()
	in, err := m.SignIn(m.ctx(), visit(), m.email, password)
	m.must(err)
	if in.Next == nil || in.Session.Reveal() != "" || in.Device.Reveal() != "" {
		m.t.Fatalf("the first step has the session %q and the device %q", in.Session.Reveal(), in.Device.Reveal())
	}
	return in.Next
}

// second takes the second step.
func (m *owner) second(ticket string, given Given) (SignedIn, error) {
	m.t.Helper()
	pending, err := m.OpenSignIn(m.ctx(), ticket)
	if err != nil {
		return SignedIn{}, err
	}
	return m.FinishSignIn(m.ctx(), visit(), &pending, given)
}

// wantSession wants a sign-in to have succeeded as the account.
func (m *owner) wantSession(in SignedIn, err error) {
	m.t.Helper()
	m.must(err)
	if session, ok := m.Identify(m.ctx(), in.Session.Reveal(), client); !ok || session.AccountID != m.AccountID {
		m.t.Errorf("the session is of account %d (%t), want %d", session.AccountID, ok, m.AccountID)
	}
}

func TestSignIn_TOTP(t *testing.T) {
	t.Parallel()
	storetest.EachEngine(t, func(t *testing.T, address func(testing.TB) string) {
		m := protect(openHouse(t, storetest.OpenIn(t, address(t)))).join(ann)
		m.addTOTP()
		if len(m.codes) != factor.RecoveryCodes {
			t.Errorf("%d recovery codes came with the first factor", len(m.codes))
		}
		step := m.first()
		if !step.TOTP || !step.RecoveryCode || step.Passkey != nil || step.Ticket.Expires != m.at+5*assay.Minute {
			t.Errorf("the second step is %+v", step)
		}
		m.wantSession(m.second(step.Ticket.Reveal(), Given{Code: m.code()}))

		// A clock that is half a minute off is no hindrance.
		m.at += 60_000
		early := m.code()
		m.at -= 30_000
		m.wantSession(m.second(m.first().Ticket.Reveal(), Given{Code: early}))
		m.wantLog("session.start", `"how":"password+totp"`)
	})
}

// wantLog wants an entry of the audit log.
func (p *protected) wantLog(action, detail string) {
	p.t.Helper()
	entries, err := p.Store.AuditLog(p.ctx(), store.AuditFilter{})
	p.must(err)
	for _, e := range entries {
		if e.Action == action && strings.Contains(e.Detail, detail) {
			return
		}
	}
	p.t.Errorf("the audit log has no %s with %s", action, detail)
}

// The attacks of someone who knows the password.
func TestSignIn_SecondFactorAttacks(t *testing.T) {
	t.Parallel()
	m := newProtected(t).join(ann)
	m.addTOTP()
	refused := func(what, ticket string, given Given, code string) {
		t.Helper()
		in, err := m.second(ticket, given)
		if e := assay.AsError(err); err == nil || e.Kind != assay.Unauthorized || e.Code != code || in.Session.text != "" {
			t.Errorf("%s: %v, want %s", what, err, code)
		}
	}
	ticket := m.first().Ticket.Reveal()
	if _, ok := m.Identify(m.ctx(), ticket, client); ok {
		t.Error("the ticket of the first step is a session")
	}
	refused("no ticket", "", Given{Code: m.code()}, "sign_in_ended")
	refused("an invented ticket", strings.Repeat("A", 100), Given{Code: m.code()}, "sign_in_ended")
	refused("a changed ticket", ticket[:len(ticket)-2]+"AA", Given{Code: m.code()}, "sign_in_ended")
	refused("a wrong code", ticket, Given{Code: "000000"}, "wrong_code")
	refused("no code", ticket, Given{}, "wrong_code")
	refused("a wrong recovery code", ticket, Given{RecoveryCode: "AAAA-AAAA-AAAA-AAAA-AAAA-AAAA"}, "wrong_code")
	refused("a code as a recovery code", ticket, Given{RecoveryCode: m.code()}, "wrong_code")
	refused("a passkey of an account without one", ticket, Given{Passkey: []byte("{}")}, "wrong_passkey")
	m.wantLog("session.fail", `"second_factor":"wrong"`)

	used := m.code()
	m.wantSession(m.second(ticket, Given{Code: used}))
	refused("the ticket twice", ticket, Given{RecoveryCode: m.codes[0]}, "sign_in_ended")
	refused("the code twice", m.first().Ticket.Reveal(), Given{Code: used}, "wrong_code")

	m.wantSession(m.second(m.first().Ticket.Reveal(), Given{RecoveryCode: m.codes[0]}))
	refused("a recovery code twice", m.first().Ticket.Reveal(), Given{RecoveryCode: m.codes[0]}, "wrong_code")
	m.wantLog("session.fail", `"second_factor":"used before"`)

	bob := m.join("bob@example.com")
	bob.addTOTP()
	refused("another account's code", m.first().Ticket.Reveal(), Given{Code: bob.code()}, "wrong_code")
	refused("another account's recovery code", m.first().Ticket.Reveal(), Given{RecoveryCode: bob.codes[0]}, "wrong_code")

	late := m.first().Ticket.Reveal()
	m.at += 5 * assay.Minute
	refused("after five minutes", late, Given{Code: m.code()}, "sign_in_ended")
	changed := m.first().Ticket.Reveal()
	m.must(m.SetPassword(m.ctx(), ann, "another horse battery", false))
	refused("after the password was changed", changed, Given{Code: m.code()}, "sign_in_ended")
	m.must(m.SetPassword(m.ctx(), ann, "a third horse battery", false)) // the last two cannot be used again
	m.must(m.SetPassword(m.ctx(), ann, password, false))
	closed := m.first().Ticket.Reveal()
	m.must(m.CloseAccount(m.ctx(), ann))
	refused("after the account was closed", closed, Given{Code: m.code()}, "sign_in_ended")
}

// A ticket is good for one purpose only.
func TestTicket_OtherPurpose(t *testing.T) {
	t.Parallel()
	m := newProtected(t).join(ann)
	m.addTOTP()
	app, err := m.BeginTOTP(m.Acting)
	m.must(err)
	proof, err := m.Prove(m.ctx(), m.Acting, password)
	m.must(err)
	_, passkey, err := m.BeginPasskey()
	m.must(err)
	_, adding, err := m.BeginAddPasskey(m.ctx(), m.Acting)
	m.must(err)
	tickets := map[string]Token{
		signInTicket: m.first().Ticket, passkeyTicket: passkey, totpTicket: app.Ticket, addKeyTicket: adding,
		proofTicket: proof,
	}
	for of, token := range tickets {
		for as := range tickets {
			if _, ok := m.unseal(as, token.Reveal()); ok != (as == of) {
				t.Errorf("a %s opens as a %s: %t", of, as, ok)
			}
		}
	}
}

// Of an OpenID Connect identity the second factor is required too: otherwise it would be a way around it.
func TestSignInAs_SecondFactor(t *testing.T) {
	t.Parallel()
	m := newProtected(t).join(ann)
	m.addTOTP()
	who := Identity{Issuer: "https://issuer.example", Subject: "subject", Email: ann}
	linked, err := m.Link(m.ctx(), visit(), who, password)
	m.must(err)
	again, err := m.SignInAs(m.ctx(), visit(), who)
	m.must(err)
	for _, in := range []SignedIn{linked, again} {
		if in.Next == nil || in.Session.Reveal() != "" {
			t.Fatal("the provider's word was enough")
		}
	}
	m.wantSession(m.second(again.Next.Ticket.Reveal(), Given{Code: m.code()}))
	m.wantLog("session.start", `"how":"oidc+totp"`)
}

// The two steps of a sign-in may reach two nodes.
func TestSignIn_SecondFactorOnTwoNodes(t *testing.T) {
	t.Parallel()
	m := newProtected(t).join(ann)
	other := protect(m.another())
	m.addTOTP()
	other.at = m.at
	pending, err := other.OpenSignIn(m.ctx(), m.first().Ticket.Reveal())
	m.must(err)
	in, err := other.FinishSignIn(m.ctx(), visit(), &pending, Given{Code: m.code()})
	m.must(err)
	m.wantSession(in, nil)
}

func TestSignIn_Passkey(t *testing.T) {
	t.Parallel()
	storetest.EachEngine(t, func(t *testing.T, address func(testing.TB) string) {
		m := protect(openHouse(t, storetest.OpenIn(t, address(t)))).join(ann)
		m.addPasskey()
		step := m.first()
		if step.TOTP || step.Passkey == nil {
			t.Errorf("the second step is %+v", step)
		}
		signed := m.device.Get(m.json(step.Passkey))
		m.wantSession(m.second(step.Ticket.Reveal(), Given{Passkey: signed}))
		m.wantLog("session.start", `"how":"password+passkey"`)
		_, err := m.second(m.first().Ticket.Reveal(), Given{Passkey: signed})
		wantCode(t, err, assay.Unauthorized, "wrong_passkey") // of another challenge

		options, ticket, err := m.BeginPasskey()
		m.must(err)
		signed = m.device.Get(m.json(options))
		in, err := m.FinishPasskey(m.ctx(), visit(), ticket.Reveal(), signed)
		m.wantSession(in, err)
		m.wantLog("session.start", `"how":"passkey"`)
		_, err = m.FinishPasskey(m.ctx(), visit(), ticket.Reveal(), signed)
		wantCode(t, err, assay.Unauthorized, "wrong_passkey") // the same assertion again: its count was used
		m.device.Count = 0
		storetest.Exec(t, m.Store, `UPDATE passkeys SET sign_count = 0`)
		_, err = m.FinishPasskey(m.ctx(), visit(), ticket.Reveal(), m.device.Get(m.json(options)))
		wantCode(t, err, assay.Unauthorized, "sign_in_ended") // even without a count, the ticket was used
	})
}

// What someone could try with a passkey.
func TestSignIn_PasskeyAttacks(t *testing.T) {
	t.Parallel()
	m := newProtected(t).join(ann)
	m.addPasskey()
	alone := func() error {
		t.Helper()
		options, ticket, err := m.BeginPasskey()
		m.must(err)
		_, err = m.FinishPasskey(m.ctx(), visit(), ticket.Reveal(), m.device.Get(m.json(options)))
		return err
	}
	after := func() error {
		t.Helper()
		step := m.first()
		_, err := m.second(step.Ticket.Reveal(), Given{Passkey: m.device.Get(m.json(step.Passkey))})
		return err
	}
	m.device.Origin = "https://data.example.com.evil.example"
	wantCode(t, alone(), assay.Unauthorized, "wrong_passkey")
	wantCode(t, after(), assay.Unauthorized, "wrong_passkey")
	m.device.Origin = origin

	m.device.Verified = false
	wantCode(t, alone(), assay.Unauthorized, "wrong_passkey")
	m.must(after())
	m.device.Verified = true

	m.device.Count = 1
	wantCode(t, alone(), assay.Unauthorized, "wrong_passkey")
	wantCode(t, after(), assay.Unauthorized, "wrong_passkey")
	if !strings.Contains(m.logs.String(), "sign count went back") {
		t.Errorf("the log does not tell about the count: %s", m.logs.String())
	}
	m.wantLog("session.fail", `"second_factor":"sign count went back"`)
	m.device.Count = 1000
	m.must(alone())

	options, ticket, err := m.BeginPasskey()
	m.must(err)
	m.at += 5 * assay.Minute
	_, err = m.FinishPasskey(m.ctx(), visit(), ticket.Reveal(), m.device.Get(m.json(options)))
	wantCode(t, err, assay.Unauthorized, "sign_in_ended")

	bob := m.join("bob@example.com")
	bob.addPasskey()
	step := m.first()
	_, err = m.second(step.Ticket.Reveal(), Given{Passkey: bob.device.Get(m.json(step.Passkey))})
	wantCode(t, err, assay.Unauthorized, "wrong_passkey")

	removed := m.device
	factors, _, err := m.SecondFactorsOf(m.ctx(), m.AccountID)
	m.must(err)
	m.Proof = m.prove()
	m.must(m.RemovePasskey(m.ctx(), m.Acting, factors.Passkeys[0].ID))
	options, ticket, err = m.BeginPasskey()
	m.must(err)
	_, err = m.FinishPasskey(m.ctx(), visit(), ticket.Reveal(), removed.Get(m.json(options)))
	wantCode(t, err, assay.Unauthorized, "wrong_passkey")
}

func (m *owner) prove() string {
	m.t.Helper()
	proof, err := m.Prove(m.ctx(), m.Acting, password)
	m.must(err)
	return proof.Reveal()
}

// Changing factors needs a recent sign-in or the password, and ends the other sessions.
func TestSecondFactors_NeedProof(t *testing.T) {
	t.Parallel()
	m := newProtected(t).join(ann)
	m.at += ProofLength - 1
	if m.Proven(m.Acting) == 0 {
		t.Error("a new session proves nothing")
	}
	m.at++
	stale := m.Acting
	f := func(what string, act func(Acting) error) {
		t.Helper()
		if err := act(stale); assay.AsError(err).Code != "password_required" {
			t.Errorf("%s: %v", what, err)
		}
	}
	f("an app", func(a Acting) error { _, err := m.BeginTOTP(a); return err })
	f("a passkey", func(a Acting) error { _, _, err := m.BeginAddPasskey(m.ctx(), a); return err })
	f("no app", func(a Acting) error { return m.RemoveTOTP(m.ctx(), a) })
	f("no passkey", func(a Acting) error { return m.RemovePasskey(m.ctx(), a, "x") })
	f("codes", func(a Acting) error { _, err := m.ReplaceRecoveryCodes(m.ctx(), a); return err })

	_, err := m.Prove(m.ctx(), m.Acting, "wrong horse battery")
	wantCode(t, err, assay.Forbidden, "wrong_password")
	m.Proof = m.prove()
	other, err := m.SignIn(m.ctx(), visit(), ann, password)
	m.must(err)
	m.at++
	elsewhere := Acting{AccountID: m.AccountID, Session: other.Session.Reveal(), Proof: m.Proof}
	app, err := m.BeginTOTP(m.Acting)
	m.must(err)
	m.secret = app.Secret
	_, err = m.FinishTOTP(m.ctx(), elsewhere, app.Ticket.Reveal(), m.code())
	wantCode(t, err, assay.Forbidden, "enrollment_ended") // of another session
	_, err = m.FinishTOTP(m.ctx(), m.Acting, app.Ticket.Reveal(), "000000")
	wantCode(t, err, assay.Invalid, "wrong_code")
	_, err = m.FinishTOTP(m.ctx(), m.Acting, app.Ticket.Reveal(), m.code())
	m.must(err)
	_, err = m.FinishTOTP(m.ctx(), m.Acting, app.Ticket.Reveal(), m.code())
	wantCode(t, err, assay.Forbidden, "enrollment_ended")
	if _, ok := m.Identify(m.ctx(), other.Session.Reveal(), client); ok {
		t.Error("another session has outlived the new factor")
	}
	if _, ok := m.Identify(m.ctx(), m.Session, client); !ok {
		t.Error("the session that added the factor has ended")
	}
	m.at += ProofLength
	if m.Proven(m.Acting) != 0 {
		t.Error("the proof does not end")
	}
	bob := m.join("bob@example.com")
	bob.Proof = m.prove()
	bob.at += ProofLength
	if bob.Proven(Acting{AccountID: bob.AccountID, Session: bob.Session, Proof: m.prove()}) != 0 {
		t.Error("another account's proof was accepted")
	}
	id := m.add("cyd@example.com") // has no password
	_, err = m.Prove(m.ctx(), Acting{AccountID: id}, "")
	wantCode(t, err, assay.Forbidden, "no_password")
}

func TestRecoveryCodes_Replace(t *testing.T) {
	t.Parallel()
	m := newProtected(t).join(ann)
	_, err := m.ReplaceRecoveryCodes(m.ctx(), m.Acting)
	wantCode(t, err, assay.NotFound, "unknown_second_factor")
	m.addTOTP()
	m.addPasskey()
	if len(m.codes) != factor.RecoveryCodes {
		t.Errorf("%d recovery codes came with two factors", len(m.codes))
	}
	old := m.codes[0]
	codes, err := m.ReplaceRecoveryCodes(m.ctx(), m.Acting)
	m.must(err)
	_, err = m.second(m.first().Ticket.Reveal(), Given{RecoveryCode: old})
	wantCode(t, err, assay.Unauthorized, "wrong_code")
	m.wantSession(m.second(m.first().Ticket.Reveal(), Given{RecoveryCode: strings.ToLower(codes[3])}))
	factors, _, err := m.SecondFactorsOf(m.ctx(), m.AccountID)
	if m.must(err); factors.RecoveryCodes != factor.RecoveryCodes-1 {
		t.Errorf("%d codes are left", factors.RecoveryCodes)
	}
}

// What the database has of a second factor is of no use without the secret key.
func TestSecondFactors_AtRest(t *testing.T) {
	t.Parallel()
	m := newProtected(t).join(ann)
	m.addTOTP()
	factors, err := m.Store.SecondFactors(m.ctx(), m.AccountID)
	m.must(err)
	sealed := factors.TOTP.Secret
	for _, text := range []string{m.secret, "otpauth"} {
		if bytes.Contains(sealed, []byte(text)) {
			t.Errorf("the database shows %q", text)
		}
	}
	secret, err := m.Secret.Open(totpPurpose, sealed, sealedFor(m.AccountID))
	if err != nil || factor.SecretText(secret) != m.secret || bytes.Contains(sealed, secret) {
		t.Errorf("the secret is not sealed for its account: %v", err)
	}
	bob := m.join("bob@example.com")
	bob.addTOTP()
	storetest.Exec(t, m.Store, `UPDATE totp SET secret = $1 WHERE account_id = $2`, sealed, bob.AccountID)
	bob.secret = m.secret
	if _, err := bob.second(bob.first().Ticket.Reveal(), Given{Code: m.code()}); err == nil {
		t.Error("a secret that was copied to another account works there")
	}
	m.Secret, err = seal.NewKey([]byte(strings.Repeat("x", seal.MinSecret)))
	m.must(err)
	_, err = m.second(m.first().Ticket.Reveal(), Given{Code: m.code()})
	if err == nil || !strings.Contains(err.Error(), "another secret key") {
		t.Errorf("with another secret key: %v", err)
	}
	m.wantSession(m.second(m.first().Ticket.Reveal(), Given{RecoveryCode: m.codes[0]}))
	m.Secret = nil
	_, err = m.SignIn(m.ctx(), visit(), ann, password)
	wantCode(t, err, assay.Unavailable, "unavailable")
	_, err = m.BeginTOTP(m.Acting)
	wantCode(t, err, assay.NotFound, "no_second_factors")
}

// The operator can remove the factors of someone who has lost them all.
func TestResetSecondFactors(t *testing.T) {
	t.Parallel()
	m := newProtected(t).join(ann)
	m.addTOTP()
	m.addPasskey()
	ctx := store.WithActor(m.ctx(), "operator:root")
	if removed, err := m.ResetSecondFactors(ctx, " Ann@Example.com"); err != nil || removed != 2 {
		t.Errorf("removed %d: %v", removed, err)
	}
	if _, ok := m.Identify(m.ctx(), m.Session, client); ok {
		t.Error("a session has outlived the reset")
	}
	in, err := m.SignIn(m.ctx(), visit(), ann, password)
	m.wantSession(in, err)
	m.wantLog("factor.reset", `"factors":2`)
	if _, err := m.ResetSecondFactors(ctx, "no@example.com"); err == nil {
		t.Error("the factors of no one were reset")
	}
}
