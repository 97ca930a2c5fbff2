package store

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"

	"github.com/assaydata/assay"
)

// What the flags of a record's body say.
const (
	flagValue = 1 << iota // there is a value
	flagDelay             // the delay follows
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
	if d.DelaySeconds == 0 { // as in every record before release 0.6.0
		dst = append(dst, flags)
	} else {
		dst = binary.AppendVarint(append(dst, flags|flagDelay), int64(d.DelaySeconds))
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
	d.DelaySeconds = 0
	if flags&flagDelay != 0 {
		d.DelaySeconds = int(r.signed())
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
	err := db.readRaw(ctx, func(tx *tx, scan rawScan) error {
		keys, err := readSeriesKeys(tx)
		if err != nil {
			return err
		}
		var sum int64
		query := selectRecords + `r.at >= $1 AND r.at < $2 ORDER BY s.series_id, r.at, r.revision`
		err = scan(query, []any{from, to}, func(values []driver.Value) error {
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

// The numbers behind the sum over points. The divisor is an odd prime, so a remainder changes with any bit of a number;
// shifted by the prime it is never 0, so a product changes with each factor. The other factors are primes too, so that
// changes of two columns do not cancel out.
const (
	pointPrime          = 65537
	pointSeriesFactor   = 7919
	pointRevisionFactor = 104729
	pointVersionFactor  = 1299709
	beyondRevisions     = 1 << 32 // larger than any revision
)

func remainder(n int64) int64 { return n%pointPrime + pointPrime }

// pointSum returns what the point of a record adds to the sum over all points.
func pointSum(series int64, r *Record) int64 {
	value := int64(-1)
	if r.HasValue {
		value = int64(r.Value)
	}
	key := r.At + pointSeriesFactor*series + pointRevisionFactor*int64(r.Revision) + pointVersionFactor*r.Version
	return remainder(value) * remainder(key)
}

// sumPoints is pointSum over the points in [$1, $2). In SQLite a damaged revision may be a text: it would count as 0,
// which is a valid revision, but it compares greater than every number, and NULL leaves the point out of the sum.
var sumPoints = fmt.Sprintf(`SELECT sum((coalesce(value_nanos, -1) %% %[1]d + %[1]d) *
	((p.at + %[2]d * p.series_id + %[3]d * CASE WHEN revision < %[5]d THEN revision END + %[4]d * version)
		%% %[1]d + %[1]d))
	FROM series s CROSS JOIN points p WHERE p.series_id = s.series_id AND p.at >= $1 AND p.at < $2`,
	pointPrime, pointSeriesFactor, pointRevisionFactor, pointVersionFactor, beyondRevisions)

// checkPoints compares the sum over records with that over their points, which the database computes.
func checkPoints(tx *tx, keys map[int64]SeriesKey, want, from, to int64) error {
	var sum any // of another type when a column is, and nil without points
	err := tx.QueryRowContext(tx.ctx, sumPoints, from, to).Scan(&sum)
	if err != nil && !isOverflow(err) {
		return err
	}
	if n, ok := wholeNumber(sum); err == nil && (ok && n == want || sum == nil && want == 0) {
		return nil
	}
	if err == nil {
		if stray := nameStrayPoint(tx, keys, from, to); stray != nil {
			return stray
		}
	}
	return fmt.Errorf("%w: the points from %s to %s do not match the records",
		ErrDamaged, assay.FormatInstant(from), assay.FormatInstant(to))
}

// isOverflow reports whether a sum failed because a number in it is too large. We store no such numbers, so it means
// damage.
func isOverflow(err error) bool {
	if failure, ok := errors.AsType[*pgconn.PgError](err); ok {
		return failure.Code == pgerrcodeOutOfRange
	}
	failure, ok := errors.AsType[*sqlite.Error](err)
	return ok && strings.Contains(failure.Error(), "integer overflow")
}

// pgerrcodeOutOfRange is numeric_value_out_of_range in PostgreSQL's list of error codes.
const pgerrcodeOutOfRange = "22003"

// wholeNumber reads a sum. PostgreSQL's sums have a wider type, which is read as text; SQLite's have another type when
// a number in them has.
func wholeNumber(sum any) (n int64, ok bool) {
	if text, isText := sum.(string); isText {
		n, err := strconv.ParseInt(text, 10, 64)
		return n, err == nil
	}
	n, ok = sum.(int64)
	return n, ok
}

// nameStrayPoint finds a point that does not match its record, or has none.
func nameStrayPoint(tx *tx, keys map[int64]SeriesKey, from, to int64) error {
	err := tx.each(`SELECT `+recordColumns+`, p.version, p.value_nanos FROM series s CROSS JOIN records r
		LEFT JOIN points p ON p.series_id = r.series_id AND p.at = r.at AND p.revision = r.revision
		WHERE r.series_id = s.series_id AND r.at >= $1 AND r.at < $2
		ORDER BY r.at, r.revision`, []any{from, to}, func(scan scanFunc) error {
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
			return fmt.Errorf("%w: %s %s %s at %s, revision %d: the published point does not match the record",
				ErrDamaged, r.GPU, r.Region, r.Grain, assay.FormatInstant(r.At), r.Revision)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return tx.each(`SELECT p.series_id, p.at FROM series s CROSS JOIN points p
		LEFT JOIN records r ON p.series_id = r.series_id AND p.at = r.at AND p.revision = r.revision
		WHERE p.series_id = s.series_id AND p.at >= $1 AND p.at < $2 AND r.at IS NULL
		ORDER BY p.at LIMIT 1`, []any{from, to}, func(scan scanFunc) error {
		var series, at int64
		if err := scan(&series, &at); err != nil {
			return err
		}
		key := keys[series]
		return fmt.Errorf("%w: %s %s %s at %s: the published point has no record",
			ErrDamaged, key.GPU, key.Region, key.Grain, assay.FormatInstant(at))
	})
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
		err = errors.New("a column has the wrong type")
	} else {
		err = readBody(body[n:], &r.Determination)
	}
	if err != nil {
		err = fmt.Errorf("%w: the record of %s %s %s at %s, revision %d: %w",
			ErrDamaged, key.GPU, key.Region, key.Grain, assay.FormatInstant(r.At), r.Revision, err)
	}
	return numbers[0], r, err
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
