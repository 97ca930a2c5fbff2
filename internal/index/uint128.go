package index

import (
	"cmp"
	"math/big"
	"math/bits"
)

// uint128 is an unsigned integer of 128 bits.
type uint128 struct{ hi, lo uint64 }

func product(a, b uint64) (n uint128) {
	n.hi, n.lo = bits.Mul64(a, b)
	return n
}

func (n *uint128) add(m uint128) {
	var carry uint64
	n.lo, carry = bits.Add64(n.lo, m.lo, 0)
	n.hi, _ = bits.Add64(n.hi, m.hi, carry)
}

// times multiplies by a number small enough for the result to fit.
func (n uint128) times(k uint64) uint128 {
	p := product(n.lo, k)
	p.hi += n.hi * k
	return p
}

func (n uint128) less(m uint128) bool { return n.hi < m.hi || n.hi == m.hi && n.lo < m.lo }

// compare is cmp.Compare for numbers of this type.
func (n uint128) compare(m uint128) int {
	return cmp.Or(cmp.Compare(n.hi, m.hi), cmp.Compare(n.lo, m.lo))
}

// divide computes quotient and rest; ok is false if they, or the divisor, do not fit 64 bits.
func (n uint128) divide(m uint128) (quotient, rest uint64, ok bool) {
	if m.hi != 0 || n.hi >= m.lo {
		return 0, 0, false
	}
	quotient, rest = bits.Div64(n.hi, n.lo, m.lo)
	return quotient, rest, true
}

// share is n as a share of the total, rounded, if the total is the given number of parts.
func (n uint128) share(parts uint64, total uint128) uint64 {
	twice := n.times(2 * parts)
	twice.add(total)
	if quotient, _, ok := twice.divide(total.times(2)); ok {
		return quotient
	}
	return new(big.Int).Div(twice.big(), total.times(2).big()).Uint64()
}

func (n uint128) big() *big.Int {
	b := new(big.Int).SetUint64(n.hi)
	return b.Lsh(b, 64).Or(b, new(big.Int).SetUint64(n.lo))
}
