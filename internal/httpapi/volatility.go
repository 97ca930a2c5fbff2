package httpapi

import (
	"fmt"
	"strconv"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
)

// volatility answers how much a GPU's index moved: at each print, over the returns of the prints before it.
func volatility(c *call) (answer, error) {
	for _, name := range []string{"startDate", "endDate"} {
		if err := c.required(name); err != nil {
			return answer{}, err
		}
	}
	window, err := c.whole("windowDays", 30, 1, 365)
	if err != nil {
		return answer{}, err
	}
	h, err := c.history(c.pathGPU(), volatilityForm)
	if err != nil {
		return answer{}, err
	}
	first := max(0, h.i-window) // the oldest print whose return counts in some row comes after it
	returns := index.Returns(h.series.Values(first, max(first, h.j)))
	head := h.appendHead(make([]byte, 0, 256), nil)
	a := h.answer("volatility "+strconv.Itoa(window), head, h.series)
	a.row = func(dst []byte, k int) []byte {
		i := h.at(k)
		return h.appendVolatilityRow(dst, i, window, returns[max(0, i-first-window):i-first])
	}
	return a, nil
}

// required refuses a request that lacks a parameter.
func (c *call) required(name string) error {
	value, err := c.param(name)
	if err != nil || value != "" {
		return err
	}
	return &assay.Error{
		Kind: assay.Invalid, Code: "invalid_parameter",
		Message: fmt.Sprintf("Parameter %s is required; allowed is %s.", name, dateForms),
	}
}

func (h *history) appendVolatilityRow(dst []byte, i, window int, returns []float64) []byte {
	p := h.series.At(i)
	v, ok := index.Volatility(returns, index.PrintsPerYear(h.grant.Grain))
	dst = appendInstantField(dst, `{"recorded_at":`, h.recorded(p))
	dst = appendInstantField(dst, `,"exact_timestamp":`, p.At)
	dst = assay.AppendString(append(dst, `,"gpu_type":`...), h.line.GPU)
	dst = assay.AppendString(append(dst, `,"region":`...), h.line.Region)
	dst = p.Value.AppendJSON(append(dst, `,"index_value":`...))
	dst = appendPriceField(dst, `,"rolling_volatility":`, v, ok)
	return append(appendIntField(dst, `,"window_days":`, window), '}')
}

// recorded is the instant under which a point is filed: of a daily one, midnight UTC of its settlement date.
func (h *history) recorded(p assay.Point) int64 {
	if h.grant.Grain == assay.Daily {
		return assay.StartOfDay(p.At)
	}
	return p.At
}
