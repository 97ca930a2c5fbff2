package proof

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/assaydata/assay"
)

func TestEntries(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 8, 14, 0, 0, 0, time.UTC).UnixMilli()
	salt := Salt(bytes.Repeat([]byte{1}, SaltSize))
	f := func(entry []byte, kind, want string) {
		t.Helper()
		if string(entry) != want {
			t.Errorf("the entry is\n%s\nwant\n%s", entry, want)
		}
		if !json.Valid(entry) || EntryKind(entry) != kind {
			t.Errorf("%s: the kind is %q, want %q in JSON", entry, EntryKind(entry), kind)
		}
	}
	f(AppendStart(nil, at, 3), StartKind, `{"type":"start","at":"2026-03-08T14:00:00.000Z","publications":3}`)
	line := assay.Line{GPU: "H100 SXM", Region: "us-east"}
	d := assay.Determination{Line: line, Grain: assay.Hourly, At: at, Revision: 1, Hash: assay.Hash{9}}
	f(AppendRecordEntry(nil, &d, 7), RecordKind,
		`{"type":"record","gpu_type":"H100 SXM","region":"us-east","granularity":"hourly",`+
			`"timestamp":"2026-03-08T14:00:00.000Z","revision":1,"publication":7,`+
			`"hash":"0900000000000000000000000000000000000000000000000000000000000000"}`)
	p := assay.Publication{
		Version: 7, PublishedAt: at, Methodology: "1.0.0", Receipt: 4, Reason: `a "late" row`, Actor: "jo",
	}
	f(AppendPublicationEntry(nil, salt, &p, AppendCover(nil, "B200", assay.Daily, at, at+1)), PublicationKind,
		`{"type":"publication","version":7,"published_at":"2026-03-08T14:00:00.000Z","methodology":"1.0.0","receipt":4,`+
			`"reason":"a \"late\" row","content":"c6ce1134d69f31ac0509af63b75ad8da0967174d0306780dcb68932aa45fd210"}`)
	f(AppendManifestEntry(nil, &assay.Manifest{Day: assay.StartOfDay(at), Revision: 2, Hash: assay.Hash{8}}), ManifestKind,
		`{"type":"manifest","day":"2026-03-08","revision":2,`+
			`"hash":"0800000000000000000000000000000000000000000000000000000000000000"}`)
	m := assay.MethodologyFile{Version: "1.1.0", Effective: at, Adopted: at - 1, Text: "abc"}
	f(AppendMethodologyEntry(nil, salt, &m), MethodologyKind,
		`{"type":"methodology","version":"1.1.0","effective_at":"2026-03-08T14:00:00.000Z",`+
			`"adopted_at":"2026-03-08T13:59:59.999Z",`+
			`"text_sha256":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}`)
	m.Reason, m.Approver = "outliers", "the committee"
	f(AppendMethodologyEntry(nil, salt, &m), MethodologyKind,
		`{"type":"methodology","version":"1.1.0","effective_at":"2026-03-08T14:00:00.000Z",`+
			`"adopted_at":"2026-03-08T13:59:59.999Z",`+
			`"text_sha256":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",`+
			`"reason":"outliers","content":"31a9af42c3ac4a4574f234b2b46e81b35055781d4ec24fc7f5acdbde30407e3a"}`)
	a := AuditEntry{ID: 5, At: at, Actor: "jo", Action: "key.create", Subject: "key:a", Detail: "{}"}
	f(AppendAuditEntry(nil, salt, &a), AuditKind,
		`{"type":"audit","number":5,"at":"2026-03-08T14:00:00.000Z","action":"key.create",`+
			`"content":"1807d781b2a8e3fb3fbcb202d607487e764705bcf3c12df14dc24b01696dc4ea"}`)
}

// A commitment depends on everything that it commits to, and on the salt; equal contents have different ones.
func TestCommitments(t *testing.T) {
	t.Parallel()
	salt := Salt(bytes.Repeat([]byte{1}, SaltSize))
	seen := map[string]string{}
	f := func(what string, s Salt, a AuditEntry) {
		t.Helper()
		entry := AppendAuditEntry(nil, s, &a)
		content := string(entry[bytes.Index(entry, []byte(`"content"`)):])
		if other, ok := seen[content]; ok {
			t.Errorf("%s and %s have the same commitment", what, other)
		}
		seen[content] = what
	}
	f("an entry", salt, AuditEntry{ID: 1, Actor: "a", Subject: "b", Detail: "{}"})
	f("another number", salt, AuditEntry{ID: 2, Actor: "a", Subject: "b", Detail: "{}"})
	f("another actor", salt, AuditEntry{ID: 1, Actor: "x", Subject: "b", Detail: "{}"})
	f("another subject", salt, AuditEntry{ID: 1, Actor: "a", Subject: "x", Detail: "{}"})
	f("another detail", salt, AuditEntry{ID: 1, Actor: "a", Subject: "b", Detail: "[]"})
	f("a line moved", salt, AuditEntry{ID: 1, Actor: "a\nb", Subject: "", Detail: "{}"})
	f("another salt", Salt(bytes.Repeat([]byte{2}, SaltSize)), AuditEntry{ID: 1, Actor: "a", Subject: "b", Detail: "{}"})
}

func TestEntryKind_Wrong(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{"", "{}", `{"type":`, `{"type":"rec`, ` {"type":"record"}`} {
		if kind := EntryKind([]byte(entry)); kind != "" {
			t.Errorf("%q is of kind %q", entry, kind)
		}
	}
}
