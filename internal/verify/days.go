package verify

import (
	"cmp"
	"slices"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/store"
)

// days compares the records of days with all manifests of each day, not only the newest: what an old one lists is the
// day's records up to its publication. Records may be added in any order; once all records of a day are there, close
// makes the comparison and forgets them.
type days struct {
	manifests map[int64][]*assay.Manifest // of each day, in the order of their revisions
	numbers   map[store.SeriesKey]int32
	keys      []store.SeriesKey // by number
	open      map[int64][]listed
	closed    map[int64]closedDay
}

// listed is a record as far as a manifest lists it.
type listed struct {
	at       int64
	version  int64
	series   int32 // its number
	revision int32
	hash     assay.Hash
}

// closedDay is what is known of a day whose records were compared with its manifests.
type closedDay struct {
	first  int64           // version of its records
	upTo   int64           // the version up to which its newest manifest lists the records; 0 without one
	signed bool            // that is all of them
	wrong  *assay.Manifest // the first that does not list the records that there were
}

func newDays(manifests []assay.Manifest) days {
	d := days{
		manifests: map[int64][]*assay.Manifest{}, numbers: map[store.SeriesKey]int32{}, open: map[int64][]listed{},
		closed: map[int64]closedDay{},
	}
	for i := range manifests {
		m := &manifests[i]
		d.manifests[m.Day] = append(d.manifests[m.Day], m)
	}
	return d
}

func (d *days) add(records []store.Record) {
	for i := range records {
		r := &records[i]
		day := assay.StartOfDay(r.At)
		d.open[day] = append(d.open[day], listed{
			at: r.At, version: r.Version, series: d.number(store.SeriesKey{Line: r.Line, Grain: r.Grain}),
			revision: int32(r.Revision), hash: r.Hash,
		})
	}
}

func (d *days) number(key store.SeriesKey) int32 {
	number, ok := d.numbers[key]
	if !ok {
		number = int32(len(d.keys))
		d.numbers[key] = number
		d.keys = append(d.keys, key)
	}
	return number
}

// close closes the days of which all instants lie before the given one.
func (d *days) close(before int64) {
	for day, list := range d.open {
		if day+assay.Day > before {
			continue
		}
		slices.SortFunc(list, d.compare)
		d.closed[day] = closeDay(list, d.manifests[day])
		delete(d.open, day)
	}
}

// closeDay compares the records of a day, in the order of manifests, with its manifests.
func closeDay(list []listed, manifests []*assay.Manifest) (c closedDay) {
	c.first = list[0].version
	for i := range list {
		c.first = min(c.first, list[i].version)
	}
	for _, m := range manifests {
		version, ok := listsUpTo(list, m)
		if !ok || version < c.upTo || !lists(m, list, version) {
			c.wrong = m
			return c
		}
		c.upTo, c.signed = version, m.Records == len(list)
	}
	return c
}

// listsUpTo is the version up to which a manifest lists the records of its day. Those of releases before 0.6.0 do not
// say it: they list all records of the versions that come first, as many as they count.
func listsUpTo(list []listed, m *assay.Manifest) (version int64, ok bool) {
	if m.Publication != 0 {
		return m.Publication, true
	}
	versions := make([]int64, len(list))
	for i := range list {
		versions[i] = list[i].version
	}
	slices.Sort(versions)
	switch n := m.Records; {
	case n < 0 || n > len(versions):
		return 0, false
	case n == 0:
		return 0, true
	default:
		return versions[n-1], true // lists finds out if the version has more records
	}
}

// lists reports whether a manifest lists the records up to a version.
func lists(m *assay.Manifest, list []listed, version int64) bool {
	var hashes []assay.Hash
	revisions := 0
	for i := range list {
		if list[i].version <= version {
			hashes = append(hashes, list[i].hash)
			revisions += min(1, int(list[i].revision))
		}
	}
	return len(hashes) == m.Records && proof.Records(hashes) == m.Digest &&
		(m.Publication == 0 || revisions == m.Revisions)
}

// compare compares in the order of manifests: GPU, region, grain, instant, revision.
func (d *days) compare(a, b listed) int {
	if a.series != b.series {
		one, other := &d.keys[a.series], &d.keys[b.series]
		return cmp.Or(cmp.Compare(one.GPU, other.GPU), cmp.Compare(one.Region, other.Region),
			cmp.Compare(one.Grain.String(), other.Grain.String()))
	}
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.revision, b.revision))
}
