package console

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/factor"
	"github.com/assaydata/assay/internal/web"
)

// Cookies of steps that belong together. Neither is a session.
const (
	stepCookie  = "assay_step"  // the ticket of a sign-in or an enrollment whose second step is missing
	proofCookie = "assay_proof" // the ticket of a password that was given again
)

// secondStepView is what a sign-in still needs.
type secondStepView struct {
	TOTP         bool           `json:"totp"`
	RecoveryCode bool           `json:"recovery_code"`
	Passkey      factor.Options `json:"passkey"` // null without passkeys
	ExpiresAt    string         `json:"expires_at"`
}

func newSecondStepView(step *account.SecondStep) *secondStepView {
	return &secondStepView{
		TOTP: step.TOTP, RecoveryCode: step.RecoveryCode, Passkey: step.Passkey,
		ExpiresAt: assay.FormatInstant(step.Ticket.Expires),
	}
}

// setTicket sends the browser a ticket, for as long as it lasts.
func setTicket(r *web.Request, cookie string, ticket account.Token) {
	r.SetCookie(cookie, ticket.Reveal(), int((ticket.Expires-r.Milli())/assay.Second))
}

// askSecondStep responds that the sign-in needs a second factor. There is no session yet.
func askSecondStep(r *web.Request, step *account.SecondStep) (web.Response, error) {
	setTicket(r, stepCookie, step.Ticket)
	type next struct {
		SecondFactor *secondStepView `json:"second_factor"`
	}
	return web.NoStore(http.StatusAccepted, struct {
		Success bool `json:"success"`
		Data    next `json:"data"`
	}{true, next{newSecondStepView(step)}})
}

// pendingStep is what the sign-in of the browser's ticket still needs; nil without one.
func (c *Console) pendingStep(r *web.Request) (*secondStepView, error) {
	ticket := r.Cookie(stepCookie)
	if ticket == "" {
		return nil, nil //nolint:nilnil // no ticket is not an error
	}
	pending, err := c.Accounts.OpenSignIn(r.Context(), ticket)
	if e, ok := errors.AsType[*assay.Error](err); ok && e.Kind == assay.Unauthorized {
		return nil, nil //nolint:nilnil // nor is one that has ended
	}
	if err != nil {
		return nil, err
	}
	step, err := c.Accounts.SecondStep(&pending)
	if err != nil {
		return nil, err
	}
	return newSecondStepView(&step), nil
}

// finishSignIn starts a session for a caller who has given the password and now the second factor.
func (c *Console) finishSignIn(r *web.Request) (web.Response, error) {
	var given struct {
		Code         string          `json:"code"`
		RecoveryCode string          `json:"recovery_code"`
		Passkey      json.RawMessage `json:"passkey"`
	}
	if err := r.ReadJSON(&given, "code", "recovery_code", "passkey"); err != nil {
		return web.Response{}, err
	}
	set := 0
	for _, is := range []bool{given.Code != "", given.RecoveryCode != "", len(given.Passkey) > 0} {
		if is {
			set++
		}
	}
	if set != 1 {
		return web.Response{}, web.InvalidBody("must be a JSON object with one of code, recovery_code and passkey")
	}
	pending, err := c.Accounts.OpenSignIn(r.Context(), r.Cookie(stepCookie))
	if err != nil {
		return web.Response{}, err
	}
	client := newClient(r)
	email := pending.Account.Email
	done, err := c.guesses.secondFactor(r, email, c.Accounts.KnowsDevice(client.Device, email))
	if err != nil {
		return web.Response{}, err
	}
	in, err := c.Accounts.FinishSignIn(r.Context(), client, &pending, account.Given{
		Code: given.Code, RecoveryCode: given.RecoveryCode, Passkey: given.Passkey,
	})
	done(err)
	if err != nil {
		return web.Response{}, err
	}
	return c.finished(r, in)
}

// finished responds with the account that has signed in, and ends the ticket of its sign-in.
func (c *Console) finished(r *web.Request, in account.SignedIn) (web.Response, error) {
	response, err := c.signedIn(r, in)
	r.SetCookie(stepCookie, "", -1)
	return response, err
}

// beginPasskey responds with what a page passes to the browser to sign in with a passkey alone.
func (c *Console) beginPasskey(r *web.Request) (web.Response, error) {
	options, ticket, err := c.Accounts.BeginPasskey()
	if err != nil {
		return web.Response{}, err
	}
	setTicket(r, stepCookie, ticket)
	return data(options)
}

// finishPasskey starts a session for the owner of a passkey.
func (c *Console) finishPasskey(r *web.Request) (web.Response, error) {
	var given struct {
		Passkey json.RawMessage `json:"passkey"`
	}
	if err := r.ReadJSON(&given, "passkey"); err != nil {
		return web.Response{}, err
	}
	done, err := c.guesses.passkey(r)
	if err != nil {
		return web.Response{}, err
	}
	in, err := c.Accounts.FinishPasskey(r.Context(), newClient(r), r.Cookie(stepCookie), given.Passkey)
	done(err)
	if err != nil {
		return web.Response{}, err
	}
	return c.finished(r, in)
}

// acting is the session that changes its second factors.
func acting(r *web.Request) account.Acting {
	return account.Acting{AccountID: r.Caller().AccountID, Session: r.SessionToken(), Proof: r.Cookie(proofCookie)}
}

