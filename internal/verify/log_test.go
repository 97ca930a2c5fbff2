package verify

import (
	"bytes"
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
	"github.com/assaydata/assay/verifier"
)

func logSize(t *testing.T, db *store.DB) int64 {
	t.Helper()
	head, err := db.LogHead(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return head.Size
}

// wantLogDifference wants a verification to fail, and to say where.
func wantLogDifference(t *testing.T, m *tampered, o Options, what, want string) {
	t.Helper()
	_, err := Database(t.Context(), m.db, o)
	if !errors.Is(err, ErrDiffers) && !errors.Is(err, store.ErrDamaged) || !strings.Contains(fmt.Sprint(err), want) {
		t.Errorf("%s: %v, want an error with %q", what, err, want)
	}
}

// rewriteLog replaces the log by one that follows from what the tables say now, as an operator could who does not mind
// that nothing of it is signed.
func rewriteLog(t *testing.T, db *store.DB) {
	t.Helper()
	for _, table := range []string{
		"log_tiles", "log_bundles", "log_tail", "log_records", "log_progress", "log_methodologies", "checkpoints",
		"anchors",
	} {
		storetest.Exec(t, db, `DELETE FROM `+table)
	}
	storetest.Exec(t, db, `UPDATE counters SET value = 0 WHERE name = 'checkpoint'`)
	storetest.Exec(t, db, `UPDATE counters SET value = 1 WHERE name = 'log'`)
	storetest.Exec(t, db, `INSERT INTO log_tail (leaf, entry) VALUES (0, $1)`, proof.AppendStart(nil, 1, 0))
	if err := db.ConfirmPublishing(t.Context(), 1); err != nil { // it appends what is missing
		t.Fatal(err)
	}
}

// The audit log has no checksums, and its triggers do not stop who owns the file.
func TestLog_AuditLogChanged(t *testing.T) {
	t.Parallel()
	for _, change := range []string{
		`UPDATE audit SET actor = 'operator:nobody' WHERE audit_id = (SELECT max(audit_id) FROM audit)`,
		`UPDATE audit SET detail = '{}' WHERE audit_id = (SELECT min(audit_id) FROM audit)`,
		`DELETE FROM audit WHERE audit_id = (SELECT min(audit_id) FROM audit)`,
		`INSERT INTO audit SELECT audit_id - 1000, at, actor, action, subject, detail FROM audit LIMIT 1`,
	} {
		m := newTampered(t)
		for _, trigger := range []string{"audit_is_not_changed", "audit_is_not_deleted", "audit_is_not_replaced"} {
			m.exec(`DROP TRIGGER ` + trigger)
		}
		m.exec(change)
		wantLogDifference(t, m, Options{}, change, "the log")
	}
}

// An operator who replaces an entry of the log has to sign the log again, and owners of an old checkpoint notice.
func TestLog_Replaced(t *testing.T) {
	t.Parallel()
	m := newTampered(t)
	m.exec(`UPDATE log_tail SET entry = CAST(replace(entry, '"revision":0', '"revision":1') AS BLOB) WHERE leaf = (
		SELECT min(leaf) FROM log_tail WHERE CAST(entry AS TEXT) LIKE '%"type":"record"%"revision":0%')`)
	wantLogDifference(t, m, Options{}, "a changed entry", "checkpoint of")
	m.exec(`DELETE FROM anchors`)
	m.exec(`DELETE FROM checkpoints`)
	m.exec(`UPDATE counters SET value = 0 WHERE name = 'checkpoint'`)
	wantLogDifference(t, m, Options{}, "a changed entry without checkpoints", `the log does not have {"type":"record"`)
}

// Entries that are listed twice or made up are as wrong as missing ones.
func TestLog_MadeUpEntry(t *testing.T) {
	t.Parallel()
	f := func(entry, want string) {
		t.Helper()
		m := newTampered(t)
		m.exec(`INSERT INTO log_tail (leaf, entry) SELECT value, $1 FROM counters WHERE name = 'log'`, []byte(entry))
		m.exec(`UPDATE counters SET value = value + 1 WHERE name = 'log'`)
		wantLogDifference(t, m, Options{}, entry, want)
	}
	f(`{"type":"audit","number":1}`, "and the database does not have that")
	f(`{"type":"weather","at":"2026-03-08T00:00:00.000Z"}`, "and the database does not have that")
	f(`{"type":"start","at":"2026-03-08T00:00:00.000Z","publications":0}`, "entry ")
	f("", "entry ")
}

func TestLog_CutOff(t *testing.T) {
	t.Parallel()
	m := newTampered(t)
	m.exec(`UPDATE counters SET value = (SELECT max(size) - 1 FROM checkpoints) WHERE name = 'log'`)
	wantLogDifference(t, m, Options{}, "a log without its end", "there are only")
}

// A checkpoint that is signed with a key that the caller does not accept says nothing.
func TestLog_SignedWithAnotherKey(t *testing.T) {
	t.Parallel()
	m := newTampered(t)
	head, err := m.db.LogHead(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	other := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	note, err := proof.SignCheckpoint(proof.Checkpoint{Origin: head.Origin, Size: head.Size, Root: head.Root}, other)
	if err != nil {
		t.Fatal(err)
	}
	checkpoint := proof.SignedCheckpoint{Size: head.Size, PublicKey: other.Public().(ed25519.PublicKey), Note: note}
	if err := m.db.AddCheckpoint(t.Context(), checkpoint); !errors.Is(err, store.ErrSigner) {
		t.Errorf("a checkpoint that is signed with another key was stored: %v", err)
	}
	m.exec(`INSERT INTO checkpoints (size, signed_at, public_key, note) VALUES ($1, 0, $2, $3)`,
		head.Size, checkpoint.PublicKey, note)
	m.exec(`UPDATE counters SET value = $1 WHERE name = 'checkpoint'`, head.Size)
	wantLogDifference(t, m, Options{}, "another key", "but the log names")
	accepted := Signatures{PublicKeys: [][]byte{marketKey.Public().(ed25519.PublicKey)}}
	wantLogDifference(t, m, Options{Signatures: accepted}, "another key", "signed with another key")
}

// With a key, the log must be signed up to publications that are older than an hour.
func TestLog_Unsigned(t *testing.T) {
	t.Parallel()
	m := newTampered(t)
	m.exec(`DELETE FROM anchors`)
	m.exec(`DELETE FROM checkpoints`)
	m.exec(`UPDATE counters SET value = 0 WHERE name = 'checkpoint'`)
	first := ledgerOf(t, m.db).Publications[0].PublishedAt
	accepted := Signatures{PublicKeys: [][]byte{marketKey.Public().(ed25519.PublicKey)}, Now: first}
	if _, err := Database(t.Context(), m.db, Options{Signatures: accepted}); err != nil {
		t.Errorf("right after the publication: %v", err)
	}
	accepted.Now = first + assay.Hour + 1
	wantLogDifference(t, m, Options{Signatures: accepted}, "an hour later", "publication 1 of ")
	accepted.AllowUnsigned = true
	if _, err := Database(t.Context(), m.db, Options{Signatures: accepted}); err != nil {
		t.Errorf("if days may be unsigned: %v", err)
	}
}

// An operator who forges rows makes their checksums right too. Where no published value depends on a row, only the log
// shows it.
func TestLog_ForgedRows(t *testing.T) {
	t.Parallel()
	future := late("RTX 5090", marketEnd+5*assay.Hour, 77) // nothing is published there
	receive := func(m *tampered, change func(*assay.Transaction)) {
		t.Helper()
		row := future
		change(&row)
		if _, err := m.db.AppendTransactions(t.Context(), []assay.Transaction{row}); err != nil {
			t.Fatal(err)
		}
	}
	for what, change := range map[string]func(*assay.Transaction){
		"whether it came verified": func(r *assay.Transaction) { r.Verified = false },
		"the price":                func(r *assay.Transaction) { r.Price++ },
	} {
		honest, forged := newTampered(t), newTampered(t)
		receive(honest, func(*assay.Transaction) {})
		receive(forged, change)
		var number, checksum int64
		var body []byte
		err := forged.raw.QueryRow(`SELECT segment, checksum, body FROM segments ORDER BY segment DESC LIMIT 1`).
			Scan(&number, &checksum, &body)
		if err != nil {
			t.Fatal(err)
		}
		honest.wantIntact()
		n := honest.exec(`UPDATE segments SET checksum = $1, body = $2 WHERE segment = $3`, checksum, body, number)
		if n != 1 {
			t.Fatalf("%d segments were changed", n)
		}
		wantLogDifference(t, honest, Options{}, what, `the log does not have {"type":"transactions"`)
	}
	observed := newTampered(t)
	var key, body string
	var revision, received int64
	err := observed.raw.QueryRow(`SELECT key, revision, received_at, body FROM observations WHERE family = 'memory'
		ORDER BY observation LIMIT 1`).Scan(&key, &revision, &received, &body)
	if err != nil {
		t.Fatal(err)
	}
	body = strings.Replace(body, "0", "9", 1)
	observed.exec(`UPDATE observations SET body = $1, checksum = $2 WHERE family = 'memory' AND key = $3 AND revision = $4`,
		body, observationChecksum("memory", key, revision, received, body), key, revision)
	wantLogDifference(t, observed, Options{}, "an observation", `the log does not have {"type":"observations"`)
}

// observationChecksum is how the store makes the checksum of an observation.
func observationChecksum(family, key string, revision, received int64, body string) int64 {
	text := func(b []byte, s string) []byte { return append(binary.AppendUvarint(b, uint64(len(s))), s...) }
	b := text(text(nil, family), key)
	b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, uint64(revision)), uint64(received))
	return int64(crc32.Checksum(text(b, body), crc32.MakeTable(crc32.Castagnoli)))
}

