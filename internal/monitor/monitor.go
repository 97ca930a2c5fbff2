// Package monitor follows the log of a server as an outsider who trusts no one.
//
// A monitor keeps the last checkpoint that it has seen, and the edge of the tree below it: a few kilobytes, whatever
// the size of the log. In each round it reads the new checkpoint and all entries that are new, and appends their hashes
// to the edge. The root must be the one that the operator has signed. So nothing that was in the log before can have
// been changed or left out, and what the log serves is what it signs. Then the monitor requests some of the records
// that are new, or that it has seen before, and the values that the API serves for them, and compares both with the
// log.
//
// A difference is evidence: the signed checkpoints, and what the server has sent, are written into the folder. Two
// signed checkpoints that cannot belong to one log prove the fraud to anyone who has the log's key.
package monitor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/assaydata/assay/internal/fetch"
	"github.com/assaydata/assay/internal/files"
	"github.com/assaydata/assay/internal/merkle"
	"github.com/assaydata/assay/verifier"
)

// Monitor follows one log.
type Monitor struct {
	Server  Server
	Log     *verifier.Log
	Dir     string // of its memory and its evidence; it exists
	Records int    // how many records to check in a round
	Now     func() time.Time
	Wait    func(ctx context.Context) error // before it looks again at a log that has become shorter
	// Follow asks the server which keys have taken the place of those that are known.
	Follow func(ctx context.Context) (*verifier.Log, error)

	last state
}

// state is what a monitor remembers.
type state struct {
	Note  string            `json:"checkpoint"`
	Tiles map[string][]byte `json:"tiles"` // of the edge, by their paths
	Keys  string            `json:"keys"`  // the events of the log's key, one in each line
	Known sample            `json:"known"` // some of all records
}

// Report says what a round has checked.
type Report struct {
	Size    int64 // entries of the log
	New     int64 // of them, since the last round
	Records int   // that were proven
	Values  int   // that were compared with records
}

// Evidence is the error for a server that contradicts itself or its log.
type Evidence struct {
	What   string
	Folder string // with what proves it
}

func (e *Evidence) Error() string { return fmt.Sprintf("%s: the evidence is in %s", e.What, e.Folder) }

// stateFile is the file with the state.
const stateFile = "monitor.json"

// Load reads what the monitor remembers; nothing the first time.
func (m *Monitor) Load() error {
	text, err := os.ReadFile(filepath.Join(m.Dir, stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &m.last); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(m.Dir, stateFile), err)
	}
	_, err = m.Log.Read(m.last.Note)
	return err
}

// Round checks everything that is new. An *Evidence is the end of trust; other errors are trouble on the way.
func (m *Monitor) Round(ctx context.Context) (r Report, err error) {
	var last verifier.Checkpoint
	if m.last.Note != "" {
		if last, err = m.Log.Read(m.last.Note); err != nil {
			return r, err
		}
	}
	signed, c, err := m.checkpoint(ctx, last)
	if err != nil || signed == "" {
		return r, err
	}
	r = Report{Size: c.Size, New: c.Size - last.Size}
	if c.Size == last.Size {
		if c.Root != last.Root {
			return r, m.evidence("the operator has signed two histories of the same length", signed, nil)
		}
		return r, m.checkRecords(ctx, m.known(m.Records), signed, &r)
	}
	read, err := m.read(ctx, last, c, signed)
	if err != nil {
		return r, err
	}
	if err := m.checkSigner(signed, m.last.Keys+read.keys); err != nil {
		return r, err
	}
	records := slices.Concat(read.sample.Entries, m.known(m.Records-len(read.sample.Entries)))
	if err := m.checkRecords(ctx, records, signed, &r); err != nil {
		return r, err
	}
	return r, m.keep(signed, read)
}

// checkSigner checks that a checkpoint is signed with the key that the log names.
func (m *Monitor) checkSigner(signed, events string) error {
	keys, err := verifier.ReadKeys(m.Log.Name(), events)
	if err != nil {
		return m.evidence("the log lists keys that were not changed as they must be: "+err.Error(), signed, []byte(events))
	}
	if keys.Current() != nil && !keys.HasSigned(signed) {
		return m.evidence("the checkpoint is signed with another key than the log names", signed, []byte(events))
	}
	return nil
}

// checkpoint reads a checkpoint that is not older than the last. A copy of a database may be a moment behind, so a log
// that has become shorter, or whose key is not known, gets a second chance. The text is empty if there is none yet.
func (m *Monitor) checkpoint(
	ctx context.Context, last verifier.Checkpoint,
) (signed string, c verifier.Checkpoint, err error) {
	for try := 1; ; try++ {
		text, status, err := m.Server.get(ctx, "/log/checkpoint")
		switch {
		case err != nil:
			return "", c, err
		case status == http.StatusNotFound && last.Size == 0:
			return "", c, nil
		case status != http.StatusOK && status != http.StatusNotFound:
			return "", c, fetch.Unexpected("/log/checkpoint", status, text)
		}
		what := fmt.Sprintf("the log had %d entries and now has none", last.Size)
		if status == http.StatusOK {
			c, err = m.open(ctx, string(text))
			switch {
			case errors.Is(err, errNotOfLog):
				what = err.Error()
			case err != nil:
				return "", c, err
			case c.Size >= last.Size:
				return string(text), c, nil
			default:
				what = fmt.Sprintf("the log had %d entries and now has %d", last.Size, c.Size)
			}
		}
		if try == 2 {
			return "", c, m.evidence(what, string(text), nil)
		}
		if err := m.Wait(ctx); err != nil {
			return "", c, err
		}
	}
}

