package snapshot

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"sync/atomic"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/cache"
)

// Series is one published series: its columns, and its JSON rows encoded once, joined by commas. A range of it is a
// slice of the rows and needs no encoding. It shows the newest revision of each slot and remembers the others, so that
// it can be read as of an earlier version. A Series is immutable; extending it makes another one that shares its
// arrays.
type Series struct {
	times    []int64
	values   []assay.Nanos
	versions []int64 // versions[i] is the publication of point i
	rows     []byte
	ends     []uint32         // ends[i] is where row i ends; row i+1 begins after the comma
	hidden   []assay.Revision // not shown: replaced or Gone; ordered by slot and version

	version  int64 // the publication that changed the series last
	modified int64 // when that was

	extendedOnce atomic.Bool // only the first series that extends this one may use the arrays' spare capacity

	memos *cache.Cache[MemoKey, any] // responses made from this series
}

func emptySeries() *Series { return &Series{memos: newMemos()} }

func newMemos() *cache.Cache[MemoKey, any] {
	return cache.New[MemoKey](cache.Limits[any]{Entries: maxMemos})
}

// newSeries encodes revisions, which are ordered by slot and version.
func newSeries(revisions []assay.Revision, version, modified int64) *Series {
	return emptySeries().extended(revisions, version, modified)
}

// extended returns the series with revisions of slots after its last one. The new series appends to the same arrays;
// readers of the old one never look past its own length.
func (s *Series) extended(revisions []assay.Revision, version, modified int64) *Series {
	next := s.prefix(len(s.times))
	if s.extendedOnce.Swap(true) {
		next.clip()
	}
	next.version, next.modified = version, modified
	for k, r := range revisions {
		if r.Gone || k+1 < len(revisions) && revisions[k+1].At == r.At {
			next.hidden = append(next.hidden, r)
		} else {
			next.show(r)
		}
	}
	return next
}

// prefix returns the first n points, in the same arrays, with all hidden revisions.
func (s *Series) prefix(n int) *Series {
	next := &Series{
		times: s.times[:n], values: s.values[:n], versions: s.versions[:n], ends: s.ends[:n],
		rows: s.rows, hidden: s.hidden, memos: newMemos(),
	}
	if n < len(s.times) {
		next.rows = s.rows[:s.start(n)]
	}
	return next
}

// clip removes the spare capacity of every array, so that appending copies it.
func (s *Series) clip() {
	s.times, s.values, s.versions = slices.Clip(s.times), slices.Clip(s.values), slices.Clip(s.versions)
	s.rows, s.ends, s.hidden = slices.Clip(s.rows), slices.Clip(s.ends), slices.Clip(s.hidden)
}

func (s *Series) show(r assay.Revision) {
	if len(s.ends) > 0 {
		s.rows = append(s.rows, ',')
	}
	s.rows = AppendRow(s.rows, r.Point)
	s.times = append(s.times, r.At)
	s.values = append(s.values, r.Value)
	s.versions = append(s.versions, r.Version)
	s.ends = append(s.ends, uint32(len(s.rows)))
}

// merged returns the series with revisions added at any position.
func (s *Series) merged(revisions []assay.Revision, version, modified int64) *Series {
	if len(revisions) == 0 || revisions[0].At > s.last() {
		return s.extended(revisions, version, modified)
	}
	return newSeries(inOrder(append(s.revisions(), revisions...)), version, modified)
}

// last returns the newest slot of any revision.
func (s *Series) last() int64 {
	at := int64(math.MinInt64)
	if n := len(s.times); n > 0 {
		at = s.times[n-1]
	}
	if n := len(s.hidden); n > 0 {
		at = max(at, s.hidden[n-1].At)
	}
	return at
}

// revisions lists every revision there ever was, in no particular order. Shown ones no longer have their number; their
// version orders them.
func (s *Series) revisions() []assay.Revision {
	all := make([]assay.Revision, 0, len(s.times)+len(s.hidden))
	for i := range s.times {
		all = append(all, assay.Revision{Point: s.At(i), Version: s.versions[i]})
	}
	return append(all, s.hidden...)
}

// inOrder sorts revisions by slot and version.
func inOrder(revisions []assay.Revision) []assay.Revision {
	slices.SortFunc(revisions, func(a, b assay.Revision) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Version, b.Version))
	})
	return revisions
}

// touched returns the newest publication up to a version that changed the series, or 0 if there is none.
func (s *Series) touched(version int64) int64 {
	if s.version <= version {
		return s.version
	}
	newest := int64(0)
	for _, v := range s.versions {
		if v <= version {
			newest = max(newest, v)
		}
	}
	for i := range s.hidden {
		if v := s.hidden[i].Version; v <= version {
			newest = max(newest, v)
		}
	}
	return newest
}

// asOf returns the series as it was after a version that changed it, which was published at the instant modified.
func (s *Series) asOf(version, modified int64) *Series {
	if s.version <= version {
		return s
	}
	if n, ok := s.grownFrom(version); ok {
		old := s.prefix(n)
		old.clip()
		old.version, old.modified = version, modified
		return old
	}
	old := s.rebuilt(version)
	old.version, old.modified = version, modified
	return old
}

