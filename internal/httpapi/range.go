package httpapi

import (
	"encoding/json"
	"strconv"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
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

// historyRange answers a GPU's series with the statistics of each row's day.
func historyRange(c *call) (answer, error) {
	h, err := c.history(c.pathGPU(), rangeForm)
	if err != nil {
		return answer{}, err
	}
	query, err := json.Marshal(rangeQuery{given(h.start), given(h.end), h.granularity, h.limit, h.line.Region, h.order, h.found})
	if err != nil {
		return answer{}, err
	}
	head := h.appendHead(make([]byte, 0, 512), append([]byte(`,"query":`), query...))
	a := h.answer("range", head, h.line.Series(assay.Hourly)) // whose prints the statistics describe
	schedule := *c.s.schedule.Load()                          // once: rows of one answer follow one schedule
	a.row = func(dst []byte, k int) []byte { return h.appendRangeRow(dst, schedule, h.at(k)) }
	return a, nil
}

// given is nil for a parameter that was not.
func given(value string) *string {
	if value == "" {
		return nil
	}
	return &value
}

func (h *history) appendRangeRow(dst []byte, m index.Schedule, i int) []byte {
	p := h.series.At(i)
	from := p.At - assay.Day
	if h.grant.Grain == assay.Daily {
		from = m.WindowStart(assay.Daily, p.At)
	}
	prints := h.line.Series(assay.Hourly)
	first, last := prints.Range(from+1, p.At)
	dst = assay.AppendInstant(append(dst, `{"recorded_at":"`...), h.recorded(p))
	dst = assay.AppendInstant(append(dst, `","exact_timestamp":"`...), p.At)
	dst = p.Value.AppendJSON(append(dst, `","index_value":`...))
	dst = assay.AppendString(append(dst, `,"data_type":`...), h.grant.Grain.String())
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
	dst = strconv.AppendInt(append(dst, `,"samples_count":`...), int64(s.Samples), 10)
	return append(dst, '}')
}
