package proof

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"golang.org/x/mod/sumdb/tlog"
)

// judgedRoot is the root over leaves as tlog computes it.
func judgedRoot(t *testing.T, leaves []tlog.Hash) tlog.Hash {
	t.Helper()
	var stored []tlog.Hash
	read := tlog.HashReaderFunc(func(indexes []int64) (hashes []tlog.Hash, err error) {
		for _, i := range indexes {
			hashes = append(hashes, stored[i])
		}
		return hashes, nil
	})
	for i, leaf := range leaves {
		hashes, err := tlog.StoredHashesForRecordHash(int64(i), leaf, read)
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, hashes...)
	}
	root, err := tlog.TreeHash(int64(len(leaves)), read)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func TestRows_RootIsThatOfTlog(t *testing.T) {
	t.Parallel()
	for n := range 70 {
		rows := Salt("secret").newRows("kind", 1)
		for i := range n {
			rows.addNext(fmt.Append(nil, i))
		}
		if got, want := rows.root(), judgedRoot(t, rows.leaves); got != assay.Hash(want) {
			t.Errorf("%d rows: root %x, want %v", n, got, want)
		}
	}
}

// A provider can be shown its transactions with nothing of the others but hashes. This follows docs/proof.md, not the
// code.
func TestTransactionGroups_ShowOneProvider(t *testing.T) {
	t.Parallel()
	salt := Salt("a secret of the database, 32 byte")
	var list []assay.Transaction
	var digests []assay.Hash
	for i := range 10 {
		list = append(list, assay.Transaction{
			Source: "desk", ID: fmt.Sprint(i), Provider: []string{"Alder", `Birch "B"`, "Cedar"}[i%3], Verified: i%2 == 0,
		})
		digests = append(digests, Transaction(&list[i]))
	}
	groups := NewTransactionGroups(salt)
	groups.AppendEntry(nil, 6, 0, []assay.Transaction{{Provider: "Dogwood"}}, digests[:1]) // it leaves no trace
	entry := string(groups.AppendEntry(nil, 7, 3_600_000, list, digests))

	label := hmac.New(sha256.New, salt)
	label.Write([]byte("transactions 7 3600000"))
	var leaves []tlog.Hash
	for provider, quoted := range map[string]string{"Alder": `"Alder"`, `Birch "B"`: `"Birch \"B\""`, "Cedar": `"Cedar"`} {
		own := sha256.Sum256(append(label.Sum(nil), provider...))
		text := []byte(quoted + "\n")
		for i := range list {
			if list[i].Provider == provider {
				text = append(append(text, digests[i][:]...), []byte{'c', 'u'}[i%2])
			}
		}
		leaves = append(leaves, tlog.RecordHash(append(own[:], text...)))
	}
	slices.SortFunc(leaves, func(a, b tlog.Hash) int { return bytes.Compare(a[:], b[:]) })
	root := judgedRoot(t, leaves)
	want := `{"type":"transactions","receipt":7,"hour":"1970-01-01T01:00:00.000Z","rows":10,"root":"` +
		hex.EncodeToString(root[:]) + `"}`
	if entry != want {
		t.Errorf("the entry is %s, want %s", entry, want)
	}
}

// What an entry commits to cannot be guessed from it, and every field of it counts.
func TestBatch_CommitsToEveryField(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	f := func(what string, add func(b *Batch)) {
		t.Helper()
		b := NewBatch(Salt("secret"), UtilizationKind, 1)
		add(b)
		entry := string(b.AppendEntry(nil))
		if other, ok := seen[entry]; ok {
			t.Errorf("%s has the same entry as %s: %s", what, other, entry)
		}
		if strings.Contains(entry, "desk") {
			t.Errorf("%s shows its content: %s", what, entry)
		}
		seen[entry] = what
	}
	f("nothing", func(*Batch) {})
	reading := assay.UtilizationReading{Source: "desk", At: 1, GPU: "B200", Region: "us-east", Rented: 1, Tracked: 2}
	utilization := func(what string, change func(*assay.UtilizationReading)) {
		r := reading
		change(&r)
		f("a reading with "+what, func(b *Batch) { b.AddUtilization(&r) })
	}
	utilization("nothing changed", func(*assay.UtilizationReading) {})
	utilization("another source", func(r *assay.UtilizationReading) { r.Source = "desk2" })
	utilization("another instant", func(r *assay.UtilizationReading) { r.At++ })
	utilization("another GPU", func(r *assay.UtilizationReading) { r.GPU = "H200" })
	utilization("another region", func(r *assay.UtilizationReading) { r.Region = "" })
	utilization("another number rented", func(r *assay.UtilizationReading) { r.Rented++ })
	utilization("another number tracked", func(r *assay.UtilizationReading) { r.Tracked++ })
	line := assay.Line{GPU: "B200", Region: assay.Global}
	f("a print", func(b *Batch) { b.AddPrint(line, &assay.RealtimePrint{Value: 1}) })
	f("a print of another value", func(b *Batch) { b.AddPrint(line, &assay.RealtimePrint{Value: 2}) })
	f("a print of more", func(b *Batch) { b.AddPrint(line, &assay.RealtimePrint{Value: 1, Transactions: 1}) })
	f("a print of longer rentals", func(b *Batch) { b.AddPrint(line, &assay.RealtimePrint{Value: 1, HourMicros: 1}) })
	f("an observation", func(b *Batch) { b.AddObservation("a", 0, "{}") })
	f("a revision", func(b *Batch) { b.AddObservation("a", 1, "{}") })
	f("a conflict", func(b *Batch) { b.AddConflict(&assay.Transaction{}) })
	f("a verified conflict", func(b *Batch) { b.AddConflict(&assay.Transaction{Verified: true}) })
}

func TestPrintedAt(t *testing.T) {
	t.Parallel()
	entry := NewBatch(nil, RealtimeKind, 1_773_135_060_000).AppendEntry(nil)
	if at, ok := PrintedAt(entry); !ok || at != 1_773_135_060_000 {
		t.Errorf("%s was printed at %d, %v", entry, at, ok)
	}
	for _, bad := range []string{``, `{"type":"realtime"}`, `{"type":"realtime","timestamp":"2026-99-01T00:00:00.000Z"}`} {
		if _, ok := PrintedAt([]byte(bad)); ok {
			t.Errorf("%s has an instant", bad)
		}
	}
}
