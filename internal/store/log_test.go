package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/merkle"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
	"github.com/assaydata/assay/tools/testenv"
	"golang.org/x/mod/sumdb/tlog"
)

// logEntries reads the whole log, and checks its tree with tlog's own storage as the judge.
func logEntries(t *testing.T, db *store.DB) (entries []string) {
	t.Helper()
	head, err := db.LogHead(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var stored []tlog.Hash
	judge := tlog.HashReaderFunc(func(indexes []int64) (hashes []tlog.Hash, err error) {
		for _, i := range indexes {
			hashes = append(hashes, stored[i])
		}
		return hashes, nil
	})
	err = db.EachLogEntry(t.Context(), head.Size, func(leaf int64, entry []byte) error {
		hashes, err := tlog.StoredHashes(leaf, entry, judge)
		stored = append(stored, hashes...)
		entries = append(entries, string(entry))
		return err
	})
	if err != nil || int64(len(entries)) != head.Size {
		t.Fatalf("%d of %d entries were read: %v", len(entries), head.Size, err)
	}
	root, err := tlog.TreeHash(head.Size, judge)
	if err != nil || head.Root != assay.Hash(root) {
		t.Fatalf("the root over %d entries is %x (%v), want %v", head.Size, head.Root, err, root)
	}
	return entries
}

// kinds lists the kinds of entries, with their numbers.
func kinds(entries []string) map[string]int {
	counts := map[string]int{}
	for _, entry := range entries {
		counts[proof.EntryKind([]byte(entry))]++
	}
	return counts
}

func TestLog_HasEveryChange(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		f := func(what, kind string, change func() error) {
			t.Helper()
			before := logEntries(t, db)
			if err := change(); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			after := logEntries(t, db)
			if !slices.Equal(after[:len(before)], before) {
				t.Errorf("%s changed entries", what)
			}
			if kinds(after[len(before):])[kind] != 1 {
				t.Errorf("%s added %q, want one entry of type %s", what, after[len(before):], kind)
			}
		}
		if got := kinds(logEntries(t, db)); !maps.Equal(got, map[string]int{proof.StartKind: 1, proof.CatalogKind: 1}) {
			t.Errorf("a new log has %v, want its start and the catalog", got)
		}
		f("a methodology", proof.MethodologyKind, func() error {
			return db.AdoptMethodology(t.Context(), assay.MethodologyFile{Version: "1", Effective: 1, Text: "text"}, 0)
		})
		f("a publication", proof.PublicationKind, func() error {
			_, err := db.Publish(t.Context(), ready(t, db, hours("B200", 0, 1)))
			return err
		})
		f("a manifest", proof.ManifestKind, func() error { signDay(t, db, 0); return nil })
		f("a key", proof.AuditKind, func() error { _, err := db.CreateKey(t.Context(), key("aaaaaa")); return err })
		f("a catalog", proof.CatalogKind, func() error { return db.SetGPUFree(t.Context(), "B200", true) })
		rental := assay.Transaction{
			Source: "desk", ID: "1", ExecutedAt: 5, GPU: "B200", Price: 1, GPUs: 1, HourMicros: 1, Provider: "Alder",
			Verified: true,
		}
		receive := func() error { _, err := db.AppendTransactions(t.Context(), []assay.Transaction{rental}); return err }
		f("a receipt", proof.ReceiptKind, receive)
		rental.ID = "2"
		f("transactions", proof.TransactionsKind, receive)
		rental.Price++
		f("a conflict", proof.ConflictsKind, receive)
		f("a correction", proof.CorrectionKind, func() error {
			_, err := db.CorrectTransactions(t.Context(), []assay.Transaction{rental}, store.Justification{})
			return err
		})
		f("a withdrawal", proof.VerificationKind, func() error {
			_, err := db.AddVerifications(t.Context(), assay.Verification{Source: "desk", ID: "1"})
			return err
		})
		for family := range assay.NumFamilies {
			f(family.String(), proof.ObservationsKind, func() error {
				_, err := db.AppendObservations(t.Context(), family, []store.Observation{{Key: "a", Body: []byte("{}")}}, true)
				return err
			})
		}
		f("utilization", proof.UtilizationKind, func() error {
			readings := []assay.UtilizationReading{{Source: "desk", GPU: "B200", Tracked: 1}}
			_, err := db.AppendUtilization(t.Context(), readings, false)
			return err
		})
		f("a real-time print", proof.RealtimeKind, func() error {
			print := store.LinePrint{
				Line:          assay.Line{GPU: "B200", Region: assay.Global},
				RealtimePrint: assay.RealtimePrint{At: assay.Minute},
			}
			return db.AppendRealtime(t.Context(), []store.LinePrint{print}, assay.Minute)
		})
	})
}

