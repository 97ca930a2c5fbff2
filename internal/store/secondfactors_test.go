package store_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// factors is a database with an account, at a time that the test moves.
type factors struct {
	*store.DB
	t       *testing.T
	account assay.Account
	clock   int64
	started byte
}

func newFactors(t *testing.T, db *store.DB) *factors {
	t.Helper()
	f := &factors{DB: db, t: t, clock: 1_000_000}
	db.Now = func() time.Time { return time.UnixMilli(f.clock) }
	f.account = mustAccount(t, db, "ann@example.com")
	return f
}

func (f *factors) change() store.FactorChange {
	return store.FactorChange{AccountID: f.account.ID, Codes: [][32]byte{{1}, {2}}}
}

func (f *factors) want(what string, err, want error) {
	f.t.Helper()
	if !errors.Is(err, want) {
		f.t.Errorf("%s: %v, want %v", what, err, want)
	}
}

// signIn starts a session.
func (f *factors) signIn(by store.SignIn) error {
	f.started++
	id := string(rune('a' + f.started))
	s := store.Session{Hash: [32]byte{f.started}, ID: id, AccountID: f.account.ID, ExpiresAt: f.clock + assay.Day}
	_, err := f.StartSession(f.t.Context(), s, by)
	return err
}

func (f *factors) factors() store.SecondFactors {
	f.t.Helper()
	found, err := f.SecondFactors(f.t.Context(), f.account.ID)
	if err != nil {
		f.t.Fatal(err)
	}
	return found
}

func (f *factors) addTOTP() {
	f.t.Helper()
	if _, err := f.AddTOTP(f.t.Context(), f.change(), store.TOTP{Secret: []byte("sealed"), LastStep: 10}); err != nil {
		f.t.Fatal(err)
	}
}

func (f *factors) addPasskey(id string) error {
	_, err := f.AddPasskey(f.t.Context(), f.change(), store.Passkey{
		ID: id, Name: "Laptop", UserHandle: []byte("handle"), CredentialID: []byte("credential " + id),
		PublicKey: []byte("public"), SignCount: 5, Transports: []string{"usb", "nfc"}, BackupEligible: true,
	})
	return err
}

// A session of an account with a second factor needs it, and neither a code nor a count works twice.
func TestStartSession_SecondFactor(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		f := newFactors(t, db)
		f.want("without a factor", f.signIn(store.SignIn{}), nil)
		f.want("a code without a factor", f.signIn(store.SignIn{Factor: store.UsedFactor{TOTPStep: 11}}), store.ErrFactorUsed)
		f.addTOTP()
		f.want("a passkey", f.addPasskey("p1"), nil)
		use := func(used store.UsedFactor) error { return f.signIn(store.SignIn{Factor: used}) }

		f.want("the password alone", f.signIn(store.SignIn{How: "password"}), store.ErrSecondFactor)
		f.want("the code of the enrollment", use(store.UsedFactor{TOTPStep: 10}), store.ErrFactorUsed)
		f.want("a new code", use(store.UsedFactor{TOTPStep: 12}), nil)
		f.want("the same code", use(store.UsedFactor{TOTPStep: 12}), store.ErrFactorUsed)
		f.want("an older code", use(store.UsedFactor{TOTPStep: 11}), store.ErrFactorUsed)
		f.want("a recovery code", use(store.UsedFactor{RecoveryCode: [32]byte{1}}), nil)
		f.want("the same recovery code", use(store.UsedFactor{RecoveryCode: [32]byte{1}}), store.ErrFactorUsed)
		f.want("an unknown recovery code", use(store.UsedFactor{RecoveryCode: [32]byte{3}}), store.ErrFactorUsed)
		f.want("a passkey", use(store.UsedFactor{Passkey: "p1", SignCount: 6}), nil)
		f.want("the same count", use(store.UsedFactor{Passkey: "p1", SignCount: 6}), store.ErrFactorUsed)
		f.want("no count after a count", use(store.UsedFactor{Passkey: "p1"}), store.ErrFactorUsed)
		f.want("an unknown passkey", use(store.UsedFactor{Passkey: "p2", SignCount: 9}), store.ErrFactorUsed)

		found := f.factors()
		if found.TOTP.LastStep != 12 || found.RecoveryCodes != 1 || found.Passkeys[0].SignCount != 6 ||
			found.Passkeys[0].LastUsedAt != f.clock {
			t.Errorf("the factors are %+v", found)
		}
		storetest.Exec(t, db, `UPDATE passkeys SET sign_count = 0`)
		for range 2 {
			f.want("a passkey that does not count", use(store.UsedFactor{Passkey: "p1"}), nil)
		}
		other := mustAccount(t, db, "bob@example.com")
		f.account = other
		f.want("another account's passkey", use(store.UsedFactor{Passkey: "p1", SignCount: 9}), store.ErrFactorUsed)
		f.want("another account's recovery code", use(store.UsedFactor{RecoveryCode: [32]byte{2}}), store.ErrFactorUsed)
	})
}

