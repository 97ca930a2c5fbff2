package httpapi

import (
	"math"
	"strconv"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/snapshot"
)

// historyForm is how one of the history routes differs from the others.
type historyForm struct {
	newestFirst  bool
	defaultLimit int // 0: everything
	maxLimit     int
	defaultSpan  int64 // how far back without startDate; 0: to the beginning
	oneGrain     bool  // the route takes no granularity
	rolling      bool  // the route shows rolling averages
	notFirst     bool  // the very first point has no row
}

var (
	openForm    = historyForm{maxLimit: 100_000}
	simpleForm  = historyForm{newestFirst: true, defaultLimit: 100, maxLimit: 10_000}
	rangeForm   = historyForm{defaultLimit: 100, maxLimit: 10_000}
	hourlyForm  = historyForm{maxLimit: 100_000, defaultSpan: 7 * assay.Day, oneGrain: true}
	averageForm = historyForm{maxLimit: 100_000, oneGrain: true, rolling: true}

	volatilityForm = historyForm{newestFirst: true, defaultLimit: 1000, maxLimit: 10_000, notFirst: true}
	volumeForm     = historyForm{newestFirst: true, defaultLimit: 1000, maxLimit: 10_000}
)

// history is a range of a line that the caller may see: the points [i, j) of the series, in the served order.
type history struct {
	form        historyForm
	line        *snapshot.Line
	series      *snapshot.Series
	grant       access.Grant
	desc        bool
	limit       int
	i, j        int
	found       int    // points in the range before the limit cut it
	start, end  string // as asked; empty when not
	granularity string // as asked
	order       string
}

// history reads the parameters of a history route of a GPU and finds its rows.
func (c *call) history(gpuName string, form historyForm) (h history, err error) {
	h.form = form
	gpu, err := c.gpu(gpuName)
	if err != nil {
		return h, err
	}
	ask, to, err := h.parse(c)
	if err != nil {
		return h, err
	}
	if h.grant, h.line, err = c.grantedLine(gpu, ask); err != nil {
		return h, err
	}
	h.series = h.line.Series(h.grant.Grain)
	if form.rolling {
		h.series = h.line.Derived(c.s.rollingAverages)
	}
	if h.series.Len() == 0 {
		return h, noDaily(gpu.Name, "")
	}
	from := h.grant.From
	switch {
	case ask.HasStart:
		from = ask.Start // not before the window: that was refused
	case form.defaultSpan != 0:
		from = c.moment - form.defaultSpan
	}
	h.i, h.j = h.series.Range(from, to)
	if form.notFirst {
		h.i = max(h.i, 1)
		h.j = max(h.i, h.j)
	}
	h.cut()
	return h, nil
}

// parse reads range, grain, order and limit; to is the last instant of the range.
func (h *history) parse(c *call) (ask access.Ask, to int64, err error) {
	start, _, hasStart, err := c.instant("startDate")
	if err != nil {
		return ask, 0, err
	}
	end, dateOnly, hasEnd, err := c.instant("endDate")
	if err != nil {
		return ask, 0, err
	}
	to = math.MaxInt64 - 1
	if hasEnd {
		if to = end; dateOnly {
			to = end + assay.Day - 1
		}
		ask.End, ask.HasEnd = to, true
		h.end, _ = c.param("endDate")
	}
	if hasStart {
		ask.Start, ask.HasStart = start, true
		h.start, _ = c.param("startDate")
		if start > to {
			return ask, 0, invalid("startDate", h.start, "a date that is not after endDate "+strconv.Quote(shorten(h.end)))
		}
	}
	if !h.form.oneGrain {
		if ask.Granularity, err = c.oneOf("granularity", "daily", "daily", "hourly", "auto"); err != nil {
			return ask, 0, err
		}
		h.granularity = ask.Granularity
	}
	natural := "asc"
	if h.form.newestFirst {
		natural = "desc"
	}
	if h.order, err = c.oneOf("order", natural, "asc", "desc"); err != nil {
		return ask, 0, err
	}
	h.desc = h.order == "desc"
	h.limit, err = c.whole("limit", h.form.defaultLimit, 1, h.form.maxLimit)
	return ask, to, err
}

// cut keeps the first rows in the served order.
func (h *history) cut() {
	h.found = h.j - h.i
	if h.limit == 0 || h.found <= h.limit {
		return
	}
	if h.desc {
		h.i = h.j - h.limit
	} else {
		h.j = h.i + h.limit
	}
}

// at gives the position in the series of row k.
func (h *history) at(k int) int {
	if h.desc {
		return h.j - 1 - k
	}
	return h.i + k
}

