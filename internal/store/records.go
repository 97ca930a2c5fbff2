package store

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/assaydata/assay"
)

// What the flags of a record's body say.
const (
	flagValue    = 1 << iota // there is a value
	flagDelay                // the delay follows
	flagVolumes              // the volumes follow
	flagFallback             // the name of the fallback follows
	flagsEnd
)

// appendBody appends the body of a record after its version: the methodology's name, the numbers as varints, the flags,
// and the hashes, the record's own last. It does not repeat the row's key. readBody reads the same fields in the same
// order.
func appendBody(dst []byte, d *assay.Determination) []byte {
	dst = append(binary.AppendUvarint(dst, uint64(len(d.Methodology))), d.Methodology...)
	dst = binary.AppendVarint(dst, d.From)
	dst = binary.AppendVarint(dst, d.Receipt)
	dst = binary.AppendVarint(dst, d.PublishedAt)
	dst = binary.AppendVarint(dst, int64(d.Value))
	dst = binary.AppendVarint(dst, int64(d.Transactions))
	dst = binary.AppendVarint(dst, d.HourMicros)
	dst = binary.AppendVarint(dst, int64(d.Providers))
	dst = binary.AppendVarint(dst, int64(d.HHI))
	dst = binary.AppendVarint(dst, int64(d.Low))
	dst = binary.AppendVarint(dst, int64(d.High))
	dst = binary.AppendVarint(dst, int64(d.Median))
	dst = binary.AppendVarint(dst, int64(d.Excluded.Unverified))
	dst = binary.AppendVarint(dst, int64(d.Excluded.Withdrawn))
	dst = binary.AppendVarint(dst, int64(d.Adjusted.Winsorized))
	dst = binary.AppendVarint(dst, int64(d.Adjusted.Capped))
	flags := byte(boolInt(d.HasValue)) * flagValue
	if d.DelaySeconds != 0 { // never in a record before release 0.6.0
		flags |= flagDelay
	}
	if d.Volumes != "" { // likewise
		flags |= flagVolumes
	}
	if d.Fallback != "" {
		flags |= flagFallback
	}
	dst = append(dst, flags)
	if d.DelaySeconds != 0 {
		dst = binary.AppendVarint(dst, int64(d.DelaySeconds))
	}
	if d.Volumes != "" {
		dst = append(binary.AppendUvarint(dst, uint64(len(d.Volumes))), d.Volumes...)
	}
	if d.Fallback != "" {
		dst = append(binary.AppendUvarint(dst, uint64(len(d.Fallback))), d.Fallback...)
	}
	dst = append(dst, d.Inputs[:]...)
	dst = append(dst, d.Previous[:]...)
	return append(dst, d.Hash[:]...)
}

var errBody = errors.New("its body cannot be read")

// readBody is the inverse of appendBody.
func readBody(body []byte, d *assay.Determination) error {
	r := bodyReader{body: body}
	d.Methodology = string(r.bytes(r.unsigned()))
	d.From = r.signed()
	d.Receipt = r.signed()
	d.PublishedAt = r.signed()
	d.Value = assay.Nanos(r.signed())
	d.Transactions = int(r.signed())
	d.HourMicros = r.signed()
	d.Providers = int(r.signed())
	d.HHI = int(r.signed())
	d.Low = assay.Nanos(r.signed())
	d.High = assay.Nanos(r.signed())
	d.Median = assay.Nanos(r.signed())
	d.Excluded.Unverified = int(r.signed())
	d.Excluded.Withdrawn = int(r.signed())
	d.Adjusted.Winsorized = int(r.signed())
	d.Adjusted.Capped = int(r.signed())
	flags := r.unsigned()
	d.HasValue = flags&flagValue != 0
	d.DelaySeconds, d.Volumes, d.Fallback = 0, "", ""
	if flags&flagDelay != 0 {
		d.DelaySeconds = int(r.signed())
	}
	if flags&flagVolumes != 0 {
		d.Volumes = string(r.bytes(r.unsigned()))
	}
	if flags&flagFallback != 0 {
		d.Fallback = string(r.bytes(r.unsigned()))
	}
	for _, hash := range []*assay.Hash{&d.Inputs, &d.Previous, &d.Hash} {
		copy(hash[:], r.bytes(uint64(len(hash))))
	}
	if r.bad || r.at != len(body) || flags >= flagsEnd {
		return errBody
	}
	return nil
}

// Record is a stored record.
type Record struct {
	assay.Determination
	Sequence int64 // its number in the chain of its series, from 1
	Version  int64 // the version that published it
}

