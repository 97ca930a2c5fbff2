package store

import (
	"context"
	"fmt"

	"github.com/assaydata/assay"
)

// dayHashes returns the hashes of the records of a day in the order of GPU, region, grain, instant and revision, and
// how many of the records replace others.
func dayHashes(tx *tx, day int64) (hashes []assay.Hash, revisions int, err error) {
	err = tx.each(`SELECT substr(r.body, length(r.body) - 31), r.revision > 0 FROM
			(SELECT series_id, `+seriesNames+` FROM series `+joinSeriesNames+` ORDER BY gpu_name, region_name, grain) s
		CROSS JOIN records r WHERE r.series_id = s.series_id AND r.at >= $1 AND r.at < $2
		ORDER BY s.gpu_name, s.region_name, s.grain, r.at, r.revision`,
		[]any{day, day + assay.Day}, func(scan scanFunc) error {
			var hash []byte
			var replaces bool
			if err := scan(&hash, &replaces); err != nil {
				return err
			}
			if replaces {
				revisions++
			}
			var h assay.Hash
			copy(h[:], hash) // if its length is wrong, the manifest will not match
			hashes = append(hashes, h)
			return nil
		})
	return hashes, revisions, err
}

// Unsigned is a day whose records have changed since its manifest was signed, and the input of its next manifest.
type Unsigned struct {
	Day         int64
	Revision    int   // of the next manifest
	Publication int64 // the newest, which the hashes include
	Receipt     int64 // that it knew
	Hashes      []assay.Hash
	Revisions   int        // how many of the hashes are of records that replace others
	Previous    assay.Hash // of the last manifest of all
}

// NextUnsigned returns the first unsigned day that ended by the instant; ok is false when there is none.
func (db *DB) NextUnsigned(ctx context.Context, by int64) (u Unsigned, ok bool, err error) {
	err = db.read(ctx, func(tx *tx) error {
		ok = false
		err := tx.each(`SELECT day, (SELECT count(*) FROM manifests m WHERE m.day = u.day) FROM unsigned_days u
			WHERE day <= $1 ORDER BY day LIMIT 1`, []any{by - assay.Day}, func(scan scanFunc) error {
			ok = true
			return scan(&u.Day, &u.Revision)
		})
		if err != nil || !ok {
			return err
		}
		if u.Hashes, u.Revisions, err = dayHashes(tx, u.Day); err != nil {
			return err
		}
		if u.Previous, err = lastManifestHash(tx); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, `SELECT version, receipt FROM publications ORDER BY version DESC LIMIT 1`).
			Scan(&u.Publication, &u.Receipt)
	})
	return u, ok, err
}

func lastManifestHash(tx *tx) (hash assay.Hash, err error) {
	err = tx.each(`SELECT hash FROM manifests ORDER BY sequence DESC LIMIT 1`, nil, func(scan scanFunc) error {
		var b []byte
		err := scan(&b)
		copy(hash[:], b)
		return err
	})
	return hash, err
}

// AddManifest stores the manifest of an unsigned day. If something was signed or published in between, it returns
// ErrOvertaken and writes nothing.
func (db *DB) AddManifest(ctx context.Context, u Unsigned, m assay.Manifest) error {
	return db.write(ctx, func(tx *tx) error {
		if err := checkSigner(tx, m.PublicKey); err != nil {
			return err
		}
		last, err := lastManifestHash(tx)
		if err != nil {
			return err
		}
		current, err := tx.counter("publication")
		if err != nil {
			return err
		}
		if last != u.Previous || current != u.Publication {
			return ErrOvertaken
		}
		tx.logDue = true
		sequence, err := tx.bump("manifest")
		if err != nil {
			return err
		}
		err = tx.exec(`INSERT INTO manifests (sequence, `+manifestColumns+`)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
			sequence, m.Day, m.Revision, m.Publication, m.Receipt, m.Records, m.Revisions, m.Digest[:], m.SignedAt,
			m.Previous[:], m.Hash[:], m.PublicKey, m.Signature)
		if err != nil {
			return err
		}
		return tx.exec(`DELETE FROM unsigned_days WHERE day = $1`, m.Day)
	})
}

// manifestColumns are the columns of a manifest without its sequence number.
const manifestColumns = `day, revision, publication, receipt, records, revisions, digest, signed_at, previous, hash,
	public_key, signature`

// LastManifest returns the manifest that was signed last; ok is false when there is none.
func (db *DB) LastManifest(ctx context.Context) (m assay.Manifest, ok bool, err error) {
	err = db.read(ctx, func(tx *tx) error {
		list, err := readManifests(tx, `ORDER BY sequence DESC LIMIT 1`)
		if ok = len(list) > 0; ok {
			m = list[0]
		}
		return err
	})
	return m, ok, err
}

// Manifests returns the manifests with a sequence number in (after, upTo], in the order in which they were signed.
func (db *DB) Manifests(ctx context.Context, after, upTo int64) (list []assay.Manifest, err error) {
	err = db.read(ctx, func(tx *tx) error {
		list, err = readManifests(tx, `WHERE sequence > $1 AND sequence <= $2 ORDER BY sequence`, after, upTo)
		return err
	})
	return list, err
}

func readManifests(tx *tx, where string, args ...any) (list []assay.Manifest, err error) {
	err = tx.each(`SELECT `+manifestColumns+` FROM manifests `+where, args, func(scan scanFunc) error {
		var m assay.Manifest
		var digest, previous, hash []byte
		err := scan(&m.Day, &m.Revision, &m.Publication, &m.Receipt, &m.Records, &m.Revisions, &digest, &m.SignedAt,
			&previous, &hash, &m.PublicKey, &m.Signature)
		if err != nil {
			return err
		}
		for _, field := range []struct {
			to   *assay.Hash
			from []byte
		}{{&m.Digest, digest}, {&m.Previous, previous}, {&m.Hash, hash}} {
			if len(field.from) != len(field.to) {
				return fmt.Errorf("%w: the manifest of %s has a hash of another length", ErrDamaged, assay.FormatInstant(m.Day))
			}
			*field.to = assay.Hash(field.from)
		}
		list = append(list, m)
		return nil
	})
	return list, err
}

// readUnsigned lists the days whose records have changed since their manifest was signed.
func readUnsigned(tx *tx) (days []int64, err error) {
	err = tx.each(`SELECT day FROM unsigned_days ORDER BY day`, nil, func(scan scanFunc) error {
		var day int64
		err := scan(&day)
		days = append(days, day)
		return err
	})
	return days, err
}
