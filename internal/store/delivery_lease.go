package store

import "context"

// Lease is who delivers: of all nodes one at a time.
//
// A lease needs no clocks that agree. Its holder raises the beat again and again. Another node takes over after it has
// watched the same beat for LeaseTimeout by its own clock, and raises the fence, which every result of an attempt is
// compared with. A holder that was paused finds out with its next write. It begins no attempt that could end after
// another node may have taken over.
type Lease struct {
	Fence, Beat int64
	Held        bool
}

// Lease reads the lease.
func (db *DB) Lease(ctx context.Context) (l Lease, err error) {
	ctx, cancel := context.WithTimeout(ctx, headTimeout)
	defer cancel()
	err = db.read(ctx, func(tx *tx) error {
		return tx.QueryRowContext(ctx, `SELECT fence, beat, held FROM delivery_lease`).Scan(&l.Fence, &l.Beat, &l.Held)
	})
	return l, err
}

// TakeLease takes a lease that is free, or whose holder is silent, unless it has changed since it was read. Then it
// returns ErrLeaseLost.
func (db *DB) TakeLease(ctx context.Context, seen Lease) (Lease, error) {
	taken := Lease{Fence: seen.Fence + 1, Beat: seen.Beat + 1, Held: true}
	return taken, db.changeLease(ctx, `fence = fence + 1, beat = beat + 1, held = 1`, seen)
}

// RenewLease tells the other nodes that the holder is at work.
func (db *DB) RenewLease(ctx context.Context, l Lease) (Lease, error) {
	renewed := Lease{Fence: l.Fence, Beat: l.Beat + 1, Held: true}
	return renewed, db.changeLease(ctx, `beat = beat + 1`, l)
}

// ReleaseLease lets any node take the lease at once.
func (db *DB) ReleaseLease(ctx context.Context, l Lease) error {
	return db.changeLease(ctx, `held = 0`, l)
}

func (db *DB) changeLease(ctx context.Context, set string, l Lease) error {
	ctx, cancel := context.WithTimeout(ctx, headTimeout)
	defer cancel()
	return db.write(ctx, func(tx *tx) error {
		changed, err := tx.changes(`UPDATE delivery_lease SET `+set+` WHERE fence = $1 AND beat = $2 AND held = $3`,
			l.Fence, l.Beat, boolInt(l.Held))
		if err == nil && changed == 0 {
			err = ErrLeaseLost
		}
		return err
	})
}

// checkLease returns ErrLeaseLost if another node has taken the lease.
func (tx *tx) checkLease(l Lease) error {
	var fence int64
	err := tx.QueryRowContext(tx.ctx, `SELECT fence FROM delivery_lease`).Scan(&fence)
	if err == nil && fence != l.Fence {
		err = ErrLeaseLost
	}
	return err
}
