package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/verifier"
)

// ErrSigner is the error for something that is signed with another key than the log's.
var ErrSigner = errors.New("the signing key is not the one that the log names")

// SigningKeys returns the keys of the log, as their events have changed them.
func (db *DB) SigningKeys(ctx context.Context) (keys *verifier.Keys, err error) {
	err = db.read(ctx, func(tx *tx) error {
		keys, err = readSigningKeys(tx)
		return err
	})
	return keys, err
}

func readSigningKeys(tx *tx) (*verifier.Keys, error) {
	log, err := readLogOrigin(tx)
	if err != nil {
		return nil, err
	}
	text, err := readKeyEvents(tx)
	if err != nil {
		return nil, err
	}
	if last := tx.db.checkedKeys.Load(); last != nil && last.log == log && last.text == text {
		return last.keys, nil
	}
	keys, err := verifier.ReadKeys(log, text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	tx.db.checkedKeys.Store(&checkedKeys{log, text, keys})
	return keys, nil
}

// checkedKeys are keys whose events were checked.
type checkedKeys struct {
	log, text string // of the events
	keys      *verifier.Keys
}

// KeyEvents returns the events of the log's key, one in each line.
func (db *DB) KeyEvents(ctx context.Context) (text string, err error) {
	err = db.read(ctx, func(tx *tx) error {
		text, err = readKeyEvents(tx)
		return err
	})
	return text, err
}

func readKeyEvents(tx *tx) (text string, err error) {
	err = eachKeyEntry(tx, nil, 0, assay.Latest, func(entry []byte) error {
		text += string(entry) + "\n"
		return nil
	})
	return text, err
}

func eachKeyEntry(tx *tx, _ proof.Salt, after, upTo int64, f entryFunc) error {
	return tx.each(`SELECT text FROM key_events WHERE event > $1 AND event <= $2 ORDER BY event`, []any{after, upTo},
		func(scan scanFunc) error {
			var text string
			if err := scan(&text); err != nil {
				return err
			}
			return f([]byte(text))
		})
}

// AddKeyEvents appends events to those of the log's key, all or none. They must follow the ones that are known, and be
// signed. If others were added meanwhile, the error is ErrOvertaken.
func (db *DB) AddKeyEvents(ctx context.Context, known *verifier.Keys, events ...string) error {
	return db.write(ctx, func(tx *tx) error {
		before, err := readKeyEvents(tx)
		if err != nil {
			return err
		}
		if strings.Count(before, "\n") != len(known.Events()) {
			return ErrOvertaken
		}
		keys, err := verifier.ReadKeys(known.Log(), before+strings.Join(events, "\n")+"\n")
		if err != nil {
			return err
		}
		for i, e := range keys.Events()[len(known.Events()):] {
			if err := tx.exec(`INSERT INTO key_events (event, text) VALUES ($1, $2)`, e.Number, events[i]); err != nil {
				return err
			}
			subject := "signing-key:" + proof.KeyID(e.PublicKey)
			if err := tx.audit("signing-key."+e.Action, subject, detail{"reason": e.Reason}); err != nil {
				return err
			}
		}
		return nil
	})
}

// checkSigner checks that a key is the one that the log names, if it names one.
func checkSigner(tx *tx, key []byte) error {
	keys, err := readSigningKeys(tx)
	if err == nil && keys.Current() != nil && !bytes.Equal(keys.Current(), key) {
		err = ErrSigner
	}
	return err
}
