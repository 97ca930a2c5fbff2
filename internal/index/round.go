package index

import (
	"math/bits"

	"github.com/assaydata/assay"
)

// roundQuotient is assay.DivideHalfEven without big numbers: it rounds quotient + rest/divisor, in billionths, to a
// multiple of unit.
func roundQuotient(quotient, rest, divisor uint64, unit assay.Nanos) assay.Nanos {
	u := uint64(unit)
	units, below := quotient/u, quotient%u
	// The remainder is below + rest/divisor of a unit: compare twice (below·divisor + rest) with unit·divisor.
	hi, lo := bits.Mul64(2*below, divisor)
	lo, carry := bits.Add64(lo, rest, 0)
	hi += carry
	lo, carry = bits.Add64(lo, rest, 0)
	hi += carry
	halfHi, halfLo := bits.Mul64(u, divisor)
	above := hi > halfHi || hi == halfHi && lo > halfLo
	middle := hi == halfHi && lo == halfLo
	if above || middle && units%2 == 1 {
		units++
	}
	return assay.Nanos(units * u)
}
