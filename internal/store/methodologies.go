package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/assaydata/assay"
)

// ErrTooLate is the error for a methodology that would apply to slots that have been determined.
var ErrTooLate = errors.New("too late: published values keep the methodology they were made with")

// Methodologies lists the versions in the order in which they take effect.
func (db *DB) Methodologies(ctx context.Context) (list []assay.MethodologyFile, err error) {
	err = db.read(ctx, func(tx *tx) error {
		list, err = readMethodologies(tx)
		return err
	})
	return list, err
}

func readMethodologies(tx *tx) (list []assay.MethodologyFile, err error) {
	query := `SELECT ` + methodologyColumns + `, checksum FROM methodologies ORDER BY effective_at`
	err = tx.each(query, nil, func(scan scanFunc) error {
		var m assay.MethodologyFile
		var sum int64
		if err := scan(append(methodologyFields(&m), &sum)...); err != nil {
			return err
		}
		list = append(list, m)
		if methodologySum(m) != sum {
			return fmt.Errorf("%w: methodology %s does not match its checksum", ErrDamaged, m.Version)
		}
		return nil
	})
	return list, err
}

const methodologyColumns = `version, effective_at, adopted_at, text, reason, approver`

func methodologyFields(m *assay.MethodologyFile) []any {
	return []any{&m.Version, &m.Effective, &m.Adopted, &m.Text, &m.Reason, &m.Approver}
}

// methodologySum is as in releases before 0.6.0 if there is no reason.
func methodologySum(m assay.MethodologyFile) int64 {
	if m.Reason == "" && m.Approver == "" {
		return ledgerSum(m.Version, m.Effective, m.Adopted, m.Text)
	}
	return ledgerSum(m.Version, m.Effective, m.Adopted, m.Text, m.Reason, m.Approver)
}

// ErrNoNotice is the error for a methodology that would apply before its users know of it.
var ErrNoNotice = errors.New("too early: users need notice of a change")

// AdoptMethodology stores a version. It must take effect after all time that has been determined and, once anything is
// published, not before the notice has passed. Adopting the same text again changes nothing.
func (db *DB) AdoptMethodology(ctx context.Context, m assay.MethodologyFile, notice time.Duration) error {
	return db.write(ctx, func(tx *tx) error {
		var text string
		err := tx.each(`SELECT text FROM methodologies WHERE version = $1`, []any{m.Version},
			func(scan scanFunc) error { return scan(&text) })
		if err != nil || text == m.Text {
			return err
		}
		if text != "" {
			return fmt.Errorf("version %s was adopted with another text: give the new text a new version", m.Version)
		}
		coverage, err := readCoverage(tx)
		if err != nil {
			return err
		}
		for key := range coverage {
			if end := coverage.End(key); end >= m.Effective {
				return fmt.Errorf("%w: %s is determined up to %s", ErrTooLate, key.GPU, assay.FormatInstant(end))
			}
		}
		if err := checkNoValueAfter(tx, m.Effective); err != nil {
			return err
		}
		m.Adopted = tx.now
		if earliest := m.Adopted + notice.Milliseconds(); len(coverage) > 0 && m.Effective < earliest {
			return fmt.Errorf("%w: version %s can take effect at %s at the earliest, not at %s", ErrNoNotice, m.Version,
				assay.FormatInstant(earliest), assay.FormatInstant(m.Effective))
		}
		err = tx.exec(`INSERT INTO methodologies (`+methodologyColumns+`, checksum) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			m.Version, m.Effective, m.Adopted, m.Text, m.Reason, m.Approver, methodologySum(m))
		if err != nil {
			return err
		}
		if len(coverage) > 0 {
			_, err := tx.addNotices(assay.Notice{
				At: tx.now, Kind: assay.MethodologyNotice, About: m.Effective, Actor: tx.actor(), Approver: m.Approver,
				Text: fmt.Sprintf("Version %s of the methodology was adopted: %s", m.Version, m.Reason),
			})
			if err != nil {
				return err
			}
		}
		d := detail{
			"effective_at": assay.FormatInstant(m.Effective), "reason": m.Reason, "approver": m.Approver,
		}
		if err := tx.audit("methodology.adopt", "methodology:"+m.Version, d); err != nil {
			return err
		}
		_, err = tx.bump("methodology")
		return err
	})
}
