package snapshot

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"sort"
	"sync/atomic"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/appendonly"
	"github.com/assaydata/assay/internal/cache"
)

// Series is one published series. It shows the newest revision of each slot and remembers the others, so that it can be
// read as of an earlier version. A Series is immutable; extending it makes another one that shares its blocks.
//
// Its points are in blocks (block.go), which take a few bytes a point. Rows (rows.go) are a range of it as a response
// needs it, a Reader (reader.go) reads point by point.
//
// A block begins at a multiple of blockRows, whatever the series was made of: at the start of the node, point by point,
// or by a restatement in its middle. So the compressed forms of equal ranges are equal on every node.
type Series struct {
	blocks []*block                        // all but the last are full
	length int                             // of the points
	hidden appendonly.List[assay.Revision] // not shown: replaced or Gone; ordered by slot and version

	version  int64 // the publication that changed the series last
	modified int64 // when that was

	memos *cache.Cache[assay.Access, any]
	whole atomic.Pointer[wholeStream] // nil until it was requested
}

func emptySeries() *Series { return &Series{memos: newMemos()} }

// newSeries encodes revisions, which are ordered by slot and version.
func newSeries(revisions []assay.Revision, version, modified int64) *Series {
	return emptySeries().extended(revisions, version, modified)
}

// extended returns the series with revisions of slots after its last one.
func (s *Series) extended(revisions []assay.Revision, version, modified int64) *Series {
	return s.continued(s.length, s.hidden, revisions, version, modified)
}

// continued returns the first points and some hidden revisions, followed by revisions of later slots.
func (s *Series) continued(
	length int, hidden appendonly.List[assay.Revision], revisions []assay.Revision, version, modified int64,
) *Series {
	b := s.builder(length)
	var added []assay.Revision
	for k, r := range revisions {
		if r.Gone || k+1 < len(revisions) && revisions[k+1].At == r.At {
			added = append(added, r)
		} else {
			b.add(r.Point, r.Version)
		}
	}
	next := b.series()
	next.hidden, next.version, next.modified = hidden.With(added), version, modified
	return next
}

// merged returns the series with revisions added at any position.
func (s *Series) merged(revisions []assay.Revision, version, modified int64) *Series {
	if len(revisions) == 0 || revisions[0].At > s.last() {
		return s.extended(revisions, version, modified)
	}
	// Everything before the first revision stays, in whole blocks.
	length := s.search(revisions[0].At) / blockRows * blockRows
	hidden := s.hidden.Items()
	kept := 0
	if length > 0 {
		from := s.At(length-1).At + 1
		kept = sort.Search(len(hidden), func(i int) bool { return hidden[i].At >= from })
	}
	all := slices.Concat(hidden[kept:], revisions)
	for point, version := range s.from(length) {
		all = append(all, assay.Revision{Point: point, Version: version}) // its number is no longer known
	}
	slices.SortFunc(all, func(a, b assay.Revision) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Version, b.Version))
	})
	before := appendonly.List[assay.Revision]{}.With(hidden[:kept])
	return s.continued(length, before, all, version, modified)
}

// last returns the newest slot of any revision.
func (s *Series) last() int64 {
	at := int64(math.MinInt64)
	if n := len(s.blocks); n > 0 {
		at = s.blocks[n-1].last
	}
	if hidden := s.hidden.Items(); len(hidden) > 0 {
		at = max(at, hidden[len(hidden)-1].At)
	}
	return at
}

// from lists the points from a position on, with their versions.
func (s *Series) from(i int) iter.Seq2[assay.Point, int64] {
	return func(yield func(assay.Point, int64) bool) {
		var p points
		for n := i / blockRows; n < len(s.blocks); n++ {
			s.blocks[n].decode(&p)
			s.blocks[n].decodeVersions(&p)
			for k := max(0, i-n*blockRows); k < p.count; k++ {
				if !yield(assay.Point{At: p.times[k], Value: p.values[k]}, p.versions[k]) {
					return
				}
			}
		}
	}
}

// builder makes a series of points in order.
type builder struct {
	blocks []*block
	open   points // those of the next block
}

// builder returns one that has the first points of the series.
func (s *Series) builder(length int) *builder {
	whole := length / blockRows
	b := &builder{blocks: slices.Clip(s.blocks[:whole])}
	if rest := length % blockRows; rest > 0 {
		s.blocks[whole].decode(&b.open)
		s.blocks[whole].decodeVersions(&b.open)
		b.open.count = rest
	}
	return b
}

func (b *builder) add(p assay.Point, version int64) {
	n := b.open.count
	b.open.times[n], b.open.values[n], b.open.versions[n] = p.At, p.Value, version
	if b.open.count++; b.open.count == blockRows {
		b.close()
	}
}

func (b *builder) close() {
	b.blocks = append(b.blocks, newBlock(&b.open))
	b.open.count = 0
}

func (b *builder) series() *Series {
	s := emptySeries()
	s.length = len(b.blocks)*blockRows + b.open.count
	if b.open.count > 0 {
		b.close()
	}
	s.blocks = slices.Clip(b.blocks)
	return s
}

// Len returns the number of points.
func (s *Series) Len() int { return s.length }

// At returns point i.
func (s *Series) At(i int) assay.Point {
	var values [blockRows]assay.Nanos
	b, k := s.blocks[i/blockRows], i%blockRows
	b.decodeValues(values[:k+1])
	return assay.Point{At: b.time(k), Value: values[k]}
}

// Version returns the publication that changed the series last.
func (s *Series) Version() int64 { return s.version }

// Modified returns when that publication was made.
func (s *Series) Modified() int64 { return s.modified }

// Range returns the positions [i, j) of the points in [from, to].
func (s *Series) Range(from, to int64) (i, j int) {
	i, j = s.search(from), s.length
	if to < math.MaxInt64 {
		j = s.search(to + 1)
	}
	return i, max(i, j)
}

// search returns the position of the first point at or after an instant.
func (s *Series) search(at int64) int {
	n := sort.Search(len(s.blocks), func(n int) bool { return s.blocks[n].last >= at })
	if n == len(s.blocks) {
		return s.length
	}
	return n*blockRows + s.blocks[n].search(at)
}

// Find returns the position of the point at exactly this instant.
func (s *Series) Find(at int64) (i int, ok bool) {
	i = s.search(at)
	return i, i < s.length && s.time(i) == at
}

func (s *Series) time(i int) int64 { return s.blocks[i/blockRows].time(i % blockRows) }

// Nearest returns the position of the point nearest to an instant, the earlier of two equally near ones. The series
// must not be empty.
func (s *Series) Nearest(at int64) int {
	i := s.search(at)
	if i == s.length || i > 0 && at-s.time(i-1) <= s.time(i)-at {
		return i - 1
	}
	return i
}

// accessLevels is how many there are, and so how many memos a series can have.
const accessLevels = 4

func newMemos() *cache.Cache[assay.Access, any] {
	return cache.New[assay.Access](cache.Limits[any]{Entries: accessLevels})
}

// Memo returns the response that is requested most, for an access level, and computes it once. It lives as long as the
// series: the next publication that changes it starts without.
func (s *Series) Memo(access assay.Access, compute func() any) any {
	return s.memos.Get(access, compute)
}
