package store

import (
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/assaydata/assay"
)

// A server that starts reads every point there is. To read a row takes 1.5 µs, however little is in it, which would be
// half a minute for 20 million points. So a version stores its points twice: as rows of points, which are found by
// series and instant, and packed, some thousand in a row of packed_points, which are only read all together.
//
// Packed points follow from points and are not a second truth. They are written in the transaction of their points, so
// neither exists without the other; a read compares their number with the lengths of the chains; and a verification
// compares each. Nothing is ever packed again: a restatement adds points of its own version, as it does to points.

// packedPoint is a point of a series. Its packed form has what differs from the point before it.
type packedPoint struct {
	series int64
	assay.Revision
}

// What the first byte of a packed point says. What it does not say is as in the point before.
const (
	packedSeries  = 1 << iota // another series: the difference of the numbers follows
	packedStep                // another time since the point before than that had: it follows
	packedNumber              // the number of the revision follows; without it, it is 0
	packedVersion             // another version: the difference follows
	packedGone                // there is no value; with a value, its difference follows
	packedEnd
)

// packedFormat is the first byte of a row's body. Another way to pack would have another one.
const packedFormat = 1

// packedRow is a row of the table packed_points.
type packedRow struct {
	version, part, points, checksum int64
	body                            []byte
}

// sum returns a CRC-32C over the whole row. It detects damage, not malice: see segment.sum.
func (r *packedRow) sum() int64 {
	var numbers [24]byte
	binary.LittleEndian.PutUint64(numbers[:], uint64(r.version))
	binary.LittleEndian.PutUint64(numbers[8:], uint64(r.part))
	binary.LittleEndian.PutUint64(numbers[16:], uint64(r.points))
	return int64(crc32.Update(crc32.Checksum(numbers[:], castagnoli), castagnoli, r.body))
}

func (r *packedRow) damaged(what string) error {
	return fmt.Errorf("%w: part %d of the packed points of publication %d %s", ErrDamaged, r.part, r.version, what)
}

// each calls f for the points of a row, in their order. A row that does not match its checksum is an ErrDamaged that
// names it; f has not been called then.
func (r *packedRow) each(f func(*packedPoint) error) error {
	if r.sum() != r.checksum {
		return r.damaged("does not match its checksum")
	}
	b := bodyReader{body: r.body}
	if b.unsigned() != packedFormat {
		return r.damaged("has a format that this program does not know")
	}
	p, step, value := packedPoint{Revision: assay.Revision{Version: r.version}}, int64(0), int64(0)
	for range r.points {
		what := b.unsigned()
		if what&packedSeries != 0 {
			p.series += b.signed()
		}
		if what&packedStep != 0 {
			step = b.signed()
		}
		p.At += step
		if p.Number = 0; what&packedNumber != 0 {
			p.Number = int(b.signed())
		}
		if what&packedVersion != 0 {
			p.Version += b.signed()
		}
		if p.Gone, p.Value = what&packedGone != 0, 0; !p.Gone {
			value += b.signed()
			p.Value = assay.Nanos(value)
		}
		if b.bad || what >= packedEnd {
			return r.damaged("cannot be read")
		}
		if err := f(&p); err != nil {
			return err
		}
	}
	if b.at != len(r.body) {
		return r.damaged("cannot be read")
	}
	return nil
}

// packedPart is how many points a row has at most. A server reads some rows ahead, and each takes about eight bytes a
// point.
const packedPart = 16_384

// pointPacker packs points up to a version. They may come in any order; it packs well if a series follows another and
// the points of each are in the order of time.
type pointPacker struct {
	tx   *tx
	row  packedRow // the next one
	last packedPoint
	step int64 // from the last point but one to the last
}

func newPointPacker(tx *tx, version int64) *pointPacker {
	k := &pointPacker{tx: tx, row: packedRow{version: version}}
	k.begin()
	return k
}

// begin begins a row: its first point differs from a point of the row's version, and zeros.
func (k *pointPacker) begin() {
	k.last, k.step = packedPoint{Revision: assay.Revision{Version: k.row.version}}, 0
	k.row.points, k.row.body = 0, append(k.row.body[:0], packedFormat)
}