var errNotOfLog = errors.New("the checkpoint is not that of the log")

// open opens a checkpoint. If it is signed with another key, the log may have rotated its own.
func (m *Monitor) open(ctx context.Context, signed string) (c verifier.Checkpoint, err error) {
	c, err = m.Log.Open(signed)
	if errors.Is(err, verifier.ErrNotSigned) {
		followed, failed := m.Follow(ctx)
		switch {
		case failed == nil:
			m.Log = followed
			c, err = m.Log.Open(signed)
		case errors.Is(failed, verifier.ErrNotSigned):
			err = failed
		default:
			return c, failed
		}
	}
	if err == nil || errors.Is(err, verifier.ErrTooFewWitnesses) { // they may be on the way
		return c, err
	}
	return c, fmt.Errorf("%w: %w", errNotOfLog, err)
}

// newEntries are the entries that a round reads.
type newEntries struct {
	edge   *merkle.Edge // after the last of them
	sample sample       // of the new records
	known  sample       // of all records
	keys   string       // events of the log's key, one in each line
}

func (m *Monitor) addEntry(n *newEntries, entry []byte) {
	if e, ok := m.recordOf(entry); ok {
		n.sample.add(e, m.Records)
		n.known.add(e, knownRecords)
	}
	if bytes.HasPrefix(entry, []byte(`{"type":"key",`)) {
		n.keys += string(entry) + "\n"
	}
}

// read reads the new entries, and checks that they make the tree that was signed.
func (m *Monitor) read(ctx context.Context, last, c verifier.Checkpoint, signed string) (*newEntries, error) {
	edge, err := merkle.ReadEdge(last.Size, func(t merkle.Tile) ([]byte, error) {
		return m.last.Tiles[tilePath(t)], nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(m.Dir, stateFile), err)
	}
	read := &newEntries{edge: edge, known: m.last.Known}
	read.known.Entries = slices.Clone(read.known.Entries) // the round may fail
	full := func(merkle.Tile, []byte) error { return nil }
	for edge.Size() < c.Size {
		first := edge.Size() - edge.Size()%merkle.TileWidth
		bundle := merkle.Resource{
			Tile: merkle.Tile{Index: first / merkle.TileWidth}, Entries: true,
			Width: int(min(merkle.TileWidth, c.Size-first)),
		}
		text, status, err := m.Server.get(ctx, "/log/"+bundle.Path())
		if err != nil {
			return nil, err
		}
		if status != http.StatusOK {
			return nil, fetch.Unexpected(bundle.Path(), status, text)
		}
		leaf := first
		err = merkle.SplitBundle(text, func(entry []byte) error {
			if leaf++; leaf <= edge.Size() || leaf > c.Size {
				return nil // it is known, or there should be no such entry
			}
			m.addEntry(read, entry)
			return edge.Append(tlog.RecordHash(entry), full)
		})
		if err != nil || leaf != first+int64(bundle.Width) {
			return nil, m.evidence(bundle.Path()+" does not have the entries that were signed", signed, text)
		}
	}
	root, err := edge.Root()
	if err != nil {
		return nil, err
	}
	if [32]byte(root) != c.Root {
		what := fmt.Sprintf("the log of %d entries does not continue that of %d, or is not the one that was signed",
			c.Size, last.Size)
		return nil, m.evidence(what, signed, nil)
	}
	return read, nil
}

func tilePath(t merkle.Tile) string {
	r := merkle.Resource{Tile: t, Width: merkle.TileWidth}
	return r.Path()
}

// keep remembers a checkpoint.
func (m *Monitor) keep(signed string, read *newEntries) error {
	next := state{Note: signed, Tiles: map[string][]byte{}, Keys: m.last.Keys + read.keys, Known: read.known}
	err := read.edge.Incomplete(func(t merkle.Tile, hashes []byte) error {
		next.Tiles[tilePath(t)] = hashes
		return nil
	})
	if err != nil {
		return err
	}
	text, err := json.Marshal(next)
	if err != nil {
		return err
	}
	if err := files.Replace(filepath.Join(m.Dir, stateFile), text); err != nil {
		return err
	}
	m.last = next
	return nil
}

// evidence writes down what contradicts what, and returns the error that says so.
func (m *Monitor) evidence(what, signed string, sent []byte) error {
	folder := filepath.Join(m.Dir, "evidence-"+m.Now().UTC().Format("20060102T150405.000Z"))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	found := &Evidence{What: what, Folder: folder}
	parts := map[string][]byte{
		"what.txt": []byte(what + "\n"), "checkpoint-kept.txt": []byte(m.last.Note), "checkpoint-sent.txt": []byte(signed),
		"sent.bin": sent,
	}
	for name, content := range parts {
		if len(content) == 0 {
			continue
		}
		if err := files.Replace(filepath.Join(folder, name), content); err != nil {
			return errors.Join(found, err)
		}
	}
	return found
}
