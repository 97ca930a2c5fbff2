package store

import (
	"context"
	"errors"
)

// Watchlist reads the GPU models that an account watches, in its order.
func (db *DB) Watchlist(ctx context.Context, accountID int64) (gpus []string, err error) {
	err = db.read(ctx, func(tx *tx) error {
		gpus, err = readWatchlist(tx, accountID)
		return err
	})
	return gpus, err
}

// ChangeWatchlist lets change decide what an account watches, from what it watched before.
func (db *DB) ChangeWatchlist(
	ctx context.Context, accountID int64, change func(before []string) ([]string, error),
) error {
	return db.write(ctx, func(tx *tx) error {
		if _, err := openAccount(tx, accountID); err != nil {
			return err
		}
		before, err := readWatchlist(tx, accountID)
		if err != nil {
			return err
		}
		gpus, err := change(before)
		if err != nil {
			return err
		}
		if err := tx.exec(`DELETE FROM watchlist WHERE account_id = $1`, accountID); err != nil {
			return err
		}
		for i, gpu := range gpus {
			err := tx.exec(`INSERT INTO watchlist (account_id, position, gpu) VALUES ($1, $2, $3)`, accountID, i, gpu)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func readWatchlist(tx *tx, accountID int64) (gpus []string, err error) {
	err = tx.each(`SELECT gpu FROM watchlist WHERE account_id = $1 ORDER BY position`, []any{accountID},
		func(scan scanFunc) error {
			var gpu string
			err := scan(&gpu)
			gpus = append(gpus, gpu)
			return err
		})
	return gpus, err
}

// SavedView is an address of the dashboard that an account has saved under a name.
type SavedView struct {
	ID        string // public
	AccountID int64
	Name      string
	Path      string // with its query
	CreatedAt int64
}

// Errors of the methods about saved views.
var (
	ErrNoView     = errors.New("there is no such saved view")
	ErrViewExists = errors.New("the account has a saved view with this name")
)

const viewColumns = `view_id, account_id, name, path, created_at`

// SavedViews lists the saved views of an account, oldest first.
func (db *DB) SavedViews(ctx context.Context, accountID int64) (list []SavedView, err error) {
	err = db.read(ctx, func(tx *tx) error {
		list, err = readViews(tx, accountID)
		return err
	})
	return list, err
}

// AddSavedView stores a new view, unless its account has as many as it may have, or another one with its name.
func (db *DB) AddSavedView(ctx context.Context, v SavedView, most int) (SavedView, error) {
	err := db.write(ctx, func(tx *tx) error {
		if _, err := openAccount(tx, v.AccountID); err != nil {
			return err
		}
		has, err := readViews(tx, v.AccountID)
		if err != nil {
			return err
		}
		for i := range has {
			if has[i].Name == v.Name {
				return ErrViewExists
			}
		}
		if len(has) >= most {
			return ErrTooMany
		}
		v.CreatedAt = tx.now
		return tx.exec(`INSERT INTO saved_views (`+viewColumns+`) VALUES ($1, $2, $3, $4, $5)`,
			v.ID, v.AccountID, v.Name, v.Path, v.CreatedAt)
	})
	return v, err
}

// RemoveSavedView deletes a saved view of an account.
func (db *DB) RemoveSavedView(ctx context.Context, accountID int64, id string) error {
	return db.write(ctx, func(tx *tx) error {
		result, err := tx.ExecContext(tx.ctx, `DELETE FROM saved_views WHERE account_id = $1 AND view_id = $2`, accountID, id)
		if err != nil {
			return err
		}
		if removed, err := result.RowsAffected(); err != nil || removed > 0 {
			return err
		}
		return ErrNoView
	})
}

func readViews(tx *tx, accountID int64) (list []SavedView, err error) {
	err = tx.each(`SELECT `+viewColumns+` FROM saved_views WHERE account_id = $1 ORDER BY created_at, view_id`,
		[]any{accountID}, func(scan scanFunc) error {
			var v SavedView
			err := scan(&v.ID, &v.AccountID, &v.Name, &v.Path, &v.CreatedAt)
			list = append(list, v)
			return err
		})
	return list, err
}

// forgetPersonal deletes what an account has kept for itself.
func forgetPersonal(tx *tx, accountID int64) error {
	return inOrder(
		func() error { return tx.exec(`DELETE FROM watchlist WHERE account_id = $1`, accountID) },
		func() error { return tx.exec(`DELETE FROM saved_views WHERE account_id = $1`, accountID) },
	)
}
