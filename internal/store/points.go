package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/assaydata/assay"
)

// Publication is what one version publishes: records, and the time for which they are complete. A publication with a
// reason is a restatement: it determines time again that was determined before.
type Publication struct {
	Methodology string
	Receipt     int64 // everything received up to here was known
	PublishedAt int64
	Reason      string
	Actor       string
	Series      []SeriesRecords
	Covers      Coverage
	Notices     []assay.Notice // about its days

	BeforeCommit func() error // if not nil, called when everything is written; an error undoes it
}

// SeriesRecords are new records of one series, which extend its chain.
type SeriesRecords struct {
	assay.Line
	Grain   assay.Grain
	Records []assay.Determination
}

// SeriesKey names a series.
type SeriesKey struct {
	assay.Line
	Grain assay.Grain
}

// seriesNames are the columns of a SeriesKey. They need joinSeriesNames behind the table series.
const (
	seriesNames     = `gpu_name, coalesce(region, 'global') AS region_name, grain`
	joinSeriesNames = `JOIN gpus USING (gpu_id) LEFT JOIN regions USING (region_id)`
)

// selectSeriesID finds a series by GPU, region and grain, which are $1 to $3.
const selectSeriesID = `SELECT series_id FROM series ` + joinSeriesNames + `
	WHERE gpu_name = $1 AND coalesce(region, 'global') = $2 AND grain = $3`

// ErrOvertaken is the error when another publisher has published part of the same time, has extended the same chain, or
// has changed the key, meanwhile. Nothing was written.
var ErrOvertaken = errors.New("another publisher was faster")

// State is the input of the next publication.
type State struct {
	Receipt     int64 // the newest
	PublishedAt int64 // when the newest version was published; 0 when there is none
	Coverage    Coverage
	Heads       map[SeriesKey]assay.Hash // the hash of the last record of each series
}

// State reads the state in one transaction.
func (db *DB) State(ctx context.Context) (s State, err error) {
	err = db.read(ctx, func(tx *tx) error {
		if s.Receipt, err = tx.counter("receipt"); err != nil {
			return err
		}
		err := tx.QueryRowContext(ctx, `SELECT coalesce(max(published_at), 0) FROM publications`).Scan(&s.PublishedAt)
		if err != nil {
			return err
		}
		if s.Coverage, err = readCoverage(tx); err != nil {
			return err
		}
		chains, err := readChains(tx)
		s.Heads = make(map[SeriesKey]assay.Hash, len(chains))
		for i := range chains {
			s.Heads[chains[i].SeriesKey] = chains[i].Head
		}
		return err
	})
	return s, err
}

// FirstDays reads the instant of the first record of each daily series.
func (db *DB) FirstDays(ctx context.Context) (first map[SeriesKey]int64, err error) {
	first = map[SeriesKey]int64{}
	err = db.read(ctx, func(tx *tx) error {
		return tx.each(`SELECT `+seriesNames+`, (SELECT min(at) FROM points WHERE points.series_id = series.series_id)
			FROM series `+joinSeriesNames+` WHERE records > 0 AND grain = $1`, []any{assay.Daily.String()},
			func(scan scanFunc) error {
				var key SeriesKey
				var at int64
				err := scan(&key.GPU, &key.Region, (*grainText)(&key.Grain), &at)
				first[key] = at
				return err
			})
	})
	return first, err
}

// grainText scans a grain from its name.
type grainText assay.Grain

func (g *grainText) Scan(value any) error {
	text, ok := value.(string)
	if !ok {
		return fmt.Errorf("%w: a grain is %v", ErrDamaged, value)
	}
	grain, err := assay.ParseGrain(text)
	*g = grainText(grain)
	return err
}

// Publish writes a publication as the next version: all of it or nothing.
func (db *DB) Publish(ctx context.Context, p Publication) (version int64, err error) {
	err = db.write(ctx, func(tx *tx) error {
		version, err = publish(tx, p)
		if err == nil {
			err = tx.appendLog()
		}
		if err == nil && p.BeforeCommit != nil {
			err = p.BeforeCommit()
		}
		return err
	})
	return version, err
}

func publish(tx *tx, p Publication) (version int64, err error) {
	d, err := readDictionary(tx)
	if err != nil {
		return 0, err
	}
	if version, err = tx.bump("publication"); err != nil {
		return 0, err
	}
	if err := addCovers(tx, &d, version, p); err != nil {
		return 0, err
	}
	if err := recordMissed(tx, &d, p); err != nil {
		return 0, err
	}
	row := assay.Publication{
		Version: version, PublishedAt: p.PublishedAt, Methodology: p.Methodology, Receipt: p.Receipt,
		Reason: p.Reason, Actor: p.Actor,
	}
	if err := insertPublication(tx, row, p.Covers); err != nil {
		return 0, err
	}
	if err := auditRestatement(tx, row, p); err != nil {
		return 0, err
	}
	for i := range p.Notices {
		p.Notices[i].At = p.PublishedAt
	}
	if _, err := tx.addNotices(p.Notices...); err != nil {
		return 0, err
	}
	tx.published = published{version, p.Series}
	return version, writeRecords(tx, &d, version, p.Series)
}