// givePassword checks the password of a session again, so that it may change its second factors.
func (c *Console) givePassword(r *web.Request) (web.Response, error) {
	var given struct {
		Password string `json:"password"`
	}
	if err := r.ReadJSON(&given, "password"); err != nil {
		return web.Response{}, err
	}
	finished, err := c.guesses.changePassword(r)
	if err != nil {
		return web.Response{}, err
	}
	proof, err := c.Accounts.Prove(r.Context(), acting(r), given.Password)
	finished(err)
	if err != nil {
		return web.Response{}, err
	}
	setTicket(r, proofCookie, proof)
	return data(struct {
		Until string `json:"until"`
	}{assay.FormatInstant(proof.Expires)})
}

type totpView struct {
	CreatedAt assay.Timestamp `json:"created_at"`
}

type passkeyView struct {
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	CreatedAt  assay.Timestamp `json:"created_at"`
	LastUsedAt assay.Timestamp `json:"last_used_at"`
}

// showSecondFactors serves the second factors of an account, and what it may do with them.
func (c *Console) showSecondFactors(r *web.Request) (web.Response, error) {
	who := acting(r)
	factors, required, err := c.Accounts.SecondFactorsOf(r.Context(), who.AccountID)
	if err != nil {
		return web.Response{}, err
	}
	shown := struct {
		Available     bool          `json:"available"`
		Required      bool          `json:"required"`
		PasskeyHost   *string       `json:"passkey_host"`
		ProvenUntil   *string       `json:"proven_until"`
		TOTP          *totpView     `json:"totp"`
		Passkeys      []passkeyView `json:"passkeys"`
		RecoveryCodes int           `json:"recovery_codes"`
	}{
		Available: c.Accounts.Secret != nil, Required: required, PasskeyHost: c.passkeyHost(),
		ProvenUntil: optionalInstant(c.Accounts.Proven(who)), Passkeys: []passkeyView{}, RecoveryCodes: factors.RecoveryCodes,
	}
	if factors.TOTP != nil {
		shown.TOTP = &totpView{assay.Timestamp(factors.TOTP.CreatedAt)}
	}
	for _, p := range factors.Passkeys {
		shown.Passkeys = append(shown.Passkeys, passkeyView{
			ID: p.ID, Name: p.Name, CreatedAt: assay.Timestamp(p.CreatedAt), LastUsedAt: assay.Timestamp(p.LastUsedAt),
		})
	}
	return data(shown)
}

// passkeyHost is the name that passkeys belong to; nil without passkeys.
func (c *Console) passkeyHost() *string {
	if c.Accounts.Secret == nil {
		return nil
	}
	return web.Optional(c.Accounts.Passkeys.Host())
}

// beginTOTP responds with the secret of an authenticator app, which is shown once.
func (c *Console) beginTOTP(r *web.Request) (web.Response, error) {
	app, err := c.Accounts.BeginTOTP(acting(r))
	if err != nil {
		return web.Response{}, err
	}
	setTicket(r, stepCookie, app.Ticket)
	return data(struct {
		Secret string    `json:"secret"`
		URI    string    `json:"uri"`
		QR     factor.QR `json:"qr"`
	}{app.Secret, app.URI, app.QR})
}

// finishTOTP adds an authenticator app.
func (c *Console) finishTOTP(r *web.Request) (web.Response, error) {
	var given struct {
		Code string `json:"code"`
	}
	if err := r.ReadJSON(&given, "code"); err != nil {
		return web.Response{}, err
	}
	return added(r)(c.Accounts.FinishTOTP(r.Context(), acting(r), r.Cookie(stepCookie), given.Code))
}

// added responds with the recovery codes that come with the first factor, or null.
func added(r *web.Request) func(codes []string, err error) (web.Response, error) {
	return func(codes []string, err error) (web.Response, error) {
		if err != nil {
			return web.Response{}, err
		}
		r.SetCookie(stepCookie, "", -1)
		return recoveryCodes(codes)
	}
}

func recoveryCodes(codes []string) (web.Response, error) {
	return data(struct {
		RecoveryCodes []string `json:"recovery_codes"`
	}{codes})
}

// removeTOTP removes the authenticator app.
func (c *Console) removeTOTP(r *web.Request) (web.Response, error) {
	if err := c.Accounts.RemoveTOTP(r.Context(), acting(r)); err != nil {
		return web.Response{}, err
	}
	return done()
}

// beginAddPasskey responds with what a page passes to the browser to create a passkey.
func (c *Console) beginAddPasskey(r *web.Request) (web.Response, error) {
	options, ticket, err := c.Accounts.BeginAddPasskey(r.Context(), acting(r))
	if err != nil {
		return web.Response{}, err
	}
	setTicket(r, stepCookie, ticket)
	return data(options)
}

// finishAddPasskey adds a passkey.
func (c *Console) finishAddPasskey(r *web.Request) (web.Response, error) {
	var given struct {
		Name    string          `json:"name"`
		Passkey json.RawMessage `json:"passkey"`
	}
	if err := r.ReadJSON(&given, "name", "passkey"); err != nil {
		return web.Response{}, err
	}
	return added(r)(c.Accounts.FinishAddPasskey(r.Context(), acting(r), r.Cookie(stepCookie), given.Name, given.Passkey))
}

// removePasskey removes a passkey.
func (c *Console) removePasskey(r *web.Request) (web.Response, error) {
	if err := c.Accounts.RemovePasskey(r.Context(), acting(r), r.PathValue("id")); err != nil {
		return web.Response{}, err
	}
	return done()
}

// replaceRecoveryCodes responds with new recovery codes, which are shown once.
func (c *Console) replaceRecoveryCodes(r *web.Request) (web.Response, error) {
	codes, err := c.Accounts.ReplaceRecoveryCodes(r.Context(), acting(r))
	if err != nil {
		return web.Response{}, err
	}
	return recoveryCodes(codes)
}
