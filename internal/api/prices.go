package api

import (
	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/web"
)

// priceRow is the newest hourly print of a GPU.
type priceRow struct {
	GPUName     string      `json:"gpu_name"`
	Region      string      `json:"region"` // empty for all regions
	IndexValue  assay.Nanos `json:"index_value"`
	LastUpdated string      `json:"last_updated"`
}

func newPriceRow(line *snapshot.Line, p assay.Point) priceRow {
	row := priceRow{GPUName: line.GPU, Region: line.Region, IndexValue: p.Value, LastUpdated: assay.FormatInstant(p.At)}
	if row.Region == assay.Global {
		row.Region = ""
	}
	return row
}

// gpuPrices serves the current price of every GPU that the caller may see, so that a table of prices costs one request.
func gpuPrices(q query) (web.Response, error) {
	grant, region, err := q.grantedRegion(access.Ask{})
	if err != nil {
		return web.Response{}, err
	}
	var rows []priceRow
	var modified int64
	for _, line := range q.visibleLines(region, grant) {
		series := line.Series(assay.Hourly)
		if n := series.Len(); n > 0 {
			rows = append(rows, newPriceRow(line, series.At(n-1)))
			modified = max(modified, series.Modified())
		}
	}
	if len(rows) == 0 {
		return web.Response{}, noPrice("no_data", "any GPU", region)
	}
	return web.Object(struct {
		Success bool         `json:"success"`
		Access  assay.Access `json:"access"`
		Count   int          `json:"count"`
		Data    []priceRow   `json:"data"`
	}{true, grant.Access, len(rows), rows}, modified)
}
