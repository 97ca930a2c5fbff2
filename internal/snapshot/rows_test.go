package snapshot

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	klauspost "github.com/klauspost/compress/gzip"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/memfile"
)

// hoursOf are points as a market makes them: an hour apart, with gaps, and of four decimals.
func hoursOf(rng *rand.Rand, n int) []assay.Point {
	points := make([]assay.Point, n)
	at, value := int64(1_600_000_000_000)/assay.Hour*assay.Hour, int64(23_000)
	for i := range points {
		at += assay.Hour
		if rng.IntN(100) == 0 {
			at += assay.Hour * rng.Int64N(50)
		}
		value = max(1, value+rng.Int64N(101)-50)
		points[i] = assay.Point{At: at, Value: assay.Nanos(value) * assay.Unit(4)}
	}
	return points
}

const testHead, testTail = `{"success":true,"data":[`, "]}"

// gzipOf is the stream of some rows.
func gzipOf(s *Series, i, j int) []byte { return gzipWith(s, testHead, i, j) }

func gzipWith(s *Series, head string, i, j int) []byte {
	var stream joined
	s.Gzip([]byte(head), i, j, []byte(testTail), &stream)
	return stream
}

// joined collects a stream.
type joined []byte

func (*joined) WritesFiles() bool           { return false }
func (*joined) WriteFile(*memfile.File)     {}
func (b *joined) WriteParts(parts [][]byte) { *b = bytes.Join(parts, nil) }

// gunzip reads one member, and wants nothing behind it.
func gunzip(t *testing.T, stream []byte) string {
	t.Helper()
	in := bytes.NewReader(stream)
	r, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	r.Multistream(false)
	text, err := io.ReadAll(r)
	if err != nil || in.Len() > 0 {
		t.Fatalf("%v, and %d bytes are left", err, in.Len())
	}
	return string(text)
}

// edges are ranges at the edges of blocks.
func edges(n int) (ranges [][2]int) {
	var at []int
	for i := 0; i <= n+blockRows; i += blockRows {
		at = append(at, i-1, i, i+1, i+2)
	}
	at = append(at, n-2, n-1, n)
	for _, i := range at {
		for _, j := range at {
			if 0 <= i && i <= j && j <= n {
				ranges = append(ranges, [2]int{i, j})
			}
		}
	}
	return ranges
}

// TestRows_GzipIsTheText: whatever the range, the stream decompresses to the text of a plain implementation, whether
// the text is kept or not.
func TestRows_GzipIsTheText(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(21, 1))
	var all, want bytes.Buffer
	for _, n := range []int{0, 1, 2, blockRows - 1, blockRows, blockRows + 1, 3*blockRows + 77} {
		for kind, points := range map[string][]assay.Point{"hours": hoursOf(rng, n), "random": randomPoints(rng, n)} {
			s := newSeries(made(1, points), 1, 1)
			slow := make([]string, n)
			for i := range points {
				slow[i] = string(slowRows(t, points[i:i+1]))
			}
			ranges := edges(n)
			for range 100 {
				i := rng.IntN(n + 1)
				ranges = append(ranges, [2]int{i, i + rng.IntN(n-i+1)})
			}
			for k, r := range ranges {
				if k == len(ranges)/2 {
					s.KeepText(40 << 10)
				}
				other := ranges[k*7%len(ranges)]
				s.TextSize(other[0], other[1]) // what is requested in between does not matter
				text := testHead + strings.Join(slow[r[0]:r[1]], ",") + testTail
				stream := gzipOf(s, r[0], r[1])
				if got := gunzip(t, stream); got != text {
					t.Fatalf("%d %s, rows %v: another text", n, kind, r)
				}
				got, size := s.AppendText([]byte(testHead), r[0], r[1]), s.TextSize(r[0], r[1])
				if string(got)+testTail != text || size != len(text)-len(testHead+testTail) {
					t.Fatalf("%d %s, rows %v: got %s, %d bytes announced", n, kind, r, got, size)
				}
				var parts []byte
				s.Text(r[0], r[1], func(part []byte, _ bool) { parts = append(parts, part...) })
				if !bytes.HasSuffix(got, parts) || len(parts) != size {
					t.Fatalf("%d %s, rows %v: got %s in parts", n, kind, r, parts)
				}
				if k%20 == 0 {
					all.Write(stream)
					want.WriteString(text)
				}
			}
		}
	}
	cmd := exec.Command("gzip", "-dc")
	cmd.Stdin = &all
	if got, err := cmd.Output(); err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("the gzip command: %v, %d bytes of %d", err, len(got), want.Len())
	}
}

// files is a writer of streams that prefers files.
type files struct {
	joined
	file *memfile.File
}

func (*files) WritesFiles() bool           { return true }
func (w *files) WriteFile(f *memfile.File) { w.file = f }

