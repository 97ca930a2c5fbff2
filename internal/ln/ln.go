// Package ln computes natural logarithms of whole numbers, and the way back, with integers only: a hundred bits behind
// the point, the same ones on every machine.
//
// An index that multiplies changes of prices is a sum of logarithms. With floating-point numbers, its last digits would
// depend on the order of the sum and on the machine, and after a year of days some published digits would be wrong.
// Here the error of a logarithm is below 2⁻¹¹⁰. A sum of thousands of them, and its power of e, still rounds to the
// digits that exact numbers would give.
package ln

import (
	"math/big"
	"math/bits"
	"sync"
)

// Bits is how many bits a Log has behind the point.
const Bits = 112

// Log is a logarithm, or a sum of some: a signed number of 128 bits, of which 112 are behind the point.
type Log struct {
	hi int64
	lo uint64
}

// Plus is the sum.
func (l Log) Plus(m Log) Log {
	lo, carry := bits.Add64(l.lo, m.lo, 0)
	return Log{l.hi + m.hi + int64(carry), lo}
}

// Minus is the difference.
func (l Log) Minus(m Log) Log {
	lo, borrow := bits.Sub64(l.lo, m.lo, 0)
	return Log{l.hi - m.hi - int64(borrow), lo}
}

// Big is the number of 2⁻¹¹² that a logarithm is.
func (l Log) Big() *big.Int {
	b := big.NewInt(l.hi)
	return b.Lsh(b, 64).Add(b, new(big.Int).SetUint64(l.lo))
}

// FromBig is the logarithm of a number of 2⁻¹¹². It must be smaller than 2¹²⁷.
func FromBig(b *big.Int) Log {
	low := new(big.Int).And(b, mask64)
	return Log{new(big.Int).Rsh(b, 64).Int64(), low.Uint64()}
}

var mask64 = new(big.Int).SetUint64(1<<64 - 1)

// Sum adds up logarithms times weights. Its zero value is 0.
type Sum struct {
	high      int64
	mid, tiny uint64
}

// Add adds a logarithm times a weight.
func (s *Sum) Add(weight uint64, l Log) {
	hi, lo := l.magnitude()
	carried, w0 := bits.Mul64(weight, lo)
	w2, w1 := bits.Mul64(weight, hi)
	w1, carry := bits.Add64(w1, carried, 0)
	w2 += carry
	if l.hi < 0 {
		s.tiny, carry = bits.Sub64(s.tiny, w0, 0)
		s.mid, carry = bits.Sub64(s.mid, w1, carry)
		s.high -= int64(w2 + carry)
		return
	}
	s.tiny, carry = bits.Add64(s.tiny, w0, 0)
	s.mid, carry = bits.Add64(s.mid, w1, carry)
	s.high += int64(w2 + carry)
}

// Join adds another sum.
func (s *Sum) Join(other Sum) {
	var carry uint64
	s.tiny, carry = bits.Add64(s.tiny, other.tiny, 0)
	s.mid, carry = bits.Add64(s.mid, other.mid, carry)
	s.high += other.high + int64(carry)
}

// Over is the sum divided by a number, rounded toward zero: the sum of the negatives gives the negative. The quotient
// must fit a Log.
func (s Sum) Over(divisor uint64) Log {
	high, mid, tiny, negative := uint64(s.high), s.mid, s.tiny, s.high < 0
	if negative {
		var borrow uint64
		tiny, borrow = bits.Sub64(0, tiny, 0)
		mid, borrow = bits.Sub64(0, mid, borrow)
		high, _ = bits.Sub64(0, high, borrow)
	}
	hi, rest := bits.Div64(high, mid, divisor)
	lo, _ := bits.Div64(rest, tiny, divisor)
	l := Log{int64(hi), lo}
	if negative {
		l = Log{}.Minus(l)
	}
	return l
}

// magnitude is the logarithm without its sign.
func (l Log) magnitude() (hi, lo uint64) {
	if l.hi < 0 {
		l = Log{}.Minus(l)
	}
	return uint64(l.hi), l.lo
}

