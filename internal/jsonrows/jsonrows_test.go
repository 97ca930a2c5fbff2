package jsonrows

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/assaydata/assay"
)

// slowRow is a row as it is described, written plainly.
func slowRow(p assay.Point) string {
	return fmt.Sprintf(`{"timestamp":%q,"index_value":%s}`, assay.FormatInstant(p.At), p.Value)
}

// hours are points an hour apart whose values wander by hundredths of a cent, as those of a market do.
func hours(rng *rand.Rand, n int) []assay.Point {
	points := make([]assay.Point, n)
	at, value := 1_700_000_000_000/assay.Hour*assay.Hour, assay.Nanos(23_000)
	for i := range points {
		at += assay.Hour
		value += assay.Nanos(rng.Int64N(101) - 50)
		points[i] = assay.Point{At: at, Value: value * commonUnit}
	}
	return points
}

// wild are points with anything that a point can be.
func wild(rng *rand.Rand, n int) []assay.Point {
	points := make([]assay.Point, n)
	at := assay.Earliest
	for i := range points {
		at += 1 + rng.Int64N(1<<rng.IntN(40))
		points[i] = assay.Point{At: at, Value: assay.Nanos(rng.Uint64() >> rng.IntN(64))}
		if rng.IntN(4) == 0 {
			points[i].Value = points[i].Value / commonUnit * commonUnit
		}
	}
	return points
}

// text is the rows of points, each with its comma.
func text(points []assay.Point) (rows []byte, ends []uint16) {
	var e Encoder
	for _, p := range points {
		rows = e.Append(append(rows, ','), p)
		ends = append(ends, uint16(len(rows)))
	}
	return rows, ends
}

func TestEncoder_WritesWhatIsDescribed(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	var e Encoder
	f := func(p assay.Point) {
		t.Helper()
		got := string(e.Append([]byte("kept:"), p))
		if want := "kept:" + slowRow(p); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if got, want := Size(p.Value), len(slowRow(p))+1; got != want || want > LongestRow {
			t.Errorf("%s: the size is %d, want %d", p.Value, got, want)
		}
	}
	f(assay.Point{})
	f(assay.Point{At: -1, Value: -1})
	f(assay.Point{At: assay.Earliest, Value: math.MinInt64})
	f(assay.Point{At: assay.Latest - 1, Value: math.MaxInt64})
	for _, value := range []assay.Nanos{
		commonUnit, 10 * commonUnit, 100 * commonUnit, 1000 * commonUnit, assay.One, assay.One + commonUnit,
		10*assay.One - commonUnit, 10 * assay.One, 10*assay.One + commonUnit, commonUnit - 1, commonUnit + 1, -commonUnit,
		23_019 * commonUnit, 20_300 * commonUnit,
	} {
		f(assay.Point{At: assay.Hour, Value: value})
	}
	for _, p := range append(hours(rng, 100), wild(rng, 5000)...) {
		f(p)
	}
}

// streamOf is the stream of points, of which the first is text and the others are cut into groups: every third is
// compressed as the stream is made, where that may be.
func streamOf(rng *rand.Rand, head string, points []assay.Point, tail string) []byte {
	var g Gzip
	g.Begin()
	rows, ends := text(points)
	g.Text([]byte(head + string(rows[1:ends[0]])))
	before, at, pieces := rows[1:ends[0]], 1, 0
	for at < len(points) {
		n := 1 + rng.IntN(len(points)-at)
		from := int(ends[at-1])
		group := make([]uint16, n)
		for k := range group {
			group[k] = ends[at+k] - ends[at-1]
		}
		part := rows[from:ends[at+n-1]]
		switch {
		case pieces == 0 && rng.IntN(3) == 0:
			g.Rows(before, part, group)
		case pieces == 0 && rng.IntN(2) == 0 || at+n == len(points):
			addPart(rng, &g, rows, ends, at, at+n)
		default:
			g.Add(NewPiece(before, part, group))
			pieces++
		}
		before = rows[ends[at+n-2]:ends[at+n-1]]
		at += n
	}
	g.Text([]byte(tail))
	return bytes.Join(g.End(nil), nil)
}

// addPart adds the rows [from, to) as a part of the piece of some rows around them.
func addPart(rng *rand.Rand, g *Gzip, rows []byte, ends []uint16, from, to int) {
	first := from - rng.IntN(from)
	last := to + rng.IntN(len(ends)-to+1)
	part := func(i, j int) (before, text []byte, relative []uint16) {
		for k := i; k < j; k++ {
			relative = append(relative, ends[first+k]-ends[first+i-1])
		}
		return rows[rowStart(ends, first+i-1):ends[first+i-1]], rows[ends[first+i-1]:ends[first+j-1]], relative
	}
	g.AddPart(NewPiece(part(0, last-first)), from-first, to-first, part)
}

