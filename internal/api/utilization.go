package api

import (
	"encoding/binary"
	"iter"
	"strconv"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/utilization"
	"github.com/assaydata/assay/internal/web"
)

// shareRow is the utilization of a day or an hour.
type shareRow struct {
	utilization.Period
	partial bool // it has not ended
}

// volumeMetrics serves which share of a GPU's tracked capacity was rented, by day or hour. The running day or hour is
// left out unless partial is true.
func volumeMetrics(q query) (web.Response, error) {
	gpu, err := q.gpu(gpuName, q.pathGPU())
	if err != nil {
		return web.Response{}, err
	}
	h := gpuHistory{history: history{form: volumeForm}}
	ask, to, err := h.parse(&q)
	if err != nil {
		return web.Response{}, err
	}
	partial, err := q.OneOf("partial", "false", "true", "false")
	if err != nil {
		return web.Response{}, err
	}
	if h.grant, h.line, err = q.grantedLine(gpu, ask); err != nil {
		return web.Response{}, err
	}
	if !q.anyUtilization(h.line) {
		return web.Response{}, noUtilization(gpu.Name)
	}
	from := int64(0)
	if ask.HasStart {
		from = max(from, ask.Start)
	}
	rows, modified := q.shares(h.line, h.grant.Grain, from, min(to, q.moment))
	if n := len(rows); n > 0 && rows[n-1].partial && partial == "false" {
		rows = rows[:n-1]
	}
	h.j = len(rows)
	if other, more := h.cut(); more {
		h.continueAt(&q, assay.FormatInstant(rows[other].Last))
	}
	head := h.appendHead(make([]byte, 0, 256), nil)
	version := sharesVersion(modified, head, rows[h.i:h.j], h.desc)
	return web.Rows(version, head, h.count(), func(dst []byte, k int) []byte {
		return appendShare(dst, &rows[h.at(k)])
	}).ShortLived(), nil
}

// shares returns the periods whose last reading is in [from, to], each over all of its readings.
func (q *query) shares(line *snapshot.Line, grain assay.Grain, from, to int64) (rows []shareRow, modified int64) {
	step := assay.Day
	if grain == assay.Hourly {
		step = assay.Hour
	}
	capacities := q.utilization(line, from-from%step, min(to-to%step+step-1, q.moment))
	for _, p := range utilization.Periods(capacities, step) {
		modified = max(modified, p.Changed)
		if from <= p.Last && p.Last <= to {
			rows = append(rows, shareRow{p, q.moment < p.Begins+step})
		}
	}
	return rows, modified
}

// utilization returns the capacity at the instants of readings, by the methodology in effect then.
func (q *query) utilization(line *snapshot.Line, from, to int64) iter.Seq[utilization.Capacity] {
	return q.snap.Utilization.Capacities(line.Line, from, to, q.known(), utilization.CarryBy(q.schedule()))
}

// sharesVersion identifies rows, whose readings have no version.
func sharesVersion(modified int64, head []byte, rows []shareRow, desc bool) web.Version {
	t := web.NewTagger()
	t.Add([]byte("volume-metrics"))
	t.Add(head)
	t.Add(strconv.AppendBool(nil, desc))
	var b [25]byte
	for _, row := range rows {
		binary.LittleEndian.PutUint64(b[0:], uint64(row.Begins))
		binary.LittleEndian.PutUint64(b[8:], uint64(row.Last))
		binary.LittleEndian.PutUint64(b[16:], uint64(row.Ratio))
		b[24] = 0
		if row.partial {
			b[24] = 1
		}
		t.Add(b[:])
	}
	return t.Version(modified)
}

func appendShare(dst []byte, row *shareRow) []byte {
	dst = appendInstantField(dst, `{"recorded_at":`, row.Begins)
	dst = appendInstantField(dst, `,"exact_timestamp":`, row.Last)
	dst = row.Ratio.AppendJSON(append(dst, `,"utilization_ratio":`...))
	if row.partial {
		dst = append(dst, `,"partial":true`...)
	}
	return append(dst, '}')
}

// anyUtilization reports whether a line has any reading.
func (q *query) anyUtilization(line *snapshot.Line) bool {
	for range q.utilization(line, 0, q.moment) {
		return true
	}
	return false
}

func noUtilization(gpu string) error {
	return noData("No utilization data found for " + gpu)
}

// How old the newest reading may be to count as current, and how far back averages reach.
const (
	utilizationCurrent = 48 * assay.Hour
	utilizationWeek    = 7 * assay.Day
	utilizationMonth   = 30 * assay.Day
)

// utilizationRow is how much of a GPU's capacity is rented.
type utilizationRow struct {
	GPUType    string       `json:"gpu_type"`
	Region     string       `json:"region"`
	Ratio      *assay.Nanos `json:"utilization_ratio"`
	Avg7       *assay.Nanos `json:"avg_7d"`
	Avg30      *assay.Nanos `json:"avg_30d"`
	RecordedAt string       `json:"recorded_at"`
}

// gpuUtilization serves how much of every GPU's tracked capacity is rented.
func gpuUtilization(q query) (web.Response, error) {
	grant, region, err := q.grantedRegion(access.Ask{})
	if err != nil {
		return web.Response{}, err
	}
	var rows []utilizationRow
	var modified int64
	for _, gpu := range q.snap.GPUsByName {
		if row, received, ok := q.utilizationRow(q.snap.Line(gpu.Name, region)); ok {
			rows, modified = append(rows, row), max(modified, received)
		}
	}
	if len(rows) == 0 {
		return web.Response{}, noUtilization("any GPU")
	}
	response, err := web.Object(struct {
		Success bool             `json:"success"`
		Access  assay.Access     `json:"access"`
		Count   int              `json:"count"`
		Data    []utilizationRow `json:"data"`
	}{true, grant.Access, len(rows), rows}, modified)
	return response.ShortLived(), err
}

// utilizationRow makes the row of a line; ok is false when the line has no reading of the last 30 days.
func (q *query) utilizationRow(line *snapshot.Line) (row utilizationRow, received int64, ok bool) {
	var month, week, now index.RatioMean
	var last utilization.Capacity
	for u := range q.utilization(line, q.moment-utilizationMonth+1, q.moment) {
		month.Add(u.Rented, u.Tracked)
		if u.At > q.moment-utilizationWeek {
			week.Add(u.Rented, u.Tracked)
		}
		last, received = u, max(received, u.Changed)
	}
	if last.Tracked == 0 {
		return row, 0, false
	}
	if q.moment-last.At < utilizationCurrent {
		now.Add(last.Rented, last.Tracked)
	}
	return utilizationRow{
		GPUType: line.GPU, Region: line.Region, Ratio: ratio(&now), Avg7: ratio(&week), Avg30: ratio(&month),
		RecordedAt: assay.FormatInstant(last.At),
	}, received, true
}

// ratio is the mean, or nil without readings.
func ratio(m *index.RatioMean) *assay.Nanos {
	mean, ok := m.Mean()
	if !ok {
		return nil
	}
	return &mean
}
