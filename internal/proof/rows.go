package proof

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/verifier"
	"golang.org/x/mod/sumdb/tlog"
)

// rowTree commits to many rows such that the operator can show one without the others: it is a Merkle tree as in RFC
// 6962, whose leaves are the rows, each behind a salt of its own.
type rowTree struct {
	salt   []byte // of the entry
	leaves []tlog.Hash
	buffer []byte
}

// newRows begins the rows of an entry.
func (s Salt) newRows(kind string, number int64) *rowTree { return &rowTree{salt: s.of(kind, number)} }

// add adds a row under a label that no other row of the entry has.
func (r *rowTree) add(label string, text []byte) {
	salt := r.saltOf(label)
	r.buffer = append(append(r.buffer[:0], salt[:]...), text...)
	r.leaves = append(r.leaves, tlog.RecordHash(r.buffer))
}

// saltOf is the salt of the row with a label.
func (r *rowTree) saltOf(label string) assay.Hash {
	r.buffer = append(append(r.buffer[:0], r.salt...), label...)
	return sha256.Sum256(r.buffer)
}

// addNext adds a row under its number, from 0 on.
func (r *rowTree) addNext(text []byte) { r.add(strconv.Itoa(len(r.leaves)), text) }

// root is the hash of the tree.
func (r *rowTree) root() assay.Hash {
	if len(r.leaves) == 0 {
		return sha256.Sum256(nil)
	}
	return assay.Hash(treeHash(r.leaves))
}

// treeHash is the hash of the tree over leaves, of which there is at least one.
func treeHash(leaves []tlog.Hash) tlog.Hash {
	if len(leaves) == 1 {
		return leaves[0]
	}
	left := leftLeaves(len(leaves))
	return tlog.NodeHash(treeHash(leaves[:left]), treeHash(leaves[left:]))
}

// leftLeaves is how many leaves are on the left of a tree: the largest power of two below their number.
func leftLeaves(leaves int) int {
	left := 1
	for left*2 < leaves {
		left *= 2
	}
	return left
}

// end appends how many rows there are, the root, and the end of the entry.
func (r *rowTree) end(dst []byte, rows int) []byte {
	return append(appendHash(appendNumber(dst, "rows", int64(rows)), "root", r.root()), '}')
}

// TransactionGroups commits to the transactions of one receipt that were executed in one hour. Its leaves are the
// transactions of a provider, so that a provider can be shown all of its own and no others. They are in the order of
// their hashes: the names of the others have an order too.
type TransactionGroups struct {
	salt   Salt
	groups map[string][]byte // by provider: its text
}

// NewTransactionGroups makes the groups of a log. They can be used for one receipt and hour after another.
func NewTransactionGroups(s Salt) *TransactionGroups {
	return &TransactionGroups{salt: s, groups: map[string][]byte{}}
}

// AppendEntry appends the entry of transactions, in the order in which they are stored, with their digests.
func (g *TransactionGroups) AppendEntry(
	dst []byte, receipt, hour int64, list []assay.Transaction, digests []assay.Hash,
) []byte {
	rows := g.tree(receipt, hour, list, digests)
	dst = appendNumber(beginEntry(dst, TransactionsKind), "receipt", receipt)
	return rows.end(appendInstantOf(dst, "hour", hour), len(list))
}

// tree groups transactions, and makes the tree over the groups.
func (g *TransactionGroups) tree(
	receipt, hour int64, list []assay.Transaction, digests []assay.Hash,
) *rowTree {
	for provider, text := range g.groups {
		g.groups[provider] = text[:0]
	}
	for i := range list {
		t := &list[i]
		text := g.groups[t.Provider]
		if len(text) == 0 {
			text = append(assay.AppendString(text, t.Provider), '\n')
		}
		g.groups[t.Provider] = appendMark(append(text, digests[i][:]...), t)
	}
	rows := g.salt.newRows(TransactionsKind+" "+strconv.FormatInt(receipt, 10), hour)
	for provider, text := range g.groups {
		if len(text) > 0 {
			rows.add(provider, text)
		}
	}
	slices.SortFunc(rows.leaves, func(a, b tlog.Hash) int { return bytes.Compare(a[:], b[:]) })
	return rows
}

