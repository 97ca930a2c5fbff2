package keys

import (
	"maps"
	"slices"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/store"
)

// Ends computes when keys end, from one directory.
type Ends struct {
	closed      map[int64]int64                // account → when it was closed
	grants      map[int64][]grantSpan          // by account
	memberships map[membership][]access.Period // when an account is a member of an organization
	fullPlans   map[int64][]access.Period      // when an organization has full access
}

type grantSpan struct {
	tier assay.Tier
	access.Period
}

type membership struct{ org, account int64 }

// NewEnds collects what decides when keys end.
func NewEnds(d *store.Directory) *Ends {
	e := &Ends{
		closed: map[int64]int64{}, grants: map[int64][]grantSpan{},
		memberships: map[membership][]access.Period{}, fullPlans: map[int64][]access.Period{},
	}
	for _, a := range d.Accounts {
		if a.ClosedAt != 0 {
			e.closed[a.ID] = a.ClosedAt
		}
	}
	for _, g := range d.Grants {
		granted := grantSpan{tier: g.Plan.Tier(), Period: span(g.StartsAt, g.Until())}
		e.grants[g.AccountID] = append(e.grants[g.AccountID], granted)
	}
	for _, m := range d.Memberships {
		key := membership{org: m.OrgID, account: m.AccountID}
		e.memberships[key] = append(e.memberships[key], span(m.From, m.Until))
	}
	for _, p := range d.Plans {
		if p.Plan.Tier() == assay.Full {
			e.fullPlans[p.OrgID] = append(e.fullPlans[p.OrgID], span(p.From, p.Until))
		}
	}
	return e
}

// span makes a span of an end that may be 0, for none.
func span(from, until int64) access.Period {
	if until == 0 {
		until = access.Forever
	}
	return access.Period{From: from, Until: until}
}

// Of is the instant at which a key ends or ended, without regard to revocation; 0 when it has no end.
func (e *Ends) Of(k store.Key) int64 {
	end := span(0, k.ExpiresAt).Until
	if k.AccountID != 0 {
		end = min(end, access.CoveredUntil(e.basis(k), k.CreatedAt))
		end = min(end, span(0, e.closed[k.AccountID]).Until)
	}
	if end == access.Forever {
		return 0
	}
	return end
}

// basis is the time of the access that a key is based on. Grants count if they give at least the key's tier: a Premium
// key stays valid when its owner is upgraded, and a Full key ends when its owner is downgraded.
func (e *Ends) basis(k store.Key) (spans []access.Period) {
	if access.Basis(k.Basis) == access.OnOrganization {
		return access.Overlap(e.memberships[membership{org: k.OrgID, account: k.AccountID}], e.fullPlans[k.OrgID])
	}
	for _, g := range e.grants[k.AccountID] {
		if g.tier >= k.Tier {
			spans = append(spans, g.Period)
		}
	}
	return spans
}

// changedAfter lists the accounts whose keys may end at another time than according to earlier ends.
func (e *Ends) changedAfter(earlier *Ends) []int64 {
	accounts := different(e.closed, earlier.closed, func(a, b int64) bool { return a == b })
	maps.Copy(accounts, different(e.grants, earlier.grants, slices.Equal))
	memberships := different(e.memberships, earlier.memberships, slices.Equal)
	organizations := different(e.fullPlans, earlier.fullPlans, slices.Equal)
	for m := range e.memberships {
		if memberships[m] || organizations[m.org] {
			accounts[m.account] = true
		}
	}
	return slices.Sorted(maps.Keys(accounts))
}

// different returns what two maps do not have in common.
func different[K comparable, V any](a, b map[K]V, equal func(V, V) bool) map[K]bool {
	set := map[K]bool{}
	for key, value := range a {
		if other, ok := b[key]; !ok || !equal(value, other) {
			set[key] = true
		}
	}
	for key := range b {
		if _, ok := a[key]; !ok {
			set[key] = true
		}
	}
	return set
}