// published is the publication that a transaction writes, so that the log need not read it back.
type published struct {
	version int64 // 0 for none
	series  []SeriesRecords
}

// inLogOrder returns the records of a publication in the order of the log, which is that of manifests.
func (p *published) inLogOrder() []*assay.Determination {
	var list []*assay.Determination
	for _, s := range p.series {
		for i := range s.Records {
			list = append(list, &s.Records[i])
		}
	}
	slices.SortStableFunc(list, func(a, b *assay.Determination) int {
		return cmp.Or(cmp.Compare(a.GPU, b.GPU), cmp.Compare(a.Region, b.Region),
			cmp.Compare(a.Grain.String(), b.Grain.String()), cmp.Compare(a.At, b.At), cmp.Compare(a.Revision, b.Revision))
	})
	return list
}

func insertPublication(tx *tx, p assay.Publication, covers Coverage) error {
	return tx.exec(`INSERT INTO publications (version, published_at, methodology, receipt, reason, actor, checksum)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`, p.Version, p.PublishedAt, p.Methodology, p.Receipt,
		nullText(p.Reason), nullText(p.Actor), publicationSum(p, covers))
}

func writeRecords(tx *tx, d *dictionary, version int64, series []SeriesRecords) error {
	w, err := newRecordWriter(tx, version)
	if err != nil {
		return err
	}
	defer w.close()
	for _, s := range series {
		if len(s.Records) == 0 {
			continue
		}
		if err := w.series(d, s); err != nil {
			return err
		}
	}
	return inOrder(w.flush, w.markUnsigned)
}

// auditRestatement logs a restatement. Regular publications are not logged.
func auditRestatement(tx *tx, row assay.Publication, p Publication) error {
	if p.Reason == "" {
		return nil
	}
	gpus, revisions := map[string]bool{}, 0
	for key := range p.Covers {
		gpus[key.GPU] = true
	}
	for _, s := range p.Series {
		revisions += len(s.Records)
	}
	period := p.Covers.bounds()
	return tx.audit("publication.restate", fmt.Sprintf("publication:%d", row.Version), detail{
		"gpu": slices.Sorted(maps.Keys(gpus)), "said_by": p.Actor, "reason": p.Reason, "revisions": revisions,
		"from": assay.FormatInstant(period.From), "to": assay.FormatInstant(period.To),
	})
}

func nullText(text string) sql.NullString { return sql.NullString{String: text, Valid: text != ""} }

// recordWriter writes the records of one version.
type recordWriter struct {
	tx              *tx
	version         int64
	points, records bulk
	packer          *pointPacker
	days            map[int64]bool // the days of the records
}

func newRecordWriter(tx *tx, version int64) (w *recordWriter, err error) {
	if err := packMissing(tx, version); err != nil {
		return nil, err
	}
	w = &recordWriter{tx: tx, version: version, packer: newPointPacker(tx, version), days: map[int64]bool{}}
	if w.points, err = tx.engine.newBulk(tx, pointsTable); err != nil {
		return nil, err
	}
	if w.records, err = tx.engine.newBulk(tx, recordsTable); err != nil {
		w.points.close()
		return nil, err
	}
	return w, nil
}

func (w *recordWriter) flush() error {
	return inOrder(w.points.flush, w.records.flush, w.packer.finish)
}

func (w *recordWriter) close() {
	w.points.close()
	w.records.close()
}

// usualBody is the size that most bodies of records do not exceed.
const usualBody = 192

func (w *recordWriter) series(d *dictionary, s SeriesRecords) error {
	id, sequence, err := w.extend(d, s)
	if err != nil {
		return err
	}
	for i := range s.Records {
		r := &s.Records[i]
		value := sql.NullInt64{Int64: int64(r.Value), Valid: r.HasValue}
		if err := w.points.add(id, r.At, int64(r.Revision), value, w.version); err != nil {
			return err
		}
		revision := assay.Revision{
			Point: assay.Point{At: r.At, Value: r.Value}, Number: r.Revision, Gone: !r.HasValue, Version: w.version,
		}
		if err := w.packer.add(packedPoint{id, revision}); err != nil {
			return err
		}
		sequence++
		body := appendBody(binary.AppendVarint(make([]byte, 0, usualBody), w.version), r)
		if err := w.records.add(id, r.At, int64(r.Revision), sequence, body); err != nil {
			return err
		}
		w.days[assay.StartOfDay(r.At)] = true
	}
	first, last := s.Records[0].At, s.Records[0].At
	for i := range s.Records {
		first, last = min(first, s.Records[i].At), max(last, s.Records[i].At)
	}
	return w.tx.exec(`INSERT INTO publication_series (version, series_id, first_at, last_at) VALUES ($1, $2, $3, $4)`,
		w.version, id, first, last)
}