// Open shows what the entry of transactions commits to for one provider, which must be one of them. Where the entry is
// in the log is for the caller to add.
func (g *TransactionGroups) Open(
	receipt, hour int64, list []assay.Transaction, digests []assay.Hash, provider string,
) verifier.TransactionGroup {
	rows := g.tree(receipt, hour, list, digests)
	salt := rows.saltOf(provider)
	leaf := slices.Index(rows.leaves, tlog.RecordHash(slices.Concat(salt[:], g.groups[provider])))
	opened := verifier.TransactionGroup{
		Provider: provider, Salt: hex.EncodeToString(salt[:]), Leaf: int64(leaf), Leaves: int64(len(rows.leaves)),
	}
	opened.Path = HashTexts(treePath(rows.leaves, leaf))
	for i := range list {
		if list[i].Provider == provider {
			opened.Digests = append(opened.Digests, hex.EncodeToString(digests[i][:])+string(appendMark(nil, &list[i])))
		}
	}
	return opened
}

// HashTexts are hashes in hexadecimal.
func HashTexts[H ~[sha256.Size]byte](hashes []H) []string {
	texts := make([]string, len(hashes))
	for i, hash := range hashes {
		texts[i] = hex.EncodeToString(hash[:])
	}
	return texts
}

// treePath are the hashes that prove a leaf, from below.
func treePath(leaves []tlog.Hash, leaf int) []tlog.Hash {
	if len(leaves) == 1 {
		return nil
	}
	left := leftLeaves(len(leaves))
	if leaf < left {
		return append(treePath(leaves[:left], leaf), treeHash(leaves[left:]))
	}
	return append(treePath(leaves[left:], leaf-left), treeHash(leaves[:left]))
}

// AppendReceiptEntry appends the entry of a receipt: of a batch of transactions or, without rows, of an event.
func AppendReceiptEntry(dst []byte, number, receivedAt, rows int64) []byte {
	dst = appendNumber(beginEntry(dst, ReceiptKind), "number", number)
	dst = appendInstantOf(dst, "received_at", receivedAt)
	return append(appendNumber(dst, "rows", rows), '}')
}

// AppendVerificationEntry appends the entry of a verification or a withdrawal.
func AppendVerificationEntry(dst []byte, s Salt, v *assay.Verification) []byte {
	dst = appendNumber(beginEntry(dst, VerificationKind), "number", v.Event)
	dst = appendNumber(dst, "receipt", v.Receipt)
	dst = append(append(dst, `,"verified":`...), strconv.FormatBool(v.Verified)...)
	content := eventText(v.Source, v.ID, v.ExecutedAt, v.Actor, v.Reason)
	content = appendEvidence(content, v.Evidence, "")
	return append(appendHash(dst, "content", s.commit(VerificationKind, v.Event, content)), '}')
}

// appendEvidence appends evidence that is stated. By is empty where the text names who verified elsewhere.
func appendEvidence(dst []byte, e assay.Evidence, by string) []byte {
	if e == assay.Unstated {
		return dst
	}
	dst = append(append(dst, '\t'), e.String()...)
	return assay.AppendString(append(dst, '\t'), by)
}

// AppendCorrectionEntry appends the entry of a correction.
func AppendCorrectionEntry(dst []byte, s Salt, c *assay.Correction) []byte {
	dst = appendNumber(beginEntry(dst, CorrectionKind), "number", c.Number)
	dst = appendNumber(dst, "receipt", c.Receipt)
	dst = appendNumber(dst, "corrected_receipt", c.Row)
	content := eventText(c.Source, c.ID, c.ExecutedAt, c.Actor, c.Reason)
	return append(appendHash(dst, "content", s.commit(CorrectionKind, c.Number, content)), '}')
}

// eventText is what the entry of an event about a transaction commits to.
func eventText(source, id string, executedAt int64, actor, reason string) []byte {
	text := append(assay.AppendString(nil, source), '\t')
	text = append(assay.AppendString(text, id), '\t')
	text = append(assay.AppendInstant(text, executedAt), '\n')
	text = append(assay.AppendString(text, actor), '\n')
	return append(assay.AppendString(text, reason), '\n')
}