// recordColumns are those of readRecord. With series joined first, a query reads the records of one series after
// another.
const (
	recordColumns = `r.series_id, r.at, r.revision, r.sequence, r.body`
	selectRecords = `SELECT ` + recordColumns + ` FROM series s CROSS JOIN records r WHERE r.series_id = s.series_id AND `
)

// AppendRecords appends the records of all series whose slots lie in [from, to), series by series, in the order of
// instant and revision. It checks that each record has its point.
func (db *DB) AppendRecords(ctx context.Context, dst []Record, from, to int64) ([]Record, error) {
	return db.AppendPartRecords(ctx, dst, Part{Span: Span{From: from, To: to}})
}

// AppendPartRecords is AppendRecords for a part.
func (db *DB) AppendPartRecords(ctx context.Context, dst []Record, p Part) ([]Record, error) {
	err := db.readRaw(ctx, func(tx *tx, scan rawScan) error {
		keys, err := readSeriesKeys(tx)
		if err != nil {
			return err
		}
		from, wanted := len(dst), p.wantedSeries(keys)
		query := selectRecords + wanted + `r.at >= $1 AND r.at < $2 ORDER BY s.series_id, r.at, r.revision`
		err = scan(query, []any{p.From, p.To}, func(values []driver.Value) error {
			r, err := readRecord(values, keys)
			dst = append(dst, r)
			return err
		})
		if err != nil {
			return err
		}
		return checkPoints(scan, keys, wanted, dst[from:], p.Span)
	})
	return dst, err
}

// wantedSeries is the condition that a query reads only the series of the wanted GPUs.
func (p *Part) wantedSeries(keys map[int64]SeriesKey) string {
	if p.Wants == nil {
		return ``
	}
	list := []byte(`s.series_id IN (0`) // no series has this number; the list must not be empty
	for id, key := range keys {
		if p.Wants(key.GPU) {
			list = strconv.AppendInt(append(list, ','), id, 10)
		}
	}
	return string(append(list, `) AND `...))
}

// checkPoints compares the records of a part, which are in the order of series, instant and revision, with their points
// one by one: points are what is served.
func checkPoints(scan rawScan, keys map[int64]SeriesKey, wanted string, records []Record, in Span) error {
	query := `SELECT p.series_id, p.at, p.revision, p.version, p.value_nanos FROM series s CROSS JOIN points p
		WHERE p.series_id = s.series_id AND ` + wanted + `p.at >= $1 AND p.at < $2
		ORDER BY s.series_id, p.at, p.revision`
	next := 0
	err := scan(query, []any{in.From, in.To}, func(values []driver.Value) error {
		if next == len(records) {
			return strayPoint(values, keys)
		}
		if !isSlotOf(values, keys, &records[next]) {
			return firstStray(values, keys, &records[next])
		}
		r := &records[next]
		next++
		var value driver.Value
		if r.HasValue {
			value = int64(r.Value)
		}
		if values[3] != driver.Value(r.Version) || values[4] != value {
			return unlikePoint(r)
		}
		return nil
	})
	if err == nil && next < len(records) {
		err = unlikePoint(&records[next])
	}
	return err
}

// isSlotOf reports whether a point, as checkPoints reads it, has the series, instant and revision of a record.
func isSlotOf(point []driver.Value, keys map[int64]SeriesKey, r *Record) bool {
	series, ok := point[0].(int64)
	return ok && keys[series] == SeriesKey{Line: r.Line, Grain: r.Grain} &&
		point[1] == driver.Value(r.At) && point[2] == driver.Value(int64(r.Revision))
}

func unlikePoint(r *Record) error {
	return fmt.Errorf("%w: %s %s %s at %s, revision %d: the published point does not match the record",
		ErrDamaged, r.GPU, r.Region, r.Grain, assay.FormatInstant(r.At), r.Revision)
}

// firstStray is the error about a point and a record that do not belong together: whichever comes first in the order of
// their keys lacks the other one.
func firstStray(point []driver.Value, keys map[int64]SeriesKey, r *Record) error {
	var position [3]int64 // series, instant, revision
	for i := range position {
		n, ok := point[i].(int64)
		if !ok {
			return strayPoint(point, keys)
		}
		position[i] = n
	}
	for id, key := range keys {
		recorded := [3]int64{id, r.At, int64(r.Revision)}
		if (key == SeriesKey{Line: r.Line, Grain: r.Grain}) && slices.Compare(recorded[:], position[:]) < 0 {
			return unlikePoint(r)
		}
	}
	return strayPoint(point, keys)
}

