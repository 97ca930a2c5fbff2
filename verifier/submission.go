package verifier

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// An entry of the log commits to the transactions that came with one receipt and were executed in one hour. It is the
// root of a tree, whose leaves are the transactions of one provider each, behind a salt. So the operator can show a
// provider that all of its transactions are in the log, and shows none of another one's.

// Submission proves that transactions are in a log, as 'assay prove-mine' writes it.
type Submission struct {
	Log        string             `json:"log"`
	Checkpoint string             `json:"checkpoint"`
	Keys       string             `json:"keys"` // the events of the log's key, as /log/keys has them
	Groups     []TransactionGroup `json:"groups"`
}

// TransactionGroup proves the transactions of a provider in one entry.
type TransactionGroup struct {
	Provider  string   `json:"provider"`
	Digests   []string `json:"digests"` // in hexadecimal; then c if the transaction came verified, else u
	Salt      string   `json:"salt"`
	Leaf      int64    `json:"leaf"` // of the entry's tree
	Leaves    int64    `json:"leaves"`
	Path      []string `json:"path"` // from the leaf to the entry's root
	Entry     string   `json:"entry"`
	LeafIndex int64    `json:"leaf_index"` // of the log
	Hashes    []string `json:"hashes"`     // from the entry to the log's root
}

// transactionsEntry is the entry that commits to transactions.
type transactionsEntry struct {
	Type    string `json:"type"`
	Receipt int64  `json:"receipt"`
	Hour    string `json:"hour"`
	Rows    int64  `json:"rows"`
	Root    string `json:"root"`
}

// Digest is the digest of a transaction.
type Digest [32]byte

// Received is how a transaction is in the log.
type Received struct {
	Provider string
	Mark     string // c: it came verified, u: it did not; or the class of its evidence and who verified it
}

// CheckSubmission checks a proof. It returns which transactions are in the log, and the checkpoint that includes them.
func (l *Log) CheckSubmission(s *Submission) (proven map[Digest]Received, c Checkpoint, err error) {
	if c, err = l.Open(s.Checkpoint); err != nil {
		return nil, c, err
	}
	proven = map[Digest]Received{}
	for i := range s.Groups {
		g := &s.Groups[i]
		inclusion := Inclusion{
			LeafIndex: g.LeafIndex, Entry: g.Entry, Hashes: g.Hashes, TreeSize: c.Size, Checkpoint: s.Checkpoint,
		}
		if _, err := l.CheckInclusion(&inclusion); err != nil {
			return nil, c, err
		}
		if err := g.check(proven); err != nil {
			return nil, c, fmt.Errorf("entry %d: %w", g.LeafIndex, err)
		}
	}
	return proven, c, nil
}

// check checks that the entry commits to the transactions of the group, and adds them to those that are proven.
func (g *TransactionGroup) check(proven map[Digest]Received) error {
	var e transactionsEntry
	if err := parse([]byte(g.Entry), &e); err != nil {
		return err
	}
	if e.Type != "transactions" {
		return errors.New("it is not about transactions")
	}
	root, err := parseHashes([]string{e.Root})
	if err != nil {
		return err
	}
	path, err := parseHashes(g.Path)
	if err != nil {
		return err
	}
	if g.Leaf < 0 || g.Leaf >= g.Leaves || g.Leaves > e.Rows || int64(len(g.Digests)) > e.Rows {
		return errors.New("it has fewer providers or transactions")
	}
	text, err := hex.DecodeString(g.Salt)
	if err != nil || len(text) != tlog.HashSize {
		return fmt.Errorf("%.80q is not a salt", g.Salt)
	}
	provider, err := json.Marshal(g.Provider)
	if err != nil {
		return err
	}
	text = append(append(text, provider...), '\n')
	received := map[Digest]Received{}
	for _, d := range g.Digests {
		digest, mark, err := parseDigest(d)
		if err != nil {
			return err
		}
		text = append(append(text, digest[:]...), mark...)
		received[digest] = Received{g.Provider, mark}
	}
	if err := tlog.CheckRecord(path, g.Leaves, root[0], g.Leaf, tlog.RecordHash(text)); err != nil {
		return fmt.Errorf("it does not commit to these transactions of %s: %w", g.Provider, err)
	}
	maps.Copy(proven, received)
	return nil
}

// parseDigest parses the digest of a transaction and its mark, which may say who verified it.
func parseDigest(text string) (d Digest, mark string, err error) {
	const size = 2 * tlog.HashSize
	if len(text) > size && isMark(text[size:]) {
		if _, err := hex.Decode(d[:], []byte(text[:size])); err == nil {
			return d, text[size:], nil
		}
	}
	return d, "", fmt.Errorf("%.80q is not the digest of a transaction and its mark", text)
}

// isMark reports whether a text is a mark: one of a transaction that came without evidence, or that of a class of
// evidence and who verified.
func isMark(text string) bool {
	if text == "c" || text == "u" {
		return true
	}
	return strings.Contains("piomaj", text[:1]) && strings.HasPrefix(text[1:], `"`) && json.Valid([]byte(text[1:]))
}