// extend moves the head of a series' chain to the last of the new records, which must begin at the old head. It returns
// the series and the length of its chain before.
func (w *recordWriter) extend(d *dictionary, s SeriesRecords) (id, length int64, err error) {
	gpu, ok := d.gpus.ids[s.GPU]
	if !ok {
		return 0, 0, fmt.Errorf("publish %s: not in the catalog", s.GPU)
	}
	region, ok := d.regions.ids[s.Region]
	if !ok && s.Region != assay.Global {
		return 0, 0, fmt.Errorf("publish %s in %s: the region is not in the catalog", s.GPU, s.Region)
	}
	var head []byte
	// The update changes nothing; it makes the statement return an existing row.
	err = w.tx.QueryRowContext(w.tx.ctx, `INSERT INTO series (gpu_id, region_id, grain) VALUES ($1, $2, $3)
		ON CONFLICT (gpu_id, region_id, grain) DO UPDATE SET grain = excluded.grain RETURNING series_id, records, head`,
		gpu, region, s.Grain.String()).Scan(&id, &length, &head)
	if err != nil {
		return 0, 0, err
	}
	var before assay.Hash
	copy(before[:], head)
	if s.Records[0].Previous != before {
		return 0, 0, ErrOvertaken
	}
	for i := range s.Records[1:] {
		if s.Records[i+1].Previous != s.Records[i].Hash {
			return 0, 0, fmt.Errorf("publish %s in %s: records %d and %d do not follow each other", s.GPU, s.Region, i, i+1)
		}
	}
	last := &s.Records[len(s.Records)-1]
	return id, length, w.tx.exec(`UPDATE series SET records = $1, head = $2 WHERE series_id = $3`,
		length+int64(len(s.Records)), last.Hash[:], id)
}

// markUnsigned lists the days whose manifests no longer include all their records.
func (w *recordWriter) markUnsigned() error {
	for day := range w.days {
		if err := w.tx.exec(`INSERT INTO unsigned_days (day) VALUES ($1) ON CONFLICT DO NOTHING`, day); err != nil {
			return err
		}
	}
	return nil
}

const publicationColumns = `version, published_at, methodology, receipt, coalesce(reason, ''), coalesce(actor, '')`

// publicationFields returns the fields that the publicationColumns are scanned into.
func publicationFields(p *assay.Publication) []any {
	return []any{&p.Version, &p.PublishedAt, &p.Methodology, &p.Receipt, &p.Reason, &p.Actor}
}

// Publications lists the versions in (after, upTo], oldest first.
func (db *DB) Publications(ctx context.Context, after, upTo int64) (list []assay.Publication, err error) {
	err = db.read(ctx, func(tx *tx) error {
		list = nil
		return tx.each(`SELECT `+publicationColumns+` FROM publications
			WHERE version > $1 AND version <= $2 ORDER BY version`,
			[]any{after, upTo}, func(scan scanFunc) error {
				var p assay.Publication
				if err := scan(publicationFields(&p)...); err != nil {
					return err
				}
				list = append(list, p)
				return nil
			})
	})
	return list, err
}

// Change is the part of a series that a version changed.
type Change struct {
	Version int64
	assay.Line
	Grain       assay.Grain
	First, Last int64 // instants of the first and the last point
}

// Changes lists what the versions in (after, upTo] changed, oldest first.
func (db *DB) Changes(ctx context.Context, after, upTo int64) (changes []Change, err error) {
	err = db.read(ctx, func(tx *tx) error {
		changes = nil
		return tx.each(`SELECT version, `+seriesNames+`,
			first_at, last_at FROM publication_series JOIN series USING (series_id)
			`+joinSeriesNames+` WHERE version > $1 AND version <= $2 ORDER BY version, series_id`,
			[]any{after, upTo}, func(scan scanFunc) error {
				var c Change
				if err := scan(&c.Version, &c.GPU, &c.Region, (*grainText)(&c.Grain), &c.First, &c.Last); err != nil {
					return err
				}
				changes = append(changes, c)
				return nil
			})
	})
	return changes, err
}

// Revisions reads the revisions of the points of a series in [first, last] that the versions in (after, upTo] added, in
// the order of instant and revision. Revisions are added and never changed, so several series read up to one version
// are consistent, whatever is published meanwhile.
func (db *DB) Revisions(
	ctx context.Context, line assay.Line, grain assay.Grain, first, last, after, upTo int64,
) (list []assay.Revision, err error) {
	err = db.read(ctx, func(tx *tx) error {
		list = nil
		return tx.each(`SELECT at, revision, value_nanos, version FROM points WHERE series_id = (`+selectSeriesID+`)
			AND at BETWEEN $4 AND $5 AND version > $6 AND version <= $7 ORDER BY at, revision`,
			[]any{line.GPU, line.Region, grain.String(), first, last, after, upTo}, func(scan scanFunc) error {
				var r assay.Revision
				var value sql.NullInt64
				if err := scan(&r.At, &r.Number, &value, &r.Version); err != nil {
					return err
				}
				r.Value, r.Gone = assay.Nanos(value.Int64), !value.Valid
				list = append(list, r)
				return nil
			})
	})
	return list, err
}