// Of many sign-ins with one code at the same time, one succeeds.
func TestStartSession_SecondFactorOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		f := newFactors(t, db)
		f.addTOTP()
		var wait sync.WaitGroup
		var lock sync.Mutex
		succeeded := 0
		for i := range 8 {
			wait.Go(func() {
				s := store.Session{
					Hash: [32]byte{byte(i + 1)}, ID: string(rune('a' + i)), AccountID: f.account.ID, ExpiresAt: f.clock + assay.Day,
				}
				_, err := db.StartSession(t.Context(), s, store.SignIn{Factor: store.UsedFactor{TOTPStep: 20}})
				lock.Lock()
				defer lock.Unlock()
				if err == nil {
					succeeded++
				} else if !errors.Is(err, store.ErrFactorUsed) {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		if succeeded != 1 {
			t.Errorf("%d sign-ins succeeded", succeeded)
		}
	})
}

// A ticket starts one session. Once it has expired, nothing needs to be kept of it.
func TestStartSession_TicketOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		f := newFactors(t, db)
		f.addTOTP()
		ticket := store.Ticket{ID: [16]byte{7}, ExpiresAt: f.clock + 1000}
		failed := store.SignIn{Ticket: ticket, Factor: store.UsedFactor{TOTPStep: 1}}
		f.want("a wrong code", f.signIn(failed), store.ErrFactorUsed)
		f.want("then the right one", f.signIn(store.SignIn{Ticket: ticket, Factor: store.UsedFactor{TOTPStep: 11}}), nil)
		f.want("again", f.signIn(store.SignIn{Ticket: ticket, Factor: store.UsedFactor{TOTPStep: 12}}), store.ErrTicketUsed)
		f.clock += 2000
		next := store.Ticket{ID: [16]byte{8}, ExpiresAt: f.clock + 1000}
		f.want("another", f.signIn(store.SignIn{Ticket: next, Factor: store.UsedFactor{TOTPStep: 13}}), nil)
		var kept int
		row := storetest.Raw(t, db).QueryRowContext(t.Context(), `SELECT count(*) FROM used_tickets`)
		if err := row.Scan(&kept); err != nil || kept != 1 {
			t.Errorf("%d used tickets are kept (%v)", kept, err)
		}
	})
}

