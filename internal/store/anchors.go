package store

import (
	"context"
	"fmt"

	"github.com/assaydata/assay/internal/proof"
)

// Unanchored returns the newest checkpoint that was signed at an instant or later, unless one of those has an anchor;
// its Size is 0 if there is none.
func (db *DB) Unanchored(ctx context.Context, since int64) (c proof.SignedCheckpoint, err error) {
	err = db.read(ctx, func(tx *tx) error {
		c = proof.SignedCheckpoint{}
		last, err := lastCheckpoint(tx)
		if err != nil || last.SignedAt < since {
			return err
		}
		var anchored int
		err = tx.QueryRowContext(tx.ctx, `SELECT count(*) FROM anchors JOIN checkpoints USING (size)
			WHERE signed_at >= $1`, since).Scan(&anchored)
		if err == nil && anchored == 0 {
			c = last
		}
		return err
	})
	return c, err
}

const anchorColumns = `size, stamped_at, authority, token`

// AddAnchor stores an anchor. A second one of the same checkpoint changes nothing: two nodes may have asked for it.
func (db *DB) AddAnchor(ctx context.Context, a proof.Anchor) error {
	return db.write(ctx, func(tx *tx) error {
		return tx.exec(`INSERT INTO anchors (`+anchorColumns+`, checksum) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT DO NOTHING`, a.Size, a.StampedAt, a.Authority, a.Token, anchorSum(&a))
	})
}

// anchorSum detects damage of what the authority has not signed, such as its URL.
func anchorSum(a *proof.Anchor) int64 {
	return ledgerSum(a.Size, a.StampedAt, a.Authority, string(a.Token))
}

// Anchors returns anchors of checkpoints with more than so many entries, with the text of the checkpoints: the first
// ones in the order of their sizes, at most as many as asked for.
func (db *DB) Anchors(ctx context.Context, after int64, most int) (list []proof.AnchoredCheckpoint, err error) {
	err = db.read(ctx, func(tx *tx) error {
		list = nil
		return tx.each(`SELECT `+anchorColumns+`, note FROM anchors JOIN checkpoints USING (size)
			WHERE size > $1 ORDER BY size LIMIT $2`, []any{after, most}, func(scan scanFunc) error {
			var a proof.AnchoredCheckpoint
			var c proof.SignedCheckpoint
			err := scan(&a.Size, &a.StampedAt, &a.Authority, &a.Token, &c.Note)
			a.Text = c.Text()
			list = append(list, a)
			return err
		})
	})
	return list, err
}

// readAnchors reads all anchors, also those without a checkpoint.
func readAnchors(tx *tx) (list []proof.Anchor, err error) {
	err = tx.each(`SELECT `+anchorColumns+`, checksum FROM anchors ORDER BY size`, nil, func(scan scanFunc) error {
		var a proof.Anchor
		var sum int64
		if err := scan(&a.Size, &a.StampedAt, &a.Authority, &a.Token, &sum); err != nil {
			return err
		}
		if anchorSum(&a) != sum {
			return fmt.Errorf("%w: the anchor of the checkpoint of %d entries of the log does not match its checksum",
				ErrDamaged, a.Size)
		}
		list = append(list, a)
		return nil
	})
	return list, err
}
