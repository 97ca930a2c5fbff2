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

// ErrCopyDiffers is the error for a copy that is not equal to the original.
var ErrCopyDiffers = errors.New("the copy differs from what was copied")

// checksums are equal for tables with equal rows in any database: the number of rows and the sum of their hashes. A sum
// does not depend on the order of the rows, which is undefined for tables without a key, and for NULL differs between
// databases.
type checksums struct {
	columns []string // in the order of the values
	rows    int
	sum     [4]uint64 // little-endian, modulo 2^256
	buffer  []byte    // of the current row
}

// add adds a row.
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

// appendCanonical appends a value such that different rows have different bytes.
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
	return dst, fmt.Errorf("%w: a value has the type %T, which is no number, text or bytes", ErrDamaged, value)
}

// compareCopy reads back the copied tables.
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
			return fmt.Errorf("%w: a row of its table %s is different", ErrCopyDiffers, name)
		}
	}
	return nil
}
