package assay

import "fmt"

// Tier is what a caller has paid for.
type Tier uint8

// The tiers, lowest first.
const (
	Anonymous Tier = iota
	Premium
	Full
)

var tierNames = [...]string{Anonymous: "anonymous", Premium: "premium", Full: "full"}

// String returns the tier's name, the same in the API, the database and the command line.
func (t Tier) String() string { return tierNames[t] }

// MarshalText writes the tier's name.
func (t Tier) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// ParseTier parses the name of a paid tier.
func ParseTier(s string) (Tier, error) {
	switch s {
	case "premium":
		return Premium, nil
	case "full":
		return Full, nil
	}
	return Anonymous, fmt.Errorf("tier %q: allowed are premium and full", s)
}

// Access names the window or tier that served a response.
type Access string

// The values of the access field.
const (
	Public3Months Access = "public-3mo"
	Public1Month  Access = "public-1mo"
	AccessPremium Access = "premium"
	AccessFull    Access = "full"
)

// Caller is who makes a request: anonymous (the zero value), the holder of a key, or a signed-in account.
type Caller struct {
	Tier       Tier
	KeyID      string      // the public part of the key, or empty without one
	AccountID  int64       // the owner of the key or session; 0 if anonymous, and for keys made by the operator
	Restricted Restriction // of a session; keys have none
	Limit      int         // requests per minute of the key; 0: that of its plan
}

// Restriction is what the owner of a session has to do before the session may do anything else.
type Restriction uint8

// The restrictions.
const (
	Unrestricted       Restriction = iota
	MustChangePassword             // one that the operator has set
	MustAddFactor                  // a second factor, which the operator requires
)
