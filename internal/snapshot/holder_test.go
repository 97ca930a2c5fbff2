package snapshot

import (
	"testing"

	"github.com/assaydata/assay"
)

// An announced snapshot is served to requests from its instant on, and to those before it never.
func TestHolder_Announced(t *testing.T) {
	t.Parallel()
	var h Holder
	one, two := New(assay.DefaultCatalog(), 1), New(assay.DefaultCatalog(), 2)
	if h.At(0) != nil {
		t.Error("an empty holder has a snapshot")
	}
	h.Store(one)
	h.Announce(two, 100)
	if h.At(99) != one || h.At(100) != two || h.Load() != one {
		t.Error("an announced snapshot is not served exactly from its instant on")
	}
	h.Store(two)
	if h.At(99) != two || h.Load() != two {
		t.Error("a stored snapshot is not served at once")
	}
}
