package account

import (
	"slices"

	"github.com/assaydata/assay/internal/store"
)

// DeviceLength is how long a browser is remembered after its last sign-in, in milliseconds.
const DeviceLength = store.DeviceLength

// devices is the browsers that have signed in, as of one load.
type devices struct {
	counter  int64
	accounts map[[32]byte][]store.Device // by the hash of the token
}

func newDevices(list []store.Device, counter int64) *devices {
	d := &devices{counter: counter, accounts: make(map[[32]byte][]store.Device, len(list))}
	for _, one := range list {
		d.accounts[one.Hash] = append(d.accounts[one.Hash], one)
	}
	return d
}

// KnowsDevice reports whether the browser with a token has signed in to the account of an email address before. It does
// not wait for the database.
func (s *Service) KnowsDevice(token, email string) bool {
	one := s.people.Load().byEmail[NormalEmail(email)]
	return one != nil && s.knowsDevice(token, one.ID)
}

func (s *Service) knowsDevice(token string, accountID int64) bool {
	hash, ok := hashToken(token)
	if !ok {
		return false
	}
	now := s.now()
	return slices.ContainsFunc(s.devices.Load().accounts[hash], func(d store.Device) bool {
		return d.AccountID == accountID && d.UsedAt+DeviceLength > now
	})
}

// deviceToken returns the token of the browser that signs in to an account. A browser that is new to the account gets a
// new token, so that one planted in the browser is of no use to the planter.
func (s *Service) deviceToken(old string, accountID int64) (Token, store.NewDevice) {
	expires := s.now() + DeviceLength
	replaces, _ := hashToken(old) // zero for none
	if s.knowsDevice(old, accountID) {
		return Token{text: old, Expires: expires}, store.NewDevice{Hash: replaces, Replaces: replaces}
	}
	token := newToken(expires)
	hash, _ := hashToken(token.text)
	return token, store.NewDevice{Hash: hash, Replaces: replaces}
}
