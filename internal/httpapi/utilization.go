package httpapi

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"strconv"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/snapshot"
)

// known is the instant up to which readings must have come in to count: whatever is there, unless as_of was given.
func (c *call) known() int64 {
	if c.asOf {
		return c.moment
	}
	return math.MaxInt64
}

// sharesRow is the utilization of a day or an hour.
type sharesRow struct {
	recorded int64 // where the stretch begins
	last     int64 // the last reading in it
	ratio    assay.Nanos
}

// volumeMetrics answers which share of a GPU's tracked capacity was rented, by the day or the hour.
func volumeMetrics(c *call) (answer, error) {
	gpu, err := c.gpu(c.pathGPU())
	if err != nil {
		return answer{}, err
	}
	h := history{form: volumeForm}
	ask, to, err := h.parse(c)
	if err != nil {
		return answer{}, err
	}
	if h.grant, h.line, err = c.grantedLine(gpu, ask); err != nil {
		return answer{}, err
	}
	if !c.anyUtilization(h.line) {
		return answer{}, noUtilization(gpu.Name)
	}
	from := int64(0)
	if ask.HasStart {
		from = max(from, ask.Start)
	}
	rows, modified := c.shares(h.line, h.grant.Grain, from, min(to, c.moment))
	h.j = len(rows)
	h.cut()
	head := h.appendHead(make([]byte, 0, 256), nil)
	a := answer{head: head, tag: sharesTag(head, rows[h.i:h.j], h.desc), modified: modified, count: h.j - h.i, brief: true}
	a.row = func(dst []byte, k int) []byte { return appendShares(dst, &rows[h.at(k)]) }
	return a, nil
}

// shares gives the stretches whose last reading lies in [from, to], each over all of its readings.
func (c *call) shares(line *snapshot.Line, grain assay.Grain, from, to int64) (rows []sharesRow, modified int64) {
	step := assay.Day
	if grain == assay.Hourly {
		step = assay.Hour
	}
	var row sharesRow
	var mean index.RatioMean
	closeRow := func() {
		var ok bool
		if row.ratio, ok = mean.Mean(); ok && from <= row.last && row.last <= to {
			rows = append(rows, row)
		}
	}
	for u := range line.Utilization(from-from%step, min(to-to%step+step-1, c.moment), c.known()) {
		if begins := u.At - u.At%step; begins != row.recorded {
			closeRow()
			row, mean = sharesRow{recorded: begins}, index.RatioMean{}
		}
		mean.Add(u.Rented, u.Tracked)
		row.last, modified = u.At, max(modified, u.Received)
	}
	closeRow()
	return rows, modified
}

// sharesTag is the ETag of rows, whose readings have no version.
func sharesTag(head []byte, rows []sharesRow, desc bool) string {
	h := fnv.New64a()
	_, _ = h.Write(head) // a hash takes everything
	_, _ = h.Write(strconv.AppendBool(nil, desc))
	var b [24]byte
	for _, row := range rows {
		binary.LittleEndian.PutUint64(b[0:], uint64(row.recorded))
		binary.LittleEndian.PutUint64(b[8:], uint64(row.last))
		binary.LittleEndian.PutUint64(b[16:], uint64(row.ratio))
		_, _ = h.Write(b[:])
	}
	return strconv.FormatUint(h.Sum64(), 36)
}

func appendShares(dst []byte, row *sharesRow) []byte {
	dst = appendInstantField(dst, `{"recorded_at":`, row.recorded)
	dst = appendInstantField(dst, `,"exact_timestamp":`, row.last)
	return append(row.ratio.AppendJSON(append(dst, `,"utilization_ratio":`...)), '}')
}

// anyUtilization tells whether anything is known of a line.
func (c *call) anyUtilization(line *snapshot.Line) bool {
	for range line.Utilization(0, c.moment, c.known()) {
		return true
	}
	return false
}

func noUtilization(gpu string) error {
	return &assay.Error{Kind: assay.NoData, Code: "no_data", Message: "No utilization data found for " + gpu}
}

// How old the newest reading may be to count as that of now, and how far back a GPU is listed.
const (
	utilizationFresh = 48 * assay.Hour
	utilizationWeek  = 7 * assay.Day
	utilizationMonth = 30 * assay.Day
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

// gpuUtilization answers how much of every GPU's tracked capacity is rented.
func gpuUtilization(c *call) (answer, error) {
	grant, region, err := c.grantedRegion(access.Ask{})
	if err != nil {
		return answer{}, err
	}
	var rows []utilizationRow
	var modified int64
	for _, gpu := range c.snap.GPUsByName {
		if row, received, ok := c.utilizationRow(c.snap.Line(gpu.Name, region)); ok {
			rows, modified = append(rows, row), max(modified, received)
		}
	}
	if len(rows) == 0 {
		return answer{}, noUtilization("any GPU")
	}
	a, err := object(struct {
		Success bool             `json:"success"`
		Access  assay.Access     `json:"access"`
		Count   int              `json:"count"`
		Data    []utilizationRow `json:"data"`
	}{true, grant.Access, len(rows), rows}, modified)
	a.brief = true
	return a, err
}

// utilizationRow makes the row of a line; ok is false when the line has no reading of the last 30 days.
func (c *call) utilizationRow(line *snapshot.Line) (row utilizationRow, received int64, ok bool) {
	var month, week, now index.RatioMean
	var last snapshot.Utilization
	for u := range line.Utilization(c.moment-utilizationMonth+1, c.moment, c.known()) {
		month.Add(u.Rented, u.Tracked)
		if u.At > c.moment-utilizationWeek {
			week.Add(u.Rented, u.Tracked)
		}
		last, received = u, max(received, u.Received)
	}
	if last.Tracked == 0 {
		return row, 0, false
	}
	if c.moment-last.At < utilizationFresh {
		now.Add(last.Rented, last.Tracked)
	}
	return utilizationRow{line.GPU, line.Region, ratio(&now), ratio(&week), ratio(&month), assay.FormatInstant(last.At)}, received, true
}

// ratio is the mean, or nil without anything to take it of.
func ratio(m *index.RatioMean) *assay.Nanos {
	mean, ok := m.Mean()
	if !ok {
		return nil
	}
	return &mean
}
