package api

import (
	"slices"
	"testing"

	"github.com/assaydata/assay"
)

// A family of the vocabulary that the API does not serve is one that someone forgot.
func TestFamilies_EveryFamilyIsServed(t *testing.T) {
	t.Parallel()
	for i := range assay.NumFamilies {
		t.Run(i.String(), func(t *testing.T) {
			t.Parallel()
			at := slices.IndexFunc(families, func(f marketFamily) bool { return f.name == i.String() })
			if at < 0 {
				t.Fatal("no routes: add a marketFamily to families")
			}
			if f := families[at]; len(f.routes) == 0 || f.latest == nil || f.warm == nil {
				t.Error("the family needs routes, latest and warm")
			}
		})
	}
}
