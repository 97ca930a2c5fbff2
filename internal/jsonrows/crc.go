package jsonrows

import "hash/crc32"

// A gzip stream ends with the CRC-32 of its whole text. That of two texts in a row follows from that of each: as
// polynomials over GF(2), modulo the one of CRC-32, the first is multiplied by x to the power of the second's bits.
// zlib does the same (crc32_combine).

// shift is such a power of x. Bits are in the order of the checksum: the highest is x to the power of 0.
type shift uint32

// one is x to the power of 0.
const one shift = 1 << 31

// powers[i] is x to the power of 2 to the power of i.
var powers = func() (p [32]shift) {
	p[0] = one >> 1
	for i := 1; i < len(p); i++ {
		p[i] = p[i-1].times(p[i-1])
	}
	return p
}()

// shiftOf is the power for a text of so many bytes.
func shiftOf(size int) shift {
	product := one
	for i := 3; size > 0; i, size = (i+1)%len(powers), size>>1 { // 8 bits a byte; x to the power of 2^32 is x again
		if size&1 != 0 {
			product = product.times(powers[i])
		}
	}
	return product
}

// times multiplies. It has no branches, because half of them would be predicted wrongly.
func (s shift) times(b shift) (product shift) {
	for range 32 {
		product ^= b & -(s >> 31)
		s <<= 1
		b = b>>1 ^ crc32.IEEE&-(b&1)
	}
	return product
}

// combine is the checksum of a text followed by another one, of which the checksum and the shift are given.
func combine(first, second uint32, s shift) uint32 { return uint32(s.times(shift(first))) ^ second }
