package publish

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
	"github.com/assaydata/assay/verifier"
)

var signingKey = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{9}, ed25519.SeedSize))

func sign(t *testing.T, p *Publisher) {
	t.Helper()
	if err := p.Sign(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// manifests checks each manifest, and that it follows the one before, and lists them.
func manifests(t *testing.T, db *store.DB) []assay.Manifest {
	t.Helper()
	ledger, err := db.Ledger(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list := ledger.Manifests
	var previous assay.Hash
	for i := range list {
		err := proof.CheckManifest(&list[i])
		signed := bytes.Equal(list[i].PublicKey, signingKey.Public().(ed25519.PublicKey))
		if err != nil || list[i].Previous != previous || !signed {
			t.Errorf("manifest %d is invalid, or does not follow the one before: %v", i, err)
		}
		previous = list[i].Hash
	}
	return list
}

// wantSigned compares the newest manifest of a day with its records.
func wantSigned(t *testing.T, db *store.DB, list []assay.Manifest, day int64, revision int) {
	t.Helper()
	list = slices.DeleteFunc(slices.Clone(list), func(m assay.Manifest) bool { return m.Day != day })
	if len(list) != revision+1 {
		t.Fatalf("%s has %d manifests, want %d", assay.FormatInstant(day), len(list), revision+1)
	}
	records, err := db.AppendRecords(t.Context(), nil, day, day+assay.Day)
	slices.SortFunc(records, func(a, b store.Record) int {
		return cmp.Or(
			cmp.Compare(a.GPU, b.GPU), cmp.Compare(a.Region, b.Region), cmp.Compare(a.Grain.String(), b.Grain.String()),
			cmp.Compare(a.At, b.At), cmp.Compare(a.Revision, b.Revision),
		)
	})
	var hashes []assay.Hash
	for i := range records {
		hashes = append(hashes, records[i].Hash)
	}
	m := list[revision]
	if err != nil || m.Revision != revision || m.Records != len(hashes) || m.Digest != proof.Records(hashes) {
		t.Errorf("the manifest of %s is %+v (%v) and does not list its %d records",
			assay.FormatInstant(day), m, err, len(hashes))
	}
}

func TestSign_EndedDays(t *testing.T) {
	t.Parallel()
	db, p := published(t)
	sign(t, p)
	if list := manifests(t, db); len(list) != 0 {
		t.Errorf("without a key there are the manifests %+v", list)
	}
	p.Key = signingKey
	sign(t, p)
	list := manifests(t, db)
	if len(list) != 8 {
		t.Fatalf("%d days are signed, want those from the 4th to the 11th", len(list))
	}
	for i := range list {
		if list[i].Day != instant(4+i, 0, 0) || list[i].SignedAt != end {
			t.Errorf("manifest %d is %+v", i, list[i])
		}
		wantSigned(t, db, list, list[i].Day, 0)
	}
	sign(t, p)
	if again := manifests(t, db); len(again) != 8 {
		t.Errorf("signing again makes %d manifests of 8", len(again))
	}
	ledger, err := db.Ledger(t.Context())
	if err != nil || !slices.Equal(ledger.Unsigned, []int64{instant(12, 0, 0)}) {
		t.Errorf("unsigned are %v (%v), want the running day", ledger.Unsigned, err)
	}
}

// A restated day is signed again, with its old and new records, after all other manifests.
func TestSign_RestatedDay(t *testing.T) {
	t.Parallel()
	db, p := published(t)
	p.Key = signingKey
	sign(t, p)
	mustAppend(t, db, lateRow("late", instant(7, 2, 30)))
	restate(t, p, "H100 SXM", start, end)
	sign(t, p)
	list := manifests(t, db)
	if len(list) != 9 || list[8].Day != instant(7, 0, 0) {
		t.Fatalf("the manifests are %+v, want a ninth, of the 7th", list)
	}
	wantSigned(t, db, list, instant(7, 0, 0), 1)
	wantSigned(t, db, list, instant(8, 0, 0), 0)
	if list[8].Records != list[3].Records+4 {
		t.Errorf("the second manifest has %d records, the first had %d, want four more", list[8].Records, list[3].Records)
	}
}

// Two publishers sign at the same time: each day is signed once, and the manifests form one chain.
func TestSign_TwoAtOnce(t *testing.T) {
	t.Parallel()
	db, p := published(t)
	p.Key = signingKey
	other := *p
	done := make(chan error)
	go func() { done <- other.Sign(t.Context()) }()
	sign(t, p)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if list := manifests(t, db); len(list) != 8 {
		t.Errorf("there are %d manifests, want 8", len(list))
	}
}

// A publisher names its key in the log, takes over one that was rotated, and signs with no other.
func TestSign_RotatedKey(t *testing.T) {
	t.Parallel()
	db, p := published(t)
	p.Key = signingKey
	sign(t, p)
	next := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{8}, ed25519.SeedSize))
	keys, err := db.SigningKeys(t.Context())
	if err != nil || !keys.Current().Equal(signingKey.Public()) {
		t.Fatalf("the log names %v, %v", keys, err)
	}
	event := keys.Next(verifier.KeyRotate, next.Public().(ed25519.PublicKey), p.Now())
	text, err := event.Sign(keys.Log(), signingKey, next)
	if err == nil {
		err = db.AddKeyEvents(t.Context(), keys, text)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := db.AddKeyEvents(t.Context(), keys, text); !errors.Is(err, store.ErrOvertaken) {
		t.Errorf("the same event again: %v", err)
	}
	if err := p.Sign(t.Context()); !errors.Is(err, store.ErrSigner) {
		t.Errorf("with the old key: %v", err)
	}
	p.ReadKey = func() (ed25519.PrivateKey, error) { return signingKey, nil }
	if err := p.Sign(t.Context()); !errors.Is(err, store.ErrSigner) {
		t.Errorf("with the old key in the file: %v", err)
	}
	p.ReadKey = func() (ed25519.PrivateKey, error) { return next, nil }
	later := p.Now().Add(time.Hour)
	p.Now = func() time.Time { return later }
	sign(t, p)
	last, err := db.LastCheckpoint(t.Context())
	if err != nil || !bytes.Equal(last.PublicKey, next.Public().(ed25519.PublicKey)) {
		t.Errorf("the last checkpoint is %+v, %v, want one with the new key", last, err)
	}
}

// The log is signed once for each state, and only while it extends what was signed.
func TestSign_Log(t *testing.T) {
	t.Parallel()
	db, p := published(t)
	head := func() store.LogHead {
		t.Helper()
		head, err := db.LogHead(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return head
	}
	p.Key = nil
	sign(t, p)
	if got := head().Signed; got.Size != 0 {
		t.Errorf("without a key, a checkpoint of %d entries was made", got.Size)
	}
	p.Key = signingKey
	signing := time.UnixMilli(head().PublishedAt + 1)
	p.Now = func() time.Time { return signing }
	sign(t, p)
	first := head()
	said, err := proof.OpenCheckpoint(first.Signed.Note, first.Origin, signingKey.Public().(ed25519.PublicKey))
	if err != nil || said.Size != first.Size || said.Root != first.Root {
		t.Fatalf("the checkpoint says %+v (%v), want %d entries and %x", said, err, first.Size, first.Root)
	}
	sign(t, p)
	if again := head(); again.Signed.Note != first.Signed.Note {
		t.Errorf("the same log was signed again:\n%s\n%s", first.Signed.Note, again.Signed.Note)
	}
	if err := db.SetGPUFree(t.Context(), "B200", true); err != nil {
		t.Fatal(err)
	}
	for _, wait := range []int64{signEvery - 1, signEvery} {
		signing = time.UnixMilli(first.Signed.SignedAt + wait)
		sign(t, p)
		if signed := head().Signed.Size > first.Signed.Size; signed != (wait == signEvery) {
			t.Errorf("a change of the catalog is signed after %d ms: %v", wait, signed)
		}
	}
	storetest.Exec(t, db, `UPDATE log_tail SET entry = 'another' WHERE leaf = (SELECT max(leaf) FROM log_tail)`)
	if err := p.Sign(t.Context()); !errors.Is(err, ErrRewritten) {
		t.Errorf("a log with another entry: %v, want %v", err, ErrRewritten)
	}
}
