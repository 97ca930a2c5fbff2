package indextest

import (
	"math/big"

	"github.com/assaydata/assay"
)

// The tests that compute values a second time do so with rational numbers, and share nothing with what they check. They
// share how the result is rounded, here.

// HalfEven rounds to the nearest integer, ties to even.
func HalfEven(r *big.Rat) int64 {
	quotient, rest := new(big.Int).DivMod(r.Num(), r.Denom(), new(big.Int))
	above := rest.Lsh(rest, 1).Cmp(r.Denom())
	if above > 0 || above == 0 && quotient.Bit(0) == 1 {
		quotient.Add(quotient, big.NewInt(1))
	}
	return quotient.Int64()
}

// FourDecimals rounds half-even to four decimals.
func FourDecimals(r *big.Rat) assay.Nanos {
	return assay.Nanos(HalfEven(new(big.Rat).Mul(r, big.NewRat(10_000, 1)))) * 100_000
}
