package store

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"github.com/assaydata/assay"
)

// bodyNumbers are the whole numbers of a record's body, in their order. What the row's key says is not among them.
const bodyNumbers = 15

// appendBody appends what the body of a record has behind the version: the methodology's name, the numbers as varints,
// whether there is a value, the hashes. Its own is the last.
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
	dst = append(dst, d.Previous[:]...)
	return append(dst, d.Hash[:]...)
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
	if len(body) != 1+3*len(d.Inputs) || body[0] > 1 {
		return errBody
	}
	d.From, d.Receipt, d.PublishedAt, d.Value = numbers[0], numbers[1], numbers[2], assay.Nanos(numbers[3])
	d.Transactions, d.HourMicros, d.Providers, d.HHI = int(numbers[4]), numbers[5], int(numbers[6]), int(numbers[7])
	d.Low, d.High, d.Median = assay.Nanos(numbers[8]), assay.Nanos(numbers[9]), assay.Nanos(numbers[10])
	d.Excluded = assay.Exclusions{Unverified: int(numbers[11]), Withdrawn: int(numbers[12])}
	d.Adjusted = assay.Adjustments{Winsorised: int(numbers[13]), Capped: int(numbers[14])}
	d.HasValue = body[0] == 1
	d.Inputs, d.Previous, d.Hash = assay.Hash(body[1:33]), assay.Hash(body[33:65]), assay.Hash(body[65:])
	return nil
}

// Record is a stored record.
type Record struct {
	assay.Determination
	Sequence int64 // its place in the chain of its series, from 1
	Version  int64 // that published it
}

const selectRecords = `SELECT r.series_id, r.at, r.revision, r.sequence, r.body FROM series s CROSS JOIN records r WHERE r.series_id = s.series_id AND `

// AppendRecords appends the records of all series whose slots lie in [from, to), series by series, in the order of instant
// and revision. Each must have its point beside it.
func (db *DB) AppendRecords(ctx context.Context, dst []Record, from, to int64) ([]Record, error) {
	err := db.readRaw(ctx, func(tx *tx, scan rawScan) error {
		keys, err := readSeriesKeys(tx)
		if err != nil {
			return err
		}
		var sum int64
		err = scan(selectRecords+`r.at >= $1 AND r.at < $2 ORDER BY s.series_id, r.at, r.revision`, []any{from, to}, func(values []driver.Value) error {
			series, r, err := readRecord(values, keys)
			dst = append(dst, r)
			sum += pointSum(series, &dst[len(dst)-1])
			return err
		})
		if err != nil {
			return err
		}
		return checkPoints(tx, keys, sum, from, to)
	})
	return dst, err
}

// remainder differs when any bit of a number does, since the divisor is an odd prime; and it is never 0, so that a product
// differs when a factor does.
func remainder(n int64) int64 { return n%65537 + 65537 }

// pointSum is what the point beside a record adds to the sum over all points.
func pointSum(series int64, r *Record) int64 {
	value := int64(-1)
	if r.HasValue {
		value = int64(r.Value)
	}
	return remainder(value) * remainder(r.At+7919*series+104729*int64(r.Revision)+1299709*r.Version)
}

// checkPoints holds the sum of records against that of their points, which the database makes by itself. A revision that is
// no number would count as 0, which is a good one; it is greater than every number.
func checkPoints(tx *tx, keys map[int64]SeriesKey, want, from, to int64) error {
	var sum any // of another type when a column is, and nil without points
	err := tx.QueryRowContext(tx.ctx, `SELECT sum((coalesce(value_nanos, -1) % 65537 + 65537) *
		((p.at + 7919 * p.series_id + 104729 * CASE WHEN revision < 4294967296 THEN revision END + 1299709 * version) % 65537 + 65537))
		FROM series s CROSS JOIN points p WHERE p.series_id = s.series_id AND p.at >= $1 AND p.at < $2`, from, to).Scan(&sum)
	if n, ok := wholeNumber(sum); err == nil && (ok && n == want || sum == nil && want == 0) {
		return nil
	}
	if stray := nameStrayPoint(tx, keys, from, to); err == nil && stray != nil {
		return stray
	}
	return errors.Join(err, fmt.Errorf("%w: the points from %s to %s are not those of the records", ErrDamaged, assay.FormatInstant(from), assay.FormatInstant(to)))
}

