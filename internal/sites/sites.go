// Package sites finds data-center sites. A model is built once from all sites known at a moment, and holds what queries
// need: the sites in order, their names without accents, their positions in an R-tree, the sites of each country, the
// sums of each bucket, and every record's JSON. It is pure: the same sites give the same model.
//
// A region is a text in the names, a circle, a country, or several of these, which then narrow each other. Countries in
// imports and in queries are normalized by the same list, so a bucket's key always finds the sites it counts.
package sites

import (
	"cmp"
	"slices"
	"strings"

	"github.com/assaydata/assay"
)

// Scope selects sites.
type Scope uint8

// The scopes.
const (
	Neocloud Scope = iota // GPU-as-a-service only
	All
	scopes // the number of scopes
)

// Model holds all sites known at a moment.
type Model struct {
	Received int64 // when the newest observation was received, or 0 without any

	sites   []assay.Site       // by company, site name and id
	records texts              // the record of each site, as JSON
	names   texts              // city and site name of each, folded
	chips   texts              // the description of each site's GPUs, folded
	byChip  map[string][]int32 // the sites in order by the chips of their buckets
	tree    tree

	scope     [scopes][]int32            // sites in order
	countries [scopes]map[string][]int32 // the same by country
	buckets   [scopes][groupings][]Bucket
}

// New builds the model from the newest revisions of all sites.
func New(observed []assay.Observed[assay.Site]) *Model {
	m := &Model{sites: make([]assay.Site, len(observed))}
	for i := range observed {
		m.sites[i], m.Received = observed[i].Value, max(m.Received, observed[i].Received)
		if m.sites[i].Country == "" {
			m.sites[i].Country = Unknown
		}
	}
	slices.SortFunc(m.sites, func(a, b assay.Site) int {
		return cmp.Or(cmp.Compare(a.Company, b.Company), cmp.Compare(a.SiteName, b.SiteName), cmp.Compare(a.ID, b.ID))
	})
	for scope := range scopes {
		m.countries[scope] = map[string][]int32{}
	}
	for i := range m.sites {
		s := &m.sites[i]
		m.tree.add(s.Latitude.Float(), s.Longitude.Float())
		for _, scope := range scopesOf(s) {
			m.scope[scope] = append(m.scope[scope], int32(i))
			m.countries[scope][s.Country] = append(m.countries[scope][s.Country], int32(i))
		}
	}
	m.records = newTexts(len(m.sites), func(dst []byte, i int) []byte { return appendRecord(dst, &m.sites[i]) })
	m.names = newTexts(len(m.sites), func(dst []byte, i int) []byte {
		return append(append(append(dst, Fold(m.sites[i].City)...), separator), Fold(m.sites[i].SiteName)...)
	})
	m.chips = newTexts(len(m.sites), func(dst []byte, i int) []byte { return append(dst, Fold(m.sites[i].GPUTypes)...) })
	m.aggregate()
	return m
}

func scopesOf(s *assay.Site) []Scope {
	if s.IsNeocloud {
		return []Scope{Neocloud, All}
	}
	return []Scope{All}
}

// Size returns roughly how many bytes the model takes.
func (m *Model) Size() int {
	const bytesPerSite = 1 << 10 // the site itself, its positions in the lists and in the tree
	return len(m.sites)*bytesPerSite + len(m.records.all) + len(m.names.all) + len(m.chips.all)
}

// Query selects sites. An empty field does not narrow.
type Query struct {
	Scope         Scope
	City          string // folded
	Near          *Circle
	Country       string // normalized by Country
	GPUType       string // folded
	Chip          string // a key of the buckets by chip
	Box           *Box
	Offset, Limit int // within the sites found; a limit of 0 is none
}

// Circle is everything within a distance of a position.
type Circle struct{ Latitude, Longitude, RadiusKm float64 }

// Box is everything between two parallels and two meridians. When West is greater than East, it lies across the date
// line.
type Box struct{ West, South, East, North float64 }

// Found is a site that matches a query.
type Found struct {
	site   int32
	meters int64 // to the center of the circle, rounded half to even
}

