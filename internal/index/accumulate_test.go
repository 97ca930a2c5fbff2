package index

import (
	"cmp"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/assaydata/assay"
)

// randomStream draws rentals of several GPUs and regions in the order of time, with quiet hours in between.
func randomStream(rng *rand.Rand, n int) []assay.Transaction {
	stream := randomTransactions(rng, n, false)
	now := time.Date(2026, 3, 6, 0, 0, 0, 0, time.UTC).UnixMilli()
	for i := range stream {
		stream[i].ExecutedAt = now
		stream[i].GPU = []string{"H100 SXM", "H200", "B200"}[rng.IntN(3)]
		stream[i].Region = []string{"", "us-east", "eu-west"}[rng.IntN(3)]
		now += rng.Int64N(assay.Hour / 2)
		if rng.IntN(20) == 0 {
			now += rng.Int64N(assay.Day)
		}
	}
	return stream
}

func TestAccumulator_TakeInBetweenChangesNothing(t *testing.T) {
	m := Plain()
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(5, seed))
		stream := randomStream(rng, 300)
		for _, grain := range assay.Grains {
			whole, parts := NewAccumulator(m, grain), NewAccumulator(m, grain)
			pieces := map[assay.Line][]assay.Point{}
			for i := range stream {
				newSlot := i > 0 && stream[i].ExecutedAt >= m.NextSlot(grain, stream[i-1].ExecutedAt)
				if newSlot && rng.IntN(3) == 0 {
					collect(pieces, parts)
				}
				whole.Add(&stream[i])
				parts.Add(&stream[i])
			}
			collect(pieces, parts)
			want := map[assay.Line][]assay.Point{}
			collect(want, whole)
			if !reflect.DeepEqual(pieces, want) {
				t.Fatalf("seed %d, %s: in pieces %v, in one go %v", seed, grain, pieces, want)
			}
			checkPoints(t, m, grain, stream, want)
		}
	}
}

func collect(points map[assay.Line][]assay.Point, a *Accumulator) {
	for _, taken := range a.Take() {
		points[taken.Line] = append(points[taken.Line], taken.Points...)
	}
}

// checkPoints recomputes every point from the whole stream, and looks for points that should not be there.
func checkPoints(t *testing.T, m Methodology, grain assay.Grain, stream []assay.Transaction, points map[assay.Line][]assay.Point) {
	t.Helper()
	type cell struct {
		assay.Line
		slot int64
	}
	cells := map[cell][]assay.Transaction{}
	for _, tr := range stream {
		slot := m.NextSlot(grain, tr.ExecutedAt)
		for _, region := range []string{assay.Global, tr.Region} {
			if region != "" && tr.Verified {
				c := cell{assay.Line{GPU: tr.GPU, Region: region}, slot}
				cells[c] = append(cells[c], tr)
			}
		}
	}
	for line, series := range points {
		if !slices.IsSortedFunc(series, func(a, b assay.Point) int { return cmp.Compare(a.At, b.At) }) {
			t.Fatalf("%v %s: the points are not in the order of time: %v", line, grain, series)
		}
		for _, p := range series {
			c := cell{line, p.At}
			if len(cells[c]) == 0 || slowAverage(cells[c], m.Decimals) != p.Value {
				t.Fatalf("%v %s at %s: got %s from %d rentals", line, grain, at(p.At), p.Value, len(cells[c]))
			}
			delete(cells, c)
		}
	}
	if len(cells) != 0 {
		t.Fatalf("%s: %d points are missing", grain, len(cells))
	}
}

func TestAccumulator_Len(t *testing.T) {
	a := NewAccumulator(Plain(), assay.Hourly)
	rental := assay.Transaction{GPU: "H200", Region: "us-east", Price: assay.One, GPUs: 1, HourMicros: 1e6, Verified: true}
	f := func(want int) {
		t.Helper()
		if got := a.Len(); got != want {
			t.Errorf("%d points wait, want %d", got, want)
		}
	}
	f(0)
	rental.ExecutedAt = 10 * assay.Hour
	a.Add(&rental)
	f(0) // the slot is still open
	rental.ExecutedAt = 11 * assay.Hour
	a.Add(&rental)
	f(2) // of the region and of the whole world
	taken := a.Take()
	f(0)
	if len(taken) != 2 || taken[0].Region != assay.Global || taken[1].Region != "us-east" || len(taken[0].Points) != 2 {
		t.Errorf("taken %+v, want both slots of both lines, lines in order", taken)
	}
	if again := a.Take(); len(again) != 0 {
		t.Errorf("taken twice: %+v", again)
	}
}

// The stream's caller may use one variable for all transactions.
func TestAccumulator_CopiesWhatItKeeps(t *testing.T) {
	a := NewAccumulator(Plain(), assay.Hourly)
	rental := assay.Transaction{GPU: "H200", Price: assay.One, GPUs: 1, HourMicros: 1e6, Verified: true}
	a.Add(&rental)
	rental.Price = 3 * assay.One
	a.Add(&rental)
	if got := a.Take()[0].Points[0].Value; got != 2*assay.One {
		t.Errorf("got %s, want 2", got)
	}
}