func judged(hashes []assay.Hash) (list []tlog.Hash) {
	for _, h := range hashes {
		list = append(list, tlog.Hash(h))
	}
	return list
}

// Publications of all sizes fill tiles and leave parts of them.
func TestLog_Proofs(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		var sizes []int64
		var roots []assay.Hash
		from := int64(0)
		for _, n := range []int64{1, 200, 700, 3, 256} {
			if _, err := db.Publish(t.Context(), ready(t, db, hours("B200", from, from+n))); err != nil {
				t.Fatal(err)
			}
			from += n
			head, err := db.LogHead(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			sizes, roots = append(sizes, head.Size), append(roots, head.Root)
		}
		entries := logEntries(t, db)
		want := map[string]int{proof.StartKind: 1, proof.CatalogKind: 1, proof.PublicationKind: 5, proof.RecordKind: 1160}
		if got := kinds(entries); !maps.Equal(got, want) {
			t.Fatalf("the log has %v, want %v", got, want)
		}
		last := len(sizes) - 1
		checkpoint := proof.SignedCheckpoint{Size: sizes[last], PublicKey: []byte("key"), Note: "note"}
		if err := db.AddCheckpoint(t.Context(), checkpoint); err != nil {
			t.Fatal(err)
		}
		for i := range sizes[:last] {
			p, signed, err := db.ProveConsistency(t.Context(), sizes[i], sizes[last])
			if err != nil || signed != sizes[last] {
				t.Fatal(signed, err)
			}
			err = tlog.CheckTree(judged(p), sizes[last], tlog.Hash(roots[last]), sizes[i], tlog.Hash(roots[i]))
			if err != nil {
				t.Errorf("from %d to %d: %v", sizes[i], sizes[last], err)
			}
		}
		records, err := db.AppendRecords(t.Context(), nil, 0, assay.Latest)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(records); i += 97 {
			p, ok, err := db.ProveRecord(t.Context(), records[i].Hash, assay.Latest)
			if err != nil || !ok || p.Checkpoint.Note != "note" {
				t.Fatalf("record %d is not proven: %+v, %v", i, p, err)
			}
			if want := fmt.Sprintf(`"hash":"%x"`, records[i].Hash); !strings.Contains(string(p.Entry), want) {
				t.Errorf("record %d is at %d, which is %s", i, p.Leaf, p.Entry)
			}
			hash := tlog.RecordHash(p.Entry)
			if err := tlog.CheckRecord(judged(p.Hashes), sizes[last], tlog.Hash(roots[last]), p.Leaf, hash); err != nil {
				t.Errorf("record %d: %v", i, err)
			}
		}
		if _, ok, err := db.ProveRecord(t.Context(), assay.Hash{1}, assay.Latest); ok || err != nil {
			t.Errorf("a record that does not exist is proven: %v", err)
		}
		if _, err := db.Publish(t.Context(), ready(t, db, hours("B200", from, from+1))); err != nil {
			t.Fatal(err)
		}
		if records, err = db.AppendRecords(t.Context(), nil, 0, assay.Latest); err != nil {
			t.Fatal(err)
		}
		if _, ok, err := db.ProveRecord(t.Context(), records[len(records)-1].Hash, assay.Latest); ok || err != nil {
			t.Errorf("a record in no checkpoint is proven: %v", err)
		}
		for _, wrong := range [][2]int64{{0, 1}, {-1, 1}, {2, 1}, {1, sizes[last] + 1}} {
			if p, _, err := db.ProveConsistency(t.Context(), wrong[0], wrong[1]); p != nil || err != nil {
				t.Errorf("from %d to %d: proven, %v", wrong[0], wrong[1], err)
			}
		}
		if _, err := db.LogTile(t.Context(), merkle.Tile{Level: 0, Index: 99}); !errors.Is(err, store.ErrNoTile) {
			t.Errorf("a tile that does not exist: %v, want %v", err, store.ErrNoTile)
		}
	})
}

