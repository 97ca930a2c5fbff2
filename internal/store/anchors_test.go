package store_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

func TestAnchors(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		unanchored := func(since, want int64) {
			t.Helper()
			c, err := db.Unanchored(t.Context(), since)
			if err != nil || c.Size != want || want > 0 && c.Note == "" {
				t.Errorf("since %d: the checkpoint %+v (%v), want that of %d entries", since, c, err, want)
			}
		}
		sign := func(size, at int64) {
			t.Helper()
			c := proof.SignedCheckpoint{
				Size: size, SignedAt: at, PublicKey: []byte("key"), Note: "three\nlines\nof text\n\n— a signature\n",
			}
			if err := db.AddCheckpoint(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		add := func(a proof.Anchor) {
			t.Helper()
			if err := db.AddAnchor(t.Context(), a); err != nil {
				t.Fatal(err)
			}
		}
		unanchored(0, 0)
		sign(10, 1000)
		sign(20, 2000)
		unanchored(1000, 20)
		unanchored(2001, 0)
		first := proof.Anchor{Size: 20, StampedAt: 2500, Authority: "http://a.example", Token: []byte{1, 0, 255}}
		add(first)
		add(proof.Anchor{Size: 20, StampedAt: 2600, Authority: "http://b.example", Token: []byte{2}})
		sign(30, 3000)
		unanchored(1000, 0)
		unanchored(2001, 30)
		second := proof.Anchor{Size: 30, StampedAt: 3500, Authority: "http://b.example", Token: []byte{3}}
		add(second)
		anchored := func(anchors ...proof.Anchor) (list []proof.AnchoredCheckpoint) {
			for _, a := range anchors {
				list = append(list, proof.AnchoredCheckpoint{Anchor: a, Text: "three\nlines\nof text\n"})
			}
			return list
		}
		for _, c := range []struct {
			after int64
			most  int
			want  []proof.AnchoredCheckpoint
		}{
			{0, 10, anchored(first, second)},
			{0, 1, anchored(first)},
			{20, 10, anchored(second)},
			{30, 10, nil},
		} {
			got, err := db.Anchors(t.Context(), c.after, c.most)
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("%d after %d: %v\n%s", c.most, c.after, err, diff)
			}
		}
		if diff := cmp.Diff([]proof.Anchor{first, second}, mustLedger(t, db).Log.Anchors); diff != "" {
			t.Errorf("in the ledger:\n%s", diff)
		}
		storetest.Exec(t, db, `UPDATE anchors SET authority = 'http://c.example' WHERE size = 30`)
		if _, err := db.Ledger(t.Context()); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("a changed authority: %v", err)
		}
	})
}
