package snapshot

import (
	"cmp"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/assaydata/assay"
)

// Series is one published series: its columns, and its JSON rows encoded once, joined by commas. A range of it is a slice
// of the rows, not an encoding. A Series never changes; extending it makes another that shares what was there.
type Series struct {
	times  []int64
	values []assay.Nanos
	rows   []byte
	ends   []uint32 // ends[i] is where row i ends; row i+1 begins after the comma

	version  int64 // the publication that touched the series last
	modified int64 // when that was

	extendedOnce atomic.Bool // the room behind the arrays belongs to the first series that extends this one

	memoMu sync.Mutex
	memo   map[MemoKey]any // what readers have made of this series; guarded by memoMu
}

// newSeries encodes points, which are in the order of time.
func newSeries(points []assay.Point, version, modified int64) *Series {
	return (&Series{}).extended(points, version, modified)
}

// extended is the series with points behind its last one. The new series appends to the same arrays; readers of the old
// one never look past its own length.
func (s *Series) extended(points []assay.Point, version, modified int64) *Series {
	next := &Series{times: s.times, values: s.values, rows: s.rows, ends: s.ends, version: version, modified: modified}
	if s.extendedOnce.Swap(true) {
		next.times, next.values = slices.Clip(s.times), slices.Clip(s.values)
		next.rows, next.ends = slices.Clip(s.rows), slices.Clip(s.ends)
	}
	for _, p := range points {
		if len(next.ends) > 0 {
			next.rows = append(next.rows, ',')
		}
		next.rows = AppendRow(next.rows, p)
		next.times = append(next.times, p.At)
		next.values = append(next.values, p.Value)
		next.ends = append(next.ends, uint32(len(next.rows)))
	}
	return next
}

// merged is the series with points put in their places; a point at an instant that is there replaces it.
func (s *Series) merged(points []assay.Point, version, modified int64) *Series {
	if n := len(s.times); n == 0 || len(points) == 0 || points[0].At > s.times[n-1] {
		return s.extended(points, version, modified)
	}
	byTime := make(map[int64]assay.Nanos, len(s.times)+len(points))
	for i, at := range s.times {
		byTime[at] = s.values[i]
	}
	for _, p := range points {
		byTime[p.At] = p.Value
	}
	all := make([]assay.Point, 0, len(byTime))
	for at, value := range byTime {
		all = append(all, assay.Point{At: at, Value: value})
	}
	slices.SortFunc(all, func(a, b assay.Point) int { return cmp.Compare(a.At, b.At) })
	return newSeries(all, version, modified)
}

// AppendRow appends the JSON row of a point.
func AppendRow(dst []byte, p assay.Point) []byte {
	dst = append(dst, `{"timestamp":"`...)
	dst = assay.AppendInstant(dst, p.At)
	dst = append(dst, `","index_value":`...)
	dst = p.Value.AppendJSON(dst)
	return append(dst, '}')
}

// Len is the number of points.
func (s *Series) Len() int { return len(s.times) }

// At gives point i.
func (s *Series) At(i int) assay.Point { return assay.Point{At: s.times[i], Value: s.values[i]} }

// Values gives the values of the points [i, j).
func (s *Series) Values(i, j int) []assay.Nanos { return s.values[i:j] }

// Version is the publication that touched the series last.
func (s *Series) Version() int64 { return s.version }

// Modified is when that publication was made.
func (s *Series) Modified() int64 { return s.modified }

// Range gives the points whose instants lie in [from, to], as positions [i, j).
func (s *Series) Range(from, to int64) (i, j int) {
	i = s.search(from)
	j = sort.Search(len(s.times), func(i int) bool { return s.times[i] > to })
	return i, max(i, j)
}

// search is the position of the first point at or after the instant.
func (s *Series) search(at int64) int {
	return sort.Search(len(s.times), func(i int) bool { return s.times[i] >= at })
}

// Rows gives the JSON rows of the points [i, j), joined by commas.
func (s *Series) Rows(i, j int) []byte {
	if i >= j {
		return nil
	}
	return s.rows[s.start(i):s.ends[j-1]]
}

// Row gives the JSON row of point i.
func (s *Series) Row(i int) []byte { return s.rows[s.start(i):s.ends[i]] }

func (s *Series) start(i int) uint32 {
	if i == 0 {
		return 0
	}
	return s.ends[i-1] + 1
}

// Find gives the position of the point at exactly this instant.
func (s *Series) Find(at int64) (i int, ok bool) {
	i = s.search(at)
	return i, i < len(s.times) && s.times[i] == at
}

// Nearest gives the position of the point nearest to an instant, the earlier of two that are equally near. The series
// must have a point.
func (s *Series) Nearest(at int64) int {
	i := s.search(at)
	if i == len(s.times) || i > 0 && at-s.times[i-1] <= s.times[i]-at {
		return i - 1
	}
	return i
}

// MemoKey names what a reader makes of a series: the kind of thing, who it is for, and where its range begins. It always
// runs to the end of the series.
type MemoKey struct {
	Kind   string
	Access assay.Access
	From   int
}

// memoRoom bounds what one series keeps for its readers: callers choose where their ranges begin, so there is no end to
// what they could ask for.
const memoRoom = 32

// Memo gives what is kept under the key, making it on first demand, or nil when the series has no room for more. It lives
// as long as the series: the next publication that touches the series starts without.
func (s *Series) Memo(key MemoKey, make func() any) any {
	s.memoMu.Lock()
	defer s.memoMu.Unlock()
	if kept, ok := s.memo[key]; ok {
		return kept
	}
	if len(s.memo) == memoRoom {
		return nil
	}
	if s.memo == nil {
		s.memo = map[MemoKey]any{}
	}
	made := make()
	s.memo[key] = made
	return made
}
