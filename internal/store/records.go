package store

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/assaydata/assay"
)

// bodyNumbers are the whole numbers of a record's body, in their order. What the row's key says is not among them.
const bodyNumbers = 15

// appendBody appends the body of a record: the methodology's name, the numbers as varints, whether there is a value, the
// two hashes.
func appendBody(dst []byte, d *assay.Determination) []byte {
	dst = append(binary.AppendUvarint(dst, uint64(len(d.Methodology))), d.Methodology...)
	for _, n := range [bodyNumbers]int64{
		d.From, d.Receipt, d.PublishedAt, int64(d.Value), int64(d.Transactions), d.HourMicros, int64(d.Providers), int64(d.HHI),
		int64(d.Low), int64(d.High), int64(d.Median), int64(d.Excluded.Unverified), int64(d.Excluded.Withdrawn),
		int64(d.Adjusted.Winsorised), int64(d.Adjusted.Capped),
	} {
		dst = binary.AppendVarint(dst, n)
	}
	dst = append(dst, byte(boolInt(d.HasValue)))
	dst = append(dst, d.Inputs[:]...)
	return append(dst, d.Previous[:]...)
}

var errBody = errors.New("its body cannot be read")

// readBody is the inverse of appendBody.
func readBody(body []byte, d *assay.Determination) error {
	length, n := binary.Uvarint(body)
	if n <= 0 || length > uint64(len(body)-n) {
		return errBody
	}
	d.Methodology, body = string(body[n:n+int(length)]), body[n+int(length):]
	var numbers [bodyNumbers]int64
	for i := range numbers {
		if numbers[i], n = binary.Varint(body); n <= 0 {
			return errBody
		}
		body = body[n:]
	}
	if len(body) != 1+2*len(d.Inputs) || body[0] > 1 {
		return errBody
	}
	d.From, d.Receipt, d.PublishedAt, d.Value = numbers[0], numbers[1], numbers[2], assay.Nanos(numbers[3])
	d.Transactions, d.HourMicros, d.Providers, d.HHI = int(numbers[4]), numbers[5], int(numbers[6]), int(numbers[7])
	d.Low, d.High, d.Median = assay.Nanos(numbers[8]), assay.Nanos(numbers[9]), assay.Nanos(numbers[10])
	d.Excluded = assay.Exclusions{Unverified: int(numbers[11]), Withdrawn: int(numbers[12])}
	d.Adjusted = assay.Adjustments{Winsorised: int(numbers[13]), Capped: int(numbers[14])}
	d.HasValue = body[0] == 1
	d.Inputs, d.Previous = assay.Hash(body[1:33]), assay.Hash(body[33:65])
	return nil
}

// Record is a stored record.
type Record struct {
	assay.Determination
	Sequence int64 // its place in the chain of its series, from 1
	Version  int64 // that published it
	// What the point beside the record says, for who checks that both say the same.
	PointValue    assay.Nanos
	PointHasValue bool
}

const selectRecords = `SELECT s.series_id, r.at, r.revision, r.sequence, r.body, r.hash, p.version, p.value_nanos
	FROM series s CROSS JOIN records r LEFT JOIN points p ON p.series_id = r.series_id AND p.at = r.at AND p.revision = r.revision
	WHERE r.series_id = s.series_id AND `

// AppendRecords appends the records of all series whose slots lie in [from, to), series by series, in the order of instant
// and revision.
func (db *DB) AppendRecords(ctx context.Context, dst []Record, from, to int64) ([]Record, error) {
	return db.appendRecords(ctx, dst, selectRecords+`r.at >= $1 AND r.at < $2 ORDER BY s.series_id, r.at, r.revision`, from, to)
}

// Determinations gives all revisions of the record of one slot, oldest first.
func (db *DB) Determinations(ctx context.Context, line assay.Line, grain assay.Grain, at int64) (list []assay.Determination, err error) {
	records, err := db.SeriesRecords(ctx, SeriesKey{line, grain}, at, at+1)
	for i := range records {
		list = append(list, records[i].Determination)
	}
	return list, err
}

