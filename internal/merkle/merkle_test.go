package merkle

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
)

// shelf is a log in memory.
type shelf struct {
	tiles map[Tile][]byte
	edge  *Edge
}

func (s *shelf) put(t Tile, data []byte) error {
	s.tiles[t] = slices.Clone(data)
	return nil
}

func (s *shelf) read(t Tile) ([]byte, error) {
	if data, ok := s.tiles[t]; ok {
		return data, nil
	}
	return nil, fmt.Errorf("tile %v is missing", t)
}

// append appends leaves as a writer does: it reads the edge, and writes the tiles that have changed.
func (s *shelf) append(t *testing.T, leaves ...tlog.Hash) {
	t.Helper()
	edge, err := ReadEdge(s.edge.Size(), s.read)
	if err != nil {
		t.Fatal(err)
	}
	for _, leaf := range leaves {
		if err := edge.Append(leaf, s.put); err != nil {
			t.Fatal(err)
		}
	}
	if err := edge.Incomplete(s.put); err != nil {
		t.Fatal(err)
	}
	s.edge = edge
}

func leafOf(i int) tlog.Hash { return tlog.RecordHash(fmt.Appendf(nil, "entry %d", i)) }

// The judge is tlog's own storage of hashes.
func TestEdge_IsTheTreeOfTlog(t *testing.T) {
	t.Parallel()
	var stored []tlog.Hash
	judge := tlog.HashReaderFunc(func(indexes []int64) (hashes []tlog.Hash, err error) {
		for _, i := range indexes {
			hashes = append(hashes, stored[i])
		}
		return hashes, nil
	})
	random := rand.New(rand.NewPCG(1, 2))
	s := &shelf{tiles: map[Tile][]byte{}, edge: &Edge{}}
	for size := 0; size < 70_000; {
		var leaves []tlog.Hash
		for range 1 + random.IntN(900) {
			hashes, err := tlog.StoredHashesForRecordHash(int64(size), leafOf(size), judge)
			if err != nil {
				t.Fatal(err)
			}
			stored = append(stored, hashes...)
			leaves = append(leaves, leafOf(size))
			size++
		}
		s.append(t, leaves...)
		want, err := tlog.TreeHash(int64(size), judge)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.edge.Root(); err != nil || got != want {
			t.Fatalf("the root over %d leaves is %v (%v), want %v", size, got, err, want)
		}
	}
	size := s.edge.Size()
	for range 200 {
		n := 1 + random.Int64N(size)
		root, err := tlog.TreeHash(n, Reader(s.read))
		if err != nil {
			t.Fatal(err)
		}
		leaf := random.Int64N(n)
		inclusion, err := tlog.ProveRecord(n, leaf, Reader(s.read))
		if err != nil {
			t.Fatal(err)
		}
		if err := tlog.CheckRecord(inclusion, n, root, leaf, leafOf(int(leaf))); err != nil {
			t.Errorf("leaf %d of %d: %v", leaf, n, err)
		}
		whole, err := s.edge.Root()
		if err != nil {
			t.Fatal(err)
		}
		consistency, err := tlog.ProveTree(size, n, Reader(s.read))
		if err != nil {
			t.Fatal(err)
		}
		if err := tlog.CheckTree(consistency, size, whole, n, root); err != nil {
			t.Errorf("from %d to %d: %v", n, size, err)
		}
	}
}

func TestReadEdge_ShortTile(t *testing.T) {
	t.Parallel()
	s := &shelf{tiles: map[Tile][]byte{}, edge: &Edge{}}
	s.append(t, leafOf(0), leafOf(1))
	if _, err := ReadEdge(3, s.read); err == nil {
		t.Error("the edge of 3 leaves was read from a tile of 2")
	}
	if _, err := tlog.TreeHash(3, Reader(s.read)); err == nil {
		t.Error("the hash over 3 leaves was read from a tile of 2")
	}
}

func TestBundle(t *testing.T) {
	t.Parallel()
	entries := [][]byte{[]byte("first"), {}, bytes.Repeat([]byte("x"), MaxEntry), []byte("last")}
	var bundle []byte
	for _, entry := range entries {
		var err error
		if bundle, err = AppendBundled(bundle, entry); err != nil {
			t.Fatal(err)
		}
	}
	var got [][]byte
	collect := func(entry []byte) error {
		got = append(got, entry)
		return nil
	}
	if err := SplitBundle(bundle, collect); err != nil || !slices.EqualFunc(got, entries, bytes.Equal) {
		t.Errorf("split into %d entries (%v), want %d", len(got), err, len(entries))
	}
	got = nil
	first, err := FirstOfBundle(bundle, 3)
	if err != nil || SplitBundle(first, collect) != nil || !slices.EqualFunc(got, entries[:3], bytes.Equal) {
		t.Errorf("the first three are %d entries (%v)", len(got), err)
	}
	if _, err := FirstOfBundle(bundle, 5); !errors.Is(err, ErrShort) {
		t.Errorf("the first 5 of 4: %v, want %v", err, ErrShort)
	}
	for _, end := range []int{1, 6, len(bundle) - 1} {
		if err := SplitBundle(bundle[:end], collect); !errors.Is(err, ErrShort) {
			t.Errorf("a bundle that ends after %d bytes: %v, want %v", end, err, ErrShort)
		}
	}
	if _, err := AppendBundled(nil, make([]byte, MaxEntry+1)); err == nil {
		t.Error("an entry that is too large was bundled")
	}
}

func TestParsePath(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]Resource{
		"tile/0/000":                  {Tile{0, 0}, false, 256},
		"tile/0/x001/x234/067":        {Tile{0, 1234067}, false, 256},
		"tile/2/005.p/17":             {Tile{2, 5}, false, 17},
		"tile/entries/000":            {Tile{0, 0}, true, 256},
		"tile/entries/x001/000.p/255": {Tile{0, 1000}, true, 255},
	} {
		if got, err := ParsePath(path); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", path, got, err, want)
		}
	}
	for _, path := range []string{
		"", "tile", "tile/", "tile/0", "tile/0/0", "tile/0/x000/001", "tile/0/001.p/0", "tile/0/001.p/256", "tile/-1/000",
		"tile/data/000", "tile/00/000", "tile/64/000", "tile/entries/000/", "/tile/0/000", "tile/8/0/000", "tile/0/000.p/07",
	} {
		if got, err := ParsePath(path); !errors.Is(err, ErrPath) {
			t.Errorf("%q: %+v, %v; want %v", path, got, err, ErrPath)
		}
	}
}

func TestResource_Within(t *testing.T) {
	t.Parallel()
	f := func(path string, entries int64, want bool) {
		t.Helper()
		r, err := ParsePath(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Within(entries); got != want {
			t.Errorf("%s of %d entries: %t, want %t", path, entries, got, want)
		}
	}
	f("tile/0/000", 255, false)
	f("tile/0/000", 256, true)
	f("tile/0/000.p/255", 254, false)
	f("tile/0/000.p/255", 255, true)
	f("tile/0/001.p/1", 256, false)
	f("tile/entries/001.p/1", 257, true)
	f("tile/0/002.p/1", 257, false)
	f("tile/1/000.p/1", 255, false)
	f("tile/1/000.p/1", 256, true)
	f("tile/1/000", 1<<16-1, false)
	f("tile/1/000", 1<<16, true)
	f("tile/2/000.p/1", 1<<16, true)
	f("tile/63/000.p/1", math.MaxInt64, false)
	f("tile/0/x999/x999/x999/x999/x999/999", math.MaxInt64, false)
}