// Batch is the entry of a batch of rows that were received together: of conflicts, observations or utilization; or of
// the real-time prints of a minute.
type Batch struct {
	kind, family string // the family of observations
	At           int64
	rows         *rowTree
	text         []byte
}

// NewBatch begins a batch of a kind.
func NewBatch(s Salt, kind string, at int64) *Batch {
	return &Batch{kind: kind, At: at, rows: s.newRows(kind, at)}
}

// NewObservations begins a batch of observations of a family.
func NewObservations(s Salt, family string, at int64) *Batch {
	return &Batch{kind: ObservationsKind, family: family, At: at, rows: s.newRows(ObservationsKind+" "+family, at)}
}

// AddConflict adds a transaction that was set aside.
func (b *Batch) AddConflict(t *assay.Transaction) {
	b.text = append(AppendTransaction(b.text[:0], t), '\t')
	b.text = strconv.AppendBool(b.text, t.Verified)
	b.rows.addNext(appendEvidence(b.text, t.Evidence, t.VerifiedBy))
}

// AddObservation adds an observation.
func (b *Batch) AddObservation(key string, revision int64, body string) {
	b.text = append(assay.AppendString(b.text[:0], key), '\t')
	b.text = append(strconv.AppendInt(b.text, revision, 10), '\t')
	b.rows.addNext(append(b.text, body...))
}

// AddUtilization adds a reading of utilization; that it was revised only if it was.
func (b *Batch) AddUtilization(r *assay.UtilizationReading) {
	b.text = append(assay.AppendString(b.text[:0], r.Source), '\t')
	b.text = appendLine(b.text, r.GPU, r.Region, r.At)
	b.text = append(strconv.AppendInt(b.text, r.Rented, 10), '\t')
	b.text = strconv.AppendInt(b.text, r.Tracked, 10)
	if r.Revision > 0 {
		b.text = strconv.AppendInt(append(b.text, '\t'), int64(r.Revision), 10)
	}
	b.rows.addNext(b.text)
}

// AddPrint adds a real-time print.
func (b *Batch) AddPrint(line assay.Line, p *assay.RealtimePrint) {
	b.text = appendLine(b.text[:0], line.GPU, line.Region, p.At)
	b.text = append(p.Value.AppendJSON(b.text), '\t')
	b.text = append(strconv.AppendInt(b.text, int64(p.Transactions), 10), '\t')
	b.rows.addNext(assay.AppendMicros(b.text, p.HourMicros))
}

func appendLine(dst []byte, gpu, region string, at int64) []byte {
	dst = append(assay.AppendString(dst, gpu), '\t')
	dst = append(assay.AppendString(dst, region), '\t')
	return append(assay.AppendInstant(dst, at), '\t')
}

// AppendEntry appends the entry of the batch.
func (b *Batch) AppendEntry(dst []byte) []byte {
	dst = beginEntry(dst, b.kind)
	if b.family != "" {
		dst = appendText(dst, "family", b.family)
	}
	name := "received_at"
	if b.kind == RealtimeKind {
		name = "timestamp"
	}
	return b.rows.end(appendInstantOf(dst, name, b.At), len(b.rows.leaves))
}

// PrintedAt returns the minute of an entry of real-time prints.
func PrintedAt(entry []byte) (at int64, ok bool) {
	begin := appendInstantOf(beginEntry(nil, RealtimeKind), "timestamp", 0)
	if len(entry) < len(begin) {
		return 0, false
	}
	at, err := parseInstant(string(entry[len(begin)-len(`1970-01-01T00:00:00.000Z"`) : len(begin)-1]))
	return at, err == nil
}

// AppendCatalogEntry appends the entry of a version of the catalog, given as text.
func AppendCatalogEntry(dst []byte, version int64, text []byte) []byte {
	dst = appendNumber(beginEntry(dst, CatalogKind), "version", version)
	return append(appendHash(dst, "text_sha256", sha256.Sum256(text)), '}')
}
