package verify

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/merkle"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/verifier"
	"golang.org/x/mod/sumdb/tlog"
)

// entrySum is a sum over entries of the log, which does not depend on their order.
type entrySum struct {
	entries   int
	high, low uint64
}

func (s *entrySum) join(other entrySum) {
	s.entries += other.entries
	var carry uint64
	s.low, carry = bits.Add64(s.low, other.low, 0)
	s.high, _ = bits.Add64(s.high, other.high, carry)
}

// entryKey is the secret of one verification. No one who wrote the database before it was drawn can have made sums with
// this key agree.
//
// An entry is hashed with GHASH, as AES-GCM does with data that it does not encrypt, and the hash is encrypted. Without
// the keys the result is as good as random, and it takes a small part of the time of SHA-256.
type entryKey struct {
	hash    cipher.AEAD
	nonce   []byte // of every entry: nothing is encrypted with it
	encrypt cipher.Block
}

func newEntryKey() *entryKey {
	hash, err := cipher.NewGCM(newBlock())
	if err != nil {
		panic(err) // the block has the size that GCM needs
	}
	return &entryKey{hash: hash, nonce: randomBytes(hash.NonceSize()), encrypt: newBlock()}
}

func newBlock() cipher.Block {
	block, err := aes.NewCipher(randomBytes(16))
	if err != nil {
		panic(err) // the key has a size that AES knows
	}
	return block
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // it never fails
	return b
}

// sum is the sum of one entry.
func (k *entryKey) sum(entry []byte) entrySum {
	var buffer [aes.BlockSize]byte
	hash := k.hash.Seal(buffer[:0], k.nonce, nil, entry)
	k.encrypt.Encrypt(hash, hash)
	return entrySum{1, binary.BigEndian.Uint64(hash), binary.BigEndian.Uint64(hash[8:])}
}

// recordSum is the sum of the entries of records.
func (k *entryKey) recordSum(records []store.Record) (sum entrySum) {
	var entry []byte
	for i := range records {
		entry = proof.AppendRecordEntry(entry[:0], &records[i].Determination, records[i].Version)
		sum.join(k.sum(entry))
	}
	return sum
}

// receivedSum sums the entries of transactions, and makes their digests on the way.
type receivedSum struct {
	key     *entryKey
	newest  int64 // receipt
	groups  *proof.TransactionGroups
	sum     entrySum
	digests []assay.Hash // of all transactions since they were emptied
	entry   []byte
}

func (r *receivedSum) segment(receipt, hour int64, list []assay.Transaction) {
	first := len(r.digests)
	for i := range list {
		r.digests = append(r.digests, proof.Transaction(&list[i]))
	}
	if receipt > r.newest { // it came after the verification had begun
		return
	}
	r.entry = r.groups.AppendEntry(r.entry[:0], receipt, hour, list, r.digests[first:])
	r.sum.join(r.key.sum(r.entry))
}

// walkLog checks that the log's tree is that over its entries, and its checkpoints, and sums its entries.
func (v *verification) walkLog(ctx context.Context) (w *logWalk, err error) {
	w = &logWalk{
		v: v, checkpoints: v.ledger.Log.Checkpoints, anchors: v.ledger.Log.Anchors,
		sums: map[string]entrySum{}, kept: map[entrySum]string{},
	}
	if w.since, err = v.openSince(); err != nil {
		return nil, err
	}
	w.printedSince, err = v.db.EachKeptEntry(ctx, v.ledger, func(entry []byte) error {
		w.kept[v.entryKey.sum(entry)] = string(entry)
		return nil
	})
	if err != nil {
		return nil, err
	}
	w.same = func(t merkle.Tile, hashes []byte) error { return w.checkTile(ctx, t, hashes) }
	if err := v.db.EachLogEntry(ctx, v.ledger.Log.Size, w.entry); err != nil {
		return nil, err
	}
	return w, w.finish(ctx)
}