func (k *pointPacker) add(p packedPoint) error {
	what, step := byte(0), p.At-k.last.At
	if p.series != k.last.series {
		what |= packedSeries
	}
	if step != k.step {
		what |= packedStep
	}
	if p.Number != 0 {
		what |= packedNumber
	}
	if p.Version != k.last.Version {
		what |= packedVersion
	}
	if p.Gone {
		what |= packedGone
	}
	b := append(k.row.body, what)
	if what&packedSeries != 0 {
		b = binary.AppendVarint(b, p.series-k.last.series)
	}
	if what&packedStep != 0 {
		b = binary.AppendVarint(b, step)
	}
	if what&packedNumber != 0 {
		b = binary.AppendVarint(b, int64(p.Number))
	}
	if what&packedVersion != 0 {
		b = binary.AppendVarint(b, p.Version-k.last.Version)
	}
	if p.Gone {
		p.Value = k.last.Value // the next value is compared with the last one that there was
	} else {
		b = binary.AppendVarint(b, int64(p.Value-k.last.Value))
	}
	k.last, k.step, k.row.body = p, step, b
	if k.row.points++; k.row.points < packedPart {
		return nil
	}
	return k.flush()
}

// finish writes what is left. A version without points has a row too, which says that nothing is missing.
func (k *pointPacker) finish() error {
	if k.row.points == 0 && k.row.part > 0 {
		return nil
	}
	return k.flush()
}

func (k *pointPacker) flush() error {
	r := &k.row
	err := k.tx.exec(`INSERT INTO packed_points (version, part, points, checksum, body) VALUES ($1, $2, $3, $4, $5)`,
		r.version, r.part, r.points, r.sum(), r.body)
	r.part++
	k.begin()
	return err
}

// packedUpTo returns the version up to which points are packed.
func packedUpTo(tx *tx) (version int64, err error) {
	err = tx.each(`SELECT coalesce(max(version), 0) FROM packed_points`, nil, func(scan scanFunc) error {
		return scan(&version)
	})
	return version, err
}

// packMissing packs the versions before one that a program of an earlier release has published.
func packMissing(tx *tx, before int64) error {
	packed, err := packedUpTo(tx)
	if err != nil {
		return err
	}
	for version := packed + 1; version < before; version++ {
		points, err := pointsOf(tx, version)
		if err != nil {
			return err
		}
		packer := newPointPacker(tx, version)
		for _, p := range points {
			if err := packer.add(p); err != nil {
				return err
			}
		}
		if err := packer.finish(); err != nil {
			return err
		}
	}
	return nil
}

// pointsOf reads the points of a version from their rows.
func pointsOf(tx *tx, version int64) ([]packedPoint, error) {
	return appendPoints(tx, nil, `SELECT series_id, at, revision, value_nanos, p.version FROM publication_series s
		JOIN points p USING (series_id) WHERE s.version = $1 AND p.version = $1 AND at BETWEEN first_at AND last_at
		ORDER BY series_id, at, revision`, version)
}

// appendPoints appends the points that a query reads: series_id, at, revision, value_nanos, version.
func appendPoints(tx *tx, dst []packedPoint, query string, args ...any) ([]packedPoint, error) {
	err := tx.scanRaw(query, args, func(values []driver.Value) error {
		var numbers [5]int64
		for i, value := range values {
			n, ok := value.(int64)
			if withdrawn := i == 3 && value == nil; !ok && !withdrawn {
				return fmt.Errorf("%w: a point of series %v at %v is %v", ErrDamaged, values[0], values[1], values)
			}
			numbers[i] = n
		}
		dst = append(dst, packedPoint{numbers[0], assay.Revision{
			Point:  assay.Point{At: numbers[1], Value: assay.Nanos(numbers[3])},
			Number: int(numbers[2]), Gone: values[3] == nil, Version: numbers[4],
		}})
		return nil
	})
	return dst, err
}

// packAll packs all points there are, in the order of their rows: those of a series follow each other, and pack best.
func packAll(tx *tx) error {
	version, err := tx.counter("publication")
	if err != nil || version == 0 {
		return err
	}
	packer := newPointPacker(tx, version)
	var page []packedPoint
	var last packedPoint // no series has the number 0
	for {
		page, err = appendPoints(tx, page[:0], `SELECT series_id, at, revision, value_nanos, version FROM points
			WHERE (series_id, at, revision) > ($1, $2, $3) ORDER BY series_id, at, revision LIMIT $4`,
			last.series, last.At, int64(last.Number), int64(packedPart))
		if err != nil {
			return err
		}
		for _, last = range page {
			if err := packer.add(last); err != nil {
				return err
			}
		}
		if len(page) < packedPart {
			return packer.finish()
		}
	}
}