// TestRows_File: the stream of a whole long series is in a file, until the series changes. Nothing else is.
func TestRows_File(t *testing.T) {
	t.Parallel()
	points := hoursOf(rand.New(rand.NewPCG(29, 1)), wholeRows+100)
	s := newSeries(made(1, points[:wholeRows]), 1, 1)
	fileOf := func(s *Series, head string, i, j int) *memfile.File {
		var w files
		s.Gzip([]byte(head), i, j, []byte(testTail), &w)
		if (w.file == nil) != bytes.Equal(w.joined, gzipWith(s, head, i, j)) {
			t.Errorf("rows %d to %d: a file and parts, or neither", i, j)
		}
		return w.file
	}
	first := fileOf(s, testHead, 0, s.Len())
	if first == nil {
		t.Skip("this system has no such files")
	}
	content := make([]byte, first.Size()+1)
	n, err := syscall.Pread(first.Descriptor(), content, 0)
	if want := gzipOf(s, 0, s.Len()); err != nil || !bytes.Equal(content[:n], want) {
		t.Errorf("%v, %d bytes of %d, or others", err, n, len(want))
	}
	if fileOf(s, testHead, 0, s.Len()) != first {
		t.Error("another file for the same stream")
	}
	for _, other := range []*memfile.File{
		fileOf(s, "{", 0, s.Len()), fileOf(s, testHead, 1, s.Len()), fileOf(s, testHead, 0, s.Len()-1),
		fileOf(newSeries(made(1, points[:wholeRows-1]), 1, 1), testHead, 0, wholeRows-1),
	} {
		if other != nil {
			t.Error("a file for something else")
		}
	}
	longer := s.extended(made(2, points[wholeRows:]), 2, 2)
	if second := fileOf(longer, testHead, 0, longer.Len()); second == nil || second == first {
		t.Error("not another file for a longer series")
	}
}

// TestRows_SameBytesOnEveryNode: equal ETags promise equal bytes, so a stream may depend on the points alone, not on
// how the series was made: at once, point by point, with restatements in its middle, or as of a version.
func TestRows_SameBytesOnEveryNode(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(22, 1))
	m := newMarket(7)
	followed := New(assay.DefaultCatalog(), 1)
	var kept *Line
	const versions = 1200
	var then int64
	for v := range int64(versions) {
		followed = followed.With(m.publish())
		if s := followed.Line(gpu, assay.Global).Series(assay.Hourly); s.Len() > 0 {
			i := rng.IntN(s.Len())
			gzipOf(s, i, s.Len()) // so that what is kept comes from many versions
			s.KeepText(rng.IntN(100 << 10))
		}
		if v == versions*2/3 {
			kept, then = followed.Line(gpu, assay.Global), followed.Version
		}
	}
	loaded := New(assay.DefaultCatalog(), 1).With(m.everything())
	compare := func(what string, a, b *Series) {
		t.Helper()
		if a.Len() != b.Len() || a.Len() < 4*blockRows {
			t.Fatalf("%s: %d and %d points", what, a.Len(), b.Len())
		}
		for range 300 {
			i := rng.IntN(a.Len() + 1)
			j := i + rng.IntN(a.Len()-i+1)
			if !bytes.Equal(gzipOf(a, i, j), gzipOf(b, i, j)) {
				t.Fatalf("%s: the rows %d to %d have two streams", what, i, j)
			}
		}
	}
	line := func(s *Snapshot) *Series { return s.Line(gpu, assay.Global).Series(assay.Hourly) }
	compare("followed and loaded", line(followed), line(loaded))
	past := func(s *Snapshot) *Series { return s.LineAsOf(gpu, assay.Global, then).Series(assay.Hourly) }
	compare("followed, as of", past(followed), kept.Series(assay.Hourly))
	compare("loaded, as of", past(loaded), kept.Series(assay.Hourly))
}

// kept is how many bytes a series keeps for its points, and for requests.
func kept(s *Series) (points, requests int) {
	for _, b := range s.blocks {
		points += len(b.columns)
		if p := b.piece.Load(); p != nil {
			requests += p.Size()
		}
		if text := b.text.Load(); text != nil {
			requests += cap(text.rows) + 2*len(text.ends)
		}
	}
	return points, requests
}

// TestRows_HostileRanges: ten thousand different ranges leave no more than a few bytes a point.
func TestRows_HostileRanges(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(23, 1))
	s := newSeries(made(1, hoursOf(rng, 40*blockRows)), 1, 1)
	points, requests := kept(s)
	if perPoint := float64(points) / float64(s.Len()); perPoint > 4 || requests != 0 {
		t.Errorf("%.1f bytes a point, and %d without a request", perPoint, requests)
	}
	for range 10_000 {
		i := rng.IntN(s.Len())
		j := i + 1 + rng.IntN(min(s.Len()-i, 2000))
		if rng.IntN(10) == 0 {
			_ = string(s.AppendText(nil, i, j))
			continue
		}
		gzipOf(s, i, j)
	}
	if _, requests := kept(s); requests > 6*s.Len() || requests < 3*s.Len() {
		t.Errorf("the ranges have left %.1f bytes a point", float64(requests)/float64(s.Len()))
	}
}

