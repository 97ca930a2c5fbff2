package assay

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
)

// Nanos is an exact decimal number in billionths: a price in USD per GPU-hour, or any published value. Nine decimals
// are enough for every price seen in the market, and integer sums do not depend on the order of the summands.
type Nanos int64

// One is the number 1.
const One Nanos = 1e9

// nanosDecimals is how many decimals a Nanos holds.
const nanosDecimals = 9

// AppendJSON appends the shortest exact decimal form of n, which is also its JSON number.
func (n Nanos) AppendJSON(dst []byte) []byte {
	u := uint64(n)
	if n < 0 {
		dst = append(dst, '-')
		u = -u
	}
	dst = strconv.AppendUint(dst, u/uint64(One), 10)
	frac := u % uint64(One)
	if frac == 0 {
		return dst
	}
	digits := nanosDecimals
	for frac%10 == 0 {
		frac /= 10
		digits--
	}
	dst = append(dst, '.')
	for scale := pow10[digits-1]; scale > frac; scale /= 10 {
		dst = append(dst, '0')
	}
	return strconv.AppendUint(dst, frac, 10)
}

// MarshalJSON writes n as a JSON number.
func (n Nanos) MarshalJSON() ([]byte, error) { return n.AppendJSON(nil), nil }

// UnmarshalJSON reads a plain JSON number exactly.
func (n *Nanos) UnmarshalJSON(b []byte) error {
	parsed, err := ParseDecimal(string(b), nanosDecimals)
	*n = Nanos(parsed)
	return err
}

// String returns the shortest exact decimal form.
func (n Nanos) String() string { return string(n.AppendJSON(nil)) }

// Float returns the nearest float64, for statistics that are inexact by nature.
func (n Nanos) Float() float64 { return float64(n) / float64(One) }

var pow10 = [...]uint64{
	1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
}

var errNotDecimal = errors.New("is not a plain decimal number")

// ParseDecimal parses a plain decimal number such as 2.35 into units of 10^-decimals. It accepts no exponent, no spaces
// and no sign but a leading minus, and rejects what it cannot represent exactly.
func ParseDecimal(s string, decimals int) (int64, error) {
	digits, negative, most := s, false, uint64(math.MaxInt64)
	if len(digits) > 0 && digits[0] == '-' {
		digits, negative, most = digits[1:], true, most+1 // int64 has one more negative number
	}
	var units uint64
	point, seen := -1, 0
	for i := range len(digits) {
		c := digits[i]
		switch {
		case c >= '0' && c <= '9':
			seen++
			if point >= 0 && i-point > decimals {
				if c != '0' {
					return 0, fmt.Errorf("has more than %d decimals", decimals)
				}
				continue
			}
			digit := uint64(c - '0')
			if units > (most-digit)/10 {
				return 0, errors.New("is too large")
			}
			units = units*10 + digit
		case c == '.' && point < 0 && seen > 0:
			point = i
		default:
			return 0, errNotDecimal
		}
	}
	if seen == 0 || point == len(digits)-1 {
		return 0, errNotDecimal
	}
	missing := decimals
	if point >= 0 {
		missing -= min(len(digits)-point-1, decimals)
	}
	for range missing {
		if units > most/10 {
			return 0, errors.New("is too large")
		}
		units *= 10
	}
	if negative {
		return -int64(units), nil
	}
	return int64(units), nil
}

// DivideHalfEven is the only rounding rule: amount / divisor, rounded to the nearest integer, ties to even. The divisor
// is positive; both numbers are overwritten.
func DivideHalfEven(amount, divisor *big.Int) int64 {
	quotient, rest := new(big.Int).DivMod(amount, divisor, new(big.Int))
	above := rest.Lsh(rest, 1).Cmp(divisor)
	if above > 0 || above == 0 && quotient.Bit(0) == 1 {
		return quotient.Int64() + 1
	}
	return quotient.Int64()
}

// Unit returns the smallest step of a number with the given decimals.
func Unit(decimals int) Nanos {
	unit := One
	for range decimals {
		unit /= 10
	}
	return unit
}

// AppendMicros appends a non-negative number of millionths in its shortest exact decimal form.
func AppendMicros(dst []byte, micros int64) []byte {
	const million, digits = 1_000_000, 6
	dst = strconv.AppendInt(dst, micros/million, 10)
	rest := micros % million
	if rest == 0 {
		return dst
	}
	text := strconv.AppendInt(make([]byte, 0, digits+1), million+rest, 10)[1:] // the million keeps leading zeros
	for text[len(text)-1] == '0' {
		text = text[:len(text)-1]
	}
	return append(append(dst, '.'), text...)
}
