package httpapi

import (
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/snapshot"
)

// dailyRow is a settled day of a GPU.
type dailyRow struct {
	GPUType    string      `json:"gpu_type"`
	Region     string      `json:"region"`
	IndexValue assay.Nanos `json:"index_value"`
	Date       string      `json:"date"`
}

func newDailyRow(line *snapshot.Line, p assay.Point) dailyRow {
	return dailyRow{line.GPU, line.Region, p.Value, assay.FormatInstant(p.At)}
}

// defaultGPU is the GPU of the daily index when none is named.
const defaultGPU = "H100 SXM"

// dailyIndex answers the latest settled day of a GPU, or a given day.
func dailyIndex(c *call) (answer, error) {
	gpu, err := c.gpuParam()
	if err != nil {
		return answer{}, err
	}
	ask, err := c.dayAsk()
	if err != nil {
		return answer{}, err
	}
	grant, line, err := c.grantedLine(gpu, ask.Ask)
	if err != nil {
		return answer{}, err
	}
	series := line.Series(assay.Daily)
	i, err := ask.find(series, gpu.Name)
	if err != nil {
		return answer{}, err
	}
	return object(struct {
		Success bool         `json:"success"`
		Access  assay.Access `json:"access"`
		Data    dailyRow     `json:"data"`
	}{true, grant.Access, newDailyRow(line, series.At(i))}, series.Modified())
}

// gpuParam gives the GPU that the query names by gpuType or gpu.
func (c *call) gpuParam() (assay.GPU, error) {
	name, err := c.param("gpuType")
	if err != nil {
		return assay.GPU{}, err
	}
	other, err := c.param("gpu")
	if err != nil {
		return assay.GPU{}, err
	}
	switch {
	case name != "" && other != "" && name != other:
		return assay.GPU{}, invalid("gpu", other, "the same name as gpuType, or none")
	case name == "" && other == "":
		name = defaultGPU
	case name == "":
		name = other
	}
	return c.gpu(name)
}

// dayAsk is, unless it asks for the latest, a day.
type dayAsk struct {
	access.Ask
	day   int64 // midnight UTC
	given bool
}

func (c *call) dayAsk() (ask dayAsk, err error) {
	at, _, given, err := c.instant("date")
	if err != nil || !given {
		return ask, err
	}
	ask.day, ask.given = assay.StartOfDay(at), true
	ask.Start, ask.HasStart = ask.day, true
	return ask, nil
}

// find gives the position of the asked day in a daily series, or of the latest.
func (ask *dayAsk) find(series *snapshot.Series, gpu string) (int, error) {
	if series.Len() == 0 {
		return 0, noDaily(gpu, "")
	}
	if !ask.given {
		return series.Len() - 1, nil
	}
	// The fixing of a day lies inside the same day of UTC.
	if i, j := series.Range(ask.day, ask.day+assay.Day-1); i < j {
		return i, nil
	}
	return 0, ask.missing(gpu)
}

// missing says that there is nothing for what was asked.
func (ask *dayAsk) missing(gpu string) error {
	if !ask.given {
		return noDaily(gpu, "")
	}
	return noDaily(gpu, " on "+time.UnixMilli(ask.day).UTC().Format(assay.DayLayout))
}

// When /api/day-index was deprecated and when it may go.
const (
	dayIndexDeprecated = "@1767225600" // 2026-01-01, as RFC 9745 writes it
	dayIndexSunset     = "Fri, 31 Dec 2027 00:00:00 GMT"
	dayIndexSuccessor  = `</api/daily-index>; rel="successor-version"`
)

// dayIndex is dailyIndex under its old name.
func dayIndex(c *call) (answer, error) {
	c.set("Deprecation", dayIndexDeprecated)
	c.set("Sunset", dayIndexSunset)
	c.set("Link", dayIndexSuccessor)
	return dailyIndex(c)
}

// dailyIndexAll answers one settled day of every GPU the caller may see.
func dailyIndexAll(c *call) (answer, error) {
	ask, err := c.dayAsk()
	if err != nil {
		return answer{}, err
	}
	grant, region, err := c.grantedRegion(ask.Ask)
	if err != nil {
		return answer{}, err
	}
	missing := ask.missing("any GPU")
	lines := c.visibleLines(region, grant)
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
		return answer{}, missing
	}
	return object(struct {
		Success bool         `json:"success"`
		Access  assay.Access `json:"access"`
		Date    string       `json:"date"`
		Count   int          `json:"count"`
		Data    []dailyRow   `json:"data"`
	}{true, grant.Access, rows[0].Date, len(rows), rows}, modified)
}

// grantedRegion is grantedLine for a route that answers every GPU.
func (c *call) grantedRegion(ask access.Ask) (grant access.Grant, region string, err error) {
	if region, err = c.region(); err != nil {
		return grant, "", err
	}
	if grant, err = c.granted(ask); err != nil {
		return grant, "", err
	}
	if !c.snap.Catalog.HasRegion(region) {
		return grant, "", noPrice("unknown_region", "any GPU", region)
	}
	return grant, region, nil
}

// visibleLines are the lines of a region that the caller may see, by the names of their GPUs.
func (c *call) visibleLines(region string, grant access.Grant) (lines []*snapshot.Line) {
	for _, gpu := range c.snap.GPUsByName {
		if gpu.Free || grant.Access != assay.Public3Months {
			lines = append(lines, c.lineOf(gpu.Name, region))
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

// dailyIndexPrevious answers the settled day before the latest, and the change since.
func dailyIndexPrevious(c *call) (answer, error) {
	grant, line, err := c.pathLine()
	if err != nil {
		return answer{}, err
	}
	series := line.Series(assay.Daily)
	switch series.Len() {
	case 0:
		return answer{}, noDaily(line.GPU, "")
	case 1:
		return answer{}, noDaily(line.GPU, " before "+assay.FormatDay(series.At(0).At))
	}
	type settled struct {
		IndexValue assay.Nanos `json:"index_value"`
		Date       string      `json:"date"`
	}
	latest, previous := series.At(series.Len()-1), series.At(series.Len()-2)
	return object(struct {
		Success   bool         `json:"success"`
		Access    assay.Access `json:"access"`
		Latest    settled      `json:"latest"`
		ChangePct assay.Nanos  `json:"change_pct"`
		Data      dailyRow     `json:"data"`
	}{true, grant.Access, settled{latest.Value, assay.FormatInstant(latest.At)}, index.ChangePct(latest.Value, previous.Value), newDailyRow(line, previous)}, series.Modified())
}
