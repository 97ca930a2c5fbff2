package sites

import (
	"cmp"
	"slices"

	"github.com/assaydata/assay"
)

// Grouping is what buckets are grouped by.
type Grouping uint8

// The groupings.
const (
	ByCountry Grouping = iota
	ByGPUType
	groupings // the number of groupings
)

// Bucket sums up the sites of one group.
type Bucket struct {
	Key         string       `json:"key"`
	SiteCount   int          `json:"site_count"`
	TotalGPUQty int64        `json:"total_gpu_qty"`
	TotalPower  assay.Micros `json:"total_power_mw"`
}

// Buckets returns the sums of all sites in a scope, most sites first, then by key. A site with several chips counts in
// each of them, with all of its GPUs and its power.
func (m *Model) Buckets(by Grouping, scope Scope) []Bucket { return m.buckets[scope][by] }

func (m *Model) aggregate() {
	m.byChip = map[string][]int32{}
	var sums [scopes][groupings]map[string]*Bucket
	for scope := range scopes {
		for by := range groupings {
			sums[scope][by] = map[string]*Bucket{}
		}
	}
	for i := range m.sites {
		s := &m.sites[i]
		chips := Chips(s.GPUTypes)
		for _, chip := range chips {
			m.byChip[chip] = append(m.byChip[chip], int32(i))
		}
		for _, scope := range scopesOf(s) {
			count(sums[scope][ByCountry], s.Country, s)
			for _, chip := range chips {
				count(sums[scope][ByGPUType], chip, s)
			}
		}
	}
	for scope := range scopes {
		for by := range groupings {
			m.buckets[scope][by] = inOrder(sums[scope][by])
		}
	}
}

func count(buckets map[string]*Bucket, key string, s *assay.Site) {
	b := buckets[key]
	if b == nil {
		b = &Bucket{Key: key}
		buckets[key] = b
	}
	b.SiteCount++
	b.TotalGPUQty += s.GPUQty
	b.TotalPower += s.Power
}

func inOrder(buckets map[string]*Bucket) []Bucket {
	all := make([]Bucket, 0, len(buckets)) // an empty list rather than nil
	for _, b := range buckets {
		all = append(all, *b)
	}
	slices.SortFunc(all, func(a, b Bucket) int {
		return cmp.Or(cmp.Compare(b.SiteCount, a.SiteCount), cmp.Compare(a.Key, b.Key))
	})
	return all
}
