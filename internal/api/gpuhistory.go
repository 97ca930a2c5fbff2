package api

import (
	"strconv"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/web"
)

// The forms of the GPU history routes.
var (
	openForm    = historyForm{maxLimit: 100_000}
	simpleForm  = historyForm{newestFirst: true, defaultLimit: 100, maxLimit: 10_000}
	rangeForm   = historyForm{defaultLimit: 100, maxLimit: 10_000}
	hourlyForm  = historyForm{maxLimit: 100_000, defaultSpan: 7 * assay.Day, oneGrain: true}
	averageForm = historyForm{maxLimit: 100_000, oneGrain: true, rolling: true}

	volatilityForm = historyForm{newestFirst: true, defaultLimit: 1000, maxLimit: 10_000, notFirst: true}
	volumeForm     = historyForm{newestFirst: true, defaultLimit: 1000, maxLimit: 10_000}
)

// gpuHistory is a range of a GPU's line.
type gpuHistory struct {
	history
	line   *snapshot.Line
	series *snapshot.Series
}

// gpuHistory reads the parameters of a history route of a GPU and finds its rows.
func (q *query) gpuHistory(name string, form historyForm) (h gpuHistory, err error) {
	h.form = form
	gpu, err := q.gpu(gpuName, name)
	if err != nil {
		return h, err
	}
	ask, to, err := h.parse(q)
	if err != nil {
		return h, err
	}
	if h.grant, h.line, err = q.grantedLine(gpu, ask); err != nil {
		return h, err
	}
	h.series = h.line.Series(h.grant.Grain)
	if form.rolling {
		h.series = h.line.Derived(q.rollingAverages)
	}
	if h.series.Len() == 0 {
		return h, noDaily(gpu.Name, "")
	}
	from := h.grant.From
	switch {
	case ask.HasStart:
		from = ask.Start // not before the window: that was refused
	case form.defaultSpan != 0:
		from = q.moment - form.defaultSpan
	}
	h.i, h.j = h.series.Range(from, to)
	if form.notFirst {
		h.i = max(h.i, 1)
		h.j = max(h.i, h.j)
	}
	if other, more := h.cut(); more {
		h.continueAt(q, assay.FormatInstant(h.series.At(other).At))
	}
	return h, nil
}

// appendHead appends the envelope up to the rows; more goes between granularity and count.
func (h *gpuHistory) appendHead(dst, more []byte) []byte {
	dst = appendStringField(dst, `{"success":true,"gpu_type":`, h.line.GPU)
	dst = appendStringField(dst, `,"region":`, h.line.Region)
	dst = appendStringField(dst, `,"access":`, string(h.grant.Access))
	dst = appendStringField(dst, `,"granularity":`, h.grant.Grain.String())
	return h.appendCounts(append(dst, more...))
}

// version identifies rows that are made of the history's series and of another one. They depend on the head, which has
// their number and the access level, on the newer of the two series, and on where they begin. After a restore a version
// may come again with other values, at another instant.
func (h *gpuHistory) version(kind string, head []byte, other *snapshot.Series) web.Version {
	newest := h.series
	if other.Version() > newest.Version() {
		newest = other
	}
	var rest [64]byte
	b := strconv.AppendInt(rest[:0], newest.Version(), 36)
	b = strconv.AppendInt(append(b, '.'), newest.Modified(), 36)
	b = strconv.AppendInt(append(b, '.'), int64(h.i), 36)
	b = strconv.AppendBool(append(b, '.'), h.desc)
	return web.NewVersion(newest.Modified(), []byte(kind), head, b)
}

// recorded is the instant under which a point is filed: for a daily one, midnight UTC of its settlement date.
func (h *gpuHistory) recorded(p assay.Point) int64 {
	if h.grant.Grain == assay.Daily {
		return assay.StartOfDay(p.At)
	}
	return p.At
}

// indexHistory serves a GPU's series, inside the free window without a key.
func indexHistory(q query) (web.Response, error) { return q.points(q.pathGPU(), openForm) }

// h100History is indexHistory of one GPU, from before the others had theirs.
func h100History(q query) (web.Response, error) { return q.points(defaultGPU, openForm) }

// historySimple serves a GPU's series, newest first.
func historySimple(q query) (web.Response, error) { return q.points(q.pathGPU(), simpleForm) }

// hourly serves a GPU's hourly series.
func hourly(q query) (web.Response, error) { return q.points(q.pathGPU(), hourlyForm) }

// points serves a range as rows of timestamp and value.
func (q *query) points(gpuName string, form historyForm) (web.Response, error) {
	h, err := q.gpuHistory(gpuName, form)
	if err != nil {
		return web.Response{}, err
	}
	head := h.appendHead(q.Scratch(), nil)
	version := h.version("points", head, h.series)
	if h.desc {
		return h.newestFirst(version, head), nil
	}
	return web.Pieces(version, head, h.series, h.i, h.j), nil
}

// newestFirst serves the range row by row. It has a copy of the history: the response keeps it, and one in the order of
// the series should cost no allocation.
func (h gpuHistory) newestFirst(version web.Version, head []byte) web.Response {
	reader := h.series.Reader()
	return web.Rows(version, head, h.count(), func(dst []byte, k int) []byte {
		return reader.AppendRow(dst, h.at(k))
	})
}

// keptText is how many bytes of the text of rows a node keeps ready: that of the newest points worldwide, as much of
// each GPU model. Rows without it are written from their points for each response, which takes longer. Text takes 40
// times the memory of the points, so most of a large market cannot have it; this is enough for four years of hours of
// six models.
const keptText = 16 << 20

// warmHistory keeps the text of the newest points of a line. Days come first: they are few.
func warmHistory(line *snapshot.Line, share int) {
	line.Series(assay.Hourly).KeepText(share - line.Series(assay.Daily).KeepText(share/2))
}
