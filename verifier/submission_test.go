package verifier_test

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/assaydata/assay/internal/logtest"
	"github.com/assaydata/assay/verifier"
)

// submitted is a log with an entry about the transactions of several providers, and the proof for one of them. It is
// made with x/mod's code, as another program would make it.
func submitted(t *testing.T) (log *verifier.Log, s verifier.Submission) {
	t.Helper()
	l := logtest.New(t, keyLog)
	l.Add("an entry")
	entry := logtest.New(t, "entry")
	salt := strings.Repeat("5", 32)
	digests := []string{strings.Repeat("1a", 32) + "c", strings.Repeat("2b", 32) + "u"}
	text := salt + "\"A \\u0026 B\"\n" + strings.Repeat("\x1a", 32) + "c" + strings.Repeat("\x2b", 32) + "u"
	entry.Add("another provider", text, "a third provider")
	root, err := tlog.TreeHash(entry.Size(), entry)
	if err != nil {
		t.Fatal(err)
	}
	l.Add(fmt.Sprintf(`{"type":"transactions","receipt":7,"hour":"2026-02-03T21:00:00.000Z","rows":9,"root":"%x"}`, root[:]))
	l.Add("more")
	s = verifier.Submission{
		Log: keyLog, Checkpoint: l.Checkpoint(3),
		Groups: []verifier.TransactionGroup{{
			Provider: "A & B", Digests: digests, Salt: hex.EncodeToString([]byte(salt)), Leaf: 1, Leaves: 3,
			Path: entry.Inclusion(1), Entry: l.Entries[1], LeafIndex: 1, Hashes: l.Inclusion(1),
		}},
	}
	return mustLog(t, l.Key), s
}

func TestCheckSubmission(t *testing.T) {
	t.Parallel()
	log, honest := submitted(t)
	proven, c, err := log.CheckSubmission(&honest)
	if err != nil || c.Size != 3 || len(proven) != 2 {
		t.Fatalf("%d are proven by %+v, %v", len(proven), c, err)
	}
	for digest, received := range proven {
		want := map[byte]verifier.Received{0x1a: {Provider: "A & B", Mark: "c"}, 0x2b: {Provider: "A & B", Mark: "u"}}
		if received != want[digest[0]] {
			t.Errorf("proven is %x: %+v", digest, received)
		}
	}
	f := func(what, want string, change func(s *verifier.Submission, g *verifier.TransactionGroup)) {
		t.Helper()
		_, s := submitted(t)
		change(&s, &s.Groups[0])
		if proven, _, err := log.CheckSubmission(&s); err == nil || !strings.Contains(err.Error(), want) || proven != nil {
			t.Errorf("%s: %v, %v, want %q", what, proven, err, want)
		}
	}
	type group = verifier.TransactionGroup
	f("another provider", "does not commit", func(_ *verifier.Submission, g *group) { g.Provider = "C" })
	f("another mark", "does not commit", func(_ *verifier.Submission, g *group) {
		g.Digests[0] = strings.TrimSuffix(g.Digests[0], "c") + "u"
	})
	f("one left out", "does not commit", func(_ *verifier.Submission, g *group) { g.Digests = g.Digests[:1] })
	f("another place", "does not commit", func(_ *verifier.Submission, g *group) { g.Leaf = 0 })
	f("no such place", "fewer providers", func(_ *verifier.Submission, g *group) { g.Leaf = 3 })
	f("more leaves than rows", "fewer providers", func(_ *verifier.Submission, g *group) { g.Leaves = 10 })
	f("no digest", "is not the digest", func(_ *verifier.Submission, g *group) { g.Digests[0] = "1a" })
	f("no salt", "is not a salt", func(_ *verifier.Submission, g *group) { g.Salt = "x" })
	f("another entry", "is not in the log", func(_ *verifier.Submission, g *group) {
		g.Entry = strings.Replace(g.Entry, `"rows":9`, `"rows":8`, 1)
	})
	f("an entry of another kind", "not a JSON object", func(_ *verifier.Submission, g *group) {
		g.LeafIndex, g.Entry = 0, "an entry"
		g.Hashes = entryHashes(t, 0)
	})
	f("another checkpoint", "invalid signature", func(s *verifier.Submission, _ *group) {
		s.Checkpoint = strings.Replace(s.Checkpoint, "\n3\n", "\n4\n", 1)
	})
}

// entryHashes prove an entry of the log of submitted.
func entryHashes(t *testing.T, leaf int64) []string {
	t.Helper()
	_, s := submitted(t)
	l := logtest.New(t, keyLog)
	l.Add("an entry", s.Groups[0].Entry, "more")
	return l.Inclusion(leaf)
}
