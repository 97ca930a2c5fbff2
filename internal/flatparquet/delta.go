package flatparquet

import "encoding/binary"

// delta decodes DELTA_BINARY_PACKED: blocks of bit-packed differences.
type delta struct {
	data []byte // what follows the current miniblock
	left int    // values that are left

	value    int64
	first    bool // the next value is the first one, which has no difference
	minimum  int64
	widths   []byte // of the miniblocks that are left in the block
	blocks   int    // miniblocks per block
	size     int    // values per miniblock, a multiple of 8
	inBlock  int    // values that are left in the miniblock
	bits     []byte
	bit      int
	bitWidth uint
}

// newDelta reads the header. There are at most as many values as the page has.
func newDelta(data []byte, most int) (d delta, err error) {
	var head [3]uint64 // the values of a block, the miniblocks of a block, the values of all
	for i := range head {
		n := 0
		if head[i], n = binary.Uvarint(data); n <= 0 {
			return d, errTruncated
		}
		data = data[n:]
	}
	first, n := binary.Varint(data)
	if n <= 0 {
		return d, errTruncated
	}
	const maxBlock = 1 << 16
	block, miniblocks, values := head[0], head[1], head[2]
	if block == 0 || block > maxBlock || miniblocks == 0 || miniblocks > block || block%(miniblocks*8) != 0 {
		return d, broken("it has blocks of %d values in %d parts", block, miniblocks)
	}
	if values > uint64(most) {
		return d, broken("a page of %d values has %d", most, values)
	}
	return delta{
		data: data[n:], left: int(values), value: first, first: true, blocks: int(miniblocks),
		size: int(block / miniblocks),
	}, nil
}

func (d *delta) next() (int64, error) {
	if d.left == 0 {
		return 0, errTruncated
	}
	d.left--
	if d.first {
		d.first = false
		return d.value, nil
	}
	if d.inBlock == 0 {
		if err := d.nextMiniblock(); err != nil {
			return 0, err
		}
	}
	d.inBlock--
	d.value += d.minimum + int64(unpack(d.bits, d.bit, d.bitWidth)) // as writers compute it, with overflow
	d.bit += int(d.bitWidth)
	return d.value, nil
}

func (d *delta) nextMiniblock() error {
	if len(d.widths) == 0 {
		minimum, n := binary.Varint(d.data)
		if n <= 0 || d.blocks > len(d.data)-n {
			return errTruncated
		}
		d.minimum, d.widths, d.data = minimum, d.data[n:n+d.blocks], d.data[n+d.blocks:]
	}
	d.bitWidth, d.widths = uint(d.widths[0]), d.widths[1:]
	if d.bitWidth > 64 {
		return broken("a number has %d bits", d.bitWidth)
	}
	bytes := min(d.size/8*int(d.bitWidth), len(d.data)) // some writers leave out the end of the last miniblock
	d.bits, d.data, d.bit, d.inBlock = d.data[:bytes], d.data[bytes:], 0, d.size
	return nil
}

// rest returns what follows the values, which are not consumed.
func (d delta) rest() ([]byte, error) {
	for d.left > 0 {
		if _, err := d.next(); err != nil {
			return nil, err
		}
	}
	return d.data, nil
}
