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
package index

import (
	"math/big"
	"math/bits"
	"slices"

	"github.com/assaydata/assay"
)

// Value is the index of one slot.
type Value struct {
	Value        assay.Nanos
	Transactions int
	Providers    int
}

// Compute gives the index over verified transactions of one slot. ok is false when there are fewer of them, or of their
// providers, than the methodology asks for: then nothing is published.
func Compute(transactions []assay.Transaction, m Methodology) (v Value, ok bool) {
	var sum sum
	providers := make([]string, 0, 8) // few in a slot, so a list beats a map
	for i := range transactions {
		t := &transactions[i]
		if !t.Verified {
			continue
		}
		sum.add(t)
		v.Transactions++
		if !slices.Contains(providers, t.Provider) {
			providers = append(providers, t.Provider)
		}
	}
	v.Providers = len(providers)
	if v.Transactions < m.MinTransactions || v.Providers < m.MinProviders {
		return Value{}, false
	}
	v.Value = sum.average(m.Decimals)
	return v, true
}

// sum is Σ weight·price and Σ weight, each in 128 bits. One transaction adds at most 10^17 × 10^15 to the first, so even
// a million of the largest fit.
type sum struct {
	amountHi, amountLo uint64
	weightHi, weightLo uint64
}

func (s *sum) add(t *assay.Transaction) {
	weight := uint64(t.GPUs) * uint64(t.HourMicros)
	hi, lo := bits.Mul64(weight, uint64(t.Price))
	var carry uint64
	s.amountLo, carry = bits.Add64(s.amountLo, lo, 0)
	s.amountHi, _ = bits.Add64(s.amountHi, hi, carry)
	s.weightLo, carry = bits.Add64(s.weightLo, weight, 0)
	s.weightHi += carry
}

// average is the quotient, rounded once to the given decimals.
func (s *sum) average(decimals int) assay.Nanos {
	unit := assay.Unit(decimals)
	if s.weightHi == 0 && s.amountHi < s.weightLo {
		quotient, rest := bits.Div64(s.amountHi, s.amountLo, s.weightLo)
		return roundQuotient(quotient, rest, s.weightLo, unit)
	}
	amount := join(s.amountHi, s.amountLo)
	divisor := new(big.Int).Mul(join(s.weightHi, s.weightLo), big.NewInt(int64(unit)))
	return assay.Nanos(assay.DivideHalfEven(amount, divisor)) * unit
}

func join(hi, lo uint64) *big.Int {
	n := new(big.Int).SetUint64(hi)
	return n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(lo))
}
