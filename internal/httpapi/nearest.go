package httpapi

import (
	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
)

// seriesPoint is a point that stands alone and so names its GPU.
type seriesPoint struct {
	GPUType    string      `json:"gpu_type"`
	Region     string      `json:"region"`
	Timestamp  string      `json:"timestamp"`
	IndexValue assay.Nanos `json:"index_value"`
}

// nearest answers the record nearest to an instant: of the daily series for Premium, of the hourly for Full.
func nearest(c *call) (answer, error) {
	gpu, err := c.gpu(c.pathGPU())
	if err != nil {
		return answer{}, err
	}
	at, _, given, err := c.instant("datetime")
	if err != nil {
		return answer{}, err
	}
	if !given {
		return answer{}, &assay.Error{
			Kind: assay.Invalid, Code: "invalid_parameter",
			Message: "datetime query parameter is required (format: YYYY-MM-DD HH:MM:SS or ISO 8601)",
		}
	}
	grant, line, err := c.grantedLine(gpu, access.Ask{Granularity: "hourly"})
	if err != nil {
		return answer{}, err
	}
	series := line.Series(grant.Grain)
	if series.Len() == 0 {
		return answer{}, noDaily(gpu.Name, "")
	}
	found := series.At(series.Nearest(at))
	gap := max(found.At-at, at-found.At)
	return object(struct {
		Success        bool         `json:"success"`
		Access         assay.Access `json:"access"`
		Granularity    string       `json:"granularity"`
		Requested      string       `json:"requested"`
		TimeDifference float64      `json:"time_difference"` // seconds
		IsExact        bool         `json:"is_exact"`
		Data           seriesPoint  `json:"data"`
	}{
		true, grant.Access, grant.Grain.String(), assay.FormatInstant(at), float64(gap) / float64(assay.Second), gap == 0,
		seriesPoint{line.GPU, line.Region, assay.FormatInstant(found.At), found.Value},
	}, series.Modified())
}