// rebuilt returns what was shown as of a version, copying the rows that are still shown. It is never extended.
func (s *Series) rebuilt(version int64) *Series {
	n := len(s.times)
	old := &Series{
		times: make([]int64, 0, n), values: make([]assay.Nanos, 0, n), versions: make([]int64, 0, n),
		ends: make([]uint32, 0, n), rows: make([]byte, 0, len(s.rows)), memos: newMemos(),
	}
	i := 0
	for k := 0; k < len(s.hidden); {
		at := s.hidden[k].At
		i = old.copyUntil(s, i, at, version)
		var then *assay.Revision // the newest hidden revision of the slot known then
		for ; k < len(s.hidden) && s.hidden[k].At == at; k++ {
			if s.hidden[k].Version <= version {
				then = &s.hidden[k]
			}
		}
		stillShown := i < n && s.times[i] == at && s.versions[i] <= version
		if then != nil && !then.Gone && !stillShown {
			old.show(*then)
		}
	}
	old.copyUntil(s, i, math.MaxInt64, version)
	return old
}

// copyUntil copies the points of another series from position i that lie before an instant and were known as of a
// version. It returns the position of that instant.
func (s *Series) copyUntil(from *Series, i int, at, version int64) int {
	for ; i < len(from.times) && from.times[i] < at; i++ {
		if from.versions[i] > version {
			continue
		}
		if len(s.ends) > 0 {
			s.rows = append(s.rows, ',')
		}
		s.rows = append(s.rows, from.Row(i)...)
		s.times = append(s.times, from.times[i])
		s.values = append(s.values, from.values[i])
		s.versions = append(s.versions, from.versions[i])
		s.ends = append(s.ends, uint32(len(s.rows)))
	}
	return i
}

// grownFrom reports whether the only change since a version is that points were added after the first n.
func (s *Series) grownFrom(version int64) (n int, ok bool) {
	newer := func(v int64) bool { return v > version }
	n = slices.IndexFunc(s.versions, newer)
	if n < 0 || len(s.hidden) > 0 {
		return 0, false
	}
	return n, !slices.ContainsFunc(s.versions[n:], func(v int64) bool { return !newer(v) })
}

// AppendRow appends the JSON row of a point.
func AppendRow(dst []byte, p assay.Point) []byte {
	dst = append(dst, `{"timestamp":"`...)
	dst = assay.AppendInstant(dst, p.At)
	dst = append(dst, `","index_value":`...)
	dst = p.Value.AppendJSON(dst)
	return append(dst, '}')
}

// Len returns the number of points.
func (s *Series) Len() int { return len(s.times) }

// At returns point i.
func (s *Series) At(i int) assay.Point { return assay.Point{At: s.times[i], Value: s.values[i]} }

// Values returns the values of the points [i, j).
func (s *Series) Values(i, j int) []assay.Nanos { return s.values[i:j] }

// Version returns the publication that changed the series last.
func (s *Series) Version() int64 { return s.version }

// Modified returns when that publication was made.
func (s *Series) Modified() int64 { return s.modified }

// Range returns the positions [i, j) of the points in [from, to].
func (s *Series) Range(from, to int64) (i, j int) {
	i = s.search(from)
	j = sort.Search(len(s.times), func(i int) bool { return s.times[i] > to })
	return i, max(i, j)
}

// search returns the position of the first point at or after an instant.
func (s *Series) search(at int64) int {
	return sort.Search(len(s.times), func(i int) bool { return s.times[i] >= at })
}

// Rows returns the JSON rows of the points [i, j), joined by commas.
func (s *Series) Rows(i, j int) []byte {
	if i >= j {
		return nil
	}
	return s.rows[s.start(i):s.ends[j-1]]
}

// Row returns the JSON row of point i.
func (s *Series) Row(i int) []byte { return s.rows[s.start(i):s.ends[i]] }

func (s *Series) start(i int) uint32 {
	if i == 0 {
		return 0
	}
	return s.ends[i-1] + 1
}

// Find returns the position of the point at exactly this instant.
func (s *Series) Find(at int64) (i int, ok bool) {
	i = s.search(at)
	return i, i < len(s.times) && s.times[i] == at
}

// Nearest returns the position of the point nearest to an instant, the earlier of two equally near ones. The series
// must not be empty.
func (s *Series) Nearest(at int64) int {
	i := s.search(at)
	if i == len(s.times) || i > 0 && at-s.times[i-1] <= s.times[i]-at {
		return i - 1
	}
	return i
}

// MemoKey identifies a response made from a series: what it is, for whom, and where its range begins. The range always
// runs to the end of the series.
type MemoKey struct {
	Kind   string
	Access assay.Access
	From   int
}

// maxMemos bounds how many responses a series holds. Clients choose where their ranges begin, so there is no end to
// what they could request.
const maxMemos = 32

// Memo returns the value of a key and computes it once, or returns nil if the series holds too many others. Values live
// as long as the series: the next publication that changes it starts without them.
func (s *Series) Memo(key MemoKey, compute func() any) any {
	value, _ := s.memos.GetIfRoom(key, compute)
	return value
}
