// Package registry lists the data families. A family that stands here can be imported, is stored, followed, held in the
// snapshot and reported by /health. Tests complain about a family without routes or without a demo feed.
package registry

import (
	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/coding"
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/memory"
	"github.com/assaydata/assay/internal/sites"
	"github.com/assaydata/assay/internal/tokens"
)

// Families holds the definition of every family.
var Families = [assay.NumFamilies]family.Family{
	assay.FamilyMemory: memory.Family,
	assay.FamilyModels: tokens.Family,
	assay.FamilyCoding: coding.Family,
	assay.FamilySites:  sites.Family,
}

// NoObservations returns the observations of every family before the first one.
func NoObservations() (set family.Set) {
	for i, f := range Families {
		set[i] = f.NoObservations()
	}
	return set
}
