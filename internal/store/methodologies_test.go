package store_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

func wantMethodologies(t *testing.T, db *store.DB, want ...assay.MethodologyFile) {
	t.Helper()
	if got, err := db.Methodologies(t.Context()); err != nil || !slices.Equal(got, want) {
		t.Errorf("the methodologies are %+v (%v), want %+v", got, err, want)
	}
}

func TestMethodologies_Adopt(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		var clock int64
		db.Now = func() time.Time { return time.UnixMilli(clock) }
		adopt := func(at int64, m assay.MethodologyFile) error {
			clock = at
			return db.AdoptMethodology(t.Context(), m, 0)
		}
		f := func(at int64, m assay.MethodologyFile) {
			t.Helper()
			if err := adopt(at, m); err != nil {
				t.Error(err)
			}
		}
		late := assay.MethodologyFile{Version: "2.0.0", Effective: 500, Adopted: 10, Text: "two"}
		early := assay.MethodologyFile{Version: "1.0.0", Effective: 100, Adopted: 20, Text: "one"}
		wantMethodologies(t, db)
		f(10, late)
		f(20, early)
		wantMethodologies(t, db, early, late) // in the order in which they take effect
		before := mustCounters(t, db)

		f(30, early) // the same text again changes nothing
		other := early
		other.Text = "another"
		err := adopt(30, other)
		if err == nil || !strings.Contains(err.Error(), "version 1.0.0 was adopted with another text") {
			t.Errorf("another text under the same version returns the error %v", err)
		}
		same := assay.MethodologyFile{Version: "3.0.0", Effective: 500, Text: "three"}
		if err := adopt(30, same); err == nil {
			t.Error("two versions can take effect at one instant")
		}
		wantMethodologies(t, db, early, late)
		if got := mustCounters(t, db); got != before {
			t.Errorf("the counters changed from %+v to %+v, although nothing was adopted", before, got)
		}
	})
}

// A version applies to slots that end when it takes effect or later, so none of those may have been determined, of any
// GPU or grain.
func TestMethodologies_TooLate(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		db.Now = func() time.Time { return time.UnixMilli(assay.Hour) } // time that is published is not yet past
		mustPublish(t, db, hours("H100 SXM", 0, 3))
		mustPublish(t, db, hours("B200", 4, 5)) // up to five o'clock
		f := func(effective int64, ok bool) {
			t.Helper()
			m := assay.MethodologyFile{Version: assay.FormatInstant(effective), Effective: effective, Text: "text"}
			err := db.AdoptMethodology(t.Context(), m, 0)
			tooLate := errors.Is(err, store.ErrTooLate) && strings.Contains(err.Error(), "is determined up to")
			if ok && err != nil || !ok && !tooLate {
				t.Errorf("taking effect at %s returns the error %v", m.Version, err)
			}
		}
		f(0, false)
		f(4*assay.Hour, false)
		f(5*assay.Hour, false) // the slot that ends there was determined
		f(5*assay.Hour+1, true)
		f(6*assay.Hour, true)
		if got, err := db.Methodologies(t.Context()); err != nil || len(got) != 2 {
			t.Errorf("the methodologies are %+v (%v), want the two accepted ones", got, err)
		}
		// An adopted version can be adopted again at any time.
		mustPublish(t, db, hours("B200", 5, 9))
		f(6*assay.Hour, true)
	})
}

// Once anything is published, a version needs notice and cannot take effect in the past.
func TestMethodologies_Notice(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		now := int64(100 * assay.Day)
		db.Now = func() time.Time { return time.UnixMilli(now) }
		f := func(effective int64, notice time.Duration, want error) {
			t.Helper()
			m := assay.MethodologyFile{
				Version: assay.FormatInstant(effective), Effective: effective, Text: "text", Reason: "why", Approver: "who",
			}
			if err := db.AdoptMethodology(t.Context(), m, notice); !errors.Is(err, want) {
				t.Errorf("taking effect at %s, with a notice of %v: %v, want %v", m.Version, notice, err, want)
			}
		}
		f(0, 24*time.Hour, nil) // nothing is published yet
		mustPublish(t, db, hours("H100 SXM", 0, 3))
		f(now-1, 0, store.ErrNoNotice)
		f(now+assay.Day-1, 24*time.Hour, store.ErrNoNotice)
		f(now+assay.Day, 24*time.Hour, nil)
		list, err := db.Methodologies(t.Context())
		if err != nil || len(list) != 2 || list[1].Reason != "why" || list[1].Approver != "who" {
			t.Errorf("the methodologies are %+v, %v", list, err)
		}
	})
}