// A program of the last release, on another node, writes without appending to the log.
func TestLog_CatchesUp(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		storetest.Exec(t, db, `INSERT INTO audit (at, actor, action, subject, detail) VALUES (1, 'a', 'b', 'c', '{}')`)
		if got := kinds(logEntries(t, db))[proof.AuditKind]; got != 0 {
			t.Errorf("the log has %d entries of the audit log, want none yet", got)
		}
		if _, err := db.CreateKey(t.Context(), key("aaaaaa")); err != nil {
			t.Fatal(err)
		}
		if got := kinds(logEntries(t, db))[proof.AuditKind]; got != 2 {
			t.Errorf("the log has %d entries of the audit log, want 2", got)
		}
	})
}

// A record is proven by a recent checkpoint, and as soon as there is one that includes it, while the log grows by whole
// bundles.
func TestLog_ProveSoon(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		for from := int64(0); from < 1000; from += 230 {
			if _, err := db.Publish(t.Context(), ready(t, db, hours("B200", from, from+230))); err != nil {
				t.Fatal(err)
			}
			records, err := db.AppendRecords(t.Context(), nil, 0, assay.Latest)
			if err != nil {
				t.Fatal(err)
			}
			newest := records[len(records)-1].Hash
			if _, ok, err := db.ProveRecordSoon(t.Context(), newest); ok || err != nil {
				t.Fatalf("a record that no checkpoint includes is proven (%v)", err)
			}
			if from > 0 {
				if _, ok, err := db.ProveRecordSoon(t.Context(), records[200].Hash); !ok || err != nil {
					t.Fatalf("a record is no longer proven (%v)", err)
				}
			}
			head, err := db.LogHead(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			checkpoint := proof.SignedCheckpoint{Size: head.Size, PublicKey: []byte("key"), Note: "note"}
			if err := db.AddCheckpoint(t.Context(), checkpoint); err != nil {
				t.Fatal(err)
			}
			for i := range records {
				p, ok, err := db.ProveRecordSoon(t.Context(), records[i].Hash)
				if !ok || err != nil {
					t.Fatalf("record %d of %d is not proven (%v)", i, len(records), err)
				}
				if p.Checkpoint.Size != head.Size { // the last one a moment ago
					continue
				}
				hash := tlog.RecordHash(p.Entry)
				if err := tlog.CheckRecord(judged(p.Hashes), head.Size, tlog.Hash(head.Root), p.Leaf, hash); err != nil {
					t.Errorf("record %d: %v", i, err)
				}
			}
		}
	})
}

// The log of a database from before there was one begins with its history, and says so.
func TestLog_OfAnUpgradedDatabase(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	if _, err := db.Publish(t.Context(), ready(t, db, hours("B200", 0, 300))); err != nil {
		t.Fatal(err)
	}
	signDay(t, db, 0)
	want := kinds(logEntries(t, db))
	for _, statement := range append(storetest.BeforeLog, `DELETE FROM migrations WHERE number >= 19`) {
		storetest.Exec(t, db, statement)
	}
	upgraded := storetest.OpenUpgraded(t, storetest.Address(t, db))
	entries := logEntries(t, upgraded)
	if got := kinds(entries); !maps.Equal(got, want) {
		t.Errorf("after the upgrade the log has %v, want %v", got, want)
	}
	if !strings.HasSuffix(entries[0], `,"publications":1}`) {
		t.Errorf("the log begins with %s, want it to count what is older", entries[0])
	}
}

