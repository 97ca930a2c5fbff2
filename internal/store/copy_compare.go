package store

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// ErrCopyDiffers says that a copy is not what was copied.
var ErrCopyDiffers = errors.New("the copy differs from what was copied")

// checksums are what two tables with equal rows have in common, whichever database they are in: how many rows there are, and the
// sum of their hashes. A sum has no order, so none has to be made: tables without a key have no order of their own, and NULL
// stands first in one database and last in the other.
type checksums struct {
	columns []string // in the order of the values
	rows    int
	sum     [4]uint64 // little-endian, modulo 2^256
	buffer  []byte    // of the row at hand
}

// add takes a row in.
func (c *checksums) add(values []any) error {
	c.buffer = c.buffer[:0]
	for i, value := range values {
		var err error
		if c.buffer, err = appendCanonical(c.buffer, value); err != nil {
			return fmt.Errorf("column %s of row %d: %w", c.columns[i], c.rows+1, err)
		}
	}
	hash, carry := sha256.Sum256(c.buffer), uint64(0)
	for i := range c.sum {
		c.sum[i], carry = bits.Add64(c.sum[i], binary.LittleEndian.Uint64(hash[8*i:]), carry)
	}
	c.rows++
	return nil
}

// appendCanonical appends a value so that no other value, and no other row, has the same bytes.
func appendCanonical(dst []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return append(dst, 'n'), nil
	case int64:
		return binary.LittleEndian.AppendUint64(append(dst, 'i'), uint64(v)), nil
	case string:
		return append(binary.AppendUvarint(append(dst, 't'), uint64(len(v))), v...), nil
	case []byte:
		return append(binary.AppendUvarint(append(dst, 'b'), uint64(len(v))), v...), nil
	}
	return dst, fmt.Errorf("%w: a value of type %T, where there are numbers, texts and bytes only", ErrDamaged, value)
}

// compareCopy reads back what was copied.
func compareCopy(into *tx, want map[string]checksums) error {
	for _, name := range slices.Concat(seeded, copied) {
		wanted := want[name]
		got := checksums{columns: wanted.columns}
		query := fmt.Sprintf(`SELECT %s FROM %s`, strings.Join(wanted.columns, ", "), name)
		if err := eachRow(into, query, func([]string) error { return nil }, got.add); err != nil {
			return fmt.Errorf("read back the table %s: %w", name, err)
		}
		if got.rows != wanted.rows {
			return fmt.Errorf("%w: its table %s has %d rows, not %d", ErrCopyDiffers, name, got.rows, wanted.rows)
		}
		if got.sum != wanted.sum {
			return fmt.Errorf("%w: a row of its table %s is another", ErrCopyDiffers, name)
		}
	}
	return nil
}