// fraction is a number from 0 to below 2: 128 bits, of which 127 are behind the point.
type fraction struct{ hi, lo uint64 }

const fractionBits = 127

// times is the product of fractions below 1, rounded down.
func (f fraction) times(g fraction) fraction {
	hi, lo := bits.Mul64(f.hi, g.hi)
	cross1, low1 := bits.Mul64(f.hi, g.lo)
	cross2, low2 := bits.Mul64(f.lo, g.hi)
	below, _ := bits.Mul64(f.lo, g.lo)
	sum, carry1 := bits.Add64(low1, low2, 0)
	_, carry2 := bits.Add64(sum, below, 0)
	lo, carry := bits.Add64(lo, cross1, carry1)
	hi += carry
	lo, carry = bits.Add64(lo, cross2, carry2)
	hi += carry
	return fraction{hi<<1 | lo>>63, lo << 1} // a product of two has 254 bits behind the point
}

func (f fraction) minus(g fraction) fraction {
	lo, borrow := bits.Sub64(f.lo, g.lo, 0)
	hi, _ := bits.Sub64(f.hi, g.hi, borrow)
	return fraction{hi, lo}
}

func (f fraction) plus(g fraction) fraction {
	lo, carry := bits.Add64(f.lo, g.lo, 0)
	hi, _ := bits.Add64(f.hi, g.hi, carry)
	return fraction{hi, lo}
}

// log is the fraction as a Log, rounded down.
func (f fraction) log() Log {
	const dropped = fractionBits - Bits
	return Log{int64(f.hi >> dropped), f.hi<<(64-dropped) | f.lo>>dropped}
}

// Of is the logarithm of a number from 1 on.
//
// The number is m·2ᵏ with m from 1 to below 2. Times one of 256 factors r, m becomes 1+z with |z| below 2⁻⁸, whose
// logarithm is a short series: ln n = k·ln 2 + ln(1+z) - ln r.
func Of(n int64) Log {
	t := tables()
	k := bits.Len64(uint64(n)) - 1
	mantissa := uint64(n) << (63 - k)
	if mantissa == 1<<63 {
		return t.powers[k] // so that ln 1 is 0
	}
	row := mantissa >> 55 & 0xff
	hi, lo := bits.Mul64(mantissa, t.factors[row]) // 1 is 2⁷⁹
	const one = 1 << (79 - 64)
	if hi >= one {
		return t.powers[k].Plus(t.rows[row]).Plus(series(fraction{hi: (hi-one)<<48 | lo>>16, lo: lo << 48}, &t.shares, false))
	}
	lo, borrow := bits.Sub64(0, lo, 0)
	hi = one - hi - borrow
	return t.powers[k].Plus(t.rows[row]).Minus(series(fraction{hi: hi<<48 | lo>>16, lo: lo << 48}, &t.shares, true))
}

// OfBig is the logarithm of a number from 1 to below 2¹²⁶.
func OfBig(n *big.Int) Log {
	if n.IsInt64() {
		return Of(n.Int64())
	}
	k := uint(n.BitLen() - 63)
	first := new(big.Int).Rsh(n, k)
	// The rest is below 2⁻⁶² of the number, so that the square of its share is nothing.
	rest := new(big.Int).Sub(n, new(big.Int).Lsh(first, k))
	share := rest.Quo(rest.Lsh(rest, Bits), new(big.Int).Lsh(first, k))
	return Of(first.Int64()).Plus(tables().powers[k]).Plus(FromBig(share))
}

// terms is how many powers of z the series has: the next one is below 2⁻¹²⁰.
const terms = 15

// series is z - z²/2 + z³/3 - … or, for ln(1-z), all of them added.
func series(z fraction, shares *[terms]fraction, added bool) Log {
	sum := shares[terms-1]
	for i := terms - 2; i >= 0; i-- {
		if next := z.times(sum); added {
			sum = shares[i].plus(next)
		} else {
			sum = shares[i].minus(next)
		}
	}
	return z.times(sum).log()
}

