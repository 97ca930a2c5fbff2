package httpapi

import (
	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/snapshot"
)

// averageRow is a rolling average at an instant.
type averageRow struct {
	GPUType   string      `json:"gpu_type"`
	Region    string      `json:"region"`
	Average   assay.Nanos `json:"average_usd_per_hour"`
	Timestamp string      `json:"timestamp"`
}

// rollingAverage answers the mean of the hourly prints of the last 24 hours.
func rollingAverage(c *call) (answer, error) {
	grant, line, err := c.pathLine()
	if err != nil {
		return answer{}, err
	}
	prints := line.Series(assay.Hourly)
	if prints.Len() == 0 {
		return answer{}, noPrice("no_data", line.GPU, line.Region)
	}
	last := prints.At(prints.Len() - 1).At
	average, _ := c.s.average24(prints, last)
	return object(struct {
		Success bool         `json:"success"`
		Access  assay.Access `json:"access"`
		Data    averageRow   `json:"data"`
	}{true, grant.Access, averageRow{line.GPU, line.Region, average, assay.FormatInstant(last)}}, prints.Modified())
}

// rollingAverageHistory answers the rolling average at every daily fixing.
func rollingAverageHistory(c *call) (answer, error) {
	h, err := c.history(c.pathGPU(), averageForm)
	if err != nil {
		return answer{}, err
	}
	head := h.appendHead(make([]byte, 0, 256), nil)
	a := h.answer("average", head, h.series)
	a.row = func(dst []byte, k int) []byte { return h.appendAverageRow(dst, h.series.At(h.at(k))) }
	return a, nil
}

func (h *history) appendAverageRow(dst []byte, p assay.Point) []byte {
	dst = assay.AppendString(append(dst, `{"gpu_type":`...), h.line.GPU)
	dst = assay.AppendString(append(dst, `,"region":`...), h.line.Region)
	dst = p.Value.AppendJSON(append(dst, `,"average_usd_per_hour":`...))
	dst = assay.AppendInstant(append(dst, `,"timestamp":"`...), p.At)
	return append(dst, `"}`...)
}

// rollingAverages is the rolling average of a line at each of its daily fixings.
func (s *Server) rollingAverages(line *snapshot.Line) []assay.Point {
	days, prints := line.Series(assay.Daily), line.Series(assay.Hourly)
	averages := make([]assay.Point, 0, days.Len())
	for i := range days.Len() {
		at := days.At(i).At
		if average, ok := s.average24(prints, at); ok {
			averages = append(averages, assay.Point{At: at, Value: average})
		}
	}
	return averages
}

// average24 is the mean of the prints in the 24 hours that end at the instant; ok is false when there is none.
func (s *Server) average24(prints *snapshot.Series, at int64) (average assay.Nanos, ok bool) {
	i, j := prints.Range(at-assay.Day+1, at)
	if i == j {
		return 0, false
	}
	return s.schedule.Load().At(at).Mean(prints.Values(i, j)), true
}