// checkLog checks that the log lists what the database holds, no more and no less. It needs everything to be read.
func (v *verification) checkLog(ctx context.Context) error {
	if !v.everything() {
		return nil
	}
	if v.logErr != nil {
		return v.logErr
	}
	w := v.log
	wanted := map[string]entrySum{proof.RecordKind: v.records, proof.TransactionsKind: v.received}
	err := v.db.EachExpectedEntry(ctx, v.ledger, func(kind string, entry []byte) error {
		sum := wanted[kind]
		sum.join(v.entryKey.sum(entry))
		wanted[kind] = sum
		return nil
	})
	if err != nil {
		return err
	}
	for _, kind := range slices.AppendSeq(slices.Sorted(maps.Keys(wanted)), maps.Keys(w.sums)) {
		if wanted[kind] != w.sums[kind] {
			return v.findUnlogged(ctx, kind)
		}
	}
	v.report.LogEntries = v.ledger.Log.Size
	return v.checkSignedLog(w)
}

// logWalk goes through the log in order.
type logWalk struct {
	v           *verification
	edge        merkle.Edge
	same        func(merkle.Tile, []byte) error
	checkpoints []proof.SignedCheckpoint // that have not been reached
	anchors     []proof.Anchor           // likewise
	sums        map[string]entrySum
	kept        map[entrySum]string // entries that the log must have, and that have not been reached
	records     store.LogRecordSum

	printedSince int64 // from when on the database has all real-time prints

	since proof.Checkpoint // that the log must continue; its Size is 0 if there is none

	published int // publications in the log
	signed    int // publications in the part that is signed

	manifests int               // in the log
	keys      string            // events of the key that signs, one in each line
	signer    ed25519.PublicKey // that the log names; nil before the first event
}

func (w *logWalk) entry(leaf int64, entry []byte) error {
	if err := w.checkpoint(); err != nil {
		return err
	}
	if err := w.edge.Append(tlog.RecordHash(entry), w.same); err != nil {
		return err
	}
	kind := proof.EntryKind(entry)
	if (kind == proof.StartKind) != (leaf == 0) {
		return differs("entry %d of the log is %q", leaf, entry)
	}
	switch kind {
	case proof.StartKind:
		return nil // no table has it
	case proof.CatalogKind, proof.RealtimeKind:
		return w.keptEntry(leaf, kind, entry)
	case proof.PublicationKind:
		w.published++
	case proof.KeyKind:
		if err := w.keyEvent(leaf, entry); err != nil {
			return err
		}
	case proof.ManifestKind:
		if err := w.manifest(); err != nil {
			return err
		}
	case proof.RecordKind, proof.ValueKind:
		hash, ok := proof.EntryHash(entry)
		if !ok {
			return differs("entry %d of the log is %q", leaf, entry)
		}
		w.records.Add(hash, leaf)
	}
	sum := w.sums[kind]
	sum.join(w.v.entryKey.sum(entry))
	w.sums[kind] = sum
	return nil
}

// keyEvent checks an event of the key that signs. From here on, the log is signed with the key that it names.
func (w *logWalk) keyEvent(leaf int64, entry []byte) error {
	w.keys += string(entry) + "\n"
	if !strings.HasPrefix(w.v.ledger.Log.KeyEvents, w.keys) {
		return notInDatabase(leaf, entry)
	}
	if e := w.v.keys.Events()[strings.Count(w.keys, "\n")-1]; e.Action != verifier.KeyRevoke {
		w.signer = e.PublicKey
	}
	return nil
}

// manifest checks that the next manifest is signed with the key that the log names.
func (w *logWalk) manifest() error {
	if w.manifests < len(w.v.ledger.Manifests) { // otherwise the sums will differ
		m := &w.v.ledger.Manifests[w.manifests]
		w.manifests++
		return w.checkSignedByNamed(manifestName(m), m.PublicKey)
	}
	return nil
}

