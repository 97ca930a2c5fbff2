package proof

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/assaydata/assay"
)

// The log lists, in the order of their commits, everything that must not be changed unnoticed. Its entries are public.
// What readers must not see, such as who did something, is in an entry as a commitment: a hash over it and a salt, so
// that the operator can show it later. A value is in the hash of its record, behind the digest of transactions that no
// one can guess.

// Salt is the secret from which the salts of all commitments follow. Each commitment has its own, so that opening one
// opens no other.
type Salt []byte

// SaltSize is how many bytes a Salt has.
const SaltSize = 32

// of is the salt of one entry.
func (s Salt) of(kind string, number int64) []byte {
	mac := hmac.New(sha256.New, s)
	mac.Write(strconv.AppendInt(append([]byte(kind), ' '), number, 10))
	return mac.Sum(nil)
}

// commit is the commitment to a content: SHA-256 over the salt of its entry and the content.
func (s Salt) commit(kind string, number int64, content []byte) assay.Hash {
	return sha256.Sum256(append(s.of(kind, number), content...))
}

// The kinds of entries.
const (
	StartKind        = "start"
	RecordKind       = "record"
	ValueKind        = "value"
	PublicationKind  = "publication"
	ManifestKind     = "manifest"
	MethodologyKind  = "methodology"
	CatalogKind      = "catalog"
	AuditKind        = "audit"
	KeyKind          = "key" // see verifier.KeyEvent
	ImportKind       = "import"
	ComplaintKind    = "complaint"
	NoticeKind       = "notice"
	RestatementKind  = "restatement"
	ReceiptKind      = "receipt"
	TransactionsKind = "transactions"
	VerificationKind = "verification"
	CorrectionKind   = "correction"
	ConflictsKind    = "conflicts"
	ObservationsKind = "observations"
	UtilizationKind  = "utilization"
	RealtimeKind     = "realtime"
)

// EntryKind returns the kind of an entry; it is empty if that cannot be read.
func EntryKind(entry []byte) string {
	rest, ok := bytes.CutPrefix(entry, []byte(entryHead))
	kind, _, closed := bytes.Cut(rest, []byte(`"`))
	if !ok || !closed {
		return ""
	}
	return string(kind)
}

// EntryHash returns the hash of a record in its entry, which ends with it.
func EntryHash(entry []byte) (hash assay.Hash, ok bool) {
	text, ok := bytes.CutSuffix(entry, []byte(`"}`))
	if !ok || len(text) < hex.EncodedLen(len(hash)) {
		return hash, false
	}
	_, err := hex.Decode(hash[:], text[len(text)-hex.EncodedLen(len(hash)):])
	return hash, err == nil
}

// entryHead is how every entry begins.
const entryHead = `{"type":"`

func beginEntry(dst []byte, kind string) []byte {
	return append(append(append(dst, entryHead...), kind...), '"')
}

func appendNumber(dst []byte, name string, n int64) []byte {
	dst = append(append(append(dst, `,"`...), name...), `":`...)
	return strconv.AppendInt(dst, n, 10)
}

func appendText(dst []byte, name, text string) []byte {
	dst = append(append(append(dst, `,"`...), name...), `":`...)
	return assay.AppendString(dst, text)
}

func appendInstantOf(dst []byte, name string, at int64) []byte {
	dst = append(append(append(dst, `,"`...), name...), `":"`...)
	return append(assay.AppendInstant(dst, at), '"')
}

// AppendStart appends the first entry: when the log began, and how many publications are older than it.
func AppendStart(dst []byte, at, publications int64) []byte {
	dst = appendInstantOf(beginEntry(dst, StartKind), "at", at)
	return append(appendNumber(dst, "publications", publications), '}')
}