func TestGzip_DecompressesToTheText(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(2, 2))
	var packed, want bytes.Buffer
	for n := range 400 {
		points := hours(rng, 1+rng.IntN(300))
		if n%2 == 0 {
			points = wild(rng, 1+rng.IntN(300))
		}
		head := strings.Repeat("head ", rng.IntN(20_000)/(1+rng.IntN(1000)))
		rows, _ := text(points)
		text := head + string(rows[1:]) + "]}"
		stream := streamOf(rng, head, points, "]}")
		r, err := gzip.NewReader(bytes.NewReader(stream))
		if err != nil {
			t.Fatal(err)
		}
		r.Multistream(false)
		if got, err := io.ReadAll(r); err != nil || string(got) != text {
			t.Fatalf("stream %d of %d points: %v", n, len(points), err)
		}
		packed.Write(stream)
		want.WriteString(text)
	}
	cmd := exec.Command("gzip", "-dc")
	cmd.Stdin = &packed
	if got, err := cmd.Output(); err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("the gzip command: %v, %d bytes", err, len(got))
	}
}

// A part has the same bits whether it is cut out of a piece or compressed by itself.
func TestGzip_PartsAreRows(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(6, 6))
	rows, ends := text(hours(rng, 258))
	for range 2000 {
		from := 1 + rng.IntN(len(ends)-1)
		to := from + 1 + rng.IntN(len(ends)-from)
		var part, whole Gzip
		part.Begin()
		addPart(rng, &part, rows, ends, from, to)
		whole.Begin()
		relative := make([]uint16, to-from)
		for k := range relative {
			relative[k] = ends[from+k] - ends[from-1]
		}
		whole.Rows(rows[rowStart(ends, from-1):ends[from-1]], rows[ends[from-1]:ends[to-1]], relative)
		if !bytes.Equal(bytes.Join(part.End(nil), nil), bytes.Join(whole.End(nil), nil)) {
			t.Fatalf("the rows %d to %d have two streams", from, to)
		}
	}
}

func TestGzip_WithoutRows(t *testing.T) {
	t.Parallel()
	var g Gzip
	for _, text := range []string{"", "a", strings.Repeat("long ", 40_000)} {
		g.Begin()
		g.Text([]byte(text))
		r, err := gzip.NewReader(bytes.NewReader(bytes.Join(g.End(nil), nil)))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || string(got) != text {
			t.Errorf("%d bytes became %d: %v", len(text), len(got), err)
		}
	}
}

// A row of an hour takes little more than four bytes, so a series can hold all of its rows compressed.
func TestPiece_Size(t *testing.T) {
	t.Parallel()
	rows, ends := text(hours(rand.New(rand.NewPCG(3, 3)), 257))
	previous, rest := rows[:ends[0]], rows[ends[0]:]
	for k := range ends[1:] {
		ends[k+1] -= ends[0]
	}
	p := NewPiece(previous, rest, ends[1:])
	if perRow := float64(p.Size()) / 256; perRow > 5 || p.Size() != cap(p.deflated) {
		t.Errorf("%.2f bytes a row, in an array of %d", perRow, cap(p.deflated))
	}
}

func TestCombine(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(4, 4))
	for _, sizes := range [][2]int{
		{0, 0}, {1, 0}, {0, 1}, {1, 1}, {7, 100_000}, {100_000, 7}, {65_536, 65_535}, {3, 1 << 20},
	} {
		text := make([]byte, sizes[0]+sizes[1])
		for i := range text {
			text[i] = byte(rng.Uint32())
		}
		first, second := crc32.ChecksumIEEE(text[:sizes[0]]), crc32.ChecksumIEEE(text[sizes[0]:])
		if got, want := combine(first, second, shiftOf(sizes[1])), crc32.ChecksumIEEE(text); got != want {
			t.Errorf("%v: got %x, want %x", sizes, got, want)
		}
	}
}

func BenchmarkRows(b *testing.B) {
	points := hours(rand.New(rand.NewPCG(5, 5)), 257)
	rows, ends := text(points)
	previous, rest := rows[:ends[0]], rows[ends[0]:]
	for k := range ends[1:] {
		ends[k+1] -= ends[0]
	}
	ends = ends[1:]
	perRow := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/256, "ns/row")
	}
	b.Run("text", func(b *testing.B) {
		buffer := make([]byte, 0, len(rows))
		for b.Loop() {
			var e Encoder
			buffer = buffer[:0]
			for _, p := range points[1:] {
				buffer = e.Append(append(buffer, ','), p)
			}
		}
		perRow(b)
	})
	b.Run("deflate", func(b *testing.B) {
		buffer := make([]byte, 0, len(rows))
		for b.Loop() {
			buffer = Deflate(buffer[:0], previous, rest, ends)
		}
		perRow(b)
		b.ReportMetric(float64(len(buffer))/256, "B/row")
	})
	b.Run("checksum", func(b *testing.B) {
		for b.Loop() {
			crc32.ChecksumIEEE(rest)
		}
		perRow(b)
	})
	b.Run("combine", func(b *testing.B) {
		p := NewPiece(previous, rest, ends)
		for b.Loop() {
			combine(p.end().sum, p.end().sum, p.shift)
		}
	})
}