// appendHead appends the envelope up to the rows; more stands between granularity and count.
func (h *history) appendHead(dst []byte, more []byte) []byte {
	dst = assay.AppendString(append(dst, `{"success":true,"gpu_type":`...), h.line.GPU)
	dst = assay.AppendString(append(dst, `,"region":`...), h.line.Region)
	dst = assay.AppendString(append(dst, `,"access":`...), string(h.grant.Access))
	dst = assay.AppendString(append(dst, `,"granularity":`...), h.grant.Grain.String())
	dst = append(dst, more...)
	dst = strconv.AppendInt(append(dst, `,"count":`...), int64(h.j-h.i), 10)
	dst = strconv.AppendBool(append(dst, `,"has_more":`...), h.j-h.i < h.found)
	return append(dst, `,"data":[`...)
}

// answer begins the answer of rows made from the history and, at the newest, from the given series. What makes the rows
// what they are is in the head, the number of the rows and the caller among it, and in what the tag adds.
func (h *history) answer(kind string, head []byte, newest *snapshot.Series) answer {
	if h.series.Version() > newest.Version() {
		newest = h.series
	}
	var rest [40]byte
	b := strconv.AppendInt(rest[:0], newest.Version(), 36)
	b = strconv.AppendInt(append(b, '.'), int64(h.i), 36)
	b = strconv.AppendBool(append(b, '.'), h.desc)
	return answer{head: head, tag: hash([]byte(kind), head, b), modified: newest.Modified(), count: h.j - h.i}
}

// points answers a range as rows of timestamp and value, which lie ready in the series.
func (h *history) points() answer {
	if h.keeps() {
		if b := h.body(); b != nil {
			return ready(b)
		}
	}
	head := h.appendHead(make([]byte, 0, 256), nil)
	a := h.answer("points", head, h.series)
	if !h.desc {
		a.rows = h.series.Rows(h.i, h.j)
		return a
	}
	a.row = func(dst []byte, k int) []byte { return append(dst, h.series.Row(h.at(k))...) }
	return a
}

// keeps tells whether the series keeps the answer to this range, made and compressed once a publication: the ranges that
// are asked again and again run to the newest point, oldest first. Of the hours, which are many, only all that the caller
// may see are kept.
func (h *history) keeps() bool {
	if h.desc || h.j != h.series.Len() || h.i == h.j {
		return false
	}
	first, _ := h.series.Range(h.grant.From, math.MaxInt64-1)
	return h.i == first || h.grant.Grain == assay.Daily
}

// body is the answer to a range that the series keeps, or nil when it keeps too many others.
func (h *history) body() *body {
	kept, _ := h.series.Memo(snapshot.MemoKey{Kind: "history", Access: h.grant.Access, From: h.i}, func() any {
		rows := h.series.Rows(h.i, h.j)
		b := h.appendHead(make([]byte, 0, len(rows)+256), nil)
		return newBody(append(append(b, rows...), tail...), h.series.Modified())
	}).(*body)
	return kept
}

// warmHistory makes the answers to the ranges that are asked most.
func warmHistory(line *snapshot.Line, free int64) {
	for _, grant := range []access.Grant{
		{Access: assay.Public3Months, From: free, Grain: assay.Daily},
		{Access: assay.AccessPremium, Grain: assay.Daily},
		{Access: assay.AccessFull, Grain: assay.Daily},
		{Access: assay.AccessFull, Grain: assay.Hourly},
	} {
		h := history{form: openForm, line: line, series: line.Series(grant.Grain), grant: grant}
		h.i, h.j = h.series.Range(grant.From, math.MaxInt64-1)
		h.cut()
		if h.i < h.j {
			h.body()
		}
	}
}

// indexHistory answers a GPU's series, inside the free window without a key.
func indexHistory(c *call) (answer, error) { return c.points(c.pathGPU(), openForm) }

// h100History is indexHistory of one GPU, from before the others had theirs.
func h100History(c *call) (answer, error) { return c.points(defaultGPU, openForm) }

// historySimple answers a GPU's series, newest first.
func historySimple(c *call) (answer, error) { return c.points(c.pathGPU(), simpleForm) }

// hourly answers a GPU's hourly series.
func hourly(c *call) (answer, error) { return c.points(c.pathGPU(), hourlyForm) }

func (c *call) points(gpuName string, form historyForm) (answer, error) {
	h, err := c.history(gpuName, form)
	if err != nil {
		return answer{}, err
	}
	return h.points(), nil
}