// AppendRecordEntry appends the entry of a determination record. Only its slot, its revision and its hash are needed.
func AppendRecordEntry(dst []byte, d *assay.Determination, publication int64) []byte {
	dst = appendText(beginEntry(dst, RecordKind), "gpu_type", d.GPU)
	dst = appendText(dst, "region", d.Region)
	dst = appendText(dst, "granularity", d.Grain.String())
	dst = appendInstantOf(dst, "timestamp", d.At)
	dst = appendNumber(dst, "revision", int64(d.Revision))
	dst = appendNumber(dst, "publication", publication)
	return append(appendHash(dst, "hash", d.Hash), '}')
}

// AppendPublicationEntry appends the entry of a publication. The time that it covers is given as text; it and the actor
// are committed to.
func AppendPublicationEntry(dst []byte, s Salt, p *assay.Publication, covers []byte) []byte {
	dst = appendNumber(beginEntry(dst, PublicationKind), "version", p.Version)
	dst = appendInstantOf(dst, "published_at", p.PublishedAt)
	dst = appendText(dst, "methodology", p.Methodology)
	dst = appendNumber(dst, "receipt", p.Receipt)
	dst = appendText(dst, "reason", p.Reason)
	content := append(assay.AppendString(nil, p.Actor), '\n')
	return append(appendHash(dst, "content", s.commit(PublicationKind, p.Version, append(content, covers...))), '}')
}

// AppendCover appends a span of time that a publication covers, as a line.
func AppendCover(dst []byte, gpu string, grain assay.Grain, from, to int64) []byte {
	dst = append(assay.AppendString(dst, gpu), '\t')
	dst = append(append(dst, grain.String()...), '\t')
	dst = append(assay.AppendInstant(dst, from), '\t')
	return append(assay.AppendInstant(dst, to), '\n')
}

// AppendManifestEntry appends the entry of a manifest.
func AppendManifestEntry(dst []byte, m *assay.Manifest) []byte {
	dst = appendText(beginEntry(dst, ManifestKind), "day", assay.FormatDay(m.Day))
	dst = appendNumber(dst, "revision", int64(m.Revision))
	return append(appendHash(dst, "hash", m.Hash), '}')
}

// AppendMethodologyEntry appends the entry of a version of the methodology. If there is a reason, it commits to who has
// approved it.
func AppendMethodologyEntry(dst []byte, s Salt, m *assay.MethodologyFile) []byte {
	dst = appendText(beginEntry(dst, MethodologyKind), "version", m.Version)
	dst = appendInstantOf(dst, "effective_at", m.Effective)
	dst = appendInstantOf(dst, "adopted_at", m.Adopted)
	dst = appendHash(dst, "text_sha256", sha256.Sum256([]byte(m.Text)))
	if m.Reason != "" || m.Approver != "" {
		dst = appendText(dst, "reason", m.Reason)
		content := assay.AppendString(nil, m.Approver)
		dst = appendHash(dst, "content", s.commit(MethodologyKind, m.Adopted, content))
	}
	return append(dst, '}')
}

// AuditEntry is an entry of the audit log: who did what to whom, and the details. It contains no secret.
type AuditEntry struct {
	ID      int64
	At      int64
	Actor   string // operator:NAME, account:EMAIL, visitor or system
	Action  string // an object and a verb, such as grant.end
	Subject string // account:EMAIL, org:NAME, key:ID and so on
	Detail  string // JSON
}

// AppendAuditEntry appends the entry of an entry of the audit log. It commits to who did it, to whom, and the details.
func AppendAuditEntry(dst []byte, s Salt, a *AuditEntry) []byte {
	dst = appendNumber(beginEntry(dst, AuditKind), "number", a.ID)
	dst = appendInstantOf(dst, "at", a.At)
	dst = appendText(dst, "action", a.Action)
	content := append(assay.AppendString(nil, a.Actor), '\n')
	content = append(assay.AppendString(content, a.Subject), '\n')
	return append(appendHash(dst, "content", s.commit(AuditKind, a.ID, append(content, a.Detail...))), '}')
}