func TestSeries_KeepText(t *testing.T) {
	t.Parallel()
	s := newSeries(made(1, hoursOf(rand.New(rand.NewPCG(24, 1)), 10*blockRows+9)), 1, 1)
	f := func(most, low int) {
		t.Helper()
		got := s.KeepText(most)
		_, requests := kept(s)
		if got != requests || got > most || got < low {
			t.Errorf("of %d bytes: %d, and in fact %d; want at least %d", most, got, requests, low)
		}
		if newest := s.blocks[len(s.blocks)-1].text.Load(); (newest != nil) != (low > 0) {
			t.Errorf("of %d bytes: not the newest", most)
		}
	}
	f(0, 0)
	f(100<<10, 80<<10)
	f(1<<20, 150<<10)
	f(50<<10, 30<<10) // drops what is too much
	f(0, 0)
}

// TestRows_Concurrently has readers of ranges, while what they read from is made and dropped.
func TestRows_Concurrently(t *testing.T) {
	t.Parallel()
	points := hoursOf(rand.New(rand.NewPCG(25, 1)), 6*blockRows)
	whole := slowRows(t, points)
	s := newSeries(made(1, points), 1, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := range 200 {
			s.KeepText(n % 5 * 30 << 10)
		}
	})
	for reader := range uint64(3) {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(reader, 26))
			for range 60 {
				i := rng.IntN(len(points))
				j := i + 1 + rng.IntN(len(points)-i)
				text := string(s.AppendText(nil, i, j))
				if !bytes.Contains(whole, []byte(text)) || gunzip(t, gzipOf(s, i, j)) != testHead+text+testTail {
					t.Errorf("rows %d to %d are others", i, j)
					return
				}
				if rng.IntN(5) == 0 {
					for _, b := range s.blocks {
						b.piece.Store(nil)
					}
				}
			}
		})
	}
	wg.Wait()
}

// TestBlock_ReadsBackWhatWasWritten takes numbers to their limits.
func TestBlock_ReadsBackWhatWasWritten(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(27, 1))
	extreme := []int64{0, 1, -1, math.MaxInt64, math.MinInt64, 63, 64, -64, -65, 8191, 8192, 1e9, -1e9}
	for range 500 {
		var p, got points
		p.count = 1 + rng.IntN(blockRows)
		at := assay.Earliest
		for i := range p.count {
			at += 1 + rng.Int64N(1<<rng.IntN(37))
			p.times[i], p.versions[i] = at, rng.Int64N(1<<rng.IntN(62))
			p.values[i] = assay.Nanos(extreme[rng.IntN(len(extreme))])
			if rng.IntN(2) == 0 {
				p.values[i] = assay.Nanos(rng.Uint64() >> rng.IntN(64))
			}
		}
		b := newBlock(&p)
		b.decode(&got)
		b.decodeVersions(&got)
		n := p.count
		if got.count != n || got.times != p.times || got.values != p.values || got.versions != p.versions {
			t.Fatalf("%d points came back otherwise", n)
		}
		if b.oldest != slices.Min(p.versions[:n]) || b.newest != slices.Max(p.versions[:n]) {
			t.Fatalf("versions %d to %d", b.oldest, b.newest)
		}
		for i, at := range p.times[:n] {
			if b.time(i) != at || b.search(at) != i || i > 0 && b.search(p.times[i-1]+1) != i {
				t.Fatalf("point %d of %d is not found", i, n)
			}
		}
	}
}

// BenchmarkRows measures a range that no one has requested before: 8,000 hours from the middle of a block to the middle
// of another one. For comparison it also compresses their text.
func BenchmarkRows(b *testing.B) {
	s := newSeries(made(1, hoursOf(rand.New(rand.NewPCG(28, 1)), 26_280)), 1, 1)
	run := func(name string, f func(i, j int)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				i := n * 7919 % 18_000
				f(i, i+8000)
			}
		})
	}
	compressed := func(i, j int) { s.Gzip(nil, i, j, nil, noParts{}) }
	text := func(i, j int) { s.Text(i, j, func([]byte, bool) {}) }
	run("gzip", compressed)
	run("text", text)
	s.KeepText(1 << 30)
	run("gzip, text kept", compressed)
	run("text kept", text)
	w, err := klauspost.NewWriterLevel(io.Discard, klauspost.BestSpeed)
	if err != nil {
		b.Fatal(err)
	}
	run("text compressed", func(i, j int) {
		w.Reset(io.Discard)
		s.Text(i, j, func(part []byte, _ bool) { _, _ = w.Write(part) })
		_ = w.Close()
	})
}

// BenchmarkSnapshot_Memory builds snapshots of a market with many lines, and reports what they take: as they are, and
// after everything was requested that is kept.
func BenchmarkSnapshot_Memory(b *testing.B) {
	for _, millions := range []int{1, 4, 20} {
		b.Run(fmt.Sprintf("%d million values", millions), func(b *testing.B) { measureMemory(b, millions*1_000_000) })
	}
}

// noParts drops a stream.
type noParts struct{}

func (noParts) WritesFiles() bool       { return false }
func (noParts) WriteFile(*memfile.File) {}
func (noParts) WriteParts([][]byte)     {}
