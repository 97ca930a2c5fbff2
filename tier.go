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

// String is the tier's word, the same in the API, the database and the command line.
func (t Tier) String() string { return tierNames[t] }

// ParseTier reads a paid tier's word.
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

// The access words of the contract.
const (
	Public3Months Access = "public-3mo"
	Public1Month  Access = "public-1mo"
	AccessPremium Access = "premium"
	AccessFull    Access = "full"
)

// Caller is who asks: nobody in particular, the holder of a key, or somebody who has signed in.
type Caller struct {
	Tier      Tier
	KeyID     string // the public part of the key; empty without one
	AccountID int64  // whose key or session it is; 0 for nobody's, and for the operator's own keys
}
