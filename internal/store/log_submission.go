package store

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/verifier"
	"golang.org/x/mod/sumdb/tlog"
)

// ErrNotInCheckpoint is the error for transactions that are in the log, and in no checkpoint yet.
var ErrNotInCheckpoint = errors.New("no checkpoint of the log includes all of the transactions yet")

// ProveTransactions proves that the log has transactions, as they were received. It shows only transactions of their
// providers. Missing are those that are not in the log, by their place in the list.
func (db *DB) ProveTransactions(
	ctx context.Context, list []assay.Transaction,
) (s verifier.Submission, missing []int, err error) {
	w := wantedTransactions{}
	for i := range list {
		w.add(&list[i])
	}
	var groups []openedGroup
	err = db.read(ctx, func(tx *tx) error {
		groups, err = w.open(tx)
		return err
	})
	if err != nil {
		return s, nil, err
	}
	for i := range list {
		if t := &list[i]; !w[hourOf(t)][proof.Transaction(t)].found {
			missing = append(missing, i)
		}
	}
	if err := db.findEntries(ctx, groups); err != nil {
		return s, nil, err
	}
	s, err = db.proveGroups(ctx, groups)
	return s, missing, err
}

// wantedTransactions are the transactions to find, by their hour and digest.
type wantedTransactions map[int64]map[assay.Hash]*wanted

type wanted struct {
	provider string
	found    bool
}

func hourOf(t *assay.Transaction) int64 { return numberSegment(t.ExecutedAt, 0).hour() }

func (w wantedTransactions) add(t *assay.Transaction) {
	hour := hourOf(t)
	if w[hour] == nil {
		w[hour] = map[assay.Hash]*wanted{}
	}
	w[hour][proof.Transaction(t)] = &wanted{provider: t.Provider}
}

// openedGroup is a group of transactions, and the entry that commits to it.
type openedGroup struct {
	verifier.TransactionGroup
	entry string
}

// open finds the transactions in the tables.
func (w wantedTransactions) open(tx *tx) (groups []openedGroup, err error) {
	d, err := readDictionary(tx)
	if err != nil {
		return nil, err
	}
	e, err := newSegmentEntries(tx)
	for _, hour := range slices.Sorted(maps.Keys(w)) {
		if err != nil {
			break
		}
		first, end := segmentsOf(hour, hour+assay.Hour)
		err = tx.eachSegment(`WHERE segment >= $1 AND segment < $2 ORDER BY segment`, []any{int64(first), int64(end)},
			func(s *segment) error {
				if e.list, err = d.appendSegment(e.list[:0], s); err != nil {
					return err
				}
				entry := string(e.entry(s.number))
				for _, provider := range w.providersOf(hour, e.digests) {
					group := e.groups.Open(s.number.receipt(), hour, e.list, e.digests, provider)
					groups = append(groups, openedGroup{group, entry})
				}
				return nil
			})
	}
	return groups, err
}

// providersOf returns the providers of those transactions that are wanted, and marks these as found.
func (w wantedTransactions) providersOf(hour int64, digests []assay.Hash) (providers []string) {
	for _, digest := range digests {
		if one := w[hour][digest]; one != nil {
			one.found = true
			providers = append(providers, one.provider)
		}
	}
	slices.Sort(providers)
	return slices.Compact(providers)
}

// findEntries finds where the log has the entries of groups.
func (db *DB) findEntries(ctx context.Context, groups []openedGroup) error {
	leaves := map[string]int64{}
	for _, g := range groups {
		leaves[g.entry] = -1
	}
	head, err := db.LogHead(ctx)
	if err != nil {
		return err
	}
	err = db.EachLogEntry(ctx, head.Size, func(leaf int64, entry []byte) error {
		if _, wanted := leaves[string(entry)]; wanted {
			leaves[string(entry)] = leaf
		}
		return nil
	})
	for i := range groups {
		groups[i].Entry, groups[i].LeafIndex = groups[i].entry, leaves[groups[i].entry]
		if err == nil && groups[i].LeafIndex < 0 {
			err = ErrNotInCheckpoint // it came only now
		}
	}
	return err
}

// proveGroups adds the proofs that a checkpoint includes the entries of groups.
func (db *DB) proveGroups(ctx context.Context, groups []openedGroup) (s verifier.Submission, err error) {
	err = db.withKeptTiles(ctx, func(tx *tx, r tlog.HashReader, _ int64) error {
		s = verifier.Submission{}
		last, err := lastCheckpoint(tx)
		if err != nil {
			return err
		}
		for i := range groups {
			g := &groups[i]
			if g.LeafIndex >= last.Size {
				return ErrNotInCheckpoint
			}
			hashes, err := tlog.ProveRecord(last.Size, g.LeafIndex, r)
			if err != nil {
				return err
			}
			g.Hashes = proof.HashTexts(hashes)
			s.Groups = append(s.Groups, g.TransactionGroup)
		}
		if err := addCosignatures(tx, &last, assay.Latest); err != nil {
			return err
		}
		s.Checkpoint = last.Note
		if s.Log, err = readLogOrigin(tx); err != nil {
			return err
		}
		s.Keys, err = readKeyEvents(tx)
		return err
	})
	return s, err
}