// constants are what Of and Exp look up.
type constants struct {
	factors [256]uint64 // r·2¹⁶, by the first eight bits of m behind the point
	rows    [256]Log    // -ln r
	powers  [64]Log     // k·ln 2
	shares  [terms]fraction
	ln2     *big.Int // with expBits behind the point
}

var tables = sync.OnceValue(func() *constants {
	t := &constants{ln2: ln2(expBits)}
	const wide = 160 // bits behind the point
	two := ln2(wide)
	for k := range t.powers {
		t.powers[k] = FromBig(rounded(new(big.Int).Mul(two, big.NewInt(int64(k))), wide-Bits))
	}
	for i := range t.factors {
		middle := int64(512 + 2*i + 1) // of the row, in 512ths
		factor := (int64(1)<<26/middle + 1) / 2
		t.factors[i] = uint64(factor)
		// ln r is 2·artanh((r-1)/(r+1)).
		t.rows[i] = FromBig(rounded(artanh(1<<16-factor, 1<<16+factor, wide), wide-Bits-1))
	}
	for i := range t.shares {
		share := new(big.Int).Lsh(big.NewInt(1), fractionBits)
		share.Div(share, big.NewInt(int64(i+1)))
		t.shares[i] = fraction{new(big.Int).Rsh(share, 64).Uint64(), new(big.Int).And(share, mask64).Uint64()}
	}
	return t
})

// ln2 is ln 2 = 2·artanh(1/3) with so many bits behind the point.
func ln2(behind uint) *big.Int {
	sum := artanh(1, 3, behind+8)
	return rounded(sum, 7)
}

// artanh is the inverse hyperbolic tangent of a fraction: x + x³/3 + x⁵/5 + …
func artanh(numerator, denominator int64, behind uint) *big.Int {
	n, d := big.NewInt(numerator), big.NewInt(denominator)
	power := new(big.Int).Lsh(n, behind)
	power.Quo(power, d)
	square := new(big.Int).Mul(n, n)
	under := new(big.Int).Mul(d, d)
	sum := new(big.Int)
	for k := int64(1); power.Sign() != 0; k += 2 {
		sum.Add(sum, new(big.Int).Quo(power, big.NewInt(k)))
		power.Quo(power.Mul(power, square), under)
	}
	return sum
}

// rounded drops bits, to the nearest.
func rounded(n *big.Int, dropped uint) *big.Int {
	half := new(big.Int).Lsh(big.NewInt(1), dropped-1)
	return n.Rsh(n.Add(n, half), dropped)
}

// expBits is how many bits behind the point Exp works with.
const expBits = 160

// Exp is e to the power of a logarithm, times a scale, rounded half-even to a whole number. Its error before rounding
// is that of the logarithm: the result has a hundred right bits.
func (l Log) Exp(scale int64) *big.Int {
	x := l.Big()
	x.Lsh(x, expBits-Bits)
	k := new(big.Int).Div(x, tables().ln2)
	x.Sub(x, new(big.Int).Mul(k, tables().ln2)) // from 0 to ln 2
	const halvings = 8
	x.Rsh(x, halvings)
	sum := new(big.Int).Lsh(big.NewInt(1), expBits)
	term := new(big.Int).Set(sum)
	for n := int64(1); term.Sign() != 0; n++ {
		term.Rsh(term.Mul(term, x), expBits)
		term.Quo(term, big.NewInt(n))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Rsh(sum.Mul(sum, sum), expBits)
	}
	sum.Mul(sum, big.NewInt(scale))
	shift := k.Int64() - expBits
	if shift >= 0 {
		return sum.Lsh(sum, uint(shift))
	}
	return halfEven(sum, uint(-shift))
}

// halfEven divides by a power of two, rounded to the nearest, ties to even.
func halfEven(n *big.Int, dropped uint) *big.Int {
	quotient := new(big.Int).Rsh(n, dropped)
	rest := n.Sub(n, new(big.Int).Lsh(quotient, dropped))
	half := new(big.Int).Lsh(big.NewInt(1), dropped-1)
	if above := rest.Cmp(half); above > 0 || above == 0 && quotient.Bit(0) == 1 {
		quotient.Add(quotient, big.NewInt(1))
	}
	return quotient
}