// SeriesRecords gives the records of a series whose slots lie in [from, to), in the order of instant and revision.
func (db *DB) SeriesRecords(ctx context.Context, key SeriesKey, from, to int64) ([]Record, error) {
	return db.appendRecords(ctx, nil, selectRecords+`s.series_id = (SELECT series_id FROM series JOIN gpus USING (gpu_id)
		LEFT JOIN regions USING (region_id) WHERE gpu_name = $1 AND coalesce(region, 'global') = $2 AND grain = $3)
		AND r.at >= $4 AND r.at < $5 ORDER BY r.at, r.revision`, key.GPU, key.Region, key.Grain.String(), from, to)
}

func (db *DB) appendRecords(ctx context.Context, dst []Record, query string, args ...any) ([]Record, error) {
	err := db.readRaw(ctx, func(tx *tx, scan rawScan) error {
		keys, err := readSeriesKeys(tx)
		if err != nil {
			return err
		}
		return scan(query, args, func(values []driver.Value) error {
			r, err := readRecord(values, keys)
			dst = append(dst, r)
			return err
		})
	})
	return dst, err
}

func readSeriesKeys(tx *tx) (map[int64]SeriesKey, error) {
	keys := map[int64]SeriesKey{}
	err := tx.each(`SELECT series_id, gpu_name, coalesce(region, 'global'), grain FROM series JOIN gpus USING (gpu_id)
		LEFT JOIN regions USING (region_id)`, nil, func(scan scanFunc) error {
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

// readRecord makes a record of a row of selectRecords.
func readRecord(values []driver.Value, keys map[int64]SeriesKey) (r Record, err error) {
	var numbers [4]int64 // series, instant, revision, sequence
	ok := true
	for i := range numbers {
		n, isInt := values[i].(int64)
		numbers[i], ok = n, ok && isInt
	}
	body, isBody := values[4].([]byte)
	hash, isHash := values[5].([]byte)
	key := keys[numbers[0]]
	r.Line, r.Grain, r.At, r.Revision, r.Sequence = key.Line, key.Grain, numbers[1], int(numbers[2]), numbers[3]
	r.Version, _ = values[6].(int64)
	value, known := values[7].(int64)
	r.PointValue, r.PointHasValue = assay.Nanos(value), known
	if !ok || !known && values[7] != nil || !isBody || !isHash || len(hash) != len(r.Hash) {
		err = errors.New("a column of it is not what it should be")
	} else {
		r.Hash = assay.Hash(hash)
		err = readBody(body, &r.Determination)
	}
	if err != nil {
		err = fmt.Errorf("%w: the record of %s %s %s at %s, revision %d: %w", ErrDamaged, key.GPU, key.Region, key.Grain, assay.FormatInstant(r.At), r.Revision, err)
	}
	return r, err
}

// Chain is the state of a series' chain: how many records it has, and the hash of the last.
type Chain struct {
	SeriesKey
	Records int64
	Head    assay.Hash
}

// Chains lists the series that have records, in the order GPU, region, grain.
func (db *DB) Chains(ctx context.Context) (chains []Chain, err error) {
	err = db.read(ctx, func(tx *tx) error {
		chains, err = readChains(tx)
		return err
	})
	return chains, err
}

func readChains(tx *tx) (chains []Chain, err error) {
	err = tx.each(`SELECT gpu_name, coalesce(region, 'global') AS region_name, grain, records, head FROM series JOIN gpus USING (gpu_id)
		LEFT JOIN regions USING (region_id) WHERE records > 0 ORDER BY gpu_name, region_name, grain`, nil, func(scan scanFunc) error {
		var c Chain
		var head []byte
		if err := scan(&c.GPU, &c.Region, (*grainText)(&c.Grain), &c.Records, &head); err != nil {
			return err
		}
		if len(head) != len(c.Head) {
			return fmt.Errorf("%w: the head of the chain of %s %s %s has another length", ErrDamaged, c.GPU, c.Region, c.Grain)
		}
		c.Head = assay.Hash(head)
		chains = append(chains, c)
		return nil
	})
	return chains, err
}
