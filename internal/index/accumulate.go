package index

import (
	"cmp"
	"slices"

	"github.com/assaydata/assay"
)

// LinePoints are the computed points of one line, in the order of time.
type LinePoints struct {
	assay.Line
	Points []assay.Point
}

// Accumulator computes one grain of every line from a stream of transactions in the order of time. It holds the
// transactions of one slot at a time.
type Accumulator struct {
	methodology Methodology
	grain       assay.Grain
	slot        int64 // the end of the window being filled
	open        map[assay.Line][]assay.Transaction
	points      map[assay.Line][]assay.Point
}

// NewAccumulator begins an empty stream.
func NewAccumulator(m Methodology, grain assay.Grain) *Accumulator {
	return &Accumulator{
		methodology: m, grain: grain,
		open: map[assay.Line][]assay.Transaction{}, points: map[assay.Line][]assay.Point{},
	}
}

// Add takes the next transaction: into the global line of its GPU and, where it has a region, into that region's.
func (a *Accumulator) Add(t *assay.Transaction) {
	if t.ExecutedAt >= a.slot {
		a.closeSlot()
		a.slot = a.methodology.NextSlot(a.grain, t.ExecutedAt)
	}
	a.addTo(assay.Line{GPU: t.GPU, Region: assay.Global}, t)
	if t.Region != "" {
		a.addTo(assay.Line{GPU: t.GPU, Region: t.Region}, t)
	}
}

func (a *Accumulator) addTo(line assay.Line, t *assay.Transaction) {
	a.open[line] = append(a.open[line], *t)
}

func (a *Accumulator) closeSlot() {
	for line, transactions := range a.open {
		if len(transactions) == 0 {
			continue
		}
		if v, ok := Compute(transactions, a.methodology); ok {
			a.points[line] = append(a.points[line], assay.Point{At: a.slot, Value: v.Value})
		}
		a.open[line] = transactions[:0]
	}
}

// Take closes the slot being filled and hands over all points computed since the last call, lines in order. The stream
// may go on with transactions of later slots.
func (a *Accumulator) Take() []LinePoints {
	a.closeSlot()
	taken := make([]LinePoints, 0, len(a.points))
	for line, points := range a.points {
		taken = append(taken, LinePoints{line, points})
	}
	clear(a.points)
	slices.SortFunc(taken, func(x, y LinePoints) int {
		return cmp.Or(cmp.Compare(x.GPU, y.GPU), cmp.Compare(x.Region, y.Region))
	})
	return taken
}

// Len is how many points wait to be taken.
func (a *Accumulator) Len() int {
	n := 0
	for _, points := range a.points {
		n += len(points)
	}
	return n
}
