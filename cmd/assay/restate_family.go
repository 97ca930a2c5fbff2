package main

import (
	"context"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/observed"
	"github.com/assaydata/assay/internal/publish"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/values"
)

// settlingFamily finds a family whose values become final by the value of --family.
func settlingFamily(name string) (assay.Family, error) {
	var names []string
	for _, f := range values.Families {
		if f.String() == name {
			return f, nil
		}
		names = append(names, f.String())
	}
	return 0, usagef("invalid value %q for --family: must be one of %s", name, strings.Join(names, ", "))
}

// lateFamilyRow is a row of a family that came after its day was final, and does not count yet.
type lateFamilyRow struct {
	Family     string  `json:"family"`
	Series     string  `json:"series"`
	At         instant `json:"at"`
	Key        string  `json:"key"`
	ReceivedAt instant `json:"received_at"`
}

var lateFamilyColumns = []string{"family", "series", "at", "key", "received_at"}

func (r lateFamilyRow) cells() []string {
	return []string{r.Family, r.Series, r.At.String(), r.Key, r.ReceivedAt.String()}
}

// lateOfFamily lists the late rows of a family about [from, to) that do not count yet.
func lateOfFamily(
	ctx context.Context, db *store.DB, f assay.Family, from, to int64,
) (rows []lateFamilyRow, err error) {
	schedule, err := publish.LoadSchedule(ctx, db)
	if err != nil || !schedule.Settles() {
		return nil, err
	}
	counters, err := db.Counters(ctx)
	if err != nil {
		return nil, err
	}
	rules, err := observed.ReadRules(ctx, db, counters, schedule)
	if err != nil {
		return nil, err
	}
	late, err := observed.Late(ctx, db, counters, &rules, f)
	for _, l := range late {
		if l.At >= from && l.At < to {
			rows = append(rows, lateFamilyRow{f.String(), l.Series, instant(l.At), l.Key, instant(l.Received)})
		}
	}
	return rows, err
}

// previewFamilyRestatement lists the late rows of a family that a restatement would let count.
func previewFamilyRestatement(
	ctx context.Context, db *store.DB, f assay.Family, r assay.Restatement, s *streams,
) error {
	read := func(ctx context.Context, db *store.DB) ([]lateFamilyRow, error) {
		return lateOfFamily(ctx, db, f, r.From, r.To)
	}
	return printRows(ctx, db, s, false, lateFamilyColumns, read, lateFamilyRow.cells)
}

// restateFamily lets the late rows of a family count, and makes records of the values that this changes.
func restateFamily(
	ctx context.Context, db *store.DB, location databaseLocation, f assay.Family, r assay.Restatement, s *streams,
) error {
	publisher, err := commandPublisher(ctx, db, location)
	if err != nil {
		return err
	}
	late, err := lateOfFamily(ctx, db, f, r.From, r.To)
	if err != nil {
		return err
	}
	if len(late) == 0 {
		s.say("nothing to restate: no row of %s is late in this period", f)
	} else {
		r.Family = f
		if r, err = db.AddRestatement(ctx, r); err != nil {
			return err
		}
		s.say("restated: %s from now on (restatement %d)", countsNow(len(late), f), r.Number)
	}
	// Also if nothing is new: an earlier run may have been stopped before it was done.
	if _, err := publisher.RecordValues(ctx); err != nil {
		return err
	}
	return publisher.Sign(ctx)
}

func countsNow(rows int, of assay.Family) string {
	if rows == 1 {
		return "1 late row of " + of.String() + " counts"
	}
	return thousands(rows) + " late rows of " + of.String() + " count"
}
