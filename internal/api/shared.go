package api

import (
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/table"
	"github.com/assaydata/assay/internal/web"
)

// A shared series is what share links, embedded charts and badges show. It is a range of one of the routes with ranges:
// the request for it is made on behalf of who shares it, so its rows, its formats and who may read it are those of that
// route.

// sharedKind is how the series of a family are requested.
type sharedKind struct {
	path   string     // of the route
	param  string     // the parameter that names the series; empty: the path does
	fixed  url.Values // other parameters
	gap    int64      // the longest time between two daily values that follow each other
	values func(*sharedRow) (at string, value *assay.Nanos)
}

// mostRows is enough for every range of a series: 27 years of days.
const mostRows = "10000"

var sharedKinds = map[string]sharedKind{
	assay.SharedGPU: {
		path: "/api/gpu/{gpuName}/index-history", gap: oneDay,
		values: func(r *sharedRow) (string, *assay.Nanos) { return r.Timestamp, r.Index },
	},
	assay.SharedMemory: {
		path: "/api/memory/{memoryType}/history", fixed: url.Values{"limit": {mostRows}}, gap: 4*assay.Day + assay.Day/2,
		values: func(r *sharedRow) (string, *assay.Nanos) { return r.Timestamp, r.Price },
	},
	assay.SharedModels: {
		path: "/api/otpi", param: "lab", gap: oneDay,
		values: func(r *sharedRow) (string, *assay.Nanos) { return r.Date, r.PerMtok },
	},
	assay.SharedCoding: {
		path: "/api/llm-coding/history", param: "product", fixed: url.Values{"limit": {mostRows}}, gap: oneDay,
		values: func(r *sharedRow) (string, *assay.Nanos) { return r.Date, r.Value },
	},
	assay.SharedUtilization: {
		path:  "/api/gpu/{gpuName}/volume-metrics",
		fixed: url.Values{"limit": {mostRows}, "order": {"asc"}}, gap: oneDay,
		values: func(r *sharedRow) (string, *assay.Nanos) { return r.Recorded, r.Ratio },
	},
}

// oneDay is how far apart two days can be, and not a day more: days have 23 to 25 hours.
const oneDay = assay.Day + assay.Day/2

// Shared responds with the rows of a series as a caller may read them, in JSON or as a table. A caller who may read
// only the free window gets what lies in it.
func (a *API) Shared(
	r *web.Request, s assay.SharedSeries, caller assay.Caller, format *table.Format,
) (web.Response, error) {
	kind, ok := sharedKinds[s.Family]
	if !ok {
		return web.Response{}, fmt.Errorf("a share link of the family %q", s.Family)
	}
	route := a.routes[kind.path]
	from := assay.RangeStart(s.Range, r.Milli())
	if caller.Tier == assay.Anonymous {
		from = max(from, access.FreeFrom(route.Rule, r.Milli()))
	}
	inner := web.Inner{Route: route, Query: url.Values{}, Caller: caller, Format: format}
	for name, values := range kind.fixed {
		inner.Query[name] = values
	}
	inner.Query.Set("startDate", assay.FormatDay(from))
	if kind.param != "" {
		inner.Query.Set(kind.param, s.Series)
	} else {
		inner.Values = []string{s.Series}
	}
	if s.Granularity == assay.Hourly.String() {
		inner.Query.Set("granularity", s.Granularity)
	}
	if s.Region != assay.Global {
		inner.Query.Set("region", s.Region)
	}
	return r.ServeInner(inner)
}

// Series is a shared series as a picture shows it.
type Series struct {
	Name, Unit, ShortUnit string
	Hourly                bool // the grain that was served
	Joined                int64
	Points                []assay.Point
	Synthetic             bool
}

// sharedRow has the members of the rows of all routes that series are read from.
type sharedRow struct {
	Timestamp string       `json:"timestamp"`
	Date      string       `json:"date"`
	Recorded  string       `json:"recorded_at"`
	Index     *assay.Nanos `json:"index_value"`
	Price     *assay.Nanos `json:"price"`
	PerMtok   *assay.Nanos `json:"indexPerMtok"`
	Value     *assay.Nanos `json:"value"`
	Ratio     *assay.Nanos `json:"utilization_ratio"`
	Partial   bool         `json:"partial"`
}

// ReadShared reads the points from a response of Shared in JSON. What has not ended yet is left out.
func (a *API) ReadShared(s assay.SharedSeries, response *web.Response) (Series, error) {
	var body struct {
		Granularity string      `json:"granularity"`
		Data        []sharedRow `json:"data"`
	}
	if err := json.Unmarshal(response.Text(), &body); err != nil {
		return Series{}, fmt.Errorf("read a series: %w", err)
	}
	kind, series := sharedKinds[s.Family], a.DescribeShared(s)
	series.Hourly = body.Granularity == assay.Hourly.String()
	if series.Joined = kind.gap; series.Hourly {
		series.Joined = assay.Hour + assay.Hour/2
	}
	for i := range body.Data {
		row := &body.Data[i]
		text, value := kind.values(row)
		at, _, err := assay.ParseInstant(text)
		if err != nil || value == nil {
			return Series{}, fmt.Errorf("row %d of a series of the family %s has no time or no value", i+1, s.Family)
		}
		if row.Partial {
			continue
		}
		if s.Family == assay.SharedUtilization {
			*value *= 100
		}
		series.Points = append(series.Points, assay.Point{At: at, Value: *value})
	}
	return series, nil
}

// DescribeShared names a series and its unit, and gives no points. What the catalog does not list is named as it was
// requested.
func (a *API) DescribeShared(s assay.SharedSeries) (d Series) {
	snap := a.Snapshots.Load()
	d.Name, d.Synthetic = s.Series, snap.Synthetic
	switch s.Family {
	case assay.SharedGPU:
		d.Unit, d.ShortUnit = "USD per GPU-hour", "USD/GPU-h"
	case assay.SharedUtilization:
		d.Name, d.Unit, d.ShortUnit = s.Series+" utilization", "percent of tracked capacity that is rented", "%"
	case assay.SharedMemory:
		if known, ok := snap.Catalog.Memory(s.Series); ok {
			d.Name = known.MemoryType
		}
		d.Unit, d.ShortUnit = "USD per unit", "USD"
	case assay.SharedModels:
		for _, lab := range snap.Catalog.Labs {
			if lab.Lab == s.Series {
				d.Name = lab.Label
			}
		}
		d.Name, d.Unit, d.ShortUnit = d.Name+" tokens", "USD per million tokens", "USD/Mtok"
	case assay.SharedCoding:
		if product, ok := snap.Catalog.CodingProduct(s.Series); ok {
			d.Name = product.Label
			if product.Kind == "pct" {
				d.Unit, d.ShortUnit = "percent", "%"
			} else {
				d.Unit = "per day"
			}
		}
	}
	if s.Region != assay.Global {
		d.Name += ", " + s.Region
	}
	return d
}
