package api

import (
	"encoding/json"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/web"
)

// rangeQuery echoes the parameters of a ranged history.
type rangeQuery struct {
	StartDate    *string `json:"startDate"`
	EndDate      *string `json:"endDate"`
	Granularity  string  `json:"granularity"`
	Limit        int     `json:"limit"`
	Region       string  `json:"region"`
	Order        string  `json:"order"`
	RecordsFound int     `json:"records_found"`
}

// historyRange serves a GPU's series with the statistics of each row's day.
func historyRange(q query) (web.Response, error) {
	h, err := q.gpuHistory(q.pathGPU(), rangeForm)
	if err != nil {
		return web.Response{}, err
	}
	query, err := json.Marshal(rangeQuery{
		StartDate: web.Optional(h.start), EndDate: web.Optional(h.end), Granularity: h.granularity, Limit: h.limit,
		Region: h.line.Region, Order: h.order, RecordsFound: h.found,
	})
	if err != nil {
		return web.Response{}, err
	}
	head := h.appendHead(make([]byte, 0, 512), append([]byte(`,"query":`), query...))
	version := h.version("range", head, h.line.Series(assay.Hourly)) // whose prints the statistics describe
	schedule := q.schedule()
	rows, prints := h.series.Reader(), h.line.Series(assay.Hourly).Reader()
	return web.Rows(version, head, h.count(), func(dst []byte, k int) []byte {
		return h.appendRangeRow(dst, schedule, rows.At(h.at(k)), prints)
	}), nil
}

// appendRangeRow appends the row of a point, with the statistics of the prints of its day.
func (h *gpuHistory) appendRangeRow(dst []byte, m index.Schedule, p assay.Point, prints *snapshot.Reader) []byte {
	from := p.At - assay.Day
	if h.grant.Grain == assay.Daily {
		from = m.WindowStart(assay.Daily, p.At)
	}
	first, last := prints.Range(from+1, p.At)
	dst = appendInstantField(dst, `{"recorded_at":`, h.recorded(p))
	dst = appendInstantField(dst, `,"exact_timestamp":`, p.At)
	dst = p.Value.AppendJSON(append(dst, `,"index_value":`...))
	dst = appendStringField(dst, `,"data_type":`, h.grant.Grain.String())
	dst = appendStats(append(dst, `,"daily_stats":`...), index.Describe(prints.Values(first, last)))
	return append(dst, '}')
}

func appendStats(dst []byte, s index.Stats) []byte {
	if s.Samples == 0 {
		return append(dst, `{"min_index":null,"max_index":null,"std_dev":null,"samples_count":0}`...)
	}
	dst = s.Min.AppendJSON(append(dst, `{"min_index":`...))
	dst = s.Max.AppendJSON(append(dst, `,"max_index":`...))
	dst = s.StdDev.AppendJSON(append(dst, `,"std_dev":`...))
	return append(appendIntField(dst, `,"samples_count":`, s.Samples), '}')
}