// Find returns one page of the sites that match, and how many match in all: the nearest first in a circle query, else
// by company, site name and id.
func (m *Model) Find(q Query) (page []Found, total int) {
	switch {
	case q.Near != nil:
		return m.findNear(q)
	case q.Country != "":
		return m.pick(m.countries[q.Scope][q.Country], q)
	case q.City != "":
		return m.pick(m.names.containing(q.City), q)
	}
	return m.pick(m.scope[q.Scope], q)
}

// pick returns the page of the matching sites among sites in order.
func (m *Model) pick(sites []int32, q Query) (page []Found, total int) {
	if q.City == "" && q.GPUType == "" && q.Chip == "" && q.Box == nil { // scope and country have selected already
		for _, i := range sites[min(q.Offset, len(sites)):] {
			if q.Limit > 0 && len(page) == q.Limit {
				break
			}
			page = append(page, Found{site: i})
		}
		return page, len(sites)
	}
	for _, i := range sites {
		if !m.passes(i, &q) {
			continue
		}
		if total >= q.Offset && (q.Limit == 0 || len(page) < q.Limit) {
			page = append(page, Found{site: i})
		}
		total++
	}
	return page, total
}

func (m *Model) findNear(q Query) (page []Found, total int) {
	var all []Found
	m.tree.within(q.Near, func(i int32, chord2 float64) {
		if m.passes(i, &q) {
			all = append(all, Found{i, metersOf(chord2)})
		}
	})
	from, to := min(q.Offset, len(all)), len(all)
	if q.Limit > 0 {
		to = min(from+q.Limit, to)
	}
	nearestFirst(all, to) // sites after the page need no order
	slices.SortFunc(all[:to], func(a, b Found) int {
		if a.before(b) {
			return -1
		}
		return 1 // no site occurs twice
	})
	return all[from:to], len(all)
}

// before is the order of a circle query. Distances that are shown alike are equal, so that the order of their sites
// follows from what is shown.
func (f Found) before(other Found) bool {
	return f.meters < other.meters || f.meters == other.meters && f.site < other.site
}

// nearestFirst moves the n nearest to the front, in no particular order.
func nearestFirst(all []Found, n int) {
	for n < len(all) {
		pivot := all[len(all)/2]
		i, j := 0, len(all)-1
		for i <= j {
			for all[i].before(pivot) {
				i++
			}
			for pivot.before(all[j]) {
				j--
			}
			if i <= j {
				all[i], all[j] = all[j], all[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case n <= j:
			all = all[:j+1]
		case n > i:
			all, n = all[i:], n-i
		default:
			return
		}
	}
}

// passes reports whether a site matches every condition except the circle.
func (m *Model) passes(i int32, q *Query) bool {
	s := &m.sites[i]
	return (q.Scope == All || s.IsNeocloud) &&
		(q.Country == "" || s.Country == q.Country) &&
		(q.Box == nil || q.Box.contains(s.Latitude.Float(), s.Longitude.Float())) &&
		(q.City == "" || strings.Contains(m.names.at(i), q.City)) &&
		(q.GPUType == "" || strings.Contains(m.chips.at(i), q.GPUType)) &&
		(q.Chip == "" || m.hasChip(i, q.Chip))
}

// hasChip reports whether a site counts in the bucket of a chip.
func (m *Model) hasChip(i int32, chip string) bool {
	_, found := slices.BinarySearch(m.byChip[chip], i)
	return found
}

func (b *Box) contains(latitude, longitude float64) bool {
	if latitude < b.South || latitude > b.North {
		return false
	}
	if isPole(latitude) { // one point with all longitudes
		return true
	}
	dateLine := longitude == 180 || longitude == -180 // one meridian, two names
	return b.between(longitude) || dateLine && b.between(-longitude)
}

func (b *Box) between(longitude float64) bool {
	if b.West > b.East {
		return longitude >= b.West || longitude <= b.East
	}
	return longitude >= b.West && longitude <= b.East
}