// Import is a file that was imported.
type Import struct {
	Number, At                int64
	Actor, Family, File       string // the name of the file, without its folder
	SHA256                    assay.Hash
	FirstReceipt, LastReceipt int64 // of transactions; 0 if there are none
	Rows, Known, Rejected     int64 // rows that were new, were known before, and were rejected
}

// AppendImportEntry appends the entry of an import. It commits to who imported which file.
func AppendImportEntry(dst []byte, s Salt, i *Import) []byte {
	dst = appendNumber(beginEntry(dst, ImportKind), "number", i.Number)
	dst = appendInstantOf(dst, "at", i.At)
	dst = appendText(dst, "family", i.Family)
	dst = appendNumber(dst, "first_receipt", i.FirstReceipt)
	dst = appendNumber(dst, "last_receipt", i.LastReceipt)
	dst = appendNumber(dst, "rows", i.Rows)
	dst = appendNumber(dst, "known", i.Known)
	dst = appendNumber(dst, "rejected", i.Rejected)
	content := append(assay.AppendString(nil, i.Actor), '\n')
	content = append(assay.AppendString(content, i.File), '\n')
	content = hex.AppendEncode(content, i.SHA256[:])
	return append(appendHash(dst, "content", s.commit(ImportKind, i.Number, content)), '}')
}

// ComplaintEvent is a question or complaint about the index that was received, or an answer to it.
type ComplaintEvent struct {
	Number, Complaint, At int64
	Actor, Action, Sender string
	Text                  string
}

// The actions.
const (
	ReceiveComplaint = "receive"
	AnswerComplaint  = "answer"
)

// AppendComplaintEntry appends the entry of an event of a complaint. It commits to who was involved and what they said.
func AppendComplaintEntry(dst []byte, s Salt, c *ComplaintEvent) []byte {
	dst = appendNumber(beginEntry(dst, ComplaintKind), "number", c.Number)
	dst = appendInstantOf(dst, "at", c.At)
	dst = appendNumber(dst, "complaint", c.Complaint)
	dst = appendText(dst, "action", c.Action)
	content := append(assay.AppendString(nil, c.Actor), '\n')
	content = append(assay.AppendString(content, c.Sender), '\n')
	content = assay.AppendString(content, c.Text)
	return append(appendHash(dst, "content", s.commit(ComplaintKind, c.Number, content)), '}')
}

// AppendNoticeEntry appends the entry of a notice. It commits to who has written and approved it.
func AppendNoticeEntry(dst []byte, s Salt, n *assay.Notice) []byte {
	dst = appendNumber(beginEntry(dst, NoticeKind), "number", n.Number)
	dst = appendInstantOf(dst, "at", n.At)
	dst = appendText(dst, "kind", string(n.Kind))
	dst = appendText(dst, "gpu_type", n.GPU)
	dst = appendText(dst, "region", n.Region)
	if n.About != 0 {
		dst = appendInstantOf(dst, "about", n.About)
	}
	dst = appendText(dst, "text", n.Text)
	content := append(assay.AppendString(nil, n.Actor), '\n')
	content = assay.AppendString(content, n.Approver)
	return append(appendHash(dst, "content", s.commit(NoticeKind, n.Number, content)), '}')
}

// AppendRestatementEntry appends the entry of a restatement of a family. It commits to who has made it.
func AppendRestatementEntry(dst []byte, s Salt, r *assay.Restatement) []byte {
	dst = appendNumber(beginEntry(dst, RestatementKind), "number", r.Number)
	dst = appendInstantOf(dst, "at", r.At)
	dst = appendText(dst, "family", r.Family.String())
	dst = appendInstantOf(dst, "from", r.From)
	dst = appendInstantOf(dst, "to", r.To)
	dst = appendText(dst, "reason", r.Reason)
	content := assay.AppendString(nil, r.Actor)
	return append(appendHash(dst, "content", s.commit(RestatementKind, r.Number, content)), '}')
}