// wholeNumber reads a sum. PostgreSQL's sums are of a wider type, which comes as text; SQLite's are of another type when
// something in it is.
func wholeNumber(sum any) (n int64, ok bool) {
	if text, isText := sum.(string); isText {
		n, err := strconv.ParseInt(text, 10, 64)
		return n, err == nil
	}
	n, ok = sum.(int64)
	return n, ok
}

// nameStrayPoint looks for a point that is not that of its record, or has none.
func nameStrayPoint(tx *tx, keys map[int64]SeriesKey, from, to int64) error {
	err := tx.each(`SELECT r.series_id, r.at, r.revision, r.sequence, r.body, p.version, p.value_nanos FROM series s CROSS JOIN records r
		LEFT JOIN points p ON p.series_id = r.series_id AND p.at = r.at AND p.revision = r.revision
		WHERE r.series_id = s.series_id AND r.at >= $1 AND r.at < $2 ORDER BY r.at, r.revision`, []any{from, to}, func(scan scanFunc) error {
		values := make([]driver.Value, len(recordsTable.columns))
		var version, value, want any
		if err := scan(&values[0], &values[1], &values[2], &values[3], &values[4], &version, &value); err != nil {
			return err
		}
		_, r, err := readRecord(values, keys)
		if err != nil {
			return err
		}
		if r.HasValue {
			want = int64(r.Value)
		}
		if version != any(r.Version) || value != want {
			return fmt.Errorf("%w: %s %s %s at %s, revision %d: the published point is not that of the record", ErrDamaged, r.GPU, r.Region, r.Grain, assay.FormatInstant(r.At), r.Revision)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return tx.each(`SELECT p.series_id, p.at FROM series s CROSS JOIN points p LEFT JOIN records r ON p.series_id = r.series_id AND p.at = r.at AND p.revision = r.revision
		WHERE p.series_id = s.series_id AND p.at >= $1 AND p.at < $2 AND r.at IS NULL ORDER BY p.at LIMIT 1`, []any{from, to}, func(scan scanFunc) error {
		var series, at int64
		if err := scan(&series, &at); err != nil {
			return err
		}
		key := keys[series]
		return fmt.Errorf("%w: %s %s %s at %s: the published point has no record", ErrDamaged, key.GPU, key.Region, key.Grain, assay.FormatInstant(at))
	})
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
func (db *DB) SeriesRecords(ctx context.Context, key SeriesKey, from, to int64) (list []Record, err error) {
	query := selectRecords + `s.series_id = (SELECT series_id FROM series JOIN gpus USING (gpu_id)
		LEFT JOIN regions USING (region_id) WHERE gpu_name = $1 AND coalesce(region, 'global') = $2 AND grain = $3)
		AND r.at >= $4 AND r.at < $5 ORDER BY r.at, r.revision`
	err = db.readRaw(ctx, func(tx *tx, scan rawScan) error {
		keys, err := readSeriesKeys(tx)
		if err != nil {
			return err
		}
		return scan(query, []any{key.GPU, key.Region, key.Grain.String(), from, to}, func(values []driver.Value) error {
			_, r, err := readRecord(values, keys)
			list = append(list, r)
			return err
		})
	})
	return list, err
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
func readRecord(values []driver.Value, keys map[int64]SeriesKey) (series int64, r Record, err error) {
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
		err = errors.New("a column of it is not what it should be")
	} else {
		err = readBody(body[n:], &r.Determination)
	}
	if err != nil {
		err = fmt.Errorf("%w: the record of %s %s %s at %s, revision %d: %w", ErrDamaged, key.GPU, key.Region, key.Grain, assay.FormatInstant(r.At), r.Revision, err)
	}
	return numbers[0], r, err
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
