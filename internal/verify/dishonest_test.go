package verify

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// The tests here are attacks of people who know how the proof works: they keep everything else consistent.

// marketSignatures asks for signatures with the market's key on all days that have ended by an instant.
func marketSignatures(now int64) Signatures {
	return Signatures{PublicKeys: [][]byte{marketKey.Public().(ed25519.PublicKey)}, Now: now}
}

func wantDiffers(t *testing.T, err error, want string) {
	t.Helper()
	if !errors.Is(err, ErrDiffers) || !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v, want one with %q", err, want)
	}
}

// Without the manifests nothing proves that the publisher has made a bundle, whatever bundle.json says.
func TestBundle_WithoutManifests(t *testing.T) {
	t.Parallel()
	db := openMarket(t)
	dir, _ := exported(t, db, instant(5, 0), instant(8, 0))
	now := instant(20, 0)
	if _, err := Bundle(t.Context(), dir, marketSignatures(now), nil); err != nil {
		t.Fatal(err)
	}
	manifests := readFiles(t, dir)[manifestsFile]
	write(t, filepath.Join(dir, manifestsFile), nil)
	updateSums(t, dir)
	_, err := Bundle(t.Context(), dir, marketSignatures(now), nil)
	wantDiffers(t, err, "2026-03-07 is over, but the signatures do not prove it: it was never signed")

	allowed := marketSignatures(now)
	allowed.AllowUnsigned = true
	if report, err := Bundle(t.Context(), dir, allowed, nil); err != nil || len(report.Unsigned) != 3 {
		t.Errorf("%+v, %v", report, err)
	}

	// Only the manifests of one day.
	lines := bytes.SplitAfter(manifests, []byte("\n"))
	ofTheDay := func(line []byte) bool { return bytes.HasPrefix(line, []byte(`{"day":"2026-03-06"`)) }
	lines = slices.DeleteFunc(lines, ofTheDay)
	write(t, filepath.Join(dir, manifestsFile), bytes.Join(lines, nil))
	updateSums(t, dir)
	_, err = verifyBundle(t, dir)
	wantDiffers(t, err, "the chain is broken")
}

// bundle.json is not signed: an earlier time of the export does not excuse a day.
func TestBundle_ExportedEarlier(t *testing.T) {
	t.Parallel()
	dir, _ := exported(t, openMarket(t), instant(10, 0), instant(11, 0))
	write(t, filepath.Join(dir, manifestsFile), nil)
	updateSums(t, dir)
	if _, err := Bundle(t.Context(), dir, marketSignatures(marketEnd), nil); err != nil {
		t.Errorf("before the end of the day: %v", err)
	}
	_, err := Bundle(t.Context(), dir, marketSignatures(instant(11, 2)), nil)
	wantDiffers(t, err, "2026-03-10 is over, but the signatures do not prove it")
}

// A database that was never signed, or whose manifests were removed together with the key, does not pass for a signed
// one.
func TestDatabase_NeverSigned(t *testing.T) {
	t.Parallel()
	db := openMarket(t)
	storetest.Exec(t, db, `INSERT INTO unsigned_days SELECT DISTINCT day FROM manifests
		WHERE day NOT IN (SELECT day FROM unsigned_days)`)
	storetest.Exec(t, db, `DELETE FROM manifests`)
	storetest.Exec(t, db, `UPDATE counters SET value = 0 WHERE name = 'manifest'`)
	rewriteLog(t, db)
	report, err := Database(t.Context(), db, Options{})
	if err != nil || len(report.Unsigned) != 7 || report.Manifests != 0 {
		t.Errorf("without a key: %+v, %v", report, err)
	}
	_, err = Database(t.Context(), db, Options{Signatures: marketSignatures(marketEnd)})
	wantDiffers(t, err, "2026-03-09 is over, but the signatures do not prove it: it was never signed")
}

// The tail of the manifests is gone: the days are unsigned, but they were over when the publisher published again.
func TestDatabase_ManifestsCutOff(t *testing.T) {
	t.Parallel()
	db := openMarket(t)
	storetest.Exec(t, db, `INSERT INTO unsigned_days SELECT DISTINCT day FROM manifests
		WHERE sequence > 4 AND day NOT IN (SELECT day FROM unsigned_days)`)
	storetest.Exec(t, db, `DELETE FROM manifests WHERE sequence > 4`)
	storetest.Exec(t, db, `UPDATE counters SET value = 4 WHERE name = 'manifest'`)
	rewriteLog(t, db)
	_, err := Database(t.Context(), db, Options{})
	wantDiffers(t, err, "2026-03-09: its manifest is missing, although the day was over")
}