func (w *logWalk) checkSignedByNamed(what string, key []byte) error {
	if w.signer != nil && !bytes.Equal(w.signer, key) {
		return differs("%s: it is signed with the key %s, but the log names %s", what, proof.KeyID(key),
			proof.KeyID(w.signer))
	}
	return nil
}

// keptEntry checks an entry of what the log has more of than the database.
func (w *logWalk) keptEntry(leaf int64, kind string, entry []byte) error {
	sum := w.v.entryKey.sum(entry)
	_, found := w.kept[sum]
	delete(w.kept, sum)
	if found || kind == proof.CatalogKind {
		return nil
	}
	if at, ok := proof.PrintedAt(entry); !ok || at > w.printedSince {
		return notInDatabase(leaf, entry)
	}
	return nil
}

func notInDatabase(leaf int64, entry []byte) error {
	return differs("entry %d of the log is %s, and the database does not have that", leaf, entry)
}

// openSince reads the checkpoint that the log must continue. It must be signed with a key that is accepted or, without
// any, that has signed others: otherwise it says nothing about this log.
func (v *verification) openSince() (c proof.Checkpoint, err error) {
	if v.Since == "" {
		return c, nil
	}
	keys := v.PublicKeys
	if len(keys) == 0 {
		for _, signed := range v.ledger.Log.Checkpoints {
			keys = append(keys, signed.PublicKey)
		}
		keys = slices.CompactFunc(keys, bytes.Equal)
	}
	for _, key := range keys {
		if c, err := proof.OpenCheckpoint(v.Since, v.ledger.Log.Origin, key); err == nil {
			return c, nil
		}
	}
	return c, differs("the checkpoint to continue is not one of the log %s, or not signed with its key",
		v.ledger.Log.Origin)
}

// checkSince compares the tree up to here with the checkpoint that the log must continue, if it is of this size.
func (w *logWalk) checkSince() error {
	if w.since.Size == 0 || w.since.Size != w.edge.Size() {
		return nil
	}
	root, err := w.edge.Root()
	if err == nil && assay.Hash(root) != w.since.Root {
		err = differs("the log does not begin with the %d entries of the checkpoint to continue: it was rewritten",
			w.since.Size)
	}
	return err
}

// checkpoint checks the checkpoint of the entries up to here, if there is one.
func (w *logWalk) checkpoint() error {
	if err := w.checkSince(); err != nil {
		return err
	}
	if len(w.checkpoints) == 0 || w.checkpoints[0].Size != w.edge.Size() {
		return nil
	}
	c := &w.checkpoints[0]
	w.checkpoints = w.checkpoints[1:]
	name := fmt.Sprintf("checkpoint of %d entries of the log", c.Size)
	said, err := proof.OpenCheckpoint(c.Note, w.v.ledger.Log.Origin, c.PublicKey)
	if err != nil {
		return differs("%s: %v", name, err)
	}
	if !isCanonical(c.Note) {
		return differs("%s: its signature is not written as it was", name)
	}
	root, err := w.edge.Root()
	if err != nil {
		return err
	}
	if said.Size != c.Size || said.Root != assay.Hash(root) {
		return differs("%s: it was signed over other entries", name)
	}
	if err := w.v.checkSigner(name, c.PublicKey, w.v.PublicKeys); err != nil {
		return err
	}
	if err := w.checkSignedByNamed(name, c.PublicKey); err != nil {
		return err
	}
	w.signed = w.published
	return w.anchor(c, said.Text())
}

// isCanonical reports whether the signatures of a note are written in the one way in which they are made. Base64 ends
// with bits that mean nothing.
func isCanonical(note string) bool {
	_, signatures, _ := strings.Cut(note, "\n\n")
	for line := range strings.Lines(signatures) {
		text := line[strings.LastIndexByte(line, ' ')+1:]
		if _, err := base64.StdEncoding.Strict().DecodeString(strings.TrimSuffix(text, "\n")); err != nil {
			return false
		}
	}
	return true
}

