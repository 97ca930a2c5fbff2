package api

import (
	"encoding/json"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/web"
)

// overviewDays is how many daily values the overview has of each GPU: as many as the free window always holds.
const overviewDays = 92

// overviewVolatility is the number of daily returns that the volatility is about.
const overviewVolatility = 30

// overviewRow is a GPU of the catalog: its current price and its last daily values.
type overviewRow struct {
	GPUType    string           `json:"gpu_type"`
	Region     string           `json:"region"`
	Locked     bool             `json:"locked"`     // the caller may not see it: it has no values
	Current    *overviewCurrent `json:"current"`    // null without a value
	YearAgo    json.RawMessage  `json:"year_ago"`   // a daily value; null without one, and without a key
	Volatility *assay.Nanos     `json:"volatility"` // null below two returns, and without a key
	Daily      json.RawMessage  `json:"daily"`      // oldest first
}

type overviewCurrent struct {
	IndexValue  assay.Nanos `json:"index_value"`
	LastUpdated string      `json:"last_updated"`
}

// overview serves what a page with a chart of every GPU needs, so that opening it costs one request.
func overview(q query) (web.Response, error) {
	grant, region, err := q.grantedRegion(access.Ask{})
	if err != nil {
		return web.Response{}, err
	}
	visible := map[string]*snapshot.Line{}
	for _, line := range q.visibleLines(region, grant) {
		visible[line.GPU] = line
	}
	rows := make([]overviewRow, 0, len(q.snap.GPUsByName))
	var modified int64
	for _, gpu := range q.snap.GPUsByName {
		row := overviewRow{
			GPUType: gpu.Name, Region: region, Locked: true,
			YearAgo: json.RawMessage("null"), Daily: json.RawMessage("[]"),
		}
		if line := visible[gpu.Name]; line != nil {
			row.Locked = false
			modified = max(modified, row.fill(line, grant))
		}
		rows = append(rows, row)
	}
	return web.Object(struct {
		Success bool          `json:"success"`
		Access  assay.Access  `json:"access"`
		Count   int           `json:"count"`
		Data    []overviewRow `json:"data"`
	}{true, grant.Access, len(rows), rows}, modified)
}

// fill adds the values of a line that a caller may see, and returns when they last changed.
func (row *overviewRow) fill(line *snapshot.Line, grant access.Decision) (modified int64) {
	hours, days := line.Series(assay.Hourly), line.Series(assay.Daily)
	if n := hours.Len(); n > 0 {
		newest := hours.At(n - 1)
		row.Current = &overviewCurrent{newest.Value, assay.FormatInstant(newest.At)}
		modified = hours.Modified()
	}
	n := days.Len()
	if n == 0 {
		return modified
	}
	newest := days.At(n - 1).At
	i, _ := days.Range(grant.From, newest)
	row.Daily = append(days.AppendText([]byte("["), max(i, n-overviewDays), n), ']')
	if grant.Access != assay.Public3Months {
		row.look(days, newest)
	}
	return max(modified, days.Modified())
}

// look adds what needs a key: a look back by a year, and how much the value moves.
func (row *overviewRow) look(days *snapshot.Series, newest int64) {
	// An hour more, because New York may have changed its clocks; a week less, because days may have no value.
	const hour, day = int64(time.Hour / time.Millisecond), 24 * int64(time.Hour/time.Millisecond)
	yearAgo := newest - 365*day + hour
	if i, j := days.Range(yearAgo-7*day, yearAgo); i < j {
		row.YearAgo = days.AppendText(nil, j-1, j)
	}
	n := days.Len()
	first := max(0, n-1-overviewVolatility)
	returns := index.Returns(days.Reader().Values(first, n))
	if v, ok := index.Volatility(returns, index.PrintsPerYear(assay.Daily)); ok {
		row.Volatility = &v
	}
}
