package events

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"hash/fnv"
	"math"
	"strconv"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/snapshot"
)

// Mark is how far a reader is in one sequence of events: the event with this index, of those that one publication, one
// minute or one receipt made.
type Mark struct {
	At    int64
	Index int32
}

// whole as an index is all events of a publication, a minute or a receipt.
const whole = math.MaxInt32

func (m Mark) compare(o Mark) int {
	return cmp.Or(cmp.Compare(m.At, o.At), cmp.Compare(m.Index, o.Index))
}

// complete reports whether nothing is in the middle of what belongs together.
func (m Mark) complete() bool { return m.At == 0 || m.Index == whole }

// The sequences. Each is in an order of its own, the same on every node, but nodes may merge them differently: one may
// read a print before a publication, and another both together. So a cursor has a mark for each.
const (
	publicationSeq = iota // by version
	printSeq              // by minute
	utilizationSeq        // by receipt
	restatementSeq        // by number
	noticeSeq             // likewise
	observedSeq           // by receipt; one sequence for each family
	numSequences   = observedSeq + int(assay.NumFamilies)
)

// Cursor is how far a reader is. It is comparable.
type Cursor struct {
	marks   [numSequences]Mark
	history uint32 // a digest of the publications up to the mark; 0 before the first
	catalog int64  // the version of the catalogs, on which the indices depend
}

// Version is the newest publication of which a reader has an event.
func (c Cursor) Version() int64 { return c.marks[publicationSeq].At }

// Join returns the later mark of each sequence.
func (c Cursor) Join(o Cursor) Cursor {
	for i := range c.marks {
		if c.marks[i].compare(o.marks[i]) < 0 {
			c.marks[i] = o.marks[i]
			if i == publicationSeq {
				c.history = o.history
			}
		}
	}
	c.catalog = o.catalog
	return c
}

// Within reports whether a cursor is not past another one in any sequence.
func (c Cursor) Within(o Cursor) bool {
	for i := range c.marks {
		if c.marks[i].compare(o.marks[i]) > 0 {
			return false
		}
	}
	return true
}

// complete reports whether the reader is not in the middle of what belongs together.
func (c Cursor) complete() bool {
	for _, m := range c.marks {
		if !m.complete() {
			return false
		}
	}
	return true
}

// At is the cursor of a reader who has every event up to a snapshot.
func At(snap *snapshot.Snapshot) (c Cursor) {
	if p, ok := snap.Publication(); ok {
		c.marks[publicationSeq] = Mark{p.Version, whole}
		c.history = historyAt(snap, p.Version)
	}
	mark := func(sequence int, at int64) {
		if at != 0 {
			c.marks[sequence] = Mark{at, whole}
		}
	}
	mark(printSeq, snap.NewestPrint())
	mark(utilizationSeq, snap.Utilization.NewestArrival())
	if n := len(snap.Restatements); n > 0 {
		mark(restatementSeq, snap.Restatements[n-1].Number)
	}
	if n := len(snap.Notices); n > 0 {
		mark(noticeSeq, snap.Notices[n-1].Number)
	}
	for i, o := range snap.Observations {
		mark(observedSeq+i, o.NewestArrival())
	}
	c.catalog = snap.CatalogVersion
	return c
}

// historyAt is a digest of the publications up to a version, short enough for an id.
func historyAt(snap *snapshot.Snapshot, version int64) uint32 {
	history, _ := snap.HistoryAt(version)
	return uint32(history)
}

// String is the id of the event after which a reader is: the publication's version, a hyphen, and the position, which
// only this package understands. It does not depend on this node's memory.
func (c Cursor) String() string {
	var room [128]byte
	text := binary.BigEndian.AppendUint32(room[:0], c.history)
	text = binary.AppendUvarint(text, uint64(c.catalog))
	for i, m := range c.marks {
		if i != publicationSeq {
			text = binary.AppendUvarint(text, uint64(m.At))
		}
		if m.At == 0 {
			continue
		}
		index := uint64(0)
		if m.Index != whole {
			index = uint64(m.Index) + 1
		}
		text = binary.AppendUvarint(text, index)
	}
	version := strconv.FormatInt(c.Version(), 10)
	text = binary.BigEndian.AppendUint32(text, checksum(version, text))
	return version + "-" + base64.RawURLEncoding.EncodeToString(text)
}

// checksum keeps clients from making up ids.
func checksum(version string, text []byte) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(version)) // a hash takes everything
	_, _ = h.Write(text)
	return h.Sum32()
}

// maxID is longer than any id.
const maxID = 256

// Parse reads an id; ok is false for a text that String did not write.
func Parse(id string) (c Cursor, ok bool) {
	version, position, found := strings.Cut(id, "-")
	if !found || len(id) > maxID {
		return c, false
	}
	at, err := strconv.ParseInt(version, 10, 64)
	if err != nil || at < 0 {
		return c, false
	}
	text, err := base64.RawURLEncoding.DecodeString(position)
	if err != nil || len(text) < 8 {
		return c, false
	}
	p := parser{text: text[4 : len(text)-4]}
	c.history = binary.BigEndian.Uint32(text)
	c.catalog = p.next()
	for i := range c.marks {
		if i == publicationSeq {
			c.marks[i].At = at
		} else {
			c.marks[i].At = p.next()
		}
		if c.marks[i].At != 0 {
			c.marks[i].Index = p.index()
		}
	}
	return c, c.String() == id
}

// parser reads numbers. A missing one is 0.
type parser struct{ text []byte }

func (p *parser) next() int64 {
	n, size := binary.Uvarint(p.text)
	if size <= 0 || n > math.MaxInt64 {
		p.text = nil
		return 0
	}
	p.text = p.text[size:]
	return int64(n)
}

func (p *parser) index() int32 {
	n := p.next()
	if n <= 0 || n > whole {
		return whole
	}
	return int32(n - 1)
}
