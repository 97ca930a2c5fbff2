package api

import (
	"strconv"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/web"
)

// volatility serves how much a GPU's index moved: at each print, over the returns of the prints before it.
func volatility(q query) (web.Response, error) {
	for _, name := range []string{"startDate", "endDate"} {
		if err := q.RequireInstant(name); err != nil {
			return web.Response{}, err
		}
	}
	window, err := q.Int("windowDays", 30, 1, 365)
	if err != nil {
		return web.Response{}, err
	}
	h, err := q.gpuHistory(q.pathGPU(), volatilityForm)
	if err != nil {
		return web.Response{}, err
	}
	first := max(0, h.i-window) // the oldest print whose return counts in some row comes after it
	reader := h.series.Reader()
	returns := index.Returns(reader.Values(first, h.j))
	head := h.appendHead(make([]byte, 0, 256), nil)
	version := h.version("volatility "+strconv.Itoa(window), head, h.series)
	return web.Rows(version, head, h.count(), func(dst []byte, k int) []byte {
		i := h.at(k)
		return h.appendVolatilityRow(dst, reader.At(i), window, returns[max(0, i-first-window):i-first])
	}), nil
}

func (h *gpuHistory) appendVolatilityRow(dst []byte, p assay.Point, window int, returns []float64) []byte {
	v, ok := index.Volatility(returns, index.PrintsPerYear(h.grant.Grain))
	dst = appendInstantField(dst, `{"recorded_at":`, h.recorded(p))
	dst = appendInstantField(dst, `,"exact_timestamp":`, p.At)
	dst = appendStringField(dst, `,"gpu_type":`, h.line.GPU)
	dst = appendStringField(dst, `,"region":`, h.line.Region)
	dst = p.Value.AppendJSON(append(dst, `,"index_value":`...))
	dst = appendPriceField(dst, `,"rolling_volatility":`, v, ok)
	return append(appendIntField(dst, `,"window_days":`, window), '}')
}
