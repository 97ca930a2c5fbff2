package api

import (
	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/web"
)

// seriesPoint is a point that stands alone and so names its GPU.
type seriesPoint struct {
	GPUType    string      `json:"gpu_type"`
	Region     string      `json:"region"`
	Timestamp  string      `json:"timestamp"`
	IndexValue assay.Nanos `json:"index_value"`
}

// nearest serves the record nearest to an instant: of the daily series for Premium, of the hourly for Full.
func nearest(q query) (web.Response, error) {
	gpu, err := q.gpu(gpuName, q.pathGPU())
	if err != nil {
		return web.Response{}, err
	}
	at, err := q.Instant("datetime")
	if err != nil {
		return web.Response{}, err
	}
	if !at.Given {
		return web.Response{}, &assay.Error{
			Kind: assay.Invalid, Code: "invalid_parameter",
			Message: "datetime query parameter is required (format: YYYY-MM-DD HH:MM:SS or ISO 8601)",
			Param:   "datetime",
		}
	}
	grant, line, err := q.grantedLine(gpu, access.Ask{Granularity: "hourly"})
	if err != nil {
		return web.Response{}, err
	}
	series := line.Series(grant.Grain)
	if series.Len() == 0 {
		return web.Response{}, noDaily(gpu.Name, "")
	}
	found := series.At(series.Nearest(at.At))
	gap := max(found.At-at.At, at.At-found.At)
	return web.Object(struct {
		Success        bool         `json:"success"`
		Access         assay.Access `json:"access"`
		Granularity    string       `json:"granularity"`
		Requested      string       `json:"requested"`
		TimeDifference float64      `json:"time_difference"` // seconds
		IsExact        bool         `json:"is_exact"`
		Data           seriesPoint  `json:"data"`
	}{
		Success: true, Access: grant.Access, Granularity: grant.Grain.String(), Requested: assay.FormatInstant(at.At),
		TimeDifference: float64(gap) / float64(assay.Second), IsExact: gap == 0,
		Data: seriesPoint{
			GPUType: line.GPU, Region: line.Region, Timestamp: assay.FormatInstant(found.At), IndexValue: found.Value,
		},
	}, series.Modified())
}
