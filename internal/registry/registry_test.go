package registry_test

import (
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/registry"
)

// The array has a slot for every family of the vocabulary; an empty slot is a family that someone forgot to register.
func TestFamilies_EveryFamilyIsRegistered(t *testing.T) {
	t.Parallel()
	for i, f := range registry.Families {
		name := assay.Family(i)
		t.Run(name.String(), func(t *testing.T) {
			t.Parallel()
			if f == nil {
				t.Fatal("no definition: add one to registry.Families")
			}
			if f.Name() != name {
				t.Errorf("the definition is that of %s", f.Name())
			}
			if got := f.FileSchema().Name; got != name.String() {
				t.Errorf("files are called %q", got)
			}
			if found, ok := assay.FamilyByName(name.String()); !ok || found != name {
				t.Errorf("found by its name: %v, %v", found, ok)
			}
			if latest := f.NoObservations().Latest(); latest != 0 {
				t.Errorf("the latest of no observations is %d", latest)
			}
		})
	}
	if _, ok := assay.FamilyByName("prices"); ok {
		t.Error("found a family that does not exist")
	}
}