// checkTile compares a stored tile with the hashes that it must begin with.
func (w *logWalk) checkTile(ctx context.Context, t merkle.Tile, hashes []byte) error {
	stored, err := w.v.db.LogTile(ctx, t)
	if errors.Is(err, store.ErrNoTile) {
		return differs("tile %d of level %d of the log is missing", t.Index, t.Level)
	}
	if err == nil && !bytes.HasPrefix(stored, hashes) {
		return differs("tile %d of level %d of the log is not that over its entries", t.Index, t.Level)
	}
	return err
}

// finish checks what follows the last entry.
func (w *logWalk) finish(ctx context.Context) error {
	if err := w.checkpoint(); err != nil {
		return err
	}
	if w.since.Size > w.edge.Size() {
		return differs("the log has %d entries, and the checkpoint to continue %d: its end is missing",
			w.edge.Size(), w.since.Size)
	}
	if len(w.checkpoints) > 0 {
		return differs("checkpoint of %d entries of the log: there are only %d", w.checkpoints[0].Size, w.edge.Size())
	}
	if len(w.anchors) > 0 {
		return differs("%s: there is no such checkpoint", anchorName(&w.anchors[0]))
	}
	if err := w.edge.Incomplete(w.same); err != nil {
		return err
	}
	if len(w.kept) > 0 {
		return differs("the log does not have %s", slices.Min(slices.Collect(maps.Values(w.kept))))
	}
	stored, err := w.v.db.LogRecordSum(ctx, w.edge.Size())
	if err != nil {
		return err
	}
	if stored != w.records {
		return differs("the table that says where records are in the log does not match the log")
	}
	return nil
}

// signedWithin is how long a publication may be in no checkpoint: the publisher signs at once, but may have stopped.
const signedWithin = assay.Hour

// checkSignedLog checks that all publications are in a checkpoint, if the caller asks for signatures.
func (v *verification) checkSignedLog(w *logWalk) error {
	if len(v.PublicKeys) == 0 || v.AllowUnsigned || w.signed == len(v.ledger.Publications) {
		return nil
	}
	if p := v.ledger.Publications[w.signed]; p.PublishedAt+signedWithin < v.Now {
		return differs("publication %d of %s is in no signed checkpoint of the log", p.Version,
			assay.FormatInstant(p.PublishedAt))
	}
	return nil
}

// findUnlogged names a difference between the log and the database.
func (v *verification) findUnlogged(ctx context.Context, kind string) error {
	inLog := map[entrySum]int64{}
	err := v.db.EachLogEntry(ctx, v.ledger.Log.Size, func(leaf int64, entry []byte) error {
		if proof.EntryKind(entry) == kind {
			inLog[v.entryKey.sum(entry)] = leaf
		}
		return nil
	})
	if err != nil {
		return err
	}
	compare := func(of string, entry []byte) error {
		sum := v.entryKey.sum(entry)
		if _, ok := inLog[sum]; of == kind && !ok {
			return differs("the log does not have %s", entry)
		}
		delete(inLog, sum)
		return nil
	}
	switch kind {
	case proof.RecordKind:
		err = v.db.EachRecordEntry(ctx, v.ledger, func(entry []byte) error { return compare(kind, entry) })
	case proof.TransactionsKind:
		err = v.db.EachTransactionsEntry(ctx, v.ledger, func(entry []byte) error { return compare(kind, entry) })
	default:
		err = v.db.EachExpectedEntry(ctx, v.ledger, compare)
	}
	if err != nil {
		return err
	}
	first := v.ledger.Log.Size // of those that are left
	for _, leaf := range inLog {
		first = min(first, leaf)
	}
	return v.db.EachLogEntry(ctx, v.ledger.Log.Size, func(leaf int64, entry []byte) error {
		if leaf == first {
			return notInDatabase(leaf, entry)
		}
		return nil
	})
}
