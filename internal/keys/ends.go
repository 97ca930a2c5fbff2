package keys

import (
	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/store"
)

// Ends tells when keys end, by one reading of the directory.
type Ends struct {
	closed map[int64]int64         // account → when it was closed
	grants map[int64][]grantSpan   // by account
	seats  map[seat][]access.Span  // memberships
	floors map[int64][]access.Span // of full access, by organization
}

type grantSpan struct {
	tier assay.Tier
	access.Span
}

type seat struct{ org, account int64 }

// NewEnds takes what decides about the ends of keys from the directory.
func NewEnds(d *store.Directory) *Ends {
	e := &Ends{closed: map[int64]int64{}, grants: map[int64][]grantSpan{}, seats: map[seat][]access.Span{}, floors: map[int64][]access.Span{}}
	for _, a := range d.Accounts {
		if a.ClosedAt != 0 {
			e.closed[a.ID] = a.ClosedAt
		}
	}
	for _, g := range d.Grants {
		e.grants[g.AccountID] = append(e.grants[g.AccountID], grantSpan{g.Plan.Tier(), span(g.StartsAt, g.Until())})
	}
	for _, m := range d.Memberships {
		s := seat{m.OrgID, m.AccountID}
		e.seats[s] = append(e.seats[s], span(m.From, m.Until))
	}
	for _, f := range d.Plans {
		if f.Plan.Tier() == assay.Full {
			e.floors[f.OrgID] = append(e.floors[f.OrgID], span(f.From, f.Until))
		}
	}
	return e
}

// span is a stretch whose end may be 0, for none.
func span(from, until int64) access.Span {
	if until == 0 {
		until = access.Forever
	}
	return access.Span{From: from, Until: until}
}

// Of is the instant at which a key ends or has ended, revoked or not; 0 when it has no end.
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

// basis is when there was what the key hangs on. Of grants those count that give at least the key's tier: a Premium key goes
// on when its owner moves up, and a Full key does not when its owner moves down.
func (e *Ends) basis(k store.Key) (spans []access.Span) {
	if access.Basis(k.Basis) == access.OnOrganization {
		return access.Overlap(e.seats[seat{k.OrgID, k.AccountID}], e.floors[k.OrgID])
	}
	for _, g := range e.grants[k.AccountID] {
		if g.tier >= k.Tier {
			spans = append(spans, g.Span)
		}
	}
	return spans
}
