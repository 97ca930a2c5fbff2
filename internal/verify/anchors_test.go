package verify

import (
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/anchortest"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/store/storetest"
)

// marketAnchors is what the report says about the anchors of the market.
var marketAnchors = Anchors{
	Count: 2, First: instant(7, 22) + 2*assay.Minute, Last: marketEnd + 2*assay.Minute,
	Authorities: []string{"CN=Authority of the tests"},
}

// replaceAnchor lets the operator store another anchor for the last checkpoint that has one.
func replaceAnchor(t *testing.T, m *tampered, change func(c *proof.SignedCheckpoint, a *proof.Anchor)) {
	t.Helper()
	ledger := ledgerOf(t, m.db)
	a := ledger.Log.Anchors[len(ledger.Log.Anchors)-1]
	for _, c := range ledger.Log.Checkpoints {
		if c.Size == a.Size {
			change(&c, &a)
		}
	}
	m.exec(`DELETE FROM anchors WHERE size >= $1`, a.Size)
	if err := m.db.AddAnchor(t.Context(), a); err != nil {
		t.Fatal(err)
	}
}

// A token must be for the checkpoint, signed, and of its time, also if its checksum is right.
func TestAnchors_Forged(t *testing.T) {
	t.Parallel()
	f := func(what string, o Options, change func(c *proof.SignedCheckpoint, a *proof.Anchor), want string) {
		t.Helper()
		m := newTampered(t)
		replaceAnchor(t, m, change)
		wantLogDifference(t, m, o, what, "anchor of the checkpoint of ")
		wantLogDifference(t, m, o, what, want)
	}
	f("another checkpoint", Options{}, func(c *proof.SignedCheckpoint, a *proof.Anchor) {
		c.Note = "assay/market\n" + c.Note
		*a = anchorOf(c, a.StampedAt)
	}, "the timestamp is of something else")
	f("garbage", Options{}, func(_ *proof.SignedCheckpoint, a *proof.Anchor) { a.Token = []byte("garbage") }, "DER")
	f("a changed signature", Options{}, func(_ *proof.SignedCheckpoint, a *proof.Anchor) {
		a.Token[len(a.Token)-1] ^= 1
	}, "entries of the log: ")
	f("another time", Options{}, func(_ *proof.SignedCheckpoint, a *proof.Anchor) { a.StampedAt -= assay.Day },
		"and the database says")
	f("before the checkpoint", Options{}, func(c *proof.SignedCheckpoint, a *proof.Anchor) {
		*a = anchorOf(c, c.SignedAt-2*assay.Hour)
	}, "and the checkpoint is said to be of")
	f("in the future", Options{Signatures: Signatures{Now: instant(1, 0)}},
		func(c *proof.SignedCheckpoint, a *proof.Anchor) { *a = anchorOf(c, a.StampedAt) }, "that is in the future")
	f("of no checkpoint", Options{}, func(_ *proof.SignedCheckpoint, a *proof.Anchor) { a.Size += 1_000_000 },
		"there is no such checkpoint")
}

// An operator who makes up history later cannot date it back: the timestamps that were there are for other checkpoints,
// and those that the operator can get are new.
func TestAnchors_BackDated(t *testing.T) {
	t.Parallel()
	m := newTampered(t)
	kept := ledgerOf(t, m.db).Log.Anchors
	rewriteLog(t, m.db) // it says that it began at another time
	b := &marketBuilder{ctx: t.Context(), db: m.db, clock: marketEnd + assay.Hour}
	b.db.Now = b.now
	b.publisher = publisherOf(b)
	b.sign()
	if b.err != nil {
		t.Fatal(b.err)
	}
	if _, err := Database(t.Context(), m.db, Options{}); err != nil {
		t.Fatalf("the second history is not consistent in itself: %v", err)
	}
	last, err := m.db.LastCheckpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	store := func(a proof.Anchor) {
		t.Helper()
		storetest.Exec(t, m.db, `DELETE FROM anchors`)
		if err := m.db.AddAnchor(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	store(kept[0])
	wantLogDifference(t, m, Options{}, "an anchor that was there", "there is no such checkpoint")
	moved := kept[1]
	moved.Size = last.Size
	store(moved)
	wantLogDifference(t, m, Options{}, "an anchor that was there, moved", "the timestamp is of something else")
	today := anchortest.New()
	later := last.SignedAt + 90*assay.Day
	today.Now = func() time.Time { return time.UnixMilli(later).UTC() }
	store(proof.Anchor{Size: last.Size, StampedAt: later, Token: today.Token(today.Stamp(last.Text()))})
	wantLogDifference(t, m, Options{}, "a new anchor", "and the checkpoint is said to be of")
}
