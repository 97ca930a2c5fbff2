package api

import (
	"cmp"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/web"
)

// dailyRow is a settled day of a GPU.
type dailyRow struct {
	GPUType    string      `json:"gpu_type"`
	Region     string      `json:"region"`
	IndexValue assay.Nanos `json:"index_value"`
	Date       string      `json:"date"`
}

func newDailyRow(line *snapshot.Line, p assay.Point) dailyRow {
	return dailyRow{GPUType: line.GPU, Region: line.Region, IndexValue: p.Value, Date: assay.FormatInstant(p.At)}
}

// defaultGPU is the GPU of the daily index when none is named.
const defaultGPU = "H100 SXM"

// dailyIndex serves the latest settled day of a GPU, or a given day.
func dailyIndex(q query) (web.Response, error) {
	gpu, err := q.gpuParam()
	if err != nil {
		return web.Response{}, err
	}
	ask, err := q.dayAsk()
	if err != nil {
		return web.Response{}, err
	}
	grant, line, err := q.grantedLine(gpu, ask.Ask)
	if err != nil {
		return web.Response{}, err
	}
	series := line.Series(assay.Daily)
	i, err := ask.find(series, gpu.Name)
	if err != nil {
		return web.Response{}, err
	}
	return web.Object(struct {
		Success bool         `json:"success"`
		Access  assay.Access `json:"access"`
		Data    dailyRow     `json:"data"`
	}{true, grant.Access, newDailyRow(line, series.At(i))}, series.Modified())
}

// gpuSpellings are the names of the parameter that names a GPU. The rows have it as gpu_type and gpu_name, so callers
// write that too.
var gpuSpellings = [...]string{"gpuType", "gpu", "gpu_type", "gpu_name"}

// gpuParam returns the GPU that the query names.
func (q *query) gpuParam() (assay.GPU, error) {
	name, spelling := "", ""
	for _, this := range gpuSpellings {
		value, err := q.Param(this)
		switch {
		case err != nil:
			return assay.GPU{}, err
		case value == "":
		case name == "":
			name, spelling = value, this
		case value != name:
			return assay.GPU{}, web.Invalid(this, value, "the same as "+spelling+", or absent")
		}
	}
	return q.gpu(cmp.Or(spelling, gpuSpellings[0]), cmp.Or(name, defaultGPU))
}

// find returns the position of the requested day in a daily series, or of the latest.
func (ask *dayAsk) find(series *snapshot.Series, gpu string) (int, error) {
	if series.Len() == 0 {
		return 0, noDaily(gpu, "")
	}
	if !ask.given {
		return series.Len() - 1, nil
	}
	// The fixing of a day is inside the same UTC day.
	if i, j := series.Range(ask.day, ask.day+assay.Day-1); i < j {
		return i, nil
	}
	return 0, ask.missing(gpu)
}

// missing says that there is no data for the day.
func (ask *dayAsk) missing(gpu string) error {
	if !ask.given {
		return noDaily(gpu, "")
	}
	return noDaily(gpu, " on "+assay.FormatDay(ask.day))
}

// deprecations are the routes that go one day, by path. /api/day-index is /api/daily-index under its old name.
var deprecations = map[string]*web.Deprecation{
	"/api/day-index": {
		Since:     time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		Sunset:    time.Date(2027, 12, 31, 0, 0, 0, 0, time.UTC),
		Successor: "/api/daily-index",
	},
}

// dailyIndexAll serves one settled day of every GPU the caller may see.
func dailyIndexAll(q query) (web.Response, error) {
	ask, err := q.dayAsk()
	if err != nil {
		return web.Response{}, err
	}
	grant, region, err := q.grantedRegion(ask.Ask)
	if err != nil {
		return web.Response{}, err
	}
	missing := ask.missing("any GPU")
	lines := q.visibleLines(region, grant)
	if !ask.given {
		ask.day, ask.given = latestDay(lines), true
	}
	var rows []dailyRow
	var modified int64
	for _, line := range lines {
		series := line.Series(assay.Daily)
		if i, err := ask.find(series, line.GPU); err == nil {
			rows = append(rows, newDailyRow(line, series.At(i)))
			modified = max(modified, series.Modified())
		}
	}
	if len(rows) == 0 {
		return web.Response{}, missing
	}
	return web.Object(struct {
		Success bool         `json:"success"`
		Access  assay.Access `json:"access"`
		Date    string       `json:"date"`
		Count   int          `json:"count"`
		Data    []dailyRow   `json:"data"`
	}{true, grant.Access, rows[0].Date, len(rows), rows}, modified)
}

// visibleLines are the lines of a region that the caller may see, by the names of their GPUs.
func (q *query) visibleLines(region string, grant access.Decision) (lines []*snapshot.Line) {
	for _, gpu := range q.snap.GPUsByName {
		if gpu.Free || grant.Access != assay.Public3Months {
			lines = append(lines, q.lineOf(gpu.Name, region))
		}
	}
	return lines
}

// latestDay is the newest settled day of any of the lines.
func latestDay(lines []*snapshot.Line) (day int64) {
	for _, line := range lines {
		if series := line.Series(assay.Daily); series.Len() > 0 {
			day = max(day, assay.StartOfDay(series.At(series.Len()-1).At))
		}
	}
	return day
}

// dailyIndexPrevious serves the settled day before the latest, and the change since.
func dailyIndexPrevious(q query) (web.Response, error) {
	grant, line, err := q.pathLine()
	if err != nil {
		return web.Response{}, err
	}
	series := line.Series(assay.Daily)
	switch series.Len() {
	case 0:
		return web.Response{}, noDaily(line.GPU, "")
	case 1:
		return web.Response{}, noDaily(line.GPU, " before "+assay.FormatDay(series.At(0).At))
	}
	type settled struct {
		IndexValue assay.Nanos `json:"index_value"`
		Date       string      `json:"date"`
	}
	latest, previous := series.At(series.Len()-1), series.At(series.Len()-2)
	return web.Object(struct {
		Success   bool         `json:"success"`
		Access    assay.Access `json:"access"`
		Latest    settled      `json:"latest"`
		ChangePct assay.Nanos  `json:"change_pct"`
		Data      dailyRow     `json:"data"`
	}{
		Success: true, Access: grant.Access, Latest: settled{latest.Value, assay.FormatInstant(latest.At)},
		ChangePct: index.ChangePct(latest.Value, previous.Value), Data: newDailyRow(line, previous),
	}, series.Modified())
}
