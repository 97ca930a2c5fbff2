package audit

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/store"
)

// scheduleOf reads the methodology's versions. A database that has published nothing may have none.
func scheduleOf(files []assay.MethodologyFile) (index.Schedule, error) {
	if len(files) == 0 {
		return index.Schedule{index.Plain()}, nil
	}
	schedule, err := index.ParseSchedule(files)
	if err != nil {
		return nil, err
	}
	for i, m := range schedule {
		if m.Version != files[i].Version || m.Effective != files[i].Effective {
			return nil, differs("methodology %s: its text says version %s, in effect from %s", files[i].Version, m.Version, assay.FormatInstant(m.Effective))
		}
	}
	return schedule, nil
}

// checkLedger checks what the ledger says by itself: that receipts and events belong together, and that the publications
// have determined the time that counts as determined.
func checkLedger(l *store.Ledger, schedule index.Schedule) error {
	if err := checkReceipts(l); err != nil {
		return err
	}
	if err := checkCovers(l.Covers, schedule); err != nil {
		return err
	}
	return checkCoverage(l)
}

// checkReceipts checks that each receipt is of transactions or of one event, and each event's receipt its own.
func checkReceipts(l *store.Ledger) error {
	events := map[int64]int{}
	for _, e := range l.Events {
		events[e.Receipt]++
	}
	for _, r := range l.Receipts {
		if n := events[r.Number]; n > 1 || (n == 1) != (r.Rows == 0) {
			return differs("receipt %d of %s: %d transactions and %d verifications came with it", r.Number, assay.FormatInstant(r.ReceivedAt), r.Rows, n)
		}
		delete(events, r.Number)
	}
	for _, e := range l.Events {
		if events[e.Receipt] > 0 {
			return differs("%s: its receipt %d is not there", eventName(&e), e.Receipt)
		}
	}
	return nil
}

func eventName(e *assay.Verification) string {
	return fmt.Sprintf("verification of transaction %s of %s, executed at %s", e.ID, e.Source, assay.FormatInstant(e.ExecutedAt))
}

// checkCovers checks that every publication determined whole slots; that no time was determined twice but by a
// restatement; and that a restatement is of time that was determined before.
func checkCovers(covers store.Covers, schedule index.Schedule) error {
	for key, list := range covers {
		for i, c := range list {
			name := fmt.Sprintf("publication %d, %s %s from %s to %s", c.Version, key.GPU, key.Grain, assay.FormatInstant(c.From), assay.FormatInstant(c.To))
			switch {
			case c.From >= c.To || schedule.LastSlot(key.Grain, c.From) != c.From || schedule.LastSlot(key.Grain, c.To) != c.To:
				return differs("%s: these are no slots", name)
			case !c.Restatement && i > 0 && c.From < list[i-1].To:
				return differs("%s: publication %d has determined the time, too", name, list[i-1].Version)
			case c.Restatement && !determinedBefore(list, c):
				return differs("%s: it restates time that was not determined", name)
			}
		}
	}
	return nil
}

// determinedBefore tells whether all of a restatement's time was determined by regular versions before it.
func determinedBefore(list []store.Cover, restatement store.Cover) bool {
	at := restatement.From
	for _, c := range list {
		if !c.Restatement && c.Version < restatement.Version && c.From <= at && c.To > at {
			at = c.To
		}
	}
	return at >= restatement.To
}

// checkCoverage holds the time that counts as determined against what the publications determined.
func checkCoverage(l *store.Ledger) error {
	keys := map[store.CoverageKey]bool{}
	for key := range l.Covers {
		keys[key] = true
	}
	for key := range l.Coverage {
		keys[key] = true
	}
	for key := range keys {
		if !slices.Equal(joined(l.Covers[key]), l.Coverage[key]) {
			return differs("%s %s: the time that counts as determined is not what the publications determined", key.GPU, key.Grain)
		}
	}
	return nil
}

// joined is the time of the regular covers, which come in its order; stretches that meet are one.
func joined(list []store.Cover) (spans []store.Span) {
	for _, c := range list {
		switch n := len(spans); {
		case c.Restatement:
		case n > 0 && spans[n-1].To == c.From:
			spans[n-1].To = c.To
		default:
			spans = append(spans, c.Span)
		}
	}
	return spans
}

// checkEvents checks that every event is about a transaction that is there, and that it has changed something. The
// transactions are in order.
func checkEvents(s *stretch) error {
	said := map[int]bool{} // what was said last, by the row of the transaction
	for i := range s.events {
		e := &s.events[i]
		row, found := slices.BinarySearchFunc(s.transactions, e, func(t assay.Transaction, e *assay.Verification) int {
			return cmp.Or(cmp.Compare(t.ExecutedAt, e.ExecutedAt), cmp.Compare(t.Source, e.Source), cmp.Compare(t.ID, e.ID))
		})
		if !found {
			return differs("%s: there is no such transaction", eventName(e))
		}
		before, ok := said[row]
		if !ok {
			before = s.transactions[row].Verified
		}
		if before == e.Verified || e.Receipt <= s.transactions[row].Receipt {
			return differs("%s: it says what was known before", eventName(e))
		}
		said[row] = e.Verified
	}
	return nil
}
