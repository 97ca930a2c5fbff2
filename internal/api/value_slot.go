package api

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/values"
	"github.com/assaydata/assay/internal/web"
)

// ValueSlot is a request for the record of one value of a family other than the GPU index. Like that of a Slot, the
// record is in the database, and internal/console reads it.
type ValueSlot struct {
	Index, Series string
	Day           int64 // midnight UTC
	Exists        bool  // false when the catalog does not list what the series is about
	Access        assay.Access

	query    query
	revision int
}

// recordedIndex is an index whose values have records.
type recordedIndex struct {
	name   string
	series string // what names a series of it
	// listed reports whether the catalog lists what a series is about. Records do not depend on the catalog, but what it
	// hides is not served.
	listed func(c *assay.Catalog, series string) bool
}

// recordedIndices are in the order of the documentation.
var recordedIndices = []recordedIndex{
	{values.OTPI, "a lab, such as openai", func(c *assay.Catalog, series string) bool {
		return labOf(c, series).Lab != ""
	}},
	{values.Workload, workloadSeries, listsWorkload},
	{values.Daily, workloadSeries, listsWorkload},
	{values.Memory, "a memory type, such as mem_ddr5_16gb", func(c *assay.Catalog, series string) bool {
		return slices.ContainsFunc(c.MemoryTypes, func(m assay.MemoryType) bool { return m.ID == series })
	}},
	{values.Coding, "a tool and a metric, such as cc/prs", func(c *assay.Catalog, series string) bool {
		return slices.ContainsFunc(c.CodingProducts, func(p assay.CodingProduct) bool {
			return slices.ContainsFunc(p.Tools, func(tool string) bool { return tool+"/"+p.Category == series })
		})
	}},
	{values.Utilization, "a GPU model and a region, such as H100 SXM/global", func(c *assay.Catalog, series string) bool {
		return slices.ContainsFunc(c.GPUs, func(g assay.GPU) bool {
			region, ok := strings.CutPrefix(series, g.Name+"/")
			return ok && (region == assay.Global || slices.Contains(c.Regions, region))
		})
	}},
}

const workloadSeries = "a lab and a family of its models, such as openai/all"

// listsWorkload leaves the family of models to the database, which takes valid text only.
func listsWorkload(c *assay.Catalog, series string) bool {
	if !utf8.ValidString(series) || strings.Contains(series, "\x00") {
		return false
	}
	return slices.ContainsFunc(c.Labs, func(l assay.Lab) bool { return strings.HasPrefix(series, l.Lab+"/") })
}

// labOf finds a lab; its name is empty when the catalog has no such lab.
func labOf(c *assay.Catalog, name string) assay.Lab {
	for _, lab := range c.Labs {
		if lab.Lab == name {
			return lab
		}
	}
	return assay.Lab{}
}

// ValueSlot reads the parameters of a request for the record of a value, and checks that the caller may see it.
func (a *API) ValueSlot(r *web.Request) (s ValueSlot, err error) {
	q := a.query(r)
	index, err := q.recordedIndex()
	if err != nil {
		return s, err
	}
	series, err := q.Param("series")
	if err != nil {
		return s, err
	}
	if series == "" {
		return s, web.Missing("series", index.series)
	}
	if err := q.RequireInstant("date"); err != nil {
		return s, err
	}
	day, err := q.dayAsk()
	if err != nil {
		return s, err
	}
	revision, err := q.Int("revision", newestRevision, 0, math.MaxInt32)
	if err != nil {
		return s, err
	}
	day.Paid = q.paidSeries(index.name, series)
	grant, err := q.granted(day.Ask)
	if err != nil {
		return s, err
	}
	return ValueSlot{
		Index: index.name, Series: series, Day: day.day, Exists: index.listed(&q.snap.Catalog, series),
		Access: grant.Access, query: q, revision: revision,
	}, nil
}

func (q *query) recordedIndex() (recordedIndex, error) {
	name := q.PathValue("index")
	names := make([]string, len(recordedIndices))
	for i, index := range recordedIndices {
		if index.name == name {
			return index, nil
		}
		names[i] = index.name
	}
	return recordedIndex{}, web.InvalidWord("index", name, names)
}

// paidSeries names what needs a key: everything but the token prices of free labs. A lab that the catalog does not have
// is refused like one that is paid for, so that the response does not tell them apart.
func (q *query) paidSeries(index, series string) string {
	switch {
	case index != values.OTPI:
		return "records of " + index
	case labOf(&q.snap.Catalog, series).Free:
		return ""
	}
	return web.Shown(series)
}

// Pick returns the requested one of a value's records, which come oldest first, and how many revisions were known at
// the requested moment.
func (s *ValueSlot) Pick(records []assay.ValueRecord) (record *assay.ValueRecord, revisions int, err error) {
	record, revisions = pickRevision(&s.query, s.revision, records, func(r *assay.ValueRecord) (int, int64) {
		return r.Revision, r.KnownAt
	})
	if record == nil {
		return nil, 0, noRecord(s.Index+" of "+web.Shown(s.Series)+" on "+assay.FormatDay(s.Day), s.revision)
	}
	return record, revisions, nil
}

// Known is the instant up to which the request asks for what was known.
func (s *ValueSlot) Known() int64 { return s.query.known() }

// Expires lets caches keep a response until the next publication is due.
func (s *ValueSlot) Expires(r web.Response) web.Response { return s.query.expires(r) }