// Someone with the key rewrites history: the manifest of a day before its restatement lists other records than there
// were. Every manifest after it is signed again, so signatures and chain are intact.
func TestDatabase_RewrittenManifest(t *testing.T) {
	t.Parallel()
	f := func(change func(m *assay.Manifest), want string) {
		t.Helper()
		db := openMarket(t)
		list := ledgerOf(t, db).Manifests
		first := slices.IndexFunc(list, func(m assay.Manifest) bool { return m.Day == instant(6, 0) })
		change(&list[first])
		signAgain(t, db, list)
		_, err := Database(t.Context(), db, Options{})
		wantDiffers(t, err, want)
	}
	const name = "manifest of 2026-03-06, revision 0: "
	const wrong = name + "it does not list the records that the day had when it was signed"
	f(func(m *assay.Manifest) { m.Digest[3]++ }, wrong)
	f(func(m *assay.Manifest) { m.Records-- }, wrong)
	f(func(m *assay.Manifest) { m.Revisions++ }, wrong)
	f(func(m *assay.Manifest) { m.Publication, m.Receipt = 4, 8 },
		"manifest of 2026-03-07, revision 0: it names publication 3 and receipt 5 after one that named 4 and 8")
	f(func(m *assay.Manifest) { m.Receipt++ }, name+"it says that publication 1 knew receipt 3, but it knew receipt 2")
	f(func(m *assay.Manifest) { m.Publication, m.Receipt, m.Revisions, m.Records = 0, 0, 0, m.Records-1 }, wrong)
}

func ledgerOf(t *testing.T, db *store.DB) store.Ledger {
	t.Helper()
	ledger, err := db.Ledger(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return ledger
}

// signAgain signs manifests with the market's key and stores them in place of the existing ones.
func signAgain(t *testing.T, db *store.DB, list []assay.Manifest) {
	t.Helper()
	var before assay.Hash
	for i := range list {
		m := &list[i]
		m.Previous = before
		proof.Sign(m, marketKey)
		before = m.Hash
		storetest.Exec(t, db, `UPDATE manifests SET publication = $1, receipt = $2, records = $3, revisions = $4,
			digest = $5, previous = $6, hash = $7, signature = $8 WHERE day = $9 AND revision = $10`,
			m.Publication, m.Receipt, m.Records, m.Revisions, m.Digest[:], m.Previous[:], m.Hash[:], m.Signature, m.Day,
			m.Revision)
	}
}

// A restatement is cut out of a bundle: its records, the time it covers, and its manifest. Later manifests carry the
// hash of what is missing.
func TestBundle_RestatementCutOut(t *testing.T) {
	t.Parallel()
	b := &marketBuilder{ctx: t.Context(), db: storetest.Open(t), clock: marketStart}
	b.db.Now, b.publisher = b.now, publisherOf(b)
	b.receive(rentals(marketStart, instant(8, 0))...)
	b.publish(instant(7, 0))
	b.sign()
	b.receive(late("H200", instant(6, 3), 1))
	b.restate("H200", instant(6, 0), instant(7, 0)) // publication 2
	b.sign()
	b.publish(instant(8, 0))
	b.sign()
	if b.err != nil {
		t.Fatal(b.err)
	}
	dir, _ := exported(t, b.db, instant(6, 0), instant(7, 0))
	if _, err := Bundle(t.Context(), dir, marketSignatures(b.clock), nil); err != nil {
		t.Fatal(err)
	}
	files := readFiles(t, dir)
	cut := func(name string, belongs func(line string) bool) {
		t.Helper()
		lines := strings.SplitAfter(string(files[name]), "\n")
		rest := slices.DeleteFunc(slices.Clone(lines), belongs)
		if len(rest) == len(lines) {
			t.Fatalf("%s: there is nothing to cut out", name)
		}
		write(t, filepath.Join(dir, name), []byte(strings.Join(rest, "")))
	}
	cut(recordsFile, func(line string) bool { return strings.Contains(line, `"version":2,`) })
	cut(coversFile, func(line string) bool { return strings.HasSuffix(line, ",true\n") })
	cut(manifestsFile, func(line string) bool { return strings.HasPrefix(line, `{"day":"2026-03-06","revision":1`) })
	updateSums(t, dir)
	_, err := verifyBundle(t, dir)
	wantDiffers(t, err, "the chain is broken: it does not carry the hash of the manifest before it")
}
