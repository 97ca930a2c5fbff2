// Package index turns transactions into index values. It is pure: no clock, no database, no randomness. The same
// transactions give the same digits in whatever order they come and on whatever machine.
//
// The value of a slot is the average price of its transactions, weighted by GPU-hours:
//
//	Σ (gpus × hours × price) / Σ (gpus × hours)
//
// Sums are exact integers of 128 bits; the one rounding, half to even, comes at the end. A slot is named by the instant
// its window ends: the hour on the hour, the day at the fixing, 16:00 in New York. Windows are half-open, so a
// transaction on the boundary belongs to the window it begins.
//
// A methodology may draw outlying prices to a percentile first (winsorise.go) and cut the weight of a provider that has
// too large a share (cap.go).
package index

import (
	"math"
	"math/big"
	"slices"

	"github.com/assaydata/assay"
)

// Calculator computes the index of slots, one after the other. It keeps its room between calls.
type Calculator struct {
	counted   []counted
	providers []provider
	places    map[string]int // of the providers, once they are many
	prices    []assay.Nanos
}

// counted is a transaction that counts.
type counted struct {
	price    assay.Nanos
	weight   uint64
	provider int // position in the list of providers
}

// provider is one provider's part of a slot.
type provider struct {
	name string
	sum  sum
}

// Compute gives the index over the transactions of one slot, which stand at the given rows of a batch, together with what
// a record says about them. ok is false when fewer of them count, or fewer providers, than the methodology asks for: then
// nothing is published.
func (c *Calculator) Compute(batch []assay.Transaction, rows []int32, m Methodology) (d assay.Determination, ok bool) {
	c.counted, c.providers = c.counted[:0], c.providers[:0]
	for _, row := range rows {
		switch t := &batch[row]; {
		case t.Verified:
			c.counted = append(c.counted, counted{t.Price, uint64(t.GPUs) * uint64(t.HourMicros), c.provider(t.Provider)})
		case t.Withdrawn:
			d.Excluded.Withdrawn++
		default:
			d.Excluded.Unverified++
		}
	}
	d.Methodology, d.Transactions, d.Providers = m.Version, len(c.counted), len(c.providers)
	if d.Transactions < m.MinTransactions || d.Providers < m.MinProviders {
		return d, false
	}
	c.describe(&d)
	if m.WinsoriseUpper > 0 {
		d.Adjusted.Winsorised = winsorise(c.counted, m)
	}
	total := c.sum()
	d.HourMicros = total.weight.clamped()
	d.HHI = hhi(c.providers, total.weight)
	d.Value = total.average(m.Decimals)
	if m.ProviderCap > 0 {
		if value, capped := capped(c.providers, total, m); capped > 0 {
			d.Value, d.Adjusted.Capped = value, capped
		}
	}
	if d.HasValue = d.Value > 0; !d.HasValue { // with few decimals a price may round to nothing, and nothing is no price
		d.Low, d.High, d.Median = 0, 0, 0
	}
	return d, d.HasValue
}

// fewProviders is up to where a list beats a map.
const fewProviders = 8

// provider gives the position of a provider.
func (c *Calculator) provider(name string) int {
	if len(c.providers) <= fewProviders {
		for i := range c.providers {
			if c.providers[i].name == name {
				return i
			}
		}
	} else if place, ok := c.places[name]; ok {
		return place
	}
	place := len(c.providers)
	c.providers = append(c.providers, provider{name: name})
	if place == fewProviders { // from here on by the map
		if c.places == nil {
			c.places = map[string]int{}
		}
		clear(c.places)
		for i := range c.providers {
			c.places[c.providers[i].name] = i
		}
	} else if place > fewProviders {
		c.places[name] = place
	}
	return place
}

// describe notes the lowest, the highest and the median price.
func (c *Calculator) describe(d *assay.Determination) {
	c.prices = c.prices[:0]
	for i := range c.counted {
		c.prices = append(c.prices, c.counted[i].price)
	}
	slices.Sort(c.prices)
	n := len(c.prices)
	d.Low, d.High, d.Median = c.prices[0], c.prices[n-1], c.prices[n/2]
	if n%2 == 0 { // of two in the middle, their mean
		both := d.Median + c.prices[n/2-1]
		d.Median = both / 2
		if both%2 != 0 && d.Median%2 != 0 {
			d.Median++ // half to even
		}
	}
}

// sum adds up what counts, in all and by provider.
func (c *Calculator) sum() (total sum) {
	for i := range c.counted {
		t := &c.counted[i]
		total.add(t.weight, t.price)
		c.providers[t.provider].sum.add(t.weight, t.price)
	}
	return total
}

// hhi is the Herfindahl-Hirschman index of the providers' shares, 0 to 10,000. Shares are rounded to millionths.
func hhi(providers []provider, total uint128) int {
	const millionths = 1_000_000
	squares := uint64(0)
	for i := range providers {
		share := providers[i].sum.weight.share(millionths, total)
		squares += share * share
	}
	return int((squares + millionths*millionths/whole/2) / (millionths * millionths / whole))
}

// sum is Σ weight·price and Σ weight. One transaction adds at most 10^17 × 10^12 to the first, so even a billion of the
// largest fit.
type sum struct {
	amount, weight uint128
}

func (s *sum) add(weight uint64, price assay.Nanos) {
	s.amount.add(product(weight, uint64(price)))
	s.weight.add(uint128{lo: weight})
}

// average is the quotient, rounded once to the given decimals.
func (s *sum) average(decimals int) assay.Nanos {
	unit := assay.Unit(decimals)
	if quotient, rest, ok := s.amount.divide(s.weight); ok {
		return roundQuotient(quotient, rest, s.weight.lo, unit)
	}
	divisor := new(big.Int).Mul(s.weight.big(), big.NewInt(int64(unit)))
	return assay.Nanos(assay.DivideHalfEven(s.amount.big(), divisor)) * unit
}

// clamped is the number as far as an int64 goes: 9 trillion GPU-hours in a slot are a flood of bad rows, and no reason to
// stop publishing.
func (n uint128) clamped() int64 {
	if n.hi > 0 || n.lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(n.lo)
}
