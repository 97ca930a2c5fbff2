package verify

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the test vectors in docs/proof-vectors again")

// The test vectors for verifiers of others are the bundle of the market, which has every feature of the proof.
func TestVectors(t *testing.T) {
	t.Parallel()
	const vectors = "../../docs/proof-vectors/bundle"
	dir, _ := exported(t, openMarket(t), instant(1, 0), instant(30, 0))
	if *update {
		if err := os.RemoveAll(vectors); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(vectors, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
	}
	want, got := readFiles(t, vectors), readFiles(t, dir)
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if diff := cmp.Diff(string(want[name]), string(got[name])); diff != "" {
			t.Errorf("%s (-vectors +exported); go test ./internal/verify -run TestVectors -update writes it:\n%s",
				filepath.Join(vectors, name), diff)
		}
	}
	if len(want) != len(got) {
		t.Errorf("there are %d files, want %d", len(want), len(got))
	}
}