// Adding and removing factors ends the other sessions and is logged; recovery codes come with the first factor and go
// with the last.
func TestSecondFactors_Change(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		f, ctx := newFactors(t, db), store.WithActor(t.Context(), "account:ann@example.com")
		sessions := func(want int) {
			t.Helper()
			if list, err := db.SessionsOf(ctx, f.account.ID); err != nil || len(list) != want {
				t.Errorf("%d sessions (%v), want %d", len(list), err, want)
			}
		}
		f.want("a session", f.signIn(store.SignIn{}), nil)
		f.want("another", f.signIn(store.SignIn{}), nil)
		change := f.change()
		change.Except = append([]byte{2}, make([]byte, 31)...)
		change.Ticket = store.Ticket{ID: [16]byte{1}, ExpiresAt: f.clock + 1000}
		withCodes, err := db.AddTOTP(ctx, change, store.TOTP{Secret: []byte("sealed"), LastStep: 10})
		if err != nil || !withCodes {
			t.Errorf("adding the app: %t, %v", withCodes, err)
		}
		sessions(1)
		_, err = db.AddTOTP(ctx, change, store.TOTP{Secret: []byte("other"), LastStep: 10})
		f.want("the same enrollment again", err, store.ErrTicketUsed)
		if a, err := db.AccountByEmail(ctx, f.account.Email); err != nil || !a.SecondFactor {
			t.Errorf("the account is %+v (%v)", a, err)
		}
		change.Ticket = store.Ticket{}
		change.Codes = [][32]byte{{9}}
		withCodes, err = db.AddPasskey(ctx, change, store.Passkey{
			ID: "p1", Name: "Laptop", UserHandle: []byte("h"), CredentialID: []byte("c"), PublicKey: []byte("k"),
		})
		if err != nil || withCodes || f.factors().RecoveryCodes != 2 {
			t.Errorf("adding a passkey: %t, %v", withCodes, err)
		}
		f.want("no such passkey", db.RemovePasskey(ctx, change, false, "p9"), store.ErrNoFactor)
		f.want("the app", db.RemoveTOTP(ctx, change, true), nil)
		f.want("the app again", db.RemoveTOTP(ctx, change, true), store.ErrNoFactor)
		f.want("the last one, which is required", db.RemovePasskey(ctx, change, true, "p1"), store.ErrLastFactor)
		if found := f.factors(); found.Count() != 1 || found.RecoveryCodes != 2 {
			t.Errorf("after a refusal the factors are %+v", found)
		}
		f.want("new codes", db.ReplaceRecoveryCodes(ctx, f.account.ID, [][32]byte{{5}, {6}, {7}}), nil)
		sessions(1)
		f.want("an old code", f.signIn(store.SignIn{Factor: store.UsedFactor{RecoveryCode: [32]byte{1}}}), store.ErrFactorUsed)
		f.want("the last one", db.RemovePasskey(ctx, change, false, "p1"), nil)
		if found := f.factors(); found.Count() != 0 || found.RecoveryCodes != 0 {
			t.Errorf("in the end the factors are %+v", found)
		}
		f.want("codes without a factor", db.ReplaceRecoveryCodes(ctx, f.account.ID, nil), store.ErrNoFactor)
		f.want("the password alone", f.signIn(store.SignIn{}), nil)

		f.addTOTP()
		removed, err := db.ResetFactors(store.WithActor(ctx, "operator:root"), f.account.ID)
		if err != nil || removed != 1 || f.factors().Count() != 0 {
			t.Errorf("the reset removed %d (%v)", removed, err)
		}
		sessions(0)
		wantAudit(t, db, "factor.add", "factor.remove", "factor.reset", "recovery_codes.create")
	})
}

func wantAudit(t *testing.T, db *store.DB, actions ...string) {
	t.Helper()
	entries, err := db.AuditLog(t.Context(), store.AuditFilter{})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	for _, e := range entries {
		log.WriteString(e.Action + " " + e.Detail + "\n")
	}
	for _, action := range actions {
		if !strings.Contains(log.String(), action+" ") {
			t.Errorf("the audit log has no %s:\n%s", action, log.String())
		}
	}
	if strings.Contains(log.String(), "sealed") {
		t.Errorf("the audit log shows a secret:\n%s", log.String())
	}
}

func TestAddPasskey(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		f := newFactors(t, db)
		for i := range store.MaxPasskeys {
			f.want("a passkey", f.addPasskey(string(rune('a'+i))), nil)
		}
		f.want("one too many", f.addPasskey("z"), store.ErrManyPasskeys)
		found, err := db.PasskeyByCredential(t.Context(), []byte("credential b"))
		if err != nil || found.ID != "b" || found.AccountID != f.account.ID || !found.BackupEligible ||
			strings.Join(found.Transports, " ") != "usb nfc" || found.CreatedAt != f.clock || found.SignCount != 5 {
			t.Errorf("the passkey is %+v (%v)", found, err)
		}
		_, err = db.PasskeyByCredential(t.Context(), []byte("unknown"))
		f.want("an unknown one", err, store.ErrNoFactor)

		first := f.account
		f.account = mustAccount(t, db, "bob@example.com")
		f.want("another account's", f.addPasskey("b"), store.ErrPasskeyTaken)
		f.want("closing", db.CloseAccount(t.Context(), first.ID), nil)
		f.account = first
		if found := f.factors(); found.Count() != 0 {
			t.Errorf("a closed account has %d factors", found.Count())
		}
		f.want("a closed account", f.addPasskey("a"), store.ErrNoAccount)
	})
}
