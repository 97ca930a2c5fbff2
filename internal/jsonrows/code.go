package jsonrows

import "math/bits"

// The Huffman code of the compressed rows is fixed: made for rows of hours, whose times differ in one digit and whose
// values in the last two or three. It has only what can occur in a row after another one: the characters of times and
// numbers, and the lengths and distances of matches between rows. Every node must use the same, because equal ETags
// promise equal bytes.

// code is a code as it is written, with its extra bits: the lowest bit first.
type code struct {
	bits uint32
	size uint8
}

// The symbols of RFC 1951: 0 to 255 are characters, 256 ends a block, those above are lengths of matches.
const (
	endSymbol    = 256
	lengthSymbol = 266 // of the shortest match
	symbolCount  = 277
)

// Matches between rows are at least as long as what comes before the time, and shorter than a row. They are as far
// apart as a row is long.
const (
	shortest = len(beforeTime)
	longest  = 66
	nearest  = fixedSize
	farthest = LongestRow
)

// symbolSizes are the bits of each symbol. They fill the code exactly, which RFC 1951 demands.
var symbolSizes = func() (sizes [symbolCount]uint8) {
	for digit := '0'; digit <= '9'; digit++ {
		sizes[digit] = 4
	}
	for symbol, size := range map[int]uint8{
		271: 2, 272: 4, 270: 5, 273: 6, // the matches of hours, then those of days
		'T': 8,
		',': 10, '-': 10, '.': 10, ':': 10, '}': 10, endSymbol: 10, 267: 10, 268: 10, 269: 10, 274: 10,
		'Z': 11, 266: 11, 275: 11, 276: 11,
	} {
		sizes[symbol] = size
	}
	return sizes
}()

// distanceSizes are the bits of each class of distances: 49 to 64, and 65 to 96.
var distanceSizes = [13]uint8{11: 1, 12: 1}

// lengthClasses and distanceClasses are those of RFC 1951 that occur: the first of a class and its extra bits.
var (
	lengthClasses = [symbolCount - lengthSymbol]class{
		{13, 1}, {15, 1}, {17, 1}, {19, 2}, {23, 2}, {27, 2}, {31, 2}, {35, 3}, {43, 3}, {51, 3}, {59, 3},
	}
	distanceClasses = [13]class{11: {49, 4}, 12: {65, 5}}
)

type class struct{ first, extra int }

var (
	symbols    = canonical(symbolSizes[:])
	literals   = [256]code(symbols[:256])
	endOfBlock = symbols[endSymbol]
	matches    = allMatches()
	digitCodes = allDigits()
)

// allDigits are the codes of the digits, of four bits each.
func allDigits() (codes [16]uint8) {
	for digit := range 10 {
		codes[digit] = uint8(literals['0'+digit].bits)
	}
	return codes
}

// allMatches are the codes of a match by its length and its distance, both together.
func allMatches() (codes [longest - shortest + 1][farthest - nearest + 1]code) {
	lengths := withExtra(symbols[lengthSymbol:], lengthClasses[:], shortest, longest)
	distances := withExtra(canonical(distanceSizes[:]), distanceClasses[:], nearest, farthest)
	for i, length := range lengths {
		for k, distance := range distances {
			codes[i][k] = code{length.bits | distance.bits<<length.size, length.size + distance.size}
		}
	}
	return codes
}

// canonical assigns codes to sizes as RFC 1951 says: by size and then by symbol.
func canonical(sizes []uint8) []code {
	codes := make([]code, len(sizes))
	next := uint32(0)
	for size := uint8(1); size <= 15; size++ {
		next <<= 1
		for symbol, s := range sizes {
			if s == size {
				codes[symbol] = code{bits.Reverse32(next) >> (32 - size), size}
				next++
			}
		}
	}
	return codes
}

// withExtra lists the codes of all numbers from the first to the last: each that of its class, and where in it it is.
func withExtra(codes []code, classes []class, first, last int) (all []code) {
	for n := first; n <= last; n++ {
		for i, c := range classes {
			if codes[i].size > 0 && n >= c.first && n < c.first+1<<c.extra {
				all = append(all, code{codes[i].bits | uint32(n-c.first)<<codes[i].size, codes[i].size + uint8(c.extra)})
			}
		}
	}
	return all
}

// codeHead is what a block with this code begins with, as far as it fills bytes; codeHeadRest are the bits after that.
var codeHead, codeHeadRest, codeHeadBits = func() ([]byte, uint64, uint) {
	w := bitWriter{out: make([]byte, 0, 64)}
	put := func(bits uint32, size uint8) {
		w.add(code{bits, size})
	}
	put(0, 1) // not the last block
	put(2, 2) // with its own code
	put(symbolCount-257, 5)
	put(uint32(len(distanceSizes)-1), 5)
	put(uint32(len(sizeOrder)-4), 4)
	for _, symbol := range sizeOrder {
		put(uint32(sizeSizes[symbol]), 3)
	}
	sizes := append(symbolSizes[:], distanceSizes[:]...)
	codes := canonical(sizeSizes[:])
	for i := 0; i < len(sizes); {
		run := 1
		for i+run < len(sizes) && sizes[i+run] == sizes[i] {
			run++
		}
		switch size := sizes[i]; {
		case size == 0 && run >= 11:
			run = min(run, 138)
			put(codes[18].bits, codes[18].size)
			put(uint32(run-11), 7)
		case size == 0 && run >= 3:
			put(codes[17].bits, codes[17].size)
			put(uint32(run-3), 3)
		default:
			run = 1
			put(codes[size].bits, codes[size].size)
		}
		i += run
	}
	return w.out, w.held, w.count
}()

// sizeOrder is the order in which RFC 1951 lists the code of the sizes, up to the last that is used, and sizeSizes that
// code: sizes up to 11, and runs of zeros.
var (
	sizeOrder = [...]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1}
	sizeSizes = [19]uint8{0: 3, 1: 4, 2: 4, 4: 3, 5: 4, 6: 4, 8: 4, 10: 3, 11: 3, 17: 4, 18: 3}
)
