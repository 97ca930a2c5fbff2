package snapshot

import (
	"iter"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/jsonrows"
)

// Reader reads a series point by point. It decodes a block once for points that are near each other, in either order. A
// Reader is for one goroutine.
type Reader struct {
	series  *Series
	block   int // the one that is decoded; -1 for none
	points  points
	window  []assay.Nanos
	encoder jsonrows.Encoder
}

// Reader returns a reader of the series.
func (s *Series) Reader() *Reader { return &Reader{series: s, block: -1} }

// load decodes the block of point i.
func (r *Reader) load(i int) {
	if n := i / blockRows; n != r.block {
		r.series.blocks[n].decode(&r.points)
		r.block = n
	}
}

// At returns point i.
func (r *Reader) At(i int) assay.Point {
	r.load(i)
	return assay.Point{At: r.points.times[i%blockRows], Value: r.points.values[i%blockRows]}
}

// Values returns the values of the points [i, j). They are valid until the next call.
func (r *Reader) Values(i, j int) []assay.Nanos {
	r.window = r.window[:0]
	for i < j {
		r.load(i)
		end := min(r.points.count, j-r.block*blockRows)
		r.window = append(r.window, r.points.values[i%blockRows:end]...)
		i = r.block*blockRows + end
	}
	return r.window
}

// Range returns the positions [i, j) of the points in [from, to].
func (r *Reader) Range(from, to int64) (i, j int) { return r.series.Range(from, to) }

// AppendRow appends the JSON row of point i.
func (r *Reader) AppendRow(dst []byte, i int) []byte { return r.encoder.Append(dst, r.At(i)) }

// Points lists all points.
func (s *Series) Points() iter.Seq[assay.Point] {
	return func(yield func(assay.Point) bool) {
		for p := range s.from(0) {
			if !yield(p) {
				return
			}
		}
	}
}
