package api

import (
	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/web"
)

// averageRow is a rolling average at an instant.
type averageRow struct {
	GPUType   string      `json:"gpu_type"`
	Region    string      `json:"region"`
	Average   assay.Nanos `json:"average_usd_per_hour"`
	Timestamp string      `json:"timestamp"`
}

// rollingAverage serves the mean of the hourly prints of the last 24 hours.
func rollingAverage(q query) (web.Response, error) {
	grant, line, err := q.pathLine()
	if err != nil {
		return web.Response{}, err
	}
	prints := line.Series(assay.Hourly)
	if prints.Len() == 0 {
		return web.Response{}, noPrice("no_data", line.GPU, line.Region)
	}
	last := prints.At(prints.Len() - 1).At
	average, _ := average24(q.schedule(), prints.Reader(), last)
	return web.Object(struct {
		Success bool         `json:"success"`
		Access  assay.Access `json:"access"`
		Data    averageRow   `json:"data"`
	}{true, grant.Access, averageRow{
		GPUType: line.GPU, Region: line.Region, Average: average, Timestamp: assay.FormatInstant(last),
	}}, prints.Modified())
}

// rollingAverageHistory serves the rolling average at every daily fixing.
func rollingAverageHistory(q query) (web.Response, error) {
	h, err := q.gpuHistory(q.pathGPU(), averageForm)
	if err != nil {
		return web.Response{}, err
	}
	head := h.appendHead(make([]byte, 0, 256), nil)
	reader := h.series.Reader()
	return web.Rows(h.version("average", head, h.series), head, h.count(), func(dst []byte, k int) []byte {
		return h.appendAverageRow(dst, reader.At(h.at(k)))
	}), nil
}

func (h *gpuHistory) appendAverageRow(dst []byte, p assay.Point) []byte {
	dst = appendStringField(dst, `{"gpu_type":`, h.line.GPU)
	dst = appendStringField(dst, `,"region":`, h.line.Region)
	dst = p.Value.AppendJSON(append(dst, `,"average_usd_per_hour":`...))
	return append(appendInstantField(dst, `,"timestamp":`, p.At), '}')
}

// rollingAverages is the rolling average of a line at each of its daily fixings.
func (q *query) rollingAverages(line *snapshot.Line) []assay.Point {
	schedule := q.schedule()
	days, prints := line.Series(assay.Daily), line.Series(assay.Hourly).Reader()
	averages := make([]assay.Point, 0, days.Len())
	for day := range days.Points() {
		at := day.At
		if average, ok := average24(schedule, prints, at); ok {
			averages = append(averages, assay.Point{At: at, Value: average})
		}
	}
	return averages
}

// average24 is the mean of the prints in the 24 hours that end at the instant; ok is false when there is none.
func average24(schedule index.Schedule, prints *snapshot.Reader, at int64) (average assay.Nanos, ok bool) {
	i, j := prints.Range(at-assay.Day+1, at)
	if i == j {
		return 0, false
	}
	return schedule.At(at).Mean(prints.Values(i, j)), true
}