// Someone who has kept a checkpoint sees whether today's history extends it.
func TestLog_Since(t *testing.T) {
	t.Parallel()
	m := newTampered(t)
	checkpoints := ledgerOf(t, m.db).Log.Checkpoints
	kept := checkpoints[0]
	for _, c := range checkpoints {
		if _, err := Database(t.Context(), m.db, Options{Since: c.Note}); err != nil {
			t.Errorf("since the checkpoint of %d entries: %v", c.Size, err)
		}
	}
	wantLogDifference(t, m, Options{Since: "text"}, "no checkpoint", "is not one of the log")
	accepted := Signatures{PublicKeys: [][]byte{make([]byte, ed25519.PublicKeySize)}}
	wantLogDifference(t, m, Options{Since: kept.Note, Signatures: accepted}, "another key", "")

	own := marketKey.Public().(ed25519.PublicKey)
	twice := Signatures{PublicKeys: [][]byte{own, own}, AllowUnsigned: true}
	if _, err := Database(t.Context(), m.db, Options{Since: kept.Note, Signatures: twice}); err != nil {
		t.Errorf("with a key that is there twice: %v", err)
	}
	if len(twice.PublicKeys[1]) == 0 {
		t.Error("the caller's keys were changed")
	}
	origin := ledgerOf(t, m.db).Log.Origin
	forked := newTampered(t)
	rewriteLog(t, forked.db) // its first entry is another one
	publisher := publisherOf(&marketBuilder{db: forked.db, clock: instant(20, 0)})
	if err := publisher.Sign(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := Database(t.Context(), forked.db, Options{}); err != nil {
		t.Fatalf("the second history is not consistent in itself: %v", err)
	}
	wantLogDifference(t, forked, Options{Since: kept.Note}, "another history", "it was rewritten")

	longer := proof.Checkpoint{Origin: origin, Size: logSize(t, m.db) + 1}
	note, err := proof.SignCheckpoint(longer, marketKey)
	if err != nil {
		t.Fatal(err)
	}
	wantLogDifference(t, m, Options{Since: note}, "a longer history", "its end is missing")
}

// A verification follows the key from one that is accepted to the next, and accepts no other.
func TestLog_KeyEvents(t *testing.T) {
	t.Parallel()
	m := newTampered(t)
	next := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{2}, ed25519.SeedSize))
	third := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{3}, ed25519.SeedSize))
	pin := func(keys ...ed25519.PrivateKey) (o Options) {
		o.AllowUnsigned = true
		for _, key := range keys {
			o.PublicKeys = append(o.PublicKeys, key.Public().(ed25519.PublicKey))
		}
		return o
	}
	f := func(what string, o Options, want string) {
		t.Helper()
		if want != "" {
			wantLogDifference(t, m, o, what, want)
		} else if _, err := Database(t.Context(), m.db, o); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	f("before any change", pin(marketKey), "")
	m.changeKey(verifier.KeyRotate, next, marketKey, next)
	m.sign(next)
	f("after a rotation, with the first key", pin(marketKey), "")
	f("with both keys", pin(marketKey, next), "")
	f("with the second key alone", pin(next), "signed with another key")
	m.changeKey(verifier.KeyRevoke, marketKey, next)
	m.sign(next)
	f("after the first key was revoked", pin(marketKey), "")
	m.changeKey(verifier.KeyAccept, third, third)
	m.sign(third)
	f("after a change that no one has signed", pin(marketKey), "signed with another key")
	f("with the key that was accepted", pin(marketKey, third), "")
	f("without a key", pin(), "")
	m.exec(`UPDATE key_events SET text = replace(text, '"reason":""', '"reason":"x"') WHERE event = 2`)
	f("another reason", pin(), "is not signed with the key")
}

// changeKey adds an event about the key, signed with keys.
func (m *tampered) changeKey(action string, key ed25519.PrivateKey, signers ...ed25519.PrivateKey) {
	m.t.Helper()
	keys, err := m.db.SigningKeys(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}
	event := keys.Next(action, key.Public().(ed25519.PublicKey), time.UnixMilli(marketStart))
	text, err := event.Sign(keys.Log(), signers...)
	if err == nil {
		err = m.db.AddKeyEvents(m.t.Context(), keys, text)
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

// sign signs the log as it is.
func (m *tampered) sign(key ed25519.PrivateKey) {
	m.t.Helper()
	head, err := m.db.LogHead(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}
	note, err := proof.SignCheckpoint(proof.Checkpoint{Origin: head.Origin, Size: head.Size, Root: head.Root}, key)
	if err != nil {
		m.t.Fatal(err)
	}
	err = m.db.AddCheckpoint(m.t.Context(), proof.SignedCheckpoint{
		Size: head.Size, PublicKey: key.Public().(ed25519.PublicKey), Note: note,
	})
	if err != nil {
		m.t.Fatal(err)
	}
}
