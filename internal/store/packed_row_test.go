package store

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/assaydata/assay"
)

// unpacked returns the points of a row.
func unpacked(t *testing.T, r packedRow) (points []packedPoint) {
	t.Helper()
	r.checksum = r.sum()
	err := r.each(func(p *packedPoint) error {
		points = append(points, *p)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return points
}

func TestPack_AnyNumbers(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 2))
	extremes := []int64{math.MinInt64, -1, 0, 1, assay.Hour, math.MaxInt64}
	number := func() int64 { return extremes[random.IntN(len(extremes))] }
	for range 200 {
		packer := newPointPacker(nil, 1+random.Int64N(100))
		var want []packedPoint
		for range random.IntN(50) {
			p := packedPoint{number(), assay.Revision{
				Point: assay.Point{At: number(), Value: assay.Nanos(number())}, Number: int(number()), Version: number(),
			}}
			if random.IntN(4) == 0 {
				p.Gone, p.Value = true, 0
			}
			want = append(want, p)
			if err := packer.add(p); err != nil {
				t.Fatal(err)
			}
		}
		if got := unpacked(t, packer.row); !slices.Equal(got, want) {
			t.Fatalf("unpacked are\n%v, want\n%v", got, want)
		}
	}
}

// An hour of many lines takes few bytes.
func TestPack_Size(t *testing.T) {
	t.Parallel()
	const lines, most = 1000, 8 // bytes a point
	packer := newPointPacker(nil, 20_000)
	for series := range int64(lines) {
		price := assay.Nanos(series*7919%40_000) * assay.One / 10_000
		point := assay.Point{At: 480_000 * assay.Hour, Value: assay.One + price}
		if err := packer.add(packedPoint{2 * series, assay.Revision{Point: point, Version: 20_000}}); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(packer.row.body); got > lines*most {
		t.Errorf("%d points take %d bytes, more than %d each", lines, got, most)
	}
}

// FuzzUnpack reads damaged rows that have the right checksum: an error, and no more points than the row says.
func FuzzUnpack(f *testing.F) {
	packer := newPointPacker(nil, 7)
	for hour := range int64(5) {
		point := assay.Point{At: hour * assay.Hour, Value: assay.Nanos(hour) * assay.One}
		if err := packer.add(packedPoint{hour % 2, assay.Revision{Point: point, Number: int(hour), Version: 7}}); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(packer.row.points, packer.row.body)
	f.Add(int64(math.MaxInt64), packer.row.body)
	f.Add(int64(-1), []byte{packedFormat})
	f.Add(int64(0), []byte{})
	f.Fuzz(func(t *testing.T, points int64, body []byte) {
		r := packedRow{version: 7, points: points, body: body}
		r.checksum = r.sum()
		n := int64(0)
		err := r.each(func(*packedPoint) error {
			n++
			return nil
		})
		if err == nil && n != max(0, points) {
			t.Errorf("%d points are unpacked without an error, want %d", n, points)
		}
	})
}
