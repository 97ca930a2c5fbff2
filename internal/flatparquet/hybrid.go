package flatparquet

import "encoding/binary"

// hybrid decodes Parquet's mixture of runs of equal values and runs of bit-packed values.
type hybrid struct {
	data  []byte // the runs after the current one
	width uint   // bits per value, at most 32

	equal uint64 // values that are left in a run of equal ones
	value uint32

	packed uint64 // values that are left in a bit-packed run
	bits   []byte
	bit    int // where the next value begins in bits
}

func (h *hybrid) next() (uint32, error) {
	for {
		switch {
		case h.equal > 0:
			h.equal--
			return h.value, nil
		case h.packed > 0:
			h.packed--
			value := unpack(h.bits, h.bit, h.width)
			h.bit += int(h.width)
			return uint32(value), nil
		}
		if err := h.nextRun(); err != nil {
			return 0, err
		}
	}
}

func (h *hybrid) nextRun() error {
	head, n := binary.Uvarint(h.data)
	if n <= 0 {
		return errTruncated
	}
	h.data = h.data[n:]
	if head&1 == 0 {
		bytes := int(h.width+7) / 8
		if bytes > len(h.data) {
			return errTruncated
		}
		h.equal, h.value = head>>1, uint32(unpack(h.data[:bytes], 0, h.width))
		h.data = h.data[bytes:]
		return nil
	}
	groups := min(head>>1, 1<<32) // of eight values, and so of as many bytes as a value has bits
	h.bit, h.packed = 0, groups*8
	if bytes := groups * uint64(h.width); bytes <= uint64(len(h.data)) {
		h.bits = h.data[:bytes]
	} else { // some writers leave out the end of the last group
		h.bits, h.packed = h.data, uint64(len(h.data))*8/uint64(h.width)
	}
	h.data = h.data[len(h.bits):]
	return nil
}

// unpack returns the bits from a position on, the least significant one first. Bits after the end are zero.
func unpack(data []byte, bit int, width uint) (value uint64) {
	shift := uint(bit % 8)
	data = data[min(bit/8, len(data)):]
	if len(data) >= 8 {
		value = binary.LittleEndian.Uint64(data) >> shift
	} else {
		for i, b := range data {
			value |= uint64(b) << (8 * uint(i))
		}
		value >>= shift
	}
	if shift+width > 64 && len(data) > 8 {
		value |= uint64(data[8]) << (64 - shift)
	}
	if width < 64 {
		value &= 1<<width - 1
	}
	return value
}