func strayPoint(point []driver.Value, keys map[int64]SeriesKey) error {
	series, _ := point[0].(int64)
	key, when := keys[series], fmt.Sprint(point[1])
	if at, ok := point[1].(int64); ok {
		when = assay.FormatInstant(at)
	}
	return fmt.Errorf("%w: %s %s %s at %s, revision %v: the published point has no record",
		ErrDamaged, key.GPU, key.Region, key.Grain, when, point[2])
}

// Determinations returns all revisions of the record of one slot, oldest first.
func (db *DB) Determinations(
	ctx context.Context, line assay.Line, grain assay.Grain, at int64,
) (list []assay.Determination, err error) {
	records, err := db.SeriesRecords(ctx, SeriesKey{Line: line, Grain: grain}, at, at+1)
	for i := range records {
		list = append(list, records[i].Determination)
	}
	return list, err
}

// SeriesRecords returns the records of a series whose slots lie in [from, to), in the order of instant and revision.
func (db *DB) SeriesRecords(ctx context.Context, key SeriesKey, from, to int64) (list []Record, err error) {
	query := selectRecords + `s.series_id = (` + selectSeriesID + `)
		AND r.at >= $4 AND r.at < $5 ORDER BY r.at, r.revision`
	err = db.readRaw(ctx, func(_ *tx, scan rawScan) error {
		return scan(query, []any{key.GPU, key.Region, key.Grain.String(), from, to}, func(values []driver.Value) error {
			id, _ := values[0].(int64)
			r, err := readRecord(values, map[int64]SeriesKey{id: key})
			list = append(list, r)
			return err
		})
	})
	return list, err
}

func readSeriesKeys(tx *tx) (map[int64]SeriesKey, error) {
	keys := map[int64]SeriesKey{}
	err := tx.each(`SELECT series_id, `+seriesNames+` FROM series `+joinSeriesNames, nil, func(scan scanFunc) error {
		var id int64
		var key SeriesKey
		if err := scan(&id, &key.GPU, &key.Region, (*grainText)(&key.Grain)); err != nil {
			return err
		}
		keys[id] = key
		return nil
	})
	return keys, err
}

// readRecord decodes a row of recordColumns.
func readRecord(values []driver.Value, keys map[int64]SeriesKey) (r Record, err error) {
	var numbers [4]int64 // series, instant, revision, sequence
	ok := true
	for i := range numbers {
		n, isInt := values[i].(int64)
		numbers[i], ok = n, ok && isInt
	}
	body, isBody := values[4].([]byte)
	key := keys[numbers[0]]
	r.Line, r.Grain, r.At, r.Revision, r.Sequence = key.Line, key.Grain, numbers[1], int(numbers[2]), numbers[3]
	version, n := binary.Varint(body)
	if r.Version = version; !ok || !isBody || n <= 0 {
		err = errors.New("a column has the wrong type")
	} else {
		err = readBody(body[n:], &r.Determination)
	}
	if err != nil {
		err = fmt.Errorf("%w: the record of %s %s %s at %s, revision %d: %w",
			ErrDamaged, key.GPU, key.Region, key.Grain, assay.FormatInstant(r.At), r.Revision, err)
	}
	return r, err
}

// Chain is the state of a series' chain: its length and the hash of its last record.
type Chain struct {
	SeriesKey
	Records int64
	Head    assay.Hash
}

// Chains lists the series that have records, in the order of GPU, region and grain.
func (db *DB) Chains(ctx context.Context) (chains []Chain, err error) {
	err = db.read(ctx, func(tx *tx) error {
		chains, err = readChains(tx)
		return err
	})
	return chains, err
}

func readChains(tx *tx) (chains []Chain, err error) {
	err = tx.each(`SELECT `+seriesNames+`, records, head FROM series `+joinSeriesNames+`
		WHERE records > 0 ORDER BY gpu_name, region_name, grain`, nil, func(scan scanFunc) error {
		var c Chain
		var head []byte
		if err := scan(&c.GPU, &c.Region, (*grainText)(&c.Grain), &c.Records, &head); err != nil {
			return err
		}
		if len(head) != len(c.Head) {
			return fmt.Errorf("%w: the head of the chain of %s %s %s has the wrong length", ErrDamaged, c.GPU, c.Region, c.Grain)
		}
		c.Head = assay.Hash(head)
		chains = append(chains, c)
		return nil
	})
	return chains, err
}
