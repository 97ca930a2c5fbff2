package verify

import (
	"fmt"
	"math"
	"slices"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/store"
)

// scheduleOf parses the methodology's versions. A database that has published nothing may have none.
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
			return nil, differs("methodology %s: its text says version %s, in effect from %s",
				files[i].Version, m.Version, assay.FormatInstant(m.Effective))
		}
	}
	return schedule, nil
}

// checkLedger checks the ledger alone: receipts match verifications, and the publications cover the time that counts as
// determined.
func checkLedger(l *store.Ledger, schedule index.Schedule) error {
	if err := checkReceipts(l); err != nil {
		return err
	}
	if err := checkCovers(l.Covers, schedule); err != nil {
		return err
	}
	if err := checkEnds(l, schedule); err != nil {
		return err
	}
	return checkCoverage(l)
}

// clockDifference is how far the clocks of the nodes that publish and of those that give notice may be apart.
const clockDifference = assay.Minute

// checkEnds checks that no publication determined time after the end of a series, as long as a notice said that it
// ends.
func checkEnds(l *store.Ledger, schedule index.Schedule) error {
	for i, n := range l.Notices {
		if n.Kind != assay.CessationNotice {
			continue
		}
		resumed := int64(math.MaxInt64)
		for _, later := range l.Notices[i+1:] {
			if later.Kind == assay.ResumptionNotice && later.GPU == n.GPU {
				resumed = later.At
				break
			}
		}
		for _, grain := range assay.Grains {
			end := schedule.LastSlot(grain, n.About)
			for _, c := range l.Covers[store.CoverageKey{GPU: n.GPU, Grain: grain}] {
				if c.To > end && c.PublishedAt > n.At+clockDifference && c.PublishedAt < resumed-clockDifference {
					return differs("publication %d, %s %s from %s to %s: notice %d says that the series end at %s", c.Version, n.GPU,
						grain, assay.FormatInstant(c.From), assay.FormatInstant(c.To), n.Number, assay.FormatInstant(n.About))
				}
			}
		}
	}
	return nil
}

// checkReceipts checks that each receipt is for transactions or for one verification, that no verification shares its
// receipt, and that the transactions of a receipt replace others either all or not at all.
func checkReceipts(l *store.Ledger) error {
	verifications, corrections := map[int64]int{}, map[int64]int{}
	for _, e := range l.Verifications {
		verifications[e.Receipt]++
	}
	for _, c := range l.Corrections {
		corrections[c.Receipt]++
	}
	for _, r := range l.Receipts {
		if n := corrections[r.Number]; n > 0 && n != r.Rows {
			return differs("receipt %d of %s: %d transactions came with it, which replaced %d others",
				r.Number, assay.FormatInstant(r.ReceivedAt), r.Rows, n)
		}
		delete(corrections, r.Number)
		if n := verifications[r.Number]; n > 1 || (n == 1) != (r.Rows == 0) {
			return differs("receipt %d of %s: %d transactions and %d verifications came with it",
				r.Number, assay.FormatInstant(r.ReceivedAt), r.Rows, n)
		}
		delete(verifications, r.Number)
	}
	for _, e := range l.Verifications {
		if verifications[e.Receipt] > 0 {
			return differs("%s: its receipt %d is missing", verificationName(&e), e.Receipt)
		}
	}
	for _, c := range l.Corrections {
		if corrections[c.Receipt] > 0 {
			return differs("%s: its receipt %d is missing", correctionName(&c), c.Receipt)
		}
	}
	return nil
}

// checkCovers checks that every publication determined whole slots, that only restatements determined time again, and
// that they restated time that was determined before.
func checkCovers(covers store.Covers, schedule index.Schedule) error {
	for key, list := range covers {
		for i, c := range list {
			name := fmt.Sprintf("publication %d, %s %s from %s to %s",
				c.Version, key.GPU, key.Grain, assay.FormatInstant(c.From), assay.FormatInstant(c.To))
			wholeSlots := schedule.LastSlot(key.Grain, c.From) == c.From && schedule.LastSlot(key.Grain, c.To) == c.To
			switch {
			case c.From >= c.To || !wholeSlots:
				return differs("%s: these are not whole slots", name)
			case !c.Restatement && i > 0 && c.From < list[i-1].To:
				return differs("%s: publication %d determined the same time", name, list[i-1].Version)
			case c.Restatement && !determinedBefore(list, c):
				return differs("%s: it restates time that was not determined", name)
			}
		}
	}
	return nil
}

// determinedBefore tells whether regular versions before a restatement determined all of its time.
func determinedBefore(list []store.Cover, restatement store.Cover) bool {
	at := restatement.From
	for _, c := range list {
		if !c.Restatement && c.Version < restatement.Version && c.From <= at && c.To > at {
			at = c.To
		}
	}
	return at >= restatement.To
}

// checkCoverage compares the time that counts as determined with what the publications determined.
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
			return differs("%s %s: the time that counts as determined is not what the publications determined",
				key.GPU, key.Grain)
		}
	}
	return nil
}

// joined is the time of the regular covers, which are in the order of time; adjacent spans become one.
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
