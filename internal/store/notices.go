package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/proof"
)

// Errors of AddNotice.
var (
	ErrEnds       = errors.New("a notice says already that the series end")
	ErrDoesNotEnd = errors.New("no notice says that the series end")
	ErrEndsBefore = errors.New("the series cannot end before what is published")
)

// AddNotice publishes a notice of the operator. The end of series must be after all time that has been determined, and
// not before readers had this much notice.
func (db *DB) AddNotice(ctx context.Context, n assay.Notice, notice time.Duration) (number int64, err error) {
	err = db.write(ctx, func(tx *tx) error {
		n.At, n.Actor = tx.now, tx.actor()
		if err := tx.checkNotice(&n, notice); err != nil {
			return err
		}
		if number, err = tx.addNotices(n); err != nil {
			return err
		}
		return tx.audit("notice."+string(n.Kind), noticeSubject(&n), detail{"notice": fmt.Sprint(number)})
	})
	return number, err
}

func noticeSubject(n *assay.Notice) string {
	if n.GPU == "" {
		return "index"
	}
	return "gpu:" + n.GPU
}

// checkNotice checks that series end, or continue, in the right order and in time.
func (tx *tx) checkNotice(n *assay.Notice, notice time.Duration) error {
	if n.Kind != assay.CessationNotice && n.Kind != assay.ResumptionNotice {
		return nil
	}
	all, err := readSeriesEnds(tx)
	if err != nil {
		return err
	}
	at, ends := all[n.GPU]
	if n.Kind == assay.ResumptionNotice {
		if !ends {
			return fmt.Errorf("%s: %w", n.GPU, ErrDoesNotEnd)
		}
		return nil
	}
	if ends {
		return fmt.Errorf("%s: %w, at %s", n.GPU, ErrEnds, assay.FormatInstant(at))
	}
	coverage, err := readCoverage(tx)
	if err != nil {
		return err
	}
	for _, grain := range assay.Grains {
		if end := coverage.End(CoverageKey{GPU: n.GPU, Grain: grain}); end > n.About {
			return fmt.Errorf("%w: %s is published up to %s", ErrEndsBefore, n.GPU, assay.FormatInstant(end))
		}
	}
	if earliest := n.At + notice.Milliseconds(); n.About < earliest {
		return fmt.Errorf("%w: the series of %s can end at %s at the earliest, not at %s", ErrNoNotice, n.GPU,
			assay.FormatInstant(earliest), assay.FormatInstant(n.About))
	}
	return nil
}

// addNotices adds notices under the next numbers, and returns the last.
func (tx *tx) addNotices(list ...assay.Notice) (number int64, err error) {
	if len(list) == 0 {
		return 0, nil
	}
	if number, err = tx.counter("notices"); err != nil {
		return 0, err
	}
	for _, n := range list {
		number++
		n.Number = number
		err := tx.exec(`INSERT INTO notices (`+noticeColumns+`, checksum)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`, n.Number, n.At, string(n.Kind), n.GPU, n.Region, n.About,
			n.Text, n.Actor, n.Approver, noticeSum(&n))
		if err != nil {
			return 0, err
		}
	}
	tx.logDue = true
	return number, tx.exec(`UPDATE counters SET value = $1 WHERE name = 'notices'`, number)
}

// SeriesEnds returns when the series of GPU models end, as the notices say. A model whose series do not end is not in
// it.
func (db *DB) SeriesEnds(ctx context.Context) (ends map[string]int64, err error) {
	err = db.read(ctx, func(tx *tx) error {
		ends, err = readSeriesEnds(tx)
		return err
	})
	return ends, err
}

func readSeriesEnds(tx *tx) (map[string]int64, error) {
	list, err := selectNotices(tx, `kind IN ($1, $2)`, string(assay.CessationNotice), string(assay.ResumptionNotice))
	ends := map[string]int64{}
	for _, n := range list {
		if n.Kind == assay.CessationNotice {
			ends[n.GPU] = n.About
		} else {
			delete(ends, n.GPU)
		}
	}
	return ends, err
}

// Notices returns the notices with numbers in (after, upTo], in their order.
func (db *DB) Notices(ctx context.Context, after, upTo int64) (list []assay.Notice, err error) {
	err = db.read(ctx, func(tx *tx) error {
		list, err = readNotices(tx, after, upTo)
		return err
	})
	return list, err
}

const noticeColumns = `notice, at, kind, gpu_name, region, about, text, actor, approver`

func readNotices(tx *tx, after, upTo int64) ([]assay.Notice, error) {
	return selectNotices(tx, `notice > $1 AND notice <= $2`, after, upTo)
}

func selectNotices(tx *tx, where string, args ...any) (list []assay.Notice, err error) {
	err = tx.each(`SELECT `+noticeColumns+`, checksum FROM notices WHERE `+where+` ORDER BY notice`, args,
		func(scan scanFunc) error {
			var n assay.Notice
			var sum int64
			err := scan(&n.Number, &n.At, (*string)(&n.Kind), &n.GPU, &n.Region, &n.About, &n.Text, &n.Actor, &n.Approver,
				&sum)
			if err != nil {
				return err
			}
			if sum != noticeSum(&n) {
				return fmt.Errorf("%w: notice %d does not match its checksum", ErrDamaged, n.Number)
			}
			list = append(list, n)
			return nil
		})
	return list, err
}

func noticeSum(n *assay.Notice) int64 {
	return ledgerSum(n.Number, n.At, string(n.Kind), n.GPU, n.Region, n.About, n.Text, n.Actor, n.Approver)
}

func eachNoticeEntry(tx *tx, s proof.Salt, after, upTo int64, f entryFunc) error {
	list, err := readNotices(tx, after, upTo)
	if err != nil {
		return err
	}
	return eachEntry(list, s, proof.AppendNoticeEntry, f)
}
