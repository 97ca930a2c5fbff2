package verify

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/assaydata/assay"
)

func verificationName(e *assay.Verification) string {
	return fmt.Sprintf("verification of transaction %s of %s, executed at %s",
		e.ID, e.Source, assay.FormatInstant(e.ExecutedAt))
}

func correctionName(c *assay.Correction) string {
	return fmt.Sprintf("correction of transaction %s of %s, executed at %s",
		c.ID, c.Source, assay.FormatInstant(c.ExecutedAt))
}

// rows returns the first and the last row of the chunk, plus one, that a source and id have at an instant: one, unless
// it was corrected. The transactions are in order.
func (k *chunk) rows(source, id string, executedAt int64) (first, end int) {
	first, _ = slices.BinarySearchFunc(k.transactions, 0, func(t assay.Transaction, _ int) int {
		return cmp.Or(cmp.Compare(t.ExecutedAt, executedAt), cmp.Compare(t.Source, source), cmp.Compare(t.ID, id), 1)
	})
	for end = first; end < len(k.transactions); end++ {
		if t := &k.transactions[end]; t.ExecutedAt != executedAt || t.Source != source || t.ID != id {
			break
		}
	}
	return first, end
}

// verified finds the transaction that a verification is of: the newest before it.
func (k *chunk) verified(e *assay.Verification) (row int, found bool) {
	first, end := k.rows(e.Source, e.ID, e.ExecutedAt)
	for end > first && k.transactions[end-1].Receipt >= e.Receipt {
		end--
	}
	return end - 1, end > first
}

// replaced finds the transaction that a correction has replaced.
func (k *chunk) replaced(c *assay.Correction) (row int, found bool) {
	first, end := k.rows(c.Source, c.ID, c.ExecutedAt)
	for row = first; row < end; row++ {
		if k.transactions[row].Receipt == c.Row {
			return row, true
		}
	}
	return 0, false
}

// dropStray drops the amendments of transactions that the chunk leaves out.
func (k *chunk) dropStray() {
	k.amendments.Verifications = slices.DeleteFunc(k.amendments.Verifications, func(e assay.Verification) bool {
		_, found := k.verified(&e)
		return !found
	})
	k.amendments.Corrections = slices.DeleteFunc(k.amendments.Corrections, func(c assay.Correction) bool {
		_, found := k.replaced(&c)
		return !found
	})
}

// checkAmendments checks that every amendment is of a transaction in the chunk, and changed it: a verification its
// state, and a correction, once, that it counts.
func checkAmendments(k *chunk) error {
	verified := map[int]bool{} // the state so far, by the row of the transaction
	for i := range k.amendments.Verifications {
		e := &k.amendments.Verifications[i]
		row, found := k.verified(e)
		if !found {
			return differs("%s: there is no such transaction", verificationName(e))
		}
		before, ok := verified[row]
		if !ok {
			before = k.transactions[row].Verified
		}
		if before == e.Verified {
			return differs("%s: it changes nothing", verificationName(e))
		}
		verified[row] = e.Verified
	}
	replaced := map[int]bool{}
	for i := range k.amendments.Corrections {
		c := &k.amendments.Corrections[i]
		row, found := k.replaced(c)
		if !found {
			return differs("%s: there is no such transaction of receipt %d", correctionName(c), c.Row)
		}
		if replaced[row] || c.Receipt <= c.Row {
			return differs("%s: it changes nothing", correctionName(c))
		}
		replaced[row] = true
	}
	return nil
}

// between returns the amendments of transactions executed in [from, to). It appends to the lists of dst.
func between(dst, all assay.Amendments, from, to int64) assay.Amendments {
	dst.Verifications, dst.Corrections = dst.Verifications[:0], dst.Corrections[:0]
	for _, e := range all.Verifications {
		if e.ExecutedAt >= from && e.ExecutedAt < to {
			dst.Verifications = append(dst.Verifications, e)
		}
	}
	for _, c := range all.Corrections {
		if c.ExecutedAt >= from && c.ExecutedAt < to {
			dst.Corrections = append(dst.Corrections, c)
		}
	}
	return dst
}
