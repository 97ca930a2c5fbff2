// Package index turns transactions into index values. It is pure: no clock, no database, no randomness. The same
// transactions give the same digits in any order and on any machine.
//
// The value of a slot is the average price of its transactions, weighted by GPU-hours:
//
//	Σ (gpus × hours × price) / Σ (gpus × hours)
//
// Sums are exact 128-bit integers; the only rounding, half to even, comes at the end. A slot is named by the instant
// its window ends: the hour on the hour, the day at the fixing, 16:00 in New York. Windows are half-open, so a
// transaction on the boundary belongs to the window that begins there.
//
// A methodology may first move outlying prices to a percentile (winsorize.go), and may cap the weight of a provider
// (cap.go).
package index

import (
	"math"
	"math/big"
	"slices"

	"github.com/assaydata/assay"
)

// Calculator computes the slots of a batch, one after the other. It reuses its memory between calls.
type Calculator struct {
	numbers numbers // of all providers so far
	sources numbers
	loaded  []loaded // the batch

	// Of the current slot:
	counted   []counted
	providers []provider
	positions []int32 // in providers, by number; -1 for none
	prices    []assay.Nanos
	volumes   volumes
}

// numbers numbers names in the order of their first use.
type numbers map[string]int32

func (n numbers) of(name string) int32 {
	number, known := n[name]
	if !known {
		number = int32(len(n))
		n[name] = number
	}
	return number
}

// loaded is the part of a transaction that the index needs. Each is read once for every window that holds it.
type loaded struct {
	counted
	state state
}

// state says whether a transaction counts.
type state byte

const (
	unverified state = iota
	withdrawn
	verified
)

// counted is a transaction that counts.
type counted struct {
	price    assay.Nanos
	weight   uint64
	provider int32 // its number; in a slot, its position in providers
	source   int32 // its number
	evidence assay.Evidence
}

// provider is one provider's part of a slot.
type provider struct {
	number int32
	sum    sum
}

// Load takes the batch of transactions whose slots are computed next.
func (c *Calculator) Load(batch []assay.Transaction) {
	if c.numbers == nil {
		c.numbers, c.sources = numbers{}, numbers{}
	}
	c.loaded = c.loaded[:0]
	for i := range batch {
		t := &batch[i]
		l := loaded{counted: counted{
			price: t.Price, weight: uint64(t.GPUs) * uint64(t.HourMicros), evidence: t.Evidence,
			provider: c.numbers.of(t.Provider), source: c.sources.of(t.Source),
		}}
		if int(l.provider) == len(c.positions) {
			c.positions = append(c.positions, -1)
		}
		switch {
		case t.Verified:
			l.state = verified
		case t.Withdrawn:
			l.state = withdrawn
		}
		c.loaded = append(c.loaded, l)
	}
}

// Compute computes the index over the given rows of the loaded batch, which are one slot, and the other facts of its
// record. ok is false if fewer transactions or providers count than the methodology requires, by its last fallback too:
// then nothing is published.
func (c *Calculator) Compute(rows []int32, m Methodology) (d assay.Determination, ok bool) {
	for i := range c.providers {
		c.positions[c.providers[i].number] = -1
	}
	c.counted, c.providers = c.counted[:0], c.providers[:0]
	for _, row := range rows {
		switch l := &c.loaded[row]; l.state {
		case verified:
			counts := l.counted
			counts.provider = c.position(l.provider)
			c.counted = append(c.counted, counts)
		case withdrawn:
			d.Excluded.Withdrawn++
		case unverified:
			d.Excluded.Unverified++
		}
	}
	d.Methodology, d.Transactions, d.Providers = m.Version, len(c.counted), len(c.providers)
	d.Volumes = noVolumes
	if d.Fallback, ok = m.suffices(d.Transactions, d.Providers); !ok {
		return d, false
	}
	c.describe(&d)
	if m.WinsorizeUpper > 0 {
		d.Adjusted.Winsorized = winsorize(c.counted, m)
	}
	total := c.sum()
	d.HourMicros = total.weight.clamped()
	d.HHI = hhi(c.providers, total.weight)
	d.Volumes = c.volumes.of(c.counted, len(c.sources))
	d.Value = total.average(m.Decimals)
	if m.ProviderCap > 0 {
		if value, capped := capped(c.providers, total, m); capped > 0 {
			d.Value, d.Adjusted.Capped = value, capped
		}
	}
	d.HasValue = d.Value > 0
	if !d.HasValue { // with few decimals a price may round to zero, which is not a price
		d.Low, d.High, d.Median, d.Fallback = 0, 0, 0, ""
	}
	return d, d.HasValue
}

// position is that of a provider in the slot's list, to which it is added if it is new.
func (c *Calculator) position(number int32) int32 {
	position := &c.positions[number]
	if *position < 0 {
		*position = int32(len(c.providers))
		c.providers = append(c.providers, provider{number: number})
	}
	return *position
}

// describe sets the lowest, the highest and the median price.
func (c *Calculator) describe(d *assay.Determination) {
	c.prices = c.prices[:0]
	for i := range c.counted {
		c.prices = append(c.prices, c.counted[i].price)
	}
	n := len(c.prices)
	d.Low, d.High = slices.Min(c.prices), slices.Max(c.prices)
	selectAt(c.prices, n/2)
	d.Median = c.prices[n/2]
	if n%2 == 0 { // the mean of the two in the middle
		both := d.Median + slices.Max(c.prices[:n/2])
		d.Median = both / 2
		if both%2 != 0 && d.Median%2 != 0 {
			d.Median++ // half to even
		}
	}
}

// selectAt moves the value to position at that a sorted list would have there, and no larger values before it. It is
// quickselect, which sorts what is left when that is short or shrinks too slowly.
func selectAt(list []assay.Nanos, at int) {
	const short, rounds = 24, 64
	for range rounds {
		if len(list) <= short {
			break
		}
		a, b, c := list[0], list[len(list)/2], list[len(list)-1]
		pivot := max(min(a, b), min(max(a, b), c)) // the median of three
		i, j := 0, len(list)-1
		for i <= j {
			for list[i] < pivot {
				i++
			}
			for list[j] > pivot {
				j--
			}
			if i <= j {
				list[i], list[j] = list[j], list[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case at <= j:
			list = list[:j+1]
		case at >= i:
			list, at = list[i:], at-i
		default: // only the pivot lies between both
			return
		}
	}
	slices.Sort(list)
}

// sum adds up the counted transactions, in total and by provider.
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
	return int((squares + millionths*millionths/Whole/2) / (millionths * millionths / Whole))
}

// sum is Σ weight·price and Σ weight. One transaction adds at most 10^17 × 10^12 to the first, so a billion of the
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

// clamped is the number, or the largest int64 if it is larger: 9 trillion GPU-hours in a slot are a flood of bad
// rows, and not a reason to stop publishing.
func (n uint128) clamped() int64 {
	if n.hi > 0 || n.lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(n.lo)
}
