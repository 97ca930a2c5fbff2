package access

import (
	"slices"

	"github.com/assaydata/assay"
)

// Basis is what an account's key depends on: the key ends with it.
type Basis string

// The bases.
const (
	OnGrant        Basis = "grant"
	OnOrganization Basis = "organization"
)

// ErrKeyRefused is what an account reads that may not create a key.
var ErrKeyRefused = &assay.Error{
	Kind: assay.Forbidden, Code: "key_creation_refused",
	Message: "API keys need an access grant of your own, or an organization on full access.",
}

// KeyTier says which key an account may create, and on what the key depends. own is the plan of its own grant in
// force, orgs are the plans of the organizations it is a member of. Its own grant goes first, also where an
// organization has more.
func KeyTier(own assay.Plan, orgs []assay.Plan) (assay.Tier, Basis, error) {
	if tier := own.Tier(); tier != assay.Anonymous {
		return tier, OnGrant, nil
	}
	if slices.Contains(orgs, assay.PlanFull) {
		return assay.Full, OnOrganization, nil
	}
	return assay.Anonymous, "", ErrKeyRefused
}