// A checkpoint has the signatures of its witnesses, and as of an instant only those that were there.
func TestCheckpoint_Cosignatures(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		if _, err := db.Publish(t.Context(), ready(t, db, hours("B200", 0, 3))); err != nil {
			t.Fatal(err)
		}
		head, err := db.LogHead(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if size, _, _, err := db.Unwitnessed(t.Context()); err != nil || size != 0 {
			t.Errorf("without a checkpoint there is one of %d entries, %v", size, err)
		}
		checkpoint := proof.SignedCheckpoint{Size: head.Size, SignedAt: 1000, PublicKey: []byte("key"), Note: "note\n"}
		if err := db.AddCheckpoint(t.Context(), checkpoint); err != nil {
			t.Fatal(err)
		}
		clock := int64(2000)
		db.Now = func() time.Time { return time.UnixMilli(clock) }
		for _, c := range [][2]string{{"two", "— two\n"}, {"one", "— one\n"}, {"one", "— again\n"}} {
			if err := db.AddCosignature(t.Context(), head.Size, c[0], c[1]); err != nil {
				t.Fatal(err)
			}
			clock += 1000
		}
		last, err := db.LastCheckpoint(t.Context())
		if want := "note\n— one\n— two\n"; err != nil || last.Note != want {
			t.Errorf("the checkpoint is %q (%v), want %q", last.Note, err, want)
		}
		size, signed, witnesses, err := db.Unwitnessed(t.Context())
		if err != nil || size != head.Size || signed != "note\n" || !slices.Equal(witnesses, []string{"one", "two"}) {
			t.Errorf("to be signed: %d %q by %q, %v", size, signed, witnesses, err)
		}
		records, err := db.AppendRecords(t.Context(), nil, 0, assay.Latest)
		if err != nil {
			t.Fatal(err)
		}
		for by, want := range map[int64]string{1999: "note\n", 2000: "note\n— two\n", 3000: "note\n— one\n— two\n"} {
			p, ok, err := db.ProveRecord(t.Context(), records[0].Hash, by)
			if err != nil || !ok || p.Checkpoint.Note != want {
				t.Errorf("as of %d the checkpoint is %q (%v, %v), want %q", by, p.Checkpoint.Note, ok, err, want)
			}
		}
	})
}

// A reader of the log learns neither who did something nor values.
func TestLog_SaysNothingPrivate(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	ctx := store.WithActor(t.Context(), "account:jo@example.com")
	if _, err := db.CreateKey(ctx, key("secret")); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Publish(t.Context(), ready(t, db, hours("B200", 0, 3))); err != nil {
		t.Fatal(err)
	}
	for _, entry := range logEntries(t, db) {
		for _, private := range []string{"jo@", "secret", "index_value", "price"} {
			if strings.Contains(entry, private) {
				t.Errorf("the log has %s", entry)
			}
		}
	}
}

// The records of a long publication are read in several pieces, and are in the log in one order.
func TestLog_LongPublication(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	db := storetest.Open(t)
	p := hours("H200", 0, 11_000)
	for _, gpu := range []string{"B200", "A100 SXM4"} {
		more := hours(gpu, 0, 11_000)
		p.Series = append(p.Series, more.Series...)
		maps.Copy(p.Covers, more.Covers)
	}
	if _, err := db.Publish(t.Context(), ready(t, db, p)); err != nil {
		t.Fatal(err)
	}
	var last, lastGPU string
	records := 0
	for _, entry := range logEntries(t, db) {
		if proof.EntryKind([]byte(entry)) != proof.RecordKind {
			continue
		}
		var e struct {
			GPU string `json:"gpu_type"`
			At  string `json:"timestamp"`
		}
		if err := json.Unmarshal([]byte(entry), &e); err != nil {
			t.Fatal(err)
		}
		if e.GPU < lastGPU || e.GPU == lastGPU && e.At <= last {
			t.Fatalf("%s at %s follows %s at %s", e.GPU, e.At, lastGPU, last)
		}
		last, lastGPU = e.At, e.GPU
		records++
	}
	if records != 33_000 {
		t.Errorf("the log has %d records, want 33000", records)
	}
}

func BenchmarkProveRecord(b *testing.B) {
	db := storetest.Open(b)
	if _, err := db.Publish(b.Context(), ready(b, db, hours("B200", 0, 70_000))); err != nil {
		b.Fatal(err)
	}
	head, err := db.LogHead(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	checkpoint := proof.SignedCheckpoint{Size: head.Size, PublicKey: []byte("key"), Note: "note"}
	if err := db.AddCheckpoint(b.Context(), checkpoint); err != nil {
		b.Fatal(err)
	}
	records, err := db.AppendRecords(b.Context(), nil, 0, assay.Latest)
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		hash := records[i*7919%len(records)].Hash
		if _, ok, err := db.ProveRecordSoon(b.Context(), hash); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}
