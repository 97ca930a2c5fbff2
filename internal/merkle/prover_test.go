package merkle

import (
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
)

// Proofs from hashes that were kept are those from tiles, while the tree grows, also by smaller trees than it is.
func TestProver_GrowingTree(t *testing.T) {
	t.Parallel()
	s := &shelf{tiles: map[Tile][]byte{}, edge: &Edge{}}
	kept, computed := map[InnerOf]*Inner{}, 0
	keep := func(of InnerOf, compute func() (*Inner, error)) (*Inner, error) {
		if inner := kept[of]; inner != nil {
			return inner, nil
		}
		computed++
		inner, err := compute()
		kept[of] = inner
		return inner, err
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for range 40 {
		var leaves []tlog.Hash
		for range 1 + rng.IntN(4000) {
			leaves = append(leaves, leafOf(int(s.edge.Size())+len(leaves)))
		}
		s.append(t, leaves...)
		prover := Prover{Read: s.read, Size: s.edge.Size(), Keep: keep}
		for range 20 {
			size := 1 + rng.Int64N(s.edge.Size())
			leaf := rng.Int64N(size)
			got, err := tlog.ProveRecord(size, leaf, prover)
			if err != nil {
				t.Fatal(err)
			}
			want, err := tlog.ProveRecord(size, leaf, Reader(s.read))
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("leaf %d of %d: the proof is %v, want %v (%v)", leaf, size, got, want, err)
			}
			root, err := tlog.TreeHash(size, prover)
			if err != nil || tlog.CheckRecord(got, size, root, leaf, leafOf(int(leaf))) != nil {
				t.Fatalf("leaf %d of %d: the proof does not hold (%v)", leaf, size, err)
			}
		}
	}
	if most := 2 * len(s.tiles); computed > most {
		t.Errorf("the hashes of %d tiles were computed %d times", len(s.tiles), computed)
	}
}
