package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// file parses observations from texts such as "key=content".
func file(texts ...string) (batch []store.Observation) {
	for _, text := range texts {
		batch = append(batch, store.Observation{Key: text[:1], Body: []byte(text[2:])})
	}
	return batch
}

func mustObserve(t *testing.T, db *store.DB, revise bool, texts ...string) store.Appended {
	t.Helper()
	a, err := db.AppendObservations(t.Context(), assay.FamilyCoding, file(texts...), revise)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// observations lists what a family received in (after, upTo], as "key/revision=content".
func observations(t *testing.T, db *store.DB, family assay.Family, after, upTo int64) (texts []string) {
	t.Helper()
	last := int64(0)
	add := func(o store.Observation, revision int, received int64) error {
		texts = append(texts, fmt.Sprintf("%s/%d=%s", o.Key, revision, o.Body))
		if received < last || received <= after || received > upTo {
			t.Errorf("%s was received at %d, after %d, in (%d, %d]", o.Key, received, last, after, upTo)
		}
		last = received
		return nil
	}
	if err := db.EachObservation(t.Context(), family, after, upTo, add); err != nil {
		t.Fatal(err)
	}
	return texts
}

const forever = 1 << 62

func TestObservations_KnownRowsChangeNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		wantAppended(t, mustObserve(t, db, false, "a=1", "b=1", "a=1"), store.Appended{Inserted: 2, Duplicates: 1})
		before := mustCounters(t, db)
		wantAppended(t, mustObserve(t, db, false, "b=1", "a=1"), store.Appended{Duplicates: 2})
		wantAppended(t, mustObserve(t, db, true, "b=1", "a=1"), store.Appended{Duplicates: 2})
		if got := mustCounters(t, db); got != before {
			t.Errorf("the counters are %+v, want %+v", got, before)
		}
		want := []string{"a/0=1", "b/0=1"}
		if got := observations(t, db, assay.FamilyCoding, 0, forever); !slices.Equal(got, want) {
			t.Errorf("there are %q, want %q", got, want)
		}
		if got := observations(t, db, assay.FamilySites, 0, forever); len(got) > 0 {
			t.Errorf("another family has %q", got)
		}
	})
}

func TestObservations_OtherContent(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustObserve(t, db, false, "a=1", "b=1")
		first := mustCounters(t, db).Observed[assay.FamilyCoding]
		wantAppended(t, mustObserve(t, db, false, "a=2", "c=1"), store.Appended{Inserted: 1, Conflicts: []int{0}})
		revised := mustObserve(t, db, true, "a=2", "a=3", "b=1")
		wantAppended(t, revised, store.Appended{Inserted: 2, Duplicates: 1})
		wantAppended(t, mustObserve(t, db, true, "a=1"), store.Appended{Inserted: 1}) // the first content again
		want := []string{"c/0=1", "a/1=2", "a/2=3", "a/3=1"}
		if got := observations(t, db, assay.FamilyCoding, first, forever); !slices.Equal(got, want) {
			t.Errorf("since the first batch there are %q, want %q", got, want)
		}
		want = []string{"a/0=1", "b/0=1"}
		if got := observations(t, db, assay.FamilyCoding, 0, first); !slices.Equal(got, want) {
			t.Errorf("up to the first batch there are %q, want %q", got, want)
		}
	})
}

func TestObservations_AllOrNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		batch := file("a=1", "b=1", "c=1")
		for n := int64(1); ; n += storetest.BreakStep(t, db, 1) {
			_, err := db.AppendObservations(storetest.BreakAt(t, n), assay.FamilyCoding, batch, false)
			if err == nil {
				break
			}
			got := observations(t, db, assay.FamilyCoding, 0, forever)
			if len(got) > 0 || mustCounters(t, db).Observed[assay.FamilyCoding] != 0 {
				t.Fatalf("after cancellation at use %d there are %q", n, got)
			}
		}
	})
}

func TestObservations_Damaged(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustObserve(t, db, false, "a=1", "b=22")
		ignore := func(store.Observation, int, int64) error { return nil }
		f := func(change, back string) {
			t.Helper()
			storetest.Exec(t, db, change+` WHERE key LIKE 'b%'`)
			err := db.EachObservation(t.Context(), assay.FamilyCoding, 0, forever, ignore)
			if !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), "coding b") {
				t.Errorf("%s: the error is %v, want one that names coding b", change, err)
			}
			storetest.Exec(t, db, back+` WHERE key LIKE 'b%'`)
		}
		f(`UPDATE observations SET body = '23'`, `UPDATE observations SET body = '22'`)
		f(`UPDATE observations SET key = 'bb'`, `UPDATE observations SET key = 'b'`)
		f(`UPDATE observations SET revision = 1`, `UPDATE observations SET revision = 0`)
		f(`UPDATE observations SET received_at = received_at + 1`, `UPDATE observations SET received_at = received_at - 1`)
		f(`UPDATE observations SET checksum = checksum + 1`, `UPDATE observations SET checksum = checksum - 1`)
		observations(t, db, assay.FamilyCoding, 0, forever)
	})
}

// A migration adds the tools of coding products to a database without tools.
func TestMigrate_Tools(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	makeAt(t, 4, dir, `INSERT INTO coding_products (id, label, category, kind, series_label, series_label2) VALUES
		('cc-prs', 'Claude PRs', 'prs', 'count', NULL, NULL),
		('cc-vs-codex', 'Claude vs Codex', 'prs', 'count', 'Claude PRs', 'Codex PRs')`)
	products := mustCatalog(t, storetest.OpenUpgraded(t, dir)).CodingProducts
	got, err := json.Marshal([][]string{products[0].Tools, products[1].Tools})
	if want := `[["cc"],["cc","codex"]]`; err != nil || string(got) != want {
		t.Errorf("the tools are %s (%v), want %s", got, err, want)
	}
}
